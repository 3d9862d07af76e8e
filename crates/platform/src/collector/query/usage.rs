//! `GET /api/v1/usage`: who uses the platform, how much.

use crate::api::{Problem, Usage};
use crate::collector::refusal::Refusal;
use crate::collector::state::State;
use axum::Json;
use axum::extract::State as Shared;
use std::sync::Arc;

/// Runs, platforms, networks, servers
#[utoipa::path(
    get, path = "/usage", tag = "results", operation_id = "usage",
    responses(
        (status = 200, description = "Counts", body = Usage),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn usage(Shared(state): Shared<Arc<State>>) -> Result<Json<Usage>, Refusal> {
    let _turn = state.gates.query().await?;
    Ok(Json(state.store.usage().await?))
}
