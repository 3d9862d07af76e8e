//! Which scenarios contradict themselves or ask for the impossible?

mod failures;
mod paths;

use super::key::KeyPath;
use super::parse::one_of;
use super::traffic::Traffic;
use super::{Scenario, ScenarioError};
use crate::units::Span;

/// What is wrong with a scenario, before anyone looked up the line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) key: KeyPath,
    pub(crate) message: String,
}

impl From<Fault> for ScenarioError {
    fn from(fault: Fault) -> ScenarioError {
        ScenarioError {
            file: String::new(),
            line: None,
            column: None,
            key: fault.key.to_string(),
            message: fault.message,
        }
    }
}

impl Scenario {
    /// Checks what the types cannot: names that exist, times in order and within the run, keys
    /// that exclude each other, sizes that can be sent.
    ///
    /// [`Scenario::parse`] does this with line numbers; call it after changing a scenario.
    ///
    /// # Errors
    /// The first thing wrong, without a file and line.
    pub fn check(&self) -> Result<(), ScenarioError> {
        scenario(self).map_err(ScenarioError::from)
    }

    /// Checks the names of transports, policies and the scheduler, which this crate does not know.
    ///
    /// # Errors
    /// The first name that is in no list, without a file and line
    /// ([`super::Document::check_names`] has them).
    pub fn check_names(&self, known: &Names<'_>) -> Result<(), ScenarioError> {
        names(self, known).map_err(ScenarioError::from)
    }
}

/// The names there are of what other crates bring.
#[derive(Clone, Copy, Debug)]
pub struct Names<'n> {
    /// Transports.
    pub transports: &'n [&'n str],
    /// Policies: path managers.
    pub policies: &'n [&'n str],
    /// Packet schedulers of the user-space stack.
    pub schedulers: &'n [&'n str],
}

/// An interactive message carries its number and kind: 9 bytes (MultipathTester's ack).
const SMALLEST_MESSAGE: u64 = 9;

/// `Err` with a sentence about `key`.
pub(crate) fn fault<T>(key: &KeyPath, wrong: impl AsRef<str>) -> Result<T, Fault> {
    Err(Fault {
        message: format!("{}: {}", key.in_words(), wrong.as_ref()),
        key: key.clone(),
    })
}

/// `Err` with a sentence about `key` unless `right`.
pub(crate) fn require(right: bool, key: &KeyPath, wrong: impl AsRef<str>) -> Result<(), Fault> {
    if right { Ok(()) } else { fault(key, wrong) }
}

/// Every check of a scenario on its own.
pub(super) fn scenario(scenario: &Scenario) -> Result<(), Fault> {
    let Scenario {
        name,
        summary,
        duration,
        transports,
        policies,
        congestion,
        scheduler,
        server_scheduler,
        family: _,
        oracle,
        traffic: pattern,
        paths,
        failures,
    } = scenario;
    plain_name(name, &KeyPath::top("name"))?;
    require(
        !summary.trim().is_empty() && !summary.contains('\n'),
        &KeyPath::top("summary"),
        "one line that says what the scenario shows was expected",
    )?;
    require(
        *duration > Span::ZERO,
        &KeyPath::top("duration"),
        "a run of no length shows nothing; give a time such as `30 s`",
    )?;
    list_of_names(transports, &KeyPath::top("transports"))?;
    list_of_names(policies, &KeyPath::top("policies"))?;
    if let Some(congestion) = congestion {
        plain_name(congestion, &KeyPath::top("congestion"))?;
    }
    for (key, scheduler) in [
        ("scheduler", scheduler),
        ("server_scheduler", server_scheduler),
    ] {
        if let Some(scheduler) = scheduler {
            plain_name(scheduler, &KeyPath::top(key))?;
        }
    }
    if let Some(oracle) = oracle {
        super::oracle::check(oracle)?;
    }
    traffic(pattern)?;
    paths::check(paths, *duration)?;
    failures::check(failures, paths, *duration)
}

/// The names in a scenario against the lists of those that exist.
pub(super) fn names(scenario: &Scenario, known: &Names<'_>) -> Result<(), Fault> {
    let Names {
        transports,
        policies,
        schedulers,
    } = *known;
    let lists = [
        ("transports", "transport", &scenario.transports, transports),
        ("policies", "policy", &scenario.policies, policies),
    ];
    for (key, kind, used, known) in lists {
        for (i, name) in used.iter().enumerate() {
            require(
                known.contains(&name.as_str()),
                &KeyPath::top(key).index(i),
                format!("unknown {kind} `{name}`; {}", one_of(name, known)),
            )?;
        }
    }
    for (key, name) in [
        ("scheduler", &scenario.scheduler),
        ("server_scheduler", &scenario.server_scheduler),
    ] {
        let Some(name) = name.as_deref() else {
            continue;
        };
        require(
            schedulers.contains(&name),
            &KeyPath::top(key),
            format!("unknown scheduler `{name}`; {}", one_of(name, schedulers)),
        )?;
    }
    Ok(())
}

/// A name that is also part of a file's name.
pub(crate) fn plain_name(name: &str, key: &KeyPath) -> Result<(), Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    require(
        name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain),
        key,
        format!(
            "`{name}` is no name; letters, digits, `-` and `_` are allowed, the first a letter \
             or digit"
        ),
    )
}

pub(crate) fn list_of_names(names: &[String], key: &KeyPath) -> Result<(), Fault> {
    require(
        !names.is_empty(),
        key,
        "the list is empty; name at least one",
    )?;
    for (i, name) in names.iter().enumerate() {
        require(
            !names[..i].contains(name),
            &key.index(i),
            format!("`{name}` is in the list twice"),
        )?;
    }
    Ok(())
}

fn traffic(traffic: &Traffic) -> Result<(), Fault> {
    let key = KeyPath::top("traffic").key(traffic.name());
    match traffic {
        Traffic::Interactive(t) => {
            for (name, size) in [("chunk_size", t.chunk_size), ("ack_size", t.ack_size)] {
                require(
                    size.bytes() >= SMALLEST_MESSAGE,
                    &key.key(name),
                    format!(
                        "`{size}` is too small: a message's number and kind take \
                         {SMALLEST_MESSAGE} B"
                    ),
                )?;
            }
            require(
                t.period > Span::ZERO,
                &key.key("period"),
                "no time between two chunks; give a time such as `100 ms`",
            )
        }
        Traffic::Ping(t) => {
            let count = key.key("count");
            require(t.count > 0, &count, "at least 1 request was expected")?;
            let size = key.key("size");
            require(t.size.bytes() > 0, &size, "at least `1 B` was expected")
        }
        Traffic::Bulk(t) => {
            let size = key.key("size");
            require(t.size.bytes() > 0, &size, "at least `1 B` was expected")
        }
        Traffic::Iperf(t) => {
            let duration = key.key("duration");
            let long = "no time to send; give a time such as `7 s`";
            require(t.duration > Span::ZERO, &duration, long)?;
            let size = t.block_size;
            require(
                size.bytes() >= SMALLEST_MESSAGE,
                &key.key("block_size"),
                format!(
                    "`{size}` is too small: a block's number and kind take {SMALLEST_MESSAGE} B"
                ),
            )
        }
    }
}

/// A moment at which something can still be seen.
fn within_run(at: Span, duration: Span, key: &KeyPath) -> Result<(), Fault> {
    require(
        at < duration,
        key,
        format!("`{at}` is not within the run, which ends at `{duration}`"),
    )
}
