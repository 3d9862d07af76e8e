//! How far from the access point the client is, and the radio model's parameters.

use crate::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A walk: waypoints, and the propagation model that turns distance into signal. The signal in
/// turn sets rate and loss of both links of the path: each link's `rate` is what the radio
/// delivers at its best, and is scaled down from there.
///
/// Without fading the signal is
/// `signal_at_1m_dbm - 10 * path_loss_exponent * log10(distance_m)`: the log-distance model
/// (Rappaport, "Wireless Communications", section 4.9.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// Where the client is when, in order of time; the distance is interpolated between waypoints,
    /// and stays as it is before the first and after the last.
    #[schemars(length(min = 1))]
    pub waypoints: Vec<Waypoint>,
    /// Signal at one metre: transmit power minus fixed losses, in dBm.
    #[serde(default = "default_reference")]
    #[schemars(range(min = -100, max = 30))]
    pub signal_at_1m_dbm: f64,
    /// Path-loss exponent: 2 in free space, 3 to 4 among walls and trees.
    #[serde(default = "default_exponent")]
    #[schemars(range(min = 1, max = 10))]
    pub path_loss_exponent: f64,
    /// Standard deviation of the slow (shadow) fading, in dB.
    #[serde(default = "default_shadowing")]
    #[schemars(range(min = 0, max = 30))]
    pub shadowing_db: f64,
    /// Distance over which the slow fading decorrelates, in metres.
    #[serde(default = "default_correlation")]
    #[schemars(range(min = 0.1, max = 10_000))]
    pub correlation_m: f64,
}

/// A moment and a distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waypoint {
    /// When.
    pub at: Span,
    /// Metres from the access point; at least 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub distance_m: f64,
}

fn default_reference() -> f64 {
    -30.0
}
fn default_exponent() -> f64 {
    3.0
}
fn default_shadowing() -> f64 {
    3.0
}
fn default_correlation() -> f64 {
    10.0
}
