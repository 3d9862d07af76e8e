//! When is a result deleted? When the time its uploader agreed to is over, by the collector's clock.

use super::state::{State, now_s};
use std::sync::Arc;
use std::time::Duration;

/// How often is looked.
const PERIOD: Duration = Duration::from_secs(600);

/// Deletes what has expired, until the task is aborted.
pub async fn run(state: Arc<State>) {
    let mut turn = tokio::time::interval(PERIOD);
    loop {
        turn.tick().await;
        match state.store.expire(now_s()).await {
            Ok(0) => {}
            Ok(runs) => {
                state.observations.expired(runs);
                tracing::info!(runs, "deleted what had expired");
            }
            Err(error) => tracing::warn!(%error, "what has expired could not be deleted"),
        }
    }
}
