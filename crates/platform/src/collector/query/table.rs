//! `GET /api/v1/runs/{id}/{table}.{format}`: a run's tables as files.

use super::runs::find;
use crate::api::{ExportFormat, Problem, Upload};
use crate::collector::refusal::Refusal;
use crate::collector::sheet::{Sheet, Writer, file_name, media_type};
use crate::collector::state::State;
use crate::collector::upload::read_document;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderName, header};
use std::sync::Arc;

/// One of a run's tables: messages, samples, links or events
#[utoipa::path(
    get, path = "/runs/{id}/{file}", tag = "runs", operation_id = "table",
    params(
        ("id" = String, Path, description = "The run: 32 hexadecimal digits", pattern = "^[0-9a-f]{32}$"),
        ("file" = String, Path, description = "The table and the format",
            pattern = "^(messages|samples|links|events)\\.(parquet|csv|json)$"),
    ),
    responses(
        (status = 200, description = "The file", content(
            (String = "text/csv"), (String = "application/x-ndjson"), (Vec<u8> = "application/vnd.apache.parquet"))),
        (status = 404, description = "There is no such run or table", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn table(
    Shared(state): Shared<Arc<State>>,
    Path((id, file)): Path<(String, String)>,
) -> Result<([(HeaderName, String); 2], Vec<u8>), Refusal> {
    let Some((table, format)) = file_name(&file).and_then(|(n, f)| Some((Table::named(n)?, f)))
    else {
        let title = "there is no such file: messages, samples, links or events, as .parquet, .csv \
                     or .json";
        return Err(Refusal::not_found(title));
    };
    let _turn = state.gates.query().await?;
    let (summary, document) = find(&state, id).await?;
    let turn = state.gates.unpack().await?;
    let bytes = tokio::task::spawn_blocking(move || {
        let bytes = write(&document, table, format);
        drop(turn);
        bytes
    });
    let bytes = bytes.await.map_err(|_| Refusal::internal())??;
    // The id was checked and the file's name is one of twelve: nothing to quote.
    let disposition = format!("attachment; filename=\"{}-{file}\"", summary.id);
    let headers = [
        (header::CONTENT_TYPE, media_type(format).to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, bytes))
}

/// The tables of a run.
#[derive(Clone, Copy)]
enum Table {
    Messages,
    Samples,
    Links,
    Events,
}

impl Table {
    fn named(name: &str) -> Option<Table> {
        Some(match name {
            "messages" => Table::Messages,
            "samples" => Table::Samples,
            "links" => Table::Links,
            "events" => Table::Events,
            _ => return None,
        })
    }

    fn sheet(self, upload: &Upload) -> Sheet {
        match self {
            Table::Messages => Sheet::of(&upload.messages.0),
            Table::Samples => Sheet::of(&upload.samples.0),
            Table::Links => Sheet::of(&upload.links.0),
            Table::Events => Sheet::events(&upload.events),
        }
    }
}

fn write(document: &[u8], table: Table, format: ExportFormat) -> Result<Vec<u8>, Refusal> {
    let sheet = table.sheet(&read_document(document)?);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(format, &mut bytes);
    let written = writer.write(&sheet).and_then(|()| writer.finish());
    written.map_err(|error| {
        tracing::error!(%error, "a table could not be written");
        Refusal::internal()
    })?;
    Ok(bytes)
}
