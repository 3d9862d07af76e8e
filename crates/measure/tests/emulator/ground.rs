//! What do the tests run on? Two hosts between which an emulator runs, and sockets on both.

use crate::PATIENCE;
use model::manifest::Timing;
use model::{Family, Scenario, Seed};
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread;
use walkabout_measure::Clock;
use walkabout_measure::emulator::{
    DeviceKind, Emulator, EmulatorError, FailureDriver, Ground, NetNs, Settings, StopFlag,
};
use walkabout_measure::recording::Log;

/// A scenario with two paths, 20 ms and 50 ms away, and one failure of `wifi` or none.
pub fn scenario(family: Family, failure: Option<&str>) -> Scenario {
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
pub struct Running {
    pub ground: Ground,
    pub clock: Clock,
    pub stop: StopFlag,
    thread: thread::JoinHandle<Result<Timing, EmulatorError>>,
}

pub fn start(
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
    pub fn finish(self) -> Result<Timing, Box<dyn Error>> {
        self.stop.stop();
        Ok(self.thread.join().map_err(|_| "the emulator panicked")??)
    }
}

pub fn client_udp(ground: &Ground, path: usize) -> io::Result<UdpSocket> {
    let address = ground.local_paths[path].address;
    udp(&ground.client, SocketAddr::new(address, 0))
}

pub fn server_udp(ground: &Ground) -> io::Result<UdpSocket> {
    udp(&ground.server, SocketAddr::new(ground.server_address, 0))
}

pub fn udp(host: &NetNs, address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = host
        .run(|| UdpSocket::bind(address))
        .map_err(io::Error::other)??;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// A TCP connection from `path`'s address to the server, both ends.
pub fn connect(ground: &Ground, path: usize) -> Result<(TcpStream, TcpStream), Box<dyn Error>> {
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

pub fn connect_from(local: SocketAddr, server: SocketAddr) -> io::Result<TcpStream> {
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
