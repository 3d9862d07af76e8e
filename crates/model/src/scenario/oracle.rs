//! When does MultiMob's oracle hold a path to be failing, and when is it good again? The
//! parameters, written `[oracle]`, in a scenario and in the daemon's configuration alike.
//!
//! Defaults are those of De Coninck and Bonaventure, "MultiMob: Multipath TCP for interactive
//! applications on smartphones", sections III-B and IV, where the paper has the parameter.

use super::ScenarioError;
use super::check::{Fault, require};
use super::key::KeyPath;
use crate::units::{Probability, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of the path managers `multimob` and `multimob-tlp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Oracle {
    /// Every how often the rates of a netpath are computed: 500 ms (section IV).
    pub period: Span,
    /// The smoothed loss rate, lost over sent packets, from which a netpath fails: 25 %.
    pub loss_threshold: Probability,
    /// The smoothed retransmission rate, retransmitted over sent packets, from which it fails:
    /// 50 %.
    pub retransmission_threshold: Probability,
    /// The retransmission timeout above which backups are opened: 1.5 s. Subflows are not marked
    /// for it.
    pub greatest_rto: Span,
    /// The weight of the new value in the smoothed rates: 0.5; above 0.
    pub alpha: Probability,
    /// Whether the rates trigger: `true`.
    pub rates: bool,
    /// The second trigger: a packet was sent again.
    pub tail_loss: TailLoss,
    /// When Wi-Fi is used again.
    pub hysteresis: Hysteresis,
}

impl Default for Oracle {
    fn default() -> Oracle {
        Oracle {
            period: Span::from_millis(500),
            loss_threshold: percent(25),
            retransmission_threshold: percent(50),
            greatest_rto: Span::from_millis(1_500),
            alpha: percent(50),
            rates: true,
            tail_loss: TailLoss::default(),
            hysteresis: Hysteresis::default(),
        }
    }
}

/// The second trigger: a subflow's retransmissions, tail-loss probes included, rose. Not the
/// paper's, which counts probes as losses and waits for its period to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TailLoss {
    /// Whether it triggers: `false`; `multimob-tlp` always has it.
    pub enabled: bool,
    /// How often to look: 20 ms.
    pub period: Span,
    /// How many smoothed round-trip times a byte may wait before that counts like a packet sent
    /// again: 2, after which a tail-loss probe is due (RFC 8985, section 7.2), which newer packets
    /// put off; 0 for no such sign.
    #[schemars(range(min = 0, max = 100))]
    pub overdue: f64,
    /// For how many smoothed round-trip times after that nothing may be acknowledged before
    /// cellular is opened: 0, to open at the first sign.
    #[schemars(range(min = 0, max = 100))]
    pub open_after: f64,
    /// For how many before Wi-Fi is left as well: 1.5, as the acknowledgement of a retransmission
    /// takes one.
    #[schemars(range(min = 0, max = 100))]
    pub leave_after: f64,
}

impl Default for TailLoss {
    fn default() -> TailLoss {
        TailLoss {
            enabled: false,
            period: Span::from_millis(20),
            overdue: 2.0,
            open_after: 0.0,
            leave_after: 1.5,
        }
    }
}

/// What keeps connections from going back and forth on a path that is neither good nor dead. The
/// paper has no such rule; the defaults are those of `break-before-make`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hysteresis {
    /// For how long cellular stays open, and Wi-Fi unused, after a trigger: 5 s; twice as long
    /// after each return that did not last.
    pub hold: Span,
    /// At most this long: 60 s.
    pub longest_hold: Span,
    /// A return has lasted after this time: 10 s.
    pub settle: Span,
    /// How long a subflow that is opened as a trial may take to be established: 3 s.
    pub timeout: Span,
    /// For how long the trial must show no sign of failure before cellular is closed: 1 s.
    pub good: Span,
}

impl Default for Hysteresis {
    fn default() -> Hysteresis {
        Hysteresis {
            hold: Span::from_millis(5_000),
            longest_hold: Span::from_millis(60_000),
            settle: Span::from_millis(10_000),
            timeout: Span::from_millis(3_000),
            good: Span::from_millis(1_000),
        }
    }
}

fn percent(n: u8) -> Probability {
    Probability::new(f64::from(n) / 100.0).unwrap_or(Probability::ONE)
}

/// More round-trip times than this nobody waits for.
const MOST_ROUNDS: f64 = 100.0;

impl Oracle {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// The first thing wrong, without a file and line; its key begins with `oracle`.
    pub fn check(&self) -> Result<(), ScenarioError> {
        check(self).map_err(ScenarioError::from)
    }
}

/// Periods that pass, rates that can be reached.
pub(crate) fn check(oracle: &Oracle) -> Result<(), Fault> {
    let at = KeyPath::top("oracle");
    let tail_loss = at.key("tail_loss");
    let hysteresis = at.key("hysteresis");
    let Hysteresis {
        hold, longest_hold, ..
    } = oracle.hysteresis;
    for (key, span) in [
        (at.key("period"), oracle.period),
        (at.key("greatest_rto"), oracle.greatest_rto),
        (tail_loss.key("period"), oracle.tail_loss.period),
        (hysteresis.key("timeout"), oracle.hysteresis.timeout),
    ] {
        let none = "no time at all; give a time such as `500 ms`";
        require(span > Span::ZERO, &key, none)?;
    }
    for (key, rate) in [
        ("loss_threshold", oracle.loss_threshold),
        ("retransmission_threshold", oracle.retransmission_threshold),
    ] {
        let always = "every path reaches a rate of 0; give one such as `25 %`";
        require(rate.get() > 0.0, &at.key(key), always)?;
    }
    require(
        oracle.alpha.get() > 0.0,
        &at.key("alpha"),
        "with a weight of 0 nothing is ever counted; give one such as `0.5`",
    )?;
    for (key, rounds) in [
        ("overdue", oracle.tail_loss.overdue),
        ("open_after", oracle.tail_loss.open_after),
        ("leave_after", oracle.tail_loss.leave_after),
    ] {
        require(
            (0.0..=MOST_ROUNDS).contains(&rounds),
            &tail_loss.key(key),
            format!("`{rounds}` is no number of round-trip times from 0 to {MOST_ROUNDS}"),
        )?;
    }
    require(
        hold <= longest_hold,
        &hysteresis.key("hold"),
        format!("`{hold}` is longer than `longest_hold`, which is `{longest_hold}`"),
    )
}
