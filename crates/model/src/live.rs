//! What a manifest says of a run on real interfaces: which test it belongs to, what was agreed to,
//! which networks it met, and how it ended.

use crate::columns::Columns;
use crate::family::Family;
use crate::manifest::Stack;
use crate::path::{Name, PathKind};
use crate::record::{Event, Message, Sample};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The live part of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveFacts {
    /// The test the run belongs to: 32 hexadecimal digits, the same for all its runs. Runs of one test
    /// form a block: they are compared with each other.
    pub test: String,
    /// The experiment's name, as the collector or the command line gave it.
    pub experiment: String,
    /// How the runs of the test relate to each other.
    pub mode: Mode,
    /// The run's place in the order of the test, from 0.
    pub position: u32,
    /// The test server's id.
    pub server: String,
    /// The version of the internet protocol towards the server.
    pub family: Family,
    /// The server's port.
    pub port: u16,
    /// What was agreed to.
    pub consent: Consent,
    /// The networks at the start, in the order of the scenario's paths.
    pub networks: Vec<Network>,
    /// What reached the server, where it was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reachability: Vec<Reachability>,
    /// Pitfalls of this network that explain what is seen, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traps: Vec<String>,
    /// Why the run does not count, when it does not (stable mode: the interfaces changed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Why the run ended; absent while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// How the server's clock relates to the run's; absent when its records could not be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_clock: Option<ServerClock>,
    /// Where it was taken, to a tenth of a degree (about 10 km); only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<CoarseLocation>,
    /// What the host itself measured of its energy during the run, by source; empty where it exposes
    /// nothing. Runs side by side share a host: each has the energy of all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured_energy: Vec<MeasuredEnergy>,
}

/// What one source of the host measured: of the whole host, or of its processors, not of a radio alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredEnergy {
    /// Who measured.
    pub source: EnergySource,
    /// How much, in J.
    pub measured_j: f64,
}

/// Who measured an energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnergySource {
    /// The battery's gauge, while it discharged.
    Battery,
    /// RAPL's counter of the whole platform.
    RaplPlatform,
    /// RAPL's counters of the processor packages, together.
    RaplPackages,
}

/// How the runs of a test relate to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One after the other, in random order, while nothing moves.
    Stable,
    /// All at once, on a walk.
    Mobile,
}

/// What was agreed to, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consent {
    /// The version of the text.
    pub version: String,
    /// When, RFC 3339 in UTC.
    pub agreed_at: String,
    /// Whether the result may be published beyond the collector's own pages.
    pub publish: bool,
}

/// A network a path runs over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The path.
    pub path: Name,
    /// What carries it.
    pub kind: PathKind,
    /// The network's name as a keyed hash (see [`crate::live`]): 16 hexadecimal digits. Never the SSID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_hash: Option<String>,
    /// Received signal at the start, where the interface tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_dbm: Option<f64>,
    /// Which versions of the internet protocol it has an address of.
    pub families: Vec<Family>,
}

/// Whether one transport reached the server by one family and port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reachability {
    /// The transport's name.
    pub transport: String,
    /// Over which version of the internet protocol.
    pub family: Family,
    /// At which port.
    pub port: u16,
    /// What came of it.
    pub outcome: Outcome,
    /// How long the handshake took, when it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_us: Option<u64>,
}

/// What came of an attempt to reach a server (MultipathTester, section III-A: timeouts and missing
/// routes are the failures of QUIC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The handshake was completed.
    Reached,
    /// The handshake was completed, but Multipath TCP or multipath QUIC was not agreed on: the server
    /// or something on the way does not speak it.
    FellBack,
    /// No answer in time.
    HandshakeTimeout,
    /// The host has no route to the server (`ENETUNREACH`, `EHOSTUNREACH`), or no address of the family.
    NoRoute,
    /// The server's host refused it (a reset, or ICMP port unreachable).
    Refused,
    /// The server has no address of this family.
    NotOffered,
    /// Anything else: the certificate is not the pinned one, a protocol error.
    Failed,
}

/// Why a live run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its duration was over, or its pattern came to its own end.
    Done,
    /// Wi-Fi was lost (mobile mode).
    WifiLost,
    /// Wi-Fi went to a network of another name (mobile mode).
    WifiChanged,
    /// The available interfaces changed (stable mode): the run is invalid.
    InterfacesChanged,
    /// The user stopped it.
    Stopped,
    /// An error; the manifest's `error` says which.
    Failed,
}

/// How the server's clock relates to the run's: `run time = session time + offset_us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerClock {
    /// What is added to the server's times.
    pub offset_us: i64,
    /// The offset's bound: at most half the round trip of the exchange it was measured by.
    pub uncertainty_us: u64,
}

/// Where, to a tenth of a degree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoarseLocation {
    /// Degrees north.
    pub latitude_deg: f64,
    /// Degrees east.
    pub longitude_deg: f64,
}

/// What the server saw of a session, fetched by the client when the run is over. Times count from the
/// moment the server had read the session's first hello.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecords {
    /// The server's id.
    pub server: String,
    /// The server program's version.
    pub walkabout_version: String,
    /// The stack that carried the session at the server.
    pub stack: Stack,
    /// The session's clock when this was written.
    pub now_us: u64,
    /// The messages the server sent.
    pub messages: Columns<Message>,
    /// The state of its connections and paths; empty where the stack tells nothing. The server does
    /// not know the client's names for its paths: they are `path-1`, `path-2` ... in the order in which
    /// their (public) addresses were first seen, and the client replaces them by its own.
    pub samples: Columns<Sample>,
    /// What happened.
    pub events: Vec<Event>,
    /// Why the server ended the session early (a budget, a drain, a slow client); absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
    /// The client's paths as the server saw them, in the order of their names. For the client alone: it
    /// knows its own addresses, and nobody else is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<SeenPath>,
    /// Why there was no session, where the server's clock speaks against the token; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<TokenRefused>,
}

/// A client's path as a server sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPath {
    /// What it is called in the records.
    pub name: Name,
    /// Where its packets came from.
    pub address: IpAddr,
    /// Whether more than one of the client's paths came from there at the same time: those behind one
    /// address translation.
    #[serde(default)]
    pub shared: bool,
}

/// A token that is good but for the time: the clocks of who issued it and of the server differ, or it came
/// too late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRefused {
    /// The server's words.
    pub why: String,
    /// The server's clock at that moment, seconds since 1970 in UTC.
    pub server_s: u64,
}
