//! Are the data sequence numbers that a run records those that tshark reads in its captures, for
//! every packet of the kernel's and of our Multipath TCP?
//!
//! Each run is a process of its own, which this program starts from itself, because only a
//! process with one thread may enter a user namespace. So it has its own `main`. Arguments choose
//! cases by parts of their titles. A case that fails leaves its run folder behind.

use analysis::folder::RunFolder;
use model::{Direction, Scenario, Seed, World};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use walkabout_measure::world::emulated::work;
use walkabout_measure::world::plan::RunSpec;

type Failure = Box<dyn Error>;

/// An error with the condition's text and a value, unless the condition holds.
macro_rules! check {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!("{}: {}", stringify!($condition), format!($($words)+)).into());
        }
    };
}

/// Exit code of a case that this machine cannot run.
const IMPOSSIBLE: u8 = 127;
/// Fewer mappings in a case's packets would show little.
const MAPPINGS: usize = 500;

/// One run.
struct Case {
    transport: &'static str,
    family: &'static str,
    traffic: &'static str,
}

const BULK: &str = "[traffic.bulk]\nsize = \"2 MB\"\n";
const INTERACTIVE: &str = "[traffic.interactive]\nperiod = \"20 ms\"\n";

const fn case(transport: &'static str, family: &'static str, traffic: &'static str) -> Case {
    Case {
        transport,
        family,
        traffic,
    }
}

const CASES: &[Case] = &[
    case("mptcp", "ipv4", BULK),
    case("mptcp", "ipv6", INTERACTIVE),
    case("mptcp-user", "ipv4", BULK),
    case("mptcp-user", "ipv6", INTERACTIVE),
];

impl Case {
    fn title(&self) -> String {
        let kind = self.traffic.split(['.', ']']).nth(1).unwrap_or_default();
        format!("{} {} {kind}", self.transport, self.family)
    }

    /// Two paths, the first one bad: data is sent again, on the other as well.
    fn spec(&self, folder: &Path) -> Result<RunSpec, Failure> {
        let text = format!(
            "name = \"numbers\"\nsummary = \"numbers\"\nduration = \"4 s\"\nfamily = \"{}\"\n\
             transports = [\"{}\"]\npolicies = [\"fullmesh\"]\n{}\
             [[path]]\nname = \"wifi\"\nkind = \"wifi\"\n\
             up = {{ rate = \"20 Mbit/s\", delay = \"5 ms\", loss = \"2 %\" }}\n\
             down = {{ rate = \"20 Mbit/s\", delay = \"5 ms\", loss = \"2 %\" }}\n\
             [[path]]\nname = \"cellular\"\nkind = \"cellular\"\n\
             up = {{ rate = \"10 Mbit/s\", delay = \"15 ms\" }}\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"15 ms\" }}\n",
            self.family, self.transport, self.traffic
        );
        Ok(RunSpec {
            world: World::Emulated,
            scenario: Scenario::parse(&text, "numbers")?,
            traces: BTreeMap::new(),
            transport: self.transport.to_owned(),
            policy: "fullmesh".to_owned(),
            seed: Seed(1),
            repetition: 0,
            folder: folder.to_owned(),
            device: None,
            // What is late is not what is asked here.
            lateness_bound_ns: u64::MAX,
        })
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, title, folder] = &arguments[..]
        && flag == "--inside"
    {
        return inside(title, Path::new(folder));
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let (mut passed, mut skipped, mut failed) = (0, 0, 0);
    for case in CASES {
        let title = case.title();
        if !filters.is_empty() && !filters.iter().any(|f| title.contains(f.as_str())) {
            continue;
        }
        let words = match outside(case) {
            Ok(Compared::Packets(words)) => {
                passed += 1;
                format!("ok ({words})")
            }
            Ok(Compared::Impossible(reason)) => {
                skipped += 1;
                format!("skipped: {reason}")
            }
            Err(error) => {
                failed += 1;
                format!("FAILED: {error}")
            }
        };
        println!("test {title} ... {words}");
    }
    println!("{passed} passed, {skipped} skipped, {failed} failed");
    // What a machine can't do is skipped and counted; in CI it is a failure.
    let excused = skipped == 0 || std::env::var_os("CI").is_none();
    ExitCode::from(u8::from(failed > 0 || !excused))
}

fn inside(title: &str, folder: &Path) -> ExitCode {
    let spec = CASES
        .iter()
        .find(|case| case.title() == title)
        .map(|case| case.spec(folder));
    let spec = match spec {
        Some(Ok(spec)) => spec,
        Some(Err(error)) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
        None => return ExitCode::from(2),
    };
    match work(spec, std::io::sink()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            match error.is_impossible() {
                true => ExitCode::from(IMPOSSIBLE),
                false => ExitCode::FAILURE,
            }
        }
    }
}

/// What became of a case that did not fail.
enum Compared {
    /// All agree: how many.
    Packets(String),
    /// This machine can't run it, for this reason.
    Impossible(String),
}

