//! What is seen of a walk away from the Wi-Fi? Live while it happens, and in the result.

use crate::collector::Seen;
use crate::database;
use crate::deployment::Deployment;
use crate::stable::{assert_stored, uploaded};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Messages of each run that are waited for before the Wi-Fi goes.
const BEFORE: usize = 40;
/// What a watcher waits at most for what happens.
const WATCHING: Duration = Duration::from_secs(1);
/// And for what happens while the client's way to the collector changes as well.
const CHANGING: Duration = Duration::from_secs(5);
/// How long the client may take from the loss of the Wi-Fi to the end of its uploads.
const CONCLUDING: Duration = Duration::from_secs(15);

/// The transports of the experiment, as its runs are called.
const RUNS: [&str; 2] = ["mptcp-apple-interactive", "mpquic-apple-interactive"];

/// What tells a message from the others: run, direction, when it was answered, and its delay.
type Key = (String, String, u64, u64);

/// Both multipath transports at once; the access point is switched off meanwhile.
pub fn losing_the_wifi_is_seen_while_it_happens(deployment: &mut Deployment) {
    let rest = deployment.rest();
    let watched = deployment.bystander().watch();
    let mut command = deployment.test(&["--mode", "mobile", "--consent", "agree", "--json-stream"]);
    let client = deployment.start_client(command.args(["--out", "walk"]));

    // When each message was answered at the client, to within the way of a line through a pipe.
    let mut answered: BTreeMap<Key, Instant> = BTreeMap::new();
    let mut lost: Option<Instant> = None;
    let mut result = Value::Null;
    while let Some((at, line)) = client.line() {
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        if line["type"] == "result" {
            result = line;
        } else if let Some(key) = message(&line) {
            answered.insert(key, at);
        }
        let enough = |run: &&str| answered.keys().filter(|key| key.0 == **run).count() >= BEFORE;
        if lost.is_none() && RUNS.iter().all(enough) {
            deployment.ground.wifi(false);
            lost = Some(Instant::now());
        }
    }
    let ended = client.finish();
    let concluded = lost.map(|lost| lost.elapsed()).unwrap_or_default();
    deployment.ground.wifi(true);
    assert!(ended.status.success(), "{ended:?}");
    let lost =
        lost.unwrap_or_else(|| panic!("the test ended before the Wi-Fi was lost: {ended:?}"));

    let runs = result["runs"]
        .as_array()
        .unwrap_or_else(|| panic!("no result: {ended:?}"));
    assert_eq!(runs.len(), RUNS.len(), "{result:#}");
    for run in runs {
        assert_eq!(
            (&run["ended"], &run["error"]),
            (&json!("wifi-lost"), &Value::Null),
            "{run}"
        );
    }
    eprintln!("  uploaded {concluded:?} after the Wi-Fi was lost");
    assert!(
        concluded < CONCLUDING,
        "uploaded {concluded:?} after the Wi-Fi was lost"
    );
    seen_in_time(watched.iter().collect(), &answered, lost);

    let stored = database::runs(&deployment.database);
    for (id, folder) in uploaded(&result, &deployment.home()) {
        assert_stored(deployment, &rest, &stored, &id, &folder);
        let metrics = rest.json(&format!("/api/v1/runs/{id}"))["metrics"].take();
        let name = folder.display();
        let cause = metrics["cellular-cause"].as_str().unwrap_or("missing");
        assert!(!["missing", "none"].contains(&cause), "{name}: {metrics:#}");
        let handover = metrics["handover-sent"]["value"].as_f64();
        assert!(
            handover.is_some(),
            "{name}: no duration of the handover: {metrics:#}"
        );
        let share = metrics["cellular-share"]["value"].as_f64();
        assert!(
            share.is_some_and(|share| share > 0.0),
            "{name}: {metrics:#}"
        );
    }
    let compared = rest.json("/api/v1/compare?mode=mobile");
    let arms = compared["arms"].as_array().map(Vec::len);
    assert_eq!(arms, Some(RUNS.len()), "{compared:#}");
}

/// A message of the client's own stream.
fn message(line: &Value) -> Option<Key> {
    let number = |key: &str| line[key].as_u64();
    let text = |key: &str| line[key].as_str().map(str::to_owned);
    let is_message = line["type"] == "message";
    is_message.then_some(())?;
    Some((
        text("run")?,
        text("direction")?,
        number("acked_us")?,
        number("delay_us")?,
    ))
}

/// What was answered while there was Wi-Fi was seen at the collector within [`WATCHING`].
fn seen_in_time(seen: Vec<Seen>, answered: &BTreeMap<Key, Instant>, lost: Instant) {
    let mut came: BTreeMap<Key, Instant> = BTreeMap::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for Seen { at, item } in &seen {
        let Some((kind, event)) = item["event"]
            .as_object()
            .and_then(|event| event.iter().next())
        else {
            continue;
        };
        *kinds.entry(kind.clone()).or_default() += 1;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let key = || {
            let (run, direction) = (text(&item["run"])?, text(&event["direction"])?);
            Some((
                run,
                direction,
                item["time_us"].as_u64()?,
                event["delay_us"].as_u64()?,
            ))
        };
        if kind == "message"
            && let Some(key) = key()
        {
            came.entry(key).or_insert(*at);
        }
    }
    let mut waited: [Vec<Duration>; 2] = Default::default();
    for (key, at) in answered {
        let shown = came.get(key);
        let shown = shown.unwrap_or_else(|| panic!("{key:?} was not shown; {kinds:?} were"));
        let after = usize::from(*at + WATCHING >= lost);
        waited[after].push(shown.saturating_duration_since(*at));
    }
    for (waited, (when, most)) in waited
        .iter_mut()
        .zip([("before", WATCHING), ("after", CHANGING)])
    {
        waited.sort_unstable();
        let (count, median) = (waited.len(), waited[waited.len() / 2]);
        let last = waited[count - 1];
        eprintln!(
            "  live, {when} the loss: {count} messages, shown after {median:?} (median), {last:?} at most"
        );
        assert!(
            last < most,
            "{when} the loss messages were shown up to {last:?} late"
        );
    }
    for kind in ["started", "message", "path-in-use", "ended"] {
        assert!(
            kinds.contains_key(kind),
            "no `{kind}` was shown; {kinds:?} were"
        );
    }
}
