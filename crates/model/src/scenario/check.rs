//! Which scenarios contradict themselves or ask for the impossible?

use super::failure::{Failure, FailureKind, Phase};
use super::key::KeyPath;
use super::link::{Burst, Change, Link, Reorder};
use super::parse::one_of;
use super::traffic::Traffic;
use super::walk::Walk;
use super::{Path, Scenario, ScenarioError};
use crate::path::{Direction, Name};
use crate::units::{Probability, Span};

/// What is wrong with a scenario, before anyone looked up the line.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) key: KeyPath,
    pub(super) message: String,
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

    /// Checks the names of transports and policies, which this crate does not know.
    ///
    /// # Errors
    /// The first name that is in neither list, without a file and line
    /// ([`super::Document::check_names`] has them).
    pub fn check_names(&self, transports: &[&str], policies: &[&str]) -> Result<(), ScenarioError> {
        names(self, transports, policies).map_err(ScenarioError::from)
    }
}

/// IFNAMSIZ of Linux (16) without the final NUL: a path's name is its interface's name.
const LONGEST_PATH_NAME: usize = 15;
/// The address plan and the report's colours end here.
const MOST_PATHS: usize = 8;
/// An interactive message carries its number and kind: 9 bytes (MultipathTester's ack).
const SMALLEST_MESSAGE: u64 = 9;
/// A full-sized IP packet; a queue that is smaller delivers no bulk data at all.
const FULL_PACKET: u64 = 1500;

/// `Err` with a sentence about `key`.
fn fault<T>(key: &KeyPath, wrong: impl AsRef<str>) -> Result<T, Fault> {
    Err(Fault {
        message: format!("{}: {}", key.in_words(), wrong.as_ref()),
        key: key.clone(),
    })
}

/// `Err` with a sentence about `key` unless `right`.
fn require(right: bool, key: &KeyPath, wrong: impl AsRef<str>) -> Result<(), Fault> {
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
        traffic: pattern,
        paths: all_paths,
        failures: all_failures,
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
    traffic(pattern)?;
    paths(all_paths, *duration)?;
    failures(all_failures, all_paths, *duration)
}

/// The names of transports and policies against the lists of those that exist.
pub(super) fn names(
    scenario: &Scenario,
    transports: &[&str],
    policies: &[&str],
) -> Result<(), Fault> {
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
    Ok(())
}

/// A name that is also part of a file's name.
fn plain_name(name: &str, key: &KeyPath) -> Result<(), Fault> {
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

fn list_of_names(names: &[String], key: &KeyPath) -> Result<(), Fault> {
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
    }
}

fn paths(paths: &[Path], duration: Span) -> Result<(), Fault> {
    let list = KeyPath::top("path");
    require(
        !paths.is_empty(),
        &list,
        "no path; describe at least one, each under a [[path]] of its own",
    )?;
    require(
        paths.len() <= MOST_PATHS,
        &list.index(MOST_PATHS),
        format!("{} paths; at most {MOST_PATHS} are possible", paths.len()),
    )?;
    for (i, path) in paths.iter().enumerate() {
        let key = list.index(i);
        path_name(&path.name, &paths[..i], &key.key("name"))?;
        for (name, direction) in [("up", &path.up), ("down", &path.down)] {
            link(direction, &key.key(name))?;
            if path.walk.is_some() {
                walked_link(direction, &key.key(name))?;
            }
        }
        changes(path, duration, &key.key("change"))?;
        if let Some(parameters) = &path.walk {
            walk(parameters, &key.key("walk"))?;
        }
    }
    Ok(())
}

fn path_name(name: &Name, earlier: &[Path], key: &KeyPath) -> Result<(), Fault> {
    let text = name.as_str();
    plain_name(text, key)?;
    require(
        text.len() <= LONGEST_PATH_NAME,
        key,
        format!(
            "`{name}` is longer than {LONGEST_PATH_NAME} letters, the most that the name of a \
             network interface has"
        ),
    )?;
    // `lo` exists in every namespace; the other two stand for groups of interfaces in sysctls.
    require(
        !["lo", "all", "default"].contains(&text),
        key,
        format!("`{name}` means something else to the kernel; choose another name"),
    )?;
    require(
        earlier.iter().all(|p| p.name != *name),
        key,
        format!("another path is called `{name}`; each needs a name of its own"),
    )
}

