//! When was a path silent without anyone being told? While what an end had sent over it stayed without
//! an acknowledgement, from the moment the oldest of it was sent; and not when it only lost much: an end
//! whose timer has backed off is silent itself.

use model::record::Sample;
use model::{Direction, Side};
use std::collections::BTreeMap;

/// A shorter silence is what loss and a busy queue look like.
const SHORTEST_US: u64 = 600_000;
/// What has waited this long, and three round trips, has been lost more than once.
const STUCK_US: u64 = 400_000;
/// Samples come every 100 ms; how far before a first timeout the loss began, at most.
const LONGEST_LEAD_US: u64 = 2_000_000;
/// Around a silence the loss of this long says what chance does.
const AROUND_US: u64 = 5_000_000;
/// A path that loses something now and then loses this much at least.
const LEAST_LOSS: f64 = 0.01;
/// When chance loses all that was sent this rarely, it was not chance.
const COINCIDENCE: f64 = 1e-3;
/// What was on its way when the silence began has arrived by then, and was counted.
const SETTLED_US: u64 = 200_000;

/// A path was silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// From when.
    pub from_us: u64,
    /// Until when it was seen to work again; never, when absent.
    pub to_us: Option<u64>,
    /// In which direction, if not in both.
    pub direction: Option<Direction>,
}

/// The silences of one path, of which these are the samples in order of time.
pub fn of(samples: &[&Sample], end_us: u64) -> Vec<Silence> {
    let mut all = stuck(samples, Side::Client);
    all.extend(stuck(samples, Side::Server));
    all.sort();
    let mut merged: Vec<Silence> = Vec::new();
    for (from_us, to_us) in all {
        match merged.last_mut() {
            Some(last) if last.to_us.is_none_or(|to| to >= from_us) => {
                last.to_us = last.to_us.zip(to_us).map(|(a, b)| a.max(b));
            }
            _ => merged.push(Silence {
                from_us,
                to_us,
                direction: None,
            }),
        }
    }
    for silence in &mut merged {
        // An end that waits for its timer does not see yet that the path works again.
        if let Some(works) = works_again(samples, silence) {
            silence.to_us = Some(works);
        }
    }
    merged.retain(|s| s.to_us.unwrap_or(end_us).saturating_sub(s.from_us) >= SHORTEST_US);
    for silence in &mut merged {
        silence.direction = direction(samples, silence);
    }
    merged.retain(|silence| is_no_coincidence(samples, silence, end_us));
    merged
}

/// When something had come through in both directions, if it had within `silence`.
fn works_again(samples: &[&Sample], silence: &Silence) -> Option<u64> {
    let heard = |side| {
        let mut first: BTreeMap<u64, u64> = BTreeMap::new();
        let mut of_side = samples.iter().filter(|s| {
            s.side == side
                && s.time_us >= silence.from_us + SETTLED_US
                && silence.to_us.is_none_or(|to| s.time_us <= to)
        });
        let hears = |s: &&&Sample| {
            s.received_bytes
                .is_some_and(|bytes| bytes > *first.entry(s.connection).or_insert(bytes))
        };
        of_side.find(hears).map(|s| s.time_us)
    };
    Some(heard(Side::Client)?.max(heard(Side::Server)?))
}

/// Whether more was lost in `silence` than chance would lose, going by the loss before and after it.
/// Stacks that do not count what they send are believed.
fn is_no_coincidence(samples: &[&Sample], silence: &Silence, end_us: u64) -> bool {
    let to_us = silence.to_us.unwrap_or(end_us);
    let (mut within, mut sent, mut lost) = (0, 0, 0);
    let mut counts = false;
    let mut before: BTreeMap<(bool, u64), &Sample> = BTreeMap::new();
    for sample in samples {
        let is_client = sample.side == Side::Client;
        let Some(earlier) = before.insert((is_client, sample.connection), sample) else {
            continue;
        };
        let more = |of: fn(&Sample) -> Option<u64>| {
            let (now, then) = (of(sample).unwrap_or(0), of(earlier).unwrap_or(0));
            now.saturating_sub(then)
        };
        counts |= sample.sent_packets.is_some();
        if (silence.from_us..to_us).contains(&sample.time_us) {
            let goes = if is_client {
                Direction::Up
            } else {
                Direction::Down
            };
            if silence.direction.is_none_or(|direction| direction == goes) {
                within += more(|s| s.sent_packets);
            }
        } else if sample.time_us + AROUND_US >= silence.from_us
            && sample.time_us <= to_us + AROUND_US
        {
            sent += more(|s| s.sent_packets);
            lost += more(|s| s.lost_packets).max(more(|s| s.retransmitted_packets));
        }
    }
    if !counts {
        return true;
    }
    let loss = match sent {
        0 => LEAST_LOSS,
        sent => (lost as f64 / sent as f64).clamp(LEAST_LOSS, 1.0),
    };
    // The oldest was sent just before the first sample that misses it.
    let within = i32::try_from(within).unwrap_or(i32::MAX).saturating_add(1);
    loss.powi(within) < COINCIDENCE
}

