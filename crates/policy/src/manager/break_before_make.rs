//! `break-before-make`: how fast can one path at a time be, from the client and on an unmodified
//! kernel?
//!
//! Only the home path (the first; Wi-Fi) is used, and no packet goes over cellular before a
//! failure. When home goes silent (see [`crate::silence`]), its interface goes down, or its
//! subflow is gone, every connection opens a subflow on cellular - a failure seen by one of them
//! is one of the path - and closes home's as soon as the new one is established. Closing is what
//! makes both ends send again over cellular what was in flight, over MPTCP (REMOVE_ADDR, then a
//! reset) and over MPQUIC alike; the priority alone would not.
//!
//! The way back, and what keeps a connection from going back and forth, is in
//! `handover`, which other managers share.
//!
//! **What it cannot see.** The client judges by acknowledgements of its own data. A failure of
//! the uplink, the downlink or both stops these, so each is noticed while the client sends; a
//! client that only receives (`bulk`) sees nothing of a silent failure, and waits for the stack.

use crate::handover::{Handover, Leave, Limits as Holds, Signs};
use crate::requests::{At, Requests};
use crate::silence::Limits;
use crate::watches::Watches;
use crate::{Decision, PathManager, View};
use model::Time;
use std::time::Duration;

/// The parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// How often to ask.
    pub period: Duration,
    /// What counts as silence.
    pub limits: Limits,
    /// When home is tried again, and returned to.
    pub holds: Holds,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            period: Duration::from_millis(20),
            limits: Limits::default(),
            holds: Holds {
                hold: Duration::from_secs(5),
                longest_hold: Duration::from_secs(60),
                settle: Duration::from_secs(10),
                timeout: Duration::from_secs(3),
                good: Duration::from_secs(1),
            },
        }
    }
}

/// The manager.
#[derive(Debug)]
pub struct BreakBeforeMake {
    settings: Settings,
    requests: Requests,
    watches: Watches,
    handover: Handover,
}

impl Default for BreakBeforeMake {
    fn default() -> Self {
        BreakBeforeMake::new(Settings::default())
    }
}

impl BreakBeforeMake {
    /// A manager that finds its connections on the home path.
    pub fn new(settings: Settings) -> BreakBeforeMake {
        BreakBeforeMake {
            settings,
            requests: Requests::default(),
            watches: Watches::default(),
            handover: Handover::new(settings.holds, Leave::Close),
        }
    }
}

impl PathManager for BreakBeforeMake {
    fn decide(&mut self, now: Time, view: &View, decisions: &mut Vec<Decision>) {
        self.requests.observe(now, view);
        let started = self.requests.started(view);
        self.watches.look(now, view, None);
        if started.is_empty() {
            self.handover.forget();
            return;
        }
        let signs = Signs {
            silent: self.watches.silent(now, view, &self.settings.limits),
            leave_silent: true,
            ..Signs::default()
        };
        self.handover.advance(now, view, &started, &signs);
        for connection in started {
            let at = At {
                now,
                view,
                connection,
            };
            self.handover.act(at, &mut self.requests, decisions);
        }
    }

    fn period(&self) -> Option<Duration> {
        Some(self.settings.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::stage::{Stack, Stage};

    fn stage(stack: Stack) -> Stage {
        let mut stage = Stage::of(stack, Box::new(BreakBeforeMake::default()));
        stage.run(1_050);
        assert_eq!(stage.story(), "", "nothing happens before a failure");
        stage
    }

    #[test]
    fn silence_hands_over_and_a_living_home_is_returned_to() {
        let mut stage = stage(Stack::Mptcp);
        stage.kill(0);
        stage.run(4_000);
        stage.revive(0);
        stage.run(30_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn over_quic_the_probe_timeout_is_the_sign() {
        let mut stage = stage(Stack::Quic);
        stage.kill(0);
        stage.run(3_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_home_that_stays_dead_is_probed_at_growing_intervals() {
        let mut stage = stage(Stack::Mptcp);
        stage.kill(0);
        stage.run(120_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_home_that_revives_and_dies_again_is_held_down_longer() {
        let mut stage = stage(Stack::Mptcp);
        for (kill, revive) in [(1_100, 2_000), (10_000, 11_000), (25_000, 26_000)] {
            stage.run(kill);
            stage.kill(0);
            stage.run(revive);
            stage.revive(0);
        }
        stage.run(60_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_failure_of_one_connection_moves_them_all() {
        let manager = Box::new(BreakBeforeMake::default());
        let mut stage = Stage::of(Stack::Mptcp, manager).connections(3);
        stage.run(1_050);
        stage.kill(0);
        stage.run(9_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn an_interface_that_goes_down_is_left_at_once_and_returned_to() {
        let mut stage = stage(Stack::Mptcp);
        stage.set_up(0, false);
        stage.run(12_000);
        stage.set_up(0, true);
        stage.run(20_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn without_another_path_nothing_is_done() {
        let mut stage = stage(Stack::Mptcp);
        stage.set_up(1, false);
        stage.kill(0);
        stage.run(10_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn home_is_tried_at_once_when_cellular_goes_down() {
        let mut stage = stage(Stack::Mptcp);
        stage.kill(0);
        stage.run(2_000);
        stage.revive(0);
        stage.set_up(1, false);
        stage.run(6_000);
        insta::assert_snapshot!(stage.story());
    }
}
