//! `walkabout study --dry-run`: what would run, and for how long.

use super::experiment::Experiment;
use super::panic;
use super::progress::duration;
use crate::command::run::progress::OVERHEAD;
use measure::world::virtual_time;
use model::World;
use model::manifest::Status;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Probing goes on for this long; what is not probed by then is taken as the others were.
const PROBE: Duration = Duration::from_secs(3);

/// How long the runs take on `jobs` cores, and where that is from.
struct Expected {
    seconds: Option<f64>,
    from: String,
}

/// Prints the matrix and the expected duration, or returns them for `--json`.
pub fn show(experiment: &Experiment, jobs: usize, json: bool) -> Option<Value> {
    let plan = &experiment.plan;
    let study = experiment.study();
    let expected = match study.world {
        World::Virtual => probed(experiment, jobs),
        World::Emulated | World::Live => real(experiment, jobs),
    };
    if json {
        let cases = plan.cases.iter().map(|case| {
            json!({"label": case.label(), "scenario": case.scenario.name,
                   "parameters": case.parameters})
        });
        let arms: Vec<&str> = plan.arms.iter().map(|arm| arm.label.as_str()).collect();
        let value = json!({
            "study": study.name,
            "world": study.world,
            "cases": cases.collect::<Vec<_>>(),
            "arms": arms,
            "baseline": arms[plan.baseline],
            "seeds": study.seeds,
            "a_a": study.a_a,
            "blocks": experiment.blocks(),
            "runs": plan.runs.len(),
            "side_by_side": jobs,
            "expected_seconds": expected.seconds,
            "expected_from": expected.from,
        });
        return Some(value);
    }
    println!("{}: {}", study.name, study.summary);
    for (i, case) in plan.cases.iter().enumerate() {
        let runs = plan.runs.iter().filter(|run| run.case == i).count();
        println!("  {:40} {runs} runs", case.label());
    }
    for (i, arm) in plan.arms.iter().enumerate() {
        let baseline = if i == plan.baseline {
            "  (baseline)"
        } else {
            ""
        };
        println!("  {}{baseline}", arm.label);
    }
    let last = study.seeds.seed(study.seeds.count - 1, 0);
    println!(
        "  seeds {} to {last}{}",
        study.seeds.from,
        if study.a_a {
            ", each arm twice in a block"
        } else {
            ""
        }
    );
    let takes = match expected.seconds {
        Some(seconds) => format!("about {}", duration(seconds)),
        None => "of unknown duration".to_owned(),
    };
    println!(
        "{} runs in {} blocks, {jobs} side by side in the {} world, {takes} ({})",
        plan.runs.len(),
        experiment.blocks(),
        study.world.name(),
        expected.from
    );
    None
}

/// In real time a run takes its duration.
fn real(experiment: &Experiment, jobs: usize) -> Expected {
    let cases = &experiment.plan.cases;
    let runs = experiment.plan.runs.iter();
    let each = runs.map(|run| (cases[run.case].scenario.duration.get() + OVERHEAD).as_secs_f64());
    Expected {
        seconds: Some(each.sum::<f64>() / jobs as f64),
        from: "from the scenarios' durations".to_owned(),
    }
}

/// In virtual time one run of each case says what the others take.
fn probed(experiment: &Experiment, jobs: usize) -> Expected {
    panic::keep_quiet();
    let plan = &experiment.plan;
    let start = Instant::now();
    let (mut took, mut simulated, mut probes) = (0.0, 0.0, 0);
    for case in 0..plan.cases.len() {
        if start.elapsed() > PROBE {
            break;
        }
        // Another arm in each case, as their costs differ.
        let own: Vec<usize> = (0..plan.runs.len())
            .filter(|&i| plan.runs[i].case == case)
            .collect();
        let Some(&place) = own.get(case % plan.arms.len().min(own.len()).max(1)) else {
            continue;
        };
        let spec = experiment.spec(place, Path::new(""));
        let before = Instant::now();
        let error = match panic::caught(|| virtual_time::simulate(&spec)) {
            Ok((manifest, _)) if manifest.status == Status::Complete => None,
            Ok((manifest, _)) => Some(manifest.error.unwrap_or_default()),
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            return Expected {
                seconds: None,
                from: format!("a probe failed: {error}"),
            };
        }
        took += before.elapsed().as_secs_f64();
        simulated += spec.scenario.duration.get().as_secs_f64();
        probes += 1;
    }
    let runs = plan.runs.iter();
    let all = runs.map(|run| plan.cases[run.case].scenario.duration.get().as_secs_f64());
    Expected {
        seconds: Some(all.sum::<f64>() * took / f64::max(simulated, 1e-9) / jobs as f64),
        from: format!("estimated from {probes} runs, one per case"),
    }
}
