//! Do the recorded data sequence numbers tell which part of the stream went where? Those of what
//! arrived are the whole stream, from the initial number that follows from the sender's key.

use crate::check::spec;
use crate::random::Case;
use analysis::folder::RunFolder;
use model::Direction;
use model::record::Packet;
use mptcp::wire::key::initial_dsn;
use mptcp::wire::{MptcpOption, Options};
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use walkabout_measure::world::virtual_time::record;

/// Bytes that the server sends.
const SIZE: u64 = 3_000_000;

/// A bulk run over two paths that lose packets.
fn case(transport: &'static str) -> Case {
    let path = |name: &str, delay: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nkind = \"{name}\"\n\
             up = {{ rate = \"20 Mbit/s\", delay = \"{delay}\", loss = \"1 %\" }}\n\
             down = {{ rate = \"20 Mbit/s\", delay = \"{delay}\", loss = \"1 %\" }}\n"
        )
    };
    Case {
        text: format!(
            "name = \"numbers\"\nsummary = \"numbers\"\nduration = \"12 s\"\n\
             transports = [\"{transport}\"]\npolicies = [\"fullmesh\"]\n\
             [traffic.bulk]\nsize = \"{SIZE} B\"\n{}{}",
            path("wifi", "10 ms"),
            path("cellular", "30 ms")
        ),
        transport,
        policy: "fullmesh",
        seed: 1,
    }
}

fn recorded(transport: &'static str, folder: &Path) -> RunFolder {
    let case = case(transport);
    record(&spec(&case, folder.to_owned())).expect("it runs");
    RunFolder::open(folder).expect("it is recorded")
}

/// The first number of the client's and of the server's data: one after those that follow from
/// the keys, which the client's answer to the SYN/ACK carries both.
fn first_numbers(capture: &Path) -> (u64, u64) {
    let mut reader = PcapNgReader::new(File::open(capture).expect("a capture")).expect("pcapng");
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("a block") else {
            continue;
        };
        for option in options(&packet.data).expect("an IPv4 packet of TCP").mptcp {
            if let MptcpOption::Capable(capable) = option
                && let (Some(client), Some(server)) = (capable.sender_key, capable.receiver_key)
            {
                let first = |key| initial_dsn(key).wrapping_add(1);
                return (first(client), first(server));
            }
        }
    }
    panic!("no keys in {}", capture.display());
}

/// The options of a packet of TCP over IPv4 without options, whose checksum virtual time leaves out.
fn options(packet: &[u8]) -> Option<Options> {
    let segment = packet.get(20..)?;
    let (end, flags) = (4 * usize::from(segment.get(12)? >> 4), segment.get(13)?);
    let options = segment.get(20..end)?;
    Some(Options::parse(
        options,
        flags & 0x02 != 0,
        flags & 0x10 != 0,
    ))
}

/// Data with a number that arrived in one direction: where it begins, counted from `first`, where
/// it ends, and over which path it came.
fn arrived(packets: &[Packet], direction: Direction, first: u64) -> Vec<(u64, u64, &str)> {
    let packets = packets.iter().filter(|p| p.direction == direction);
    let delivered = packets.filter(|p| p.delivered_ns.is_some());
    let mut ranges: Vec<_> = delivered
        .filter_map(|p| {
            let start = p.dsn?.wrapping_sub(first);
            Some((start, start + p.payload_bytes, p.path.as_str()))
        })
        .collect();
    ranges.sort_unstable();
    ranges
}

#[test]
fn what_arrived_is_the_whole_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = recorded("mptcp", &folder.path().join("run"));
    assert!(run.messages[0].acked_us.is_some(), "{:?}", run.messages);
    let (client, server) = first_numbers(&folder.path().join("run/wifi.pcapng"));

    let down = arrived(&run.packets, Direction::Down, server);
    let mut end = 0;
    for &(start, stop, path) in &down {
        assert!(start <= end, "{end} to {start} is missing before {path}");
        end = end.max(stop);
    }
    let bytes: u64 = run.messages[0].answer_bytes;
    assert!((SIZE..SIZE + 100).contains(&bytes), "{:?}", run.messages);
    assert_eq!(end, bytes);
    for name in ["wifi", "cellular"] {
        let over = down.iter().filter(|(_, _, path)| *path == name);
        let sum: u64 = over.map(|(start, stop, _)| stop - start).sum();
        assert!(sum > SIZE / 10, "{name} carried {sum}");
    }
    // Data without a number there is none, and the last number is that of the DATA_FIN.
    let data = |p: &&Packet| p.direction == Direction::Down && p.payload_bytes > 0;
    assert!(run.packets.iter().filter(data).all(|p| p.dsn.is_some()));
    let last = down.iter().map(|(start, ..)| *start).max();
    assert!(last <= Some(end), "{last:?}");

    // The request goes with MP_CAPABLE, without a number, and the client's DATA_FIN follows it.
    let up = run.packets.iter().filter(|p| p.direction == Direction::Up);
    let request = up.clone().find(|p| p.payload_bytes > 0).expect("a request");
    assert_eq!(request.dsn, None);
    let numbered = arrived(&run.packets, Direction::Up, client);
    let fin = request.payload_bytes;
    assert!(
        numbered.iter().all(|(start, ..)| *start >= fin),
        "{numbered:?}"
    );

    // Data ACKs never go beyond what arrived, and in the end say that all of it did.
    let acks: BTreeSet<u64> = up
        .filter_map(|p| Some(p.data_ack?.wrapping_sub(server)))
        .collect();
    let last = acks.last().copied().expect("Data ACKs");
    assert!((bytes..=bytes + 1).contains(&last), "{last} of {bytes}");
    assert!(acks.len() > 200, "{}", acks.len());
}

#[test]
fn without_multipath_tcp_there_are_no_numbers() {
    for transport in ["tcp", "mpquic"] {
        let folder = tempfile::tempdir().expect("a folder");
        let run = recorded(transport, &folder.path().join("run"));
        assert!(run.packets.iter().any(|p| p.payload_bytes > 1_000));
        let numbered = |p: &&Packet| p.dsn.is_some() || p.data_ack.is_some();
        assert_eq!(run.packets.iter().find(numbered), None);
    }
}
