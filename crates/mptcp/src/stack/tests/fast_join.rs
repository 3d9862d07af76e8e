//! Does a fast join save the round trips it is for, and does the connection go on when it fails?

use super::rig::*;
use crate::connection::{Config, Event, Extensions};
use crate::stack::{ConnectionId, RefusedJoins};
use crate::wire::Segment;
use crate::wire::mptcp::*;
use policy::SubflowId;
use std::cell::RefCell;
use std::rc::Rc;

pub(super) fn extended() -> Config {
    Config {
        extensions: Extensions {
            idle_flag: true,
            rto_option: true,
            fast_join: true,
            ..Extensions::default()
        },
        ..config()
    }
}

const ALL: Event = Event::Extensions(Features(7));
const SECOND: SubflowId = SubflowId::new(1);

/// A connection on which both ends have agreed, whose first path is dead.
fn on_a_dead_path() -> (World, ConnectionId, ConnectionId) {
    let mut world = World::new(extended(), extended());
    let (id, other) = world.connected();
    assert!(world.has_event(CLIENT, id, &ALL), "the offer is answered");
    assert!(world.has_event(SERVER, other, &ALL));
    world.link(1).up = false;
    (world, id, other)
}

pub(super) fn open(world: &mut World, id: ConnectionId) -> SubflowId {
    let opened = world.stacks[CLIENT].open_subflow(world.now, id, client(2), server(), false);
    world.run(ms(0));
    opened.expect("a subflow")
}

fn form(world: &World, id: ConnectionId) -> Option<FastJoinForm> {
    let events = world.events_of(CLIENT, id);
    events.iter().find_map(|event| match event {
        Event::FastJoin(_, form) => Some(*form),
        _ => None,
    })
}

pub(super) fn is_fast(segment: &Segment<'_>) -> bool {
    let private = |o: &MptcpOption| matches!(o, MptcpOption::Private(_));
    segment.flags.syn && segment.options.mptcp.iter().any(private)
}

#[test]
fn data_goes_with_the_syn_and_the_answer_needs_one_round_trip() {
    let (mut world, id, other) = on_a_dead_path();
    let request = pattern(1_400, 5);
    assert_eq!(world.stacks[CLIENT].write(world.now, id, &request), 1_400);
    world.run(ms(1));
    assert_eq!(open(&mut world, id), SECOND);
    assert_eq!(form(&world, id), Some(FastJoinForm::Out));
    // The second path takes 10 ms each way.
    let mut answered = false;
    let begin = world.now;
    let done = world.run_with(ms(500), &mut |world| {
        if world.received(SERVER, other).ends_with(&request) && !answered {
            assert_eq!(world.now, begin + ms(10));
            assert_eq!(world.stacks[SERVER].write(world.now, other, b"yes"), 3);
            answered = true;
        }
        world.received(CLIENT, id) == b"yes"
    });
    assert!(done, "no answer");
    assert_eq!(world.now, begin + ms(20), "one round trip");
    world.run(ms(100));
    assert_eq!(
        world.info(CLIENT, id).unacked,
        0,
        "the SYN/ACK acknowledged it"
    );
    let counters = [CLIENT, SERVER].map(|host| world.stacks[host].counters());
    assert_eq!(
        (counters[0].fast_joins_sent, counters[1].fast_joins),
        (1, 1)
    );
    assert_eq!(counters[1].fast_joins_refused, RefusedJoins::default());
    world.exchange((id, other), [300_000, 300_000], ms(20_000));
}

#[test]
fn a_data_ack_makes_the_server_send_after_one_round_trip() {
    let (mut world, id, other) = on_a_dead_path();
    let data = pattern(9_000, 3);
    assert_eq!(world.stacks[SERVER].write(world.now, other, &data), 9_000);
    // The server's timer fires meanwhile.
    world.run(ms(600));
    open(&mut world, id);
    assert_eq!(form(&world, id), Some(FastJoinForm::In));
    let begin = world.now;
    let done = world.run_with(ms(500), &mut |world| world.received(CLIENT, id) == data);
    assert!(done, "{} bytes", world.received(CLIENT, id).len());
    assert_eq!(world.now, begin + ms(20), "one round trip");
    world.exchange((id, other), [300_000, 300_000], ms(20_000));
}

