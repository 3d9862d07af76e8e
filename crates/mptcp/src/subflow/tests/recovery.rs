//! How are losses found and repaired?

use super::rig::{Fate, Line, at, ms, pattern};
use super::script::{Script, ack, payloads, plain};
use crate::subflow::Config;
use crate::wire::Ecn;

const S: i64 = 1460;

#[test]
fn a_loss_is_repaired_in_a_round_trip() {
    let mut line = Line::established(Config::default(), ms(10));
    let start = line.now;
    let mut count = 0;
    line.rule(move |_, from, segment| {
        count += usize::from(from == 0 && !segment.payload.is_empty());
        if count == 3 && from == 0 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    let data = pattern(10 * 1448);
    line.write(0, &data);
    line.run_for(ms(100));
    assert_eq!(line.ends[1].read, data);
    let again: Vec<_> = line.data(0).into_iter().skip(10).collect();
    assert_eq!(again, [(start + ms(20), 2 * 1448, 1448)]);
    assert_eq!(line.ends[0].reno.signals, ["loss", "recovered"]);
}

#[test]
fn two_out_of_order_send_new_data_and_a_third_repairs() {
    // RFC 3042 and RFC 8985, section 6.2: no reordering was seen, three suffice.
    let mut script = Script::established(&plain());
    assert_eq!(script.write(20).len(), 10);
    script.now += ms(20);
    let first = script.answer(ack(0).sack(S, 2 * S));
    assert_eq!(payloads(&first), [(10 * S, 1460)]);
    let second = script.answer(ack(0).sack(S, 3 * S));
    assert_eq!(payloads(&second), [(11 * S, 1460)]);
    let third = script.answer(ack(0).sack(S, 4 * S));
    assert_eq!(payloads(&third)[0], (0, 1460));
    assert_eq!(script.reno.signals, ["loss"]);
    assert!(script.tcp.info(script.now).recovering);
}

#[test]
fn fewer_wait_for_a_quarter_of_the_round_trip() {
    let mut script = Script::established(&plain());
    script.write(3);
    script.now += ms(20);
    assert_eq!(script.answer(ack(0).sack(S, 2 * S)), []);
    // RTT 20 ms + 5 ms after the first was sent, and Linux's 2 ms.
    let sent = script.wait(ms(100));
    assert_eq!(sent[0].0, ms(7));
    assert_eq!(sent[0].1.seq, 0);
    assert_eq!(script.reno.signals, ["loss"]);
}

#[test]
fn reordering_is_waited_for_once_it_was_seen() {
    let mut script = Script::established(&plain());
    script.write(10);
    script.now += ms(20);
    script.give(ack(0).sack(S, 2 * S));
    script.give(ack(2 * S));
    // It was seen: now even four out of order only start the timer.
    script.now += ms(1);
    script.give(ack(2 * S).sack(3 * S, 7 * S));
    assert_eq!(script.take(), []);
    assert_eq!(script.reno.signals, [""; 0]);
    let sent = script.wait(ms(30));
    assert_eq!(sent[0].1.seq, 2 * S);
}

#[test]
fn a_duplicate_report_undoes_the_reduction() {
    let mut script = Script::established(&plain());
    script.write(10);
    script.now += ms(20);
    script.give(ack(0).sack(S, 4 * S));
    assert_eq!(payloads(&script.take()), [(0, 1460)]);
    let before = script.reno.window;
    // The original arrives after all; then the retransmission, as a duplicate.
    script.now += ms(2);
    script.give(ack(4 * S));
    script.now += ms(18);
    script.give(ack(10 * S).sack(0, S));
    assert_eq!(script.reno.signals, ["loss", "spurious"]);
    assert!(script.reno.window > before);
}

#[test]
fn timestamps_undo_a_reduction_in_recovery() {
    let mut script = Script::established(&Config::default());
    let s = 1448;
    script.write(10);
    let sent_at = 20;
    script.now = at(40);
    script.give(ack(0).sack(s, 4 * s).stamped(2, sent_at));
    assert_eq!(payloads(&script.take()), [(0, 1448)]);
    script.now = at(45);
    script.give(ack(10 * s).stamped(3, sent_at));
    assert_eq!(script.reno.signals, ["loss", "spurious"]);
}

#[test]
fn a_lost_retransmission_is_sent_again() {
    let mut script = Script::established(&plain());
    script.write(30);
    script.now += ms(20);
    let sent = script.answer(ack(0).sack(S, 5 * S));
    assert_eq!(payloads(&sent)[0], (0, 1460));
    // The rest of what was sent first says nothing of what was sent again.
    script.now += ms(1);
    let sent = script.answer(ack(0).sack(S, 10 * S));
    assert!(payloads(&sent).iter().all(|(seq, _)| *seq >= 10 * S));
    // What was sent after the retransmission arrives: it was lost too.
    script.now += ms(19);
    let sent = script.answer(ack(0).sack(S, 11 * S));
    assert_eq!(payloads(&sent)[0], (0, 1460));
    assert_eq!(script.tcp.info(script.now).lost_segments, 2);
    assert_eq!(script.reno.signals, ["loss"]);
}

#[test]
fn the_window_falls_in_proportion() {
    // 20 segments out, the first lost: PRR sends one for every two that arrive, until ten are
    // in flight (RFC 9937).
    let mut script = Script::established(&plain());
    script.reno.window = 20 * 1460;
    assert_eq!(script.write(60).len(), 20);
    script.now += ms(20);
    let mut sent = Vec::new();
    for arrived in 1..20 {
        let out = script.answer(ack(0).sack(S, (arrived + 1) * S));
        sent.push(out.len());
    }
    // Two by limited transmission; with the third the loss is found and repaired at once.
    assert_eq!(sent[..3], [1, 1, 1]);
    let total: usize = sent.iter().sum();
    assert!((10..=12).contains(&total), "{sent:?}");
    assert!(sent[3..].iter().all(|n| *n <= 1), "{sent:?}");
    assert_eq!(script.tcp.info(script.now).in_flight / 1460, 10);
    script.now += ms(20);
    script.give(ack(22 * S));
    // The threshold, and a round trip's growth from there.
    assert!((10 * 1460..11 * 1460).contains(&script.reno.window));
}

#[test]
fn many_losses_are_repaired_without_a_timeout() {
    let mut line = Line::established(Config::default(), ms(10));
    line.ends[0].reno.window = 40 * 1448;
    let mut count = 0;
    line.rule(move |_, from, segment| {
        let data = from == 0 && !segment.payload.is_empty();
        count += usize::from(data);
        match data && (2..=20).contains(&count) && count % 2 == 0 {
            true => Fate::Drop,
            false => Fate::Pass,
        }
    });
    let data = pattern(100 * 1448);
    line.write(0, &data);
    line.run_for(ms(400));
    assert_eq!(line.ends[1].read, data);
    let now = line.now;
    assert_eq!(line.ends[0].tcp().info(now).retransmitted_segments, 10);
    assert_eq!(line.ends[0].reno.signals, ["loss", "recovered"]);
}

#[test]
fn without_selective_acknowledgements_three_duplicates_repair() {
    let config = Config {
        sack: false,
        ..plain()
    };
    let mut script = Script::established(&config);
    script.write(20);
    script.now += ms(20);
    script.answer(ack(S));
    assert_eq!(payloads(&script.answer(ack(S))).len(), 1);
    assert_eq!(payloads(&script.answer(ack(S))).len(), 1);
    let third = script.answer(ack(S));
    assert_eq!(payloads(&third)[0], (S, 1460));
    assert_eq!(script.reno.signals, ["loss"]);
    // A partial acknowledgement repairs the next (RFC 6582).
    script.now += ms(20);
    script.give(ack(3 * S));
    let mut next = payloads(&script.take());
    for _ in 0..4 {
        // The window still falls: not each admits one.
        next.extend(payloads(&script.answer(ack(3 * S))));
    }
    assert_eq!(next[0], (3 * S, 1460));
}

#[test]
fn a_mark_reduces_the_window_once_a_round_trip() {
    let config = Config {
        ecn: true,
        ..plain()
    };
    let mut script = Script::established(&config);
    script.write(30);
    script.now += ms(20);
    script.give(ack(S).ece());
    script.give(ack(2 * S).ece());
    assert_eq!(script.reno.signals, ["ecn"]);
    let sent: Vec<_> = (3..=10)
        .flat_map(|i| script.answer(ack(i * S).ece()))
        .collect();
    let reduced: Vec<bool> = sent.iter().map(|s| s.flags.cwr).collect();
    assert!(reduced[0] && reduced[1..].iter().all(|cwr| !cwr));
    assert!(sent.iter().all(|s| s.ecn == Ecn::Ect0));
    assert_eq!(script.reno.signals, ["ecn"]);
    script.now += ms(20);
    script.give(ack(14 * S));
    assert_eq!(script.reno.signals, ["ecn", "recovered"]);
}

#[test]
fn a_receiver_that_drops_what_it_acknowledged_gets_it_again() {
    let mut script = Script::established(&plain());
    script.write(10);
    script.now += ms(20);
    script.give(ack(0).sack(S, 10 * S));
    script.take();
    script.now += ms(20);
    script.give(ack(S));
    let sent = script.wait(ms(50));
    assert_eq!(sent[0].1.seq, S, "after at least 10 ms of grace");
}

#[test]
fn rates_are_measured_and_know_the_application_s_limit() {
    let mut line = Line::established(Config::default(), ms(10));
    line.write(0, &pattern(200 * 1448));
    line.run_for(ms(200));
    let acks = &line.ends[0].reno.acks;
    assert_eq!(acks.iter().map(|a| a.acked).sum::<u64>(), 200 * 1448);
    assert_eq!(acks.last().map(|a| a.delivered), Some(200 * 1448));
    let rates: Vec<_> = acks.iter().filter_map(|a| a.rate).collect();
    assert!(rates.iter().all(|r| r.interval >= ms(20)));
    assert!(rates.iter().any(|r| !r.app_limited));
    line.ends[0].reno.acks.clear();
    for _ in 0..3 {
        line.write(0, &[1; 100]);
        line.run_for(ms(70));
    }
    let last = line.ends[0].reno.acks.last().and_then(|a| a.rate);
    assert!(last.is_some_and(|rate| rate.app_limited));
    assert!(line.ends[0].reno.acks.iter().all(|a| !a.window_limited));
}

#[test]
fn pacing_spaces_segments() {
    let mut line = Line::established(Config::default(), ms(10));
    line.ends[0].reno.rate = Some(1_448_000);
    line.ends[0].reno.window = 1 << 20;
    line.write(0, &pattern(30 * 1448));
    line.run_for(ms(60));
    let times: Vec<_> = line.data(0).iter().map(|d| d.0).collect();
    // Ten at once, then one a millisecond.
    assert_eq!(times[..11], [times[0]; 11]);
    assert_eq!(times.len(), 30);
    for pair in times[11..].windows(2) {
        assert_eq!(pair[1] - pair[0], ms(1));
    }
}

#[test]
fn an_idle_sender_starts_again() {
    let mut line = Line::established(Config::default(), ms(10));
    line.write(0, &pattern(40 * 1448));
    line.run_for(ms(100));
    assert!(line.ends[0].reno.window > 14_480);
    line.run_for(ms(1000));
    line.write(0, &[1; 100]);
    assert_eq!(line.ends[0].reno.signals, ["idle"]);
    assert_eq!(line.ends[0].reno.window, 14_480);
}
