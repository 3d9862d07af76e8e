//! `GET /api/v1/live` and `GET /api/v1/live/{test}/events`: which tests run, and what is seen of one.

use super::hub::{self, News};
use crate::api::{LiveItem, Problem, RunningTest};
use crate::collector::gate::{Full, Inside};
use crate::collector::peer::Prefix;
use crate::collector::refusal::Refusal;
use crate::collector::state::{State, now_s};
use crate::collector::upload::run_id;
use crate::store::{Numbered, StoreError};
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// Events in memory for a watcher that does not read them yet.
const WAITING: usize = 64;
/// How long a watcher may read nothing before it is dropped; it comes back with `Last-Event-ID`.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often something is said when there is nothing to say, so that proxies and phones stay connected.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The tests that run now
#[utoipa::path(
    get, path = "/live", tag = "live", operation_id = "list_live",
    responses(
        (status = 200, description = "Heard of within the last 30 s, the newest first", body = Vec<RunningTest>),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn list(Shared(state): Shared<Arc<State>>) -> Result<Json<Vec<RunningTest>>, Refusal> {
    Ok(Json(state.store.running(now_s()).await?))
}

/// What is seen of a running test, as server-sent events
///
/// Each event's data is a `LiveItem` as JSON, its id the sequence number; an event `over` ends the
/// stream. `Last-Event-ID` resumes after an id.
#[utoipa::path(
    get, path = "/live/{test}/events", tag = "live", operation_id = "watch_live",
    params(
        ("test" = String, Path, description = "The test: 32 hexadecimal digits", pattern = "^[0-9a-f]{32}$"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was received"),
    ),
    responses(
        (status = 200, description = "A stream of events", body = LiveItem, content_type = "text/event-stream"),
        (status = 204, description = "The test is over, and nothing came after `Last-Event-ID`"),
        (status = 404, description = "Nothing is known of such a test", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn events(
    Shared(state): Shared<Arc<State>>,
    Extension(Prefix(prefix)): Extension<Prefix>,
    Path(test): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let test = run_id(test)?;
    let last = match headers
        .get("last-event-id")
        .map(|id| id.to_str().unwrap_or("?"))
    {
        None | Some("") => 0,
        Some(id) => {
            let id = id.parse::<i64>().ok().filter(|id| *id >= 0);
            id.ok_or_else(|| Refusal::malformed("Last-Event-ID: a whole number was expected"))?
        }
    };
    let place = state.hub.enter(&prefix).map_err(|full| match full {
        Full::Prefix => Refusal::too_many("too many watchers from your network prefix", 30),
        Full::All => Refusal::unavailable("too many watchers: try again later", 30),
    })?;
    let first = state.hub.after(&test, last).await?;
    if first.is_empty() && !state.hub.is_running(&test).await? {
        let title = "nothing is known of such a running test";
        return match last {
            0 => Err(Refusal::not_found(title)),
            // What makes a browser come back no more.
            _ => Ok(StatusCode::NO_CONTENT.into_response()),
        };
    }
    let (sender, receiver) = mpsc::channel(WAITING);
    let watcher = Watcher {
        state,
        test,
        last,
        sender,
        _place: place,
    };
    tokio::spawn(watcher.run(first));
    let heartbeat = KeepAlive::new().interval(HEARTBEAT);
    let events = Sse::new(ReceiverStream::new(receiver)).keep_alive(heartbeat);
    Ok(events.into_response())
}

struct Watcher {
    state: Arc<State>,
    test: String,
    /// The last item that was passed on.
    last: i64,
    sender: mpsc::Sender<Result<Event, Infallible>>,
    _place: Inside,
}

/// Why a watcher is let go.
enum End {
    /// The test is over.
    Over,
    /// It is gone, too slow, or the collector stops; it may come back.
    Gone,
}

impl From<StoreError> for End {
    fn from(_: StoreError) -> End {
        End::Gone
    }
}

impl Watcher {
    async fn run(mut self, first: Vec<Numbered>) {
        let mut stopping = self.state.stopping.subscribe();
        let stopped = async {
            // An error means that the state is gone, and the collector with it.
            let _ = stopping.wait_for(|stop| *stop).await;
        };
        let (sender, gone) = (self.sender.clone(), self.sender.clone());
        let end = tokio::select! {
            end = self.follow(first) => end,
            () = stopped => End::Gone,
            () = gone.closed() => End::Gone,
        };
        if let End::Over = end {
            let over = Event::default().event("over").data("{}");
            let _ = sender.send_timeout(Ok(over), PATIENCE).await;
        }
    }

    async fn follow(&mut self, first: Vec<Numbered>) -> End {
        match self.try_follow(first).await {
            Ok(end) | Err(end) => end,
        }
    }

    async fn try_follow(&mut self, first: Vec<Numbered>) -> Result<End, End> {
        let mut items = first;
        while !items.is_empty() {
            for item in &items {
                self.pass_on(item).await?;
            }
            items = self.state.hub.after(&self.test, self.last).await?;
        }
        if !self.state.hub.is_running(&self.test).await? {
            return Ok(End::Over);
        }
        let mut news = self.state.hub.follow(&self.test, self.last);
        // What came between the last look and the call.
        loop {
            let items = self.state.hub.after(&self.test, self.last).await?;
            if items.is_empty() {
                break;
            }
            for item in &items {
                self.pass_on(item).await?;
            }
        }
        loop {
            match news.recv().await {
                Ok(News::Item(item)) if item.sequence <= self.last => {}
                Ok(News::Item(item)) => self.pass_on(&item).await?,
                Ok(News::Over) => return Ok(End::Over),
                Err(RecvError::Lagged(_) | RecvError::Closed) => return Err(End::Gone),
            }
        }
    }

    async fn pass_on(&mut self, item: &Numbered) -> Result<(), End> {
        let event = Event::default()
            .id(item.sequence.to_string())
            .data(hub::json(&item.item));
        let sent = self.sender.send_timeout(Ok(event), PATIENCE).await;
        self.last = item.sequence;
        sent.map_err(|_| End::Gone)
    }
}
