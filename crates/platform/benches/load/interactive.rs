//! What does a test server hold? A thousand connections on which nothing is said, and two hundred clients
//! that exchange a message each tenth of a second in both directions.

use super::child::{Child, SERVER_ID};
use super::figures::{Taken, load_average, peak_bytes, quantiles, resident_bytes};
use super::{Wanted, say};
use measure::Clock;
use measure::transport::quic::{self, Pin};
use measure::transport::{Binding, Endpoint, LocalPath, SocketEndpoint};
use model::record::Message;
use model::scenario::{Interactive, Traffic};
use model::{Name, PathKind, Seed, Time};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use traffic::hello::greet;
use traffic::{Channels, Half, pattern};
use walkabout_platform::token::{Claims, SigningKey, random_hex, unhex};

const IDLE: usize = 1_000;
const ACTIVE: usize = 200;

/// Of the pattern's messages.
const PERIOD: Duration = Duration::from_millis(100);

/// Longer than anything takes here.
const PATIENCE: Duration = Duration::from_secs(30);

/// Before anything is counted, each client has had so many answers.
const SETTLED: usize = 10;

/// What carries a client's channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Tcp,
    Mptcp,
    Quic,
    Mpquic,
}

/// Sockets as channels.
struct Sockets(Vec<Option<TcpStream>>);

enum End {
    Sockets(Sockets),
    Quic(Box<quic::Client>),
}

/// A client of the pattern.
struct Client {
    half: Box<dyn Half>,
    end: End,
    /// What its channels begin with, until they have.
    token: Option<String>,
    log: Vec<Message>,
    /// When it has to be looked at even if nothing arrives.
    due: Time,
}

impl Channels for Sockets {
    fn write(&mut self, channel: usize, data: &[u8]) {
        let Some(stream) = &mut self.0[channel] else {
            return;
        };
        // Messages of 2 kB, ten a second: a buffer that does not take them is a server that hangs.
        if stream.write_all(data).is_err() {
            self.0[channel] = None;
        }
    }
    fn queued(&self, _: usize) -> usize {
        0
    }
    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        let Some(stream) = &mut self.0[channel] else {
            return 0;
        };
        match stream.read(buffer) {
            Ok(n) if n > 0 => n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            _ => {
                self.0[channel] = None;
                0
            }
        }
    }
    fn is_open(&self, channel: usize) -> bool {
        self.0[channel].is_some()
    }
}

fn connect(by: By, server: SocketAddr) -> TcpStream {
    let stream = match by {
        By::Mptcp => {
            // SAFETY: no pointers are passed.
            let fd = unsafe {
                let protocol = measure::transport::kernel::IPPROTO_MPTCP;
                libc::socket(
                    libc::AF_INET,
                    libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
                    protocol,
                )
            };
            assert!(fd >= 0, "no Multipath TCP");
            // SAFETY: a fresh descriptor.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            let address = nix::sys::socket::SockaddrStorage::from(server);
            nix::sys::socket::connect(fd.as_raw_fd(), &address).expect("connected");
            TcpStream::from(fd)
        }
        _ => TcpStream::connect(server).expect("connected"),
    };
    stream.set_nodelay(true).expect("set");
    stream
}

fn quic_client(by: By, server: SocketAddr, pin: [u8; 32], clock: Clock, seed: u64) -> quic::Client {
    let path = |(name, address): (&str, [u8; 4])| LocalPath {
        name: Name::from(name),
        kind: PathKind::Wifi,
        address: IpAddr::from(address),
        interface: 1,
    };
    let paths = [("wifi", [127, 0, 0, 1]), ("cellular", [127, 0, 1, 2])];
    quic::Client::connect(quic::ClientConfig {
        multipath: by == By::Mpquic,
        server,
        paths: paths.map(path).into(),
        channels: interactive().channels(),
        keep_alive: Some(Duration::from_millis(500)),
        congestion: None,
        clock,
        seed: Seed(seed),
        pin: Pin(pin),
        binding: Binding::Address,
    })
    .expect("a QUIC client")
}

fn interactive() -> Traffic {
    Traffic::Interactive(Interactive::default())
}

