//! What can a stranger, an old segment or a hostile peer do?

use super::rig::{at, ms};
use super::script::{Peer, Script, ack, data, plain};
use crate::subflow::{Config, Failure, State};
use proptest::prelude::*;
use std::time::Duration;

#[test]
fn a_reset_needs_the_exact_number() {
    // RFC 5961, section 3.2.
    let mut script = Script::established(&plain());
    script.give(data(0, 100));
    script.take();
    assert_eq!(script.answer(ack(0).from(5_000_000).rst()), []);
    assert_eq!(script.answer(ack(0).from(50).rst()), [], "old");
    let challenge = script.answer(ack(0).from(500).rst());
    assert_eq!(challenge.len(), 1);
    assert_eq!(challenge[0].ack, 100);
    assert_eq!(script.tcp.state(), State::Established);
    let received = script.give(ack(0).from(100).rst());
    assert!(!received.acceptable);
    assert_eq!(script.tcp.failure(), Some(Failure::Reset));
}

#[test]
fn a_reset_after_what_was_acknowledged_selectively_counts() {
    let mut script = Script::established(&plain());
    script.give(data(1000, 100));
    script.give(ack(0).from(1100).rst());
    assert_eq!(script.tcp.failure(), Some(Failure::Reset));
}

#[test]
fn challenges_are_limited_to_two_a_second() {
    let mut script = Script::established(&plain());
    let mut sent = 0;
    for _ in 0..100 {
        script.now += ms(20);
        sent += script.answer(ack(0).from(500).rst()).len();
    }
    assert_eq!(sent, 4);
    assert_eq!(script.tcp.info(script.now).challenges, 100);
}

#[test]
fn a_syn_is_challenged() {
    // RFC 5961, section 4.2, whatever its number.
    for seq in [-1, 0, 500, 9_000_000] {
        let mut script = Script::established(&plain());
        let sent = script.answer(ack(0).from(seq).syn());
        assert_eq!(sent.len(), 1);
        assert!(!sent[0].flags.rst);
        assert_eq!(script.tcp.state(), State::Established);
    }
}

#[test]
fn an_acknowledgement_of_the_unsent_is_challenged() {
    let mut script = Script::established(&plain());
    let received = script.give(data(0, 10).acking(5));
    assert!(!received.acceptable);
    assert_eq!(received.in_order, None);
    assert_eq!(script.take().len(), 1);
}

#[test]
fn an_acknowledgement_from_long_ago_is_challenged() {
    // RFC 5961, section 5.2: older than the largest window.
    let mut script = Script::established(&plain());
    script.tcp.set_receive_window(1 << 20);
    for i in 1..200 {
        script.write(1);
        script.give(ack(i * 1460).window(100));
    }
    let received = script.give(data(0, 10).acking(1));
    assert!(!received.acceptable);
    // A recent one is harmless.
    assert!(script.give(data(0, 10).acking(198 * 1460)).acceptable);
}

#[test]
fn old_timestamps_are_refused() {
    let mut script = Script::established(&Config::default());
    let received = script.give(data(0, 100).stamped(1000, 0));
    assert!(received.in_order.is_some());
    script.take();
    let received = script.give(data(100, 100).stamped(999, 0));
    assert!(!received.acceptable && received.in_order.is_none());
    assert_eq!(script.take().len(), 1);
    // After 24 days the timestamp is forgotten.
    script.now += Duration::from_secs(25 * 24 * 3600);
    assert!(script.give(data(100, 100).stamped(999, 0)).acceptable);
}

#[test]
fn data_beyond_the_window_is_not_kept() {
    let mut script = Script::established(&plain());
    let edge = script.tcp.announced_edge() as i64;
    let received = script.give(data(edge - 10, 100));
    assert!(received.acceptable);
    assert!(!script.give(data(edge + 1, 100)).acceptable);
    let mut next = 0;
    while next < edge - 10 {
        let length = (edge - 10 - next).min(1460);
        script.give(data(next, length as usize));
        next += length;
    }
    let sent = script.take();
    assert_eq!(sent.last().map(|s| s.ack), Some(edge));
}

#[test]
fn selective_acknowledgements_of_nonsense_are_ignored() {
    let mut script = Script::established(&plain());
    script.write(5);
    for (start, end) in [
        (5, 2),
        (0, 90_000),
        (-500, 100),
        (i32::MAX as i64, 3),
        (7300, 7301),
    ] {
        script.give(ack(0).sack(start, end));
    }
    let info = script.tcp.info(script.now);
    assert_eq!((info.in_flight, info.lost_segments), (5 * 1460, 0));
}

