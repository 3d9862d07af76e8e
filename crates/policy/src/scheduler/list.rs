//! The list of packet schedulers.

use super::{
    Scheduler, blest, client_priority, ecf, follow, linux_default, lowest_rtt, redundant,
    round_robin,
};

/// An entry of the list.
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
    /// Makes one, for one connection.
    pub make: fn() -> Box<dyn Scheduler>,
}

/// Every scheduler, sorted by name.
pub const SCHEDULERS: &[Entry] = &[
    Entry {
        name: "blest",
        summary: "a slower subflow only when that does not fill the peer's window before the fastest needs it",
        make: || Box::new(blest::Blest::default()),
    },
    Entry {
        name: "client-priority",
        summary: "the first regular subflow; the others only while it retransmits",
        make: || Box::new(client_priority::ClientPriority),
    },
    Entry {
        name: "ecf",
        summary: "a slower subflow only when all that waits is not delivered earlier by waiting for the fastest",
        make: || Box::new(ecf::Ecf::default()),
    },
    Entry {
        name: "follow",
        summary: "the subflow on which the peer's last original packet came, or wait",
        make: || Box::new(follow::Follow),
    },
    Entry {
        name: "linux-default",
        summary: "as Linux chooses: the subflow that flushes its queue first; reinjections after a timeout or a close",
        make: || Box::new(linux_default::LinuxDefault::default()),
    },
    Entry {
        name: "lowest-rtt",
        summary: "the lowest smoothed round-trip time with room; opportunistic retransmission and penalisation",
        make: || Box::new(lowest_rtt::LowestRtt::default()),
    },
    Entry {
        name: "redundant",
        summary: "everything on every subflow",
        make: || Box::new(redundant::Redundant::default()),
    },
    Entry {
        name: "round-robin",
        summary: "one segment on each subflow with room, in turn",
        make: || Box::new(round_robin::RoundRobin::default()),
    },
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    SCHEDULERS.iter().find(|e| e.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Occasion;

    #[test]
    fn the_list_is_sorted_and_each_entry_is_complete() {
        let docs = include_str!("../../../../docs/schedulers.md");
        assert!(SCHEDULERS.is_sorted_by(|a, b| a.name < b.name));
        for entry in SCHEDULERS {
            assert!(!entry.summary.is_empty(), "{}", entry.name);
            assert!(!entry.summary.contains('\n'), "{}", entry.name);
            let found = find(entry.name).expect("it is in the list");
            assert!(
                docs.contains(&format!("| `{}` | {} |", entry.name, entry.summary)),
                "{}",
                entry.name
            );
            let scheduler = (found.make)();
            assert_eq!(scheduler.poll_at(), None, "{}", entry.name);
            // What lost its only subflow has to go somewhere.
            assert!(
                scheduler.reinjects_on(Occasion::SubflowClosed),
                "{}",
                entry.name
            );
        }
        assert!(find("Lowest-RTT").is_none());
    }

    /// The table of docs/schedulers.md says of each occasion whether a scheduler answers.
    #[test]
    fn the_docs_say_on_which_occasions_each_reinjects() {
        let docs = include_str!("../../../../docs/schedulers.md");
        let occasions = [
            Occasion::Timeout,
            Occasion::WindowBlocked,
            Occasion::Idle,
            Occasion::SubflowFailed,
            Occasion::SubflowClosed,
        ];
        let (_, table) = docs
            .split_once("## When data is sent once more")
            .expect("the section");
        for entry in SCHEDULERS {
            let start = format!("| `{}` |", entry.name);
            let row = table.lines().find_map(|l| l.strip_prefix(&start));
            let cells: Vec<_> = row.expect("a row").split('|').map(str::trim).collect();
            let scheduler = (entry.make)();
            for (occasion, cell) in occasions.iter().zip(&cells) {
                let answers = scheduler.reinjects_on(*occasion);
                assert_eq!(
                    answers,
                    *cell != "-",
                    "{} on {occasion:?}: {cell}",
                    entry.name
                );
            }
        }
    }
}
