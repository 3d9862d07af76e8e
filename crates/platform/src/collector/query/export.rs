//! `GET /api/v1/export/runs.{format}`: the runs under a filter as one file, streamed page by page. Only
//! runs whose uploader agreed to publication are in it: it is what leaves the collector's own pages.

use super::filter;
use crate::api::{ExportFormat, Filter, Problem};
use crate::collector::gate::lock;
use crate::collector::refusal::Refusal;
use crate::collector::sheet::{self, Writer, file_name, media_type};
use crate::collector::state::State;
use axum::body::Body;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderName, header};
use bytes::Bytes;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// Runs read from the store at once.
const PAGE: u32 = 200;
/// Pieces that wait for a slow reader.
const WAITING: usize = 4;
/// How long a reader may take for a piece.
const PATIENCE: Duration = Duration::from_secs(30);

/// The published runs under a filter, as a file
///
/// `limit` and `after` do not apply; `publish` is always true. An export ends after a number of runs
/// (the collector's limit `export_runs`); go on with `to` set to the last run's `stored_at`.
#[utoipa::path(
    get, path = "/export/{file}", tag = "results", operation_id = "export_runs",
    params(
        ("file" = String, Path, description = "The format", pattern = "^runs\\.(parquet|csv|json)$"),
        Filter,
    ),
    responses(
        (status = 200, description = "The file", content(
            (String = "text/csv"), (String = "application/x-ndjson"), (Vec<u8> = "application/vnd.apache.parquet"))),
        (status = 404, description = "There is no such format", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn export(
    Shared(state): Shared<Arc<State>>,
    Path(file): Path<String>,
    Query(filter): Query<Filter>,
) -> Result<([(HeaderName, String); 2], Body), Refusal> {
    let Some(("runs", format)) = file_name(&file) else {
        let title = "there is no such file: runs.parquet, runs.csv or runs.json";
        return Err(Refusal::not_found(title));
    };
    filter::check(&filter)?;
    let turn = state.gates.export()?;
    let filter = Filter {
        publish: Some(true),
        limit: Some(PAGE),
        after: None,
        ..filter
    };
    // The first page tells whether the store answers, while there is still a status to say so.
    let first = state.store.list(&filter).await?;
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let result = stream(&state, filter, first, format, &sender).await;
        if let Err(error) = result {
            tracing::warn!(%error, "an export ended early");
            // The connection breaks: the reader does not take a part for the whole.
            let _ = sender.send_timeout(Err(error), PATIENCE).await;
        }
        drop(turn);
    });
    let headers = [
        (header::CONTENT_TYPE, media_type(format).to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{file}\""),
        ),
    ];
    Ok((headers, Body::from_stream(ReceiverStream::new(receiver))))
}

/// What a writer has written and nobody has taken yet.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn take(&self) -> Bytes {
        std::mem::take(&mut *lock(&self.0)).into()
    }
}

type Pieces = mpsc::Sender<Result<Bytes, io::Error>>;

async fn stream(
    state: &State,
    filter: Filter,
    first: crate::api::RunPage,
    format: ExportFormat,
    pieces: &Pieces,
) -> io::Result<()> {
    let written = Written::default();
    let mut writer = Writer::new(format, written.clone());
    let mut left = usize::try_from(state.limits.export_runs).unwrap_or(usize::MAX);
    let mut page = first;
    loop {
        page.runs.truncate(left);
        left -= page.runs.len();
        writer.write(&sheet::runs(&page.runs))?;
        pass_on(&written, pieces).await?;
        let Some(after) = page.next.filter(|_| left > 0) else {
            break;
        };
        let filter = Filter {
            after: Some(after),
            ..filter.clone()
        };
        page = state.store.list(&filter).await.map_err(io::Error::other)?;
    }
    writer.finish()?;
    pass_on(&written, pieces).await
}

async fn pass_on(written: &Written, pieces: &Pieces) -> io::Result<()> {
    let bytes = written.take();
    if bytes.is_empty() {
        return Ok(());
    }
    let sent = pieces.send_timeout(Ok(bytes), PATIENCE).await;
    sent.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the reader is gone or too slow"))
}
