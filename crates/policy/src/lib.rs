//! Path managers: brains that decide which path a connection uses, with no wire of their own.
//!
//! A manager sees the state of paths and connections and answers with actions. The same code
//! runs on kernel MPTCP (through netlink), on user-space MPTCP and on multipath QUIC (through
//! path open, close and status). A new one is one file and one line in [`list::MANAGERS`].
//!
//! ```
//! use model::{PathIndex, PathKind, Time};
//! use walkabout_policy::{ConnectionView, PathState, PathView, SubflowView, View, list};
//! use std::time::Duration;
//!
//! let wifi = SubflowView {
//!     path: PathIndex(0),
//!     peer: None,
//!     state: PathState::Established,
//!     backup: false,
//!     suspected: false,
//!     srtt: Some(Duration::from_millis(20)),
//!     rto: Some(Duration::from_millis(220)),
//!     timeouts: 0,
//!     retransmissions: 0,
//!     sent: 10,
//!     lost: 0,
//!     in_flight: 0,
//!     oldest_unacked: None,
//!     starved: false,
//!     received: 10,
//! };
//! let view = View {
//!     paths: [PathKind::Wifi, PathKind::Cellular].map(|kind| PathView { kind, up: true }).into(),
//!     connections: vec![ConnectionView { id: 0, has_unsent: false, subflows: vec![wifi] }],
//! };
//! let mut manager = (list::find("backup").unwrap().make)(&list::Parameters::default());
//! let mut decisions = Vec::new();
//! manager.decide(Time::ZERO, &view, &mut decisions);
//! assert_eq!(decisions[0].cause, "cellular (path 1) is up and has no subflow");
//! ```

pub mod congestion;
pub mod handover;
pub mod list;
pub mod manager;
pub mod oracle;
mod per_subflow;
pub mod requests;
pub mod roles;
pub mod scheduler;
pub mod silence;
pub mod subflow;
pub mod view;
pub mod watches;

pub use subflow::{SubflowId, SubflowSet};
pub use view::{Action, ConnectionView, Decision, PathState, PathView, SubflowView, View};

use model::Time;
use std::time::Duration;

/// Decides on the control plane which paths a connection uses.
pub trait PathManager: Send {
    /// What to do now; called at every [`PathManager::period`] and whenever a path or a
    /// subflow appears or disappears. Decisions are appended to `decisions`.
    fn decide(&mut self, now: Time, view: &View, decisions: &mut Vec<Decision>);

    /// How often to ask; `None` when only changes of paths and subflows matter.
    fn period(&self) -> Option<Duration>;
}
