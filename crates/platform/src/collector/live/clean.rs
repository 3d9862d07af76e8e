//! What is kept of what a client shows while it measures? The same as of uploads: known words only.

use crate::api::{LiveBatch, LiveEvent, LiveItem};
use crate::collector::refusal::Refusal;
use crate::collector::scrub;
use crate::collector::state::State;
use crate::collector::upload::UNLISTED;
use crate::privacy::keyed_hash;
use measure::transport::list::TRANSPORTS;
use model::live::Ended;

/// Bytes of a cause at most.
const SENTENCE: usize = 2_000;
/// Microseconds of a day: no run is longer.
const DAY_US: u64 = 86_400_000_000;

type Checked = Result<(), Refusal>;

/// Checks and scrubs `batch` in place. Its token is gone afterwards: it is no business of the store's.
pub fn clean(batch: &mut LiveBatch, state: &State) -> Checked {
    let LiveBatch {
        // Hexadecimal digits and a listed server: the token says so.
        test: _,
        server: _,
        experiment,
        token,
        items,
        over: _,
    } = batch;
    token.clear();
    let listed = state.experiments.iter().any(|e| e.name == *experiment);
    if !listed && !scrub::is_plain_name(experiment) {
        UNLISTED.clone_into(experiment);
    }
    for (number, item) in items.iter_mut().enumerate() {
        clean_item(item, &state.network_key)
            .map_err(|what| Refusal::invalid(format!("items[{number}]: {what}")))?;
    }
    Ok(())
}

fn clean_item(item: &mut LiveItem, key: &[u8; 32]) -> Result<(), &'static str> {
    let LiveItem {
        run,
        time_us,
        event,
    } = item;
    if !scrub::is_plain_name(run) {
        return Err("run: the transport's and the policy's name were expected");
    }
    if *time_us > DAY_US {
        return Err("time_us: a run lasts up to a day");
    }
    match event {
        LiveEvent::Started {
            transport,
            policy,
            pattern,
            paths,
        } => {
            if !TRANSPORTS.iter().any(|t| t.name == transport) {
                return Err("transport: there is no such transport");
            }
            if policy::list::find(policy).is_none() {
                return Err("policy: there is no such policy");
            }
            if !scrub::is_plain_name(pattern) {
                return Err("pattern: there is no such pattern");
            }
            if !(1..=8).contains(&paths.len()) {
                return Err("paths: 1 to 8 were expected");
            }
            paths.iter_mut().try_for_each(|path| clean_path(path, key))
        }
        LiveEvent::Message {
            direction: _,
            delay_us: time_us,
        }
        | LiveEvent::Waiting { waited_us: time_us } => match *time_us > DAY_US {
            true => Err("a delay of more than a day"),
            false => Ok(()),
        },
        LiveEvent::PathInUse { path } | LiveEvent::Path { path, up: _ } => clean_path(path, key),
        LiveEvent::Decision {
            action,
            path,
            cause,
        } => {
            if action.len().max(cause.len()) > SENTENCE {
                return Err("action and cause have at most 2000 bytes");
            }
            *action = scrub::text(action);
            *cause = scrub::text(cause);
            clean_path(path, key)
        }
        LiveEvent::Signal { path, signal_dbm } => {
            if !(-200.0..=50.0).contains(signal_dbm) {
                return Err("signal_dbm: a signal is -200 to 50 dBm");
            }
            clean_path(path, key)
        }
        LiveEvent::Ended { why } => {
            let word = serde_json::Value::String(why.clone());
            match serde_json::from_value::<Ended>(word) {
                Ok(_) => Ok(()),
                Err(_) => Err("why: no way for a run to end"),
            }
        }
    }
}

/// A path's name, or a code for one that is not made of known words (an interface's may hold its
/// hardware address).
fn clean_path(path: &mut String, key: &[u8; 32]) -> Result<(), &'static str> {
    if path.is_empty() || path.len() > 15 {
        return Err("path: a name of 1 to 15 bytes was expected");
    }
    if !scrub::is_plain_name(path) {
        *path = format!("path-{}", &keyed_hash(key, path)[..4]);
    }
    Ok(())
}
