//! Which runs an experiment consists of.

use crate::transport;
use model::{Scenario, Seed};
use policy::list as policies;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One run: everything a worker needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The scenario.
    pub scenario: Scenario,
    /// The text of each trace the scenario names.
    pub traces: BTreeMap<PathBuf, String>,
    /// The transport's name.
    pub transport: String,
    /// The path manager's name; `single` for transports without one.
    pub policy: String,
    /// The run's own seed.
    pub seed: Seed,
    /// Which repetition, from 0.
    pub repetition: u64,
    /// The run folder.
    pub folder: PathBuf,
    /// How packets enter the emulator; what the machine allows when absent.
    pub device: Option<String>,
    /// The bound on the 99th percentile of the emulator's lateness.
    pub lateness_bound_ns: u64,
}

impl RunSpec {
    /// How the run is called in tables and folders: `mptcp-backup`, `tcp`.
    pub fn label(transport: &str, policy: &str) -> String {
        match transport::list::find(transport) {
            Some(entry) if !entry.multipath => transport.to_owned(),
            _ => format!("{transport}-{policy}"),
        }
    }
}

/// What the user chose beyond the scenario.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only these transports; the scenario's when empty.
    pub transports: Vec<String>,
    /// Only these policies; the scenario's when empty.
    pub policies: Vec<String>,
    /// The first seed.
    pub seed: u64,
    /// How many repetitions, each with a seed of its own.
    pub repeat: u64,
    /// The experiment's folder; each run gets one inside.
    pub out: PathBuf,
    /// How packets enter the emulator.
    pub device: Option<String>,
    /// The bound on the 99th percentile of the emulator's lateness.
    pub lateness_bound_ns: u64,
}

/// The runs of an experiment: every repetition of every transport, under every policy where it
/// is multipath.
pub fn runs(
    scenario: &Scenario,
    traces: &BTreeMap<PathBuf, String>,
    choice: &Choice,
) -> Vec<RunSpec> {
    let or = |chosen: &[String], given: &[String]| {
        if chosen.is_empty() { given } else { chosen }.to_vec()
    };
    let chosen_policies = or(&choice.policies, &scenario.policies);
    let single = vec![policies::SINGLE.to_owned()];
    let mut runs = Vec::new();
    for repetition in 0..choice.repeat {
        for transport in or(&choice.transports, &scenario.transports) {
            let multipath = transport::list::find(&transport).is_some_and(|t| t.multipath);
            for policy in if multipath { &chosen_policies } else { &single } {
                let label = RunSpec::label(&transport, policy);
                let folder = match choice.repeat {
                    1 => choice.out.join(label),
                    _ => choice.out.join(format!("{label}-{repetition:03}")),
                };
                runs.push(RunSpec {
                    scenario: scenario.clone(),
                    traces: traces.clone(),
                    transport: transport.clone(),
                    policy: policy.clone(),
                    seed: Seed(choice.seed).repetition(repetition),
                    repetition,
                    folder,
                    device: choice.device.clone(),
                    lateness_bound_ns: choice.lateness_bound_ns,
                });
            }
        }
    }
    runs
}
