//! How fast are the stacks in user space over real packets: the payload a second that each
//! pairing of transports carries up over a link without a rate, 1 ms long, as JSON on the
//! standard output. It judges nothing: what a machine reaches depends on the machine.
//!
//! `cargo bench -p walkabout-measure --bench user_space [tun|packet-socket]`

use model::{Family, PathKind, Scenario, Seed};
use nix::poll::{PollFd, PollFlags};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use walkabout_measure::Clock;
use walkabout_measure::addresses::PORT;
use walkabout_measure::emulator::{
    DeviceKind, Emulator, Ground, NetNs, Settings, StopFlag, enter_user_namespace,
};
use walkabout_measure::transport::list::{self, ClientSetup, Entry, ServerSetup};
use walkabout_measure::transport::{Binding, SocketEndpoint, quic};

type Failure = Box<dyn Error + Send + Sync>;

/// Bytes the sender keeps in its queue.
const QUEUE: usize = 1 << 20;
/// Before it is measured, so that windows and buffers have grown, and for how long then.
const START: Duration = Duration::from_secs(2);
const TIME: Duration = Duration::from_secs(4);

/// Client and server.
const PAIRS: &[(&str, &str)] = &[
    ("tcp-user", "tcp-user"),
    ("mptcp-user", "mptcp-user"),
    ("mptcp-user", "mptcp"),
    ("mptcp", "mptcp-user"),
    ("mptcp", "mptcp"),
];

fn main() -> Result<(), Failure> {
    enter_user_namespace()?;
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let mut results = Vec::new();
    for kind in DeviceKind::ALL {
        if wanted.as_ref().is_some_and(|w| w != kind.name()) {
            continue;
        }
        for (client, server) in PAIRS {
            let (Some(to), Some(from)) = (list::find(client), list::find(server)) else {
                return Err("no such transport".into());
            };
            results.push(measure(kind, to, from)?);
        }
    }
    println!("{}", serde_json::to_string_pretty(&results)?);
    Ok(())
}

fn measure(kind: DeviceKind, client: &Entry, server: &Entry) -> Result<Value, Failure> {
    let link = json!({"delay": "1 ms"});
    let scenario: Scenario = serde_json::from_value(json!({
        "name": "bench", "summary": "A bench.", "duration": "60 s",
        "transports": [], "policies": [], "traffic": {"ping": {}},
        "path": [{"name": "wifi", "kind": "wifi", "up": link, "down": link}],
    }))?;
    let ground = NetNs::create()?.run(|| {
        let paths = [("wifi".into(), PathKind::Wifi)];
        Ground::make(&paths, Family::Ipv4, Some(kind))
    })?;
    let mut ground = match ground {
        Ok(ground) => ground,
        Err(error) => return Ok(json!({"device": kind.name(), "skipped": error.to_string()})),
    };
    let (clock, stop) = (Clock::start(), StopFlag::new()?);
    let (traces, settings) = (BTreeMap::new(), Settings::default());
    let devices = ground.take_devices();
    let emulator = Emulator::new(&scenario, Seed(1), &traces, devices, clock, None, settings)?;
    let identity = quic::Identity::generate()?;
    let address = SocketAddr::new(ground.server_address, PORT);
    let names: Vec<_> = ground
        .local_paths
        .iter()
        .map(|path| (path.name.clone(), path.address))
        .collect();
    let policy = policy::list::find(policy::list::SINGLE).ok_or("no such policy")?;
    let (over, received) = (AtomicBool::new(false), AtomicU64::new(0));
    let (listening, ready) = mpsc::channel();
    let ready = Mutex::new(ready);
    let (timing, goodput) = thread::scope(|scope| {
        let emulator = scope.spawn(|| emulator.run(&stop));
        let receiver = scope.spawn(|| {
            ground.server.enter()?;
            let mut end = (server.listen)(&ServerSetup {
                clock,
                seed: Seed(1),
                address,
                client_paths: &names,
                congestion: Some("cubic"),
                scheduler: None,
                extensions: &model::scenario::Multipath::NONE,
                identity: &identity,
            })?;
            let _ = listening.send(());
            receive(&mut *end, clock, &over, &received)
        });
        let sender = scope.spawn(|| {
            ground.client.enter()?;
            // A server that failed says so itself.
            let _ = ready.lock().map(|ready| ready.recv());
            let mut end = (client.connect)(&ClientSetup {
                clock,
                seed: Seed(1),
                server: address,
                paths: &ground.local_paths,
                channels: 1,
                congestion: Some("cubic"),
                scheduler: None,
                extensions: &model::scenario::Multipath::NONE,
                policy,
                pin: identity.pin(),
                binding: Binding::Address,
            })?;
            send(&mut *end, clock, &over)
        });
        thread::sleep(START);
        let (before, began) = (received.load(Ordering::Relaxed), Instant::now());
        thread::sleep(TIME);
        let bytes = received.load(Ordering::Relaxed) - before;
        let goodput = bytes as f64 * 8.0 / began.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        let ended = [receiver.join(), sender.join()];
        stop.stop();
        let timing = emulator.join().map_err(|_| "the emulator panicked")??;
        for end in ended {
            end.map_err(|_| "an end panicked")??;
        }
        Ok::<_, Failure>((timing, goodput))
    })?;
    Ok(json!({
        "device": kind.name(), "client": client.name, "server": server.name,
        "goodput_bps": goodput, "lateness_p99_us": timing.lateness_p99_ns as f64 / 1e3,
    }))
}

fn wait(end: &dyn SocketEndpoint, clock: Clock) -> Result<(), Failure> {
    let mut wanted = Vec::new();
    end.wait_for(&mut wanted);
    let polled = |&(fd, writable): &(i32, bool)| {
        // SAFETY: the end keeps its descriptors while this waits.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let mut flags = PollFlags::POLLIN;
        flags.set(PollFlags::POLLOUT, writable);
        PollFd::new(fd, flags)
    };
    let mut fds: Vec<_> = wanted.iter().map(polled).collect();
    let longest = Duration::from_millis(50);
    let left = end.poll_at().map_or(longest, |at| at.since(clock.now()));
    let timeout = nix::sys::time::TimeSpec::from_duration(left.min(longest));
    nix::poll::ppoll(&mut fds, Some(timeout), None)?;
    Ok(())
}

fn send(end: &mut dyn SocketEndpoint, clock: Clock, over: &AtomicBool) -> Result<(), Failure> {
    let data = vec![7; 64 << 10];
    while !over.load(Ordering::Relaxed) {
        end.poll(clock.now())?;
        if end.is_connected() {
            while end.queued(0) < QUEUE {
                end.write(0, &data);
            }
            end.flush(clock.now())?;
        }
        // A stack that took everything may take more.
        if !end.is_connected() || end.queued(0) > 0 {
            wait(end, clock)?;
        }
    }
    Ok(())
}

fn receive(
    end: &mut dyn SocketEndpoint,
    clock: Clock,
    over: &AtomicBool,
    received: &AtomicU64,
) -> Result<(), Failure> {
    let mut buffer = vec![0; 256 << 10];
    let mut channel = None;
    while !over.load(Ordering::Relaxed) {
        end.poll(clock.now())?;
        channel = channel.or_else(|| end.accepted());
        if let Some(channel) = channel {
            loop {
                let count = end.read(channel, &mut buffer);
                if count == 0 {
                    break;
                }
                received.fetch_add(count as u64, Ordering::Relaxed);
            }
            end.flush(clock.now())?;
        }
        wait(end, clock)?;
    }
    Ok(())
}
