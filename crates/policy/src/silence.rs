//! Has a subflow gone silent? A judgement from one end, as fast as it can be made without
//! taking each single loss for the end of the path.
//!
//! A sender learns of a dead path by what does not come back. The first sign is a packet sent
//! again - the tail-loss probe, about two round trips after the last data (RFC 8985, section
//! 7.2) - or a timeout (QUIC's probes are timeouts and do not count as retransmissions, RFC 9002,
//! section 6.2). One lost packet on a living path gives the same sign; but then the
//! retransmission is acknowledged one round trip later, and the oldest byte in flight is a
//! newer one. So a sign raises a doubt, and the doubt becomes a judgement when the same byte
//! is still unacknowledged a little more than a round trip later. Two timeouts in a row, or a
//! byte that waits longer than the retransmission timeout, need no confirmation.
//!
//! All of this needs data in flight *from this end*: one that only receives sees nothing.

use crate::view::SubflowView;
use model::Time;
use std::time::Duration;

/// What counts as silence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// After the first sign, for how many SRTTs nothing may be acknowledged; 0 to act on the
    /// first sign. 1.5 by default: the acknowledgement of a retransmission takes 1, and jitter.
    pub confirm_rtts: f64,
    /// The oldest byte in flight may wait for the retransmission timeout, but at least this
    /// long: 200 ms by default, the least retransmission timeout of Linux (TCP_RTO_MIN), because
    /// QUIC's probe timeout may be far shorter.
    pub least_wait: Duration,
    /// And at most this long, or three SRTTs where those are longer: 600 ms by default, after
    /// which MultipathTester's Multipath QUIC leaves Wi-Fi (section II-B). A timeout may be far
    /// longer than the path deserves: 3 s when a subflow's first packet was lost (RFC 6298,
    /// section 5.7), and more after a backoff.
    pub most_wait: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            confirm_rtts: 1.5,
            least_wait: Duration::from_millis(200),
            most_wait: Duration::from_millis(600),
        }
    }
}

/// The retransmission timeout before the first measurement (RFC 6298, section 2).
const INITIAL_RTO: Duration = Duration::from_secs(1);
/// The oldest byte's age is read from clocks of this granularity (jiffies at 250 Hz).
const GRANULARITY: Duration = Duration::from_millis(4);

/// A packet holds no more than this: Ethernet's.
const FULL_PACKET: u64 = 1_500;
/// For how long a receiver delays an acknowledgement at most, as a rule: Linux's TCP_DELACK_MIN,
/// from which it departs for senders that pause longer; QUIC's default is 25 ms.
const DELAYED_ACK: Duration = Duration::from_millis(40);

/// Watches one subflow.
#[derive(Debug, Default)]
pub struct Watch {
    last: Option<Counters>,
    doubt: Option<Doubt>,
}

#[derive(Clone, Copy, Debug)]
struct Counters {
    retransmissions: u64,
    timeouts: u32,
    sent: u64,
}

#[derive(Debug)]
struct Doubt {
    since: Time,
    /// When the byte that is in doubt was sent.
    oldest: Option<Time>,
    sign: String,
}

impl Watch {
    /// Looks at the subflow; the judgement in words when it is silent.
    pub fn look(&mut self, now: Time, subflow: &SubflowView, limits: &Limits) -> Option<String> {
        self.note_signs(now, subflow, None);
        self.judge(now, subflow, limits)
    }

    /// The judgement on the subflow as it was noted last.
    pub fn judge(&self, now: Time, subflow: &SubflowView, limits: &Limits) -> Option<String> {
        if subflow.timeouts >= 2 {
            return Some(format!(
                "{} timeouts in a row without an acknowledgement",
                subflow.timeouts
            ));
        }
        let rto = subflow.rto.unwrap_or(INITIAL_RTO);
        let most = limits
            .most_wait
            .max(subflow.srtt.unwrap_or_default().saturating_mul(3));
        if let Some(age) = subflow.oldest_unacked
            && age > rto.max(limits.least_wait).min(most)
        {
            return Some(format!(
                "the oldest byte in flight has waited {}, the retransmission timeout is {}",
                millis(age),
                millis(rto)
            ));
        }
        let doubt = self.doubt.as_ref()?;
        let confirm = subflow.srtt.unwrap_or(rto).as_secs_f64() * limits.confirm_rtts;
        let confirm = Duration::try_from_secs_f64(confirm).unwrap_or(Duration::MAX);
        let elapsed = now.since(doubt.since);
        (elapsed >= confirm).then(|| {
            format!(
                "{}, and nothing was acknowledged for {}",
                doubt.sign,
                millis(subflow.oldest_unacked.unwrap_or(elapsed))
            )
        })
    }