fn outside(case: &Case) -> Result<Compared, Failure> {
    match Command::new("tshark").arg("--version").output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Compared::Impossible("there is no tshark".into()));
        }
        other => other?,
    };
    if case.transport == "mptcp" && !Path::new("/proc/sys/net/mptcp/enabled").exists() {
        let reason = "this kernel has no Multipath TCP";
        return Ok(Compared::Impossible(reason.into()));
    }
    let name = format!("numbers-{}", case.title().replace(' ', "-"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--inside", &case.title()]).arg(&folder);
    let output = command.stdin(Stdio::null()).output()?;
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) => {}
        Some(code) if code == i32::from(IMPOSSIBLE) => return Ok(Compared::Impossible(words)),
        _ => return Err(words.into()),
    }
    match compare(&folder) {
        Ok(words) => {
            fs::remove_dir_all(&folder)?;
            Ok(Compared::Packets(words))
        }
        Err(error) => Err(format!("{error}\nrun: {}", folder.display()).into()),
    }
}

/// A packet as the client saw it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Seen {
    /// Since the run's start.
    at_ns: u64,
    from_client: bool,
    size: u64,
    dsn: Option<u64>,
    data_ack: Option<u64>,
}

/// Holds the table against the captures, packet by packet.
fn compare(folder: &Path) -> Result<String, Failure> {
    let run = RunFolder::open(folder)?;
    check!(run.is_complete(), "{:?}", run.manifest.error);
    let (mut packets, mut acks, mut mappings, mut again) = (0, 0, 0, 0);
    let mut carried = BTreeSet::new();
    for path in ["wifi", "cellular"] {
        let mut ours: Vec<Seen> = recorded(&run, path);
        let mut theirs = dissected(&run, &folder.join(format!("{path}.pcapng")))?;
        ours.sort();
        theirs.sort();
        check!(
            ours.len() == theirs.len(),
            "{path}: {} packets recorded, tshark reads {}",
            ours.len(),
            theirs.len()
        );
        for (ours, theirs) in ours.iter().zip(&theirs) {
            check!(ours == theirs, "{path}: {ours:?}, tshark {theirs:?}");
            acks += usize::from(ours.data_ack.is_some());
            if let Some(dsn) = ours.dsn {
                mappings += 1;
                again += usize::from(!carried.insert((ours.from_client, dsn)));
            }
        }
        check!(ours.iter().any(|p| p.dsn.is_some()), "no data on {path}");
        packets += ours.len();
    }
    check!(
        mappings >= MAPPINGS && acks >= mappings,
        "{mappings} mappings and {acks} Data ACKs compared"
    );
    // What the captures don't show, because it never reached the client, has numbers as well.
    let lost = |p: &&model::record::Packet| p.direction == Direction::Down && p.dropped.is_some();
    let unseen = run.packets.iter().filter(lost);
    check!(unseen.clone().count() > 0, "nothing was lost");
    Ok(format!(
        "{packets} packets, {mappings} mappings of which {again} came before, {acks} Data ACKs; \
         {} mappings lost before the client",
        unseen.filter(|p| p.dsn.is_some()).count()
    ))
}

/// What the table says of the packets that the client saw.
fn recorded(run: &RunFolder, path: &str) -> Vec<Seen> {
    let packets = run.packets.iter().filter(|p| p.path.as_str() == path);
    let seen = packets.filter_map(|p| {
        let from_client = p.direction == Direction::Up;
        Some(Seen {
            at_ns: match from_client {
                true => p.enqueued_ns,
                false => p.delivered_ns?,
            },
            from_client,
            size: p.size_bytes,
            dsn: p.dsn,
            data_ack: p.data_ack,
        })
    });
    seen.collect()
}

/// What tshark reads in a capture.
fn dissected(run: &RunFolder, capture: &Path) -> Result<Vec<Seen>, Failure> {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(capture);
    // What is inside is no TLS, in spite of the port.
    command.args(["--disable-protocol", "tls", "-T", "fields"]);
    for field in [
        "frame.time_epoch",
        "frame.packet_flags_direction",
        "frame.len",
        "tcp.options.mptcp.rawdataseqno",
        "tcp.options.mptcp.rawdataack",
    ] {
        command.args(["-e", field]);
    }
    let output = command.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    check!(output.status.success(), "{errors}");
    let start: jiff::Timestamp = run.manifest.started_at.parse()?;
    let text = String::from_utf8(output.stdout)?;
    text.lines()
        .map(|line| parse(line, start.as_nanosecond()).map_err(|e| format!("`{line}`: {e}").into()))
        .collect()
}

fn parse(line: &str, start_ns: i128) -> Result<Seen, Failure> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [time, direction, size, dsn, data_ack] = fields[..] else {
        return Err("not five fields".into());
    };
    let (seconds, nanos) = time.split_once('.').ok_or("no time")?;
    check!(nanos.len() == 9, "{nanos}");
    let time = seconds.parse::<i128>()? * 1_000_000_000 + nanos.parse::<i128>()?;
    let number = |text: &str| match text {
        "" => Ok(None),
        digits => digits.parse().map(Some),
    };
    Ok(Seen {
        at_ns: u64::try_from(time - start_ns)?,
        from_client: match direction.trim_start_matches("0x").trim_start_matches('0') {
            "1" => false,
            "2" => true,
            _ => return Err("no direction".into()),
        },
        size: size.parse()?,
        dsn: number(dsn)?,
        data_ack: number(data_ack)?,
    })
}