/// Without the extension at the peer, which is any other implementation, all is as it was.
#[test]
fn a_peer_that_has_none_gets_mp_join() {
    let mut world = World::new(extended(), config());
    let fast = Rc::new(RefCell::new(0));
    let seen = fast.clone();
    world.middlebox = Some(Box::new(move |_, segment| {
        *seen.borrow_mut() += u32::from(is_fast(segment));
        Some(())
    }));
    let (id, other) = world.connected();
    world.run(ms(5_000));
    let none = Event::Extensions(Features::default());
    assert!(world.has_event(CLIENT, id, &none), "given up");
    world.join(id, 2, false);
    assert!(world.has_event(CLIENT, id, &Event::SubflowEstablished(SECOND)));
    world.exchange((id, other), [300_000, 300_000], ms(20_000));
    assert_eq!(*fast.borrow(), 0);
    for host in [CLIENT, SERVER] {
        let counters = world.stacks[host].counters();
        assert_eq!((counters.fast_joins, counters.fast_joins_sent), (0, 0));
        assert_eq!((counters.starved, counters.rto_requests), (0, 0));
    }
}

/// A client without them offers nothing, whatever the server has.
#[test]
fn what_is_off_is_never_on_the_wire() {
    let mut world = World::new(config(), extended());
    world.middlebox = Some(Box::new(|_, segment| {
        for option in &segment.options.mptcp {
            match option {
                MptcpOption::Private(private) => panic!("{private:?}"),
                MptcpOption::Dss(dss) => assert!(!dss.idle),
                _ => {}
            }
        }
        Some(())
    }));
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.exchange((id, other), [100_000, 100_000], ms(20_000));
}

