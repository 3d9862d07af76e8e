//! What does a study look like whose effects are known? Made of seeds, as the virtual world does.

use model::Seed;
use rand::RngExt;
use walkabout_analysis::metric::{Observed, Unit, Value, list::METRICS};
use walkabout_analysis::study::{ParameterHead, SCHEMA, ScenarioHead, Study, StudyHead, StudyRun};

/// The metric that stands for the primary one.
pub const METRIC: &str = "delay-max-up";

/// What a run gives by scenario, arm and seed; `None` for a run that failed.
pub type Effect = fn(&str, &str, u64) -> Option<Observed>;

pub fn exact(value: f64) -> Option<Observed> {
    Some(Observed {
        value,
        censored: false,
    })
}

pub fn stalled(value: f64) -> Option<Observed> {
    Some(Observed {
        value,
        censored: true,
    })
}

/// A lognormal factor with the median 1; the same for the same name and seed.
pub fn luck(name: &str, seed: u64, deviation: f64) -> f64 {
    let mut random = Seed(seed).stream(name);
    let radius: f64 = 1.0 - random.random::<f64>();
    let angle = random.random::<f64>() * std::f64::consts::TAU;
    (deviation * (-2.0 * radius.ln()).sqrt() * angle.cos()).exp()
}

/// A study of `scenarios` x `arms` x `seeds`, twice of each when `a_a`; `quic` is the baseline.
pub fn study(scenarios: &[&str], arms: &[&str], seeds: u64, a_a: bool, effect: Effect) -> Study {
    let mut runs = Vec::new();
    for scenario in scenarios {
        for block in 0..seeds {
            for arm in arms {
                for replica in 0..=u64::from(a_a) {
                    let seed = 1 + replica * seeds + block;
                    runs.push(run(
                        scenario,
                        arm,
                        replica,
                        seed,
                        effect(scenario, arm, seed),
                    ));
                }
            }
        }
    }
    Study {
        head: StudyHead {
            schema: SCHEMA.into(),
            walkabout_version: "0.1.0".into(),
            name: "synthetic".into(),
            summary: "what a test made up".into(),
            world: "virtual".into(),
            seed: 1,
            a_a,
            primary: METRIC.into(),
            baseline: "quic".into(),
            scenarios: scenarios
                .iter()
                .map(|name| ScenarioHead {
                    name: (*name).into(),
                    summary: "made up".into(),
                })
                .collect(),
            parameters: vec![ParameterHead {
                name: "cellular-delay".into(),
                key: "path.cellular.delay".into(),
                values: vec!["60 ms".into()],
            }],
            arms: arms.iter().map(|arm| (*arm).to_owned()).collect(),
            paper: None,
        },
        runs,
    }
}

fn run(scenario: &str, arm: &str, replica: u64, seed: u64, value: Option<Observed>) -> StudyRun {
    let (transport, policy) = arm.split_once('-').unwrap_or((arm, "single"));
    let values = METRICS.iter().map(|metric| {
        let value = value?;
        Some(match (metric.name, metric.unit) {
            (METRIC, _) => Value::Number(value),
            (_, Unit::Word) => Value::Word("under-rto".into()),
            (_, Unit::Truth) => Value::exact(1.0),
            _ => Value::exact(value.value / 3.0),
        })
    });
    StudyRun {
        scenario: scenario.into(),
        parameters: vec![("cellular-delay".into(), "60 ms".into())],
        arm: arm.into(),
        transport: transport.into(),
        policy: policy.into(),
        replica,
        seed,
        status: if value.is_some() {
            "complete"
        } else {
            "failed"
        }
        .into(),
        error: value.is_none().then(|| "the server did not answer".into()),
        folder: (seed == 1).then(|| format!("runs/{scenario}-{arm}-{seed}")),
        reproduce: format!("walkabout run {scenario} --seed {seed} --protocol {transport}"),
        values: values.collect(),
    }
}
