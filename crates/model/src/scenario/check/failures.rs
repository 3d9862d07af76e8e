//! Which failures contradict the rest of the scenario?

use super::super::Path;
use super::super::failure::{Failure, FailureKind, Phase};
use super::super::key::KeyPath;
use super::super::parse::one_of;
use super::{Fault, fault, require, within_run};
use crate::units::Span;
use std::time::Duration;

/// All failures of a scenario with these paths and this length.
pub(super) fn check(failures: &[Failure], paths: &[Path], duration: Span) -> Result<(), Fault> {
    let list = KeyPath::top("failure");
    for (i, failure) in failures.iter().enumerate() {
        let Failure {
            path,
            kind,
            direction,
            loss,
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
        require(
            loss.is_none() || *kind == FailureKind::SilentLoss,
            &key.key("loss"),
            "only a `silent-loss` takes a share of the packets; an interface fails for all",
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
        None => Span::from(Duration::MAX),
        Some(length) => Span::from(f.at.latest().get().saturating_add(length.get())),
    };
    a.path == b.path
        && a.kind.is_visible()
        && b.kind.is_visible()
        && a.at.earliest() < over(b)
        && b.at.earliest() < over(a)
}
