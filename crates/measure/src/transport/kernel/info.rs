//! What the kernel tells about a connection and its subflows: TCP_INFO and MPTCP_FULL_INFO.
//!
//! The structs mirror linux/tcp.h and linux/mptcp.h. The kernel writes as much of them as it
//! knows; the rest stays zero, and what is not written but needed is an error.

use super::socket::read_option;
use std::io;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;

/// `SOL_MPTCP`.
const SOL_MPTCP: i32 = 284;
/// `MPTCP_FULL_INFO`, since Linux 6.5.
const MPTCP_FULL_INFO: i32 = 4;
/// Subflows that are read of one connection; the in-kernel path manager's limit is 8 besides
/// the initial one, and closing ones still count for a while.
const MAX_SUBFLOWS: usize = 32;

/// `TCP_SYN_SENT` (net/tcp_states.h).
pub const SYN_SENT: u8 = 2;
/// `TCP_SYN_RECV`.
pub const SYN_RECV: u8 = 3;
/// `TCP_ESTABLISHED`.
pub const ESTABLISHED: u8 = 1;
/// `TCP_CLOSE`.
pub const CLOSE: u8 = 7;

/// `MPTCP_INFO_FLAG_FALLBACK`.
const FLAG_FALLBACK: u32 = 1;

/// `struct tcp_info` as far as `tcpi_total_rto_time` (Linux 6.7).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    /// Retransmission timeouts in a row.
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub window_scales: u8,
    pub limited: u8,
    /// Microseconds, backoff included.
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    /// Packets.
    pub unacked: u32,
    pub sacked: u32,
    /// Packets marked lost now.
    pub lost: u32,
    /// Packets sent again and not acknowledged.
    pub retrans: u32,
    pub fackets: u32,
    /// Milliseconds ago.
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    /// Microseconds, smoothed.
    pub rtt: u32,
    /// Microseconds.
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    /// Packets.
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    /// Packets since the connection began, tail-loss probes included.
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    /// Retransmitted ones included.
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time: u32,
}

/// What is needed of `struct tcp_info`: as far as `tcpi_bytes_retrans`, Linux 4.19.
const TCP_INFO_NEEDED: usize = offset_of!(TcpInfo, dsack_dups);

impl TcpInfo {
    /// The struct as a netlink attribute has it; `None` when the kernel is too old for what is
    /// needed.
    pub fn of_bytes(bytes: &[u8]) -> Option<TcpInfo> {
        if bytes.len() < TCP_INFO_NEEDED {
            return None;
        }
        let mut info = TcpInfo::default();
        let length = bytes.len().min(size_of::<TcpInfo>());
        // SAFETY: both are live for `length` bytes, and TcpInfo is plain integers, valid for any.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut info).cast(), length);
        }
        Some(info)
    }

    /// Bytes sent once or more and not acknowledged.
    pub fn outstanding(&self) -> u64 {
        if self.unacked == 0 {
            // bytes_acked counts a SYN and a FIN as one byte each, bytes_sent does not.
            return 0;
        }
        self.sent_once().saturating_sub(self.bytes_acked).max(1)
    }

    /// Bytes sent, each counted once.
    pub fn sent_once(&self) -> u64 {
        self.bytes_sent.saturating_sub(self.bytes_retrans)
    }

    /// Bytes believed to be in the network: `tcp_packets_in_flight` in packets of one MSS, at
    /// most what is outstanding (small messages make packets below the MSS).
    pub fn in_flight(&self) -> u64 {
        let gone = u64::from(self.sacked) + u64::from(self.lost);
        let packets = (u64::from(self.unacked) + u64::from(self.retrans)).saturating_sub(gone);
        (packets * u64::from(self.snd_mss)).min(self.outstanding())
    }

    /// Packets found lost since the connection began: sent again so far, and marked lost but
    /// not sent again yet. Linux keeps no such count; probes and spurious retransmissions make
    /// this an upper bound.
    pub fn lost_total(&self) -> u64 {
        u64::from(self.total_retrans) + u64::from(self.lost.saturating_sub(self.retrans))
    }
}

