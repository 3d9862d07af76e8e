//! How can every Multipath TCP connection of a Linux host, of applications that know nothing of
//! it, be steered by a path manager of [`policy`]; and how can a server follow its clients?
//!
//! [`run`] is the daemon. The brains are state machines over the seam `kernel::Kernel`:
//! `client::Oracle` for what this host opens, `follow::Follower` for what it accepts; `watch::Watch` is what
//! they have in common.

pub(crate) mod client;
mod daemon;
mod door;
pub(crate) mod follow;
mod hands;
pub(crate) mod kernel;
pub(crate) mod linux;
mod log;
mod numbers;
pub(crate) mod places;
mod reach;
mod status;
mod table;
mod takeover;
mod watch;

#[cfg(test)]
mod tests;

pub use daemon::{OracleError, Setup, run};
pub use log::{Entry, FORMAT, Kind};
pub use status::{ConnectionStatus, Counters, PathStatus, Status, SubflowStatus};
pub use takeover::{TakeOverError, restore};
