//! What a run leaves behind: the row types of the tables, one struct per table, with
//! the unit as the last word of each column's name.
//!
//! Writers (the live crates) and readers (analysis) meet here and nowhere else. A row
//! type describes its own columns, so that neither side repeats them.

use crate::path::{Direction, Name, Side};
use serde::{Deserialize, Serialize};

/// The version of the run folder's format; a reader upgrades older ones when it reads them.
pub const FORMAT_VERSION: u32 = 1;

/// How a column is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// 64-bit unsigned integer.
    U64,
    /// 64-bit float.
    F64,
    /// Boolean.
    Bool,
    /// UTF-8 text from a small set of values.
    Text,
}

/// One column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// The name, with the unit as its last word.
    pub name: &'static str,
    /// How it is stored.
    pub kind: ColumnKind,
    /// Whether a row may leave it out.
    pub optional: bool,
}

/// Takes one row's values in the order of the columns.
pub trait RowSink {
    /// A value of a [`ColumnKind::U64`] column.
    fn u64(&mut self, value: Option<u64>);
    /// A value of a [`ColumnKind::F64`] column.
    fn f64(&mut self, value: Option<f64>);
    /// A value of a [`ColumnKind::Bool`] column.
    fn bool(&mut self, value: Option<bool>);
    /// A value of a [`ColumnKind::Text`] column.
    fn text(&mut self, value: Option<&str>);
}

/// Gives one row's values in the order of the columns; `None` is a missing value.
pub trait RowSource {
    /// A value of a [`ColumnKind::U64`] column.
    fn u64(&mut self) -> Option<u64>;
    /// A value of a [`ColumnKind::F64`] column.
    fn f64(&mut self) -> Option<f64>;
    /// A value of a [`ColumnKind::Bool`] column.
    fn bool(&mut self) -> Option<bool>;
    /// A value of a [`ColumnKind::Text`] column.
    fn text(&mut self) -> Option<&str>;
}

/// A value that was stored in a form its column does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column `{column}` holds {found}")]
pub struct CellError {
    /// The column's name.
    pub column: &'static str,
    /// What was found instead.
    pub found: String,
}

/// A type that fills one column.
pub trait Cell: Sized {
    /// How it is stored.
    const KIND: ColumnKind;
    /// Whether it may be missing.
    const OPTIONAL: bool = false;
    /// Writes the value.
    fn put(&self, sink: &mut impl RowSink);
    /// Reads the value; the error says what was found instead.
    fn take(source: &mut impl RowSource) -> Result<Self, String>;
}

macro_rules! plain_cell {
    ($type:ty, $kind:ident, $method:ident) => {
        impl Cell for $type {
            const KIND: ColumnKind = ColumnKind::$kind;
            fn put(&self, sink: &mut impl RowSink) {
                sink.$method(Some(*self));
            }
            fn take(source: &mut impl RowSource) -> Result<Self, String> {
                source.$method().ok_or_else(|| "nothing".to_owned())
            }
        }
        impl Cell for Option<$type> {
            const KIND: ColumnKind = ColumnKind::$kind;
            const OPTIONAL: bool = true;
            fn put(&self, sink: &mut impl RowSink) {
                sink.$method(*self);
            }
            fn take(source: &mut impl RowSource) -> Result<Self, String> {
                Ok(source.$method())
            }
        }
    };
}
plain_cell!(u64, U64, u64);
plain_cell!(f64, F64, f64);
plain_cell!(bool, Bool, bool);

