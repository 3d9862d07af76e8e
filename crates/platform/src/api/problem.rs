//! How does the collector say what went wrong? As RFC 9457 does: `application/problem+json`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every answer that is not a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A word for programs.
    #[serde(rename = "type")]
    pub kind: ProblemKind,
    /// What is wrong, where, and what to do, for people.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// When to try again, where that helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The request is not one (400, 422).
    Invalid,
    /// The body is too large, or grows too large when decompressed (413).
    TooLarge,
    /// The encoding is none the collector reads (415).
    UnknownEncoding,
    /// The consent is of another version (409): fetch the metadata and ask again.
    ConsentOutdated,
    /// Another run has this id (409).
    Conflict,
    /// The token or secret is missing, forged or expired (401, 403).
    Refused,
    /// There is no such thing (404).
    NotFound,
    /// Too much from this network prefix (429).
    TooMany,
    /// The store does not answer or is full (503): nothing was stored; try again later.
    Unavailable,
    /// A bug (500).
    Internal,
}
