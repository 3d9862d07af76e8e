//! The pages people look at, served by the collector: the bundle of `web/`, embedded.
//!
//! The page is one file for all its addresses; it looks at its address to know what to show. What it
//! consists of comes from here: it asks no other host for anything, and has no script in the page itself,
//! so `default-src 'self'; style-src 'self' 'unsafe-inline'` is a policy it can live under.

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::{EmbeddedFile, RustEmbed};
use std::borrow::Cow;

/// The dashboard, as `cargo xtask web` built it; empty when it was not built.
#[derive(RustEmbed)]
#[folder = "../../web/dist/dashboard"]
#[allow_missing = true]
struct Bundle;

/// The page's file.
const PAGE: &str = "dashboard.html";

/// The addresses at which the page is, as `web/src/dashboard/route.svelte.ts` reads them.
const PAGES: [&str; 7] = [
    "/",
    "/live",
    "/live/{test}",
    "/runs",
    "/runs/{id}",
    "/compare",
    "/usage",
];

/// The routes below `/`: the page, its parts, nothing from another host.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    routes_of::<S, Bundle>()
}

fn routes_of<S: Clone + Send + Sync + 'static, B: RustEmbed>() -> Router<S> {
    let page = async |headers: HeaderMap| match B::get(PAGE) {
        Some(file) => answer(PAGE, &file, &headers),
        None => MISSING.into_response(),
    };
    let part = async |uri: Uri, headers: HeaderMap| {
        let name = uri.path().trim_start_matches('/');
        match B::get(name) {
            Some(file) => answer(name, &file, &headers),
            None => StatusCode::NOT_FOUND.into_response(),
        }
    };
    PAGES
        .iter()
        .fold(Router::new(), |router, path| router.route(path, get(page)))
        .route("/assets/{file}", get(part))
        .route("/licences.txt", get(part))
}

/// Said instead of the page by a program without it.
const MISSING: (StatusCode, &str) = (
    StatusCode::NOT_IMPLEMENTED,
    "The dashboard is not part of this program: run `cargo xtask web`, then build again. The \
     interface below /api/v1 is there all the same.\n",
);

/// `file`, or that it has not changed.
fn answer(name: &str, file: &EmbeddedFile, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", crate::token::hex(&file.metadata.sha256_hash()));
    let known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .any(|one| matches!(one.trim().trim_start_matches("W/"), one if one == tag || one == "*"));
    let about = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type(name))),
        (CACHE_CONTROL, HeaderValue::from_static(caching(name))),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    // Hexadecimal digits in quotes are a header's value.
    let tag = HeaderValue::from_str(&tag).map(|tag| [(ETAG, tag)]);
    let tag = tag.unwrap_or([(ETAG, HeaderValue::from_static("\"\""))]);
    match known {
        true => (StatusCode::NOT_MODIFIED, about, tag).into_response(),
        false => (about, tag, body(file)).into_response(),
    }
}

fn body(file: &EmbeddedFile) -> Body {
    match file.data {
        Cow::Borrowed(bytes) => Body::from(bytes),
        Cow::Owned(ref bytes) => Body::from(bytes.clone()),
    }
}

/// What lies in `assets` has a hash of its content in its name and never changes; anything else is asked
/// for again each time, and answered with "not modified" mostly.
fn caching(name: &str) -> &'static str {
    match name.starts_with("assets/") {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests;
