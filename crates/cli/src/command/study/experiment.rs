//! The study as it is to be carried out: its plan, and what each run needs.

use crate::command::run::LATENESS_BOUND_NS;
use crate::command::run::carry_out;
use crate::command::run::input::{self, mistake};
use crate::failure::Failure;
use analysis::metric::Unit;
use analysis::metric::list::METRICS;
use analysis::study::{ParameterHead, SCHEMA, ScenarioHead, StudyHead, StudyRun};
use measure::transport::list::TRANSPORTS;
use measure::world::plan::RunSpec;
use model::reproduction::Document as Paper;
use model::scenario::builtin as scenarios;
use model::study::{Arm, Document, Plan, ScenarioText, Stack, Study, builtin};
use model::{Seed, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::outcome::Outcome;
use super::paper;

/// What the command line changes in a study.
#[derive(Default)]
pub struct Changes {
    /// Other seeds: so many.
    pub seeds: Option<u64>,
    /// Other folders are kept.
    pub folders: Option<model::study::Folders>,
    /// An A/A study, whatever the file says.
    pub a_a: bool,
    /// Another world.
    pub world: Option<World>,
}

/// A study, ready to be carried out.
pub struct Experiment {
    document: Document,
    /// Its runs.
    pub plan: Plan,
    /// By scenario, in the study's order.
    texts: Vec<ScenarioText>,
    /// The text of each trace, by case.
    traces: Vec<BTreeMap<PathBuf, String>>,
    /// What the study is held against.
    paper: Option<Paper>,
}

impl Experiment {
    /// Reads a built-in study or a file, and the scenarios it names.
    pub fn read(given: &str, changes: &Changes) -> Result<Experiment, Failure> {
        let (text, source) = match builtin::find(given) {
            Some(text) => (text.to_owned(), format!("{given} (built in)")),
            None => (
                fs::read_to_string(given).map_err(|e| no_study(given, &e))?,
                given.to_owned(),
            ),
        };
        let folder = Path::new(given).parent().unwrap_or(Path::new(""));
        let mut document = Document::parse(&text, &source).map_err(|error| {
            let mut failure = mistake(error);
            if text.lines().any(|line| line.starts_with("[[path]]")) {
                let hint = format!("; this looks like a scenario: `walkabout run {given}`");
                failure.message.push_str(&hint);
            }
            failure
        })?;
        let study = document.study_mut();
        let Changes {
            seeds,
            folders,
            a_a,
            world,
        } = changes;
        study.seeds.count = seeds.unwrap_or(study.seeds.count);
        study.folders = folders.unwrap_or(study.folders);
        study.world = world.unwrap_or(study.world);
        study.a_a |= a_a;
        document.check().map_err(mistake)?;
        let numbers = METRICS.iter().filter(|m| m.unit != Unit::Word);
        let metrics: Vec<&str> = numbers.map(|m| m.name).collect();
        document
            .check_names(&input::transports(), &input::policies(), &metrics)
            .map_err(mistake)?;
        let texts = texts(&document, folder)?;
        let stacks: Vec<Stack<'_>> = TRANSPORTS
            .iter()
            .map(|entry| Stack {
                name: entry.name,
                multipath: entry.multipath,
            })
            .collect();
        let (policies, schedulers) = (input::policies(), input::schedulers());
        let plan = Plan::of(&document, &texts, &stacks, &policies, &schedulers);
        let plan = plan.map_err(mistake)?;
        let traces = plan.cases.iter().map(|case| {
            let text = &texts[case.source];
            let beside = Path::new(&text.command).parent();
            input::traces(&case.scenario, beside, &text.source)
        });
        let paper = paper::read(&document, given, folder, &plan, &metrics)?;
        Ok(Experiment {
            paper,
            traces: traces.collect::<Result<_, _>>()?,
            document,
            plan,
            texts,
        })
    }

    /// What the file says, with the changes of the command line.
    pub fn study(&self) -> &Study {
        self.document.study()
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.plan.blocks(self.study())
    }

    /// The run at `place`, to be carried out into its folder below `out`.
    pub fn spec(&self, place: usize, out: &Path) -> RunSpec {
        let run = self.plan.runs[place];
        let arm = &self.plan.arms[run.arm];
        RunSpec {
            world: self.study().world,
            scenario: self.plan.scenario(run.case, run.arm).clone(),
            traces: self.traces[run.case].clone(),
            transport: arm.transport.clone(),
            policy: arm.policy.clone(),
            seed: Seed(run.seed),
            repetition: 0, // as when it is repeated alone
            folder: out.join(self.folder(place)),
            device: None,
            lateness_bound_ns: LATENESS_BOUND_NS,
        }
    }

    /// The run folder of the run at `place`, relative to the study's.
    pub fn folder(&self, place: usize) -> String {
        let run = self.plan.runs[place];
        let case = &self.plan.cases[run.case];
        let label = &self.plan.arms[run.arm].label;
        let name = &case.scenario.name;
        if case.parameters.is_empty() {
            return format!("runs/{name}/{label}-{}", run.seed);
        }
        let first = self.plan.cases.iter().position(|c| c.source == case.source);
        let setting = run.case - first.unwrap_or(0) + 1;
        format!("runs/{name}-{setting}/{label}-{}", run.seed)
    }

    /// The command that repeats the run at `place`; the seed is its last word.
    pub fn reproduce(&self, place: usize) -> String {
        let run = self.plan.runs[place];
        let case = &self.plan.cases[run.case];
        let arm = &self.plan.arms[run.arm];
        let scenario = quoted(&self.texts[case.source].command);
        let mut command = format!(
            "walkabout run {scenario} --world {} --protocol {} --policy {}",
            self.study().world.name(),
            arm.transport,
            arm.policy
        );
        for setting in case.settings.iter().chain(&arm.settings) {
            let set = format!("{}={}", setting.key, setting.value);
            command.push_str(&format!(" --set {}", quoted(&set)));
        }
        format!("{command} --seed {}", run.seed)
    }

    /// Fails when a run of some case and arm could not even be set up: that would fail under
    /// every seed.
    pub fn check(&self) -> Result<(), Failure> {
        let mut seen = BTreeSet::new();
        let runs = self.plan.runs.iter().enumerate();
        let firsts = runs.filter(|(_, run)| seen.insert((run.case, run.arm)));
        let specs: Vec<_> = firsts
            .map(|(place, _)| self.spec(place, Path::new("")))
            .collect();
        carry_out::check(&specs)
    }

    /// The run at `place` and what came of it, as a row of the study's table.
    pub fn row(&self, place: usize, outcome: &Outcome) -> StudyRun {
        let run = self.plan.runs[place];
        let case = &self.plan.cases[run.case];
        let arm = &self.plan.arms[run.arm];
        let Outcome {
            error,
            folder,
            values,
        } = outcome.clone();
        StudyRun {
            scenario: case.scenario.name.clone(),
            parameters: case.parameters.clone(),
            arm: arm.label.clone(),
            transport: arm.transport.clone(),
            policy: arm.policy.clone(),
            replica: run.replica,
            seed: run.seed,
            status: if error.is_none() {
                "complete"
            } else {
                "failed"
            }
            .to_owned(),
            error,
            folder,
            reproduce: self.reproduce(place),
            values,
        }
    }

    /// What the study's table says about the study.
    pub fn head(&self) -> StudyHead {
        let study = self.study();
        let mut scenarios: Vec<ScenarioHead> = Vec::new();
        for case in &self.plan.cases {
            let head = ScenarioHead {
                name: case.scenario.name.clone(),
                summary: case.scenario.summary.clone(),
            };
            if !scenarios.contains(&head) {
                scenarios.push(head);
            }
        }
        let parameters = study.parameters.iter().map(|p| ParameterHead {
            name: p.name.clone(),
            key: p.key.clone(),
            values: p.values.iter().map(|v| v.as_str().to_owned()).collect(),
        });
        StudyHead {
            schema: SCHEMA.to_owned(),
            walkabout_version: env!("CARGO_PKG_VERSION").to_owned(),
            name: study.name.clone(),
            summary: study.summary.clone(),
            world: study.world.name().to_owned(),
            seed: study.order_seed,
            a_a: study.a_a,
            primary: study.primary.clone(),
            baseline: self.plan.arms[self.plan.baseline].label.clone(),
            scenarios,
            parameters: parameters.collect(),
            arms: self.plan.arms.iter().map(|arm| arm.label.clone()).collect(),
            paper: self.paper.as_ref().map(|paper| paper.text().to_owned()),
        }
    }

    /// All that the runs depend on: two studies of which this is equal have the same runs.
    pub fn resolved(&self) -> Value {
        let study = self.study();
        let cases = self
            .plan
            .cases
            .iter()
            .zip(&self.traces)
            .map(|(case, traces)| {
                json!({
                    "scenario": case.scenario,
                    "command": self.texts[case.source].command,
                    "parameters": case.parameters,
                    "traces": traces,
                })
            });
        let metrics = METRICS.iter().map(|m| m.name);
        json!({
            "walkabout_version": env!("CARGO_PKG_VERSION"),
            "study": study.name,
            "world": study.world,
            "seeds": study.seeds,
            "a_a": study.a_a,
            "order_seed": study.order_seed,
            "folders": study.folders,
            "arms": self.plan.arms.iter().map(resolved_arm).collect::<Vec<_>>(),
            "metrics": metrics.collect::<Vec<_>>(),
            "cases": cases.collect::<Vec<_>>(),
        })
    }
}

/// What an arm does; its label says it where the study does not name its arms.
fn resolved_arm(arm: &Arm) -> Value {
    let Arm {
        transport,
        policy,
        label,
        settings,
    } = arm;
    let usual = [transport.clone(), format!("{transport}-{policy}")];
    if settings.is_empty() && usual.contains(label) {
        return json!(label);
    }
    let set: BTreeMap<_, _> = settings.iter().map(|s| (&s.key, &s.value)).collect();
    json!({"label": label, "transport": transport, "policy": policy, "set": set})
}

/// The scenarios that a study names: built in, or files in its own `folder`.
fn texts(document: &Document, folder: &Path) -> Result<Vec<ScenarioText>, Failure> {
    let known: Vec<&str> = scenarios::SCENARIOS.iter().map(|(name, _)| *name).collect();
    let read = |(index, name): (usize, &String)| {
        if let Some(text) = scenarios::find(name) {
            return Ok(ScenarioText {
                text: text.to_owned(),
                source: format!("{name} (built in)"),
                command: name.clone(),
            });
        }
        let file = folder.join(name);
        let text = fs::read_to_string(&file).map_err(|e| {
            let why = format!("{}: {e}", file.display());
            mistake(document.no_scenario(index, &known, &why))
        })?;
        let source = file.display().to_string();
        Ok(ScenarioText {
            text,
            command: source.clone(),
            source,
        })
    };
    let names = document.study().scenarios.iter().enumerate();
    names.map(read).collect()
}

fn no_study(given: &str, error: &std::io::Error) -> Failure {
    let names: Vec<&str> = builtin::STUDIES.iter().map(|(name, _)| *name).collect();
    let meant = match model::spelling::nearest(given, names.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    Failure::usage(format!(
        "`{given}` is neither a built-in study ({}) nor a file that can be read: {error}{meant}",
        names.join(", ")
    ))
}

/// A word of a command as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_quoted_word_as_it_was() {
        assert_eq!(quoted("path.wifi.loss=0.01"), "path.wifi.loss=0.01");
        assert_eq!(quoted("path.wifi.delay=60 ms"), "'path.wifi.delay=60 ms'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    /// What a run says of itself repeats it: the same scenario, seed, transport and policy.
    #[test]
    fn each_run_names_its_folder_and_the_command_that_repeats_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("delays.toml");
        let text = r#"
            name = "delays"
            summary = "Two parameters"
            scenarios = ["blackhole", "steady"]
            transports = ["quic", "mpquic"]
            policies = ["backup"]
            seeds = { from = 7, count = 2 }
            [[parameter]]
            name = "cellular-delay"
            key = "path.cellular.delay"
            values = ["30 ms", "60 ms"]
            [[parameter]]
            name = "loss"
            key = "path.wifi.up.loss"
            values = [0.01, "2 %"]
        "#;
        fs::write(&file, text).expect("our own folder");
        let given = file.to_str().expect("UTF-8");
        let experiment = Experiment::read(given, &Changes::default()).expect("valid");
        let plan = &experiment.plan;
        assert_eq!((plan.cases.len(), plan.runs.len()), (8, 8 * 2 * 2));
        let place = plan
            .runs
            .iter()
            .position(|run| (run.case, run.arm, run.seed) == (5, 1, 8))
            .expect("it is in the plan");
        let row = experiment.row(place, &Outcome::failed("lost"));
        assert_eq!(
            row.reproduce,
            "walkabout run steady --world virtual --protocol mpquic --policy backup \
             --set 'path.cellular.delay=30 ms' --set 'path.wifi.up.loss=2 %' --seed 8"
        );
        assert_eq!(experiment.folder(place), "runs/steady-2/mpquic-backup-8");
        assert_eq!(
            (row.scenario.as_str(), row.status.as_str()),
            ("steady", "failed")
        );
        let parameters = [("cellular-delay", "30 ms"), ("loss", "2 %")];
        assert!(
            row.parameters
                .iter()
                .map(|(n, v)| (&n[..], &v[..]))
                .eq(parameters)
        );
        assert_eq!(
            plan.cases[5].label(),
            "steady cellular-delay=30 ms, loss=2 %"
        );
        let spec = experiment.spec(place, Path::new("out"));
        assert_eq!(spec.scenario.paths[0].up.loss.map(|p| p.get()), Some(0.02));
        assert_eq!(spec.scenario.paths[0].down.loss, None);
        let folders: std::collections::BTreeSet<String> = (0..plan.runs.len())
            .map(|place| experiment.folder(place))
            .collect();
        assert_eq!(
            folders.len(),
            plan.runs.len(),
            "each has a folder of its own"
        );
    }
}
