//! How does a connection begin?

use super::rig::{Fate, Line, at, ms};
use super::script::{Peer, Script, ack, data, payloads, plain, syn, times};
use crate::subflow::{Config, Failure, State};
use crate::wire::Timestamps;
use std::time::Duration;

#[test]
fn the_handshake_measures_a_round_trip_and_agrees_on_options() {
    let mut line = Line::new(Config::default(), ms(10));
    line.run_for(ms(30));
    let now = line.now;
    for end in &mut line.ends {
        let info = end.tcp().info(now);
        assert_eq!(info.state, State::Established);
        assert_eq!(info.smoothed_rtt, Some(ms(20)));
        // RFC 6298, section 2.2, with Linux's floor of 200 ms on the variance.
        assert_eq!(info.rto, ms(220));
        assert_eq!(info.mss, 1448);
        assert_eq!(end.reno.window, 14_480);
    }
    let syn = line.seen[0].segment();
    assert_eq!(syn.options.mss, Some(1460));
    assert_eq!(syn.options.window_scale, Some(7));
    assert!(syn.options.sack_permitted && syn.options.timestamps.is_some());
    assert_eq!(line.seen.len(), 3);
}

#[test]
fn options_the_peer_lacks_are_not_used() {
    let mut line = Line::new(Config::default(), ms(10));
    line.ends[1].config = Config {
        sack: false,
        timestamps: false,
        window_scale: None,
        mss: 1000,
        ..Config::default()
    };
    line.run_for(ms(30));
    assert_eq!(line.ends[0].tcp().segment_payload(), 1000);
    assert_eq!(line.ends[1].tcp().segment_payload(), 1000);
    let last = line.seen[2].segment();
    assert_eq!((last.options.timestamps, last.window), (None, 65_535));
}

