//! Which runs an experiment consists of.

use crate::transport;
use crate::transport::list::Implementation;
use model::{Manifest, Scenario, Seed, World};
use network::topology::Traces;
use network::trace::{Trace, TraceError};
use policy::list as policies;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One run: everything a worker needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Where it runs.
    pub world: World,
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

/// A specification that no world can carry out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No such transport.
    #[error("no transport is called `{0}`")]
    NoTransport(String),
    /// No such policy.
    #[error("no policy is called `{0}`")]
    NoPolicy(String),
    /// Extensions of Multipath TCP over a stack that has none.
    #[error(
        "the scenario's [multipath] asks for {asked}, which the stack of `{transport}` in the {} world does \
         not have: take the transport {}, or leave the table out", world.name(), capable(*world)
    )]
    Extensions {
        /// The transport.
        transport: String,
        /// The world.
        world: World,
        /// What is asked for.
        asked: String,
    },
    /// A trace that is none.
    #[error("{}: {source}", file.display())]
    Trace {
        /// The file, as the scenario names it.
        file: PathBuf,
        /// What is wrong with it.
        source: TraceError,
    },
}

/// The transports whose stack has extensions of Multipath TCP.
fn capable(world: World) -> &'static str {
    match world {
        World::Virtual => "`mptcp` or `mptcp-user`",
        World::Emulated | World::Live => "`mptcp-user`",
    }
}

impl RunSpec {
    /// The transport's entry in the list, if it can do what the scenario asks of it.
    pub fn transport(&self) -> Result<&'static transport::list::Entry, SpecError> {
        let entry = transport::list::find(&self.transport)
            .ok_or_else(|| SpecError::NoTransport(self.transport.clone()))?;
        let own = entry.implementation(self.world) == Implementation::Walkabout;
        if self.scenario.multipath.is_used() && entry.multipath && !own {
            return Err(SpecError::Extensions {
                transport: self.transport.clone(),
                world: self.world,
                asked: self.scenario.multipath.in_words(),
            });
        }
        Ok(entry)
    }

    /// The policy's entry in the list.
    pub fn policy(&self) -> Result<&'static policies::Entry, SpecError> {
        policies::find(&self.policy).ok_or_else(|| SpecError::NoPolicy(self.policy.clone()))
    }

    /// The scenario's traces, parsed.
    pub fn traces(&self) -> Result<Traces, SpecError> {
        let traces = self.traces.iter();
        let parsed = traces.map(|(file, text)| match Trace::parse(text) {
            Ok(trace) => Ok((file.clone(), trace)),
            Err(source) => Err(SpecError::Trace {
                file: file.clone(),
                source,
            }),
        });
        parsed.collect()
    }

    /// The run's manifest before anything is known of the machine.
    pub fn manifest(&self) -> Manifest {
        Manifest {
            repetition: self.repetition,
            ..Manifest::new(
                self.world,
                &self.scenario,
                &self.transport,
                &self.policy,
                self.seed,
            )
        }
    }

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
    /// Where the runs take place.
    pub world: World,
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

/// The runs of `scenario` under what the user chose: every repetition of every transport, under
/// every policy where it is multipath, in this order.
pub fn runs(
    scenario: &Scenario,
    traces: &BTreeMap<PathBuf, String>,
    choice: &Choice,
) -> Vec<RunSpec> {
    let or = |chosen: &[String], given: &[String]| {
        if chosen.is_empty() { given } else { chosen }.to_vec()
    };
    let transports = or(&choice.transports, &scenario.transports);
    let chosen_policies = or(&choice.policies, &scenario.policies);
    let single = vec![policies::SINGLE.to_owned()];
    let mut runs = Vec::new();
    for repetition in 0..choice.repeat {
        for transport in &transports {
            let multipath = transport::list::find(transport).is_some_and(|t| t.multipath);
            for policy in if multipath { &chosen_policies } else { &single } {
                let label = RunSpec::label(transport, policy);
                let folder = match choice.repeat {
                    1 => choice.out.join(label),
                    _ => choice.out.join(format!("{label}-{repetition:03}")),
                };
                runs.push(RunSpec {
                    world: choice.world,
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
