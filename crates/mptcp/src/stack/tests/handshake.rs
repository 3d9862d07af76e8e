//! Do connections begin as RFC 8684, sections 3.1 and 3.2, say?

use super::rig::*;
use crate::connection::{Event, Failure, SubflowError};
use crate::wire::mptcp::{Join, MptcpOption};
use policy::SubflowId;

#[test]
fn both_sides_connect_and_speak_multipath_tcp() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    assert_eq!(world.received(SERVER, other), b"hello");
    let first = SubflowId::new(0);
    let expected = [
        Event::SubflowOpening(first),
        Event::Connected,
        Event::SubflowEstablished(first),
        Event::FirstData(first),
    ];
    assert_eq!(world.events_of(CLIENT, id), expected);
    assert_eq!(world.events_of(SERVER, other), expected[..3]);
    assert!(world.info(CLIENT, id).multipath && world.info(SERVER, other).multipath);
    assert_eq!(world.info(CLIENT, id).unacked, 0);
    assert_eq!(world.stacks[SERVER].write(world.now, other, b"world"), 5);
    world.run(ms(50));
    assert_eq!(world.received(CLIENT, id), b"world");
}

#[test]
fn a_subflow_joins_once_the_connection_is_fully_established() {
    let mut world = World::new(config(), config());
    let id = world.connect();
    let (now, at) = (world.now, server());
    let early = world.stacks[CLIENT].open_subflow(now, id, client(2), at, false);
    assert_eq!(early, Err(SubflowError::NotConnected));
    world.run(ms(50));
    let other = world.stacks[SERVER].accept().unwrap();
    world.stacks[CLIENT].write(world.now, id, b"x");
    world.run(ms(50));
    let second = world.join(id, 2, true);
    assert_eq!(second, SubflowId::new(1));
    for (host, id) in [(CLIENT, id), (SERVER, other)] {
        assert!(world.has_event(host, id, &Event::SubflowEstablished(second)));
        let subflows = world.subflows(host, id);
        assert!(subflows[1].established && subflows[1].backup && !subflows[0].backup);
        assert_eq!(subflows[1].peer_backup, host == SERVER);
        assert_eq!(world.stacks[host].counters().joins, 1);
    }
}

#[test]
fn the_server_may_join_too() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let remote = world.subflows(SERVER, other)[0].tuple.remote;
    let to = std::net::SocketAddr::new(client(3).ip(), remote.port());
    let opened = world.stacks[SERVER].open_subflow(world.now, other, server(), to, false);
    let second = opened.unwrap();
    world.run(ms(200));
    assert!(world.has_event(SERVER, other, &Event::SubflowEstablished(second)));
    assert!(world.has_event(CLIENT, id, &Event::SubflowEstablished(second)));
}

#[test]
fn a_wrong_hmac_is_answered_with_a_reset_and_counted() {
    for wrong_side in [CLIENT, SERVER] {
        let mut world = World::new(config(), config());
        let (id, other) = world.connected();
        world.middlebox = Some(Box::new(move |from, segment| {
            for option in &mut segment.options.mptcp {
                match option {
                    MptcpOption::Join(Join::SynAck { hmac, .. }) if wrong_side == from => {
                        *hmac ^= 1;
                    }
                    MptcpOption::Join(Join::Ack { hmac }) if wrong_side == from => hmac[3] ^= 1,
                    _ => {}
                }
            }
            Some(())
        }));
        let second = world.join(id, 2, false);
        assert_eq!(world.stacks[1 - wrong_side].counters().join_bad_hmac, 1);
        let events = world.events_of(SERVER, other);
        let closed = |e: &Event| matches!(e, Event::SubflowClosed(s, Some(_)) if *s == second);
        assert!(events.iter().any(closed), "{events:?}");
        assert_eq!(world.subflows(CLIENT, id).len(), 1);
        world.exchange((id, other), [10_000, 10_000], ms(2000));
    }
}

#[test]
fn an_unknown_token_is_refused() {
    let mut world = World::new(config(), config());
    let (id, _) = world.connected();
    world.middlebox = Some(Box::new(|_, segment| {
        for option in &mut segment.options.mptcp {
            if let MptcpOption::Join(Join::Syn { token, .. }) = option {
                *token ^= 1;
            }
        }
        Some(())
    }));
    let second = world.join(id, 2, false);
    assert_eq!(world.stacks[SERVER].counters().join_no_token, 1);
    let refused = Event::SubflowClosed(second, Some(crate::subflow::Failure::Refused));
    assert!(world.has_event(CLIENT, id, &refused));
}

#[test]
fn the_third_ack_of_a_join_is_repeated_until_the_fourth_comes() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let mut drop = 2;
    world.middlebox = Some(Box::new(move |from, segment| {
        let join = |o: &MptcpOption| matches!(o, MptcpOption::Join(_));
        let joins = segment.options.mptcp.iter().any(join);
        let fourth = from == SERVER && segment.source.port() == 80 && !joins;
        if fourth && drop > 0 && !segment.flags.syn {
            drop -= 1;
            return None;
        }
        Some(())
    }));
    let second = world.join(id, 2, false);
    let established = Event::SubflowEstablished(second);
    assert!(world.has_event(SERVER, other, &established));
    assert!(!world.has_event(CLIENT, id, &established));
    world.run(ms(2000));
    assert!(world.has_event(CLIENT, id, &established));
}

#[test]
fn nobody_listens() {
    let mut world = World::new(config(), config());
    let mut elsewhere = server();
    elsewhere.set_port(81);
    let id = world.stacks[CLIENT].connect(world.now, client(1), elsewhere);
    world.run(ms(100));
    assert!(world.has_event(CLIENT, id, &Event::Failed(Failure::Refused)));
    assert_eq!(world.stacks[SERVER].counters().stray, 1);
    assert_eq!(world.stacks[SERVER].counters().resets_sent, 1);
}

#[test]
fn the_first_data_carries_the_keys_when_the_third_ack_is_lost() {
    let mut world = World::new(config(), config());
    let id = world.connect();
    let mut acks = 0;
    world.middlebox = Some(Box::new(move |from, segment| {
        if from == CLIENT && !segment.flags.syn && segment.payload.is_empty() {
            acks += 1;
            return (acks > 1).then_some(());
        }
        Some(())
    }));
    world.run(ms(12));
    world.stacks[CLIENT].write(world.now, id, b"hello");
    world.run(ms(100));
    let other = world.stacks[SERVER].accept().expect("a connection");
    assert!(world.info(SERVER, other).multipath);
    assert_eq!(world.received(SERVER, other), b"hello");
    world.exchange((id, other), [100, 100], ms(1000));
}

#[test]
fn same_input_same_output() {
    let run = || {
        let mut world = World::new(config(), config());
        let (id, other) = world.connected();
        world.join(id, 2, false);
        world.link(1).loss = 0.02;
        world.exchange((id, other), [300_000, 300_000], ms(60_000));
        (world.now, world.packets)
    };
    assert_eq!(run(), run());
}
