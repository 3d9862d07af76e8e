//! In which order may a connection's events come?

use model::Time;
use policy::SubflowId;
use walkabout_mptcp::connection::{Event, Failure};

/// What was told so far.
#[derive(Default, Debug)]
pub struct Order {
    last: Option<Time>,
    connected: bool,
    fallback: bool,
    finished: bool,
    closed: bool,
    failure: Option<Failure>,
    subflows: [Stage; SubflowId::MAX],
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
enum Stage {
    #[default]
    Absent,
    Opening,
    /// With a FAST_JOIN, which may carry data already.
    FastOpening,
    FastUsed,
    Established,
    Used,
}

impl Order {
    /// Whether the connection is over, well or not.
    pub fn over(&self) -> bool {
        self.closed || self.failure.is_some()
    }

    /// Whether it ended with everything delivered.
    pub fn closed_well(&self) -> bool {
        self.closed
    }

    /// Whether it ended before its time.
    pub fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The next event.
    ///
    /// # Panics
    /// When it may not follow.
    pub fn next(&mut self, at: Time, event: &Event) {
        assert!(
            self.last.is_none_or(|last| last <= at),
            "{self:?} {event:?}"
        );
        self.last = Some(at);
        let (before, once) = (self.over(), format!("{event:?} after {self:?}"));
        let stage = |id: &SubflowId| id.index();
        match event {
            Event::Connected => {
                assert!(!self.connected && !before, "{once}");
                self.connected = true;
            }
            Event::Fallback(_) => {
                assert!(!self.fallback && !before, "{once}");
                self.fallback = true;
            }
            Event::SubflowOpening(id) => {
                assert!(
                    self.subflows[stage(id)] == Stage::Absent && !before,
                    "{once}"
                );
                self.subflows[stage(id)] = Stage::Opening;
            }
            Event::SubflowEstablished(id) => {
                assert!(!before, "{once}");
                self.subflows[stage(id)] = match self.subflows[stage(id)] {
                    Stage::Opening | Stage::FastOpening => Stage::Established,
                    Stage::FastUsed => Stage::Used,
                    _ => panic!("{once}"),
                };
            }
            Event::FirstData(id) => {
                self.subflows[stage(id)] = match self.subflows[stage(id)] {
                    Stage::FastOpening => Stage::FastUsed,
                    Stage::Established => Stage::Used,
                    _ => panic!("{once}"),
                };
            }
            Event::SubflowClosed(id, _) => {
                assert!(self.subflows[stage(id)] > Stage::Absent, "{once}");
                self.subflows[stage(id)] = Stage::Absent;
            }
            Event::PriorityChanged(id, _) => {
                assert!(self.subflows[stage(id)] > Stage::Absent, "{once}");
            }
            Event::AddressAnnounced { .. } | Event::AddressWithdrawn(_) => {
                assert!(self.connected && !before && !self.fallback, "{once}");
            }
            Event::Extensions(_) | Event::FastJoinRefused(_) => {
                assert!(self.connected && !before, "{once}");
            }
            Event::Starved(id) => {
                assert!(self.subflows[stage(id)] >= Stage::Established, "{once}");
            }
            Event::FastJoin(id, _) => {
                assert!(self.subflows[stage(id)] == Stage::Opening, "{once}");
                self.subflows[stage(id)] = Stage::FastOpening;
            }
            Event::FastJoinGivenUp(id) => {
                let stage = self.subflows[stage(id)];
                assert!(
                    matches!(stage, Stage::FastOpening | Stage::FastUsed),
                    "{once}"
                );
            }
            Event::PeerFinished => {
                assert!(self.connected && !self.finished && !before, "{once}");
                self.finished = true;
            }
            Event::Closed => {
                assert!(self.connected && self.finished && !before, "{once}");
                self.closed = true;
            }
            Event::Failed(failure) => {
                assert!(!before, "{once}");
                self.failure = Some(*failure);
            }
        }
    }
}
