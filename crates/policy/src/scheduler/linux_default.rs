//! `linux-default`: which subflow will have flushed its queue first?
//!
//! As Linux 6.18 chooses (net/mptcp/protocol.c, its built-in scheduler): the subflow with the
//! least *linger time*, which is what it has queued or unacknowledged over the average of its
//! pacing rate, provided its send buffer has room; it then takes a burst. The congestion window
//! plays no part: data may queue in the subflow. Backups serve only when no regular subflow is
//! left that is not stale; that a retransmission timer fired means nothing.
//!
//! Three things differ. A piece whose subflow is stale or closed is sent again, where the kernel
//! sends all unacknowledged data again, also what other subflows carry. Memory is counted in
//! bytes of payload, where the kernel counts its buffers. A subflow without a pacing rate comes
//! last, where the kernel leaves it out until it has one, which there is from the handshake on.

use super::candidates::{admitted, is_recovery};
use super::{Assignment, MIN_TIMEOUT, Occasion, Piece, Reinjection, Scheduler, Subflow, View};
use crate::subflow::{SubflowId, SubflowSet};
use model::Time;
use std::time::Duration;

/// The scheduler.
#[derive(Default)]
pub struct LinuxDefault {
    /// The average pacing rate of each subflow, and when that was established: its number may
    /// have been another's before.
    average: [(Time, u64); SubflowId::MAX],
}

/// MPTCP_SEND_BURST_SIZE: 64 KiB less the largest headers of TCP (20 bytes and 40 of options),
/// IPv6 (40) and its fragmentation (8).
const BURST: u64 = (1 << 16) - 20 - 40 - 40 - 8;

/// After how many rounds of the connection's timer without progress anywhere a backup takes what
/// is overdue (mptcp_subflow_get_retrans).
const ROUNDS_BEFORE_BACKUP: u32 = 1;

/// Not stale; a stale one that has nothing outstanding any more has heard from its peer.
fn active(subflow: &Subflow) -> bool {
    !subflow.stale || subflow.is_idle()
}

/// The kernel's sk_wmem_queued.
fn buffered(subflow: &Subflow) -> u64 {
    subflow.unacked.saturating_add(subflow.queued)
}

/// In the order in which they joined, as the kernel keeps them: the first of equals is taken.
fn by_age(subflow: &Subflow) -> (Time, SubflowId) {
    (subflow.established, subflow.id)
}

impl LinuxDefault {
    /// The average pacing rate, which begins with the present one.
    fn average(&mut self, subflow: &Subflow) -> u64 {
        let average = &mut self.average[subflow.id.index()];
        if *average == (subflow.established, 0) || average.0 != subflow.established {
            *average = (subflow.established, subflow.pacing_rate);
        }
        average.1
    }

    /// How long the subflow would take to flush, in units of 2^-32 s.
    fn linger(&mut self, subflow: &Subflow) -> u128 {
        match (buffered(subflow), self.average(subflow)) {
            (0, 0) => 0,
            (_, 0) => u128::MAX,
            (bytes, rate) if bytes >> 32 == 0 => u128::from((bytes << 32) / rate),
            (bytes, rate) => (u128::from(bytes) << 32) / u128::from(rate),
        }
    }

    /// The subflow for new data, if its send buffer has room (mptcp_subflow_get_send).
    fn choose<'a>(&mut self, view: &View<'a>) -> Option<&'a Subflow> {
        let usable = || view.subflows.iter().filter(|s| active(s));
        let backup = usable().all(|s| s.backup);
        let chosen = usable()
            .filter(|s| s.backup == backup)
            .min_by_key(|s| (self.linger(s), by_age(s)))?;
        Some(chosen).filter(|s| s.buffer_room > 0)
    }

    /// Averages the pacing rate over what is buffered and the burst that is added.
    fn take(&mut self, subflow: &Subflow, burst: u64) {
        let [before, now, buffered, burst] = [
            self.average(subflow),
            subflow.pacing_rate,
            buffered(subflow),
            burst,
        ]
        .map(u128::from);
        let sum = (before * buffered).saturating_add(now * burst);
        let average = sum / (buffered + burst).max(1);
        self.average[subflow.id.index()].1 = u64::try_from(average).unwrap_or(u64::MAX);
    }

    /// A subflow that delivered all it was given; a backup only if none of the others made
    /// progress lately (mptcp_subflow_get_retrans).
    fn overdue<'a>(&self, view: &View<'a>) -> Option<&'a Subflow> {
        let (idle, busy) = (
            view.subflows.iter().filter(|s| s.is_idle()),
            view.subflows.iter().filter(|s| !s.is_idle()),
        );
        let first = |backup| {
            let some = idle.clone().filter(move |s| s.backup == backup);
            some.min_by_key(|s| by_age(s))
        };
        let hopeless = busy
            .map(|s| s.stale_count)
            .min()
            .is_none_or(|least| least > ROUNDS_BEFORE_BACKUP);
        first(false).or_else(|| first(true).filter(|_| hopeless))
    }
}

impl Scheduler for LinuxDefault {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        if admitted(view) == 0 {
            return None;
        }
        let chosen = self.choose(view)?;
        let burst = BURST.min(view.send_window);
        self.take(chosen, burst);
        Some(Assignment {
            subflows: SubflowSet::only(chosen.id),
            bytes: burst.min(view.unsent).min(chosen.buffer_room),
        })
    }

    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        let chosen = match occasion {
            Occasion::WindowBlocked | Occasion::Idle => None,
            Occasion::Timeout => self.overdue(view),
            Occasion::SubflowFailed | Occasion::SubflowClosed => {
                let carriers = view
                    .subflows
                    .iter()
                    .filter(|s| piece.carriers.contains(s.id));
                if carriers.clone().any(active) {
                    return None;
                }
                let chosen = self.choose(view)?;
                self.take(chosen, piece.bytes);
                Some(chosen)
            }
        };
        chosen.map(|s| Reinjection::onto(s.id))
    }

    fn heeds_failed(&self) -> bool {
        false
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        is_recovery(occasion)
    }

    /// How long until the last of the subflows' own timers fires, of those that have heard from
    /// the peer since the connection's timer fired last (mptcp_set_timeout).
    fn retransmission_timeout(&self, view: &View<'_>) -> Duration {
        let heard = view.subflows.iter().filter(|s| s.stale_count == 0);
        let last = heard.filter_map(|s| s.retransmission_in).max();
        last.filter(|time| !time.is_zero()).unwrap_or(MIN_TIMEOUT)
    }
}
