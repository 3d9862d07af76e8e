//! When a full window of the peer blocks the connection, what is sent again where, and which
//! subflow pays for it?
//!
//! Opportunistic retransmission and penalisation of slow subflows: Raiciu et al., "How Hard Can
//! It Be? Designing and Implementing a Deployable Multipath TCP", NSDI 2012.

use super::candidates::{by_rtt, in_play};
use super::{Piece, Reinjection, Subflow, View};
use crate::subflow::SubflowId;
use model::Time;

/// When each subflow was penalised last.
#[derive(Default)]
pub(super) struct Penalties([Option<Time>; SubflowId::MAX]);

impl Penalties {
    /// The lowest-RTT subflow with room sends the first unacknowledged `piece`, unless it
    /// carries it; the slowest of the slower subflows that hold it is penalised.
    pub(super) fn unblock(&mut self, view: &View<'_>, piece: &Piece) -> Option<Reinjection> {
        let open = in_play(view).filter(|s| s.has_room(piece.bytes));
        let fastest = open.min_by_key(|s| by_rtt(s))?;
        if piece.carriers.contains(fastest.id) {
            return None;
        }
        let holders = view
            .subflows
            .iter()
            .filter(|s| piece.carriers.contains(s.id) && by_rtt(s).0 > by_rtt(fastest).0);
        let holder = holders.max_by_key(|s| by_rtt(s));
        Some(Reinjection {
            penalised: holder.filter(|s| self.is_due(view.now, s)).map(|s| s.id),
            ..Reinjection::onto(fastest.id)
        })
    }

    /// Whether `holder` is penalised now: not while it repairs a loss, which has made its window
    /// smaller already, and at most once a round-trip time.
    fn is_due(&mut self, now: Time, holder: &Subflow) -> bool {
        let last = &mut self.0[holder.id.index()];
        // An earlier subflow of the same number is none of this one's business.
        let since = last.filter(|at| *at >= holder.established);
        let due = !holder.retransmitting
            && holder
                .smoothed_rtt
                .is_some_and(|rtt| since.is_none_or(|at| now.since(at) >= rtt));
        if due {
            *last = Some(now);
        }
        due
    }
}