    /// Takes notice of the subflow. With `overdue`, a byte that waits for so many smoothed
    /// round-trip times is a sign as well, and 40 ms more where the receiver may delay its
    /// acknowledgement.
    pub fn note_signs(&mut self, now: Time, subflow: &SubflowView, overdue: Option<f64>) {
        let counters = Counters {
            retransmissions: subflow.retransmissions,
            timeouts: subflow.timeouts,
            sent: subflow.sent,
        };
        let last = self.last.replace(counters).unwrap_or(counters);
        if counters.sent < last.sent || counters.retransmissions < last.retransmissions {
            // Another subflow on the same path.
            self.doubt = None;
            return;
        }
        let oldest = subflow
            .oldest_unacked
            .map(|age| Time::from_nanos(now.since(Time::ZERO + age).as_nanos() as u64));
        let waits = oldest.is_some() || subflow.in_flight > 0;
        if let Some(doubt) = &self.doubt {
            let moved = match (doubt.oldest, oldest) {
                (Some(then), Some(oldest)) => oldest > then + GRANULARITY,
                // Nobody says how old it is: only an empty flight is progress.
                _ => false,
            };
            if moved || !waits {
                self.doubt = None;
            }
        }
        if !waits || self.doubt.is_some() {
            return;
        }
        let sign = if counters.retransmissions > last.retransmissions {
            format!(
                "retransmissions rose from {} to {}",
                last.retransmissions, counters.retransmissions
            )
        } else if counters.timeouts > last.timeouts {
            format!("{} timeout", counters.timeouts)
        } else if let Some(age) = overdue.and_then(|rounds| is_overdue(subflow, rounds)) {
            let srtt = subflow.srtt.unwrap_or_default();
            let (age, srtt) = (millis(age), millis(srtt));
            format!("the oldest byte in flight has waited {age} of a round-trip time of {srtt}")
        } else {
            return;
        };
        self.doubt = Some(Doubt {
            since: now,
            oldest,
            sign,
        });
    }
}

/// For how long the oldest byte has waited, if that is more than `rounds` smoothed round-trip
/// times: when a tail-loss probe would be due (two, RFC 8985, section 7.2), were it not put off by
/// each new packet. Unless more than one packet is in flight, the receiver may delay its
/// acknowledgement.
fn is_overdue(subflow: &SubflowView, rounds: f64) -> Option<Duration> {
    let age = subflow.oldest_unacked?;
    let delayed = match subflow.in_flight > FULL_PACKET {
        true => Duration::ZERO,
        false => DELAYED_ACK,
    };
    let due = Duration::try_from_secs_f64(subflow.srtt?.as_secs_f64() * rounds).ok()?;
    (age > due.checked_add(delayed)?).then_some(age)
}

