//! `POST /api/v1/tokens`: the right to use a test server, for who agreed to the current text.

use super::body;
use super::peer::Prefix;
use super::quota::Of;
use super::refusal::Refusal;
use super::state::{State, now_s, rfc3339};
use super::upload::is_id;
use crate::api::{Problem, TokenGranted, TokenRequest};
use crate::token::{Claims, random_hex};
use axum::body::Body;
use axum::extract::State as Shared;
use axum::{Extension, Json};
use std::sync::Arc;

/// Bytes of a request.
const MOST_BYTES: u64 = 4_096;
/// Tokens of one request.
const MOST_TOKENS: u32 = 64;

/// Ask for tokens, one per run
#[utoipa::path(
    post, path = "/tokens", tag = "measuring", operation_id = "tokens",
    request_body = TokenRequest,
    responses(
        (status = 200, description = "As many as asked for", body = TokenGranted),
        (status = 409, description = "The consent is of another version", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn post(
    Shared(state): Shared<Arc<State>>,
    Extension(Prefix(prefix)): Extension<Prefix>,
    body: Body,
) -> Result<Json<TokenGranted>, Refusal> {
    let request: TokenRequest = body::json(body, MOST_BYTES).await?;
    let TokenRequest {
        server,
        test,
        consent_version,
        bytes,
        seconds,
        count,
    } = request;
    let limits = state.limits;
    if consent_version != state.consent.version {
        return Err(Refusal::consent());
    }
    if !state.servers.iter().any(|s| s.id == server) {
        let title = "there is no such test server: fetch the metadata again";
        return Err(Refusal::invalid(title));
    }
    if !is_id(&test) {
        return Err(Refusal::invalid("test: 32 hexadecimal digits, lower case"));
    }
    if !(1..=MOST_TOKENS).contains(&count) {
        return Err(Refusal::invalid(format!(
            "count: 1 to {MOST_TOKENS} tokens"
        )));
    }
    if !(1..=limits.token_bytes).contains(&bytes) {
        let most = limits.token_bytes;
        return Err(Refusal::invalid(format!(
            "bytes: a token allows 1 to {most}"
        )));
    }
    if !(1..=limits.token_seconds).contains(&seconds) {
        let most = limits.token_seconds;
        return Err(Refusal::invalid(format!(
            "seconds: a token allows 1 to {most}"
        )));
    }
    let now = now_s();
    let tokens = u64::from(count);
    let limit = u64::from(limits.tokens_per_hour);
    state
        .quota
        .take(Of::Tokens, &prefix, tokens, limit, now)
        .await?;
    let traffic = bytes.saturating_mul(tokens);
    let limit = limits.traffic_bytes_per_hour;
    state
        .quota
        .take(Of::TrafficBytes, &prefix, traffic, limit, now)
        .await?;

    let expires_s = now + u64::from(limits.token_validity_seconds);
    let sign = |_| {
        state.key.sign(&Claims {
            id: random_hex::<16>(),
            test: test.clone(),
            server: server.clone(),
            issued_s: now,
            expires_s,
            bytes,
            seconds,
        })
    };
    Ok(Json(TokenGranted {
        tokens: (0..count).map(sign).collect(),
        expires_at: rfc3339(expires_s),
    }))
}
