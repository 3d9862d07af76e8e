//! How does the collector say no? With a problem (RFC 9457), whatever part of it refuses.

use crate::api::{Problem, ProblemKind};
use crate::store::StoreError;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::any::Any;

/// The media type of problems.
pub const PROBLEM: &str = "application/problem+json";

/// Bytes of a plain error text that become a problem's title at most.
const LONGEST_TEXT: usize = 2_048;

/// Seconds after which a busy or absent store may be tried again.
const STORE_RETRY_S: u32 = 10;

/// A request that is not answered as it wished.
#[derive(Debug)]
pub struct Refusal(Problem);

impl Refusal {
    fn new(kind: ProblemKind, status: StatusCode, title: impl Into<String>) -> Refusal {
        Refusal(Problem {
            kind,
            title: title.into(),
            status: status.as_u16(),
            retry_after_seconds: None,
        })
    }

    fn later(self, seconds: u32) -> Refusal {
        Refusal(Problem {
            retry_after_seconds: Some(seconds.max(1)),
            ..self.0
        })
    }

    /// The request is not one: its form is wrong.
    pub fn malformed(title: impl Into<String>) -> Refusal {
        Refusal::new(ProblemKind::Invalid, StatusCode::BAD_REQUEST, title)
    }

    /// The request has the right form and contradicts itself or the schema.
    pub fn invalid(title: impl Into<String>) -> Refusal {
        Refusal::new(
            ProblemKind::Invalid,
            StatusCode::UNPROCESSABLE_ENTITY,
            title,
        )
    }

    /// The body is too large.
    pub fn too_large(title: impl Into<String>) -> Refusal {
        Refusal::new(ProblemKind::TooLarge, StatusCode::PAYLOAD_TOO_LARGE, title)
    }

    /// The encoding is not read.
    pub fn encoding(title: impl Into<String>) -> Refusal {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Refusal::new(ProblemKind::UnknownEncoding, status, title)
    }

    /// The consent is of another version.
    pub fn consent() -> Refusal {
        let title = "the text to agree to has changed: fetch the metadata and ask again";
        Refusal::new(ProblemKind::ConsentOutdated, StatusCode::CONFLICT, title)
    }

    /// Another run has this id.
    pub fn conflict() -> Refusal {
        let title = "another run has this id: draw a new one";
        Refusal::new(ProblemKind::Conflict, StatusCode::CONFLICT, title)
    }

    /// A secret or token is missing (401).
    pub fn missing_right(title: impl Into<String>) -> Refusal {
        Refusal::new(ProblemKind::Refused, StatusCode::UNAUTHORIZED, title)
    }

    /// A secret or token gives no right (403).
    pub fn no_right(title: impl Into<String>) -> Refusal {
        Refusal::new(ProblemKind::Refused, StatusCode::FORBIDDEN, title)
    }

    /// There is no such thing.
    pub fn not_found(title: impl Into<String>) -> Refusal {
        Refusal::new(ProblemKind::NotFound, StatusCode::NOT_FOUND, title)
    }

    /// There was such a thing; its uploader deleted it.
    pub fn gone() -> Refusal {
        let title = "the run was deleted by its uploader: it does not come back";
        Refusal::new(ProblemKind::NotFound, StatusCode::GONE, title)
    }

    /// Too much from this network prefix.
    pub fn too_many(title: impl Into<String>, retry_s: u32) -> Refusal {
        let status = StatusCode::TOO_MANY_REQUESTS;
        Refusal::new(ProblemKind::TooMany, status, title).later(retry_s)
    }

    /// Nothing is wrong with the request; later it may succeed.
    pub fn unavailable(title: impl Into<String>, retry_s: u32) -> Refusal {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Refusal::new(ProblemKind::Unavailable, status, title).later(retry_s)
    }

    /// A bug. What happened goes to the log, not to the client.
    pub fn internal() -> Refusal {
        let title = "the collector made a mistake: tell its operator the time of this answer";
        Refusal::new(
            ProblemKind::Internal,
            StatusCode::INTERNAL_SERVER_ERROR,
            title,
        )
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        match error {
            StoreError::Query(what) => Refusal::malformed(what),
            StoreError::Unavailable(_)
            | StoreError::Refused(_)
            | StoreError::Schema(_)
            | StoreError::Url(_) => {
                tracing::warn!(%error, "the store does not answer");
                let title = "the database does not answer: nothing was stored, try again later";
                Refusal::unavailable(title, STORE_RETRY_S)
            }
            StoreError::Full(_) => {
                tracing::error!(%error, "the store is full");
                let title = "the collector has no space left: nothing was stored, try again later";
                Refusal::unavailable(title, STORE_RETRY_S)
            }
            StoreError::Damaged(_) => {
                tracing::error!(%error, "the store holds what it should not");
                Refusal::internal()
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Refusal(problem) = self;
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        if let Some(seconds) = problem.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // A problem is text and numbers.
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (status, headers, body).into_response();
        response.extensions_mut().insert(problem.kind);
        response
    }
}

/// Makes a problem of every error that is none yet: unknown routes, methods and parameters, which the
/// router refuses in plain text.
pub async fn as_problem(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let is_problem = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|t| t == PROBLEM);
    if !(status.is_client_error() || status.is_server_error()) || is_problem {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, LONGEST_TEXT).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let refusal = match status {
        StatusCode::NOT_FOUND => Refusal::not_found(match text.trim() {
            "" => "there is no such page; /api/v1/openapi.json lists what there is",
            text => text,
        }),
        StatusCode::METHOD_NOT_ALLOWED => {
            let title = "this method is not offered here; the header `Allow` lists those that are";
            Refusal::new(ProblemKind::Invalid, status, title)
        }
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::too_large("the body is too large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Refusal::encoding(text.trim()),
        // A program without the pages.
        StatusCode::NOT_IMPLEMENTED => Refusal::new(ProblemKind::NotFound, status, text.trim()),
        status if status.is_client_error() => {
            Refusal::new(ProblemKind::Invalid, status, text.trim())
        }
        _ => Refusal::internal(),
    };
    let mut refused = refusal.into_response();
    if let Some(allow) = parts.headers.get(header::ALLOW) {
        refused.headers_mut().insert(header::ALLOW, allow.clone());
    }
    refused
}

/// The answer when a handler panicked. The panic's words are on standard error already.
pub fn panicked(_: Box<dyn Any + Send + 'static>) -> axum::http::Response<Body> {
    tracing::error!("a handler panicked: this is a bug");
    Refusal::internal().into_response()
}
