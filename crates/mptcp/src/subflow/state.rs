//! Which state is a TCP connection in, why did it end, and where does it go?

use std::net::SocketAddr;

/// The states of RFC 9293, section 3.3.2, but for LISTEN, which is the stack's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the RFC's")]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The peer reset it.
    Reset,
    /// The peer refused it: a reset in answer to the SYN.
    Refused,
    /// Nothing was acknowledged for too long.
    TimedOut,
    /// This side reset it.
    Aborted,
}

/// Where a TCP connection goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tuple {
    /// This end.
    pub local: SocketAddr,
    /// The other.
    pub remote: SocketAddr,
}
