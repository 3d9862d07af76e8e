//! When do the retransmission timer and the tail loss probe fire?

use super::rig::{Fate, Line, at, ms};
use super::script::{Script, ack, payloads, plain, times};
use crate::subflow::rtt::RoundTrip;
use crate::subflow::{Config, Failure};
use std::time::Duration;

fn micros(us: u64) -> Duration {
    Duration::from_micros(us)
}

#[test]
fn the_first_sample_gives_three_round_trips_or_the_floor() {
    // RFC 6298, section 2.2: SRTT = R, RTTVAR = R/2, RTO = R + 4 R/2.
    for (rtt, rto) in [(400, 1200), (150, 450), (100, 300), (20, 220), (1, 201)] {
        let mut round_trip = RoundTrip::new(&Config::default());
        assert_eq!(round_trip.rto(), ms(1000));
        round_trip.sample(ms(rtt), 0, 0);
        assert_eq!(round_trip.smoothed(), Some(ms(rtt)));
        assert_eq!(round_trip.deviation(), ms(rtt) / 2);
        assert_eq!(round_trip.rto(), ms(rto));
    }
}

#[test]
fn samples_are_smoothed_as_in_linux() {
    // By hand: each sample is a round trip of its own. SRTT moves by an eighth of the error;
    // the deviation (times four) by a quarter, when the sample is shorter than expected by an
    // eighth of that; the variance falls by a quarter of what it is too large.
    let mut round_trip = RoundTrip::new(&Config::default());
    let mut una = 0;
    let mut sample = |us| {
        una += 10;
        round_trip.sample(micros(us), una, una + 5);
        una += 5;
        (
            round_trip.smoothed().unwrap_or_default().as_micros(),
            round_trip.deviation().as_micros(),
            round_trip.rto().as_micros(),
        )
    };
    assert_eq!(sample(400_000), (400_000, 200_000, 1_200_000));
    assert_eq!(sample(400_000), (400_000, 150_000, 1_200_000));
    // The largest deviation of this round trip is 450 ms: 800 - (800 - 450) / 4 = 712.5.
    assert_eq!(sample(400_000), (400_000, 112_500, 1_112_500));
    // A longer one: error 400; 450 + 400 - 112.5 = 737.5 becomes the variance at once.
    assert_eq!(sample(800_000), (450_000, 184_375, 1_187_500));
    // A shorter one: error -350, less 184.375 is 165.625, of which an eighth counts.
    assert_eq!(sample(100_000), (406_250, 189_550, 1_164_453));
}

#[test]
fn the_variance_has_the_floor_not_the_sum() {
    let mut round_trip = RoundTrip::new(&Config::default());
    for i in 0..200 {
        round_trip.sample(ms(25), i, i);
    }
    assert_eq!(round_trip.rto(), ms(225));
}

#[test]
fn backoff_doubles_to_the_ceiling_and_ends_with_a_sample() {
    let mut round_trip = RoundTrip::new(&Config::default());
    round_trip.sample(ms(20), 0, 0);
    let mut seen = Vec::new();
    for _ in 0..12 {
        round_trip.back_off();
        seen.push(round_trip.rto().as_millis());
    }
    assert_eq!(seen[..4], [440, 880, 1760, 3520]);
    assert_eq!(seen[10..], [120_000, 120_000]);
    round_trip.sample(ms(20), 1, 1);
    assert_eq!(round_trip.rto(), ms(220));
}

#[test]
fn the_smallest_round_trip_is_forgotten_after_five_minutes() {
    let mut round_trip = RoundTrip::new(&Config::default());
    round_trip.sample_min(at(0), ms(10), false);
    for second in 1..=299 {
        round_trip.sample_min(at(second * 1000), ms(20), false);
    }
    assert_eq!(round_trip.min(), Some(ms(10)));
    round_trip.sample_min(at(301_000), ms(30), false);
    assert_eq!(round_trip.min(), Some(ms(20)));
    // One that may have been delayed by the receiver only lowers it.
    round_trip.sample_min(at(302_000), ms(15), true);
    assert_eq!(round_trip.min(), Some(ms(15)));
}

#[test]
fn a_probe_after_two_round_trips_then_timeouts() {
    let mut script = Script::established(&plain());
    assert_eq!(script.write(5).len(), 5);
    let sent = script.wait(ms(3000));
    // SRTT 20 ms: the probe after 2 SRTT (and Linux's 2 ms); the timeout counts from there.
    assert_eq!(times(&sent), [42, 262, 702, 1582]);
    let seqs: Vec<i64> = sent.iter().map(|(_, s)| s.seq).collect();
    assert_eq!(seqs, [4 * 1460, 0, 0, 0]);
    assert_eq!(script.reno.signals, ["timeout"]);
    assert_eq!(script.tcp.info(script.now).timeouts, 3);
}

#[test]
fn a_lone_segment_is_probed_when_the_timeout_would_fire() {
    // 2 SRTT + 200 ms for a delayed acknowledgement is later than RTO = 220 ms.
    let mut script = Script::established(&plain());
    script.write(1);
    let sent = script.wait(ms(2000));
    assert_eq!(times(&sent), [220, 440, 880, 1760]);
    assert_eq!(script.reno.signals, ["timeout"]);
}