/// In which direction nothing came through, if only in one. When acknowledgements are lost both ends
/// wait; but an end that is sent to still receives what is new.
fn direction(samples: &[&Sample], silence: &Silence) -> Option<Direction> {
    let receives = |side| {
        let of_side = samples.iter().filter(|s| s.side == side);
        let within = of_side.filter(|s| {
            s.time_us >= silence.from_us + SETTLED_US
                && silence.to_us.is_none_or(|to| s.time_us + SETTLED_US <= to)
        });
        let mut first: BTreeMap<u64, u64> = BTreeMap::new();
        within
            .filter_map(|s| Some((s.connection, s.received_bytes?)))
            .any(|(connection, bytes)| bytes > *first.entry(connection).or_insert(bytes))
    };
    match (receives(Side::Client), receives(Side::Server)) {
        (true, false) => Some(Direction::Up),
        (false, true) => Some(Direction::Down),
        _ => None,
    }
}

/// What is known of one connection's half of a path.
#[derive(Default)]
struct Half {
    /// When it last worked.
    worked_us: u64,
    /// Since when it does not.
    stuck_since_us: Option<u64>,
}

/// From when to when everything `sender` had in flight over the path was stuck.
fn stuck(samples: &[&Sample], sender: Side) -> Vec<(u64, Option<u64>)> {
    let mut halves: BTreeMap<u64, Half> = BTreeMap::new();
    let mut intervals: Vec<(u64, Option<u64>)> = Vec::new();
    let mut open: Option<u64> = None;
    for sample in samples.iter().filter(|s| s.side == sender) {
        let half = halves.entry(sample.connection).or_default();
        let waits = sample.oldest_unacked_us.unwrap_or(0);
        let patience = STUCK_US.max(3 * sample.srtt_us.unwrap_or(0));
        let is_stuck = waits >= patience || sample.timeouts.is_some_and(|n| n > 0);
        let is_working = sample.state == "established" && !is_stuck;
        if is_stuck {
            let earliest = half
                .worked_us
                .max(sample.time_us.saturating_sub(LONGEST_LEAD_US));
            let since = match sample.oldest_unacked_us {
                Some(waits) => sample.time_us.saturating_sub(waits),
                None => earliest,
            };
            half.stuck_since_us.get_or_insert(since);
        } else if is_working {
            half.worked_us = sample.time_us;
            half.stuck_since_us = None;
        }
        // A subflow that is closed while it is stuck proves nothing about the path.
        let stuck = halves.values().filter_map(|h| h.stuck_since_us).min();
        match (open, stuck) {
            (None, Some(since)) => open = Some(since),
            (Some(since), None) => {
                intervals.push((since, Some(sample.time_us)));
                open = None;
            }
            _ => {}
        }
    }
    intervals.extend(open.map(|since| (since, None)));
    intervals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(side: Side, time_ms: u64, oldest_ms: Option<u64>, timeouts: u64) -> Sample {
        Sample {
            time_us: time_ms * 1_000,
            side,
            connection: 0,
            path: Some("wifi".into()),
            state: "established".into(),
            srtt_us: Some(20_000),
            rttvar_us: None,
            rto_us: None,
            timeouts: Some(timeouts),
            cwnd_bytes: None,
            in_flight_bytes: None,
            oldest_unacked_us: oldest_ms.map(|ms| ms * 1_000),
            unsent_bytes: None,
            sent_packets: None,
            sent_bytes: None,
            received_bytes: Some(0),
            lost_packets: None,
            retransmitted_packets: None,
            backup: None,
            peer_backup: None,
        }
    }

    /// Stuck from 2 s on, until the time given.
    fn stalls(side: Side, until_ms: u64) -> Vec<Sample> {
        let at = |ms: u64| match ms {
            2_200.. if ms < until_ms => sample(side, ms, Some(ms - 2_000), 1),
            _ => sample(side, ms, Some(10), 0),
        };
        (0..50).map(|n| at(n * 100)).collect()
    }

    fn found(mut samples: Vec<Sample>) -> Vec<Silence> {
        samples.sort_by_key(|s| s.time_us);
        of(&samples.iter().collect::<Vec<_>>(), 5_000_000)
    }

    #[test]
    fn a_silence_begins_with_the_oldest_that_was_lost() {
        let silence = |to_us, direction| Silence {
            from_us: 2_000_000,
            to_us,
            direction,
        };
        let (client, server) = (Side::Client, Side::Server);
        let both = |a: Vec<Sample>, b: Vec<Sample>| [a, b].concat();
        assert_eq!(found(both(stalls(client, 0), stalls(server, 0))), []);
        let to = Some(3_500_000);
        assert_eq!(found(stalls(client, 3_500)), [silence(to, None)]);
        assert_eq!(found(stalls(client, 9_000)), [silence(None, None)]);
        let all = found(both(stalls(client, 3_400), stalls(server, 3_500)));
        assert_eq!(all, [silence(to, None)]);
        // An end that is sent to still receives, although both wait for acknowledgements.
        let receiving = |side| {
            let mut samples = stalls(side, 3_500);
            for sample in &mut samples {
                sample.received_bytes = Some(sample.time_us);
            }
            samples
        };
        let up = found(both(receiving(client), stalls(server, 3_500)));
        assert_eq!(up, [silence(to, Some(Direction::Up))]);
        let down = found(both(stalls(client, 3_500), receiving(server)));
        assert_eq!(down, [silence(to, Some(Direction::Down))]);
        // A retransmission or two is no silence.
        assert_eq!(found(stalls(client, 2_500)), []);
    }

    /// Ten packets a sample, of which some are lost; from the oldest that waits in the stall, only what the
    /// timer sends.
    fn counted(side: Side, lost: u64, in_the_stall: u64) -> Vec<Sample> {
        let mut samples = stalls(side, 3_500);
        let (mut sent, mut again) = (0, 0);
        for sample in &mut samples {
            let stalled = (2_000_000..3_500_000).contains(&sample.time_us);
            sent += if stalled { in_the_stall } else { 10 };
            again += if stalled { in_the_stall } else { lost };
            (sample.sent_packets, sample.retransmitted_packets) = (Some(sent), Some(again));
        }
        samples
    }

    #[test]
    fn a_timer_that_waits_on_a_bad_path_is_no_silence() {
        let of = |lost, in_the_stall| found(counted(Side::Client, lost, in_the_stall)).len();
        // Three packets in a second: chance loses them where a third is lost, and not where nothing else is.
        let few = |lost| {
            let mut samples = counted(Side::Client, lost, 0);
            for sample in samples.iter_mut().filter(|s| s.time_us >= 3_000_000) {
                *sample.sent_packets.as_mut().expect("counted") += 3;
            }
            found(samples).len()
        };
        assert_eq!((few(0), few(3)), (1, 0));
        // Fifteen are no chance, also there.
        assert_eq!((of(0, 1), of(3, 1)), (1, 1));
        assert_eq!(of(9, 1), 0);
    }

    #[test]
    fn a_silence_ends_when_something_comes_through_in_both_directions() {
        let mut samples = [stalls(Side::Client, 4_500), stalls(Side::Server, 4_500)].concat();
        for sample in samples.iter_mut().filter(|s| s.time_us >= 3_400_000) {
            sample.received_bytes = Some(100);
        }
        let silence = found(samples);
        assert_eq!(silence.len(), 1, "{silence:?}");
        assert_eq!(silence[0].to_us, Some(3_400_000));
    }
}
