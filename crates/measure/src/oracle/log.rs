//! What does the oracle say of what it sees and does? One entry a line; the format has a version.

use serde::Serialize;

/// The version of [`Entry`]'s and [`super::Status`]'s formats.
pub const FORMAT: u32 = 1;

/// What an entry is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It has begun: with which settings.
    Started,
    /// It has ended: what was put back.
    Stopped,
    /// A path was found, went up or down, or has other addresses.
    Path,
    /// A connection is steered from now on.
    Adopted,
    /// A connection is left to the kernel's own path manager.
    LeftAlone,
    /// A connection is gone.
    Gone,
    /// The path manager, or the follower, decided something, and why.
    Decision,
    /// A decision was carried out.
    Done,
    /// A decision could not be carried out.
    Failed,
    /// Notifications were lost, or a reading failed: everything is read again.
    Resync,
}

/// A line of the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Entry {
    /// Microseconds since the oracle began.
    pub time_us: u64,
    /// What it is about.
    pub kind: Kind,
    /// The connection's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<usize>,
    /// The interface of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// In words.
    pub detail: String,
}
