//! The list of path managers.

use crate::PathManager;
use crate::manager::{apple_interactive, backup, break_before_make, fullmesh, multimob, single};
use model::Scenario;
use model::scenario::Oracle;

/// An entry of the list.
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
    /// What the kernel's own path manager does for it on MPTCP, where it needs no brain at
    /// run time; `None` when it decides at run time through the userspace path manager.
    pub kernel: Option<KernelManaged>,
    /// Makes one.
    pub make: fn(&Parameters) -> Box<dyn PathManager>,
}

/// What scenarios may set of path managers; each takes what is its own.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parameters {
    /// MultiMob's.
    pub oracle: Oracle,
}

impl Parameters {
    /// Those of a scenario.
    pub fn of(scenario: &Scenario) -> Parameters {
        Parameters {
            oracle: scenario.oracle.clone().unwrap_or_default(),
        }
    }
}

/// Endpoints the kernel's own path manager is given on the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelManaged {
    /// None: one subflow.
    Single,
    /// Each path, regular.
    Fullmesh,
    /// Each path; cellular ones as backup.
    Backup,
}

/// Every path manager, sorted by name.
pub const MANAGERS: &[Entry] = &[
    Entry {
        name: "apple-interactive",
        summary: "cellular is a backup; it takes over while Wi-Fi's SRTT, RTO or silence is above Apple's thresholds",
        kernel: None,
        make: |_| Box::new(apple_interactive::AppleInteractive::default()),
    },
    Entry {
        name: "backup",
        summary: "a subflow on every path, those on cellular as backup; the stack decides when to use them",
        kernel: Some(KernelManaged::Backup),
        make: |_| Box::new(backup::backup()),
    },
    Entry {
        name: "break-before-make",
        summary: "one path at a time: cellular is opened when Wi-Fi falls silent, and Wi-Fi is closed once cellular works",
        kernel: None,
        make: |_| Box::new(break_before_make::BreakBeforeMake::default()),
    },
    Entry {
        name: "fullmesh",
        summary: "a regular subflow on every path",
        kernel: Some(KernelManaged::Fullmesh),
        make: |_| Box::new(fullmesh::Mesh::fullmesh()),
    },
    Entry {
        name: "multimob",
        summary: "cellular is opened, and Wi-Fi held to have failed, when MultiMob's oracle sees its loss or retransmission rate rise",
        kernel: None,
        make: |parameters| Box::new(multimob::MultiMob::new(&parameters.oracle)),
    },
    Entry {
        name: "multimob-tlp",
        summary: "multimob, and at once when a packet is sent again, such as a tail-loss probe",
        kernel: None,
        make: |parameters| Box::new(multimob::MultiMob::with_tail_loss(&parameters.oracle)),
    },
    Entry {
        name: "single",
        summary: "the path the connection starts on, and no other",
        kernel: Some(KernelManaged::Single),
        make: |_| Box::new(single::Single),
    },
];

/// The path manager of transports that use one path.
pub const SINGLE: &str = "single";

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    MANAGERS.iter().find(|e| e.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use model::Time;

    #[test]
    fn the_list_is_sorted_and_each_entry_is_complete() {
        assert!(MANAGERS.is_sorted_by(|a, b| a.name < b.name));
        for entry in MANAGERS {
            assert!(!entry.summary.is_empty(), "{}", entry.name);
            assert!(!entry.summary.contains('\n'), "{}", entry.name);
            let found = find(entry.name).expect("it is in the list");
            let mut manager = (found.make)(&Parameters::default());
            let mut decisions = Vec::new();
            manager.decide(Time::ZERO, &View::default(), &mut decisions);
            assert_eq!(decisions, [], "{}: nothing to decide about", entry.name);
            // One that only the kernel's own manager can replace has to be asked regularly.
            assert!(
                entry.kernel.is_some() || manager.period().is_some(),
                "{}",
                entry.name
            );
        }
        assert!(find("Fullmesh").is_none());
    }
}
