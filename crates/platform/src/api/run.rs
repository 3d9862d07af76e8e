//! What does the explorer show of a run, and how is it asked for?

use model::manifest::Status;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// One row of the explorer: what is kept beside the run's document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunSummary {
    /// The run: 32 hexadecimal digits.
    pub id: String,
    /// The test it belongs to.
    pub test: String,
    /// When it started by the client's clock, RFC 3339 in UTC, cut to the minute.
    pub started_at: String,
    /// When it was stored, by the collector's clock, RFC 3339 in UTC.
    pub stored_at: String,
    /// The experiment's name.
    pub experiment: String,
    /// `stable` or `mobile`.
    pub mode: String,
    /// The test server's id.
    pub server: String,
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
    /// The pattern's name.
    pub pattern: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The server's port.
    pub port: u16,
    /// `complete`, `incomplete` or `failed`.
    #[schema(value_type = String)]
    pub status: Status,
    /// Why it does not count; absent when it does.
    pub invalid: Option<String>,
    /// Why it ended, one of `model::live::Ended`'s words.
    pub ended: Option<String>,
    /// The kinds of its networks: `wifi+cellular`.
    pub networks: String,
    /// How long it took.
    pub duration_us: u64,
    /// The client program's version.
    pub walkabout_version: String,
    /// Whether its uploader agreed to publication.
    pub publish: bool,
    /// The values of the metrics, by name; a censored value is a lower bound.
    pub metrics: BTreeMap<String, MetricValue>,
}

/// A metric's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum MetricValue {
    /// A number.
    Number {
        /// The value, in the metric's unit (`walkabout list metrics`).
        value: f64,
        /// Whether it is only a lower bound.
        censored: bool,
    },
    /// A word.
    Word(String),
}

/// The query of `GET /api/v1/runs`, of exports and comparisons; what is absent does not filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only of this test.
    pub test: Option<String>,
    /// Only of this experiment.
    pub experiment: Option<String>,
    /// Only in this mode.
    pub mode: Option<String>,
    /// Only with this server.
    pub server: Option<String>,
    /// Only over this transport.
    pub transport: Option<String>,
    /// Only under this path manager.
    pub policy: Option<String>,
    /// Only with this pattern.
    pub pattern: Option<String>,
    /// Only over `ipv4` or `ipv6`.
    pub family: Option<String>,
    /// Only stored at or after, RFC 3339.
    pub from: Option<String>,
    /// Only stored before, RFC 3339.
    pub to: Option<String>,
    /// Also those that do not count.
    pub invalid: Option<bool>,
    /// Only those whose longest delay was at least this.
    pub delay_max_s: Option<f64>,
    /// Only those whose uploader agreed to publication.
    pub publish: Option<bool>,
    /// How many, 1 to 200; 50 when absent.
    pub limit: Option<u32>,
    /// Where to go on: `next` of the page before.
    pub after: Option<String>,
}

/// A transport under a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct Arm {
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
}

/// The answer to `GET /api/v1/runs`: the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// How many there are in all under the filter, counted up to 10,000.
    pub total: u64,
    /// Whether `total` stopped counting.
    pub total_is_lower_bound: bool,
    /// What to give as `after` for the next page; absent on the last.
    pub next: Option<String>,
}
