//! `GET /api/v1/runs`, `GET` and `DELETE /api/v1/runs/{id}`: the explorer's rows, and their end.

use super::filter;
use crate::api::{Filter, Problem, RunPage, RunSummary};
use crate::collector::refusal::Refusal;
use crate::collector::state::State;
use crate::collector::upload::{run_id, secret};
use crate::store::Deletion;
use axum::Json;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use std::sync::Arc;

/// The runs under a filter, the newest first
#[utoipa::path(
    get, path = "/runs", tag = "runs", operation_id = "list_runs",
    params(Filter),
    responses(
        (status = 200, description = "A page of runs", body = RunPage),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn list(
    Shared(state): Shared<Arc<State>>,
    Query(filter): Query<Filter>,
) -> Result<Json<RunPage>, Refusal> {
    filter::check(&filter)?;
    let _turn = state.gates.query().await?;
    Ok(Json(state.store.list(&filter).await?))
}

/// One run's row
#[utoipa::path(
    get, path = "/runs/{id}", tag = "runs", operation_id = "get_run",
    params(("id" = String, Path, description = "The run: 32 hexadecimal digits", pattern = "^[0-9a-f]{32}$")),
    responses(
        (status = 200, description = "The run", body = RunSummary),
        (status = 404, description = "There is none", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn get(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
) -> Result<Json<RunSummary>, Refusal> {
    Ok(Json(find(&state, id).await?.0))
}

/// The run called `id` and its document.
pub async fn find(state: &State, id: String) -> Result<(RunSummary, Vec<u8>), Refusal> {
    let id = run_id(id)?;
    let found = state.store.get(&id).await?;
    found.ok_or_else(|| Refusal::not_found("there is no such run"))
}

/// Delete a run, for who knows its secret
#[utoipa::path(
    delete, path = "/runs/{id}", tag = "runs", operation_id = "delete_run",
    params(
        ("id" = String, Path, description = "The run: 32 hexadecimal digits", pattern = "^[0-9a-f]{32}$"),
        ("Walkabout-Secret" = String, Header, description = "The secret the run was uploaded with",
            pattern = "^[0-9a-fA-F]{64}$"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 403, description = "The secret is another", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn delete(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Refusal> {
    let id = run_id(id)?;
    let secret_sha256 = secret(&headers)?;
    match state.store.delete(&id, secret_sha256).await? {
        Deletion::Deleted => Ok(StatusCode::NO_CONTENT),
        Deletion::NotFound => Err(Refusal::not_found("there is no such run")),
        Deletion::Refused => Err(Refusal::no_right("this is not the run's secret")),
    }
}
