//! What does the server tell Prometheus? Counters and gauges by label, in the text format 0.0.4.

use super::ServerError;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// Connections there are, by `tcp`, `mptcp`, `quic`, `mpquic`.
    Connections,
    ConnectionsTotal,
    /// Sessions there are, by transport.
    Sessions,
    SessionsTotal,
    /// Sessions without a token.
    PingsTotal,
    /// Bytes of channels after their hello, by direction.
    BytesTotal,
    RefusedTotal,
    CutTotal,
    /// Records handed out.
    RecordsTotal,
    Draining,
}

struct Description {
    family: Family,
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    label: &'static str,
}

macro_rules! families {
    ($($family:ident $name:literal $kind:literal $label:literal $help:literal;)*) => {
        const FAMILIES: &[Description] = &[$(Description {
            family: Family::$family, name: $name, help: $help, kind: $kind, label: $label,
        },)*];
    };
}
families! {
    Connections "walkabout_server_connections" "gauge" "transport" "Connections there are.";
    ConnectionsTotal "walkabout_server_connections_total" "counter" "transport" "Connections let in.";
    Sessions "walkabout_server_sessions" "gauge" "transport" "Sessions under way.";
    SessionsTotal "walkabout_server_sessions_total" "counter" "transport" "Sessions begun with a token.";
    PingsTotal "walkabout_server_pings_total" "counter" "transport" "Pings answered without a token.";
    BytesTotal "walkabout_server_bytes_total" "counter" "direction" "Bytes of patterns.";
    RefusedTotal "walkabout_server_refused_total" "counter" "reason" "Connections and channels turned away.";
    CutTotal "walkabout_server_cut_total" "counter" "reason" "Sessions the server ended early.";
    RecordsTotal "walkabout_server_records_total" "counter" "" "Records handed out.";
    Draining "walkabout_server_draining" "gauge" "" "1 while no new session is taken.";
}

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<BTreeMap<(Family, &'static str), u64>>);

impl Metrics {
    pub(super) fn add(&self, family: Family, label: &'static str, n: u64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((family, label)).or_default() += n;
    }

    /// Counts one of a gauge, as long as the answer lives.
    pub(super) fn hold(self: &Arc<Metrics>, family: Family, label: &'static str) -> Held {
        self.add(family, label, 1);
        let metrics = Arc::clone(self);
        Held {
            metrics,
            family,
            label,
        }
    }

    /// The text for Prometheus.
    pub(super) fn text(&self) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for Description {
            family,
            name,
            help,
            kind,
            label,
        } in FAMILIES
        {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            if label.is_empty() {
                let value = counts.get(&(*family, "")).copied().unwrap_or(0);
                let _ = writeln!(text, "{name} {value}");
                continue;
            }
            for ((_, value_of_label), value) in counts.iter().filter(|((f, _), _)| f == family) {
                let _ = writeln!(text, "{name}{{{label}=\"{value_of_label}\"}} {value}");
            }
        }
        text
    }
}

/// One of a gauge.
#[derive(Debug)]
pub(super) struct Held {
    metrics: Arc<Metrics>,
    family: Family,
    label: &'static str,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut counts = self
            .metrics
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&(self.family, self.label)) {
            *count = count.saturating_sub(1);
        }
    }
}

/// Answers `GET /metrics` (and `/healthz`) at `address`; returns the address it got.
pub(super) async fn serve(
    address: SocketAddr,
    metrics: Arc<Metrics>,
    loops: &mut JoinSet<()>,
) -> Result<SocketAddr, ServerError> {
    let listen = |source| ServerError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let bound = listener.local_addr().map_err(listen)?;
    let text = move || async move {
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        ([(CONTENT_TYPE, kind)], metrics.text())
    };
    let routes = Router::new()
        .route("/metrics", get(text))
        .route("/healthz", get(async || "ok\n"));
    loops.spawn(async move {
        if let Err(error) = axum::serve(listener, routes).await {
            tracing::error!(%error, "metrics are no longer served");
        }
    });
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_each_family_once_and_gauges_go_down_again() {
        let metrics = Arc::new(Metrics::default());
        metrics.add(Family::RefusedTotal, "prefix", 2);
        metrics.add(Family::RefusedTotal, "hello", 1);
        let held = metrics.hold(Family::Sessions, "mptcp");
        assert!(
            metrics
                .text()
                .contains("walkabout_server_sessions{transport=\"mptcp\"} 1\n")
        );
        drop(held);
        let text = metrics.text();
        assert!(text.contains("walkabout_server_sessions{transport=\"mptcp\"} 0\n"));
        assert!(text.contains("walkabout_server_draining 0\n"));
        let refused = "# TYPE walkabout_server_refused_total counter\n\
            walkabout_server_refused_total{reason=\"hello\"} 1\n\
            walkabout_server_refused_total{reason=\"prefix\"} 2\n";
        assert!(text.contains(refused), "{text}");
        assert_eq!(text.matches("# TYPE").count(), FAMILIES.len());
    }
}