/// What is between the hosts does with the segments of a fast join, and whether the client has to
/// open another subflow.
#[test]
fn whatever_becomes_of_it_the_connection_goes_on() {
    type Fate = fn(usize, u32, &mut Segment<'_>) -> Option<()>;
    let cases: [(&str, bool, Fate); 9] = [
        ("the first SYN is lost", false, |_, n, s| {
            (!is_fast(s) || s.flags.ack || n > 0).then_some(())
        }),
        ("all SYNs with the option are lost", false, |_, _, s| {
            (!is_fast(s) || s.flags.ack).then_some(())
        }),
        ("the first SYN/ACK is lost", false, |_, n, s| {
            (!is_fast(s) || !s.flags.ack || n > 1).then_some(())
        }),
        ("all SYN/ACKs with the option are lost", true, |_, _, s| {
            (!is_fast(s) || !s.flags.ack).then_some(())
        }),
        ("the SYN loses its option", true, |_, _, s| {
            if is_fast(s) && !s.flags.ack {
                s.options.mptcp.clear();
            }
            Some(())
        }),
        ("the SYN/ACK loses its option", true, |_, _, s| {
            if is_fast(s) && s.flags.ack {
                s.options.mptcp.clear();
            }
            Some(())
        }),
        ("the SYN loses its data", false, |_, _, s| {
            if is_fast(s) {
                s.payload = &[];
            }
            Some(())
        }),
        ("the SYN loses half of its data", false, |_, _, s| {
            if is_fast(s) {
                s.payload = &s.payload[..s.payload.len() / 2];
            }
            Some(())
        }),
        ("SYNs with data are lost", false, |_, _, s| {
            (!s.flags.syn || s.payload.is_empty()).then_some(())
        }),
    ];
    for (what, reopened, fate) in cases {
        for request in [0, 700, 5_000] {
            let (mut world, id, other) = on_a_dead_path();
            let mut count = 0;
            world.middlebox = Some(Box::new(move |host, segment| {
                let fast = is_fast(segment);
                let result = fate(host, count, segment);
                count += u32::from(fast);
                result
            }));
            let data = pattern(request, 1);
            world.stacks[CLIENT].write(world.now, id, &data);
            world.run(ms(300));
            open(&mut world, id);
            let expected = if request == 0 {
                FastJoinForm::In
            } else {
                FastJoinForm::Out
            };
            assert_eq!(form(&world, id), Some(expected));
            let arrived = world.run_with(ms(60_000), &mut |world| {
                let established = world.stacks[CLIENT].counters().joins > 0;
                established && world.received(SERVER, other).ends_with(&data)
            });
            assert!(arrived, "{what}, {request} bytes");
            world.run(ms(1_000));
            let given_up = world.stacks[CLIENT].counters().fast_joins_given_up;
            let refused = world.stacks[SERVER].counters().fast_joins_refused;
            assert_eq!(refused, RefusedJoins::default(), "{what}, {request} bytes");
            if given_up > 0 {
                assert!(reopened, "{what}, {request} bytes");
            }
            world.exchange((id, other), [30_000, 30_000], ms(60_000));
        }
    }
}

/// The very SYN of a subflow, come twice, is a retransmission and no replay.
#[test]
fn a_duplicate_of_the_syn_is_no_replay() {
    let (mut world, id, other) = on_a_dead_path();
    let copies: Rc<RefCell<Vec<Vec<u8>>>> = Rc::default();
    let seen = copies.clone();
    world.middlebox = Some(Box::new(move |_, segment| {
        if is_fast(segment) && !segment.flags.ack {
            let mut packet = [0; 2048];
            let length = segment.emit(&mut packet);
            seen.borrow_mut().push(packet[..length].to_vec());
        }
        Some(())
    }));
    let data = pattern(1_000, 1);
    world.stacks[CLIENT].write(world.now, id, &data);
    world.run(ms(300));
    open(&mut world, id);
    for wait in [12, 10, 500] {
        world.run(ms(wait));
        for copy in copies.borrow().iter() {
            world.stacks[SERVER].receive(world.now, copy);
        }
    }
    world.run(ms(100));
    let counters = world.stacks[SERVER].counters();
    assert_eq!(counters.fast_joins_refused, RefusedJoins::default());
    assert_eq!(counters.fast_joins, 1);
    assert_eq!(
        world.received(SERVER, other),
        [b"hello".as_slice(), &data].concat()
    );
    world.exchange((id, other), [30_000, 30_000], ms(20_000));
}

/// Checksums, where they were negotiated, cover the data of the SYN as well.
#[test]
fn the_data_of_a_syn_has_a_checksum() {
    for corrupted in [false, true] {
        let with = || Config {
            checksum: true,
            ..extended()
        };
        let mut world = World::new(with(), with());
        let (id, other) = world.connected();
        world.link(1).up = false;
        let data = pattern(1_000, 1);
        world.stacks[CLIENT].write(world.now, id, &data);
        world.run(ms(300));
        world.middlebox = Some(Box::new(move |_, segment| {
            static ZEROS: [u8; 1_000] = [0; 1_000];
            if is_fast(segment) && !segment.flags.ack && corrupted {
                segment.payload = &ZEROS;
            }
            Some(())
        }));
        open(&mut world, id);
        world.run(ms(3_000));
        let refused = world.stacks[SERVER].counters().fast_joins_refused;
        assert_eq!(refused.malformed, u64::from(corrupted));
        let accepted = world.stacks[SERVER].counters().fast_joins;
        assert_eq!(accepted, u64::from(!corrupted));
        world.middlebox = None;
        let want = [b"hello".as_slice(), &data].concat();
        assert!(
            world.received(SERVER, other) == want,
            "corrupted {corrupted}"
        );
        world.exchange((id, other), [30_000, 30_000], ms(20_000));
    }
}
