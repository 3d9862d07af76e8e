//! How packets pass through a TUN device.

use super::{checked, interface_request};
use crate::netlink::route::Routing;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Where TUN devices come from.
pub const PATH: &str = "/dev/net/tun";

/// A TUN device; gone when dropped.
///
/// Without a virtio-net header (`IFF_VNET_HDR`) the kernel cuts what its stack sends into
/// packets of the MTU's size and computes their checksums: loss and queues see real packets.
#[derive(Debug)]
pub struct Tun {
    file: File,
    index: u32,
    /// Of the namespace the device is in.
    routing: Routing,
    lost: u64,
}

impl Tun {
    /// Makes the device `name` in the calling thread's network namespace. It is down.
    pub fn create(name: &str) -> io::Result<Tun> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options.custom_flags(libc::O_NONBLOCK).open(PATH)?;
        let mut request = interface_request(name)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: TUNSETIFF takes an ifreq, which outlives the call.
        checked(unsafe {
            libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &request)
        })?;
        let mut routing = Routing::open().map_err(io::Error::other)?;
        let index = routing.link(name).map_err(io::Error::other)?.index;
        Ok(Tun {
            file,
            index,
            routing,
            lost: 0,
        })
    }

    /// The device's interface index, in its namespace.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// See [`super::Device::recv`].
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// See [`super::Device::send`].
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(|_| ())
    }

    /// See [`super::Device::lost`].
    pub fn lost(&mut self) -> io::Result<u64> {
        let link = self.routing.link_by_index(self.index);
        let total = link.map_err(io::Error::other)?.tx_dropped;
        Ok(total - std::mem::replace(&mut self.lost, total))
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
