//! When does Apple's interactive mode leave Wi-Fi? The conditions of MultipathTester (section II-B), which
//! [`super::apple_interactive`] lists and acts on.

use crate::requests::At;
use crate::roles::{HOME, is_up, label};
use crate::silence::millis;
use crate::{PathState, SubflowView};
use model::PathIndex;
use std::time::Duration;

/// The thresholds; Wi-Fi-assist may lower them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thresholds {
    /// Condition 1: 600 ms.
    pub srtt: Duration,
    /// Condition 3: 1,500 ms.
    pub rto: Duration,
    /// Condition 4: 600 ms; `None` leaves the condition out.
    pub in_flight: Option<Duration>,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            srtt: Duration::from_millis(600),
            rto: Duration::from_millis(1_500),
            in_flight: Some(Duration::from_millis(600)),
        }
    }
}

/// A subflow's SRTT and RTO.
pub type Measured = (Option<Duration>, Option<Duration>);

/// Why home should not be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// What it comes to.
    pub kind: Kind,
    /// The first condition that holds, with its figures.
    pub text: String,
}

/// What the conditions that hold come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Home is slow, and answers (1 or 3 alone).
    Slow,
    /// Nothing comes back (2 or 4).
    Silent,
    /// There is no usable home (5).
    Gone,
}

impl Thresholds {
    /// The first condition that holds for the connection. Where home's SRTT and RTO are exactly
    /// `stale`, 1 and 3 do not count.
    pub fn reason(
        &self,
        at: At<'_>,
        cellular: PathIndex,
        stale: Option<Measured>,
    ) -> Option<Reason> {
        let At {
            view, connection, ..
        } = at;
        // Asked many times a second, and mostly to say that nothing holds: no words before something does.
        let name = || label(view, HOME);
        let gone = |what: &str| {
            let (kind, text) = (Kind::Gone, what.replace("home", &name()));
            Some(Reason { kind, text })
        };
        if !is_up(view, HOME) {
            return gone("the interface of home is down");
        }
        let home = match connection.on(HOME) {
            Some(home) if home.state == PathState::Established => home,
            Some(_) => return gone("home is not established"),
            None => return gone("home has no subflow"),
        };
        let cellular = connection.on(cellular);
        let slow = |what, figure: fn(&SubflowView) -> Option<Duration>, limit| {
            let fresh = stale != Some((home.srtt, home.rto));
            let home = figure(home).filter(|&f| f > limit && fresh)?;
            let cellular = cellular.and_then(figure);
            cellular.is_none_or(|f| f <= limit).then(|| {
                let cellular = cellular.map_or("unknown".to_owned(), millis);
                let (name, home, limit) = (name(), millis(home), millis(limit));
                format!("the {what} of {name} is {home}, above {limit}; cellular's is {cellular}")
            })
        };
        let srtt = slow("SRTT", |s| s.srtt, self.srtt);
        let waits = home.in_flight > 0 || home.oldest_unacked.is_some() || connection.has_unsent;
        let under_rto = (home.timeouts > 0 && waits).then(|| {
            let (name, n) = (name(), home.timeouts);
            format!(
                "{name} is under RTO ({n} in a row, nothing acknowledged since), with data to send"
            )
        });
        let rto = slow("RTO", |s| s.rto, self.rto);
        let overdue = self
            .in_flight
            .zip(home.oldest_unacked)
            .filter(|(limit, age)| age > limit)
            .map(|(limit, age)| {
                let (name, age, limit) = (name(), millis(age), millis(limit));
                format!("{name} has had data in flight for {age}, longer than {limit}")
            });
        let kind = match (&under_rto, &overdue) {
            (None, None) => Kind::Slow,
            _ => Kind::Silent,
        };
        let text = srtt.or(under_rto).or(rto).or(overdue)?;
        Some(Reason { kind, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnectionView, PathView, View};
    use model::{PathKind, Time};

    fn subflow(path: usize, srtt: u64, rto: u64) -> SubflowView {
        SubflowView {
            path: PathIndex(path),
            peer: None,
            suspected: false,
            state: PathState::Established,
            backup: path == 1,
            srtt: Some(Duration::from_millis(srtt)),
            rto: Some(Duration::from_millis(rto)),
            timeouts: 0,
            retransmissions: 0,
            sent: 0,
            lost: 0,
            in_flight: 0,
            oldest_unacked: None,
            received: 0,
        }
    }

    fn reason(has_unsent: bool, subflows: &[SubflowView], stale: Option<Measured>) -> String {
        let paths = [PathKind::Wifi, PathKind::Cellular].map(|kind| PathView { kind, up: true });
        let connection = ConnectionView {
            id: 0,
            has_unsent,
            subflows: subflows.to_vec(),
        };
        let view = View {
            paths: paths.into(),
            connections: vec![connection.clone()],
        };
        let at = At {
            now: Time::ZERO,
            view: &view,
            connection: &connection,
        };
        Thresholds::default()
            .reason(at, PathIndex(1), stale)
            .map_or("-".to_owned(), |r| format!("{:?}: {}", r.kind, r.text))
    }

    #[test]
    fn each_condition_holds_just_above_its_threshold_and_in_order() {
        let lte = subflow(1, 60, 260);
        let wifi = |srtt, rto, timeouts, age: u64| SubflowView {
            timeouts,
            oldest_unacked: (age > 0).then(|| Duration::from_millis(age)),
            received: 0,
            ..subflow(0, srtt, rto)
        };
        let with = |wifi: SubflowView| reason(false, &[wifi, lte.clone()], None);
        let table = [
            ("SRTT at its threshold", with(wifi(600, 1_500, 0, 600))),
            ("SRTT above", with(wifi(601, 801, 0, 0))),
            ("SRTT above, and silent", with(wifi(601, 801, 1, 700))),
            ("timer fired, idle", with(wifi(20, 440, 1, 0))),
            ("timer fired, data in flight", with(wifi(20, 440, 1, 220))),
            (
                "timer fired, new data",
                reason(true, &[wifi(20, 440, 1, 0), lte.clone()], None),
            ),
            ("RTO above", with(wifi(500, 1_501, 0, 0))),
            ("data in flight for long", with(wifi(20, 1_000, 0, 601))),
            (
                "both slow",
                reason(false, &[wifi(700, 900, 0, 0), subflow(1, 800, 1_000)], None),
            ),
            (
                "cellular not there",
                reason(false, &[wifi(700, 900, 0, 0)], None),
            ),
            ("no home", reason(false, std::slice::from_ref(&lte), None)),
        ];
        let table = table.map(|(what, says)| format!("{what:28} {says}"));
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    fn old_figures_do_not_count_until_they_change() {
        let ms = Duration::from_millis;
        let stale = Some((Some(ms(700)), Some(ms(900))));
        assert_eq!(reason(false, &[subflow(0, 700, 900)], stale), "-");
        assert_ne!(reason(false, &[subflow(0, 701, 900)], stale), "-");
    }
}
