//! How packets pass through a packet socket on the peer of a veth.

use super::checked;
use model::Family;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of one frame of the ring: `struct tpacket2_hdr`, the sender's address and an IP packet
/// of Ethernet's size fit.
const FRAME: usize = 2_048;
/// Frames of the ring, 8 MiB in all. The socket's receive buffer would hold under 200 packets,
/// as `net.core.rmem_max` bounds it and only root outside may exceed it; the ring is not bound
/// by it, and a burst of a whole congestion window waits in it without loss.
const FRAMES: usize = 4_096;
/// Bytes of a block, the unit in which the kernel allocates the ring.
const BLOCK: usize = 64 * 1_024;
/// Packets that one system call sends at most.
const BATCH: usize = 32;
/// Asking for one protocol, other than `ETH_P_ALL`, gives incoming packets only.
const fn protocol(family: Family) -> u16 {
    let protocol = match family {
        Family::Ipv4 => libc::ETH_P_IP,
        Family::Ipv6 => libc::ETH_P_IPV6,
    };
    (protocol as u16).to_be()
}

/// A packet socket (`SOCK_DGRAM`: the kernel adds and removes the Ethernet header) on one
/// interface, with a memory-mapped ring for receiving.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    ring: NonNull<u8>,
    /// The frame the kernel fills next.
    next: usize,
    /// Where packets are sent: the interface, and the host's hardware address on the other end.
    to: libc::sockaddr_ll,
}

// SAFETY: the ring is mapped memory of this value alone, and valid in every thread.
unsafe impl Send for PacketSocket {}
// SAFETY: only methods that borrow the value mutably touch the ring.
unsafe impl Sync for PacketSocket {}

impl PacketSocket {
    /// A socket for packets of `family` on interface `index` of the calling thread's network
    /// namespace. What it sends goes to hardware address `peer`, which is empty where there is
    /// none, as on TUN.
    pub fn open(index: u32, family: Family, peer: &[u8]) -> io::Result<PacketSocket> {
        // Bound to no protocol at first, so that nothing is queued before the ring is there.
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointer is passed.
        let socket = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the descriptor was just opened and belongs to no one else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let fd = socket.as_raw_fd();

        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set(fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        // What the emulator sends goes straight to the veth, and never comes back.
        set(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        set(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        let buffer: libc::c_int = 1 << 20;
        set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, &buffer)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (FRAMES * FRAME / BLOCK) as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: FRAMES as u32,
        };
        set(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping of the ring just set up, of exactly its length.
        let ring = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let null = std::ptr::null_mut();
            libc::mmap(null, FRAMES * FRAME, access, libc::MAP_SHARED, fd, 0)
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ring = NonNull::new(ring.cast()).ok_or(io::ErrorKind::OutOfMemory)?;

        // SAFETY: all zeroes is a valid sockaddr_ll.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_protocol = protocol(family);
        to.sll_ifindex = index as libc::c_int;
        to.sll_halen = peer.len() as u8;
        let address = to.sll_addr.get_mut(..peer.len());
        address
            .ok_or(io::ErrorKind::InvalidInput)?
            .copy_from_slice(peer);
        let socket = PacketSocket {
            socket,
            ring,
            next: 0,
            to,
        };
        // SAFETY: `to` is a sockaddr_ll and its length is passed along.
        checked(unsafe {
            let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            libc::bind(fd, (&raw const socket.to).cast(), length)
        })?;
        Ok(socket)
    }

    /// See [`super::Device::recv`].
    pub fn recv(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let frame = self.next;
        // SAFETY: `frame` is less than FRAMES, so the whole frame lies inside the mapping, which
        // lives as long as self. Frames begin with a tpacket2_hdr, aligned as FRAME is, whose
        // first word is the status; the kernel writes it last and reads the frame only once it
        // is TP_STATUS_KERNEL again.
        unsafe {
            let start = self.ring.as_ptr().add(frame * FRAME);
            let status = AtomicU32::from_ptr(start.cast());
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return Ok(None);
            }
            let header = &*start.cast::<libc::tpacket2_hdr>();
            let from = usize::from(header.tp_net).min(FRAME);
            let length = (header.tp_snaplen as usize)
                .min(FRAME - from)
                .min(buffer.len());
            std::ptr::copy_nonoverlapping(start.add(from), buffer.as_mut_ptr(), length);
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (frame + 1) % FRAMES;
            Ok(Some(length))
        }
    }

    /// See [`super::Device::clear_error`]. An interface that goes down leaves `ENETDOWN` behind;
    /// the socket works again when the interface comes up.
    pub fn clear_error(&self) -> io::Result<()> {
        let mut error: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: SO_ERROR fills an int; its length is passed along.
        checked(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut error).cast(),
                &mut length,
            )
        })?;
        match error {
            0 | libc::ENETDOWN => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// See [`super::Device::send`].
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        // SAFETY: the packet and the address are valid for the lengths passed along.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
                (&raw const self.to).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        match sent {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Sends packets in their order, with as few system calls as that takes.
    ///
    /// # Errors
    /// That of the first packet that was refused; those after it are sent all the same.
    pub fn send_all(&self, packets: &[&[u8]]) -> io::Result<()> {
        let mut result = Ok(());
        for batch in packets.chunks(BATCH) {
            let mut sent = 0;
            while sent < batch.len() {
                match self.send_batch(&batch[sent..]) {
                    Ok(count) => sent += count.max(1),
                    Err(error) => {
                        result = result.and(Err(error));
                        sent += 1;
                    }
                }
            }
        }
        result
    }

    /// Sends the first of at most [`BATCH`] packets that it can: how many. An error is that of
    /// the first.
    fn send_batch(&self, packets: &[&[u8]]) -> io::Result<usize> {
        // SAFETY: all zeroes is a valid mmsghdr.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let mut parts = [libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        }; BATCH];
        for ((message, part), packet) in messages.iter_mut().zip(&mut parts).zip(packets) {
            part.iov_base = packet.as_ptr().cast_mut().cast();
            part.iov_len = packet.len();
            message.msg_hdr.msg_name = (&raw const self.to).cast_mut().cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        let count = packets.len().min(BATCH) as libc::c_uint;
        let fd = self.socket.as_raw_fd();
        // SAFETY: the first `count` messages name the address and one part each, which is a
        // packet; all of them outlive the call, which reads them only.
        let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, 0) };
        match sent {
            -1 => Err(io::Error::last_os_error()),
            count => Ok(count as usize),
        }
    }

    /// See [`super::Device::lost`].
    pub fn lost(&mut self) -> io::Result<u64> {
        // SAFETY: all zeroes is a valid tpacket_stats.
        let mut stats: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: PACKET_STATISTICS fills a tpacket_stats (and resets the kernel's counters);
        // its length is passed along.
        checked(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &mut length,
            )
        })?;
        Ok(stats.tp_drops.into())
    }
}

impl Drop for PacketSocket {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `open`, and nothing refers to it any more.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), FRAMES * FRAME) };
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn set<T>(fd: RawFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` is valid for its size, which is passed along.
    checked(unsafe {
        let length = size_of::<T>() as libc::socklen_t;
        libc::setsockopt(fd, level, option, (&raw const *value).cast(), length)
    })?;
    Ok(())
}
