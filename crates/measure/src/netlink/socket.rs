//! How one netlink request is sent and answered, and how notifications arrive.

use netlink_sys::{Socket as NetlinkSocket, SocketAddr};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;
/// `NLMSG_ERROR`: an error, or an acknowledgement when its code is zero.
const NLMSG_ERROR: u16 = 2;
/// `NLMSG_DONE`: the end of a dump.
const NLMSG_DONE: u16 = 3;
/// `NLM_F_REQUEST`.
const NLM_F_REQUEST: u16 = 0x1;
/// `NLM_F_ACK`: with it, every request that is not a dump ends in an `NLMSG_ERROR`; a dump ends
/// in `NLMSG_DONE` with or without it.
const NLM_F_ACK: u16 = 0x4;
/// `NLM_F_ACK_TLVS`: attributes follow the error (extended acknowledgement).
const NLM_F_ACK_TLVS: u16 = 0x200;
/// `NLMSGERR_ATTR_MSG`: the kernel's text.
const NLMSGERR_ATTR_MSG: u16 = 1;
/// Asked for as the receive buffer; the kernel grants what `net.core.rmem_max` allows.
const RECEIVE_BUFFER: usize = 1 << 20;

/// An error the kernel explained in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The error number, positive.
    pub errno: i32,
    /// The extended acknowledgement's text.
    pub text: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        write!(f, "{}: {error}", self.text.trim_end_matches('.'))
    }
}

impl std::error::Error for Refusal {}

/// The error number behind an error of [`Socket`], with or without the kernel's text.
pub fn errno(error: &io::Error) -> Option<i32> {
    let refusal = error.get_ref().and_then(|e| e.downcast_ref::<Refusal>());
    refusal.map(|r| r.errno).or_else(|| error.raw_os_error())
}

/// A netlink socket in the network namespace of the thread that opened it.
///
/// ```no_run
/// use walkabout_measure::netlink::Socket;
/// # fn main() -> std::io::Result<()> {
/// let mut socket = Socket::open(netlink_sys::protocols::NETLINK_ROUTE)?;
/// let mut dump_links = vec![0u8; 16 + 16]; // nlmsghdr and ifinfomsg
/// dump_links[..4].copy_from_slice(&32u32.to_ne_bytes());
/// dump_links[4..6].copy_from_slice(&18u16.to_ne_bytes()); // RTM_GETLINK
/// dump_links[6..8].copy_from_slice(&0x300u16.to_ne_bytes()); // NLM_F_DUMP
/// println!("{} links", socket.request(&dump_links)?.len());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Socket {
    socket: NetlinkSocket,
    sequence: u32,
    /// Notifications that came in between the answers to a request.
    waiting: VecDeque<Vec<u8>>,
}

impl Socket {
    /// Opens a blocking socket of `protocol` (`NETLINK_ROUTE`, `NETLINK_GENERIC` ...) in the
    /// calling thread's network namespace.
    pub fn open(protocol: isize) -> io::Result<Socket> {
        let mut socket = NetlinkSocket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Both are conveniences of kernels since 4.12; without them errors have no text.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        let _ = socket.set_rx_buf_sz(RECEIVE_BUFFER as libc::c_int);
        Ok(Socket {
            socket,
            sequence: 0,
            waiting: VecDeque::new(),
        })
    }

    /// Sends `message` (header included; its length, sequence number and the request and
    /// acknowledge flags are filled in here) and returns the answers, headers included, without
    /// the acknowledgement. Works for single requests and for dumps.
    ///
    /// An error of the kernel has the error number's kind; [`errno`] gives the number, and the
    /// message has the kernel's own words when there are any.
    pub fn request(&mut self, message: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        if message.len() < HEADER {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a netlink message has a header of 16 bytes",
            ));
        }
        // Zero is the number of notifications.
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let mut message = message.to_vec();
        let length = message.len() as u32;
        let flags = u16_at(&message, 6) | NLM_F_REQUEST | NLM_F_ACK;
        message[0..4].copy_from_slice(&length.to_ne_bytes());
        message[6..8].copy_from_slice(&flags.to_ne_bytes());
        message[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        retry(|| self.socket.send(&message, 0))?;

        let mut answers = Vec::new();
        loop {
            let (datagram, from) = retry(|| self.socket.recv_from_full())?;
            for part in Messages(&datagram) {
                if from.multicast_groups() != 0 || u32_at(part, 8) == 0 {
                    self.waiting.push_back(part.to_vec());
                } else if u32_at(part, 8) == self.sequence {
                    match u16_at(part, 4) {
                        NLMSG_ERROR | NLMSG_DONE => return outcome(part).map(|()| answers),
                        _ => answers.push(part.to_vec()),
                    }
                }
            }
        }
    }

    /// Joins a multicast group; its notifications then come out of [`Socket::recv_events`].
    pub fn join_group(&mut self, group: u32) -> io::Result<()> {
        self.socket.add_membership(group)
    }

    /// The notifications since the last call, headers included. Waits for the first one unless
    /// `nonblocking`. `ENOBUFS` says that some were lost.
    pub fn recv_events(&mut self, nonblocking: bool) -> io::Result<Vec<Vec<u8>>> {
        let mut events: Vec<Vec<u8>> = self.waiting.drain(..).collect();
        loop {
            let wait = !nonblocking && events.is_empty();
            if !wait && !self.readable()? {
                return Ok(events);
            }
            let (datagram, _) = retry(|| self.socket.recv_from_full())?;
            let parts = Messages(&datagram).filter(|p| u16_at(p, 4) > NLMSG_DONE);
            events.extend(parts.map(<[u8]>::to_vec));
        }
    }

    /// The descriptor, to wait for events with.
    pub fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn readable(&self) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd, and a length of one.
        let ready = retry(|| match unsafe { libc::poll(&mut poll, 1, 0) } {
            -1 => Err(io::Error::last_os_error()),
            ready => Ok(ready),
        })?;
        Ok(ready > 0)
    }
}

