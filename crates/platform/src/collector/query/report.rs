//! `GET /api/v1/runs/{id}/report`: the data of the report's page, of one run or of its whole test.

use super::runs::find;
use crate::api::{Filter, Problem};
use crate::collector::refusal::Refusal;
use crate::collector::state::State;
use crate::collector::upload::{folder_of, read_document};
use analysis::report::ReportData;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderName, header};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Runs of a report at most.
const MOST_RUNS: u32 = 32;
/// Bytes of their documents, compressed: what is read at once is bounded. Runs beyond are left out.
const MOST_BYTES: usize = 16 << 20;

/// Of which runs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The run's test: the report is of all its runs then, 32 at most.
    #[param(pattern = "^[0-9a-f]{32}$")]
    test: Option<String>,
}

/// The data of the report's page (`walkabout.report/1`)
#[utoipa::path(
    get, path = "/runs/{id}/report", tag = "runs", operation_id = "report",
    params(
        ("id" = String, Path, description = "The run: 32 hexadecimal digits", pattern = "^[0-9a-f]{32}$"),
        Scope,
    ),
    responses(
        (status = 200, description = "The report's data", body = Object),
        (status = 404, description = "There is no such run, or not in this test", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn report(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    Query(scope): Query<Scope>,
) -> Result<([(HeaderName, &'static str); 1], Vec<u8>), Refusal> {
    let _turn = state.gates.query().await?;
    let (summary, document) = find(&state, id).await?;
    let mut documents = vec![(summary.id, document)];
    if let Some(test) = scope.test {
        if test != summary.test {
            return Err(Refusal::not_found("the run belongs to another test"));
        }
        let filter = Filter {
            test: Some(test),
            invalid: Some(true),
            limit: Some(MOST_RUNS),
            ..Filter::default()
        };
        let page = state.store.list(&filter).await?;
        let others = page.runs.into_iter().filter(|run| run.id != documents[0].0);
        let others: Vec<String> = others
            .map(|run| run.id)
            .take(MOST_RUNS as usize - 1)
            .collect();
        for id in others {
            // One may have been deleted since it was listed.
            let Some((summary, document)) = state.store.get(&id).await? else {
                continue;
            };
            let bytes: usize = documents.iter().map(|(_, document)| document.len()).sum();
            if bytes + document.len() > MOST_BYTES {
                break;
            }
            documents.push((summary.id, document));
        }
    }
    let turn = state.gates.unpack().await?;
    let json = tokio::task::spawn_blocking(move || {
        let json = draw(&documents);
        drop(turn);
        json
    });
    let json = json.await.map_err(|_| Refusal::internal())??;
    Ok(([(header::CONTENT_TYPE, "application/json")], json))
}

fn draw(documents: &[(String, Vec<u8>)]) -> Result<Vec<u8>, Refusal> {
    let runs = documents.iter().map(|(id, document)| {
        let upload = read_document(document)?;
        Ok(folder_of(id, upload))
    });
    let runs = runs.collect::<Result<Vec<_>, Refusal>>()?;
    serde_json::to_vec(&ReportData::of(&runs)).map_err(|error| {
        tracing::error!(%error, "a report could not be written");
        Refusal::internal()
    })
}
