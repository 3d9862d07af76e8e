//! What carries a channel? A TCP or Multipath TCP connection, or a stream of a QUIC connection.

use super::follow::Followed;
use measure::transport::kernel;
use nix::sys::socket::{setsockopt, sockopt};
use std::io;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A transport, as the client chose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Mptcp,
    Quic,
    Mpquic,
}

impl Transport {
    /// As in scenarios and metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Mptcp => "mptcp",
            Transport::Quic => "quic",
            Transport::Mpquic => "mpquic",
        }
    }
}

/// A channel's bytes in both directions.
pub(super) enum Stream {
    Tcp(TcpStream),
    Quic {
        send: noq::SendStream,
        recv: noq::RecvStream,
        connection: Arc<Followed>,
    },
}

impl Stream {
    /// What it is.
    pub(super) fn transport(&self) -> Transport {
        match self {
            Stream::Tcp(stream) => match kernel::is_mptcp(stream.as_raw_fd()) {
                Ok(true) => Transport::Mptcp,
                _ => Transport::Tcp,
            },
            Stream::Quic { connection, .. } => match connection.is_multipath() {
                true => Transport::Mpquic,
                false => Transport::Quic,
            },
        }
    }

    /// Which connection it belongs to, for QUIC: the streams of a session are of one.
    pub(super) fn connection(&self) -> Option<&Arc<Followed>> {
        match self {
            Stream::Tcp(_) => None,
            Stream::Quic { connection, .. } => Some(connection),
        }
    }

    /// Ends it at once; what the client did not take yet is dropped, so that it holds no memory.
    pub(super) fn abort(self) {
        match self {
            Stream::Tcp(stream) => {
                let at_once = libc::linger {
                    l_onoff: 1,
                    l_linger: 0,
                };
                // Best effort: without it the kernel drops the data later.
                let _ = setsockopt(&stream, sockopt::Linger, &at_once);
            }
            Stream::Quic {
                mut send, mut recv, ..
            } => {
                // Closed already is what is wanted.
                let _ = send.reset(super::quic::CUT);
                let _ = recv.stop(super::quic::CUT);
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Quic { recv, .. } => AsyncRead::poll_read(Pin::new(recv), cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, data),
            Stream::Quic { send, .. } => AsyncWrite::poll_write(Pin::new(send), cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Quic { send, .. } => AsyncWrite::poll_flush(Pin::new(send), cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Quic { send, .. } => AsyncWrite::poll_shutdown(Pin::new(send), cx),
        }
    }
}