fn link(link: &Link, key: &KeyPath) -> Result<(), Fault> {
    let Link {
        rate,
        trace,
        delay: _,
        jitter: _,
        loss: _,
        burst,
        reorder,
        duplicate: _,
        queue,
    } = link;
    require(
        rate.is_none() || trace.is_none(),
        &key.key("trace"),
        "`rate` is given as well; a link has one or the other",
    )?;
    if let Some(rate) = rate {
        require(
            rate.bits_per_second() > 0,
            &key.key("rate"),
            "nothing passes at rate zero; leave `rate` out for an unlimited link, or cut it with \
             a [[path.change]] that has `up = false`",
        )?;
    }
    if let Some(trace) = trace {
        require(
            !trace.as_os_str().is_empty(),
            &key.key("trace"),
            "the name of a trace file was expected",
        )?;
    }
    if let Some(Burst { leave, .. }) = burst {
        require(
            *leave > Probability::ZERO,
            &key.key("burst").key("leave"),
            "a burst that never ends is no burst; more than 0 was expected",
        )?;
    }
    if let Some(Reorder { hold, .. }) = reorder {
        require(
            *hold > Span::ZERO,
            &key.key("reorder").key("hold"),
            "a packet that is held back for no time stays in order; more than `0 s` was expected",
        )?;
    }
    require(
        queue.limit.bytes() >= FULL_PACKET,
        &key.key("queue").key("limit"),
        format!(
            "`{}` holds no full-sized packet; at least `{FULL_PACKET} B` was expected",
            queue.limit
        ),
    )
}

/// What a walk needs of a link beyond the rest.
fn walked_link(link: &Link, key: &KeyPath) -> Result<(), Fault> {
    require(
        link.trace.is_none(),
        &key.key("trace"),
        "the path has a [path.walk], which sets the rate; leave one of them out",
    )?;
    require(
        link.rate.is_some(),
        &key.key("rate"),
        "missing; the [path.walk] scales it, so give the best rate the radio reaches, such as \
         `30 Mbit/s`",
    )
}

fn changes(path: &Path, duration: Span, list: &KeyPath) -> Result<(), Fault> {
    let mut previous = Span::ZERO;
    for (i, change) in path.changes.iter().enumerate() {
        let Change {
            at,
            direction,
            rate,
            delay,
            loss,
            up,
        } = change;
        let key = list.index(i);
        within_run(*at, duration, &key.key("at"))?;
        require(
            *at >= previous,
            &key.key("at"),
            format!("`{at}` is before the previous change at `{previous}`; put them in order"),
        )?;
        previous = *at;
        require(
            rate.is_some() || delay.is_some() || loss.is_some() || up.is_some(),
            &key,
            "changes nothing; one of rate, delay, loss, up was expected",
        )?;
        let walked = "the path has a [path.walk], which sets it; leave one of them out";
        require(
            rate.is_none() || path.walk.is_none(),
            &key.key("rate"),
            walked,
        )?;
        require(
            loss.is_none() || path.walk.is_none(),
            &key.key("loss"),
            walked,
        )?;
        let traced = |link: &Link, its: Direction| {
            link.trace.is_some() && direction.is_none_or(|chosen| chosen == its)
        };
        let traced = traced(&path.up, Direction::Up) || traced(&path.down, Direction::Down);
        require(
            rate.is_none() || !traced,
            &key.key("rate"),
            "the link has a `trace`, which sets it; leave one of them out",
        )?;
    }
    Ok(())
}

fn within_run(at: Span, duration: Span, key: &KeyPath) -> Result<(), Fault> {
    require(
        at < duration,
        key,
        format!("`{at}` is not within the run, which ends at `{duration}`"),
    )
}

