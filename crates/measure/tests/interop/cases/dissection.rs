//! Does tshark read our packets without a complaint, and as we do?

use crate::stage::{BAD, CLEAN, Role, Setting, Stage};
use crate::{Failure, Outcome, check};
use mptcp::wire::Segment;
use mptcp::wire::mptcp::{Dss, MptcpOption, Number};
use pcap_file::pcap::PcapReader;
use std::fs::File;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use walkabout_measure::addresses::PORT;

/// What of a packet is compared: data sequence number, Data ACK and length of a mapping.
#[derive(Debug, PartialEq, Eq, Default)]
struct Numbers {
    dsn: Option<u64>,
    ack: Option<u64>,
    length: Option<u64>,
}

/// A run with every option that can be had: joins, a backup, ADD_ADDR, REMOVE_ADDR, MP_PRIO,
/// DATA_FIN. The first path loses nothing: REMOVE_ADDR goes over it, which nobody answers
/// (RFC 8684, section 3.4.2), so that nobody sends it again.
pub fn agrees(setting: &Setting<'static>) -> Outcome {
    match Command::new("tshark").arg("--version").output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // The process ends here: this is no failure of the stack.
            eprintln!("there is no tshark");
            std::process::exit(crate::IMPOSSIBLE.into());
        }
        other => other?,
    };
    {
        let mut stage = Stage::new(setting, &[CLEAN, BAD])?;
        stage.establish()?;
        stage.join(true)?;
        let (local, remote) = stage.pair(1);
        let subflow = stage.ours.subflow(local, remote).ok_or("no subflow")?.id;
        let (now, id) = (stage.ours.now(), stage.ours.id());
        stage.ours.stack.set_backup(now, id, subflow, false)?;
        let announced = match setting.role {
            Role::Client => stage.client(1),
            Role::Server => stage.second(),
        };
        stage.ours.add_address(local, announced);
        stage.ours.stack.listen(SocketAddr::new(announced, PORT));
        let address = SocketAddr::new(announced, 0);
        stage.ours.stack.announce(now, id, address)?;
        stage.until("ADD_ADDR at the kernel", |stage| {
            stage.kernel.counter("AddAddr").is_ok_and(|n| n >= 1)
        })?;
        stage.exchange(500_000)?;
        let now = stage.ours.now();
        stage.ours.stack.withdraw(now, id, announced)?;
        stage.until("REMOVE_ADDR at the kernel", |stage| {
            stage.kernel.counter("RmAddr").is_ok_and(|n| n >= 1)
        })?;
        stage.finish()?;
    }
    // The kernel writes a checksum of 0 as 0xffff, its other form, once in 65,536 packets.
    let complaints = tshark(
        setting.capture,
        &[
            "-Y",
            "_ws.malformed || ip.checksum.status == \"Bad\" || !tcp.checksum.ffff && \
             (_ws.expert.severity == error || tcp.checksum.status == \"Bad\")",
        ],
    )?;
    check!(complaints.is_empty(), "{complaints}");
    let theirs = tshark(
        setting.capture,
        &[
            "-T",
            "fields",
            "-e",
            "tcp.options.mptcp.rawdataseqno",
            "-e",
            "tcp.options.mptcp.rawdataack",
            "-e",
            "tcp.options.mptcp.datalvllen",
        ],
    )?;
    let theirs: Vec<Numbers> = theirs.lines().map(parse).collect();
    let ours = read(setting.capture)?;
    check!(
        ours.len() == theirs.len(),
        "{} packets, {} lines",
        ours.len(),
        theirs.len()
    );
    let mut mappings = 0;
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        check!(
            ours == theirs,
            "packet {}: {ours:?}, tshark {theirs:?}",
            number + 1
        );
        mappings += usize::from(ours.dsn.is_some());
    }
    check!(mappings > 500, "{mappings} mappings compared");
    Ok(())
}

fn tshark(capture: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("tshark");
    command.args(["-r".as_ref(), capture.as_os_str()]);
    // What is inside is nobody's, whatever the port says and however a byte of it looks: echo's
    // dissector takes it as it is, and no heuristic one is asked.
    command.args(["-d", &format!("tcp.port=={PORT},echo")]);
    command.args([
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
    ]);
    let output = command.args(arguments).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    check!(output.status.success(), "{errors}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn parse(line: &str) -> Numbers {
    let mut fields = line.split('\t').map(|field| {
        let first = field.split(',').next().unwrap_or_default();
        first.parse::<u64>().ok()
    });
    Numbers {
        dsn: fields.next().flatten(),
        ack: fields.next().flatten(),
        length: fields.next().flatten(),
    }
}

fn read(capture: &Path) -> Result<Vec<Numbers>, Failure> {
    let mut reader = PcapReader::new(File::open(capture)?)?;
    let mut all = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet?;
        let segment = Segment::parse(&packet.data).map_err(|e| format!("{e}"))?;
        let raw = |number: Number| match number {
            Number::Wide(n) => n,
            Number::Narrow(n) => n.into(),
        };
        let numbers = segment
            .options
            .mptcp
            .iter()
            .find_map(|option| match option {
                MptcpOption::Dss(Dss {
                    data_ack, mapping, ..
                }) => Some(Numbers {
                    dsn: mapping.map(|m| raw(m.dsn)),
                    ack: data_ack.map(raw),
                    length: mapping.map(|m| m.length.into()),
                }),
                MptcpOption::Capable(capable) if capable.data_length.is_some() => Some(Numbers {
                    length: capable.data_length.map(u64::from),
                    ..Numbers::default()
                }),
                _ => None,
            });
        all.push(numbers.unwrap_or_default());
    }
    Ok(all)
}
