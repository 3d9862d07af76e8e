//! Which routes are there? Each handler describes itself, and the description of all is served beside
//! them.

use super::refusal::{Refusal, as_problem, panicked};
use super::state::State;
use super::{health, live, metadata, observe, peer, query, tokens, upload};
use crate::api::{PREFIX, Problem};
use axum::http::{HeaderName, HeaderValue, header};
use axum::routing::get;
use axum::{Json, Router, middleware};
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The head of the description.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Walkabout collector",
        description = "Metadata for measurements out, results in. Every answer that is no success is a \
                       problem (RFC 9457).",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(Problem)),
    tags(
        (name = "measuring", description = "What a client needs before and while it measures"),
        (name = "runs", description = "Runs, handed in and handed out"),
        (name = "results", description = "Many runs together"),
        (name = "live", description = "Tests that run now"),
        (name = "operating", description = "For the operator"),
    )
)]
struct Head;

/// What every answer says to browsers: nothing from other hosts, nothing guessed, nothing framed.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

fn described() -> (Router<Arc<State>>, OpenApi) {
    let api = OpenApiRouter::new()
        .routes(routes!(metadata::get))
        .routes(routes!(tokens::post))
        .routes(routes!(upload::put, query::get, query::delete))
        .routes(routes!(query::list))
        .routes(routes!(query::report))
        .routes(routes!(query::table))
        .routes(routes!(query::export))
        .routes(routes!(query::compare))
        .routes(routes!(query::usage))
        .routes(routes!(live::post, live::list))
        .routes(routes!(live::events));
    OpenApiRouter::with_openapi(Head::openapi())
        .nest(PREFIX, api)
        .routes(routes!(health::healthz))
        .routes(routes!(health::metrics))
        .split_for_parts()
}

/// The OpenAPI description of the interface, as `GET /api/v1/openapi.json` serves it.
pub fn openapi() -> OpenApi {
    described().1
}

/// Every route.
pub fn router(state: &Arc<State>) -> Router {
    let (routes, openapi) = described();
    let description = get(move || async move { Json(openapi) });
    let mut router = routes
        .route(&format!("{PREFIX}/openapi.json"), description)
        .merge(crate::dashboard::routes())
        .fallback(|| async {
            Refusal::not_found("there is no such page; /api/v1/openapi.json lists what there is")
        })
        .layer(middleware::from_fn_with_state(Arc::clone(state), peer::cut))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn(as_problem))
        .layer(middleware::from_fn_with_state(
            Arc::clone(state),
            observe::observe,
        ));
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        router = router.layer(SetResponseHeaderLayer::if_not_present(name, value));
    }
    let cache = HeaderValue::from_static("no-cache");
    let layer = SetResponseHeaderLayer::if_not_present(header::CACHE_CONTROL, cache);
    router.layer(layer).with_state(Arc::clone(state))
}
