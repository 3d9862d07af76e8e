//! What does the collector take on?

use serde::{Deserialize, Serialize};

/// The section `[limits]`: what a client, a network prefix, and all together may ask for. A network
/// prefix is a /24 or a /48 (`crate::privacy::prefix`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of an upload as it is sent.
    pub upload_bytes: u64,
    /// Bytes of an upload when decompressed.
    pub upload_expanded_bytes: u64,
    /// Values in all tables of an upload: what decides how much memory it takes to read.
    pub upload_values: u64,
    /// Rows of one table.
    pub upload_rows: u64,
    /// Seconds an upload may take to arrive.
    pub upload_seconds: u32,
    /// Bytes a second an upload has to make, on average, once ten seconds have gone by.
    pub upload_bytes_per_second: u64,
    /// Uploads that may arrive at once.
    pub uploads_at_once: u32,
    /// Of these, from one prefix.
    pub uploads_at_once_per_prefix: u32,
    /// Uploads per prefix and hour.
    pub uploads_per_hour: u32,
    /// Tokens per prefix and hour.
    pub tokens_per_hour: u32,
    /// Bytes of test traffic per prefix and hour: those its tokens allow together.
    pub traffic_bytes_per_hour: u64,
    /// Bytes a token allows at most.
    pub token_bytes: u64,
    /// Seconds a token's session may last at most.
    pub token_seconds: u32,
    /// Seconds within which a token has to be used first.
    pub token_validity_seconds: u32,
    /// Items of running tests per prefix and hour.
    pub live_items_per_hour: u64,
    /// Watchers of running tests.
    pub watchers: u32,
    /// Of these, from one prefix.
    pub watchers_per_prefix: u32,
    /// Connections.
    pub connections: u32,
    /// Of these, from one prefix (trusted proxies excepted).
    pub connections_per_prefix: u32,
    /// Requests per prefix and second, on average; four times as many at once.
    pub requests_per_second: u32,
    /// Queries, reports and tables that may be worked on at once; others wait for a moment.
    pub queries_at_once: u32,
    /// Exports that may run at once.
    pub exports_at_once: u32,
    /// Runs an export holds at most.
    pub export_runs: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            upload_bytes: 4 << 20,
            // Ten minutes of two multipath connections, sampled at both ends every 100 ms, are 10 MB.
            upload_expanded_bytes: 48 << 20,
            upload_values: 6_000_000,
            upload_rows: 500_000,
            upload_seconds: 120,
            upload_bytes_per_second: 2_048,
            uploads_at_once: 32,
            uploads_at_once_per_prefix: 8,
            uploads_per_hour: 600,
            tokens_per_hour: 600,
            traffic_bytes_per_hour: 64 << 30,
            token_bytes: 4 << 30,
            token_seconds: 900,
            token_validity_seconds: 3_600,
            live_items_per_hour: 2_000_000,
            watchers: 256,
            watchers_per_prefix: 32,
            connections: 2_048,
            connections_per_prefix: 256,
            requests_per_second: 100,
            queries_at_once: 8,
            exports_at_once: 2,
            export_runs: 100_000,
        }
    }
}
