//! Which datagrams are not even looked at? Those that would be answered with more bytes than they have.
//!
//! noq 1.4 answers a long header of an unknown version with Version Negotiation, however short the
//! datagram; a server must drop those too small to begin a connection (RFC 9000, section 5.2.2), as a few
//! bytes from a forged address would otherwise become many at their victim.

use noq::udp::RecvMeta;
use noq::{AsyncUdpSocket, UdpSender};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The smallest datagram that may begin a connection (RFC 9000, section 14.1).
const MIN_INITIAL: usize = 1_200;
/// QUIC version 1 (RFC 9000, section 15).
pub(super) const VERSION: u32 = 1;

/// A socket that hides short datagrams of other versions.
#[derive(Debug)]
pub(super) struct Guarded(pub Box<dyn AsyncUdpSocket>);

impl AsyncUdpSocket for Guarded {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        self.0.create_sender()
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let received = self.0.poll_recv(cx, buffers, meta);
        if let Poll::Ready(Ok(n)) = received {
            for (buffer, meta) in buffers.iter_mut().zip(meta.iter()).take(n) {
                let end = meta.len.min(buffer.len());
                for datagram in buffer[..end].chunks_mut(meta.stride.max(1)) {
                    if is_bait(datagram) {
                        // A short header with no connection's id: dropped without an answer.
                        datagram.fill(0);
                    }
                }
            }
        }
        received
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.0.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.0.may_fragment()
    }
}

/// A long header (its first bit is set) of another version, in a datagram that is too short.
fn is_bait(datagram: &[u8]) -> bool {
    match datagram {
        [first, a, b, c, d, ..] if first & 0x80 != 0 => {
            datagram.len() < MIN_INITIAL && u32::from_be_bytes([*a, *b, *c, *d]) != VERSION
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_long_headers_of_other_versions_are_bait() {
        let mut datagram = vec![0xc0, 0, 0, 0, 1, 8];
        assert!(!is_bait(&datagram));
        datagram[4] = 2;
        assert!(is_bait(&datagram));
        datagram.resize(MIN_INITIAL, 0);
        assert!(!is_bait(&datagram));
        assert!(!is_bait(&[0x40, 0, 0, 0, 2, 8]));
        assert!(!is_bait(&[0xc0, 0, 0]));
    }
}
