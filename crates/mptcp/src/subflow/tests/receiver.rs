//! When does the receiver acknowledge, and which window does it announce?

use super::rig::{Line, at, ms, pattern};
use super::script::{Script, ack, data, plain};
use crate::subflow::Config;
use crate::wire::{Ecn, Seq};
use bytes::Bytes;
use std::time::Duration;

const S: i64 = 1460;

/// Beyond the quick acknowledgements of the beginning: 16 segments were acknowledged.
fn warmed() -> (Script, i64) {
    let mut script = Script::established(&plain());
    for i in 0..16 {
        script.now += ms(10);
        assert_eq!(script.answer(data(i * S, S as usize)).len(), 1, "quick");
    }
    (script, 16 * S)
}

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    warmed();
}

#[test]
fn every_second_full_segment_is_acknowledged() {
    let (mut script, next) = warmed();
    for i in 0..10 {
        let sent = script.answer(data(next + i * S, S as usize));
        assert_eq!(sent.len(), (i % 2) as usize, "{i}");
    }
}

#[test]
fn a_lone_segment_waits_40_ms() {
    let (mut script, next) = warmed();
    assert_eq!(script.answer(data(next, S as usize)), []);
    let sent = script.wait(ms(300));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].0, ms(40));
    assert_eq!(sent[0].1.ack, next + S);
}

#[test]
fn a_conversation_answers_with_data() {
    // Requests and responses: an answer within 40 ms carries the acknowledgement, and from then
    // on acknowledgements wait for answers.
    let mut script = Script::established(&plain());
    let mut bare = 0;
    for i in 0..6_i64 {
        script.now += ms(400);
        bare += script.answer(data(i * 100, 100).acking(i * 100)).len();
        script.now += ms(1);
        script
            .tcp
            .enqueue(script.now, Bytes::from(vec![1; 100]), None);
        let sent = script.take();
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].ack, (i + 1) * 100);
        script.now += ms(20);
        script.give(ack((i + 1) * 100).from((i + 1) * 100));
    }
    // Only the first request is acknowledged by itself.
    assert_eq!(bare, 1);
    // When no answer comes it is none: after 40 ms.
    script.now += ms(400);
    assert_eq!(script.answer(data(600, 100).acking(600)), []);
    assert_eq!(script.wait(ms(100))[0].0, ms(40));
}

#[test]
fn what_the_application_read_is_acknowledged() {
    let (mut script, next) = warmed();
    assert_eq!(script.answer(data(next, 300)), []);
    script.tcp.data_read(false);
    assert_eq!(script.take(), []);
    script.tcp.data_read(true);
    assert_eq!(script.take().len(), 1);
}

#[test]
fn a_gap_is_told_at_once_and_so_is_its_end() {
    let (mut script, next) = warmed();
    let sent = script.answer(data(next + S, S as usize));
    let block = |start: i64, end: i64| {
        let seq = |o: i64| Seq(super::script::PEERS.wrapping_add(1 + o as u32));
        (seq(start), seq(end))
    };
    assert_eq!(sent[0].ack, next);
    assert_eq!(sent[0].options.sack[..], [block(next + S, next + 2 * S)]);
    // The newest first.
    let sent = script.answer(data(next + 3 * S, S as usize));
    assert_eq!(
        sent[0].options.sack[..],
        [
            block(next + 3 * S, next + 4 * S),
            block(next + S, next + 2 * S)
        ]
    );
    // What came twice is told first, then the block that holds it (RFC 2883, section 4.2).
    let sent = script.answer(data(next + S, S as usize));
    assert_eq!(
        sent[0].options.sack[..],
        [
            block(next + S, next + 2 * S),
            block(next + S, next + 2 * S),
            block(next + 3 * S, next + 4 * S)
        ]
    );
    let received = script.give(data(next, S as usize));
    assert_eq!(received.in_order.map(|o| o.offset), Some(next as u64));
    assert!(received.buffered);
    assert_eq!(script.take()[0].ack, next + 2 * S);
    let received = script.give(data(next + 2 * S, S as usize));
    assert!(received.buffered);
    let sent = script.take();
    assert_eq!(sent[0].ack, next + 4 * S);
    assert!(sent[0].options.sack.is_empty());
    // All of it once more.
    let sent = script.answer(data(next, S as usize));
    assert_eq!(sent[0].options.sack[..], [block(next, next + S)]);
}

