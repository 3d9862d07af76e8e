//! What does a study look like whose values are known?

use walkabout_analysis::metric::{Observed, Value, list::METRICS};
use walkabout_analysis::study::{self, ParameterHead, SCHEMA, ScenarioHead, StudyHead, StudyRun};

type Effect = Box<dyn Fn(&str, &str, u64) -> Option<Observed>>;

/// Arms, the values of a parameter, and what a run gives by arm, value and seed.
pub struct Study {
    arms: Vec<&'static str>,
    effect: Effect,
    pub parameter: (&'static str, &'static [&'static str]),
    pub seeds: u64,
}

pub fn exact(value: f64) -> Option<Observed> {
    let censored = false;
    Some(Observed { value, censored })
}

pub fn stalled(value: f64) -> Option<Observed> {
    let censored = true;
    Some(Observed { value, censored })
}

impl Study {
    /// Ten seeds of `arms` over three losses.
    pub fn of(
        arms: &[&'static str],
        effect: impl Fn(&str, &str, u64) -> Option<Observed> + 'static,
    ) -> Study {
        Study {
            arms: arms.to_vec(),
            effect: Box::new(effect),
            parameter: ("loss", &["40 %", "5 %", "10 %"]),
            seeds: 10,
        }
    }

    pub fn made(&self) -> study::Study {
        let (name, values) = self.parameter;
        let mut runs = Vec::new();
        for value in values {
            for seed in 1..=self.seeds {
                for arm in &self.arms {
                    let found = (self.effect)(arm, value, seed);
                    runs.push(run(arm, (name, value), seed, found));
                }
            }
        }
        study::Study {
            head: StudyHead {
                schema: SCHEMA.into(),
                walkabout_version: "0.1.0".into(),
                name: "made-up".into(),
                summary: "what a test made up".into(),
                world: "virtual".into(),
                seed: 1,
                a_a: false,
                primary: "delay-max-up".into(),
                baseline: self.arms[0].into(),
                scenarios: vec![ScenarioHead {
                    name: "blackhole".into(),
                    summary: "made up".into(),
                }],
                parameters: vec![ParameterHead {
                    name: name.into(),
                    key: "failure.0.loss".into(),
                    values: values.iter().map(|v| (*v).to_owned()).collect(),
                }],
                arms: self.arms.iter().map(|arm| (*arm).to_owned()).collect(),
                paper: None,
            },
            runs,
        }
    }
}

fn run(arm: &str, parameter: (&str, &str), seed: u64, found: Option<Observed>) -> StudyRun {
    let values = METRICS.iter().map(|metric| match metric.name {
        "delay-max-up" => found.map(Value::Number),
        _ => None,
    });
    StudyRun {
        scenario: "blackhole".into(),
        parameters: vec![(parameter.0.into(), parameter.1.into())],
        arm: arm.into(),
        transport: "mptcp".into(),
        policy: "backup".into(),
        replica: 0,
        seed,
        status: if found.is_some() {
            "complete"
        } else {
            "failed"
        }
        .into(),
        error: found.is_none().then(|| "it broke".into()),
        folder: None,
        reproduce: format!("walkabout run blackhole --seed {seed}"),
        values: values.collect(),
    }
}