macro_rules! text_cell {
    ($type:ty, $as_str:expr, $parse:expr) => {
        impl Cell for $type {
            const KIND: ColumnKind = ColumnKind::Text;
            fn put(&self, sink: &mut impl RowSink) {
                let as_str: fn(&$type) -> &str = $as_str;
                sink.text(Some(as_str(self)));
            }
            fn take(source: &mut impl RowSource) -> Result<Self, String> {
                let parse: fn(&str) -> Option<$type> = $parse;
                let text = source.text().ok_or_else(|| "nothing".to_owned())?;
                parse(text).ok_or_else(|| format!("`{text}`"))
            }
        }
        impl Cell for Option<$type> {
            const KIND: ColumnKind = ColumnKind::Text;
            const OPTIONAL: bool = true;
            fn put(&self, sink: &mut impl RowSink) {
                let as_str: fn(&$type) -> &str = $as_str;
                sink.text(self.as_ref().map(as_str));
            }
            fn take(source: &mut impl RowSource) -> Result<Self, String> {
                let parse: fn(&str) -> Option<$type> = $parse;
                match source.text() {
                    None => Ok(None),
                    Some(text) => parse(text).map(Some).ok_or_else(|| format!("`{text}`")),
                }
            }
        }
    };
}
text_cell!(Name, |n| n.as_str(), |s| Some(Name::from(s)));
text_cell!(String, |s| s.as_str(), |s| Some(s.to_owned()));
text_cell!(Box<str>, |s| s, |s| Some(s.into()));
text_cell!(
    Direction,
    |d| match d {
        Direction::Up => "up",
        Direction::Down => "down",
    },
    |s| match s {
        "up" => Some(Direction::Up),
        "down" => Some(Direction::Down),
        _ => None,
    }
);
text_cell!(
    Side,
    |d| match d {
        Side::Client => "client",
        Side::Server => "server",
    },
    |s| match s {
        "client" => Some(Side::Client),
        "server" => Some(Side::Server),
        _ => None,
    }
);

/// A row type: a table's name, its columns, and one row's way in and out.
pub trait Record: Sized {
    /// The table's name, and its file's stem.
    const TABLE: &'static str;
    /// The columns in order.
    const COLUMNS: &'static [Column];
    /// Writes the row.
    fn put(&self, sink: &mut impl RowSink);
    /// Reads a row.
    fn take(source: &mut impl RowSource) -> Result<Self, CellError>;
}

