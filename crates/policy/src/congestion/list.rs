//! The list of congestion controllers.

use super::separate::Separate;
use super::{Controller, balia, bbr, cubic, lia, olia, reno};

/// An entry of the list.
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
    /// Whether it couples the subflows of a connection.
    pub coupled: bool,
    /// Makes one, for one connection.
    pub make: fn() -> Box<dyn Controller>,
}

/// Every controller, sorted by name.
pub const CONTROLLERS: &[Entry] = &[
    Entry {
        name: "balia",
        summary: "coupled; between LIA's friendliness and OLIA's responsiveness (draft-walid)",
        coupled: true,
        make: || Box::new(balia::Balia::default()),
    },
    Entry {
        name: "bbr",
        summary: "paces at the rate the path delivers, two round trips in flight (BBR version 1, as in Linux)",
        coupled: false,
        make: || Box::new(Separate::<bbr::Bbr>::default()),
    },
    Entry {
        name: "cubic",
        summary: "a cubic function of the time since the last loss, as in Linux (RFC 9438)",
        coupled: false,
        make: || Box::new(Separate::<cubic::Cubic>::default()),
    },
    Entry {
        name: "lia",
        summary: "coupled; all subflows together grow as fast as one flow on the best path (RFC 6356)",
        coupled: true,
        make: || Box::new(lia::Lia::default()),
    },
    Entry {
        name: "olia",
        summary: "coupled; growth moves from the largest window to the best path (draft-khalili)",
        coupled: true,
        make: || Box::new(olia::Olia::default()),
    },
    Entry {
        name: "reno",
        summary: "one segment more a round trip, half after a loss (RFC 5681)",
        coupled: false,
        make: || Box::new(Separate::<reno::Reno>::default()),
    },
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    CONTROLLERS.iter().find(|e| e.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubflowId;
    use crate::congestion::{INITIAL_WINDOW_SEGMENTS, Signal};
    use model::Time;

    #[test]
    fn the_list_is_sorted_and_each_entry_is_complete() {
        assert!(CONTROLLERS.is_sorted_by(|a, b| a.name < b.name));
        for entry in CONTROLLERS {
            assert!(!entry.summary.is_empty(), "{}", entry.name);
            assert!(!entry.summary.contains('\n'), "{}", entry.name);
            let found = find(entry.name).expect("it is in the list");
            let mut controller = (found.make)();
            let subflow = SubflowId::new(0);
            assert_eq!(controller.window(subflow), 0, "{}", entry.name);
            controller.opened(subflow, Time::ZERO, 1_400);
            let initial = INITIAL_WINDOW_SEGMENTS * 1_400;
            assert_eq!(controller.window(subflow), initial, "{}", entry.name);
            assert_eq!(controller.slow_start_threshold(subflow), u64::MAX);
            // The handshake had to be sent again: one segment, and slow start without an end.
            controller.on_congestion(subflow, Time::ZERO, Signal::Timeout, 0);
            assert_eq!(controller.window(subflow), 1_400, "{}", entry.name);
            assert_eq!(controller.slow_start_threshold(subflow), u64::MAX);
        }
        assert!(find("Reno").is_none());
    }
}
