//! Which runs does a test consist of, and in which order?

use crate::failure::Failure;
use measure::transport::list as transports;
use measure::world::plan::RunSpec;
use model::Seed;
use model::live::Mode;
use model::scenario::Traffic;
use model::spelling;
use model::units::Span;
use platform::api::{Experiment, ExperimentTraffic, Limits};
use rand::{Rng, RngExt};
use std::collections::BTreeSet;
use std::time::Duration;

/// What a session needs beside its traffic: connecting, the last answers, fetching the records.
const MARGIN_SECONDS: u32 = 30;

/// A run to come.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
    /// The pattern.
    pub traffic: Traffic,
    /// How long at most.
    pub seconds: u32,
    /// What the run calls itself while it goes on: `mptcp-backup`, `tcp`.
    pub label: String,
    /// Its name within the test and in the test's folder: the label, and the pattern where the test has
    /// several.
    pub name: String,
}

impl Planned {
    /// How long at most.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }
}

/// The experiment asked for: by its name, or the first of the mode.
///
/// # Errors
/// When the collector has none of this name or mode.
pub fn experiment<'e>(all: &'e [Experiment], asked: &str) -> Result<&'e Experiment, Failure> {
    let mode = match asked {
        "stable" => Some(Mode::Stable),
        "mobile" => Some(Mode::Mobile),
        _ => None,
    };
    let by_name = all.iter().find(|e| e.name == asked);
    let found = by_name.or_else(|| all.iter().find(|e| Some(e.mode) == mode));
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|e| e.name.as_str()).collect();
        let meant = match spelling::nearest(asked, names.iter().copied()) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        Failure::usage(format!(
            "the collector has no experiment `{asked}`; it has {}{meant}",
            names.join(", ")
        ))
    })
}

/// The runs of `experiment`. Stable: the protocols in an order drawn from the seed, each with every
/// pattern in an order drawn anew. Mobile: every multipath protocol with the first pattern, all at once.
///
/// # Errors
/// When it names what this program does not have, or nothing to run.
pub fn runs(experiment: &Experiment, limits: &Limits, seed: Seed) -> Result<Vec<Planned>, Failure> {
    check(experiment)?;
    let is_mobile = experiment.mode == Mode::Mobile;
    let patterns = match is_mobile {
        true => &experiment.traffic[..1],
        false => &experiment.traffic[..],
    };
    let mut protocols: Vec<(&str, &str)> = Vec::new();
    for name in &experiment.transports {
        let multipath = transports::find(name).is_some_and(|entry| entry.multipath);
        match multipath {
            true => protocols.extend(experiment.policies.iter().map(|p| (&**name, &**p))),
            false if is_mobile => {}
            false => protocols.push((name, policy::list::SINGLE)),
        }
    }
    if protocols.is_empty() {
        return Err(wrong(
            experiment,
            "has no multipath transport, which mobile mode is about",
        ));
    }
    if !is_mobile {
        shuffle(&mut protocols, &mut seed.stream("test.protocols"));
    }
    let longest = limits.token_seconds.saturating_sub(MARGIN_SECONDS).max(1);
    let several = patterns.len() > 1;
    let mut runs = Vec::new();
    for (transport, policy) in protocols {
        let label = RunSpec::label(transport, policy);
        let mut patterns: Vec<&ExperimentTraffic> = patterns.iter().collect();
        shuffle(
            &mut patterns,
            &mut seed.stream(&format!("test.patterns.{label}")),
        );
        runs.extend(patterns.iter().map(|pattern| Planned {
            transport: transport.to_owned(),
            policy: policy.to_owned(),
            traffic: pattern.traffic.clone(),
            seconds: pattern.seconds.min(longest),
            name: match several {
                true => format!("{label}-{}", pattern.traffic.name()),
                false => label.clone(),
            },
            label: label.clone(),
        }));
    }
    number_doubles(&mut runs);
    Ok(runs)
}

