//! The list of transports.

use super::kernel::{PathManagement, Protocol};
use super::quic::udp;
use super::{
    Binding, LocalPath, PacketEndpoint, PacketSetup, SocketEndpoint, kernel, quic, raw, user,
};
use crate::Clock;
use model::scenario::Multipath;
use model::{Name, Scenario, Seed, Side, Time, World};
use std::net::{IpAddr, SocketAddr};

/// An entry of the list.
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it is.
    pub summary: &'static str,
    /// Whether it uses several paths, and so runs under each policy.
    pub multipath: bool,
    /// Whose it is in the emulated world.
    pub emulated: Implementation,
    /// Whose it is in virtual time.
    pub virtual_time: Implementation,
    /// Makes the client's end in the calling thread's network namespace.
    pub connect: fn(&ClientSetup<'_>) -> Result<Box<dyn SocketEndpoint>, SetupError>,
    /// Makes the server's end in the calling thread's network namespace.
    pub listen: fn(&ServerSetup<'_>) -> Result<Box<dyn SocketEndpoint>, SetupError>,
    /// Its ends as state machines over packets, for virtual time.
    pub packets: PacketEnds,
}

/// Whose stack it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Implementation {
    /// The Linux kernel's: its own path manager serves the policies that need no brain.
    Kernel,
    /// noq's, in user space.
    Noq,
    /// Walkabout's own, in user space.
    Walkabout,
}

impl Implementation {
    /// As `list transports` says it.
    pub fn words(self) -> &'static str {
        match self {
            Implementation::Kernel => "the Linux kernel's",
            Implementation::Noq => "noq's",
            Implementation::Walkabout => "walkabout's own",
        }
    }
}

/// How the two ends of a transport are made for virtual time.
#[derive(Clone, Copy)]
pub struct PacketEnds {
    /// Makes the client's end.
    pub connect: fn(&PacketSetup<'_>) -> Result<Box<dyn PacketEndpoint>, SetupError>,
    /// Makes the server's end.
    pub listen: fn(&PacketSetup<'_>) -> Result<Box<dyn PacketEndpoint>, SetupError>,
}

/// Why an end could not be set up; its words say what to do.
pub type SetupError = Box<dyn std::error::Error + Send + Sync>;

/// What a client needs to connect.
pub struct ClientSetup<'a> {
    /// The run's clock.
    pub clock: Clock,
    /// The run's seed.
    pub seed: Seed,
    /// Where the server listens.
    pub server: SocketAddr,
    /// The host's paths; the connection starts on the first.
    pub paths: &'a [LocalPath],
    /// How many channels the pattern needs.
    pub channels: usize,
    /// The congestion controller; the stack's default when absent.
    pub congestion: Option<&'a str>,
    /// This end's packet scheduler, for stacks that have several; the stack's default when absent.
    pub scheduler: Option<&'a str>,
    /// Extensions of Multipath TCP, for the user-space stack.
    pub extensions: &'a Multipath,
    /// The path manager the connection runs under.
    pub policy: &'a policy::list::Entry,
    /// The server's certificate.
    pub pin: quic::Pin,
    /// What keeps a path's packets on its interface; stacks that send on the interface itself (raw
    /// packets) need nothing.
    pub binding: Binding,
}

/// What a server needs to listen.
pub struct ServerSetup<'a> {
    /// The run's clock.
    pub clock: Clock,
    /// The run's seed.
    pub seed: Seed,
    /// Where to listen.
    pub address: SocketAddr,
    /// The client's addresses and the names of their paths.
    pub client_paths: &'a [(Name, IpAddr)],
    /// The congestion controller; the stack's default when absent.
    pub congestion: Option<&'a str>,
    /// This end's packet scheduler, for stacks that have several; the stack's default when absent.
    pub scheduler: Option<&'a str>,
    /// Extensions of Multipath TCP, for the user-space stack.
    pub extensions: &'a Multipath,
    /// The server's certificate and key.
    pub identity: &'a quic::Identity,
}

/// The packet scheduler that answers where the client sent last.
const FOLLOW: &str = "follow";

