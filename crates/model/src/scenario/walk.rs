//! How far from the access point the client is, and the radio model's parameters.

use crate::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A walk: waypoints, and the propagation model that turns distance into signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// Where the client is when; the distance is interpolated between waypoints.
    pub waypoints: Vec<Waypoint>,
    /// Transmit power minus fixed losses at one metre, in dBm.
    #[serde(default = "default_reference")]
    pub signal_at_1m_dbm: f64,
    /// Path-loss exponent: 2 in free space, 3 to 4 among walls and trees.
    #[serde(default = "default_exponent")]
    pub path_loss_exponent: f64,
    /// Standard deviation of the slow (shadow) fading, in dB.
    #[serde(default = "default_shadowing")]
    pub shadowing_db: f64,
    /// Distance over which the slow fading decorrelates, in metres.
    #[serde(default = "default_correlation")]
    pub correlation_m: f64,
}

/// A moment and a distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waypoint {
    /// When.
    pub at: Span,
    /// Metres from the access point; at least 1.
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
