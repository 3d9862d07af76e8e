//! Which worlds are there?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run takes place.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum World {
    /// Links and hosts in one event loop, in virtual time.
    Virtual,
    /// Real packets between network namespaces, in real time.
    Emulated,
}

impl World {
    /// Every world.
    pub const ALL: [World; 2] = [World::Virtual, World::Emulated];

    /// The name on the command line and in manifests.
    pub fn name(self) -> &'static str {
        match self {
            World::Virtual => "virtual",
            World::Emulated => "emulated",
        }
    }

    /// The world called `name`.
    pub fn find(name: &str) -> Option<World> {
        World::ALL.into_iter().find(|world| world.name() == name)
    }
}