/// A pattern that an experiment has twice, with other parameters, gets a number.
fn number_doubles(runs: &mut [Planned]) {
    let mut seen = BTreeSet::new();
    for run in runs {
        let base = run.name.clone();
        let mut number = 2;
        while !seen.insert(run.name.clone()) {
            run.name = format!("{base}-{number}");
            number += 1;
        }
    }
}

/// Bytes and seconds a token for any of the runs has to allow.
pub fn needs(runs: &[Planned], limits: &Limits) -> (u64, u32) {
    let bytes = runs.iter().map(|run| {
        let bytes = needed_bytes(&run.traffic, run.seconds);
        bytes.unwrap_or(limits.token_bytes)
    });
    let bytes = bytes.max().unwrap_or(0).min(limits.token_bytes);
    let seconds = runs.iter().map(|run| run.seconds).max().unwrap_or(0);
    (bytes, (seconds + MARGIN_SECONDS).min(limits.token_seconds))
}

/// How many bytes a session of `traffic` takes in that many seconds; `None` where it is as much as the path
/// carries.
fn needed_bytes(traffic: &Traffic, seconds: u32) -> Option<u64> {
    // As much again for headers, what is sent twice, and the records.
    let periodic = |period: Span, bytes: u64| {
        let period = period.get().as_secs_f64().max(1e-3);
        let messages = (f64::from(seconds) / period).ceil() as u64 + 1;
        2 * messages * bytes + (1 << 20)
    };
    match traffic {
        Traffic::Interactive(t) => {
            // Both directions.
            let message = t.chunk_size.bytes() + t.ack_size.bytes();
            Some(periodic(t.period, 2 * message))
        }
        Traffic::Ping(t) => Some(2 * u64::from(t.count) * (t.size.bytes() + 100) + (1 << 20)),
        Traffic::Bursts(t) => {
            let message = t.burst_size.bytes() + t.response_size.bytes();
            Some(periodic(t.interval, message))
        }
        Traffic::Request(t) => {
            let message = t.request_size.bytes() + t.response_size.bytes();
            Some(periodic(t.period, message))
        }
        Traffic::Radio(t) => {
            let stream = t.bitrate.bits_per_second() / 8 * u64::from(seconds + 1);
            Some(2 * (stream + t.burst_size.bytes()) + (1 << 20))
        }
        Traffic::WithBackground(both) => {
            let beside = &both.background;
            let message = beside.request_size.bytes() + beside.response_size.bytes();
            Some(needed_bytes(&both.main, seconds)? + periodic(beside.period, message))
        }
        Traffic::Bulk(_) | Traffic::Iperf(_) => None,
    }
}

fn check(experiment: &Experiment) -> Result<(), Failure> {
    let Experiment {
        name: _,
        summary: _,
        mode: _,
        transports,
        policies,
        traffic,
    } = experiment;
    if transports.is_empty() || policies.is_empty() || traffic.is_empty() {
        return Err(wrong(experiment, "lacks transports, policies or traffic"));
    }
    for name in transports {
        if transports::find(name).is_none() {
            let what = format!("names the transport `{name}`, which this walkabout does not have");
            return Err(wrong(experiment, &what));
        }
    }
    for name in policies {
        if policy::list::find(name).is_none() {
            let what = format!("names the policy `{name}`, which this walkabout does not have");
            return Err(wrong(experiment, &what));
        }
    }
    for pattern in traffic {
        traffic::pattern::check(&pattern.traffic)
            .map_err(|error| wrong(experiment, &format!("asks for {error}")))?;
    }
    Ok(())
}

