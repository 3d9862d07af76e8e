//! How do the protocols compare over what is stored?

use super::Arm;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /api/v1/compare` (with the explorer's filter; invalid runs never count): the arms' longest
/// application delays, ratios within tests, causes and durations of handovers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Comparison {
    /// The arms, by transport and policy.
    pub arms: Vec<ComparedArm>,
    /// Pairs of arms that met in the same tests.
    pub pairs: Vec<PairedRatio>,
    /// How the figures come about, in words.
    pub notes: Vec<String>,
}

/// One arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedArm {
    /// Which.
    pub arm: Arm,
    /// Runs that count.
    pub runs: u64,
    /// Runs whose longest delay is only a lower bound: they stalled to their end.
    pub stalled: u64,
    /// The CDF of the longest delay of messages from the client.
    pub delay_max_up: Vec<CdfPoint>,
    /// The CDF of the longest delay of messages from the server.
    pub delay_max_down: Vec<CdfPoint>,
    /// The CDF of the handover's duration (first cellular data to last Wi-Fi packet sent; negative when
    /// abrupt).
    pub handover_duration: Vec<CdfPoint>,
    /// Why cellular was first used.
    pub causes: Vec<CauseCount>,
}

/// A point of a CDF.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CdfPoint {
    /// A duration.
    pub seconds: f64,
    /// The share of the arm's runs known to be at most this, 0 to 1; stalled runs are in the denominator.
    pub share: f64,
}

/// How often cellular was first used for a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CauseCount {
    /// The metric `cellular-cause`'s word.
    pub cause: String,
    /// Runs.
    pub runs: u64,
}

/// Two arms in the same tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairedRatio {
    /// The numerator.
    pub a: Arm,
    /// The denominator.
    pub b: Arm,
    /// Tests in which both count and neither stalled to its end.
    pub tests: u64,
    /// Tests in which one or both stalled: they have no ratio.
    pub stalled: u64,
    /// Median of the ratios of the longest delay, a to b.
    pub median: Option<f64>,
    /// The rank interval of the median at 95 %.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
}
