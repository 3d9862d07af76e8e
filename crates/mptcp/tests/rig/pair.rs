//! Two hosts with a connection between them: how is it made, written, read and checked?

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use model::Time;
use policy::SubflowId;
use walkabout_mptcp::connection::{Config, Event, Info, SubflowError, SubflowInfo};
use walkabout_mptcp::stack::{ConnectionId, Stack};
use walkabout_mptcp::subflow;

use crate::network::log::Log;
use crate::network::{Network, Path, address};

/// The host that connects.
pub const CLIENT: usize = 0;
/// The host that listens.
pub const SERVER: usize = 1;
/// Where it listens.
pub const PORT: u16 = 80;
/// How many addresses the server has; each can be reached over every path.
pub const SERVER_ADDRESSES: u8 = 2;

/// The defaults, which are Linux's, with the scheduler and controller of these names.
pub fn config(scheduler: &str, controller: &str) -> Config {
    Config {
        multipath: true,
        checksum: false,
        send_buffer: 4 << 20,
        receive_buffer: 6 << 20,
        stale_loss_count: 4,
        close_timeout: Duration::from_secs(60),
        scheduler: policy::scheduler::list::find(scheduler).expect("a scheduler of this name"),
        controller: policy::congestion::list::find(controller).expect("a controller of this name"),
        extensions: walkabout_mptcp::connection::Extensions::default(),
        // What Multipath TCP needs in each segment with data: a DSS with 64-bit numbers.
        subflow: subflow::Config {
            option_reserve: 28,
            pacing: true,
            ..subflow::Config::default()
        },
    }
}

/// One path's figures: one-way delay, and bit rate with queue.
#[derive(Clone, Copy, Debug)]
pub struct Quality {
    /// Of each direction.
    pub delay: Duration,
    /// Bits a second and the bytes of the drop-tail queue, of each direction.
    pub bottleneck: Option<(u64, usize)>,
}

/// A client with an address on each path and a server.
pub struct Pair {
    /// What is between them.
    pub network: Network,
    /// The paths, by the client's addresses.
    pub paths: Vec<Path>,
    /// Each side of the connection.
    pub ends: [End; 2],
    /// The client's addresses, by path.
    pub client_addresses: Vec<IpAddr>,
    ipv6: bool,
}

/// One side of a connection and what the application there did.
#[derive(Clone, Copy, Default, Debug)]
pub struct End {
    /// The connection, once there is one.
    pub connection: Option<ConnectionId>,
    /// Bytes that the stack took.
    pub written: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes read that are not what was written, all of them changed by the network.
    pub altered: u64,
    /// Whether it finished.
    pub finished: bool,
}

impl Pair {
    /// A client and a server that listens, and paths of these qualities.
    pub fn new(seed: u64, client: Config, server: Config, ipv6: bool, paths: &[Quality]) -> Pair {
        let mut network = Network::new(seed);
        network.add_stack(client, seed, "client");
        network.add_stack(server, seed, "server");
        let made = paths.iter().enumerate().map(|(index, quality)| {
            network.add_path(&format!("p{index}"), quality.delay, quality.bottleneck)
        });
        let made: Vec<Path> = made.collect();
        let mut pair = Pair {
            network,
            paths: made,
            ends: [End::default(); 2],
            client_addresses: Vec::new(),
            ipv6,
        };
        for path in 0..paths.len() as u8 {
            let client = address(ipv6, path, 1);
            pair.client_addresses.push(client);
            pair.attach(path, client);
        }
        for server in 0..SERVER_ADDRESSES {
            let listening = SocketAddr::new(pair.server_address(server), PORT);
            pair.stack(SERVER).listen(listening);
        }
        pair
    }

    /// With a packet log.
    pub fn logged(mut self) -> Pair {
        self.network.log = Some(Log::default());
        self
    }

    /// The client's address on a path.
    pub fn client_address(&self, path: u8) -> IpAddr {
        self.client_addresses[usize::from(path)]
    }

    /// One of the server's addresses.
    pub fn server_address(&self, index: u8) -> IpAddr {
        address(self.ipv6, 100 + index, 2)
    }

    /// Gives the client an address on a path.
    pub fn attach(&mut self, path: u8, client: IpAddr) {
        for server in 0..SERVER_ADDRESSES {
            let server = self.server_address(server);
            let lanes = self.paths[usize::from(path)];
            self.network
                .connect((CLIENT, client), (SERVER, server), lanes);
        }
    }