fn walk(walk: &Walk, key: &KeyPath) -> Result<(), Fault> {
    let Walk {
        waypoints,
        signal_at_1m_dbm,
        path_loss_exponent,
        shadowing_db,
        correlation_m,
    } = walk;
    let list = key.key("waypoints");
    require(
        !waypoints.is_empty(),
        &list,
        "no waypoint; give at least one, such as { at = \"0 s\", distance_m = 3 }",
    )?;
    for (i, waypoint) in waypoints.iter().enumerate() {
        let key = list.index(i);
        if let Some(previous) = i.checked_sub(1).map(|p| waypoints[p].at) {
            require(
                waypoint.at > previous,
                &key.key("at"),
                format!(
                    "`{}` is not after the previous waypoint at `{previous}`",
                    waypoint.at
                ),
            )?;
        }
        number(waypoint.distance_m, 1.0..=1e6, &key.key("distance_m"))?;
    }
    // Wide bounds: they catch a lost sign or unit, not an unusual radio.
    let dbm = key.key("signal_at_1m_dbm");
    number(*signal_at_1m_dbm, -100.0..=30.0, &dbm)?;
    let exponent = key.key("path_loss_exponent");
    number(*path_loss_exponent, 1.0..=10.0, &exponent)?;
    number(*shadowing_db, 0.0..=30.0, &key.key("shadowing_db"))?;
    number(*correlation_m, 0.1..=1e4, &key.key("correlation_m"))
}

/// A number within bounds; NaN is within none.
fn number(x: f64, bounds: std::ops::RangeInclusive<f64>, key: &KeyPath) -> Result<(), Fault> {
    require(
        bounds.contains(&x),
        key,
        format!("{x} is not from {} to {}", bounds.start(), bounds.end()),
    )
}

fn failures(failures: &[Failure], paths: &[Path], duration: Span) -> Result<(), Fault> {
    let list = KeyPath::top("failure");
    for (i, failure) in failures.iter().enumerate() {
        let Failure {
            path,
            kind,
            direction,
            at,
            duration: length,
        } = failure;
        let key = list.index(i);
        if !paths.iter().any(|p| p.name == *path) {
            let known: Vec<&str> = paths.iter().map(|p| p.name.as_str()).collect();
            let expected = one_of(path.as_str(), &known);
            return fault(
                &key.key("path"),
                format!("no path is called `{path}`; {expected}"),
            );
        }
        require(
            direction.is_none() || *kind == FailureKind::SilentLoss,
            &key.key("direction"),
            "only a `silent-loss` has a direction; an interface fails in both",
        )?;
        match at {
            Phase::Fixed(at) => within_run(*at, duration, &key.key("at"))?,
            Phase::Drawn { from, to } => {
                let key = key.key("at");
                require(
                    from <= to,
                    &key,
                    format!("the window ends at `{to}`, before it begins at `{from}`"),
                )?;
                within_run(*to, duration, &key.key("to"))?;
            }
        }
        require(
            *length != Some(Span::ZERO),
            &key.key("duration"),
            "a failure of no length is none; leave it out for one that lasts to the end",
        )?;
        for earlier in &failures[..i] {
            require(
                !may_overlap(earlier, failure),
                &key.key("at"),
                format!(
                    "an earlier [[failure]] of the interface `{path}` may last into this one; one \
                     must be repaired before the next"
                ),
            )?;
        }
    }
    Ok(())
}

/// Whether, under some seed, the interface would have to fail while it is down already.
fn may_overlap(a: &Failure, b: &Failure) -> bool {
    let over = |f: &Failure| match f.duration {
        None => Span::from(std::time::Duration::MAX),
        Some(length) => Span::from(f.at.latest().get().saturating_add(length.get())),
    };
    a.path == b.path
        && a.kind.is_visible()
        && b.kind.is_visible()
        && a.at.earliest() < over(b)
        && b.at.earliest() < over(a)
}
