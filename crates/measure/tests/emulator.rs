//! Whether real packets meet the emulated links as the scenario says, on each kind of device,
//! as an ordinary user and as root.
//!
//! Each test runs in a process of its own, which this program starts from itself, because only
//! a process with one thread may enter a user namespace. So it has its own `main`.

use model::manifest::{Status, Timing};
use model::{Family, Manifest, PathIndex, Scenario, Seed, World};
use nix::unistd::Uid;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use walkabout_measure::Clock;
use walkabout_measure::emulator::{
    DeviceKind, Emulator, EmulatorError, FailureDriver, Ground, NetNs, Settings, StopFlag,
    enter_user_namespace, path_changes,
};
use walkabout_measure::failure::PathChange;
use walkabout_measure::netlink::route::Routing;
use walkabout_measure::recording::{Collected, Log, Recorder};

/// An error with the condition's text and a value, unless the condition holds.
macro_rules! check {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!("{}: {}", stringify!($condition), format!($($words)+)).into());
        }
    };
}

type Outcome = Result<(), Box<dyn Error>>;
type Test = (&'static str, fn(On) -> Outcome);

/// What a test stands on.
#[derive(Clone, Copy)]
struct On {
    kind: DeviceKind,
    family: Family,
}

const TESTS: &[Test] = &[
    (
        "a_datagram_takes_the_configured_delay",
        a_datagram_takes_the_configured_delay,
    ),
    ("tcp_works_on_each_path", tcp_works_on_each_path),
    ("packets_are_real", packets_are_real),
    ("carrier_loss_is_seen", carrier_loss_is_seen),
    (
        "an_interface_goes_down_and_comes_back",
        an_interface_goes_down_and_comes_back,
    ),
    (
        "an_address_is_withdrawn_and_comes_back",
        an_address_is_withdrawn_and_comes_back,
    ),
    ("every_packet_is_recorded", every_packet_is_recorded),
];

/// Long enough for anything here on a busy machine, and short enough not to hang.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--doctor"] {
        let checks = walkabout_measure::doctor::examine();
        for check in &checks {
            println!("{check:?}");
        }
        return ExitCode::SUCCESS;
    }
    if let [flag, name, kind, family] = &arguments[..]
        && flag == "--inside"
    {
        return inside(name, kind, family);
    }
    let filter = arguments.iter().find(|a| !a.starts_with('-'));
    let users: &[&str] = match Uid::effective().is_root() {
        true => &["root", "user"],
        false => &["user"],
    };
    let mut failed = 0;
    for (name, _) in TESTS {
        for kind in DeviceKind::ALL {
            for (user, family) in users.iter().flat_map(|u| Family::ALL.map(|f| (u, f))) {
                // As root nothing is different but the namespaces.
                if user == &"root" && family == Family::Ipv6 {
                    continue;
                }
                let title = format!("{name} ({kind}, {user}, {family:?})");
                if filter.is_some_and(|f| !title.contains(f.as_str())) {
                    continue;
                }
                let on = On { kind, family };
                let outcome = outside(name, on, user == &"user" && users.len() > 1);
                println!("test {title} ... {}", outcome.as_deref().unwrap_or("ok"));
                // What a machine can't do is skipped by name; in CI it is a failure.
                let skipped = outcome.as_ref().is_some_and(|o| o.starts_with("skipped"));
                let excused = skipped && std::env::var_os("CI").is_none();
                failed += u32::from(outcome.is_some() && !excused);
            }
        }
    }
    for (title, outcome) in [
        ("the_doctor_finds_what_the_tests_need", doctor()),
        (
            "the_doctor_says_what_forbids_namespaces",
            doctor_without_namespaces(),
        ),
    ] {
        if filter.is_some_and(|f| !title.contains(f.as_str())) {
            continue;
        }
        failed += u32::from(outcome.is_err());
        let words = outcome.map_or_else(|error| format!("FAILED: {error}"), |()| "ok".to_owned());
        println!("test {title} ... {words}");
    }
    println!("{failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Everything the tests above needed is there, so nothing may be missing.
fn doctor() -> Outcome {
    let output = Command::new(std::env::current_exe()?)
        .arg("--doctor")
        .output()?;
    let words = String::from_utf8_lossy(&output.stdout);
    check!(words.contains("path symmetry"), "{words}");
    check!(!words.contains("status: Missing"), "{words}");
    Ok(())
}

/// In a user namespace whose own limit is zero, and without any capability.
fn doctor_without_namespaces() -> Outcome {
    let program = std::env::current_exe()?;
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
                  exec setpriv --bounding-set -all --inh-caps -all \"$0\" --doctor";
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "sh", "-c", script])
        .arg(program);
    let output = command.output()?;
    let words = String::from_utf8_lossy(&output.stdout);
    let found = words
        .lines()
        .find(|line| line.contains("user namespaces"))
        .unwrap_or_default();
    check!(found.contains("status: Missing"), "{words}");
    check!(found.contains("max_user_namespaces is 0"), "{found}");
    check!(
        found.contains("sysctl -w user.max_user_namespaces="),
        "{found}"
    );
    Ok(())
}

