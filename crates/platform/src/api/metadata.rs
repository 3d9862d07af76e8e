//! What does a client need to know before it measures? Test servers, experiments, what it has to agree to.

use model::live::Mode;
use model::scenario::Traffic;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use utoipa::ToSchema;

/// `GET /api/v1/metadata`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Metadata {
    /// The collector's name, for people.
    pub name: String,
    /// The collector program's version.
    pub walkabout_version: String,
    /// What has to be agreed to before anything is measured.
    pub consent: ConsentText,
    /// The test servers.
    pub servers: Vec<Server>,
    /// The experiments to choose from; the first is the default of its mode.
    pub experiments: Vec<Experiment>,
    /// What the collector accepts.
    pub limits: Limits,
    /// The Ed25519 key that tokens are signed with: 64 hexadecimal digits.
    pub token_key: String,
    /// The collector's time, RFC 3339 in UTC: a client whose clock is off says so.
    pub now: String,
}

/// What has to be agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsentText {
    /// Changes whenever the text does: its SHA-256, the first 16 hexadecimal digits.
    pub version: String,
    /// The text, plain, with line breaks.
    pub text: String,
    /// How many days a result is kept.
    pub retention_days: u32,
}

/// A test server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Server {
    /// What tokens are bound to: letters, digits, `-`.
    pub id: String,
    /// Where it is, for people.
    pub place: String,
    /// Its addresses, of both families where it has both.
    #[schema(value_type = Vec<String>)]
    pub addresses: Vec<IpAddr>,
    /// Its ports, each for TCP and UDP; the first is the default.
    pub ports: Vec<u16>,
    /// SHA-256 of its certificate (DER): 64 hexadecimal digits. The client accepts no other.
    pub certificate_sha256: String,
}

/// What a test consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Experiment {
    /// What it is called on the command line.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// How its runs relate to each other.
    #[schema(value_type = String, example = "stable")]
    pub mode: Mode,
    /// The transports, by name.
    pub transports: Vec<String>,
    /// The path managers the multipath transports run under, by name.
    pub policies: Vec<String>,
    /// The patterns; each transport runs each (stable), or the first (mobile).
    pub traffic: Vec<ExperimentTraffic>,
}

/// A pattern of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentTraffic {
    /// The pattern and its parameters, as in a scenario.
    #[schema(value_type = Object)]
    pub traffic: Traffic,
    /// How long it lasts at most.
    pub seconds: u32,
}

/// What the collector accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// Bytes of an upload as it is sent.
    pub upload_bytes: u64,
    /// Bytes of an upload when decompressed.
    pub upload_expanded_bytes: u64,
    /// Uploads per network prefix and hour.
    pub uploads_per_hour: u32,
    /// Tokens per network prefix and hour.
    pub tokens_per_hour: u32,
    /// Bytes a token allows at most, both directions together.
    pub token_bytes: u64,
    /// Seconds a session may last at most.
    pub token_seconds: u32,
}
