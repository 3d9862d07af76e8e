//! How true the emulated links are, and how fast: what was asked of a link and what was
//! measured, for each kind of device, with and without recording, as JSON on the standard
//! output. It judges nothing: what a machine reaches depends on the machine.
//!
//! `cargo bench -p walkabout-measure --bench links [tun|packet-socket]`

use model::manifest::{Status, Timing};
use model::{Family, Manifest, PathKind, Scenario, Seed, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use walkabout_measure::Clock;
use walkabout_measure::emulator::{
    DeviceKind, Emulator, Ground, NetNs, Settings, StopFlag, enter_user_namespace,
};
use walkabout_measure::recording::Recorder;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The TCP payload of a full packet, in bytes: 1500 less the headers of IPv4 (20) and TCP (20)
/// and the timestamp option (12).
const SEGMENT: f64 = 1_448.0;
/// Bytes of a full packet.
const PACKET: f64 = 1_500.0;

fn main() -> Result<()> {
    enter_user_namespace()?;
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let mut results = Vec::new();
    for kind in DeviceKind::ALL {
        if wanted.as_ref().is_some_and(|w| w != kind.name()) {
            continue;
        }
        if let Err(error) = fresh_ground("probe", kind) {
            results.push(json!({"device": kind.name(), "skipped": error.to_string()}));
            continue;
        }
        for recording in [false, true] {
            let bench = Bench { kind, recording };
            results.push(json!({
                "device": kind.name(),
                "recording": recording,
                "delay": bench.each([1, 10, 50], Bench::delay)?,
                "goodput": bench.each([1, 10, 100], Bench::goodput)?,
                "loss": bench.loss(0.05)?,
                "unlimited": bench.unlimited()?,
                "small_packets": bench.small_packets()?,
            }));
        }
    }
    println!("{}", serde_json::to_string_pretty(&results)?);
    Ok(())
}

/// A ground in namespaces of its own throughout: the kernel takes its time to remove the
/// interfaces of one that is gone, and would have their names twice.
fn fresh_ground(path: &str, kind: DeviceKind) -> Result<Ground> {
    let ground = NetNs::create()?
        .run(|| Ground::make(&[(path.into(), PathKind::Wifi)], Family::Ipv4, Some(kind)))?;
    Ok(ground?)
}

/// One way to run the emulator.
#[derive(Clone, Copy)]
struct Bench {
    kind: DeviceKind,
    recording: bool,
}

/// Two sockets with an emulated link between them.
struct Hosts {
    ground: Ground,
    server: SocketAddr,
}

impl Hosts {
    fn udp(&self) -> Result<(UdpSocket, UdpSocket)> {
        let server = self.ground.server.run(|| UdpSocket::bind(self.server))??;
        let client = SocketAddr::new(self.ground.local_paths[0].address, 0);
        let client = self.ground.client.run(|| UdpSocket::bind(client))??;
        client.connect(server.local_addr()?)?;
        server.set_read_timeout(Some(Duration::from_secs(1)))?;
        Ok((client, server))
    }

    fn tcp(&self) -> Result<(TcpStream, TcpStream)> {
        let listener = self
            .ground
            .server
            .run(|| TcpListener::bind(self.server))??;
        let address = listener.local_addr()?;
        let accepted = thread::spawn(move || listener.accept());
        let client = self.ground.client.run(|| TcpStream::connect(address))??;
        let (server, _) = accepted.join().map_err(|_| "accept panicked")??;
        Ok((client, server))
    }
}

impl Bench {
    fn each(self, values: [u64; 3], measure: fn(Bench, u64) -> Result<Value>) -> Result<Value> {
        values.into_iter().map(|v| measure(self, v)).collect()
    }

    /// Runs `work` on a link of these properties.
    fn on<T>(self, link: &Value, work: impl FnOnce(&Hosts) -> Result<T>) -> Result<(T, Timing)> {
        let scenario: Scenario = serde_json::from_value(json!({
            "name": "bench", "summary": "A bench.", "duration": "60 s",
            "transports": [], "policies": [], "traffic": {"ping": {}},
            "path": [{"name": "wifi", "kind": "wifi", "up": link, "down": {"delay": "0 ms"}}],
        }))?;
        let folder = std::env::temp_dir().join(format!("walkabout-bench-{}", std::process::id()));
        let manifest = manifest(&scenario);
        let recorder = match self.recording {
            true => Some(Recorder::create(&folder, &manifest, &["wifi".into()])?),
            false => None,
        };
        let mut ground = fresh_ground("wifi", self.kind)?;
        let stop = StopFlag::new()?;
        let (devices, log) = (ground.take_devices(), recorder.as_ref().map(Recorder::log));
        let (traces, settings) = (BTreeMap::new(), Settings::default());
        let clock = Clock::start();
        let emulator = Emulator::new(&scenario, Seed(1), &traces, devices, clock, log, settings)?;
        let emulator = thread::spawn({
            let stop = stop.clone();
            move || emulator.run(&stop)
        });
        let server = SocketAddr::new(ground.server_address, 0);
        let result = work(&Hosts { ground, server });
        stop.stop();
        let timing = emulator.join().map_err(|_| "the emulator panicked")??;
        if let Some(recorder) = recorder {
            recorder.finish(&manifest)?;
            std::fs::remove_dir_all(&folder)?;
        }
        Ok((result?, timing))
    }

    /// One-way delay of single datagrams, 2 ms apart.
    fn delay(self, ms: u64) -> Result<Value> {
        let (mut delays, timing) = self.on(&json!({"delay": format!("{ms} ms")}), |hosts| {
            let (client, server) = hosts.udp()?;
            let began = Instant::now();
            let receiver = thread::spawn(move || {
                let mut delays = Vec::new();
                let mut buffer = [0; 8];
                while let Ok(8) = server.recv(&mut buffer) {
                    let sent = Duration::from_nanos(u64::from_ne_bytes(buffer));
                    delays.push(began.elapsed() - sent);
                }
                delays
            });
            for number in 1..=1_000 {
                let at = Duration::from_millis(2 * number);
                thread::sleep(at.saturating_sub(began.elapsed()));
                let now = began.elapsed().as_nanos() as u64;
                client.send(&now.to_ne_bytes())?;
            }
            Ok(receiver.join().map_err(|_| "the receiver panicked")?)
        })?;
        delays.sort();
        let quantile = |q: f64| {
            let index = (delays.len() as f64 * q) as usize;
            delays.get(index).map(|d| d.as_nanos() as f64 / 1e6)
        };
        Ok(json!({
            "requested_ms": ms, "packets": delays.len(),
            "p50_ms": quantile(0.5), "p99_ms": quantile(0.99), "max_ms": quantile(0.9999),
            "lateness_p99_us": timing.lateness_p99_ns as f64 / 1e3,
        }))
    }

    /// Kernel TCP's goodput over a link of this rate, after its start.
    fn goodput(self, mbits: u64) -> Result<Value> {
        let link = json!({"delay": "5 ms", "rate": format!("{mbits} Mbit/s")});
        let (goodput, _) = self.on(&link, |hosts| {
            throughput(hosts, Duration::from_secs(2), Duration::from_secs(4))
        })?;
        let expected = mbits as f64 * 1e6 * SEGMENT / PACKET;
        Ok(json!({
            "rate_bps": mbits * 1_000_000, "goodput_bps": goodput,
            "expected_goodput_bps": expected, "measured_by_expected": goodput / expected,
        }))
    }

    /// Kernel TCP's goodput over a link without a rate.
    fn unlimited(self) -> Result<Value> {
        let (goodput, timing) = self.on(&json!({"delay": "1 ms"}), |hosts| {
            throughput(hosts, Duration::from_secs(1), Duration::from_secs(4))
        })?;
        Ok(json!({
            "tcp_goodput_bps": goodput, "lateness_p99_us": timing.lateness_p99_ns as f64 / 1e3,
        }))
    }

    /// The share of datagrams that random loss takes.
    fn loss(self, loss: f64) -> Result<Value> {
        let link = json!({"delay": "1 ms", "loss": loss});
        const SENT: usize = 50_000;
        let (received, _) = self.on(&link, |hosts| {
            let (client, server) = hosts.udp()?;
            let receiver = thread::spawn(move || {
                let mut received = 0;
                while server.recv(&mut [0; 64]).is_ok() {
                    received += 1;
                }
                received
            });
            for number in 0..SENT {
                client.send(&[0; 20])?;
                // Slow enough for the receiver, whose losses would count as the link's.
                if number % 20 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Ok(receiver.join().map_err(|_| "the receiver panicked")?)
        })?;
        let measured = 1.0 - f64::from(received) / SENT as f64;
        Ok(json!({"requested": loss, "measured": measured, "sent": SENT}))
    }

    /// Datagrams of 20 bytes, as fast as they come: how many per second the emulator delivers.
    fn small_packets(self) -> Result<Value> {
        const TIME: Duration = Duration::from_secs(4);
        let ((sent, received), timing) = self.on(&json!({"delay": "1 ms"}), |hosts| {
            let (client, server) = hosts.udp()?;
            let over = AtomicBool::new(false);
            let received = thread::scope(|scope| {
                let receiver = scope.spawn(|| {
                    let mut received = 0u64;
                    loop {
                        match receive_many(&server) {
                            0 if over.load(Ordering::Relaxed) => return received,
                            count => received += count,
                        }
                    }
                });
                let (began, mut sent) = (Instant::now(), 0u64);
                while began.elapsed() < TIME {
                    sent += send_many(&client);
                }
                over.store(true, Ordering::Relaxed);
                let received = receiver.join().map_err(|_| "the receiver panicked");
                received.map(|received| (sent, received))
            });
            Ok(received?)
        })?;
        let per_second = |packets: u64| packets as f64 / TIME.as_secs_f64();
        Ok(json!({
            "sent_per_second": per_second(sent),
            "delivered_per_second": per_second(timing.packets),
            "received_per_second": per_second(received),
            "lateness_p99_us": timing.lateness_p99_ns as f64 / 1e3,
        }))
    }
}

/// Bits per second of TCP payload at the server, over `time` after `start`.
fn throughput(hosts: &Hosts, start: Duration, time: Duration) -> Result<f64> {
    let (mut client, mut server) = hosts.tcp()?;
    let sender = thread::spawn(move || {
        let data = vec![0; 256 * 1024];
        // Ends when the receiver hangs up.
        while client.write(&data).is_ok() {}
    });
    let mut buffer = vec![0; 256 * 1024];
    let mut read_for = |time: Duration| -> Result<(usize, Duration)> {
        let (began, mut bytes) = (Instant::now(), 0);
        while began.elapsed() < time {
            bytes += server.read(&mut buffer)?;
        }
        Ok((bytes, began.elapsed()))
    };
    read_for(start)?;
    let (bytes, elapsed) = read_for(time)?;
    let goodput = bytes as f64 * 8.0 / elapsed.as_secs_f64();
    server.shutdown(std::net::Shutdown::Both)?;
    drop(server);
    sender.join().map_err(|_| "the sender panicked")?;
    Ok(goodput)
}

/// Datagrams per system call.
const MANY: usize = 64;

/// Sends a batch of datagrams: how many were taken.
fn send_many(socket: &UdpSocket) -> u64 {
    let mut data = [0u8; 20];
    with_messages(&mut data, |messages| {
        // SAFETY: the messages and what they point to outlive the call.
        unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), MANY as u32, 0) }
    })
}

