//! How does a client come by the right to use a test server?

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /api/v1/tokens`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The test server's id.
    pub server: String,
    /// The test: 32 hexadecimal digits the client drew.
    pub test: String,
    /// The version of the consent that was given; an older one is refused.
    pub consent_version: String,
    /// Bytes the session needs, both directions together.
    pub bytes: u64,
    /// Seconds the session needs.
    pub seconds: u32,
    /// How many tokens, one per run: 1 to 64.
    pub count: u32,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenGranted {
    /// As many as asked for; see [`crate::token`].
    pub tokens: Vec<String>,
    /// When they expire, RFC 3339 in UTC.
    pub expires_at: String,
}