/// Every transport, sorted by name.
pub const TRANSPORTS: &[Entry] = &[
    Entry {
        name: "mpquic",
        summary: "multipath QUIC",
        multipath: true,
        emulated: Implementation::Noq,
        virtual_time: Implementation::Noq,
        connect: |setup| noq_client(setup, true),
        listen: |setup| noq_server(setup, true),
        packets: PacketEnds {
            connect: |setup| Ok(Box::new(quic::Packets::connect(setup, true)?)),
            listen: |setup| Ok(Box::new(quic::Packets::listen(setup, true)?)),
        },
    },
    Entry {
        name: "mptcp",
        summary: "Multipath TCP",
        multipath: true,
        emulated: Implementation::Kernel,
        virtual_time: Implementation::Walkabout,
        connect: |setup| kernel_client(setup, Protocol::Mptcp),
        listen: |setup| kernel_server(setup, Protocol::Mptcp),
        packets: MPTCP_PACKETS,
    },
    Entry {
        name: "mptcp-user",
        summary: "Multipath TCP in user space",
        multipath: true,
        emulated: Implementation::Walkabout,
        virtual_time: Implementation::Walkabout,
        connect: |setup| user_client(setup, true),
        listen: |setup| user_server(setup, true),
        packets: MPTCP_PACKETS,
    },
    Entry {
        name: "quic",
        summary: "QUIC on the first path",
        multipath: false,
        emulated: Implementation::Noq,
        virtual_time: Implementation::Noq,
        connect: |setup| noq_client(setup, false),
        listen: |setup| noq_server(setup, false),
        packets: PacketEnds {
            connect: |setup| Ok(Box::new(quic::Packets::connect(setup, false)?)),
            listen: |setup| Ok(Box::new(quic::Packets::listen(setup, false)?)),
        },
    },
    Entry {
        name: "tcp",
        summary: "TCP on the first path",
        multipath: false,
        emulated: Implementation::Kernel,
        virtual_time: Implementation::Walkabout,
        connect: |setup| kernel_client(setup, Protocol::Tcp),
        listen: |setup| kernel_server(setup, Protocol::Tcp),
        packets: TCP_PACKETS,
    },
    Entry {
        name: "tcp-user",
        summary: "TCP in user space on the first path",
        multipath: false,
        emulated: Implementation::Walkabout,
        virtual_time: Implementation::Walkabout,
        connect: |setup| user_client(setup, false),
        listen: |setup| user_server(setup, false),
        packets: TCP_PACKETS,
    },
];

const MPTCP_PACKETS: PacketEnds = PacketEnds {
    connect: |setup| packet_client(setup, true),
    listen: |setup| packet_server(setup, true),
};

const TCP_PACKETS: PacketEnds = PacketEnds {
    connect: |setup| packet_client(setup, false),
    listen: |setup| packet_server(setup, false),
};

impl Entry {
    /// Whose stack it is in `world`.
    pub fn implementation(&self, world: World) -> Implementation {
        match world {
            World::Virtual => self.virtual_time,
            World::Emulated | World::Live => self.emulated,
        }
    }

    /// The server's scheduler in `world`, where the scenario asks for one that is another than the
    /// client's and the server heeds it: for the manifest.
    pub fn server_scheduler(&self, world: World, scenario: &Scenario) -> Option<String> {
        let asked = scenario.server_scheduler.as_deref()?;
        let heeds = match self.implementation(world) {
            Implementation::Walkabout => self.multipath,
            // By priorities, from outside: see [`crate::oracle`].
            Implementation::Kernel => self.multipath && asked == FOLLOW,
            Implementation::Noq => false,
        };
        (heeds && Some(asked) != scenario.scheduler_of(Side::Client)).then(|| asked.to_owned())
    }

    /// Whether in `world` a path manager of ours decides at run time under `policy`, and not the
    /// kernel's.
    pub fn decides_at_run_time(&self, world: World, policy: &policy::list::Entry) -> bool {
        let kernel = self.implementation(world) == Implementation::Kernel;
        self.multipath && !(kernel && policy.kernel.is_some())
    }
}

fn kernel_client(
    setup: &ClientSetup<'_>,
    protocol: Protocol,
) -> Result<Box<dyn SocketEndpoint>, SetupError> {
    Ok(Box::new(kernel::Client::connect(kernel::ClientConfig {
        protocol,
        server: setup.server,
        paths: setup.paths.to_vec(),
        channels: setup.channels,
        congestion: setup.congestion.map(str::to_owned),
        management: match setup.policy.kernel {
            Some(endpoints) => PathManagement::Kernel(endpoints),
            None => PathManagement::Userspace,
        },
        clock: setup.clock,
        binding: setup.binding,
    })?))
}

