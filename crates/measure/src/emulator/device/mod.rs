//! How raw IP packets enter and leave the emulator.

mod offload;
mod packet;
mod tun;

pub use offload::turn_off_offloads;
pub use packet::PacketSocket;
pub use tun::Tun;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Largest IP packet, in bytes: Ethernet's.
pub const MTU: u32 = 1_500;

/// The ways in and out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A TUN device; needs `/dev/net/tun` to be writable.
    Tun,
    /// A veth pair with a packet socket at the emulator's end; works wherever namespaces do.
    PacketSocket,
}

impl DeviceKind {
    /// All of them, the preferred one first.
    pub const ALL: [DeviceKind; 2] = [DeviceKind::Tun, DeviceKind::PacketSocket];

    /// The kind called `name`.
    pub fn find(name: &str) -> Option<DeviceKind> {
        DeviceKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name in the manifest and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Tun => "tun",
            DeviceKind::PacketSocket => "packet-socket",
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The emulator's side of one interface. Neither call blocks.
#[derive(Debug)]
pub enum Device {
    /// On a TUN device.
    Tun(Tun),
    /// On the peer of a veth.
    PacketSocket(PacketSocket),
}

impl Device {
    /// The next IP packet its host sent, copied to `buffer`: its length, or `None` when none
    /// waits. `buffer` should have at least [`MTU`] bytes; what does not fit is cut off.
    pub fn recv(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Device::Tun(tun) => tun.recv(buffer),
            Device::PacketSocket(socket) => socket.recv(buffer),
        }
    }

    /// Hands an IP packet to its host.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self {
            Device::Tun(tun) => tun.send(packet),
            Device::PacketSocket(socket) => socket.send(packet),
        }
    }

    /// Takes a pending error off the descriptor, which is ready for ever otherwise
    /// (`EPOLLERR`).
    pub fn clear_error(&self) -> io::Result<()> {
        match self {
            Device::Tun(_) => Ok(()),
            Device::PacketSocket(socket) => socket.clear_error(),
        }
    }

    /// Packets the host sent that were lost before the emulator saw them, since the last call.
    pub fn lost(&mut self) -> io::Result<u64> {
        match self {
            Device::Tun(tun) => tun.lost(),
            Device::PacketSocket(socket) => socket.lost(),
        }
    }

    /// Which kind it is.
    pub fn kind(&self) -> DeviceKind {
        match self {
            Device::Tun(_) => DeviceKind::Tun,
            Device::PacketSocket(_) => DeviceKind::PacketSocket,
        }
    }
}

impl AsFd for Device {
    /// Readable while a packet waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Device::Tun(tun) => tun.as_fd(),
            Device::PacketSocket(socket) => socket.as_fd(),
        }
    }
}

/// A system call's result, or its error.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// An `ifreq` that names an interface.
fn interface_request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeroes is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{name}` is no interface name: 1 to 15 bytes are"),
        ));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}