fn wrong(experiment: &Experiment, what: &str) -> Failure {
    Failure::failed(format!(
        "the collector's experiment `{}` {what}: choose another, or update walkabout",
        experiment.name
    ))
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.random_range(0..=last));
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use model::scenario::{Bulk, Interactive, Ping};

    pub const LIMITS: Limits = Limits {
        upload_bytes: 1 << 20,
        upload_expanded_bytes: 8 << 20,
        uploads_per_hour: 100,
        tokens_per_hour: 100,
        token_bytes: 100_000_000,
        token_seconds: 300,
    };

    pub fn an_experiment(mode: Mode) -> Experiment {
        let pattern = |traffic, seconds| ExperimentTraffic { traffic, seconds };
        Experiment {
            name: "all".into(),
            summary: "All of it".into(),
            mode,
            transports: ["tcp", "mptcp", "quic", "mpquic"].map(String::from).into(),
            policies: ["backup", "fullmesh"].map(String::from).into(),
            traffic: vec![
                pattern(Traffic::Interactive(Interactive::default()), 600),
                pattern(Traffic::Ping(Ping::default()), 10),
                pattern(Traffic::Bulk(Bulk::default()), 30),
            ],
        }
    }

    fn names(mode: Mode, seed: u64) -> Vec<String> {
        let runs = runs(&an_experiment(mode), &LIMITS, Seed(seed)).expect("possible");
        runs.into_iter().map(|run| run.name).collect()
    }

    #[test]
    fn stable_draws_the_order_from_the_seed() {
        let one = names(Mode::Stable, 1);
        assert_eq!(one.len(), 6 * 3);
        assert_eq!(one, names(Mode::Stable, 1));
        let orders: BTreeSet<_> = (1..20).map(|seed| names(Mode::Stable, seed)).collect();
        assert!(orders.len() > 15, "{} orders", orders.len());
        // Each protocol's patterns follow each other, in orders of their own.
        for three in one.chunks(3) {
            let label = three[0].rsplit_once('-').expect("with a pattern").0;
            assert!(three.iter().all(|name| name.starts_with(label)), "{one:?}");
        }
        let mut sorted = one.clone();
        sorted.sort();
        let mut other = names(Mode::Stable, 2);
        other.sort();
        assert_eq!(sorted, other);
    }

    #[test]
    fn mobile_runs_the_multipath_transports_with_the_first_pattern() {
        let expected = [
            "mptcp-backup",
            "mptcp-fullmesh",
            "mpquic-backup",
            "mpquic-fullmesh",
        ];
        assert_eq!(names(Mode::Mobile, 1), expected);
        let mut single = an_experiment(Mode::Mobile);
        single.transports.retain(|t| !t.starts_with('m'));
        let error = runs(&single, &LIMITS, Seed(1)).expect_err("nothing to run");
        assert!(
            error.message.contains("no multipath transport"),
            "{error:?}"
        );
    }

    #[test]
    fn tokens_allow_what_the_runs_need_and_no_more_than_there_is() {
        let all = runs(&an_experiment(Mode::Mobile), &LIMITS, Seed(1)).expect("possible");
        // The token bounds the session.
        assert_eq!(all[0].seconds, 270);
        let (bytes, seconds) = needs(&all, &LIMITS);
        assert_eq!(seconds, 300);
        assert!((20_000_000..30_000_000).contains(&bytes), "{bytes}");
        let all = runs(&an_experiment(Mode::Stable), &LIMITS, Seed(1)).expect("possible");
        assert_eq!(needs(&all, &LIMITS).0, LIMITS.token_bytes);
    }

    #[test]
    fn experiments_are_chosen_by_name_or_mode() {
        let all = [an_experiment(Mode::Stable)];
        assert!(experiment(&all, "stable").is_ok() && experiment(&all, "all").is_ok());
        let error = experiment(&all, "al").expect_err("none");
        assert!(error.message.contains("did you mean `all`"), "{error:?}");
        let mut unknown = an_experiment(Mode::Stable);
        unknown.transports.push("sctp".into());
        let error = runs(&unknown, &LIMITS, Seed(1)).expect_err("too new");
        assert!(error.message.contains("`sctp`") && error.message.contains("update walkabout"));
        let mut twice = an_experiment(Mode::Stable);
        twice.traffic[1] = twice.traffic[0].clone();
        let runs = runs(&twice, &LIMITS, Seed(1)).expect("possible");
        let names: BTreeSet<_> = runs.iter().map(|run| &run.name).collect();
        assert_eq!(names.len(), runs.len());
    }
}
