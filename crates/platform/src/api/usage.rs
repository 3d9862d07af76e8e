//! Who uses the platform, how much?

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /api/v1/usage`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Runs stored.
    pub runs: u64,
    /// Tests they belong to.
    pub tests: u64,
    /// Runs that do not count.
    pub invalid: u64,
    /// Runs per day of the last 30, by the collector's clock in UTC, the oldest first: `2026-11-21`.
    pub per_day: Vec<Count>,
    /// Runs per client platform.
    pub platforms: Vec<Count>,
    /// Runs per kinds of network: `wifi+cellular`.
    pub networks: Vec<Count>,
    /// Runs per test server.
    pub servers: Vec<Count>,
    /// Runs per transport.
    pub transports: Vec<Count>,
}

/// A number of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Count {
    /// Of what.
    pub of: String,
    /// How many.
    pub runs: u64,
}
