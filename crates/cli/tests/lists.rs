//! Whether everything that can be named is documented and has an example.

use model::record::{LinkState, Message, Packet, Record, Sample};
use std::fs;
use std::path::Path;

fn docs(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Fails with all names that `file` does not mention in code type.
fn mentions<'n>(file: &str, names: impl IntoIterator<Item = &'n str>) {
    let text = docs(file);
    let missing: Vec<&str> = names
        .into_iter()
        .filter(|name| !text.contains(&format!("`{name}`")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/{file} says nothing of {missing:?}"
    );
}

fn sorted<'n>(names: impl IntoIterator<Item = &'n str>) {
    let names: Vec<&str> = names.into_iter().collect();
    assert!(!names.is_empty());
    assert!(
        names.is_sorted_by(|a, b| a < b),
        "sorted and unique: {names:?}"
    );
}

#[test]
fn columns_are_documented() {
    fn columns<R: Record>() -> impl Iterator<Item = &'static str> {
        R::COLUMNS.iter().map(|c| c.name)
    }
    mentions("runs.md", columns::<Message>());
    mentions("runs.md", columns::<Sample>());
    mentions("runs.md", columns::<Packet>());
    mentions("runs.md", columns::<LinkState>());
}

#[test]
fn transports_and_policies_are_documented() {
    let transports = measure::transport::list::TRANSPORTS.iter().map(|e| e.name);
    sorted(transports.clone());
    mentions("policies.md", transports);
    let policies = policy::list::MANAGERS.iter().map(|e| e.name);
    sorted(policies.clone());
    mentions("policies.md", policies);
}

#[test]
fn schedulers_and_controllers_are_documented() {
    let schedulers = policy::scheduler::list::SCHEDULERS.iter().map(|e| e.name);
    sorted(schedulers.clone());
    mentions("schedulers.md", schedulers);
    let controllers = policy::congestion::list::CONTROLLERS.iter().map(|e| e.name);
    sorted(controllers.clone());
    mentions("congestion.md", controllers);
}

#[test]
fn patterns_stages_and_scenarios_are_documented() {
    let patterns = traffic::pattern::PATTERNS.iter().map(|e| e.name);
    sorted(patterns.clone());
    mentions("scenarios.md", patterns);
    let stages = network::link::list::STAGES.iter().map(|e| e.name);
    sorted(stages.clone());
    mentions("scenarios.md", stages);
    let scenarios = model::scenario::builtin::SCENARIOS.iter().map(|(n, _)| *n);
    sorted(scenarios.clone());
    mentions("scenarios.md", scenarios);
}

#[test]
fn metrics_are_documented() {
    let metrics = analysis::metric::list::METRICS.iter().map(|e| e.name);
    sorted(metrics.clone());
    mentions("metrics.md", metrics);
}

#[test]
fn energy_models_are_documented() {
    let models = analysis::energy::list::MODELS.iter().map(|e| e.name);
    sorted(models.clone());
    mentions("metrics.md", models);
}
