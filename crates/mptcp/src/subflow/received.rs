//! What did a segment that arrived change?

/// What a segment that arrived changed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Received {
    /// Whether it was acceptable (RFC 9293, section 3.10.7.4, and PAWS): the owner may heed its
    /// options. False for what was dropped or only answered with a challenge ACK.
    pub acceptable: bool,
    /// Whether the handshake completed with it.
    pub established: bool,
    /// The part of its payload that is next in order: the offset of the first new byte in the
    /// stream, and where it begins in the payload. The owner takes it now or never.
    pub in_order: Option<InOrder>,
    /// Whether data that waited behind a gap is in order now: see [`super::Subflow::take_buffered`].
    pub buffered: bool,
    /// Whether it acknowledged something new (cumulatively).
    pub acked: bool,
    /// Whether the peer's FIN is in order now, all data before it included.
    pub fin: bool,
}

/// New data in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InOrder {
    /// Offset in the stream.
    pub offset: u64,
    /// Where it begins in the segment's payload; it reaches to the payload's end unless
    /// `length` says less.
    pub start: usize,
    /// How long it is.
    pub length: usize,
}
