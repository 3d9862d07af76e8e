//! `GET /healthz` and `GET /metrics`: is the collector well, and what has it done?

use super::refusal::Refusal;
use super::state::State;
use crate::api::Problem;
use axum::extract::State as Shared;
use axum::http::{HeaderName, header};
use std::sync::Arc;
use std::time::Duration;

/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the collector and its database answer
#[utoipa::path(
    get, path = "/healthz", tag = "operating", operation_id = "healthz",
    responses(
        (status = 200, description = "Both do", body = String, content_type = "text/plain"),
        (status = 503, description = "The database does not", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn healthz(Shared(state): Shared<Arc<State>>) -> Result<&'static str, Refusal> {
    match tokio::time::timeout(PATIENCE, state.store.ping()).await {
        Ok(answer) => answer?,
        Err(_) => {
            return Err(Refusal::unavailable(
                "the database does not answer in time",
                10,
            ));
        }
    }
    Ok("ok\n")
}

/// Counters in Prometheus' text format
#[utoipa::path(
    get, path = "/metrics", tag = "operating", operation_id = "metrics",
    responses((status = 200, description = "Counters", body = String, content_type = "text/plain"))
)]
pub async fn metrics(
    Shared(state): Shared<Arc<State>>,
) -> ([(HeaderName, &'static str); 1], String) {
    let count = |n: usize| n as u64;
    let text = state.observations.text(&[
        (
            "walkabout_connections",
            "Connections now.",
            count(state.connections.count()),
        ),
        (
            "walkabout_uploads_arriving",
            "Uploads that arrive now.",
            count(state.gates.uploads.count()),
        ),
        (
            "walkabout_live_watchers",
            "Watchers of running tests now.",
            count(state.hub.watchers()),
        ),
    ]);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