    /// The client has another address on a path; what goes to or from the old one is lost.
    pub fn move_client(&mut self, path: u8, host: u8) {
        let old = self.client_address(path);
        self.network.forget(old);
        let client = address(self.ipv6, path, host);
        self.client_addresses[usize::from(path)] = client;
        self.attach(path, client);
    }

    /// A side's stack; [`Network::settle`] has to follow.
    pub fn stack(&mut self, side: usize) -> &mut Stack {
        &mut self.network.hosts[side].stack
    }

    /// Begins to connect over the first path.
    pub fn connect(&mut self) -> ConnectionId {
        let local = SocketAddr::new(self.client_address(0), 0);
        let remote = SocketAddr::new(self.server_address(0), PORT);
        let now = self.network.now;
        let connection = self.stack(CLIENT).connect(now, local, remote);
        self.ends[CLIENT].connection = Some(connection);
        self.network.settle(CLIENT);
        connection
    }

    /// Takes the connection at the server when it is there.
    pub fn accept(&mut self) {
        if self.ends[SERVER].connection.is_none() {
            self.ends[SERVER].connection = self.stack(SERVER).accept();
        }
    }

    /// Connects, and opens a subflow on each further path; some round trips later both sides
    /// can use them all.
    ///
    /// # Panics
    /// When that takes more than ten seconds.
    pub fn establish(&mut self) {
        self.connect();
        self.wait_for("the connection", |pair| {
            pair.established(CLIENT) == 1 && pair.established(SERVER) == 1
        });
        // The client is fully established when something of the server came after the handshake.
        self.exchange(1, 1);
        for path in 1..self.paths.len() as u8 {
            let opened = self.open(path, 0, false);
            opened.expect("a subflow can be opened");
        }
        let all = self.paths.len();
        self.wait_for("the joins", |pair| {
            pair.established(CLIENT) == all && pair.established(SERVER) == all
        });
    }

    /// Opens a subflow from the client's address on a path to an address of the server.
    pub fn open(&mut self, path: u8, server: u8, backup: bool) -> Result<SubflowId, SubflowError> {
        let local = SocketAddr::new(self.client_address(path), 0);
        let remote = SocketAddr::new(self.server_address(server), PORT);
        let now = self.network.now;
        let connection = self.ends[CLIENT].connection.expect("connected");
        let opened = self
            .stack(CLIENT)
            .open_subflow(now, connection, local, remote, backup);
        self.network.settle(CLIENT);
        opened
    }

    /// Lets things happen until `done`.
    ///
    /// # Panics
    /// When that takes more than ten seconds.
    pub fn wait_for(&mut self, what: &str, mut done: impl FnMut(&mut Pair) -> bool) {
        let until = self.network.now + Duration::from_secs(10);
        loop {
            self.accept();
            if done(self) {
                return;
            }
            let goes_on = self.network.step(until);
            assert!(
                goes_on,
                "{what} did not come about\n{}\n{:?}",
                self.network.recent(60),
                self.network
                    .hosts
                    .iter()
                    .map(|h| &h.events)
                    .collect::<Vec<_>>()
            );
        }
    }

    /// Goes on for a while; the server accepts.
    pub fn pass(&mut self, time: Duration) {
        let until = self.network.now + time;
        while self.network.step(until) {
            self.accept();
        }
    }

    /// What a side knows of the connection.
    pub fn info(&self, side: usize) -> Option<Info> {
        let connection = self.ends[side].connection?;
        self.network.hosts[side].stack.info(connection)
    }

    /// A side's subflows.
    pub fn subflows(&self, side: usize) -> Vec<SubflowInfo> {
        let mut subflows = Vec::new();
        if let Some(connection) = self.ends[side].connection {
            let stack = &self.network.hosts[side].stack;
            stack.subflows(self.network.now, connection, &mut subflows);
        }
        subflows
    }

    /// How many of them can carry data.
    pub fn established(&self, side: usize) -> usize {
        let subflows = self.subflows(side);
        subflows
            .iter()
            .filter(|s| s.established && !s.closing)
            .count()
    }

    /// What a side's stack told of the connection.
    pub fn events(&self, side: usize) -> impl Iterator<Item = (Time, &Event)> {
        let connection = self.ends[side].connection;
        let events = self.network.hosts[side].events.iter();
        events
            .filter(move |e| Some(e.1) == connection)
            .map(|e| (e.0, &e.2))
    }

    /// Whether a side's stack told of that.
    pub fn told(&self, side: usize, event: &Event) -> bool {
        self.events(side).any(|(_, e)| e == event)
    }
}
