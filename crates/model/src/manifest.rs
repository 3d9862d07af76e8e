//! What a run folder says about itself: `manifest.json`.

use crate::live::LiveFacts;
use crate::random::Seed;
use crate::record::FORMAT_VERSION;
use crate::scenario::Scenario;
use crate::world::World;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The manifest of one run. Written when the run starts, and again when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`crate::record::FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// The program's version.
    pub walkabout_version: String,
    /// Whether the tables are complete.
    pub status: Status,
    /// Why the run failed, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When the run started, RFC 3339 in UTC. Virtual time starts at the epoch.
    pub started_at: String,
    /// `emulated`, `virtual` or `live`.
    pub world: String,
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
    /// The run's seed.
    pub seed: Seed,
    /// Which repetition, from 0.
    pub repetition: u64,
    /// The scenario as resolved: every default filled in.
    pub scenario: Scenario,
    /// When each failure of the scenario set in under this seed, in microseconds.
    pub failure_onsets_us: Vec<u64>,
    /// The stack that carried the traffic.
    pub stack: Stack,
    /// Kernel name, release and machine; empty in the virtual world, which has none.
    pub kernel: String,
    /// The sysctls that matter, as they were during the run.
    pub sysctls: BTreeMap<String, String>,
    /// How packets entered and left the emulator: `tun` or `packet-socket`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// What the machine or the world could not do, each with the reason.
    pub skipped: Vec<String>,
    /// Whether the emulator kept its time; absent until the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// Highest resident memory of the run's process; absent until the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// What only a run on real interfaces has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveFacts>,
}

impl Manifest {
    /// The manifest of a run that is about to start, with nothing said of the machine: it
    /// starts at the epoch, as a run in virtual time does.
    pub fn new(
        world: World,
        scenario: &Scenario,
        transport: &str,
        policy: &str,
        seed: Seed,
    ) -> Manifest {
        Manifest {
            format_version: FORMAT_VERSION,
            walkabout_version: env!("CARGO_PKG_VERSION").to_owned(),
            status: Status::Incomplete,
            error: None,
            started_at: "1970-01-01T00:00:00Z".to_owned(),
            world: world.name().to_owned(),
            transport: transport.to_owned(),
            policy: policy.to_owned(),
            seed,
            repetition: 0,
            scenario: scenario.clone(),
            failure_onsets_us: (0..)
                .zip(&scenario.failures)
                .map(|(index, failure)| failure.onset(seed, index).as_micros())
                .collect(),
            stack: Stack::default(),
            kernel: String::new(),
            sysctls: BTreeMap::new(),
            device: None,
            skipped: Vec::new(),
            timing: None,
            peak_memory_bytes: None,
            live: None,
        }
    }
}

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Still running, or killed: the tables hold what was written so far.
    Incomplete,
    /// Ended as planned.
    Complete,
    /// Ended early by an error.
    Failed,
}

/// A protocol stack and how it was configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// `linux`, `noq` or `walkabout`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The congestion controller in force.
    pub congestion: String,
    /// Who opens and closes paths: `kernel`, `userspace` or `none`.
    pub path_manager: String,
    /// Which scheduler spreads the data.
    pub scheduler: String,
    /// Which one the server has, where it is another than the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_scheduler: Option<String>,
    /// How packets are protected, where the transport protects them: `TLS 1.3`, or `none` where
    /// a world leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<String>,
}

/// How late the emulator was, over all packets it delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Packets delivered.
    pub packets: u64,
    /// Median lateness.
    pub lateness_p50_ns: u64,
    /// 99th percentile of the lateness.
    pub lateness_p99_ns: u64,
    /// The worst.
    pub lateness_max_ns: u64,
    /// The bound on the 99th percentile that was declared before the run.
    pub bound_p99_ns: u64,
    /// Whether the bound was kept; a run that missed it is flagged in every table and plot.
    pub kept: bool,
}
