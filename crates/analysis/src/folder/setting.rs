//! Which runs are of one setting? Scenarios of one name may differ in a value (`--set`, a study's
//! parameter), and a scenario may have been run in two worlds: these are not repetitions.

use super::RunFolder;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Differing keys that a label names; of more it says how many.
const NAMED: usize = 2;

/// What each run is of: the scenario's name, and where several of `runs` share it but not its
/// settings or their world, what tells them apart: `blackhole (path.cellular.up.delay 60 ms)`.
pub fn settings(runs: &[RunFolder]) -> Vec<String> {
    let flat: Vec<BTreeMap<String, String>> = runs.iter().map(of).collect();
    let mut differing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (run, own) in runs.iter().zip(&flat) {
        let name = run.manifest.scenario.name.as_str();
        let keys = differing.entry(name).or_default();
        for (other, others) in runs.iter().zip(&flat) {
            if other.manifest.scenario.name == name && own != others {
                let different = |key: &&String| own.get(*key) != others.get(*key);
                keys.extend(
                    own.keys()
                        .chain(others.keys())
                        .filter(different)
                        .map(String::as_str),
                );
            }
        }
    }
    let labels = runs.iter().zip(&flat).map(|(run, own)| {
        let name = &run.manifest.scenario.name;
        let keys = &differing[name.as_str()];
        if keys.is_empty() {
            return name.clone();
        }
        let mut parts: Vec<String> = keys
            .iter()
            .take(NAMED)
            .map(|key| match (*key, own.get(*key)) {
                ("world", Some(world)) => world.clone(),
                (key, Some(value)) => format!("{key} {value}"),
                (key, None) => format!("no {key}"),
            })
            .collect();
        if keys.len() > NAMED {
            // What is not named has to tell runs apart all the same.
            let rest: Vec<_> = keys.iter().skip(NAMED).map(|key| own.get(*key)).collect();
            parts.push(format!("setting {}", short(&format!("{rest:?}"))));
        }
        format!("{name} ({})", parts.join(", "))
    });
    labels.collect()
}

/// The world and every value of the scenario that runs may not differ in, by its key.
fn of(run: &RunFolder) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::from([("world".to_owned(), run.manifest.world.clone())]);
    let scenario = serde_json::to_value(&run.manifest.scenario).unwrap_or_default();
    if let Value::Object(keys) = scenario {
        for (key, value) in keys {
            // Which transports and policies are listed says nothing of a single run.
            if !["name", "summary", "transports", "policies"].contains(&key.as_str()) {
                flatten(&key, &value, &mut flat);
            }
        }
    }
    flat
}

fn flatten(key: &str, value: &Value, flat: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(keys) => {
            for (name, value) in keys {
                flatten(&format!("{key}.{name}"), value, flat);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                // Paths go by their names, as in `--set`.
                let name = value.get("name").and_then(Value::as_str);
                let place = name.map_or_else(|| index.to_string(), str::to_owned);
                flatten(&format!("{key}.{place}"), value, flat);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            flat.insert(key.to_owned(), text.clone());
        }
        other => {
            flat.insert(key.to_owned(), other.to_string());
        }
    }
}

/// Four letters that tell texts apart (FNV-1a).
fn short(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{:04x}", hash & 0xffff)
}
