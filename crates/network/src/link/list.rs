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
    #[test]
    fn sorted_and_unique() {
        assert!(super::STAGES.is_sorted_by(|a, b| a.name < b.name));
    }
}