macro_rules! record {
    ($(#[$meta:meta])* $name:ident in $table:literal { $($(#[$fmeta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$fmeta])* pub $field: $type,)* }

        impl Record for $name {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [Column] = &[$(Column {
                name: stringify!($field),
                kind: <$type as Cell>::KIND,
                optional: <$type as Cell>::OPTIONAL,
            },)*];
            fn put(&self, sink: &mut impl RowSink) {
                $(self.$field.put(sink);)*
            }
            fn take(source: &mut impl RowSource) -> Result<Self, CellError> {
                Ok($name { $($field: <$type as Cell>::take(source)
                    .map_err(|found| CellError { column: stringify!($field), found })?,)* })
            }
        }
    };
}

record! {
    /// One application message and its answer. A message that was never answered has no
    /// `acked_us`: it is right-censored at the end of the run, and counted.
    Message in "messages" {
        /// The channel (TCP connection or QUIC stream) within the run, from 0.
        channel: u64,
        /// The number of the message within its channel and direction, from 0.
        id: u64,
        /// `up` when the client sent it.
        direction: Direction,
        /// Bytes of the message.
        size_bytes: u64,
        /// Bytes of the answer.
        answer_bytes: u64,
        /// When its first byte was handed to the transport.
        sent_us: u64,
        /// When the last byte of the answer was received.
        acked_us: Option<u64>,
        /// `acked_us - sent_us`.
        delay_us: Option<u64>,
        /// The path that carried it, where the transport says so.
        path: Option<Name>,
    }
}

record! {
    /// The state of one path of one connection at one moment, as its stack reports it.
    /// Counters are totals since the connection began. A field the stack does not have is empty.
    Sample in "samples" {
        /// When.
        time_us: u64,
        /// Whose view.
        side: Side,
        /// The transport connection within the run, from 0.
        connection: u64,
        /// The path; empty for the row about the whole connection.
        path: Option<Name>,
        /// `connecting`, `established`, `closing` or `closed`.
        state: String,
        /// Smoothed round-trip time.
        srtt_us: Option<u64>,
        /// Round-trip time variation.
        rttvar_us: Option<u64>,
        /// Retransmission timeout (TCP) or probe timeout (QUIC).
        rto_us: Option<u64>,
        /// Consecutive timeouts without an acknowledgement since.
        timeouts: Option<u64>,
        /// Congestion window.
        cwnd_bytes: Option<u64>,
        /// Sent, not yet acknowledged or declared lost.
        in_flight_bytes: Option<u64>,
        /// How long the oldest byte in flight has waited for its acknowledgement.
        oldest_unacked_us: Option<u64>,
        /// Handed over by the application, not yet sent.
        unsent_bytes: Option<u64>,
        /// Packets sent.
        sent_packets: Option<u64>,
        /// Bytes sent.
        sent_bytes: Option<u64>,
        /// Bytes received.
        received_bytes: Option<u64>,
        /// Packets declared lost.
        lost_packets: Option<u64>,
        /// Packets sent again.
        retransmitted_packets: Option<u64>,
        /// Whether this side uses the path only when no other works.
        backup: Option<bool>,
        /// Whether the peer asked for that.
        peer_backup: Option<bool>,
    }
}

record! {
    /// What a link did with one packet.
    Packet in "packets" {
        /// The link's path.
        path: Name,
        /// The link's direction.
        direction: Direction,
        /// The packet's number on this link, from 0.
        id: u64,
        /// Bytes of the IP packet.
        size_bytes: u64,
        /// Bytes of the transport's payload (after the TCP or UDP header).
        payload_bytes: u64,
        /// When it entered the link.
        enqueued_ns: u64,
        /// When it left the link; empty if it was dropped or was still inside at the end.
        delivered_ns: Option<u64>,
        /// The stage that dropped it (`blackhole`, `drop-tail`, `random-loss` ...).
        dropped: Option<Box<str>>,
        /// Data sequence number of the data sequence mapping that it carries (RFC 8684, section
        /// 3.3), as it is on the wire: where only the lower 32 bits are there, these. It is that
        /// of the mapping's first byte, which may be in another packet, and of a DATA_FIN where
        /// the mapping has nothing else. Empty without a mapping: the first data after MP_CAPABLE
        /// has none, nor has that in a SYN (FAST_JOIN_OUT).
        dsn: Option<u64>,
        /// Its Data ACK, as it is on the wire; empty without.
        data_ack: Option<u64>,
    }
}

record! {
    /// The state of a link at one moment; a row at each change and at each sample period.
    LinkState in "links" {
        /// When.
        time_us: u64,
        /// The link's path.
        path: Name,
        /// The link's direction.
        direction: Direction,
        /// Configured rate; empty when unlimited.
        rate_bps: Option<u64>,
        /// Configured one-way delay.
        delay_us: u64,
        /// Probability that a packet is lost, queue drops aside.
        loss: f64,
        /// Whether the link carries anything at all.
        up: bool,
        /// Bytes in its queue.
        queue_bytes: u64,
        /// Received signal strength, where the walk model drives the link.
        signal_dbm: Option<f64>,
    }
}

/// What happened, in `events.jsonl`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The application began.
    ApplicationStart,
    /// The application ended.
    ApplicationStop,
    /// A failure or repair of the scenario set in.
    Failure,
    /// The host noticed that a path is usable.
    PathUp,
    /// The host noticed that a path is gone.
    PathDown,
    /// A connection is established.
    Connected,
    /// A connection is over.
    Disconnected,
    /// A subflow or path of a connection was asked for.
    PathOpening,
    /// A subflow or path of a connection can carry data.
    PathOpened,
    /// A subflow or path of a connection is gone.
    PathClosed,
    /// A subflow or path became backup, or regular.
    PriorityChanged,
    /// The first application data was sent on a path.
    FirstData,
    /// A policy decided; `cause` says why.
    Decision,
    /// An action of a policy could not be carried out.
    ActionFailed,
    /// Multipath was not negotiated, or was given up.
    Fallback,
    /// Anything else worth a line.
    Note,
}

/// One line of `events.jsonl`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub time_us: u64,
    /// What.
    pub kind: EventKind,
    /// At which end, if at one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// On which path, if on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Name>,
    /// Of which connection, if of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u64>,
    /// Why, for decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// In words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Event {
    /// An event with only its time, kind and words.
    pub fn new(time: crate::Time, kind: EventKind, detail: impl Into<String>) -> Event {
        Event {
            time_us: time.as_micros(),
            kind,
            side: None,
            path: None,
            connection: None,
            cause: None,
            detail: detail.into(),
        }
    }
}