/// `struct mptcp_info` as of Linux 6.10.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MptcpInfo {
    pub subflows: u8,
    pub add_addr_signal: u8,
    pub add_addr_accepted: u8,
    pub subflows_max: u8,
    pub add_addr_signal_max: u8,
    pub add_addr_accepted_max: u8,
    pub flags: u32,
    pub token: u32,
    pub write_seq: u64,
    pub snd_una: u64,
    pub rcv_nxt: u64,
    pub local_addr_used: u8,
    pub local_addr_max: u8,
    pub csum_enabled: u8,
    /// Timeouts at the level of the connection, each of which reinjects data.
    pub retransmits: u32,
    pub bytes_retrans: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub bytes_acked: u64,
    pub subflows_total: u8,
    pub reserved: [u8; 3],
    pub last_data_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
}

/// What is needed of `struct mptcp_info`: as far as the data sequence numbers.
const MPTCP_INFO_NEEDED: usize = offset_of!(MptcpInfo, local_addr_used);

impl MptcpInfo {
    /// The struct as a netlink attribute has it; `None` when it is shorter than any kernel's.
    pub fn of_bytes(bytes: &[u8]) -> Option<MptcpInfo> {
        if bytes.len() < MPTCP_INFO_NEEDED {
            return None;
        }
        let mut info = MptcpInfo::default();
        let length = bytes.len().min(size_of::<MptcpInfo>());
        // SAFETY: both are live for `length` bytes, and MptcpInfo is plain integers, valid for any.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut info).cast(), length);
        }
        Some(info)
    }

    /// Whether the connection is plain TCP by now.
    pub fn fell_back(&self) -> bool {
        self.flags & FLAG_FALLBACK != 0
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct SubflowInfo {
    id: u32,
    // `struct __kernel_sockaddr_storage` twice: 128 bytes each, aligned like a pointer.
    local: SocketStorage,
    remote: SocketStorage,
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct SocketStorage([u8; 128]);

impl SocketStorage {
    fn address(&self) -> Option<SocketAddr> {
        let bytes = &self.0;
        let port = u16::from_be_bytes([bytes[2], bytes[3]]);
        let ip = match i32::from(u16::from_ne_bytes([bytes[0], bytes[1]])) {
            libc::AF_INET => {
                let ip: [u8; 4] = bytes[4..8].try_into().ok()?;
                IpAddr::V4(Ipv4Addr::from(ip))
            }
            libc::AF_INET6 => {
                let ip: [u8; 16] = bytes[8..24].try_into().ok()?;
                IpAddr::V6(Ipv6Addr::from(ip)).to_canonical()
            }
            _ => return None,
        };
        Some(SocketAddr::new(ip, port))
    }
}

/// `struct mptcp_full_info`.
#[repr(C)]
struct FullInfo {
    size_tcpinfo_kernel: u32,
    size_tcpinfo_user: u32,
    size_sfinfo_kernel: u32,
    size_sfinfo_user: u32,
    num_subflows: u32,
    size_arrays_user: u32,
    subflow_info: u64,
    tcp_info: u64,
    mptcp_info: MptcpInfo,
}

/// A subflow, or the one path of a TCP connection.
#[derive(Clone, Copy, Debug)]
pub struct Subflow {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Its state.
    pub tcp: TcpInfo,
}

/// A Multipath TCP connection.
#[derive(Clone, Debug)]
pub struct Mptcp {
    /// The state of the connection.
    pub info: MptcpInfo,
    /// Its subflows, oldest first.
    pub subflows: Vec<Subflow>,
}

/// TCP_INFO of a TCP connection.
pub fn tcp(fd: RawFd) -> io::Result<TcpInfo> {
    let mut buffer = [0u8; size_of::<TcpInfo>()];
    let length = read_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut buffer)?;
    if length < TCP_INFO_NEEDED {
        return Err(too_short("TCP_INFO", "4.19"));
    }
    // SAFETY: TcpInfo is plain integers, valid for any bytes, and the buffer has its size.
    Ok(unsafe { buffer.as_ptr().cast::<TcpInfo>().read_unaligned() })
}

/// MPTCP_FULL_INFO of a connection; `None` when it fell back to TCP.
pub fn mptcp(fd: RawFd) -> io::Result<Option<Mptcp>> {
    let empty = SubflowInfo {
        id: 0,
        local: SocketStorage([0; 128]),
        remote: SocketStorage([0; 128]),
    };
    let mut addresses = vec![empty; MAX_SUBFLOWS];
    let mut infos = vec![TcpInfo::default(); MAX_SUBFLOWS];
    let mut full = FullInfo {
        size_tcpinfo_kernel: 0,
        size_tcpinfo_user: size_of::<TcpInfo>() as u32,
        size_sfinfo_kernel: 0,
        size_sfinfo_user: size_of::<SubflowInfo>() as u32,
        num_subflows: 0,
        size_arrays_user: MAX_SUBFLOWS as u32,
        subflow_info: addresses.as_mut_ptr() as u64,
        tcp_info: infos.as_mut_ptr() as u64,
        mptcp_info: MptcpInfo::default(),
    };
    let mut length = size_of::<FullInfo>() as libc::socklen_t;
    // SAFETY: `full` is live and as long as said; the two arrays it points to are live, have
    // `size_arrays_user` elements of the sizes given, and are plain integers.
    let result = unsafe {
        libc::getsockopt(
            fd,
            SOL_MPTCP,
            MPTCP_FULL_INFO,
            (&raw mut full).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        let error = io::Error::last_os_error();
        // A connection that fell back answers like the TCP socket it is.
        return match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT) => Ok(None),
            _ => Err(error),
        };
    }
    if full.mptcp_info.fell_back() {
        return Ok(None);
    }
    if (full.size_tcpinfo_kernel as usize) < TCP_INFO_NEEDED {
        return Err(too_short("MPTCP_FULL_INFO", "6.5"));
    }
    let count = (full.num_subflows as usize).min(MAX_SUBFLOWS);
    let subflows = addresses.iter().zip(&infos).take(count);
    let subflows = subflows.filter_map(|(addresses, tcp)| {
        Some(Subflow {
            local: addresses.local.address()?,
            remote: addresses.remote.address()?,
            tcp: *tcp,
        })
    });
    Ok(Some(Mptcp {
        info: full.mptcp_info,
        subflows: subflows.collect(),
    }))
}

