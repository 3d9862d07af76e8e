//! What do the subflows between two addresses over one interface have in common, and how do they
//! fare together?

use super::{Average, Trigger, rate_words, timeout_words};
use crate::view::SubflowView;
use model::{PathIndex, scenario};
use std::net::IpAddr;
use std::time::Duration;

/// A source, a destination and an interface (MultiMob, section III-B); a path of the host is both
/// the interface and the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Netpath {
    /// The host's path.
    pub path: PathIndex,
    /// The destination, if known.
    pub peer: Option<IpAddr>,
}

impl Netpath {
    /// The one that a subflow takes.
    pub fn of(subflow: &SubflowView) -> Netpath {
        Netpath {
            path: subflow.path,
            peer: subflow.peer,
        }
    }
}

/// A subflow's counters when it was last looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters {
    sent: u64,
    /// The most so far: the kernel's is an estimate that may be taken back.
    lost: u64,
    retransmissions: u64,
}

/// What was counted in a period, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Grown {
    pub sent: u64,
    pub lost: u64,
    pub retransmissions: u64,
}

impl Counters {
    /// Takes a subflow's counters, and says by how much they grew. The first look at a subflow
    /// only marks where it is. Counters that fall are those of another subflow on the same path,
    /// which has counted all it has since.
    pub(super) fn advance(last: &mut Option<Counters>, subflow: &SubflowView) -> Grown {
        let seen = Counters {
            sent: subflow.sent,
            lost: subflow.lost,
            retransmissions: subflow.retransmissions,
        };
        let replaced =
            |last: &Counters| seen.sent < last.sent || seen.retransmissions < last.retransmissions;
        let from = match last {
            None => seen,
            Some(last) if replaced(last) => Counters {
                sent: 0,
                lost: 0,
                retransmissions: 0,
            },
            Some(last) => *last,
        };
        *last = Some(Counters {
            lost: seen.lost.max(from.lost),
            ..seen
        });
        Grown {
            sent: seen.sent - from.sent,
            lost: seen.lost.saturating_sub(from.lost),
            retransmissions: seen.retransmissions - from.retransmissions,
        }
    }
}

/// How a netpath fares.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    loss: Average,
    retransmissions: Average,
    greatest_rto: Duration,
    /// Of the present period.
    grown: Grown,
    seen_rto: Duration,
}

impl Rates {
    /// The smoothed loss rate: lost over sent packets.
    pub fn loss(&self) -> f64 {
        self.loss.value()
    }

    /// The smoothed retransmission rate: retransmitted over sent packets.
    pub fn retransmissions(&self) -> f64 {
        self.retransmissions.value()
    }

    /// The greatest retransmission timeout at the end of the last period.
    pub fn greatest_rto(&self) -> Duration {
        self.greatest_rto
    }

    pub(super) fn add(&mut self, grown: Grown) {
        let sum = &mut self.grown;
        sum.sent = sum.sent.saturating_add(grown.sent);
        sum.lost = sum.lost.saturating_add(grown.lost);
        sum.retransmissions = sum.retransmissions.saturating_add(grown.retransmissions);
    }

    pub(super) fn see_timeout(&mut self, rto: Option<Duration>) {
        self.seen_rto = self.seen_rto.max(rto.unwrap_or_default());
    }

    /// The period ends: what is wrong, if anything is, a failure rather than trouble.
    pub(super) fn close(&mut self, settings: &scenario::Oracle) -> Option<(Trigger, String)> {
        let grown = std::mem::take(&mut self.grown);
        self.greatest_rto = std::mem::take(&mut self.seen_rto);
        let (volume, alpha) = (grown.sent as f64, settings.alpha.get());
        let lost = self.loss.add(grown.lost as f64, volume, alpha);
        let again = grown.retransmissions as f64;
        let again = self.retransmissions.add(again, volume, alpha);
        let of = [
            (
                Trigger::Loss,
                lost,
                self.loss(),
                settings.loss_threshold.get(),
            ),
            (
                Trigger::Retransmissions,
                again,
                self.retransmissions(),
                settings.retransmission_threshold.get(),
            ),
        ];
        for (trigger, rose, value, threshold) in of {
            if settings.rates && rose && value > threshold {
                let what = match trigger {
                    Trigger::Loss => "loss",
                    _ => "retransmission",
                };
                return Some((trigger, rate_words(what, value, threshold)));
            }
        }
        let threshold = settings.greatest_rto.get();
        (self.greatest_rto > threshold).then(|| {
            let words = timeout_words(self.greatest_rto, threshold);
            (Trigger::Timeout, words)
        })
    }
}
