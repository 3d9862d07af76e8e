//! The pages people look at, served by the collector: the bundle of `web/`, embedded.

/// The routes below `/`: the page, its parts, nothing from another host.
pub fn routes<S: Clone + Send + Sync + 'static>() -> axum::Router<S> {
    axum::Router::new()
}