impl Client {
    fn new(
        by: By,
        server: SocketAddr,
        pin: [u8; 32],
        clock: Clock,
        number: u64,
        token: String,
    ) -> Client {
        let traffic = interactive();
        let end = match by {
            By::Tcp | By::Mptcp => {
                let socket = |_| {
                    let stream = connect(by, server);
                    stream.set_nonblocking(true).expect("set");
                    Some(stream)
                };
                End::Sockets(Sockets((0..traffic.channels()).map(socket).collect()))
            }
            By::Quic | By::Mpquic => {
                End::Quic(Box::new(quic_client(by, server, pin, clock, number)))
            }
        };
        Client {
            half: pattern::client(&traffic, Seed(number)),
            end,
            token: Some(token),
            log: Vec::new(),
            // One after the other: no two people take a step at once.
            due: clock.now() + PERIOD.mul_f64(number as f64 / ACTIVE as f64),
        }
    }

    fn descriptors(&self) -> Vec<RawFd> {
        match &self.end {
            End::Sockets(sockets) => {
                let open = sockets.0.iter().flatten();
                open.map(AsRawFd::as_raw_fd).collect()
            }
            End::Quic(endpoint) => {
                let mut fds = Vec::new();
                endpoint.wait_for(&mut fds);
                fds.into_iter().map(|(fd, _)| fd).collect()
            }
        }
    }

    /// Does what is due: what arrived, what is to be sent.
    fn turn(&mut self, now: Time) {
        let mut due = None;
        match &mut self.end {
            End::Sockets(sockets) => {
                if let Some(token) = self.token.take() {
                    greet(sockets, &interactive(), Some(&token));
                }
                self.half.poll(now, sockets, &mut self.log);
            }
            End::Quic(endpoint) => {
                endpoint.poll(now).expect("the server is there");
                if endpoint.is_connected() {
                    if let Some(token) = self.token.take() {
                        greet(&mut **endpoint, &interactive(), Some(&token));
                    }
                    self.half.poll(now, &mut **endpoint, &mut self.log);
                }
                endpoint.flush(now).expect("the server is there");
                due = endpoint.poll_at();
            }
        }
        let of_half = self.half.poll_at();
        self.due = due.into_iter().chain(of_half).min().unwrap_or(Time::MAX);
        if let Some(error) = self.half.error() {
            panic!("a client was cut: {error}");
        }
    }
}

/// The clients of one thread, and what wakes them.
struct Crowd {
    clients: Vec<Client>,
    epoll: Epoll,
    clock: Clock,
}

impl Crowd {
    fn new(clients: Vec<Client>, clock: Clock) -> Crowd {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("epoll");
        for (number, client) in clients.iter().enumerate() {
            for fd in client.descriptors() {
                // SAFETY: the client keeps it open as long as the crowd is there.
                let fd = unsafe { BorrowedFd::borrow_raw(fd) };
                let event = EpollEvent::new(EpollFlags::EPOLLIN, number as u64);
                epoll.add(fd, event).expect("watched");
            }
        }
        Crowd {
            clients,
            epoll,
            clock,
        }
    }

    /// Lets all clients work until `done`.
    fn until(&mut self, mut done: impl FnMut(&[Client]) -> bool) {
        let mut events = [EpollEvent::empty(); 256];
        let begun = Instant::now();
        while !done(&self.clients) {
            assert!(begun.elapsed() < 4 * PATIENCE, "the clients get no answers");
            let now = self.clock.now();
            let due = self.clients.iter().map(|client| client.due).min();
            let wait = self
                .clock
                .instant(due.unwrap_or(now).min(now + Duration::from_millis(50)));
            let wait = wait.saturating_duration_since(Instant::now());
            // Rounded up: a wait of nothing would be a circle.
            let wait = EpollTimeout::from(wait.as_micros().div_ceil(1_000) as u16);
            let ready = self.epoll.wait(&mut events, wait).unwrap_or(0);
            let now = self.clock.now();
            for event in &events[..ready] {
                self.clients[event.data() as usize].turn(now);
            }
            for client in &mut self.clients {
                if client.due <= now {
                    client.turn(now);
                }
            }
        }
    }
}

