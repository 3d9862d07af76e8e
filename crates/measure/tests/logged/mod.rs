//! What a run logs: rows a test can tell apart, and the packets it may capture.

#![allow(dead_code)] // Each test file uses its own part.

use model::manifest::{Stack, Status};
use model::record::{LinkState, Message, Sample};
use model::scenario::{Interactive, Link, Path as ScenarioPath, Queue, Traffic};
use model::units::Span;
use model::{Direction, Manifest, Name, PathIndex, PathKind, Scenario, Seed, Side, Time, World};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::Path;
use walkabout_measure::recording::{Fate, Head, PacketObservation, RecordError, Recorder};

/// `started_at` of every manifest here, in nanoseconds since 1970.
pub const START_NS: u64 = 1_769_860_800_500_000_000;

pub fn manifest(status: Status) -> Manifest {
    let link = Link {
        rate: None,
        trace: None,
        delay: Span::from_millis(10),
        jitter: None,
        loss: None,
        burst: None,
        reorder: None,
        duplicate: None,
        queue: Queue::default(),
    };
    let path = |name: &str, kind| ScenarioPath {
        name: name.into(),
        kind,
        up: link.clone(),
        down: link.clone(),
        changes: Vec::new(),
        walk: None,
    };
    let scenario = Scenario {
        name: "recorded".into(),
        summary: "what a test logged".into(),
        duration: Span::from_millis(110_000),
        transports: vec!["tcp".into()],
        policies: vec!["single".into()],
        congestion: None,
        scheduler: None,
        server_scheduler: None,
        oracle: None,
        family: model::Family::Ipv4,
        traffic: Traffic::Interactive(Interactive::default()),
        paths: vec![
            path("wifi", PathKind::Wifi),
            path("cellular", PathKind::Cellular),
        ],
        failures: Vec::new(),
    };
    Manifest {
        status,
        started_at: "2026-01-31T12:00:00.5Z".into(),
        stack: Stack {
            name: "linux".into(),
            version: "6.18".into(),
            congestion: "cubic".into(),
            path_manager: "none".into(),
            scheduler: "none".into(),
            server_scheduler: None,
            security: None,
        },
        kernel: "Linux 6.18 x86_64".into(),
        device: Some("tun".into()),
        ..Manifest::new(World::Emulated, &scenario, "tcp", "single", Seed(1))
    }
}

pub fn create(folder: &Path) -> Result<Recorder, RecordError> {
    let paths = [Name::from("wifi"), Name::from("cellular")];
    Recorder::create(folder, &manifest(Status::Complete), &paths)
}

pub fn message(id: u64) -> Message {
    Message {
        channel: 0,
        id,
        direction: Direction::Up,
        size_bytes: 2_000,
        answer_bytes: 9,
        sent_us: id * 100_000,
        acked_us: (!id.is_multiple_of(7)).then_some(id * 100_000 + 40_123),
        delay_us: (!id.is_multiple_of(7)).then_some(40_123),
        path: id.is_multiple_of(2).then(|| "wifi".into()),
    }
}

pub fn sample(time_us: u64) -> Sample {
    Sample {
        time_us,
        side: Side::Server,
        connection: 1,
        path: None,
        state: "established".into(),
        srtt_us: Some(40_000 + time_us % 977),
        rttvar_us: None,
        rto_us: Some(240_000),
        timeouts: Some(0),
        cwnd_bytes: Some(14_000),
        in_flight_bytes: Some(time_us % 2_000),
        oldest_unacked_us: None,
        unsent_bytes: None,
        sent_packets: Some(time_us / 1_000),
        sent_bytes: Some(time_us),
        received_bytes: Some(time_us),
        lost_packets: Some(0),
        retransmitted_packets: Some(0),
        backup: Some(false),
        peer_backup: Some(true),
    }
}

pub fn link(time_us: u64) -> LinkState {
    LinkState {
        time_us,
        path: "cellular".into(),
        direction: Direction::Down,
        rate_bps: None,
        delay_us: 30_000,
        loss: 0.015,
        up: true,
        queue_bytes: 3,
        signal_dbm: Some(-71.25),
    }
}

/// A TCP packet of `size` bytes with a header of 32 bytes, and a payload that varies with `id`.
pub fn packet(
    id: u64,
    direction: Direction,
    enqueued: Time,
    fate: Fate,
    size: u32,
) -> PacketObservation {
    let mut bytes = vec![id as u8; size as usize];
    bytes[..20].copy_from_slice(&[
        0x45,
        0,
        (size >> 8) as u8,
        size as u8,
        0,
        0,
        0x40,
        0,
        64,
        6,
        0,
        0,
        10,
        77,
        1,
        2,
        10,
        77,
        0,
        1,
    ]);
    // Ports, sequence and acknowledgement numbers, data offset and flags, window, options.
    bytes[20..52].copy_from_slice(&[
        0x9c, 0x40, 0x01, 0xbb, 0, 0, 0, id as u8, 0, 0, 0, 1, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ]);
    PacketObservation {
        path: PathIndex(0),
        direction,
        id,
        size,
        enqueued,
        fate,
        head: Head::new(&bytes),
    }
}

/// Says why a test did not run; in CI that is a failure.
pub fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    println!("skipped: {reason}");
}

/// The packets of a capture.
pub fn captured(path: &Path) -> Vec<EnhancedPacketBlock<'static>> {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push(packet.into_owned());
        }
    }
    packets
}
