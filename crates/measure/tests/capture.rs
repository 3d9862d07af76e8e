//! Does a capture show what the client saw, in a form that Wireshark's tools take?

mod logged;

use logged::{START_NS, captured, create, manifest, packet, skip};
use model::manifest::Status;
use model::{Direction, Time};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use std::path::Path;
use std::process::{Command, Output};
use walkabout_measure::recording::{Fate, SNAP_LENGTH};

/// A capture whose packets become known in another order than that of their times.
fn capture(folder: &Path) {
    let recorder = create(folder).unwrap();
    let at = Time::from_millis;
    let (up, down) = (Direction::Up, Direction::Down);
    recorder.log().packets(vec![
        packet(0, down, at(10), Fate::Delivered(at(40)), 1_452),
        packet(1, down, at(11), Fate::Dropped(at(11), "random-loss"), 1_452),
        packet(2, down, at(12), Fate::Inside, 1_452),
        packet(1, up, at(35), Fate::Dropped(at(35), "drop-tail"), 1_452),
    ]);
    recorder.log().packets(vec![
        packet(
            0,
            up,
            Time::from_nanos(1_000_007),
            Fate::Delivered(at(50)),
            60,
        ),
        // Delivered twice, sent once.
        packet(
            0,
            up,
            Time::from_nanos(1_000_007),
            Fate::Delivered(at(51)),
            60,
        ),
        packet(2, up, at(60), Fate::Inside, 100),
        packet(3, down, at(20), Fate::Delivered(at(70)), 1_452),
        packet(3, down, at(20), Fate::Delivered(at(71)), 1_452),
    ]);
    recorder.finish(&manifest(Status::Complete)).unwrap();
}

#[test]
fn a_capture_shows_what_the_client_saw_in_order() {
    let root = tempfile::tempdir().unwrap();
    capture(root.path());
    let packets = captured(&root.path().join("wifi.pcapng"));
    let seen: Vec<(u64, u32, usize, String)> = packets
        .iter()
        .map(|p| {
            let options = p.options.iter().map(|option| match option {
                EnhancedPacketOption::Flags(1) => "in".to_owned(),
                EnhancedPacketOption::Flags(2) => "out".to_owned(),
                EnhancedPacketOption::Comment(text) => text.clone().into_owned(),
                other => panic!("{other:?}"),
            });
            let options = options.collect::<Vec<_>>().join(" ");
            let time = p.timestamp.as_nanos() as u64 - START_NS;
            (time, p.original_len, p.data.len(), options)
        })
        .collect();
    let entry = |time, size, kept, options: &str| (time, size, kept, options.to_owned());
    assert_eq!(
        seen,
        [
            entry(1_000_007, 60, 60, "out"),
            entry(35_000_000, 1_452, SNAP_LENGTH, "out dropped: drop-tail"),
            entry(40_000_000, 1_452, SNAP_LENGTH, "in"),
            entry(60_000_000, 100, 100, "out"),
            entry(70_000_000, 1_452, SNAP_LENGTH, "in"),
            entry(71_000_000, 1_452, SNAP_LENGTH, "in"),
        ]
    );
    assert_eq!(captured(&root.path().join("cellular.pcapng")), []);
}

/// The standard output of one of Wireshark's tools; `None` when it is not installed.
fn wireshark(tool: &str, arguments: &[&str]) -> Option<String> {
    let Ok(Output {
        status,
        stdout,
        stderr,
    }) = Command::new(tool).args(arguments).output()
    else {
        skip(&format!(
            "{tool} is not installed (Debian: apt install tshark)"
        ));
        return None;
    };
    let stderr = String::from_utf8_lossy(&stderr);
    // As root the tools warn about being root, on a line of its own.
    let complaint = stderr
        .lines()
        .find(|l| !l.is_empty() && !l.contains("Running as user"));
    assert!(status.success() && complaint.is_none(), "{tool}: {stderr}");
    Some(String::from_utf8(stdout).unwrap())
}

#[test]
fn wiresharks_tools_take_the_captures() {
    let root = tempfile::tempdir().unwrap();
    capture(root.path());
    let file = root.path().join("wifi.pcapng");
    let file = file.to_str().unwrap();
    let fields = [
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "ip.src",
        "frame.comment",
    ];
    let mut arguments = vec!["-r", file, "-T", "fields", "-E", "separator=,"];
    fields
        .iter()
        .for_each(|field| arguments.extend(["-e", *field]));
    let Some(text) = wireshark("tshark", &arguments) else {
        return;
    };
    assert_eq!(
        text.lines().take(3).collect::<Vec<_>>(),
        [
            "1769860800.501000007,60,60,10.77.1.2,",
            "1769860800.535000000,1452,160,10.77.1.2,dropped: drop-tail",
            "1769860800.540000000,1452,160,10.77.1.2,",
        ]
    );
    assert_eq!(text.lines().count(), 6);
    let Some(text) = wireshark("capinfos", &["-c", "-o", "-E", "-l", "-I", "-M", file]) else {
        return;
    };
    for line in [
        "Number of packets:   6",
        "Strict time order:   True",
        "Encapsulation = Raw IP",
        "Time precision = nanoseconds (9)",
        "Name = wifi",
    ] {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
    // A capture without a packet is one, too.
    let empty = root.path().join("cellular.pcapng");
    wireshark("tshark", &["-r", empty.to_str().unwrap()]);
}
