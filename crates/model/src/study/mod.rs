//! What a study says: which scenarios, parameters, transports, policies and seeds are run
//! against each other. The types here are the TOML format; `parse` reads it, `check` refuses what
//! contradicts itself, `plan` makes the list of runs, `builtin` holds the studies that come along.

pub mod builtin;
mod check;
mod parse;
mod plan;
mod seeds;

pub use parse::Document;
pub use plan::{Arm, Case, Plan, Planned, ScenarioText, Stack};
pub use seeds::Seeds;

use crate::World;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;

/// A comparison's definition: a matrix of scenarios, parameters, transports, policies and seeds.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// The name, as used on the command line and in reports.
    pub name: String,
    /// One line that says what the study shows.
    pub summary: String,
    /// Where the runs take place.
    #[serde(default = "default_world")]
    #[schemars(schema_with = "worlds")]
    pub world: World,
    /// Built-in scenarios by name, or files relative to the study's.
    #[schemars(length(min = 1))]
    pub scenarios: Vec<String>,
    /// Which transports take part, by name; each scenario's own when absent.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub transports: Option<Vec<String>>,
    /// Which path managers the multipath transports run under, by name; each scenario's own when
    /// absent.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub policies: Option<Vec<String>>,
    /// Arms with names and settings of their own, each under an `[[arm]]`, instead of `transports`
    /// and `policies`.
    #[serde(rename = "arm", default)]
    pub arms: Vec<NamedArm>,
    /// How many seeds, or which: `100`, or `{ from = 1, count = 100 }`.
    #[serde(default)]
    pub seeds: Seeds,
    /// What the others are compared with, by the label it has in tables: `quic`,
    /// `mpquic-backup`; the first when absent.
    #[serde(default)]
    pub baseline: Option<String>,
    /// The metric the comparison rests on (`walkabout list metrics`).
    #[serde(default = "default_primary")]
    pub primary: String,
    /// Of which runs the run folder is kept.
    #[serde(default)]
    pub folders: Folders,
    /// The seed of the order in which the runs are carried out.
    #[serde(default = "default_order_seed")]
    pub order_seed: u64,
    /// Whether each run is carried out twice under independent seeds, to check that the
    /// comparison of a thing with itself finds nothing.
    #[serde(default)]
    pub a_a: bool,
    /// A file beside the study with the numbers of a paper, and what they are held against.
    #[serde(default)]
    pub paper: Option<String>,
    /// What is varied, each under a `[[parameter]]` of its own.
    #[serde(rename = "parameter", default)]
    pub parameters: Vec<Parameter>,
}

/// What takes part in a comparison: a transport under a policy, with settings of its own.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedArm {
    /// The name in tables: letters, digits, `-` and `_`.
    pub name: String,
    /// The transport, by name.
    pub transport: String,
    /// The path manager, by name; none for a transport that uses one path.
    #[serde(default)]
    pub policy: Option<String>,
    /// The only world in which it takes part; every world when absent.
    #[serde(default)]
    #[schemars(schema_with = "worlds")]
    pub world: Option<World>,
    /// Other values for keys of the scenarios, as a parameter names them: `{ scheduler = "follow",
    /// "path.wifi.delay" = "20 ms" }`.
    #[serde(default)]
    pub set: BTreeMap<String, ParameterValue>,
}

/// A key of the scenarios, and the values it takes in turn.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The name in tables: letters, digits, `-` and `_`.
    pub name: String,
    /// The key in the scenario, with dots: `path.cellular.up.delay` (without a direction both are
    /// meant), `duration`, `traffic.interactive.period`, `failure.0.at`.
    pub key: String,
    /// The values, as the scenario would have them.
    #[schemars(length(min = 1))]
    pub values: Vec<ParameterValue>,
}

/// A value of a parameter, and where in the file it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterValue {
    written: String,
    span: Range<usize>,
}

impl ParameterValue {
    /// As it is written, a text without its quotes: `60 ms`, `0.01`.
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl<'de> Deserialize<'de> for ParameterValue {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<ParameterValue, D::Error> {
        let value = Spanned::<toml::Value>::deserialize(d)?;
        Ok(ParameterValue {
            span: value.span(),
            written: match value.into_inner() {
                toml::Value::String(text) => text,
                other => other.to_string(),
            },
        })
    }
}

impl JsonSchema for ParameterValue {
    fn schema_name() -> Cow<'static, str> {
        "ParameterValue".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number", "boolean", "array", "object"],
            "description": "A value as the scenario would have it, such as `60 ms` in quotes."
        })
    }
}

/// Of which runs the run folder is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Folders {
    /// Of none.
    #[default]
    None,
    /// Of those that failed.
    Failed,
    /// Of all.
    All,
}

impl Folders {
    /// Every choice.
    pub const ALL: [Folders; 3] = [Folders::None, Folders::Failed, Folders::All];

    /// The name in a study and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Folders::None => "none",
            Folders::Failed => "failed",
            Folders::All => "all",
        }
    }
}

impl FromStr for Folders {
    type Err = String;
    fn from_str(name: &str) -> Result<Folders, String> {
        let found = Folders::ALL.into_iter().find(|f| f.name() == name);
        found.ok_or_else(|| "expected one of none, failed, all".to_owned())
    }
}

fn worlds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": World::ALL.map(World::name)})
}

fn default_world() -> World {
    World::Virtual
}

fn default_primary() -> String {
    "delay-max".to_owned()
}

fn default_order_seed() -> u64 {
    1
}

/// The JSON Schema (draft 2020-12) of a study file, for editors that complete and check TOML.
pub fn json_schema() -> serde_json::Value {
    crate::scenario::schema::of::<Study>()
}
