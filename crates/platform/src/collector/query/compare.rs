//! `GET /api/v1/compare`: how the protocols compare over what is stored.

use super::filter;
use crate::api::{Comparison, Filter, Problem};
use crate::collector::refusal::Refusal;
use crate::collector::state::State;
use axum::Json;
use axum::extract::{Query, State as Shared};
use std::sync::Arc;

/// How the protocols compare
#[utoipa::path(
    get, path = "/compare", tag = "results", operation_id = "compare",
    params(Filter),
    responses(
        (status = 200, description = "Distributions and ratios", body = Comparison),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn compare(
    Shared(state): Shared<Arc<State>>,
    Query(filter): Query<Filter>,
) -> Result<Json<Comparison>, Refusal> {
    filter::check(&filter)?;
    let _turn = state.gates.query().await?;
    Ok(Json(state.store.compare(&filter).await?))
}
