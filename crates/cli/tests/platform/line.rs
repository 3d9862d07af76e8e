//! How does a packet take its time from one host to another? The kernels of many machines have no netem:
//! a thread moves each frame from one interface to the other when its delay is over.

use measure::emulator::NetNs;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// An Ethernet frame of the usual size.
const FRAME: usize = 1_514;
/// How often the thread looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A line between two interfaces.
pub struct Line {
    stop: Arc<AtomicBool>,
    packets: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Line {
    /// Joins two interfaces of `host`; every frame takes `delay`, in both directions.
    pub fn lay(host: &NetNs, interfaces: [&str; 2], delay: Duration) -> Line {
        let ends = host
            .run(|| interfaces.map(open))
            .expect("it can be entered");
        let ends = ends.map(|end| end.expect("a packet socket"));
        let (stop, packets) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let thread = std::thread::spawn({
            let (stop, packets) = (stop.clone(), packets.clone());
            move || carry(&ends, delay, &stop, &packets)
        });
        let thread = Some(thread);
        Line {
            stop,
            packets,
            thread,
        }
    }

    /// How many packets (frames that are not ARP's) it took so far, in both directions.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// A socket for the whole frames that arrive at `interface` of the calling thread's namespace.
fn open(interface: &str) -> io::Result<OwnedFd> {
    let all = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointer is passed.
    let socket = checked(unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(all)) })?;
    // SAFETY: the descriptor was just opened and belongs to no one else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let fd = socket.as_raw_fd();
    let (on, buffer) = (1i32, 4i32 << 20);
    for (level, option, value) in [
        // What is sent here does not come back.
        (libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on),
        (libc::SOL_SOCKET, libc::SO_RCVBUF, &buffer),
        (libc::SOL_SOCKET, libc::SO_SNDBUF, &buffer),
    ] {
        // SAFETY: the value is an int, whose length is passed along.
        checked(unsafe { libc::setsockopt(fd, level, option, (&raw const *value).cast(), 4) })?;
    }
    // SAFETY: all zeroes is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = all;
    address.sll_ifindex = nix::net::if_::if_nametoindex(interface)?.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is a sockaddr_ll, and its length is passed along.
    checked(unsafe { libc::bind(fd, (&raw const address).cast(), length) })?;
    Ok(socket)
}

/// Moves frames until it is told to stop.
fn carry(ends: &[OwnedFd; 2], delay: Duration, stop: &AtomicBool, packets: &AtomicU64) {
    // Sleeps end when they should. SAFETY: no pointer is passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let mut inside: [VecDeque<(Instant, Vec<u8>)>; 2] = Default::default();
    let mut buffer = [0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        for from in [0, 1] {
            while let Some(frame) = receive(&ends[from], &mut buffer) {
                packets.fetch_add(is_packet(frame).into(), Ordering::Relaxed);
                assert!(
                    frame.len() <= FRAME,
                    "a frame of {} bytes: offloads are on",
                    frame.len()
                );
                inside[from].push_back((Instant::now() + delay, frame.to_vec()));
            }
            while let Some((_, frame)) =
                inside[from].pop_front_if(|(due, _)| *due <= Instant::now())
            {
                send(&ends[1 - from], &frame);
            }
        }
        let due = inside
            .iter()
            .filter_map(|queue| Some(queue.front()?.0))
            .min();
        let left = due.map_or(LOOK, |due| due.saturating_duration_since(Instant::now()));
        let mut fds = [0, 1].map(|end| PollFd::new(ends[end].as_fd(), PollFlags::POLLIN));
        let _ = ppoll(
            &mut fds,
            Some(TimeSpec::from_duration(left.min(LOOK))),
            None,
        );
    }
}

/// Whether a frame is of somebody's traffic. Who is at which address, and who listens to which group, is the
/// hosts' own business: ARP, and ICMPv6 with or without a hop-by-hop header before it.
fn is_packet(frame: &[u8]) -> bool {
    let next_header = frame.get(20);
    match frame.get(12..14) {
        Some([0x08, 0x06]) | None => false,
        Some([0x86, 0xdd]) => !matches!(next_header, Some(0 | 58)),
        Some(_) => true,
    }
}

fn receive<'b>(end: &OwnedFd, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    // SAFETY: the buffer is valid for its length.
    let length =
        unsafe { libc::recv(end.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    // Nothing there, or an interface that is down.
    usize::try_from(length).ok().map(|length| &buffer[..length])
}

fn send(end: &OwnedFd, frame: &[u8]) {
    // What does not fit is lost, as on other lines. SAFETY: the frame is valid for its length.
    unsafe { libc::send(end.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
}