#[test]
fn many_duplicates_are_compressed() {
    // Linux: after three, within a millisecond or a twentieth of the round trip.
    let (mut script, next) = warmed();
    let mut sent = 0;
    for i in 1..10 {
        sent += script.answer(data(next + i * S, S as usize)).len();
    }
    assert_eq!(sent, 3);
    let late = script.wait(ms(5));
    assert_eq!((late.len(), late[0].0), (1, ms(1)));
}

#[test]
fn partly_old_data_is_cut() {
    let mut script = Script::established(&plain());
    script.give(data(0, 100));
    let received = script.give(data(50, 100));
    let part = received.in_order.expect("new data");
    assert_eq!((part.offset, part.start, part.length), (100, 50, 50));
}

#[test]
fn marks_are_echoed_until_the_window_is_reduced() {
    let config = Config {
        ecn: true,
        ..plain()
    };
    let mut script = Script::established(&config);
    assert!(!script.answer(data(0, 100).ecn(Ecn::Ect0))[0].flags.ece);
    assert!(script.answer(data(100, 100).ecn(Ecn::Ce))[0].flags.ece);
    assert!(script.answer(data(200, 100).ecn(Ecn::Ect0))[0].flags.ece);
    assert!(
        !script.answer(data(300, 100).ecn(Ecn::Ect0).cwr())[0]
            .flags
            .ece
    );
}

#[test]
fn a_window_closes_and_is_probed_until_it_opens() {
    let mut line = Line::new(plain(), ms(10));
    line.ends[1].buffer = 20_000;
    line.connect();
    line.run_for(ms(30));
    line.seen.clear();
    line.ends[1].appetite = 0;
    let data = pattern(60_000);
    line.write(0, &data);
    line.run_for(ms(10_000));
    let read = line.ends[1].read.len();
    assert!((17_000..20_128).contains(&read), "{read}");
    let now = line.now;
    assert_eq!(line.ends[0].tcp().info(now).in_flight, 0);
    // Probes at growing intervals; the first 220 ms after the last acknowledgement, which is
    // Linux's RTO, as an old sequence number without data.
    let probes: Vec<u64> = line
        .seen
        .iter()
        .filter(|s| s.from == 0 && s.segment().payload.is_empty())
        .map(|s| s.at.as_micros() / 1000)
        .collect();
    assert!((4..=7).contains(&probes.len()), "{probes:?}");
    let gaps: Vec<u64> = probes.windows(2).map(|p| p[1] - p[0]).collect();
    assert!(gaps.windows(2).all(|g| g[1] >= 2 * g[0] - 50), "{gaps:?}");
    assert!(line.ends[0].tcp().failure().is_none());
    line.ends[1].appetite = usize::MAX;
    line.ends[1].consume();
    line.run_for(ms(100));
    assert!(line.ends[1].read == data, "the opened window is announced");
}

#[test]
fn a_peer_that_answers_probes_is_never_given_up() {
    let mut line = Line::new(plain(), ms(10));
    line.ends[1].buffer = 20_000;
    line.connect();
    line.run_for(ms(30));
    line.ends[1].appetite = 0;
    line.write(0, &pattern(60_000));
    line.run_for(Duration::from_secs(4000));
    assert!(line.ends[0].tcp().failure().is_none());
    line.rule(|_, _, _| super::rig::Fate::Drop);
    line.run_for(Duration::from_secs(4000));
    assert!(line.ends[0].tcp().failure().is_some());
}

#[test]
fn a_window_smaller_than_a_segment_is_filled_after_a_while() {
    let mut script = Script::established(&plain());
    script.now += ms(20);
    script.give(ack(0).window(0));
    assert_eq!(script.write(1), []);
    script.give(ack(0).window(5).from(0));
    assert_eq!(script.take(), [], "5 << 7 bytes");
    let sent = script.wait(ms(300));
    assert_eq!((sent[0].0, sent[0].1.length), (ms(220), 640));
}