/// The server under idle and active clients.
pub fn bench(wanted: &Wanted) -> Value {
    let mut report = serde_json::Map::new();
    let kinds: [(&str, &[By]); 2] = [
        ("tcp", &[By::Tcp]),
        (
            "a_quarter_each",
            &[By::Tcp, By::Mptcp, By::Quic, By::Mpquic],
        ),
    ];
    for (name, by) in kinds {
        let rounds = (0..wanted.rounds).map(|_| {
            let result = round(by, wanted.time);
            say(name, &result);
            result
        });
        report.insert(name.into(), rounds.collect());
    }
    Value::Object(report)
}

fn round(by: &[By], time: Duration) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let (key, _) = SigningKey::generate();
    let child = Child::server(&key.verifying_key().to_string(), folder.path());
    let address: SocketAddr = child.said("address").parse().expect("an address");
    let pin = unhex(&child.said("certificate")).expect("a pin");
    let metrics = child.said("metrics");
    let empty_bytes = resident_bytes(child.pid());

    let idle: Vec<TcpStream> = (0..IDLE).map(|_| connect(By::Tcp, address)).collect();
    await_metric(
        &metrics,
        "walkabout_server_connections{transport=\"tcp\"}",
        IDLE as u64,
    );
    let idle_bytes = resident_bytes(child.pid());

    let clock = Clock::start();
    let client = |number: usize| {
        let token = key.sign(&claims());
        Client::new(
            by[number % by.len()],
            address,
            pin,
            clock,
            number as u64,
            token,
        )
    };
    let mut crowd = Crowd::new((0..ACTIVE).map(client).collect(), clock);
    crowd.until(|clients| clients.iter().all(|client| client.log.len() >= SETTLED));
    crowd
        .clients
        .iter_mut()
        .for_each(|client| client.log.clear());

    let before = Taken::now(child.pid());
    let end = clock.now() + time;
    crowd.until(|_| clock.now() >= end);
    let cpus = Taken::now(child.pid()).since(&before);
    let sessions = total(&metrics, "walkabout_server_sessions{");
    assert_eq!(sessions, ACTIVE as u64, "a session was cut");
    let connections = metric(&metrics, "walkabout_server_connections{transport=\"tcp\"}");
    assert!(connections >= IDLE as u64, "an idle connection was cut");

    let all = |by: &dyn Fn(usize) -> bool| -> Vec<Duration> {
        let clients = crowd.clients.iter().enumerate().filter(|(i, _)| by(*i));
        let delays = clients.flat_map(|(_, c)| c.log.iter().filter_map(|m| m.delay_us));
        delays.map(Duration::from_micros).collect()
    };
    let mut result = json!({
        "idle": IDLE,
        "active": ACTIVE,
        "message_delay": quantiles(&all(&|_| true)),
        "processors": cpus,
        "memory_bytes": {
            "empty": empty_bytes,
            "with_idle": idle_bytes,
            "with_active": resident_bytes(child.pid()),
            "peak": peak_bytes(child.pid()),
        },
        "load_average": load_average(),
        "missing": child.ready["missing"],
    });
    if by.len() > 1 {
        for (place, one) in by.iter().enumerate() {
            let name = format!("message_delay_{}", format!("{one:?}").to_lowercase());
            result[name] = quantiles(&all(&|i| i % by.len() == place));
        }
    }
    drop((crowd, idle));
    result
}

/// Claims of a token that is good now.
fn claims() -> Claims {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = now.expect("after 1970").as_secs();
    Claims {
        id: random_hex::<16>(),
        test: random_hex::<16>(),
        server: SERVER_ID.into(),
        issued_s: now_s,
        expires_s: now_s + 600,
        bytes: 1 << 30,
        seconds: 600,
    }
}

fn scraped(url: &str) -> String {
    let answer = ureq::get(url).call().expect("metrics");
    answer.into_body().read_to_string().expect("a text")
}

/// The sum of the metrics whose line begins so.
fn total(url: &str, name: &str) -> u64 {
    let text = scraped(url);
    let lines = text.lines().filter(|line| line.starts_with(name));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    values.sum()
}

fn metric(url: &str, name: &str) -> u64 {
    total(url, &format!("{name} "))
}

fn await_metric(url: &str, name: &str, value: u64) {
    let begun = Instant::now();
    while metric(url, name) < value {
        assert!(
            begun.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {name} = {value}"
        );
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
