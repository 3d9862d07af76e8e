//! `GET /api/v1/metadata`: what a client needs to know before it measures.

use super::state::{State, now_s, rfc3339};
use crate::api::Metadata;
use axum::Json;
use axum::extract::State as Shared;
use std::sync::Arc;

/// What a client needs to know before it measures
#[utoipa::path(
    get, path = "/metadata", tag = "measuring", operation_id = "metadata",
    responses((status = 200, description = "Servers, experiments, the text to agree to", body = Metadata))
)]
pub async fn get(Shared(state): Shared<Arc<State>>) -> Json<Metadata> {
    Json(Metadata {
        name: state.name.clone(),
        walkabout_version: env!("CARGO_PKG_VERSION").to_owned(),
        consent: state.consent.clone(),
        servers: state.servers.clone(),
        experiments: state.experiments.clone(),
        limits: state.announced_limits(),
        token_key: state.key.verifying_key().to_string(),
        now: rfc3339(now_s()),
    })
}
