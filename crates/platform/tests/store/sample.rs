//! Runs as uploads bring them: plausible, and the same for the same seed.

use model::manifest::Status;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use walkabout_platform::api::{MetricValue, RunSummary};
use walkabout_platform::store::NewRun;

const ARMS: [(&str, &str); 6] = [
    ("tcp", "single"),
    ("quic", "single"),
    ("mptcp", "backup"),
    ("mptcp", "apple-interactive"),
    ("mpquic", "backup"),
    ("mpquic", "fullmesh"),
];
const CAUSES: [&str; 4] = ["none", "rtt-threshold", "under-rto", "other"];

/// A generator for `seed`.
pub fn random(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed)
}

/// 32 hexadecimal digits.
pub fn id(random: &mut impl Rng) -> String {
    format!("{:032x}", random.random::<u128>())
}

fn pick<'w>(random: &mut impl Rng, words: &[&'w str]) -> &'w str {
    words[random.random_range(0..words.len())]
}

/// A duration around `median_s`, spread over two decades.
fn seconds(random: &mut impl Rng, median_s: f64) -> f64 {
    // The sum of uniform ones is close to a normal one.
    let z: f64 = (0..6).map(|_| random.random::<f64>() - 0.5).sum();
    median_s * (z * 2.5).exp()
}

/// A run of `test`.
pub fn run(random: &mut impl Rng, test: &str) -> NewRun {
    let (transport, policy) = ARMS[random.random_range(0..ARMS.len())];
    let mode = pick(random, &["stable", "mobile"]);
    let stalled = random.random_bool(0.08);
    let up = seconds(random, 0.3);
    let down = seconds(random, 0.25);
    let number = |value, censored| MetricValue::Number { value, censored };
    let mut metrics = BTreeMap::new();
    // Bulk has no messages.
    let pattern = pick(random, &["interactive", "interactive", "bulk"]);
    if pattern == "interactive" {
        metrics.insert("delay-max".to_owned(), number(up.max(down), stalled));
        metrics.insert("delay-max-up".to_owned(), number(up, stalled));
        metrics.insert("delay-max-down".to_owned(), number(down, false));
    } else {
        let time = number(seconds(random, 8.0), false);
        metrics.insert("completion-time".to_owned(), time);
    }
    if transport.starts_with('m') {
        let cause = pick(random, &CAUSES);
        metrics.insert("cellular-cause".into(), MetricValue::Word(cause.into()));
        if cause != "none" {
            let handover = number(seconds(random, 0.6) - 0.3, random.random_bool(0.1));
            metrics.insert("handover-sent".to_owned(), handover);
        }
    }
    let status = match random.random_range(0..20) {
        0 => Status::Incomplete,
        1 => Status::Failed,
        _ => Status::Complete,
    };
    let invalid = random.random_bool(0.05);
    let summary = RunSummary {
        id: id(random),
        test: test.to_owned(),
        started_at: "2026-11-21T08:00:00Z".into(),
        stored_at: String::new(),
        experiment: match mode {
            "stable" => "desk".into(),
            _ => "walk".into(),
        },
        mode: mode.into(),
        server: pick(random, &["near", "far", "farther"]).into(),
        transport: transport.into(),
        policy: policy.into(),
        pattern: pattern.into(),
        family: pick(random, &["ipv4", "ipv6"]).into(),
        port: [443, 6121][random.random_range(0..2)],
        status,
        invalid: invalid.then(|| "the interfaces changed".into()),
        ended: Some("done".into()),
        networks: pick(random, &["wifi+cellular", "wifi", "ethernet"]).into(),
        duration_us: random.random_range(1_000_000..60_000_000),
        walkabout_version: "0.1.0".into(),
        publish: random.random_bool(0.6),
        metrics,
    };
    let mut document = vec![0; random.random_range(1..2_000)];
    random.fill(&mut document[..]);
    NewRun {
        summary,
        platform: pick(random, &["Linux 6.12", "Linux 6.18", "Android 16"]).into(),
        prefix: "192.0.2.0/24".into(),
        secret_sha256: random.random(),
        content_sha256: random.random(),
        document,
        expires_s: random.random_range(1_000..2_000),
    }
}
