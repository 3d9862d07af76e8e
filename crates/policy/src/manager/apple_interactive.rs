//! `apple-interactive`: what does the interactive mode of Apple's Multipath TCP do?
//!
//! Cellular is opened at the start, as a backup. Only the home path (the first; Wi-Fi) carries
//! data, until one of these holds, tested in this order (MultipathTester, section II-B):
//!
//! 1. home's SRTT is above 600 ms, and cellular's is not;
//! 2. home is under RTO - the timer fired and nothing was acknowledged since - and there is data
//!    to send;
//! 3. home's RTO is above 1,500 ms, and cellular's is not;
//! 4. home has had data in flight for more than 600 ms: what the paper does for MPQUIC in place
//!    of 1 and 3 (with "under PTO" for 2). Over TCP it comes after 2 unless the RTO is
//!    longer than 600 ms; set [`Thresholds::in_flight`] to `None` to leave it out;
//! 5. home's interface is down or its subflow is gone.
//!
//! A value that was not measured so far counts as not above its threshold. Apple's Wi-Fi-assist
//! may lower the thresholds: they are fields.
//!
//! **What differs from iOS.** There the scheduler itself asks this per packet. A path manager
//! steers the stacks' schedulers by priority: cellular becomes regular *and* home becomes backup
//! (a scheduler with two regular paths leaves home only if it is the worse one), and back when
//! none of the conditions has held for [`AppleInteractive::recover_after`]. Three more things
//! follow from that, and none is Apple's:
//!
//! - *Detaching.* A priority does not move data in flight: noq never moves it before the path is
//!   closed, and Linux tells the server by an MP_PRIO on the dead subflow itself. So when home
//!   stays silent (2, 4) for [`AppleInteractive::detach_after`] longer, or its interface is down,
//!   its subflow is closed. It is opened again, as a backup, as soon as its interface comes back
//!   and otherwise every [`AppleInteractive::reopen_every`]: over a silently dead path, the
//!   attempt itself is the probe, and is closed after [`AppleInteractive::open_timeout`].
//!   Silent is also a home that was left for silence and from which nothing arrived since: over
//!   QUIC its data may be acknowledged on another path while its downlink is dead, and a return
//!   would strand the server's data there.
//! - *Stale measurements.* An idle backup measures nothing, so 1 or 3 would hold for ever after
//!   one bad moment. After [`AppleInteractive::stale_after`] without data in flight, home is used
//!   again, and its old figures do not count until they change.
//! - *No way back that is not needed.* If cellular is gone while home works, home is used at once.

