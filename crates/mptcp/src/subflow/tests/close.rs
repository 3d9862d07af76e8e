//! How does a connection end?

use super::rig::{Fate, Line, ms};
use super::script::{Script, ack, data, plain};
use crate::subflow::{Config, Failure, State};
use std::time::Duration;

#[test]
fn one_side_closes_then_the_other() {
    let mut line = Line::established(Config::default(), ms(10));
    let now = line.now;
    line.write(0, b"last words");
    line.ends[0].tcp().close(now);
    line.flush();
    assert_eq!(line.ends[0].state(), State::FinWait1);
    line.run_for(ms(60));
    assert_eq!(line.ends[0].state(), State::FinWait2);
    assert_eq!(line.ends[1].state(), State::CloseWait);
    // Half closed: the other way still works.
    line.write(1, b"and more");
    line.run_for(ms(30));
    assert_eq!(line.ends[0].read, b"and more");
    let now = line.now;
    line.ends[1].tcp().close(now);
    line.flush();
    assert_eq!(line.ends[1].state(), State::LastAck);
    line.run_for(ms(30));
    assert_eq!(line.ends[0].state(), State::TimeWait);
    assert_eq!(line.ends[1].state(), State::Closed);
    line.run_for(Duration::from_secs(59));
    assert_eq!(line.ends[0].state(), State::TimeWait);
    line.run_for(Duration::from_secs(2));
    assert_eq!(line.ends[0].state(), State::Closed);
    assert_eq!(line.ends[0].tcp().failure(), None);
    assert_eq!(line.ends[0].tcp().poll_at(), None);
}

#[test]
fn both_close_at_once() {
    let mut line = Line::established(Config::default(), ms(10));
    let now = line.now;
    for end in &mut line.ends {
        end.tcp().close(now);
    }
    line.run_for(ms(15));
    assert_eq!(line.ends[0].state(), State::Closing);
    line.run_for(ms(15));
    for end in &line.ends {
        assert_eq!(end.state(), State::TimeWait);
    }
    line.run_for(Duration::from_secs(61));
    for end in &mut line.ends {
        assert_eq!(end.state(), State::Closed);
        assert_eq!(end.tcp().failure(), None);
    }
}

#[test]
fn a_fin_goes_with_the_last_data_and_is_sent_again() {
    let mut line = Line::established(Config::default(), ms(10));
    let mut first = true;
    line.rule(
        move |_, _, segment| match segment.flags.fin && std::mem::take(&mut first) {
            true => Fate::Drop,
            false => Fate::Pass,
        },
    );
    let now = line.now;
    line.ends[0]
        .tcp()
        .enqueue(now, bytes::Bytes::from_static(b"end"), None);
    line.ends[0].tcp().close(now);
    line.run_for(ms(400));
    assert_eq!(line.ends[1].read, b"end");
    assert_eq!(line.ends[1].state(), State::CloseWait);
    assert_eq!(line.ends[0].state(), State::FinWait2);
    let fins = line.seen.iter().filter(|s| s.segment().flags.fin).count();
    assert_eq!(fins, 2);
}

#[test]
fn a_fin_before_the_rest_waits() {
    let mut script = Script::established(&plain());
    let received = script.give(data(100, 50).fin());
    assert!(!received.fin);
    assert_eq!(script.tcp.state(), State::Established);
    let received = script.give(data(0, 100));
    assert!(received.fin && received.buffered);
    assert_eq!(script.tcp.state(), State::CloseWait);
    assert_eq!(script.take()[0].ack, 151);
    // Data beyond the FIN is ignored.
    let received = script.give(data(151, 50));
    assert_eq!(received.in_order, None);
}

