//! What does the operator see? Requests, refusals and how long answers took, in Prometheus' text
//! format (version 0.0.4); routes, never what was asked for.

use super::gate::lock;
use super::state::State;
use crate::api::ProblemKind;
use axum::extract::{MatchedPath, Request, State as Shared};
use axum::middleware::Next;
use axum::response::Response;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Upper ends of the histogram's buckets, in seconds.
const BUCKETS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// What was counted.
#[derive(Default)]
pub struct Observations(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    requests: BTreeMap<(String, String, u16), u64>,
    refusals: BTreeMap<&'static str, u64>,
    uploads: BTreeMap<&'static str, u64>,
    uploaded_bytes: u64,
    expired: u64,
    latency: BTreeMap<String, Histogram>,
}

#[derive(Clone, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum_s: f64,
}

fn word(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Invalid => "invalid",
        ProblemKind::TooLarge => "too-large",
        ProblemKind::UnknownEncoding => "unknown-encoding",
        ProblemKind::ConsentOutdated => "consent-outdated",
        ProblemKind::Conflict => "conflict",
        ProblemKind::Refused => "refused",
        ProblemKind::NotFound => "not-found",
        ProblemKind::TooMany => "too-many",
        ProblemKind::Unavailable => "unavailable",
        ProblemKind::Internal => "internal",
    }
}

impl Observations {
    /// An upload was acknowledged.
    pub fn uploaded(&self, state: &'static str, bytes: u64) {
        let mut counted = lock(&self.0);
        *counted.uploads.entry(state).or_default() += 1;
        counted.uploaded_bytes += bytes;
    }

    /// Runs were deleted because their time was over.
    pub fn expired(&self, runs: u64) {
        lock(&self.0).expired += runs;
    }

    fn answered(&self, method: String, route: String, response: &Response, seconds: f64) {
        let mut counted = lock(&self.0);
        let histogram = counted.latency.entry(route.clone()).or_default();
        for (count, bound) in histogram.buckets.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= bound);
        }
        histogram.count += 1;
        histogram.sum_s += seconds;
        let key = (method, route, response.status().as_u16());
        *counted.requests.entry(key).or_default() += 1;
        if let Some(kind) = response.extensions().get::<ProblemKind>() {
            *counted.refusals.entry(word(*kind)).or_default() += 1;
        }
    }

    /// Everything, in Prometheus' text format; `gauges` are a name, a line of help, and a value.
    pub fn text(&self, gauges: &[(&str, &str, u64)]) -> String {
        let counted = lock(&self.0);
        let mut out = String::new();
        // Writing to a string cannot fail.
        let head = |out: &mut String, name: &str, help: &str, kind: &str| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let name = "walkabout_requests_total";
        head(&mut out, name, "Requests answered.", "counter");
        for ((method, route, status), count) in &counted.requests {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let _ = writeln!(out, "{name}{{{labels}}} {count}");
        }
        let name = "walkabout_refusals_total";
        head(&mut out, name, "Requests refused, by reason.", "counter");
        for (reason, count) in &counted.refusals {
            let _ = writeln!(out, "{name}{{reason=\"{reason}\"}} {count}");
        }
        let name = "walkabout_uploads_total";
        head(&mut out, name, "Uploads acknowledged.", "counter");
        for (state, count) in &counted.uploads {
            let _ = writeln!(out, "{name}{{state=\"{state}\"}} {count}");
        }
        let name = "walkabout_uploaded_bytes_total";
        head(
            &mut out,
            name,
            "Bytes of acknowledged uploads as sent.",
            "counter",
        );
        let _ = writeln!(out, "{name} {}", counted.uploaded_bytes);
        let name = "walkabout_expired_runs_total";
        head(
            &mut out,
            name,
            "Runs deleted because their time was over.",
            "counter",
        );
        let _ = writeln!(out, "{name} {}", counted.expired);
        for (name, help, value) in gauges {
            head(&mut out, name, help, "gauge");
            let _ = writeln!(out, "{name} {value}");
        }
        let name = "walkabout_request_seconds";
        head(
            &mut out,
            name,
            "From a request's head to its answer's.",
            "histogram",
        );
        for (route, histogram) in &counted.latency {
            for (bound, count) in BUCKETS.iter().zip(histogram.buckets) {
                let _ = writeln!(
                    out,
                    "{name}_bucket{{route=\"{route}\",le=\"{bound}\"}} {count}"
                );
            }
            let Histogram { count, sum_s, .. } = histogram;
            let _ = writeln!(
                out,
                "{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}"
            );
            let _ = writeln!(out, "{name}_sum{{route=\"{route}\"}} {sum_s}");
            let _ = writeln!(out, "{name}_count{{route=\"{route}\"}} {count}");
        }
        out
    }
}

/// Counts a request and logs it: route, status and duration, nothing the client chose.
pub async fn observe(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("other", MatchedPath::as_str).to_owned();
    let method = match request.method().as_str() {
        known @ ("GET" | "PUT" | "POST" | "DELETE" | "HEAD" | "OPTIONS" | "PATCH") => known,
        _ => "other",
    };
    let method = method.to_owned();
    let response = next.run(request).await;
    let seconds = begin.elapsed().as_secs_f64();
    let status = response.status().as_u16();
    tracing::debug!(method, route, status, seconds, "answered");
    state
        .observations
        .answered(method, route, &response, seconds);
    response
}