#[test]
fn a_syn_is_sent_again_four_times_after_a_second_and_then_ever_later() {
    let mut script = Script::connecting(&Config::default());
    let sent = script.wait(Duration::from_secs(400));
    let seconds: Vec<u128> = times(&sent).iter().map(|ms| ms / 1000).collect();
    // Linux since 6.5: four linear timeouts, then six that double.
    assert_eq!(seconds, [1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
    assert_eq!(script.tcp.state(), State::Closed);
    assert_eq!(script.tcp.failure(), Some(Failure::TimedOut));
    assert_eq!(script.tcp.poll_at(), None);

    let config = Config {
        syn_linear_timeouts: 0,
        ..Config::default()
    };
    let sent = Script::connecting(&config).wait(Duration::from_secs(400));
    assert_eq!(times(&sent), [1000, 3000, 7000, 15_000, 31_000, 63_000]);
}

#[test]
fn a_syn_ack_is_sent_again_with_doubled_timeouts() {
    let mut line = Line::new(Config::default(), ms(10));
    line.rule(|_, from, segment| match (from, segment.flags.syn) {
        (0, true) => Fate::Pass,
        _ => Fate::Drop,
    });
    line.run_for(ms(900));
    // The client's repeated SYNs would be answered too: only the server's timer is looked at.
    line.rule(|_, _, _| Fate::Drop);
    line.run_for(Duration::from_secs(100));
    let answers: Vec<u64> = line
        .seen
        .iter()
        .filter(|seen| seen.from == 1)
        .map(|seen| seen.at.as_micros() / 1000)
        .collect();
    assert_eq!(answers, [10, 1010, 3010, 7010, 15_010, 31_010]);
    assert_eq!(line.ends[1].state(), State::Closed);
}

#[test]
fn a_repeated_syn_is_answered_with_the_same_syn_ack() {
    let mut line = Line::new(Config::default(), ms(10));
    line.rule(|now, from, _| match from {
        1 if now < at(500) => Fate::Drop,
        _ => Fate::Pass,
    });
    line.run_for(ms(1100));
    assert_eq!(line.ends[0].state(), State::Established);
    assert_eq!(line.ends[1].state(), State::Established);
}

#[test]
fn the_window_begins_small_when_the_syn_was_lost_twice() {
    for (lost, window) in [(1, 14_480), (2, 1_448)] {
        let mut line = Line::new(Config::default(), ms(10));
        let mut count = 0;
        line.rule(move |_, _, segment| {
            count += usize::from(segment.flags.syn);
            if count <= lost {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        line.run_for(ms(3000));
        assert_eq!(line.ends[0].reno.window, window, "{lost} lost");
        // The timestamp tells which SYN was answered.
        let now = line.now;
        assert_eq!(line.ends[0].tcp().info(now).smoothed_rtt, Some(ms(20)));
    }
}

#[test]
fn without_a_round_trip_the_first_timeout_is_three_seconds() {
    let mut script = Script::connecting(&plain());
    script.wait(ms(1500));
    let answer = Peer {
        options: syn(),
        ..ack(0).from(-1).syn()
    };
    assert!(script.give(answer).established);
    assert_eq!(script.tcp.info(script.now).smoothed_rtt, None);
    assert_eq!(script.tcp.info(script.now).rto, Duration::from_secs(3));
}

#[test]
fn both_begin_at_once() {
    let mut line = Line::new(Config::default(), ms(10));
    let server = crate::subflow::Subflow::connect(
        &Config::default(),
        line.now,
        super::rig::tuples()[1],
        line.ends[1].initial,
        9,
    );
    line.ends[1].tcp = Some(server);
    line.run_for(ms(15));
    assert_eq!(line.ends[0].state(), State::SynReceived);
    line.run_for(ms(50));
    assert_eq!(line.ends[0].state(), State::Established);
    assert_eq!(line.ends[1].state(), State::Established);
    line.write(0, &[1; 5000]);
    line.write(1, &[2; 5000]);
    line.run_for(ms(100));
    assert_eq!(line.ends[0].read, [2; 5000]);
    assert_eq!(line.ends[1].read, [1; 5000]);
}

#[test]
fn a_reset_refuses_only_with_the_right_number() {
    let mut script = Script::connecting(&plain());
    let reset = ack(0).from(-1).rst();
    script.give(reset.clone().acking(5));
    assert_eq!(script.tcp.state(), State::SynSent);
    let mut without_ack = reset.clone();
    without_ack.flags.ack = false;
    script.give(without_ack);
    assert_eq!(script.tcp.state(), State::SynSent);
    script.give(reset);
    assert_eq!(script.tcp.failure(), Some(Failure::Refused));
    assert_eq!(script.take(), []);
}

#[test]
fn an_old_duplicate_syn_ack_is_reset() {
    // RFC 9293, figure 9.
    let mut script = Script::connecting(&plain());
    let old = Peer {
        options: syn(),
        ..ack(-5).from(-1).syn()
    };
    let answer = script.answer(old);
    assert_eq!(answer.len(), 1);
    assert!(answer[0].flags.rst && !answer[0].flags.ack);
    assert_eq!(answer[0].seq, -5);
    assert_eq!(script.tcp.state(), State::SynSent);
}

#[test]
fn data_may_come_with_the_third_segment() {
    let mut line = Line::new(Config::default(), ms(10));
    line.rule(
        |_, from, segment| match (from, segment.payload.is_empty()) {
            // The bare third acknowledgement is lost; data carries it.
            (0, true) if !segment.flags.syn => Fate::Drop,
            _ => Fate::Pass,
        },
    );
    line.run_for(ms(25));
    assert_eq!(line.ends[1].state(), State::SynReceived);
    line.write(0, b"hello");
    line.run_for(ms(15));
    assert_eq!(line.ends[1].state(), State::Established);
    assert_eq!(line.ends[1].read, b"hello");
    assert!(line.ends[1].received[0].established);
}

#[test]
fn timestamps_wrap() {
    let mut line = Line::new(Config::default(), ms(10));
    for end in &mut line.ends {
        end.timestamp_offset = u32::MAX - 40;
    }
    line.connect();
    line.run_for(ms(30));
    for _ in 0..10 {
        line.write(0, &[1; 3000]);
        line.run_for(ms(30));
        let now = line.now;
        assert_eq!(line.ends[0].tcp().info(now).smoothed_rtt, Some(ms(20)));
    }
    assert_eq!(line.ends[1].read.len(), 30_000);
}

#[test]
fn ecn_is_agreed_on_and_not_asked_for_again() {
    let config = Config {
        ecn: true,
        ..Config::default()
    };
    let mut line = Line::new(config.clone(), ms(10));
    line.run_for(ms(30));
    let (syn, answer) = (line.seen[0].segment(), line.seen[1].segment());
    assert!(syn.flags.ece && syn.flags.cwr);
    assert!(answer.flags.ece && !answer.flags.cwr);
    line.write(0, &[1; 100]);
    assert_eq!(line.seen[3].segment().ecn, crate::wire::Ecn::Ect0);

    let mut script = Script::connecting(&config);
    let again = script.wait(ms(1000));
    assert!(!again[0].1.flags.ece && !again[0].1.flags.cwr);
}

#[test]
fn what_is_enqueued_early_waits_and_is_cut_to_the_peer_s_size() {
    let mut script = Script::connecting(&Config::default());
    assert_eq!(script.write(2), []);
    script.now = at(20);
    let mut options = syn();
    options.mss = Some(1000);
    options.timestamps = Some(Timestamps { value: 1, echo: 0 });
    let answer = Peer {
        options,
        ..ack(0).from(-1).syn()
    };
    let sent = script.answer(answer);
    assert_eq!(
        payloads(&sent),
        [(0, 988), (988, 460), (1448, 988), (2436, 460)]
    );
    script.give(data(0, 10).acking(2896));
    assert_eq!(script.tcp.info(script.now).unacked, 0);
}