fn kernel_server(
    setup: &ServerSetup<'_>,
    protocol: Protocol,
) -> Result<Box<dyn SocketEndpoint>, SetupError> {
    Ok(Box::new(kernel::Server::listen(kernel::ServerConfig {
        protocol,
        address: setup.address,
        paths: setup
            .client_paths
            .iter()
            .map(|(name, address)| (*address, name.clone()))
            .collect(),
        congestion: setup.congestion.map(str::to_owned),
        follow: setup.scheduler == Some(FOLLOW),
        clock: setup.clock,
    })?))
}

fn user_client(
    setup: &ClientSetup<'_>,
    multipath: bool,
) -> Result<Box<dyn SocketEndpoint>, SetupError> {
    let paths = setup.paths.iter();
    let config = user::Setup {
        multipath,
        seed: setup.seed,
        server: setup.server,
        paths: paths.map(|p| (p.name.clone(), p.address)).collect(),
        congestion: setup.congestion,
        scheduler: setup.scheduler,
        extensions: setup.extensions,
        checksums: true,
    };
    let client = user::Packets::connect(setup.clock.now(), config, setup.channels)?;
    let socket = raw::Socket::client(client, setup.clock, setup.paths)?;
    Ok(Box::new(socket))
}

fn user_server(
    setup: &ServerSetup<'_>,
    multipath: bool,
) -> Result<Box<dyn SocketEndpoint>, SetupError> {
    let server = user::Packets::listen(user::Setup {
        multipath,
        seed: setup.seed,
        server: setup.address,
        paths: setup.client_paths.to_vec(),
        congestion: setup.congestion,
        scheduler: setup.scheduler,
        extensions: setup.extensions,
        checksums: true,
    })?;
    let address = setup.address.ip();
    let socket = raw::Socket::server(server, setup.clock, address, setup.client_paths)?;
    Ok(Box::new(socket))
}

/// What the user-space stack takes of a setup for virtual time.
fn user_setup<'a>(setup: &PacketSetup<'a>, multipath: bool) -> user::Setup<'a> {
    user::Setup {
        multipath,
        seed: setup.seed,
        server: setup.server,
        paths: setup
            .paths
            .iter()
            .map(|path| (path.name.clone(), path.address))
            .collect(),
        congestion: setup.congestion,
        scheduler: setup.scheduler,
        extensions: setup.extensions,
        // Packets are handed over in memory, and no stage of a link alters one.
        checksums: false,
    }
}

fn packet_client(
    setup: &PacketSetup<'_>,
    multipath: bool,
) -> Result<Box<dyn PacketEndpoint>, SetupError> {
    let config = user_setup(setup, multipath);
    let client = user::Packets::connect(Time::ZERO, config, setup.channels)?;
    Ok(Box::new(client))
}

fn packet_server(
    setup: &PacketSetup<'_>,
    multipath: bool,
) -> Result<Box<dyn PacketEndpoint>, SetupError> {
    let server = user::Packets::listen(user_setup(setup, multipath))?;
    Ok(Box::new(server))
}

fn noq_client(
    setup: &ClientSetup<'_>,
    multipath: bool,
) -> Result<Box<dyn SocketEndpoint>, SetupError> {
    Ok(Box::new(udp::Client::connect(udp::ClientConfig {
        multipath,
        server: setup.server,
        paths: setup.paths.to_vec(),
        channels: setup.channels,
        keep_alive: None,
        congestion: setup.congestion.map(str::to_owned),
        clock: setup.clock,
        seed: setup.seed,
        pin: setup.pin,
        binding: setup.binding,
    })?))
}

fn noq_server(
    setup: &ServerSetup<'_>,
    multipath: bool,
) -> Result<Box<dyn SocketEndpoint>, SetupError> {
    Ok(Box::new(udp::Server::listen(udp::ServerConfig {
        multipath,
        address: setup.address,
        paths: setup
            .client_paths
            .iter()
            .map(|(name, address)| quic::PathAddress {
                name: name.clone(),
                client: *address,
            })
            .collect(),
        congestion: setup.congestion.map(str::to_owned),
        clock: setup.clock,
        seed: setup.seed,
        identity: setup.identity.clone(),
    })?))
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    TRANSPORTS.iter().find(|e| e.name == name)
}