#[test]
fn a_window_never_shrinks_nor_is_it_silly() {
    let mut script = Script::established(&plain());
    let edge = script.tcp.announced_edge();
    assert!(edge >= 1 << 20);
    script.tcp.set_receive_window(0);
    script.answer(data(0, 1000));
    assert!(script.tcp.announced_edge() >= edge);
    // Fill it: in what the field can tell, nothing is left.
    let mut next = 1000;
    while next < script.tcp.announced_edge() as i64 {
        let length = (script.tcp.announced_edge() as i64 - next).min(S);
        script.answer(data(next, length as usize));
        next += length;
    }
    // Rounding gave less than one unit away.
    assert!((edge..edge + 128).contains(&(next as u64)));
    // What rounding gave away before may still come.
    let sent: Vec<_> = (0..2)
        .flat_map(|_| script.answer(data(next, 1000)))
        .collect();
    let last = &sent[sent.len() - 1];
    assert_eq!(last.window, 0);
    assert!((next..next + 128).contains(&last.ack));
    // A little space is not worth telling.
    script.tcp.set_receive_window(1000);
    assert_eq!(script.take(), []);
    script.tcp.set_receive_window(100_000);
    let sent = script.take();
    assert_eq!(sent.len(), 1);
    assert_eq!(u64::from(sent[0].window) << 7, 100_000 >> 7 << 7);
}

#[test]
fn small_windows_are_whole_segments_without_scaling() {
    let config = Config {
        window_scale: None,
        ..plain()
    };
    let mut script = Script::established(&config);
    let mut next = 0;
    while script.tcp.announced_edge() > next as u64 {
        script.tcp.set_receive_window(0);
        let length = (script.tcp.announced_edge() as i64 - next).min(S);
        script.answer(data(next, length as usize));
        next += length;
    }
    script.tcp.set_receive_window(10_000);
    assert_eq!(script.take()[0].window, 6 * 1460);
}

#[test]
fn options_of_the_owner_come_first_and_selective_ones_fill_the_rest() {
    use crate::subflow::{Congestion, Kind, OptionSource};
    use crate::wire::mptcp::{Dss, Number};
    use crate::wire::{MptcpOption, MptcpOptions, Segment};
    struct Owner(usize);
    impl OptionSource for Owner {
        fn options(&mut self, _: Kind, _: &[u8], room: usize, options: &mut MptcpOptions) {
            self.0 = room;
            options.push(MptcpOption::Dss(Dss {
                data_ack: Some(Number::Wide(1)),
                ..Dss::default()
            }));
        }
    }
    let mut script = Script::established(&Config::default());
    for i in 1..5 {
        script.give(data(2 * i * S, 100).stamped(2, 0));
    }
    let mut packet = [0; 200];
    let mut owner = Owner(0);
    let congestion = Congestion {
        controller: &mut script.reno,
        id: policy::SubflowId::new(0),
    };
    let length = script
        .tcp
        .transmit(script.now, congestion, &mut owner, &mut packet)
        .expect("an acknowledgement");
    let segment = Segment::parse(&packet[..length]).expect("well-formed");
    assert_eq!(owner.0, 28);
    assert_eq!(segment.options.mptcp.len(), 1);
    assert_eq!(segment.options.sack.len(), 1);
}

#[test]
fn keep_alive_probes_are_answered_or_end_the_connection() {
    let config = Config {
        keep_alive: Some(Duration::from_secs(10)),
        ..plain()
    };
    let mut line = Line::established(config, ms(10));
    line.run_for(Duration::from_secs(100));
    assert!(line.ends[0].tcp().failure().is_none());
    let probes = line.acks(0).len();
    // Each end after 10 s of silence, then every 75 s (as Linux, which looks at the silence
    // anew only then), and the answers.
    assert_eq!(probes, 4);
    line.rule(|_, _, _| super::rig::Fate::Drop);
    line.run_for(Duration::from_secs(10 + 9 * 75 + 5));
    assert_eq!(
        line.ends[0].tcp().failure(),
        Some(crate::subflow::Failure::TimedOut)
    );
}

#[test]
fn a_reverse_stream_carries_acknowledgements() {
    let mut line = Line::established(plain(), ms(10));
    line.write(0, &pattern(100_000));
    line.write(1, &pattern(100_000));
    line.run_until(at(1_000));
    assert_eq!(line.ends[0].read, line.ends[1].read);
    assert_eq!(line.ends[0].read.len(), 100_000);
}