/// Runs a test in a process of its own; the result is what went wrong.
fn outside(name: &str, on: On, drop_root: bool) -> Option<String> {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Some(error.to_string()),
    };
    let mut command = match (drop_root, on.kind) {
        (false, _) => Command::new(program),
        (true, DeviceKind::PacketSocket) => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
            command.arg(program);
            command
        }
        // Many systems let every user open the TUN device, some do not. Here the user gets one
        // that opens, in a mount namespace that nobody else sees.
        (true, DeviceKind::Tun) => {
            let script = "mount -t tmpfs none /dev/net && mknod -m 0666 /dev/net/tun c 10 200 \
                          && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$0\" \"$@\"";
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-c", script]).arg(program);
            command
        }
    };
    let family = format!("{:?}", on.family);
    let arguments = ["--inside", name, on.kind.name(), &family];
    let output = match command.args(arguments).output() {
        Ok(output) => output,
        Err(error) => return Some(format!("FAILED: cannot start: {error}")),
    };
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) => None,
        Some(127) => Some(format!("skipped: {words}")),
        _ => Some(format!("FAILED: {words}")),
    }
}

fn inside(name: &str, kind: &str, family: &str) -> ExitCode {
    let test = TESTS.iter().find(|(n, _)| *n == name).map(|(_, test)| test);
    let kind = DeviceKind::ALL.into_iter().find(|k| k.name() == kind);
    let family = Family::ALL.into_iter().find(|f| format!("{f:?}") == family);
    let (Some(test), Some(kind), Some(family)) = (test, kind, family) else {
        return ExitCode::from(2);
    };
    if let Err(error) = enter_user_namespace() {
        eprintln!("{error}");
        return ExitCode::from(127);
    }
    if let Err(error) = Ground::make(
        &[("probe".into(), model::PathKind::Wifi)],
        family,
        Some(kind),
    ) {
        eprintln!("{error}");
        return ExitCode::from(127);
    }
    if let Err(error) = probe_is_gone() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    match test(On { kind, family }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Waits for the kernel, which takes the interfaces of the probe apart in its own time, after the
/// namespaces they led to: until then their names are taken.
fn probe_is_gone() -> Outcome {
    let began = Instant::now();
    let mut routing = Routing::open()?;
    // The loopback interface stays.
    while routing.links()?.len() > 1 {
        check!(began.elapsed() < PATIENCE, "the probe's interfaces stay");
        thread::yield_now();
    }
    Ok(())
}

/// A scenario with two paths, 20 ms and 50 ms away, and one failure of `wifi` or none.
fn scenario(family: Family, failure: Option<&str>) -> Scenario {
    let link = |delay: &str| serde_json::json!({"delay": delay, "rate": "50 Mbit/s"});
    let path = |name: &str, kind: &str, delay: &str| serde_json::json!({"name": name, "kind": kind, "up": link(delay), "down": link(delay)});
    let failures: Vec<serde_json::Value> = failure
        .iter()
        .map(|kind| {
            serde_json::json!(
                {"path": "wifi", "kind": kind, "at": "300 ms", "duration": "300 ms"}
            )
        })
        .collect();
    let scenario = serde_json::json!({
        "name": "test", "family": family, "summary": "A test.", "duration": "10 s",
        "transports": ["tcp"], "policies": ["single"],
        "traffic": {"ping": {}},
        "path": [path("wifi", "wifi", "20 ms"), path("cellular", "cellular", "50 ms")],
        "failure": failures,
    });
    serde_json::from_value(scenario).expect("the test's scenario is valid")
}

/// A running emulator.
struct Running {
    ground: Ground,
    clock: Clock,
    stop: StopFlag,
    thread: thread::JoinHandle<Result<Timing, EmulatorError>>,
}

fn start(
    scenario: &Scenario,
    kind: DeviceKind,
    log: Option<Log>,
) -> Result<(Running, FailureDriver), Box<dyn Error>> {
    let paths: Vec<_> = scenario
        .paths
        .iter()
        .map(|p| (p.name.clone(), p.kind))
        .collect();
    let mut ground = Ground::make(&paths, scenario.family, Some(kind))?;
    let failures = FailureDriver::new(scenario, Seed(1), &ground)?;
    let devices = ground.take_devices();
    let clock = Clock::start();
    let stop = StopFlag::new()?;
    let traces = BTreeMap::new();
    let settings = Settings::default();
    let emulator = Emulator::new(scenario, Seed(1), &traces, devices, clock, log, settings)?;
    let thread = thread::spawn({
        let stop = stop.clone();
        move || emulator.run(&stop)
    });
    let running = Running {
        ground,
        clock,
        stop,
        thread,
    };
    Ok((running, failures))
}

impl Running {
    fn finish(self) -> Result<Timing, Box<dyn Error>> {
        self.stop.stop();
        Ok(self.thread.join().map_err(|_| "the emulator panicked")??)
    }
}

fn client_udp(ground: &Ground, path: usize) -> io::Result<UdpSocket> {
    let address = ground.local_paths[path].address;
    udp(&ground.client, SocketAddr::new(address, 0))
}

fn server_udp(ground: &Ground) -> io::Result<UdpSocket> {
    udp(&ground.server, SocketAddr::new(ground.server_address, 0))
}

fn udp(host: &NetNs, address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = host
        .run(|| UdpSocket::bind(address))
        .map_err(io::Error::other)??;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

fn a_datagram_takes_the_configured_delay(on: On) -> Outcome {
    let (running, _) = start(&scenario(on.family, None), on.kind, None)?;
    let server = server_udp(&running.ground)?;
    for (path, configured) in [(0, 20), (1, 50)] {
        let client = client_udp(&running.ground, path)?;
        for (from, to) in [(&client, &server), (&server, &client)] {
            let mut delays = Vec::new();
            for _ in 0..20 {
                let sent = Instant::now();
                from.send_to(b"walk", to.local_addr()?)?;
                let mut buffer = [0; 64];
                let (length, sender) = to.recv_from(&mut buffer)?;
                delays.push(sent.elapsed());
                check!(&buffer[..length] == b"walk", "{:?}", &buffer[..length]);
                check!(sender == from.local_addr()?, "{sender}");
            }
            delays.sort();
            let configured = Duration::from_millis(configured);
            let (least, median) = (delays[0], delays[delays.len() / 2]);
            check!(least >= configured, "{least:?} on path {path}");
            let bound = configured + Duration::from_millis(1);
            check!(median <= bound, "{median:?} on path {path}");
        }
    }
    let timing = running.finish()?;
    check!(timing.packets == 80, "{timing:?}");
    Ok(())
}

/// A TCP connection from `path`'s address to the server, both ends.
fn connect(ground: &Ground, path: usize) -> Result<(TcpStream, TcpStream), Box<dyn Error>> {
    let listener = {
        let address = SocketAddr::new(ground.server_address, 0);
        ground.server.run(|| TcpListener::bind(address))??
    };
    let server = listener.local_addr()?;
    let local = SocketAddr::new(ground.local_paths[path].address, 0);
    let accepted = thread::spawn(move || listener.accept());
    let client = ground.client.run(|| connect_from(local, server))??;
    let (accepted, peer) = accepted.join().map_err(|_| "accept panicked")??;
    check!(peer.ip() == ground.local_paths[path].address, "{peer}");
    for stream in [&client, &accepted] {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
    }
    Ok((client, accepted))
}

fn connect_from(local: SocketAddr, server: SocketAddr) -> io::Result<TcpStream> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, socket};
    let flags = SockFlag::SOCK_CLOEXEC;
    let family = match local {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let socket = socket(family, SockType::Stream, flags, None)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(local))?;
    nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(server))?;
    Ok(TcpStream::from(socket))
}

