//! Where a scenario is run.

use serde::{Deserialize, Serialize};

/// A world: what carries the packets, and in which time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum World {
    /// Link models and state machines in one event loop, in virtual time.
    Virtual,
    /// The same link models between network namespaces, in real time.
    #[default]
    Emulated,
    /// Real interfaces to a test server (`walkabout test`).
    Live,
}

impl World {
    /// The worlds a scenario can be run in.
    pub const ALL: [World; 2] = [World::Virtual, World::Emulated];

    /// The name on the command line, in manifests, reports and docs.
    pub fn name(self) -> &'static str {
        match self {
            World::Virtual => "virtual",
            World::Emulated => "emulated",
            World::Live => "live",
        }
    }

    /// The world called `name`.
    pub fn find(name: &str) -> Option<World> {
        World::ALL.into_iter().find(|world| world.name() == name)
    }
}
