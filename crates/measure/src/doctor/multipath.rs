//! Which of Multipath TCP and the congestion controllers the kernel has.

use super::Check;
use crate::emulator::NetNs;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `IPPROTO_MPTCP` (linux/in.h).
const IPPROTO_MPTCP: libc::c_int = 262;
const NAME: &str = "Multipath TCP";

/// A Multipath TCP socket in the calling thread's network namespace.
pub(super) fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: no pointer is passed.
    match unsafe { libc::socket(libc::AF_INET, kind, IPPROTO_MPTCP) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor was just opened and belongs to no one else.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}

/// Whether a Multipath TCP socket can be opened.
pub(super) fn socket() -> Check {
    let error = match open() {
        Ok(_) => return Check::ok(NAME, "the kernel opens MPTCP sockets"),
        Err(error) => error,
    };
    match error.raw_os_error() {
        Some(libc::EPROTONOSUPPORT | libc::EINVAL) => Check::missing(
            NAME,
            "the kernel has no MPTCP: the transport `mptcp` can't run",
            "Use Linux 5.19 or later with CONFIG_MPTCP",
        ),
        Some(libc::ENOPROTOOPT) => Check::missing(
            NAME,
            "net.mptcp.enabled is 0: the transport `mptcp` can't run",
            "`sudo sysctl -w net.mptcp.enabled=1`",
        ),
        _ => Check::missing(
            NAME,
            format!("MPTCP sockets are refused: {error}"),
            "A security module or the container's runtime refuses; run outside of it",
        ),
    }
}

/// Which of the kernel's path managers can be had.
pub(super) fn path_managers() -> Check {
    let name = "MPTCP path managers";
    let found = NetNs::create().and_then(|namespace| {
        namespace.run(|| {
            let directory = "/proc/sys/net/mptcp";
            // The name since Linux 6.16, and the number before.
            let names = fs::write(format!("{directory}/path_manager"), "userspace");
            names.or_else(|_| fs::write(format!("{directory}/pm_type"), "1"))
        })
    });
    match found {
        Ok(Ok(())) => Check::ok(name, "the kernel's own and the user-space one"),
        Ok(Err(error)) => Check::missing(
            name,
            format!("the user-space one can't be chosen: {error}"),
            "Policies that decide while the run goes on need Linux 5.19 or later, and a writable \
             /proc/sys",
        ),
        Err(error) => Check::missing(name, error.to_string(), "See `user namespaces`"),
    }
}

/// Which congestion controllers TCP sockets may choose.
pub(super) fn congestion() -> Check {
    let name = "congestion controllers";
    let read = |file: &str| {
        let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{file}"));
        text.unwrap_or_default().trim().to_owned()
    };
    // Without a network administrator's rights only the allowed ones may be chosen, and in a
    // namespace of one's own all that are loaded.
    let available = read("tcp_available_congestion_control");
    let default = read("tcp_congestion_control");
    if available.split_whitespace().any(|c| c == "cubic") {
        Check::ok(name, format!("{available}; {default} by default"))
    } else {
        Check::warn(
            name,
            format!("{available}; {default} by default"),
            "CUBIC, which most servers use, is not there: `sudo modprobe tcp_cubic`",
        )
    }
}

/// Whether a connected socket speaks Multipath TCP, and did not fall back to TCP.
pub(super) fn is_multipath(socket: &OwnedFd) -> io::Result<bool> {
    /// `SOL_MPTCP` (linux/socket.h).
    const SOL_MPTCP: libc::c_int = 284;
    /// `MPTCP_INFO` (linux/mptcp.h).
    const MPTCP_INFO: libc::c_int = 1;
    /// `mptcpi_flags` begins at byte 8 of `struct mptcp_info`.
    const FLAGS: usize = 8;
    /// `MPTCP_INFO_FLAG_FALLBACK`.
    const FALLBACK: u32 = 1;
    let mut info = [0u8; 16];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the buffer is valid for its length, which is passed along; the kernel fills no
    // more.
    let got = unsafe {
        let value = info.as_mut_ptr().cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            SOL_MPTCP,
            MPTCP_INFO,
            value,
            &mut length,
        )
    };
    if got == -1 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            // A connection that fell back has no such option any more.
            Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT) => Ok(false),
            _ => Err(error),
        };
    }
    let flags = u32::from_ne_bytes([info[FLAGS], info[9], info[10], info[11]]);
    Ok(flags & FALLBACK == 0)
}
