//! Which paths, links, changes and walks contradict themselves?

use super::super::Path;
use super::super::key::KeyPath;
use super::super::link::{Burst, Change, Link, Reorder};
use super::super::walk::Walk;
use super::{Fault, plain_name, require, within_run};
use crate::path::{Direction, Name};
use crate::units::{Probability, Span};
use std::ops::RangeInclusive;

/// IFNAMSIZ of Linux (16) without the final NUL: a path's name is its interface's name.
const LONGEST_PATH_NAME: usize = 15;
/// The address plan and the report's colours end here.
const MOST_PATHS: usize = 8;
/// A full-sized IP packet; a queue that is smaller delivers no bulk data at all.
const FULL_PACKET: u64 = 1500;

/// All paths of a scenario of this length.
pub(super) fn check(paths: &[Path], duration: Span) -> Result<(), Fault> {
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
fn number(x: f64, bounds: RangeInclusive<f64>, key: &KeyPath) -> Result<(), Fault> {
    require(
        bounds.contains(&x),
        key,
        format!("{x} is not from {} to {}", bounds.start(), bounds.end()),
    )
}
