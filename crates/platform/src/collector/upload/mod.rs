//! How does a run come in? Received under limits, unpacked, checked, scrubbed, its metrics computed, and
//! stored in one transaction before it is acknowledged.

mod check;
mod clean;
mod paths;
mod prepare;
mod shape;
mod unpack;

pub use clean::UNLISTED;
pub use prepare::{folder_of, read_document};

use super::body::{self, Speed};
use super::gate::Full;
use super::peer::Prefix;
use super::quota::Of;
use super::refusal::Refusal;
use super::state::{State, now_s};
use crate::api::{Problem, Stored, Upload, UploadState};
use crate::store::Put;
use crate::token::unhex;
use axum::body::Body;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode, header};
use axum::{Extension, Json};
use ring::digest;
use std::sync::Arc;
use std::time::Duration;
use unpack::Encoding;

/// The header that holds the secret which deletes the run.
pub const SECRET: &str = "walkabout-secret";

/// Hand in a run
///
/// The same document under the same id again is acknowledged and stored once. An answer below 300
/// means that the run is durable.
#[utoipa::path(
    put, path = "/runs/{id}", tag = "runs", operation_id = "put_run",
    params(
        ("id" = String, Path, description = "The run: 32 hexadecimal digits, lower case, which the client drew",
            pattern = "^[0-9a-f]{32}$"),
        ("Walkabout-Secret" = String, Header, description = "What deletes the run: 64 hexadecimal digits which the client drew",
            pattern = "^[0-9a-fA-F]{64}$"),
        ("Content-Encoding" = Option<String>, Header, description = "`zstd`, or `identity`, which is the default",
            pattern = "^(zstd|identity)$"),
    ),
    request_body(content = Upload, content_type = "application/json"),
    responses(
        (status = 201, description = "Stored by this request", body = Stored),
        (status = 200, description = "An earlier request had stored it", body = Stored),
        (status = 409, description = "Another run has this id", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "It was deleted by its uploader", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Refused: nothing was stored", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not possible now: nothing was stored", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn put(
    Shared(state): Shared<Arc<State>>,
    Extension(Prefix(prefix)): Extension<Prefix>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Stored>), Refusal> {
    let id = run_id(id)?;
    let secret_sha256 = secret(&headers)?;
    let encoding = Encoding::of(&headers)?;
    let limits = state.limits;
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limits.upload_bytes) {
        let most = limits.upload_bytes;
        let title = format!("the upload has more than the {most} bytes that are accepted");
        return Err(Refusal::too_large(title));
    }
    let arriving = state
        .gates
        .uploads
        .enter(&prefix)
        .map_err(|full| match full {
            Full::Prefix => {
                let title =
                    "too many uploads at once from your network prefix: try again in a moment";
                Refusal::too_many(title, 5)
            }
            Full::All => Refusal::unavailable("too many uploads at once: try again in a moment", 5),
        })?;
    let limit = u64::from(limits.uploads_per_hour);
    state
        .quota
        .take(Of::Uploads, &prefix, 1, limit, now_s())
        .await?;
    let speed = Speed {
        within: Duration::from_secs(limits.upload_seconds.into()),
        bytes_per_second: limits.upload_bytes_per_second,
    };
    let sent = body::read(body, limits.upload_bytes, speed).await?;
    let sent_bytes = sent.len() as u64;

    let turn = state.gates.unpack().await?;
    let context = prepare::Context::of(&state, id.clone(), prefix, secret_sha256);
    let run = tokio::task::spawn_blocking(move || {
        let run = prepare::prepare(&context, &sent, encoding);
        drop(turn);
        run
    });
    let run = run.await.map_err(|_| Refusal::internal())??;
    let put = state.store.put(&run).await?;
    drop(arriving);
    let (status, word, upload_state) = match put {
        Put::Stored => (StatusCode::CREATED, "stored", UploadState::Stored),
        Put::AlreadyStored => (StatusCode::OK, "already-stored", UploadState::AlreadyStored),
        Put::Conflict => return Err(Refusal::conflict()),
        Put::Deleted => return Err(Refusal::gone()),
    };
    state.observations.uploaded(word, sent_bytes);
    let stored = Stored {
        id,
        state: upload_state,
    };
    Ok((status, Json(stored)))
}

/// The id of a run or test, as it has to be written.
pub fn run_id(id: String) -> Result<String, Refusal> {
    match is_id(&id) {
        true => Ok(id),
        false => Err(Refusal::malformed(
            "an id is 32 hexadecimal digits, lower case",
        )),
    }
}

/// Whether `text` is 32 hexadecimal digits, lower case.
pub fn is_id(text: &str) -> bool {
    let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == 32 && text.bytes().all(digit)
}

/// SHA-256 of the secret in `headers`.
pub fn secret(headers: &HeaderMap) -> Result<[u8; 32], Refusal> {
    let missing = "the header Walkabout-Secret is missing: 64 hexadecimal digits";
    let value = headers
        .get(SECRET)
        .ok_or_else(|| Refusal::missing_right(missing))?;
    let secret = value.to_str().ok().and_then(unhex::<32>).ok_or_else(|| {
        Refusal::malformed("the header Walkabout-Secret does not hold 64 hexadecimal digits")
    })?;
    let mut sha256 = [0; 32];
    sha256.copy_from_slice(digest::digest(&digest::SHA256, &secret).as_ref());
    Ok(sha256)
}