fn tcp_works_on_each_path(on: On) -> Outcome {
    let (running, _) = start(&scenario(on.family, None), on.kind, None)?;
    let data: Arc<Vec<u8>> = Arc::new((0..400_000u32).map(|i| (i % 251) as u8).collect());
    for path in 0..2 {
        let (client, server) = connect(&running.ground, path)?;
        for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
            let sender = thread::spawn({
                let data = Arc::clone(&data);
                move || from.write_all(&data)
            });
            let mut received = vec![0; data.len()];
            to.read_exact(&mut received)?;
            check!(received == *data, "path {path}");
            sender.join().map_err(|_| "the sender panicked")??;
        }
    }
    running.finish()?;
    Ok(())
}

/// No packet exceeds the MTU, and every checksum is real, even when the application asks for
/// segmentation offload.
fn packets_are_real(on: On) -> Outcome {
    let mut ground = Ground::make(
        &[("wifi".into(), model::PathKind::Wifi)],
        on.family,
        Some(on.kind),
    )?;
    let address = SocketAddr::new(ground.local_paths[0].address, 0);
    let client = udp(&ground.client, address)?;
    nix::sys::socket::setsockopt(&client, nix::sys::socket::sockopt::UdpGsoSegment, &1_000)?;
    client.send_to(&[7; 10_000], SocketAddr::new(ground.server_address, 9))?;
    // A handshake's first packet as well.
    let server = SocketAddr::new(ground.server_address, 80);
    let local = SocketAddr::new(ground.local_paths[0].address, 0);
    let client_host = ground.client.clone();
    thread::spawn(move || client_host.run(|| connect_from(local, server)));
    let mut devices = ground.take_devices();
    let device = &mut devices.clients[0].1;
    let mut sizes = Vec::new();
    let began = Instant::now();
    while sizes.len() < 11 && began.elapsed() < PATIENCE {
        let mut buffer = [0; 70_000];
        let Some(length) = device.recv(&mut buffer)? else {
            thread::yield_now();
            continue;
        };
        let packet = &buffer[..length];
        // RFC 791, section 3.1, and RFC 8200, section 3.
        let (header, protocol, addresses) = match on.family {
            Family::Ipv4 => (20, packet[9], &packet[12..20]),
            Family::Ipv6 => (40, packet[6], &packet[8..40]),
        };
        if on.family == Family::Ipv4 {
            check!(packet[0] == 0x45, "{packet:x?}");
            check!(checksum(&packet[..20], 0) == 0, "IP header of {packet:x?}");
        } else {
            check!(packet[0] >> 4 == 6, "{packet:x?}");
        }
        let pseudo = u32::from(protocol) + (length - header) as u32;
        let sum = addresses
            .chunks(2)
            .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let pseudo = pseudo + sum.sum::<u32>();
        check!(
            checksum(&packet[header..], pseudo) == 0,
            "payload of {packet:x?}"
        );
        sizes.push((protocol, length - header));
    }
    let datagrams = sizes.iter().filter(|s| **s == (17, 1_008)).count();
    check!(datagrams == 10, "{sizes:?}");
    check!(
        sizes.iter().any(|(protocol, _)| *protocol == 6),
        "{sizes:?}"
    );
    Ok(())
}

