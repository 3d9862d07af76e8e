//! What the user gave: a scenario, its traces, names, and a folder; checked before anything runs.

use crate::failure::Failure;
use measure::transport::list::TRANSPORTS;
use model::scenario::{Document, Names, Setting, Traffic, builtin};
use model::{Scenario, spelling};
use policy::list::MANAGERS;
use policy::scheduler::list::SCHEDULERS;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A scenario with the traces it names.
pub struct Input {
    /// The scenario.
    pub scenario: Scenario,
    /// The text of each trace, by its name in the scenario.
    pub traces: BTreeMap<PathBuf, String>,
}

impl Input {
    /// Reads a built-in scenario or a file, with other values for some keys (`KEY=VALUE`) and
    /// with another traffic pattern if one is given.
    pub fn read(given: &str, set: &[String], traffic: Option<&str>) -> Result<Input, Failure> {
        let (text, source, folder) = match builtin::find(given) {
            Some(text) => (text.to_owned(), format!("{given} (built in)"), None),
            None => {
                let file = Path::new(given);
                let text = fs::read_to_string(file).map_err(|e| no_scenario(given, &e))?;
                (text, given.to_owned(), file.parent().map(Path::to_owned))
            }
        };
        let settings = settings(set)?;
        let document = Document::parse_with(&text, &source, &settings).map_err(|error| {
            let mut failure = mistake(error);
            if text.lines().any(|line| line.starts_with("scenarios")) {
                let hint = format!("; this looks like a study: `walkabout study {given}`");
                failure.message.push_str(&hint);
            }
            failure
        })?;
        let known = Names {
            transports: &transports(),
            policies: &policies(),
            schedulers: &schedulers(),
        };
        document.check_names(&known).map_err(mistake)?;
        let mut scenario = document.into_scenario();
        if let Some(name) = traffic {
            scenario.traffic = pattern(name)?;
        }
        let traces = traces(&scenario, folder.as_deref(), &source)?;
        Ok(Input { scenario, traces })
    }

    /// Checks names that came from the command line.
    pub fn check_names(&self, chosen: &[String], managers: &[String]) -> Result<(), Failure> {
        known("transport", chosen, &transports())?;
        known("policy", managers, &policies())
    }
}

/// The text of each trace that `scenario` names; they are beside it, in `folder`.
pub fn traces(
    scenario: &Scenario,
    folder: Option<&Path>,
    source: &str,
) -> Result<BTreeMap<PathBuf, String>, Failure> {
    let mut traces = BTreeMap::new();
    for link in scenario.paths.iter().flat_map(|p| [&p.up, &p.down]) {
        let Some(name) = &link.trace else { continue };
        let file = folder.unwrap_or(Path::new("")).join(name);
        let text = fs::read_to_string(&file).map_err(|e| {
            Failure::usage(format!(
                "{source}: the trace {} cannot be read: {e}; traces are looked for beside the \
                 scenario's file",
                file.display()
            ))
        })?;
        network::trace::Trace::parse(&text)
            .map_err(|e| Failure::usage(format!("{}: {e}", file.display())))?;
        traces.insert(name.clone(), text);
    }
    Ok(traces)
}

/// Reads `KEY=VALUE` as given with `--set`.
fn settings(set: &[String]) -> Result<Vec<Setting>, Failure> {
    let read = |text: &String| {
        Setting::read(text, "--set").ok_or_else(|| {
            Failure::usage(format!(
                "--set {text}: KEY=VALUE was expected, such as --set 'path.cellular.delay=60 ms'"
            ))
        })
    };
    set.iter().map(read).collect()
}

/// The names of the transports.
pub fn transports() -> Vec<&'static str> {
    TRANSPORTS.iter().map(|e| e.name).collect()
}

/// The names of the policies.
pub fn policies() -> Vec<&'static str> {
    MANAGERS.iter().map(|e| e.name).collect()
}

/// The names of the packet schedulers.
pub fn schedulers() -> Vec<&'static str> {
    SCHEDULERS.iter().map(|e| e.name).collect()
}

/// Fails at the first name that is not among `names`.
pub fn known(what: &str, given: &[String], names: &[&str]) -> Result<(), Failure> {
    let Some(name) = given.iter().find(|name| !names.contains(&name.as_str())) else {
        return Ok(());
    };
    let meant = match spelling::nearest(name, names.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    Err(Failure::usage(format!(
        "no {what} is called `{name}`; there are {}{meant}",
        names.join(", ")
    )))
}

fn pattern(name: &str) -> Result<Traffic, Failure> {
    let names: Vec<&str> = traffic::pattern::PATTERNS.iter().map(|e| e.name).collect();
    known("traffic pattern", &[name.to_owned()], &names)?;
    // A pattern's name over an empty table is its defaults.
    serde_json::from_value(serde_json::json!({ name: {} })).map_err(Failure::failed)
}

/// A mistake in a file, with its place.
pub fn mistake(error: model::scenario::ScenarioError) -> Failure {
    Failure {
        at: serde_json::to_value(&error).ok(),
        ..Failure::usage(&error)
    }
}

fn no_scenario(given: &str, error: &std::io::Error) -> Failure {
    let names: Vec<&str> = builtin::SCENARIOS.iter().map(|(name, _)| *name).collect();
    Failure::usage(format!(
        "`{given}` is neither a built-in scenario ({}) nor a file that can be read: {error}",
        names.join(", ")
    ))
}

/// Makes the experiment's folder, or says why it cannot be used.
pub fn claim(out: &Path) -> Result<(), Failure> {
    fs::create_dir_all(out).map_err(|e| {
        Failure::failed(format!(
            "{}: cannot be created: {e}; choose another folder with --out",
            out.display()
        ))
    })?;
    let mut entries = fs::read_dir(out)
        .map_err(|e| Failure::failed(format!("{}: cannot be read: {e}", out.display())))?;
    if entries.next().is_some() {
        return Err(Failure::usage(format!(
            "{} is not empty; choose another folder with --out so that nothing is lost",
            out.display()
        )));
    }
    let probe = out.join(".walkabout");
    fs::write(&probe, b"")
        .and_then(|()| fs::remove_file(&probe))
        .map_err(|e| {
            Failure::failed(format!(
                "{}: cannot be written: {e}; choose another folder with --out",
                out.display()
            ))
        })
}