#[test]
fn a_wrong_third_segment_is_reset() {
    let mut line = super::rig::Line::new(Config::default(), ms(10));
    line.run_for(ms(12));
    assert_eq!(line.ends[1].state(), State::SynReceived);
    let mut forged = line.seen[0].segment();
    let bytes = {
        forged.flags.syn = false;
        forged.flags.ack = true;
        forged.seq += 1;
        forged.ack = crate::wire::Seq(77);
        let mut packet = vec![0; 200];
        let length = forged.emit(&mut packet);
        packet.truncate(length);
        packet
    };
    line.delay = ms(1);
    line.send(0, bytes);
    line.run_until(at(14));
    assert_eq!(line.ends[1].state(), State::SynReceived);
    assert!(
        line.seen
            .iter()
            .any(|s| s.from == 1 && s.segment().flags.rst)
    );
}

fn any_peer() -> impl Strategy<Value = (Peer, u16)> {
    let offset = prop_oneof![-3_i64..3, 0_i64..200_000, any::<i32>().prop_map(i64::from)];
    let edges = prop::collection::vec((0_i64..60_000, 0_i64..60_000), 0..4);
    (
        (offset.clone(), offset),
        any::<(bool, bool, bool, bool)>(),
        any::<u16>(),
        0_usize..1500,
        edges,
        prop::option::of(any::<(u32, u32)>()),
        0_u16..800,
    )
        .prop_map(
            |((seq, number), flags, window, length, edges, stamp, wait)| {
                let mut peer = data(seq, length).acking(number).window(window);
                (peer.flags.syn, peer.flags.fin) = (flags.0 && flags.1, flags.2 && flags.3);
                peer.flags.rst = flags.0 && flags.2 && flags.3;
                peer.flags.ack = !(flags.1 && flags.2 && flags.3);
                peer.flags.ece = flags.0;
                for (start, end) in edges {
                    peer = peer.sack(start, end);
                }
                if let Some((value, echo)) = stamp {
                    peer = peer.stamped(value, echo);
                }
                (peer, wait)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn no_segment_makes_it_panic_or_talk_without_end(
        peers in prop::collection::vec(any_peer(), 1..60),
        timestamps in any::<bool>(),
        sack in any::<bool>(),
    ) {
        let config = Config { timestamps, sack, ecn: true, ..Config::default() };
        let mut script = Script::established(&config);
        script.write(40);
        for (peer, wait) in peers {
            // One in three continues where it should, so that not all is refused.
            let mut peer = peer;
            if wait % 3 == 0 {
                peer.seq = 0;
            }
            let sent = script.answer(peer);
            prop_assert!(sent.len() < 100);
            let sent = script.wait(ms(u64::from(wait)));
            prop_assert!(sent.len() < 1000);
            let info = script.tcp.info(script.now);
            prop_assert!(info.in_flight <= 2 * info.unacked);
            prop_assert!(info.unacked + info.queued <= 40 * 1460);
        }
    }
    /// Each byte is delivered once and in order (the script sees to that), nothing after the FIN,
    /// and what is delivered is what is acknowledged.
    #[test]
    fn a_stream_that_contradicts_itself_ends_at_one_fin(
        segments in prop::collection::vec((0_i64..40, 0_usize..12, 0_u8..4), 1..60),
    ) {
        let mut script = Script::established(&plain());
        let mut ended = None;
        for (seq, length, fin) in segments {
            let mut peer = data(seq, length);
            peer.flags.fin = fin == 0;
            let received = script.give(peer);
            if received.fin {
                prop_assert_eq!(ended, None);
                ended = Some(script.taken);
            }
            prop_assert!(ended.is_none_or(|end| end == script.taken));
            let receiver = &script.tcp.receiver;
            let next = script.taken + u64::from(ended.is_some());
            prop_assert_eq!(receiver.next, next);
            let fin = receiver.fin.unwrap_or(u64::MAX);
            prop_assert!(!script.tcp.store.reaches_beyond(fin));
            let told = &receiver.recent;
            prop_assert!(told.iter().all(|b| next < b.0 && b.0 < b.1 && b.1 <= fin));
        }
    }
}
