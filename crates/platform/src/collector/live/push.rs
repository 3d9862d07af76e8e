//! `POST /api/v1/live`: what a client sees while it measures.

use super::clean;
use crate::api::{LiveBatch, Problem};
use crate::collector::body;
use crate::collector::peer::Prefix;
use crate::collector::quota::Of;
use crate::collector::refusal::Refusal;
use crate::collector::state::{State, now_s};
use crate::collector::upload::is_id;
use crate::token::{Claims, TokenError};
use axum::Extension;
use axum::body::Body;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use std::sync::Arc;

/// Bytes of a batch.
const MOST_BYTES: u64 = 512 << 10;
/// Items of a batch; a client sends one every half second.
const MOST_ITEMS: usize = 2_000;
/// Seconds for which the end of a session may still be told.
const GRACE_S: u64 = 60;

/// Show what is seen of a running test
#[utoipa::path(
    post, path = "/live", tag = "live", operation_id = "push_live",
    request_body = LiveBatch,
    responses(
        (status = 204, description = "Passed on"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn post(
    Shared(state): Shared<Arc<State>>,
    Extension(Prefix(prefix)): Extension<Prefix>,
    body: Body,
) -> Result<StatusCode, Refusal> {
    let mut batch: LiveBatch = body::json(body, MOST_BYTES).await?;
    if !is_id(&batch.test) {
        return Err(Refusal::invalid("test: 32 hexadecimal digits, lower case"));
    }
    if batch.items.len() > MOST_ITEMS {
        let title = format!("items: a batch has at most {MOST_ITEMS}");
        return Err(Refusal::invalid(title));
    }
    let now = now_s();
    let claims = claims(&state, &batch, now)?;
    if claims.test != batch.test {
        return Err(Refusal::no_right("token: it is for another test"));
    }
    let items = (batch.items.len() as u64).max(1);
    let limit = state.limits.live_items_per_hour;
    state
        .quota
        .take(Of::LiveItems, &prefix, items, limit, now)
        .await?;
    clean::clean(&mut batch, &state)?;
    state.store.push_live(&batch, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What the batch's token allows. A session may begin just before its token expires and last its
/// seconds, and is told of for as long.
fn claims(state: &State, batch: &LiveBatch, now_s: u64) -> Result<Claims, Refusal> {
    let key = state.key.verifying_key();
    let verified = match key.verify(&batch.token, &batch.server, now_s) {
        Err(TokenError::Expired(ago_s)) => {
            let verified = key.verify(&batch.token, &batch.server, now_s - ago_s - 1);
            match verified {
                Ok(claims) if ago_s > u64::from(claims.seconds) + GRACE_S => {
                    Err(TokenError::Expired(ago_s))
                }
                verified => verified,
            }
        }
        verified => verified,
    };
    // The server's id in `OtherServer` was signed: it is one of the collector's own words.
    verified.map_err(|error| Refusal::no_right(format!("token: {error}")))
}