use crate::manager::apple_conditions::{Kind, Measured, Reason, Thresholds};
use crate::requests::{At, Requests, Retry};
use crate::roles::{HOME, is_up, label, spare};
use crate::silence::millis;
use crate::{Decision, PathManager, PathState, View};
use model::{PathIndex, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// The manager and its parameters.
#[derive(Debug)]
pub struct AppleInteractive {
    /// How often to ask. iOS asks at each packet; `interactive` sends one every 100 ms.
    pub period: Duration,
    /// Above what home is left.
    pub thresholds: Thresholds,
    /// For how long no condition may hold before home is used again.
    pub recover_after: Duration,
    /// For how long home may stay silent after cellular took over before it is closed; `None`
    /// to never close it, as iOS.
    pub detach_after: Option<Duration>,
    /// How often a closed home is opened as a probe.
    pub reopen_every: Duration,
    /// After which time an attempt that does not get through is closed.
    pub open_timeout: Duration,
    /// For how long home may be idle with only its old SRTT or RTO against it.
    pub stale_after: Duration,
    requests: Requests,
    connections: BTreeMap<usize, Mode>,
}

impl Default for AppleInteractive {
    fn default() -> Self {
        let reopen_every = Duration::from_secs(3);
        AppleInteractive {
            period: Duration::from_millis(50),
            thresholds: Thresholds::default(),
            recover_after: Duration::from_secs(1),
            detach_after: Some(Duration::from_millis(600)),
            reopen_every,
            open_timeout: Duration::from_secs(3),
            stale_after: Duration::from_secs(10),
            requests: Requests::new(Retry {
                first: reopen_every,
                longest: reopen_every,
            }),
            connections: BTreeMap::new(),
        }
    }
}

/// What a connection uses.
#[derive(Debug)]
enum Mode {
    Home {
        /// The SRTT and RTO that do not count, because they are old.
        stale: Option<Measured>,
    },
    Away {
        since: Time,
        /// Since when no condition has held.
        clear_since: Option<Time>,
        /// Since when home has been silent.
        silent_since: Option<Time>,
        /// What had arrived from home when it was left for silence; until more does, it is silent.
        heard: Option<u64>,
        /// As above.
        stale: Option<Measured>,
    },
}

impl AppleInteractive {
    /// The mode after this look at the connection, and the actions that lead there.
    fn step(&mut self, at: At<'_>, mode: Mode, decisions: &mut Vec<Decision>) -> Mode {
        let At {
            now,
            view,
            connection,
        } = at;
        let Some(cellular) = spare(view) else {
            return self.without_cellular(at, decisions);
        };
        let works = connection
            .on(cellular)
            .is_some_and(|s| s.state == PathState::Established);
        match mode {
            Mode::Home { stale } => {
                self.requests.open(at, cellular, true, decisions, || {
                    format!("{} is the backup", label(view, cellular))
                });
                match self.thresholds.reason(at, cellular, stale) {
                    Some(_) if works => {
                        let away = Mode::Away {
                            since: now,
                            clear_since: None,
                            silent_since: None,
                            heard: None,
                            stale,
                        };
                        self.step(at, away, decisions)
                    }
                    reason => {
                        if reason.is_none() {
                            let why = || format!("{} works", label(view, HOME));
                            self.prefer(at, HOME, cellular, why, decisions);
                        }
                        Mode::Home { stale }
                    }
                }
            }
            Mode::Away {
                since,
                clear_since,
                silent_since,
                heard,
                stale,
            } => {
                let received = connection.on(HOME).map(|home| home.received);
                let deaf = heard.is_some() && received == heard;
                let reason = self.thresholds.reason(at, cellular, stale);
                let reason = reason.or_else(|| {
                    (works && deaf).then(|| Reason {
                        kind: Kind::Silent,
                        text: format!(
                            "nothing arrived over {} since it was left",
                            label(view, HOME)
                        ),
                    })
                });
                let Some(reason) = reason else {
                    let clear = clear_since.unwrap_or(now);
                    if works && now.since(clear) < self.recover_after {
                        return Mode::Away {
                            since,
                            clear_since: Some(clear),
                            silent_since: None,
                            heard: None,
                            stale,
                        };
                    }
                    let text = if works {
                        let good = millis(now.since(clear));
                        format!("{} has been good for {good}", label(view, HOME))
                    } else {
                        format!("{} is not established", label(view, cellular))
                    };
                    self.prefer(at, HOME, cellular, || text.clone(), decisions);
                    return Mode::Home { stale: None };
                };
                if let Some(stale) = self.stale(at, since, &reason) {
                    let idle = millis(self.stale_after);
                    let text = format!(
                        "{} was idle for {idle}: its figures are old",
                        label(view, HOME)
                    );
                    self.prefer(at, HOME, cellular, || text.clone(), decisions);
                    return Mode::Home { stale: Some(stale) };
                }
                self.requests
                    .open(at, cellular, false, decisions, || reason.text.clone());
                self.prefer(at, cellular, HOME, || reason.text.clone(), decisions);
                let silent_since = match reason.kind {
                    Kind::Silent => Some(silent_since.unwrap_or(now)),
                    Kind::Slow | Kind::Gone => None,
                };
                self.detach(at, &reason, silent_since, decisions);
                Mode::Away {
                    since,
                    clear_since: None,
                    silent_since,
                    heard: match silent_since {
                        Some(_) if deaf => heard,
                        Some(_) => received,
                        None => None,
                    },
                    stale,
                }
            }
        }
    }

    /// No other path is up: home is all there is.
    fn without_cellular(&mut self, at: At<'_>, decisions: &mut Vec<Decision>) -> Mode {
        let why = || "no other path is up".to_owned();
        self.requests.set_backup(at, HOME, false, decisions, why);
        self.requests.open(at, HOME, false, decisions, why);
        Mode::Home { stale: None }
    }

    /// Home's figures, if only old ones speak against it.
    fn stale(&self, at: At<'_>, since: Time, reason: &Reason) -> Option<Measured> {
        let home = at.connection.on(HOME)?;
        let idle = home.in_flight == 0 && home.oldest_unacked.is_none();
        let long = at.now.since(since) >= self.stale_after;
        (reason.kind == Kind::Slow && idle && long).then_some((home.srtt, home.rto))
    }

    /// Makes `regular` the only path that carries data.
    fn prefer(
        &mut self,
        at: At<'_>,
        regular: PathIndex,
        backup: PathIndex,
        why: impl Fn() -> String,
        decisions: &mut Vec<Decision>,
    ) {
        for (path, to_backup) in [(regular, false), (backup, true)] {
            if !is_up(at.view, path) {
                continue;
            }
            self.requests
                .set_backup(at, path, to_backup, decisions, &why);
        }
    }

    /// The extension: closes a dead home, and probes whether it lives again.
    fn detach(
        &mut self,
        at: At<'_>,
        reason: &Reason,
        silent_since: Option<Time>,
        decisions: &mut Vec<Decision>,
    ) {
        let At {
            now,
            view,
            connection,
        } = at;
        let Some(after) = self.detach_after else {
            return;
        };
        let silent_for = silent_since.map(|since| now.since(since));
        if silent_for.is_some_and(|d| d >= after) || !is_up(view, HOME) {
            self.requests
                .close(at, HOME, decisions, || match silent_for {
                    Some(d) => format!("silent for {} more: {}", millis(d), reason.text),
                    None => reason.text.clone(),
                });
            return;
        }
        if self
            .requests
            .opening_for(now, connection, HOME)
            .is_some_and(|d| d >= self.open_timeout)
        {
            let timeout = millis(self.open_timeout);
            self.requests.close(at, HOME, decisions, || {
                format!("{} did not answer within {timeout}", label(view, HOME))
            });
        }
        self.requests.open(at, HOME, true, decisions, || {
            format!("to find out whether {} works again", label(view, HOME))
        });
    }
}

impl PathManager for AppleInteractive {
    fn decide(&mut self, now: Time, view: &View, decisions: &mut Vec<Decision>) {
        self.requests.observe(now, view);
        let mut before = std::mem::take(&mut self.connections);
        for connection in &view.connections {
            if !self.requests.has_started(connection) {
                continue;
            }
            let at = At {
                now,
                view,
                connection,
            };
            let fresh = Mode::Home { stale: None };
            let mode = before.remove(&connection.id).unwrap_or(fresh);
            let mode = self.step(at, mode, decisions);
            self.connections.insert(connection.id, mode);
        }
    }

    fn period(&self) -> Option<Duration> {
        Some(self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::stage::{Stack, Stage};

    fn stage(stack: Stack) -> Stage {
        let mut stage = Stage::of(stack, Box::new(AppleInteractive::default()));
        stage.run(1_000);
        stage
    }

    #[test]
    fn silence_moves_to_cellular_then_detaches_and_recovery_moves_back() {
        let mut stage = stage(Stack::Mptcp);
        stage.kill(0);
        stage.run(6_000);
        stage.revive(0);
        stage.run(15_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_short_silence_only_changes_priorities() {
        let mut stage = stage(Stack::Mptcp);
        stage.kill(0);
        stage.run(1_500);
        stage.revive(0);
        stage.run(10_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_home_that_is_deaf_is_not_returned_to() {
        let mut stage = stage(Stack::Quic);
        stage.deafen(0);
        stage.run(8_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn quic_moves_when_under_pto() {
        let mut stage = stage(Stack::Quic);
        stage.kill(0);
        stage.run(3_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_slow_path_is_left_and_tried_again_when_its_figures_are_old() {
        let mut stage = stage(Stack::Mptcp);
        stage.set_rtt(0, 700);
        stage.run(30_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn when_both_are_slow_nothing_changes() {
        let mut stage = stage(Stack::Mptcp);
        stage.set_rtt(1, 800);
        stage.set_rtt(0, 700);
        stage.run(5_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn an_interface_that_goes_down_is_left_at_once() {
        let mut stage = stage(Stack::Mptcp);
        stage.set_up(0, false);
        stage.run(3_000);
        stage.set_up(0, true);
        stage.run(6_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn without_the_extension_home_is_never_closed() {
        let manager = AppleInteractive {
            detach_after: None,
            ..AppleInteractive::default()
        };
        let mut stage = Stage::new(Box::new(manager));
        stage.run(1_000);
        stage.kill(0);
        stage.run(60_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn home_is_used_when_cellular_dies_too() {
        let mut stage = stage(Stack::Mptcp);
        stage.set_rtt(0, 700);
        stage.run(2_000);
        stage.set_rtt(0, 20);
        stage.set_up(1, false);
        stage.run(5_000);
        insta::assert_snapshot!(stage.story());
    }
}
