//! Clients: a pattern's client half over plain sockets, and over the transports of the other worlds.

use super::rig::PATIENCE;
use measure::Clock;
use measure::transport::quic::{self, Pin};
use measure::transport::{Binding, Endpoint, LocalPath, SocketEndpoint};
use model::live::SessionRecords;
use model::record::Message;
use model::scenario::Traffic;
use model::{Name, PathKind, Seed};
use policy::Action;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use traffic::hello::{Hello, Request, emit, greet};
use traffic::{Channels, Half, pattern};

/// What carries the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Tcp,
    Mptcp,
    Quic,
    Mpquic,
}

impl By {
    pub const ALL: [By; 4] = [By::Tcp, By::Mptcp, By::Quic, By::Mpquic];

    pub fn name(self) -> &'static str {
        match self {
            By::Tcp => "tcp",
            By::Mptcp => "mptcp",
            By::Quic => "quic",
            By::Mpquic => "mpquic",
        }
    }
}

/// A TCP or Multipath TCP connection.
pub fn connect(by: By, server: SocketAddr) -> io::Result<TcpStream> {
    let stream = match by {
        By::Tcp => TcpStream::connect(server)?,
        By::Mptcp => {
            // SAFETY: no pointers are passed.
            let fd = unsafe {
                libc::socket(
                    libc::AF_INET,
                    libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
                    measure::transport::kernel::IPPROTO_MPTCP,
                )
            };
            assert!(fd >= 0, "no Multipath TCP: {}", io::Error::last_os_error());
            // SAFETY: a fresh descriptor.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            let address = nix::sys::socket::SockaddrStorage::from(server);
            nix::sys::socket::connect(std::os::fd::AsRawFd::as_raw_fd(&fd), &address)?;
            TcpStream::from(fd)
        }
        By::Quic | By::Mpquic => panic!("QUIC is no socket"),
    };
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Says a hello on a fresh TCP connection.
pub fn say(server: SocketAddr, hello: &Hello) -> TcpStream {
    let mut stream = connect(By::Tcp, server).expect("connected");
    stream.write_all(&emit(hello)).expect("said");
    stream
}

pub fn hello(traffic: &Traffic, token: Option<&str>) -> Hello {
    Hello {
        channel: 0,
        request: Request::Traffic(traffic.clone()),
        token: token.map(str::to_owned),
    }
}

/// Whether the server ends this connection without a byte.
pub fn is_turned_away(mut stream: TcpStream) -> bool {
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(n) => n == 0,
        Err(error) => match error.kind() {
            io::ErrorKind::ConnectionReset => true,
            _ => panic!("neither closed nor answered: {error}"),
        },
    }
}

/// What the server recorded of a token's session; the error is how it turned the question away.
pub fn records(server: SocketAddr, token: &str) -> io::Result<SessionRecords> {
    let hello = Hello {
        channel: 0,
        request: Request::Records,
        token: Some(token.to_owned()),
    };
    let mut stream = say(server, &hello);
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut json = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut json)?;
    Ok(serde_json::from_slice(&json).expect("records"))
}

/// Sockets as channels.
pub struct Sockets(Vec<Option<TcpStream>>);

impl Sockets {
    pub fn connect(by: By, server: SocketAddr, channels: usize) -> Sockets {
        let socket = |_| {
            let stream = connect(by, server).expect("connected");
            stream.set_nonblocking(true).expect("set");
            Some(stream)
        };
        Sockets((0..channels).map(socket).collect())
    }
}

