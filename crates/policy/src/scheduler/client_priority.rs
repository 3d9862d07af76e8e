//! `client-priority`: does Wi-Fi retransmit?
//!
//! What MultiMob runs on the smartphone: Wi-Fi has priority, and cellular serves only while Wi-Fi
//! retransmits (De Coninck and Bonaventure, MultiMob, section III.A). A scheduler knows no
//! interfaces: Wi-Fi is the regular subflow that exists longest, or the subflow that exists
//! longest when all are backups; the others are cellular. While Wi-Fi retransmits and cellular has
//! no room, data still goes to Wi-Fi, unless that is potentially failed.

use super::candidates::{admitted, in_play};
use super::candidates::{by_rtt, fill, is_recovery, once_more, with_room, working};
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View};
use crate::subflow::SubflowId;

/// The scheduler.
pub struct ClientPriority;

/// Which subflow is Wi-Fi, and whether data keeps to it.
struct Wifi {
    id: SubflowId,
    suffices: bool,
}

fn wifi(view: &View<'_>) -> Option<Wifi> {
    let wifi = view
        .subflows
        .iter()
        .min_by_key(|s| (s.backup, s.established, s.id))?;
    Some(Wifi {
        id: wifi.id,
        suffices: !wifi.retransmitting && working(view).any(|s| s.id == wifi.id),
    })
}

impl Wifi {
    /// The subflows that may take data while one that works exists.
    fn allowed<'a>(&self, view: &View<'a>) -> impl Iterator<Item = &'a Subflow> + Clone {
        let Wifi { id, suffices } = *self;
        working(view).filter(move |s| !suffices || s.id == id)
    }

    /// Cellular before Wi-Fi: it is asked about only when Wi-Fi does not suffice.
    fn order(&self, subflow: &Subflow) -> impl Ord + use<> {
        (subflow.id == self.id, subflow.backup, by_rtt(subflow))
    }
}

impl Scheduler for ClientPriority {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        let wifi = wifi(view)?;
        let bytes = admitted(view);
        let chosen = if working(view).next().is_some() {
            let open = wifi
                .allowed(view)
                .filter(|s| bytes > 0 && s.has_room(bytes));
            open.min_by_key(|s| wifi.order(s))
        } else {
            with_room(view).min_by_key(|s| by_rtt(s))
        };
        chosen.map(|s| fill(view, s))
    }

    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        if !is_recovery(occasion) {
            return None;
        }
        let wifi = wifi(view)?;
        let chosen = if working(view).next().is_some() {
            once_more(wifi.allowed(view), occasion, piece, |s| wifi.order(s))
        } else {
            once_more(in_play(view), occasion, piece, by_rtt)
        };
        chosen.map(|s| Reinjection::onto(s.id))
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        is_recovery(occasion)
    }
}