/// A duration as causes write it.
pub fn millis(d: Duration) -> String {
    format!("{} ms", d.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::PathState;
    use model::PathIndex;

    /// (now, retransmissions, timeouts, age of the oldest byte in ms)
    type Row = (u64, u64, u32, Option<u64>);

    /// What a watch says at each row, of a subflow with an SRTT of 20 ms and an RTO of 220 ms.
    fn judge(rows: &[Row], limits: Limits) -> Vec<Option<String>> {
        let mut watch = Watch::default();
        rows.iter()
            .map(|&(now, retransmissions, timeouts, age)| {
                let subflow = SubflowView {
                    path: PathIndex(0),
                    peer: None,
                    state: PathState::Established,
                    backup: false,
                    suspected: false,
                    srtt: Some(Duration::from_millis(20)),
                    rto: Some(Duration::from_millis(220)),
                    timeouts,
                    retransmissions,
                    sent: now,
                    lost: 0,
                    in_flight: age.map_or(0, |_| 2_000),
                    oldest_unacked: age.map(Duration::from_millis),
                    starved: false,
                    received: 0,
                };
                watch.look(Time::from_millis(now), &subflow, &limits)
            })
            .collect()
    }

    fn last(rows: &[Row]) -> Option<String> {
        let judgements = judge(rows, Limits::default());
        let (last, before) = judgements.split_last().expect("a row");
        assert_eq!(before, vec![None; before.len()], "judged too early");
        last.clone()
    }

    #[test]
    fn a_probe_without_an_acknowledgement_is_silence_after_more_than_a_round_trip() {
        let rows = [
            (500, 3, 0, None),
            (520, 3, 0, Some(20)),
            (560, 4, 0, Some(60)),
            (580, 4, 0, Some(80)),
        ];
        assert_eq!(last(&rows), None);
        let rows = [&rows[..], &[(600, 4, 0, Some(100))]].concat();
        let judgement = last(&rows).expect("silence");
        assert_eq!(
            judgement,
            "retransmissions rose from 3 to 4, and nothing was acknowledged for 100 ms"
        );
    }

    #[test]
    fn a_single_loss_is_not() {
        // The retransmission is acknowledged: all of it, or up to a newer byte.
        for after in [None, Some(20)] {
            let rows = [
                (500, 3, 0, Some(60)),
                (520, 4, 0, Some(80)),
                (540, 4, 0, after),
            ];
            let rows = [&rows[..], &[(600, 4, 0, after)]].concat();
            assert_eq!(last(&rows), None);
        }
    }

    #[test]
    fn without_confirmation_the_first_sign_is_enough() {
        let limits = Limits {
            confirm_rtts: 0.0,
            ..Limits::default()
        };
        let judgements = judge(&[(500, 3, 0, Some(60)), (520, 4, 0, Some(80))], limits);
        assert!(judgements[0].is_none() && judgements[1].is_some());
    }

    #[test]
    fn a_probe_timeout_counts_like_a_retransmission() {
        let rows = [
            (500, 0, 0, Some(60)),
            (520, 0, 1, Some(80)),
            (540, 0, 1, Some(100)),
            (560, 0, 1, Some(120)),
        ];
        let judgement = last(&rows).expect("silence");
        assert_eq!(
            judgement,
            "1 timeout, and nothing was acknowledged for 120 ms"
        );
        let judgement = last(&[(500, 0, 0, Some(60)), (520, 0, 2, Some(80))]).expect("silence");
        assert_eq!(judgement, "2 timeouts in a row without an acknowledgement");
    }

    #[test]
    fn a_byte_that_waits_longer_than_the_timeout_is_enough() {
        let judgement = last(&[(500, 0, 0, Some(210)), (520, 0, 0, Some(230))]).expect("silence");
        assert_eq!(
            judgement,
            "the oldest byte in flight has waited 230 ms, the retransmission timeout is 220 ms"
        );
    }

    /// A walk's second handover: the subflow had been opened again over a barely living Wi-Fi, its
    /// first packet was lost, and its timeout of 3 s would have been the stall.
    #[test]
    fn a_timeout_of_seconds_is_not_waited_for() {
        let judge = |age, srtt: Option<u64>| {
            let subflow = SubflowView {
                path: PathIndex(0),
                peer: None,
                state: PathState::Established,
                backup: false,
                suspected: false,
                srtt: srtt.map(Duration::from_millis),
                rto: Some(Duration::from_millis(3_116)),
                timeouts: 0,
                retransmissions: 0,
                sent: 10,
                lost: 0,
                in_flight: 2_000,
                oldest_unacked: Some(Duration::from_millis(age)),
                starved: false,
                received: 3,
            };
            let now = Time::from_millis(10_000);
            Watch::default().look(now, &subflow, &Limits::default())
        };
        assert_eq!(judge(600, None), None);
        assert!(judge(601, None).is_some());
        assert!(judge(601, Some(20)).is_some());
        // A path that is that slow has its three round trips.
        assert_eq!(judge(1_400, Some(500)), None);
        assert!(judge(1_501, Some(500)).is_some());
    }

    #[test]
    fn a_byte_is_overdue_after_two_round_trips_and_what_the_receiver_may_delay() {
        let sign = |age, in_flight, overdue| {
            let subflow = SubflowView {
                path: PathIndex(0),
                peer: None,
                state: PathState::Established,
                backup: false,
                suspected: false,
                srtt: Some(Duration::from_millis(20)),
                rto: Some(Duration::from_millis(220)),
                timeouts: 0,
                retransmissions: 0,
                sent: 10,
                lost: 0,
                in_flight,
                oldest_unacked: Some(Duration::from_millis(age)),
                starved: false,
                received: 0,
            };
            let limits = Limits {
                confirm_rtts: 0.0,
                ..Limits::default()
            };
            let now = Time::from_millis(1_000);
            let mut watch = Watch::default();
            watch.note_signs(now, &subflow, overdue);
            watch.judge(now, &subflow, &limits)
        };
        let two = Some(2.0);
        assert_eq!(sign(40, 2_000, two), None);
        let said = sign(41, 2_000, two).expect("overdue");
        assert!(said.starts_with("the oldest byte in flight has waited 41 ms of a round-trip"));
        assert_eq!(sign(80, 9, two), None, "one packet");
        assert!(sign(81, 9, two).is_some());
        assert_eq!(sign(190, 2_000, None), None, "not asked for");
    }

    #[test]
    fn a_new_subflow_on_the_path_starts_afresh() {
        let rows = [
            (500, 3, 0, Some(60)),
            (520, 4, 0, Some(80)),
            (540, 0, 0, Some(20)),
            (600, 0, 0, Some(80)),
        ];
        assert_eq!(last(&rows), None);
    }
}
