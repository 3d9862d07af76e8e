//! When was a path silent without anyone being told? While what an end had sent over it stayed without
//! an acknowledgement, from the moment the oldest of it was sent.

use model::record::Sample;
use model::{Direction, Side};
use std::collections::BTreeMap;

/// A shorter silence is what loss and a busy queue look like.
const SHORTEST_US: u64 = 600_000;
/// What has waited this long, and three round trips, has been lost more than once.
const STUCK_US: u64 = 400_000;
/// Samples come every 100 ms; how far before a first timeout the loss began, at most.
const LONGEST_LEAD_US: u64 = 2_000_000;
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
    merged.retain(|s| s.to_us.unwrap_or(end_us).saturating_sub(s.from_us) >= SHORTEST_US);
    for silence in &mut merged {
        silence.direction = direction(samples, silence);
    }
    merged
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
}