/// Receives a batch of datagrams: how many came.
fn receive_many(socket: &UdpSocket) -> u64 {
    let mut data = [0u8; 20];
    with_messages(&mut data, |messages| {
        let (fd, flags) = (socket.as_raw_fd(), libc::MSG_WAITFORONE);
        let none = std::ptr::null_mut();
        // SAFETY: the messages and what they point to outlive the call; all share one buffer,
        // whose content nobody reads.
        unsafe { libc::recvmmsg(fd, messages.as_mut_ptr(), MANY as u32, flags, none) }
    })
}

/// Calls with [`MANY`] messages of one buffer.
fn with_messages(
    data: &mut [u8; 20],
    call: impl FnOnce(&mut [libc::mmsghdr; MANY]) -> libc::c_int,
) -> u64 {
    let mut vector = libc::iovec {
        iov_base: data.as_mut_ptr().cast(),
        iov_len: data.len(),
    };
    // SAFETY: all zeroes is a valid mmsghdr.
    let mut messages: [libc::mmsghdr; MANY] = unsafe { std::mem::zeroed() };
    for message in &mut messages {
        message.msg_hdr.msg_iov = &mut vector;
        message.msg_hdr.msg_iovlen = 1;
    }
    match call(&mut messages) {
        -1 => {
            let error = std::io::Error::last_os_error().kind();
            debug_assert_ne!(error, ErrorKind::InvalidInput);
            0
        }
        count => count as u64,
    }
}

fn manifest(scenario: &Scenario) -> Manifest {
    Manifest {
        status: Status::Complete,
        ..Manifest::new(World::Emulated, scenario, "", "", Seed(1))
    }
}