impl Channels for Sockets {
    fn write(&mut self, channel: usize, mut data: &[u8]) {
        let start = Instant::now();
        while let Some(stream) = &mut self.0[channel]
            && !data.is_empty()
        {
            assert!(start.elapsed() < PATIENCE, "the server takes nothing");
            match stream.write(data) {
                Ok(n) => data = &data[n..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::yield_now();
                }
                Err(_) => self.0[channel] = None,
            }
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
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
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

/// A client of a pattern.
pub struct Client {
    half: Box<dyn Half>,
    pub end: End,
    clock: Clock,
    pub log: Vec<Message>,
}

/// Its transport.
pub enum End {
    Sockets(Sockets),
    Quic(Box<quic::Client>),
}

impl Client {
    /// Connects and greets.
    pub fn new(
        by: By,
        server: SocketAddr,
        pin: [u8; 32],
        traffic: &Traffic,
        token: Option<&str>,
    ) -> Client {
        let clock = Clock::start();
        let channels = traffic.channels();
        let end = match by {
            By::Tcp | By::Mptcp => End::Sockets(Sockets::connect(by, server, channels)),
            By::Quic | By::Mpquic => {
                End::Quic(Box::new(quic_client(by, server, pin, channels, clock)))
            }
        };
        let half = pattern::client(traffic, model::Seed(1));
        let mut client = Client {
            half,
            end,
            clock,
            log: Vec::new(),
        };
        client.until("connected", Client::is_connected);
        match &mut client.end {
            End::Sockets(sockets) => greet(sockets, traffic, token),
            End::Quic(endpoint) => greet(&mut **endpoint, traffic, token),
        }
        client
    }

    fn is_connected(&mut self) -> bool {
        match &self.end {
            End::Sockets(_) => true,
            End::Quic(endpoint) => endpoint.is_connected(),
        }
    }

    /// One turn: what arrived, what is due.
    pub fn turn(&mut self) {
        let now = self.clock.now();
        match &mut self.end {
            End::Sockets(sockets) => self.half.poll(now, sockets, &mut self.log),
            End::Quic(endpoint) => {
                // A connection that was refused shows as channels that are not open.
                let _ = endpoint.poll(now);
                if endpoint.is_connected() {
                    self.half.poll(now, &mut **endpoint, &mut self.log);
                }
                let _ = endpoint.flush(now);
            }
        }
    }

    /// Takes turns until `done`.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&mut Client) -> bool) {
        let start = Instant::now();
        loop {
            match &mut self.end {
                End::Quic(endpoint) if !endpoint.is_connected() => {
                    let now = self.clock.now();
                    endpoint.poll(now).expect("a handshake");
                }
                _ if what != "connected" => self.turn(),
                _ => {}
            }
            if done(self) {
                return;
            }
            let waited = start.elapsed();
            assert!(waited < PATIENCE, "not {what} within {waited:?}");
            self.wait();
        }
    }

    /// Until something arrives, a millisecond at most.
    fn wait(&self) {
        let mut fds = Vec::new();
        match &self.end {
            End::Sockets(_) => {}
            End::Quic(endpoint) => endpoint.wait_for(&mut fds),
        }
        let mut polled: Vec<libc::pollfd> = fds
            .iter()
            .map(|(fd, _)| libc::pollfd {
                fd: *fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: the list and its length belong together, and the sockets stay open meanwhile.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 1) };
    }

    pub fn is_done(&self) -> bool {
        self.half.is_done()
    }

    /// Whether the server ended it.
    pub fn is_cut(&self) -> bool {
        match &self.end {
            End::Sockets(sockets) => sockets.0.iter().any(Option::is_none),
            End::Quic(endpoint) => !endpoint.is_open(0),
        }
    }

    /// Why the pattern cannot go on.
    pub fn error(&self) -> Option<String> {
        self.half.error()
    }

    /// Says goodbye.
    pub fn close(mut self) -> Vec<Message> {
        if let End::Quic(endpoint) = &mut self.end {
            endpoint.close(self.clock.now());
        }
        self.log
    }

    /// Opens the second path (QUIC).
    pub fn open_second_path(&mut self) {
        let End::Quic(endpoint) = &mut self.end else {
            panic!("only QUIC opens paths here")
        };
        let open = Action::Open {
            connection: 0,
            path: model::PathIndex(1),
            backup: true,
        };
        let now = self.clock.now();
        endpoint.apply(now, &open).expect("the path opens");
    }
}

/// The client of the other worlds, over two addresses of the loopback network.
pub fn quic_client(
    by: By,
    server: SocketAddr,
    pin: [u8; 32],
    channels: usize,
    clock: Clock,
) -> quic::Client {
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
        channels,
        keep_alive: Some(Duration::from_millis(500)),
        congestion: None,
        clock,
        seed: Seed(u64::from(rand_u32())),
        pin: Pin(pin),
        binding: Binding::Address,
    })
    .expect("a QUIC client")
}

/// Connection IDs come from the seed, and a server meets many clients.
fn rand_u32() -> u32 {
    u32::from_str_radix(&walkabout_platform::token::random_hex::<4>(), 16).expect("hexadecimal")
}
