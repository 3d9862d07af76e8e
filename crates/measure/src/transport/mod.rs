//! Transports: TCP and Multipath TCP, the kernel's and our own, QUIC and multipath QUIC, behind one
//! interface.

/// An end's channels are those of one of its fields.
macro_rules! channels_are_of {
    ($end:ty, $field:ident $(, $of:ident: $bound:path)?) => {
        impl$(<$of: $bound>)? traffic::Channels for $end {
            fn write(&mut self, channel: usize, data: &[u8]) {
                self.$field.write(channel, data);
            }
            fn write_bytes(&mut self, channel: usize, data: bytes::Bytes) {
                self.$field.write_bytes(channel, data);
            }
            fn queued(&self, channel: usize) -> usize {
                self.$field.queued(channel)
            }
            fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
                self.$field.read(channel, buffer)
            }
            fn read_each(
                &mut self,
                channel: usize,
                buffer: &mut [u8],
                take: &mut dyn FnMut(&[u8]),
            ) -> usize {
                self.$field.read_each(channel, buffer, take)
            }
            fn is_open(&self, channel: usize) -> bool {
                self.$field.is_open(channel)
            }
        }
    };
}

pub mod kernel;
pub mod list;
pub mod quic;
pub mod raw;
pub mod user;

use model::manifest::Stack;
use model::record::{Event, Sample};
use model::scenario::Multipath;
use model::{PathIndex, Seed, Time};
use policy::{Action, ConnectionView};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use traffic::Channels;

/// What a transport at one end does, in one thread, never blocking.
///
/// A driver waits until [`Endpoint::poll_at`], or until something arrives, and then calls
/// [`Endpoint::poll`]; the application half reads and writes the channels in between, and
/// [`Endpoint::flush`] sends what it wrote. How packets come and go is the driver's:
/// [`SocketEndpoint`] in real time, [`PacketEndpoint`] in virtual time.
pub trait Endpoint: Channels {
    /// When to call [`Endpoint::poll`] next even if no descriptor is ready.
    fn poll_at(&self) -> Option<Time>;
    /// Receives, handles timers, sends. An error ends the run.
    fn poll(&mut self, now: Time) -> io::Result<()>;
    /// Sends what the application wrote since the last poll.
    fn flush(&mut self, now: Time) -> io::Result<()>;
    /// Whether every channel can carry data (client), or always (server).
    fn is_connected(&self) -> bool;
    /// A channel the peer opened (server only), each returned once. Its number is the
    /// transport's own; the hello on it says which channel of the pattern it is.
    fn accepted(&mut self) -> Option<usize>;
    /// The connections and their subflows, for the path manager.
    fn view(&mut self, now: Time) -> Vec<ConnectionView>;
    /// Carries out an action of the path manager; the error says why it could not.
    fn apply(&mut self, now: Time, action: &Action) -> Result<(), String>;
    /// The state of each connection and path, for the `samples` table.
    fn sample(&mut self, now: Time, samples: &mut Vec<Sample>);
    /// What happened since the last call.
    fn events(&mut self, events: &mut Vec<Event>);
    /// The host's view of a path changed: its interface went up or down, its address came or went.
    fn path_changed(&mut self, now: Time, path: PathIndex, up: bool);
    /// Whether subflows came, went or changed state since the last call: the path manager is
    /// then asked at once.
    fn take_changed(&mut self) -> bool;
    /// What carries the traffic, for the manifest.
    fn stack(&self) -> Stack;
    /// Says goodbye to the peer (best effort).
    fn close(&mut self, now: Time);
}

/// An end whose packets the operating system carries.
pub trait SocketEndpoint: Endpoint {
    /// The file descriptors to wait for; `true` when writability matters as well.
    fn wait_for(&self, fds: &mut Vec<(RawFd, bool)>);
}

/// An end that hands its packets to its driver: a state machine that runs in any time.
pub trait PacketEndpoint: Endpoint {
    /// An IP packet arrived over `path`.
    fn receive(&mut self, now: Time, path: PathIndex, packet: &[u8]);
    /// The next IP packet to send, written into `packet`: its length and the path it takes.
    /// Call it after every other call until there is none.
    fn transmit(&mut self, now: Time, packet: &mut [u8]) -> Option<(usize, PathIndex)>;
    /// Whether [`PacketEndpoint::transmit`] may have one: false spares the call.
    fn may_transmit(&self) -> bool {
        true
    }
}

/// What either end of a connection needs to be set up in virtual time.
#[derive(Clone, Copy)]
pub struct PacketSetup<'a> {
    /// The run's seed.
    pub seed: Seed,
    /// Where the server listens.
    pub server: SocketAddr,
    /// The client's paths; the connection starts on the first.
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
}

/// What keeps a path's packets on its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The host's rules and routes for the path's address; sockets are bound to the address alone.
    Address,
    /// The socket is bound to the interface as well: any route through the interface will do,
    /// though the host prefer another.
    Interface,
}

impl Binding {
    /// The index of the interface to bind to, if to one.
    pub fn interface(self, path: &LocalPath) -> Option<u32> {
        match self {
            Binding::Address => None,
            Binding::Interface => Some(path.interface),
        }
    }
}

/// Binds a socket to an interface (`SO_BINDTOIFINDEX`). Before Linux 5.7 that took a privilege:
/// without it the socket stays as it is, and routes have to do.
pub(crate) fn bind_to_interface(fd: RawFd, index: u32) -> io::Result<()> {
    // SAFETY: the pointer and length are those of a live integer.
    let result = unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_BINDTOIFINDEX,
            (&raw const index).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    match io::Error::last_os_error() {
        _ if result == 0 => Ok(()),
        error if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOPROTOOPT)) => Ok(()),
        error => Err(error),
    }
}

/// A path of the client's host.
#[derive(Clone, Debug)]
pub struct LocalPath {
    /// The scenario's name for it.
    pub name: model::Name,
    /// What carries it.
    pub kind: model::PathKind,
    /// The client's address on it.
    pub address: IpAddr,
    /// The client's interface index.
    pub interface: u32,
}