#[test]
fn the_probe_is_new_data_if_there_is_some() {
    let mut script = Script::established(&plain());
    assert_eq!(script.write(12).len(), 10);
    let sent = script.wait(ms(42));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1.seq, 10 * 1460);
}

#[test]
fn a_probe_that_repaired_a_loss_reduces_the_window() {
    let mut script = Script::established(&plain());
    script.write(5);
    assert_eq!(script.wait(ms(42)).len(), 1);
    script.now += ms(20);
    script.give(ack(5 * 1460));
    assert_eq!(script.reno.signals, [""; 0]);
    script.write(1);
    script.now += ms(20);
    script.give(ack(6 * 1460));
    assert_eq!(script.reno.signals, ["loss", "recovered"]);
}

#[test]
fn a_superfluous_probe_does_not() {
    let mut script = Script::established(&plain());
    script.write(5);
    assert_eq!(script.wait(ms(42)).len(), 1);
    script.now += ms(5);
    script.give(ack(5 * 1460));
    script.now += ms(15);
    script.give(ack(5 * 1460).sack(4 * 1460, 5 * 1460));
    script.write(1);
    script.now += ms(20);
    script.give(ack(6 * 1460));
    assert_eq!(script.reno.signals, [""; 0]);
}

#[test]
fn after_a_timeout_all_is_sent_again_as_the_window_opens() {
    let mut script = Script::established(&plain());
    script.write(6);
    script.wait(ms(262));
    script.now += ms(20);
    // What was sent first is acknowledged without timestamps: slow start from one segment.
    let next = script.answer(ack(1460));
    assert_eq!(payloads(&next), [(1460, 1460), (2 * 1460, 1460)]);
    let info = script.tcp.info(script.now);
    assert!(info.recovering);
    // Karn: no sample, so the backoff holds.
    assert_eq!(info.rto, ms(440));
    assert_eq!(info.timeouts, 0);
}

#[test]
fn a_connection_is_given_up_after_924_seconds() {
    let mut script = Script::established(&plain());
    script.write(2);
    let sent = script.wait(Duration::from_secs(1100));
    assert_eq!(script.tcp.failure(), Some(Failure::TimedOut));
    // 262 ms, then doubled up to 120 s: the first at or after 262 ms + 924.6 s ends it.
    let last = sent.last().expect("retransmissions").0;
    assert!(last > Duration::from_secs(800) && last < Duration::from_secs(925));
    // The probe and Linux's 15 (net.ipv4.tcp_retries2).
    assert_eq!(sent.len(), 1 + 15);
}

#[test]
fn a_late_acknowledgement_undoes_a_timeout() {
    // All acknowledgements are held up for 400 ms: timestamps tell (Eifel).
    let mut line = Line::established(Config::default(), ms(10));
    let start = line.now;
    line.rule(move |now, from, _| match from {
        1 if now < start + ms(100) => Fate::Late(ms(400)),
        _ => Fate::Pass,
    });
    line.write(0, &[5; 8 * 1448]);
    let window = line.ends[0].reno.window;
    line.run_for(ms(270));
    assert_eq!(line.ends[0].reno.signals, ["timeout"]);
    line.run_for(ms(330));
    assert_eq!(line.ends[0].reno.signals, ["timeout", "spurious"]);
    assert!(line.ends[0].reno.window >= window);
    let now = line.now;
    assert_eq!(line.ends[0].tcp().info(now).unacked, 0);
    // The probe and the first segment, nothing else.
    assert_eq!(line.ends[0].tcp().info(now).retransmitted_segments, 2);
}

#[test]
fn new_data_tells_a_spurious_timeout_without_timestamps() {
    // RFC 5682 with selective acknowledgements: what was never sent again is acknowledged.
    let mut script = Script::established(&plain());
    script.write(10);
    script.wait(ms(262));
    assert_eq!(script.reno.signals, ["timeout"]);
    script.write(5);
    script.now += ms(5);
    let next = script.answer(ack(1460));
    // Original segments are acknowledged late: new data goes first.
    assert_eq!(payloads(&next), [(10 * 1460, 1460), (11 * 1460, 1460)]);
    script.now += ms(1);
    script.give(ack(2 * 1460));
    assert_eq!(script.reno.signals, ["timeout", "spurious"]);
    assert!(!script.tcp.info(script.now).recovering);
}

#[test]
fn a_new_round_trip_ends_the_backoff() {
    let mut script = Script::established(&plain());
    script.write(1);
    script.wait(ms(900));
    assert!(script.tcp.info(script.now).rto > ms(440));
    script.now += ms(20);
    script.give(ack(1460));
    assert!(script.tcp.info(script.now).rto > ms(440));
    script.write(1);
    script.now += ms(20);
    script.give(ack(2 * 1460));
    assert_eq!(script.tcp.info(script.now).rto, ms(220));
}
