//! What a scenario says: paths, how they change, what fails, which traffic, over which
//! transports and policies. The types here are the TOML format; `parse` reads it, `check`
//! refuses what contradicts itself, `builtin` holds the scenarios that come along.

pub mod builtin;
pub(crate) mod check;
mod error;
mod failure;
pub(crate) mod key;
mod link;
mod multipath;
pub(crate) mod oracle;
pub(crate) mod parse;
pub(crate) mod schema;
mod set;
mod traffic;
mod walk;

pub use check::Names;
pub use error::ScenarioError;
pub use failure::{Failure, FailureKind, Phase};
pub use link::{Burst, Change, Link, Queue, QueueKind, Reorder};
pub use multipath::{Multipath, Subtypes};
pub use oracle::{Hysteresis, Oracle, TailLoss};
pub use parse::Document;
pub use schema::json_schema;
pub use set::{Origin, Setting};
pub use traffic::{
    Background, Bulk, Bursts, Flow, Interactive, Iperf, Ping, Radio, Request, Traffic,
    WithBackground,
};
pub use walk::{Walk, Waypoint};

use crate::family::Family;
use crate::path::{Name, PathIndex, PathKind, Side};
use crate::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An experiment's definition, the same for every world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name, as used on the command line and in reports.
    pub name: String,
    /// One line that says what the scenario shows.
    pub summary: String,
    /// How long the application runs.
    pub duration: Span,
    /// Which transports take part, by name (`walkabout list transports`).
    #[schemars(length(min = 1))]
    pub transports: Vec<String>,
    /// Which path managers the multipath transports run under, by name (`walkabout list policies`).
    #[schemars(length(min = 1))]
    pub policies: Vec<String>,
    /// The congestion controller of every transport; the stack's own default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// The packet scheduler of the user-space Multipath TCP, at both ends (`walkabout list
    /// schedulers`), its default when absent; the other transports have one of their own and heed
    /// no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Extensions of Multipath TCP that the user-space stack speaks; none when absent.
    #[serde(default, skip_serializing_if = "Multipath::is_default")]
    pub multipath: Multipath,
    /// The server's packet scheduler where it is another than the client's, which is then
    /// `scheduler`'s; by the same names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_scheduler: Option<String>,
    /// The version of the internet protocol on every path: `ipv4` unless said otherwise.
    #[serde(default, skip_serializing_if = "Family::is_default")]
    pub family: Family,
    /// The parameters of MultiMob's path managers; the paper's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<Oracle>,
    /// What the application does.
    pub traffic: Traffic,
    /// Light traffic beside it, on a channel of its own; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// The paths, 1 to 8, each under a `[[path]]` of its own; a connection starts on the first.
    #[serde(rename = "path")]
    #[schemars(length(min = 1, max = 8))]
    pub paths: Vec<Path>,
    /// What fails, and when; each failure under a `[[failure]]` of its own.
    #[serde(rename = "failure", default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

/// One path between client and server: a link in each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// The name, unique in the scenario, and the name of the client's interface: at most 15
    /// letters, digits, `-` and `_`.
    pub name: Name,
    /// What carries it.
    pub kind: PathKind,
    /// Client to server, at the start.
    pub up: Link,
    /// Server to client, at the start.
    pub down: Link,
    /// How the links change over time.
    #[serde(rename = "change", default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// A walk that sets rate and loss of both links from the distance to the access point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<Walk>,
}

impl Scenario {
    /// The packet scheduler that is asked for at one end; `None` for the stack's default.
    pub fn scheduler_of(&self, side: Side) -> Option<&str> {
        let own = match side {
            Side::Client => None,
            Side::Server => self.server_scheduler.as_deref(),
        };
        own.or(self.scheduler.as_deref())
    }

    /// The index of the path called `name`.
    pub fn path_index(&self, name: &str) -> Option<PathIndex> {
        self.paths
            .iter()
            .position(|p| p.name.as_str() == name)
            .map(PathIndex)
    }

    /// All that the application does: the traffic, and the background where there is one.
    pub fn application(&self) -> Traffic {
        let main = self.traffic.clone();
        match self.background.clone() {
            None => main,
            Some(background) => {
                Traffic::WithBackground(Box::new(WithBackground { main, background }))
            }
        }
    }
}
