//! How an interface is told to send real packets: none greater than the MTU, all with their
//! checksums.

use super::{checked, interface_request};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `SIOCETHTOOL` (linux/sockios.h).
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// `ETHTOOL_SRXCSUM`, `STXCSUM`, `STSO`, `SGSO` and `SGRO` (linux/ethtool.h): checksums and
/// segmentation, on receiving and on sending.
const FEATURES: [u32; 5] = [0x15, 0x17, 0x1f, 0x24, 0x2c];

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Turns off checksum and segmentation offloads of the interface called `name` in the calling
/// thread's network namespace.
pub fn turn_off_offloads(name: &str) -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let socket =
        checked(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor was just opened and belongs to no one else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut request = interface_request(name)?;
    for command in FEATURES {
        let mut value = Value { command, data: 0 };
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: SIOCETHTOOL takes an ifreq whose data points to an ethtool_value, and both
        // outlive the call.
        let set = checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &request) });
        match set {
            // A feature that the device does not have needs no turning off.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            other => {
                other?;
            }
        }
    }
    Ok(())
}