/// A peer that contradicts itself: its FIN comes before data that came earlier. The stream ends
/// at the FIN; what is beyond it is not delivered, not acknowledged and not told to be there.
#[test]
fn data_that_came_before_a_fin_in_front_of_it_is_dropped() {
    let segments: &[&[_]] = &[
        // The FIN comes in order.
        &[data(100, 100), data(0, 150).fin()],
        &[data(150, 100), data(0, 150).fin()],
        &[data(151, 100), data(0, 150).fin()],
        &[data(100, 20), data(130, 300), data(0, 150).fin()],
        // It comes behind a gap that is filled later.
        &[data(100, 100), data(50, 100).fin(), data(0, 50)],
        &[data(100, 100), data(150, 0).fin(), data(0, 150)],
        &[data(100, 100), data(150, 0).fin(), data(0, 100)],
        &[data(150, 100), data(50, 100).fin(), data(0, 100)],
        // Another FIN counts for nothing.
        &[data(140, 60).fin(), data(100, 50).fin(), data(0, 200)],
    ];
    let ends = [150, 150, 150, 150, 150, 150, 150, 150, 200];
    for (case, (segments, end)) in segments.iter().zip(ends).enumerate() {
        let mut script = Script::established(&plain());
        let (last, before) = segments.split_last().expect("some");
        for peer in before {
            assert!(!script.give(peer.clone()).fin);
            script.take();
        }
        assert!(script.give(last.clone()).fin, "case {case}");
        assert_eq!(script.taken, end, "case {case}");
        assert_eq!(script.tcp.state(), State::CloseWait);
        let sent = script.take();
        let last = sent.last().expect("an acknowledgement");
        assert_eq!(last.ack, end as i64 + 1, "case {case}");
        assert!(last.options.sack.is_empty(), "{last:?}");
        // More of it changes nothing.
        for peer in *segments {
            let received = script.give(peer.clone());
            assert!(!received.buffered && received.in_order.is_none() && !received.fin);
        }
        script.give(data(end as i64 + 1, 50));
        script.give(data(end as i64 + 50, 50));
        assert_eq!(script.taken, end);
    }
}

#[test]
fn what_is_beyond_a_fin_is_not_told_to_be_there() {
    let mut script = Script::established(&plain());
    script.give(data(100, 100));
    script.give(data(300, 100));
    script.take();
    let sent = script.answer(data(120, 30).fin());
    let seq = |offset| crate::wire::Seq(super::script::PEERS + 1 + offset);
    let told = &sent.last().expect("an acknowledgement").options.sack;
    // What came twice, and the one block that is left.
    let blocks = [(seq(120), seq(150)), (seq(100), seq(150))];
    assert_eq!(told[..], blocks);
}

#[test]
fn time_wait_answers_a_repeated_fin_and_begins_anew() {
    let mut script = Script::established(&plain());
    script.tcp.close(script.now);
    assert!(script.take()[0].flags.fin);
    script.give(ack(1));
    assert_eq!(script.tcp.state(), State::FinWait2);
    let sent = script.answer(ack(1).fin());
    assert_eq!((sent.len(), sent[0].ack), (1, 1));
    assert_eq!(script.tcp.state(), State::TimeWait);
    script.wait(Duration::from_secs(50));
    assert_eq!(script.answer(ack(1).fin()).len(), 1);
    script.wait(Duration::from_secs(50));
    assert_eq!(script.tcp.state(), State::TimeWait);
    script.wait(Duration::from_secs(11));
    assert_eq!(script.tcp.state(), State::Closed);
}

#[test]
fn a_fin_and_the_acknowledgement_of_ours_together_lead_to_time_wait() {
    let mut script = Script::established(&plain());
    script.tcp.close(script.now);
    script.take();
    assert_eq!(script.answer(ack(1).fin()).len(), 1);
    assert_eq!(script.tcp.state(), State::TimeWait);
}

#[test]
fn an_abort_resets() {
    let mut line = Line::established(Config::default(), ms(10));
    line.ends[0].tcp().abort();
    line.run_for(ms(20));
    assert_eq!(line.ends[0].tcp().failure(), Some(Failure::Aborted));
    assert_eq!(line.ends[1].tcp().failure(), Some(Failure::Reset));
    assert_eq!(line.ends[1].state(), State::Closed);
    assert_eq!(line.seen.len(), 1);
}

#[test]
fn an_abort_before_anything_was_sent_is_silent() {
    let mut script = Script::connecting(&plain());
    script.tcp.abort();
    assert_eq!(script.take(), []);
    assert_eq!(script.tcp.failure(), Some(Failure::Aborted));
}

#[test]
fn a_close_while_connecting_waits() {
    let mut line = Line::new(Config::default(), ms(10));
    let now = line.now;
    line.ends[0]
        .tcp()
        .enqueue(now, bytes::Bytes::from_static(b"hello"), None);
    line.ends[0].tcp().close(now);
    line.run_for(ms(100));
    assert_eq!(line.ends[1].read, b"hello");
    assert_eq!(line.ends[1].state(), State::CloseWait);
}

#[test]
fn what_was_not_sent_can_be_taken_back() {
    let mut script = Script::established(&plain());
    script.write(12);
    let mut back = 0;
    while let Some((payload, _)) = script.tcp.take_unsent() {
        back += payload.len();
    }
    assert_eq!(back, 2 * 1460);
    assert_eq!(script.tcp.info(script.now).queued, 0);
}
