//! What is a segment about to be sent, and which options does the owner add to it?

use crate::wire::MptcpOptions;

/// What payload maps to at the level of the owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataMapping {
    /// Data sequence number of the first byte.
    pub dsn: u64,
    /// Whether a DATA_FIN follows the payload.
    pub data_fin: bool,
}

/// What a segment about to be sent is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A SYN.
    Syn,
    /// A SYN whose payload and options the owner wants to count before the handshake is complete.
    EarlySyn,
    /// A SYN/ACK.
    SynAck,
    /// An acknowledgement without data, a window update, a keep-alive or window probe.
    Ack,
    /// Payload.
    Data {
        /// Offset of its first byte.
        offset: u64,
        /// What it maps to, as enqueued.
        mapping: Option<DataMapping>,
        /// Whether it was sent before.
        again: bool,
    },
    /// A FIN without payload.
    Fin,
    /// A reset.
    Reset,
}

/// Adds the owner's options to segments.
pub trait OptionSource {
    /// The options of a segment of this kind with this payload, in at most `room` bytes; called
    /// once for each segment sent.
    fn options(&mut self, kind: Kind, payload: &[u8], room: usize, options: &mut MptcpOptions);
}

/// No options: plain TCP.
pub struct PlainTcp;

impl OptionSource for PlainTcp {
    fn options(&mut self, _: Kind, _: &[u8], _: usize, _: &mut MptcpOptions) {}
}