/// The outcome in an `NLMSG_ERROR` or `NLMSG_DONE`: both begin with a negative error number or
/// zero.
fn outcome(message: &[u8]) -> io::Result<()> {
    let code = match message.get(HEADER..HEADER + 4) {
        Some(bytes) => i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        None => 0,
    };
    if code >= 0 {
        return Ok(());
    }
    let errno = -code;
    let error = io::Error::from_raw_os_error(errno);
    match explanation(message) {
        None => Err(error),
        Some(text) => Err(io::Error::new(error.kind(), Refusal { errno, text })),
    }
}

/// The text of the extended acknowledgement, if there is one.
fn explanation(message: &[u8]) -> Option<String> {
    if u16_at(message, 6) & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    // After the code an error repeats the request's header (no more: NETLINK_CAP_ACK).
    let skip = match u16_at(message, 4) {
        NLMSG_ERROR => HEADER + 4 + HEADER,
        _ => HEADER + 4,
    };
    let mut rest = message.get(skip..)?;
    while rest.len() >= 4 {
        let length = usize::from(u16_at(rest, 0));
        let value = rest.get(4..length)?;
        if u16_at(rest, 2) & 0x3fff == NLMSGERR_ATTR_MSG {
            let text = value.split(|b| *b == 0).next().unwrap_or_default();
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// The messages of one datagram.
struct Messages<'b>(&'b [u8]);

impl<'b> Iterator for Messages<'b> {
    type Item = &'b [u8];
    fn next(&mut self) -> Option<&'b [u8]> {
        if self.0.len() < HEADER {
            return None;
        }
        let length = u32_at(self.0, 0) as usize;
        if length < HEADER || length > self.0.len() {
            return None;
        }
        let message = &self.0[..length];
        self.0 = &self.0[length.next_multiple_of(4).min(self.0.len())..];
        Some(message)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Calls again after a signal.
fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_dump_of_links_has_the_loopback() {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_ROUTE).unwrap();
        // RTM_GETLINK, NLM_F_DUMP, an empty ifinfomsg.
        let answers = socket.request(&message(18, 0x300, &[0; 16])).unwrap();
        assert!(answers.iter().any(|a| a.windows(3).any(|w| w == b"lo\0")));
        assert!(socket.recv_events(true).unwrap().is_empty());
    }

    #[test]
    fn an_error_has_its_number_and_the_kernels_words() {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_ROUTE).unwrap();
        // RTM_GETLINK for an interface that is not there.
        let mut body = [0; 16];
        body[4..8].copy_from_slice(&0x7fff_fff0_i32.to_ne_bytes());
        let error = socket.request(&message(18, 0, &body)).unwrap_err();
        assert_eq!(errno(&error), Some(libc::ENODEV));
    }

    #[test]
    fn the_extended_acknowledgement_is_read() {
        let mut body = (-libc::EINVAL).to_ne_bytes().to_vec();
        body.extend([0; HEADER]);
        body.extend([9, 0, 1, 0]);
        body.extend(b"why.\0\0\0\0");
        let error = outcome(&message(NLMSG_ERROR, NLM_F_ACK_TLVS, &body)).unwrap_err();
        assert_eq!(errno(&error), Some(libc::EINVAL));
        assert!(error.to_string().starts_with("why: "), "{error}");
        assert!(outcome(&message(NLMSG_ERROR, 0, &[0; 20])).is_ok());
        assert!(outcome(&message(NLMSG_DONE, 0, &[])).is_ok());
    }
}