fn too_short(option: &str, version: &str) -> io::Error {
    let text = format!(
        "this kernel's {option} is shorter than Linux {version}'s; a newer kernel is needed"
    );
    io::Error::new(io::ErrorKind::Unsupported, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structs_have_the_kernels_layout() {
        assert_eq!(offset_of!(TcpInfo, total_retrans), 100);
        assert_eq!(offset_of!(TcpInfo, bytes_sent), 200);
        assert_eq!(size_of::<TcpInfo>(), 248);
        assert_eq!(offset_of!(MptcpInfo, token), 12);
        assert_eq!(offset_of!(MptcpInfo, retransmits), 44);
        assert_eq!(size_of::<MptcpInfo>(), 96);
        assert_eq!(offset_of!(FullInfo, mptcp_info), 40);
        assert_eq!(size_of::<SubflowInfo>(), 264);
    }

    #[test]
    fn what_is_in_flight_is_bounded_by_what_is_outstanding() {
        let info = TcpInfo {
            unacked: 3,
            lost: 1,
            retrans: 1,
            snd_mss: 1448,
            bytes_sent: 700,
            bytes_retrans: 100,
            bytes_acked: 301,
            total_retrans: 1,
            ..TcpInfo::default()
        };
        assert_eq!(info.outstanding(), 299);
        assert_eq!(info.in_flight(), 299);
        assert_eq!(info.lost_total(), 1);
        let idle = TcpInfo { unacked: 0, ..info };
        assert_eq!(idle.outstanding(), 0);
    }
}