/// The Internet checksum (RFC 1071) of data that holds its own checksum: zero when it is right.
fn checksum(data: &[u8], initial: u32) -> u16 {
    let words = data
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum = initial + words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Carries a failure out and calls `failed` and `repaired` when the host is told of it.
fn fail(
    on: On,
    failure: &str,
    failed: impl FnOnce(&Ground, &mut Routing) -> Outcome,
    repaired: impl FnOnce(&Ground, &mut Routing) -> Outcome,
) -> Outcome {
    let (running, driver) = start(&scenario(on.family, Some(failure)), on.kind, None)?;
    let mut routing = running.ground.client.run(Routing::open)??;
    let (sender, mut receiver) = path_changes()?;
    let driver = thread::spawn({
        let (clock, stop) = (running.clock, running.stop.clone());
        move || driver.run(clock, &mut Collected::default(), &sender, &stop)
    });
    let mut next = || -> Result<PathChange, Box<dyn Error>> {
        let mut poll = [nix::poll::PollFd::new(
            receiver.as_fd(),
            nix::poll::PollFlags::POLLIN,
        )];
        nix::poll::poll(&mut poll, 10_000u16)?;
        match receiver.take()[..] {
            [change] => Ok(change),
            ref other => Err(format!("{other:?}").into()),
        }
    };
    let path = PathIndex(0);
    let before = routing.link("wifi")?;
    check!(before.up && before.carrier, "{before:?}");
    let change = next()?;
    check!(change == PathChange { path, up: false }, "{change:?}");
    failed(&running.ground, &mut routing)?;
    let change = next()?;
    check!(change == PathChange { path, up: true }, "{change:?}");
    let after = routing.link("wifi")?;
    check!(after.up && after.carrier, "{after:?}");
    repaired(&running.ground, &mut routing)?;
    connect(&running.ground, 0)?;
    driver.join().map_err(|_| "the driver panicked")??;
    running.finish()?;
    Ok(())
}

fn carrier_loss_is_seen(on: On) -> Outcome {
    let failed = |_: &Ground, routing: &mut Routing| {
        let link = routing.link("wifi")?;
        check!(link.up && !link.carrier, "{link:?}");
        let other = routing.link("cellular")?;
        check!(other.carrier, "{other:?}");
        Ok(())
    };
    fail(on, "carrier-loss", failed, |_, _| Ok(()))
}

fn an_interface_goes_down_and_comes_back(on: On) -> Outcome {
    let failed = |ground: &Ground, routing: &mut Routing| {
        let link = routing.link("wifi")?;
        check!(!link.up, "{link:?}");
        // The address is there, and does not leak to the other path.
        let socket = client_udp(ground, 0)?;
        let sent = socket.send_to(b"x", SocketAddr::new(ground.server_address, 9));
        let kind = sent.map_err(|e| e.kind());
        let unreachable = [ErrorKind::HostUnreachable, ErrorKind::NetworkUnreachable];
        check!(kind.is_err_and(|k| unreachable.contains(&k)), "{kind:?}");
        connect(ground, 1)?;
        Ok(())
    };
    fail(on, "interface-down", failed, |_, _| Ok(()))
}

fn an_address_is_withdrawn_and_comes_back(on: On) -> Outcome {
    let failed = |ground: &Ground, _: &mut Routing| {
        let bound = client_udp(ground, 0).map(|_| ()).map_err(|e| e.kind());
        check!(bound == Err(ErrorKind::AddrNotAvailable), "{bound:?}");
        Ok(())
    };
    fail(on, "address-withdrawn", failed, |_, _| Ok(()))
}

fn every_packet_is_recorded(on: On) -> Outcome {
    let folder = std::env::temp_dir().join(format!("walkabout-test-{}", std::process::id()));
    let scenario = scenario(on.family, None);
    let manifest = manifest(&scenario);
    let names: Vec<_> = scenario.paths.iter().map(|p| p.name.clone()).collect();
    let recorder = Recorder::create(&folder, &manifest, &names)?;
    let (running, _) = start(&scenario, on.kind, Some(recorder.log()))?;
    let (client, server) = (
        client_udp(&running.ground, 1)?,
        server_udp(&running.ground)?,
    );
    for _ in 0..5 {
        client.send_to(b"there", server.local_addr()?)?;
        server.recv_from(&mut [0; 64])?;
    }
    // Sent, read by the emulator, and on its way at the end. The answer of the other path shows
    // that the emulator has read what was sent before.
    server.send_to(b"back", client.local_addr()?)?;
    let quick = client_udp(&running.ground, 0)?;
    quick.send_to(b"quick", server.local_addr()?)?;
    server.recv_from(&mut [0; 64])?;
    running.finish()?;
    recorder.finish(&manifest)?;
    let packets = fates(&folder.join("packets.parquet"))?;
    let of = |path: &str, direction: &str| -> Vec<Option<u64>> {
        let rows = packets.iter();
        let rows = rows.filter(|(p, d, _)| p == path && d == direction);
        rows.map(|(_, _, delay)| *delay).collect()
    };
    // 50 Mbit/s take 160 ns for a byte; the links' own times have no scheduler in them.
    let bytes = match on.family {
        Family::Ipv4 => 33,
        Family::Ipv6 => 53,
    };
    let cellular = Duration::from_millis(50).as_nanos() as u64 + 160 * bytes;
    let wifi = Duration::from_millis(20).as_nanos() as u64 + 160 * bytes;
    check!(
        of("cellular", "up") == vec![Some(cellular); 5],
        "{packets:?}"
    );
    check!(of("wifi", "up") == vec![Some(wifi)], "{packets:?}");
    // Neither delivered nor dropped.
    check!(of("cellular", "down") == vec![None], "{packets:?}");
    check!(packets.len() == 7, "{packets:?}");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// A packet's path, direction and delay in the link (if it was delivered).
type Packet = (String, String, Option<u64>);

/// The packets of a table, delays in nanoseconds.
fn fates(table: &Path) -> Result<Vec<Packet>, Box<dyn Error>> {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, RecordBatch};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(table)?)?.build()?;
    let mut fates = Vec::new();
    for batch in reader {
        let batch: RecordBatch = batch?;
        let column = |name: &str| batch.column_by_name(name).ok_or(format!("no {name}"));
        let text = |name: &str, row: usize| -> Result<String, Box<dyn Error>> {
            Ok(column(name)?.as_string::<i32>().value(row).to_owned())
        };
        for row in 0..batch.num_rows() {
            let number = |name: &str| -> Result<Option<u64>, Box<dyn Error>> {
                let values = column(name)?.as_primitive::<arrow_array::types::UInt64Type>();
                Ok(values.is_valid(row).then(|| values.value(row)))
            };
            let delay = match (number("enqueued_ns")?, number("delivered_ns")?) {
                (Some(enqueued), Some(delivered)) => Some(delivered - enqueued),
                _ => None,
            };
            fates.push((text("path", row)?, text("direction", row)?, delay));
        }
    }
    Ok(fates)
}

fn manifest(scenario: &Scenario) -> Manifest {
    Manifest {
        status: Status::Complete,
        ..Manifest::new(World::Emulated, scenario, "", "", Seed(1))
    }
}
