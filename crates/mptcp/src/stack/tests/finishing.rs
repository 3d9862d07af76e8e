//! Do connections end as RFC 8684, sections 3.3.3 and 3.5, say?

use super::rig::*;
use crate::connection::{Event, Failure};
use crate::subflow;
use policy::SubflowId;

#[test]
fn each_order_of_finishing_closes_both_sides() {
    for (first, pause) in [(CLIENT, 0), (CLIENT, 500), (SERVER, 0), (SERVER, 500)] {
        for lossy in [false, true] {
            let mut world = World::new(config(), config());
            let (id, other) = world.connected();
            world.join(id, 2, false);
            let ids = [id, other];
            if lossy {
                world.link(1).loss = 0.3;
                world.link(2).loss = 0.3;
            }
            world.stacks[first].finish(world.now, ids[first]);
            world.run(ms(pause));
            let last = 1 - first;
            if pause > 0 && !lossy {
                assert!(world.has_event(last, ids[last], &Event::PeerFinished));
                assert!(world.info(last, ids[last]).at_end);
                // Half closed: the other direction still works.
                world.stacks[last].write(world.now, ids[last], b"still here");
                world.run(ms(100));
                assert!(world.received(first, ids[first]).ends_with(b"still here"));
            }
            world.stacks[last].finish(world.now, ids[last]);
            world.run(ms(60_000));
            for host in [CLIENT, SERVER] {
                let events = world.events_of(host, ids[host]);
                assert!(
                    events.contains(&Event::Closed),
                    "{first} {pause} {lossy} {host}: {events:?}"
                );
                assert!(events.contains(&Event::PeerFinished));
                assert_eq!(world.info(host, ids[host]).failure, None);
            }
        }
    }
}

#[test]
fn nothing_is_left_of_a_connection_that_was_closed_and_released() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.exchange((id, other), [1000, 1000], ms(1000));
    world.stacks[CLIENT].release(world.now, id);
    world.stacks[SERVER].release(world.now, other);
    assert!(world.stacks[CLIENT].info(id).is_none());
    world.run(ms(200_000));
    for stack in &world.stacks {
        assert_eq!(stack.poll_at(), None);
        assert!(stack.tokens.is_empty());
    }
}

#[test]
fn a_finish_right_after_connecting_carries_the_data_along() {
    let mut world = World::new(config(), config());
    let id = world.connect();
    world.stacks[CLIENT].write(world.now, id, b"all I have to say");
    world.stacks[CLIENT].finish(world.now, id);
    world.run(ms(1000));
    let other = world.stacks[SERVER].accept().unwrap();
    assert_eq!(world.received(SERVER, other), b"all I have to say");
    let info = world.info(SERVER, other);
    assert!(info.at_end && info.multipath, "{info:?} {:?}", world.events);
    world.stacks[SERVER].finish(world.now, other);
    world.run(ms(1000));
    assert!(world.has_event(CLIENT, id, &Event::Closed));
}

#[test]
fn an_abort_is_a_fast_close_on_every_subflow() {
    for aborts in [CLIENT, SERVER] {
        let mut world = World::new(config(), config());
        let (id, other) = world.connected();
        world.join(id, 2, false);
        let ids = [id, other];
        world.stacks[aborts].abort(world.now, ids[aborts]);
        world.run(ms(200));
        let (own, peer) = (ids[aborts], ids[1 - aborts]);
        assert!(world.has_event(aborts, own, &Event::Failed(Failure::Aborted)));
        let events = world.events_of(1 - aborts, peer);
        assert!(
            events.contains(&Event::Failed(Failure::Reset)),
            "{events:?}"
        );
        assert_eq!(world.stacks[1 - aborts].counters().fast_closes, 1);
        assert!(world.subflows(CLIENT, id).is_empty());
        assert!(world.subflows(SERVER, other).is_empty());
    }
}

#[test]
fn a_reset_without_fast_close_takes_only_its_subflow() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let second = world.join(id, 2, false);
    let first = SubflowId::new(0);
    let closed = world.stacks[CLIENT].close_subflow(world.now, id, first, true);
    assert_eq!(closed, Ok(()));
    world.run(ms(100));
    let reset = Event::SubflowClosed(first, Some(subflow::Failure::Reset));
    assert!(world.has_event(SERVER, other, &reset));
    assert_eq!(world.subflows(SERVER, other)[0].id, second);
    world.exchange((id, other), [200_000, 200_000], ms(20_000));
}

#[test]
fn a_subflow_closed_with_a_fin_loses_nothing() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    let data = pattern(400_000, 0);
    let written = world.stacks[CLIENT].write(world.now, id, &data);
    world.run(ms(15));
    let first = SubflowId::new(0);
    world.stacks[CLIENT]
        .close_subflow(world.now, id, first, false)
        .unwrap();
    world.run(ms(2000));
    assert!(world.received(SERVER, other)[5..] == data[..written]);
    assert!(world.has_event(CLIENT, id, &Event::SubflowClosed(first, None)));
    assert!(world.has_event(SERVER, other, &Event::SubflowClosed(first, None)));
}

#[test]
fn a_peer_that_vanishes_leaves_nothing_behind() {
    for released in [false, true] {
        let mut world = World::new(config(), config());
        let (id, other) = world.connected();
        world.join(id, 2, false);
        for n in [1, 2] {
            world.link(n).up = false;
        }
        world.stacks[CLIENT].write(world.now, id, b"anybody?");
        world.stacks[CLIENT].finish(world.now, id);
        if released {
            world.stacks[CLIENT].release(world.now, id);
        }
        world.stacks[SERVER].release(world.now, other);
        world.run(ms(4_000_000));
        if !released {
            let failed = Event::Failed(Failure::TimedOut);
            assert!(world.has_event(CLIENT, id, &failed));
            world.stacks[CLIENT].release(world.now, id);
        }
        world.run(ms(1000));
        for stack in &world.stacks {
            assert_eq!(stack.poll_at(), None);
            assert!(stack.tokens.is_empty());
        }
    }
}
