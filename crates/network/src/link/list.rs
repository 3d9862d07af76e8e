//! Which stages there are: their names are the reasons of drops, and what the command line lists.

/// An entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in reports and docs, and the reason recorded with a packet that it drops.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
}

/// Every stage, queue discipline and service process of a link, sorted by name.
pub const STAGES: &[Entry] = &[
    Entry {
        name: "blackhole",
        summary: "loses every packet of a silent failure, from its onset to its repair",
    },
    Entry {
        name: "burst-loss",
        summary: "loses packets in bursts (Gilbert-Elliott)",
    },
    Entry {
        name: "codel",
        summary: "queue that drops by the time packets wait (CoDel, RFC 8289)",
    },
    Entry {
        name: "delay",
        summary: "holds every packet for the propagation delay and its jitter, in order",
    },
    Entry {
        name: "drop-tail",
        summary: "queue that drops what exceeds its limit in bytes",
    },
    Entry {
        name: "duplicate",
        summary: "delivers some packets twice",
    },
    Entry {
        name: "link-down",
        summary: "drops what enters or waits while the link is down",
    },
    Entry {
        name: "mac-retries",
        summary: "802.11 rate, frame errors and retries of a walk; drops after seven attempts",
    },
    Entry {
        name: "random-loss",
        summary: "loses each packet with the same probability, independently",
    },
    Entry {
        name: "rate",
        summary: "serialises packets at a bit rate that may change over time",
    },
    Entry {
        name: "reorder",
        summary: "holds some packets back, so that later ones overtake them",
    },
    Entry {
        name: "trace",
        summary: "delivers at the opportunities of a Mahimahi trace",
    },
];

#[cfg(test)]
mod tests {
    use super::STAGES;
    use crate::link::queue::{Codel, DropTail};
    use crate::link::{
        Blackhole, BurstLoss, Delay, Duplicate, LinkDown, RandomLoss, Rate, Reorder,
    };
    use crate::trace::Opportunities;
    use crate::walk::Radio;

    #[test]
    fn sorted_and_complete() {
        assert!(STAGES.is_sorted_by(|a, b| a.name < b.name));
        let mut names = [
            Blackhole::NAME,
            BurstLoss::NAME,
            Codel::<()>::NAME,
            Delay::<()>::NAME,
            DropTail::<()>::NAME,
            Duplicate::NAME,
            LinkDown::NAME,
            Opportunities::NAME,
            Radio::NAME,
            RandomLoss::NAME,
            Rate::<()>::NAME,
            Reorder::<()>::NAME,
        ];
        names.sort_unstable();
        assert!(STAGES.iter().map(|stage| stage.name).eq(names));
    }
}
