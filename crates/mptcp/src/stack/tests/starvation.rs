//! Is a subflow starved when, and only when, the peer has more to send and nothing comes?

use super::fast_join::extended;
use super::rig::*;
use crate::connection::{Config, Event, Extensions};
use crate::wire::mptcp::{MptcpOption, Subtypes};
use policy::SubflowId;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const FIRST: SubflowId = SubflowId::new(0);

#[test]
fn silence_after_the_last_data_starves_nobody() {
    let mut world = World::new(extended(), extended());
    let (id, other) = world.connected();
    for length in [1, 1_400, 50_000] {
        let data = pattern(length, 1);
        assert_eq!(world.stacks[SERVER].write(world.now, other, &data), length);
        world.run(ms(4_000));
    }
    world.link(1).up = false;
    world.run(ms(30_000));
    assert!(!world.has_event(CLIENT, id, &Event::Starved(FIRST)));
    assert_eq!(world.stacks[CLIENT].counters().starved, 0);
    let counters = [CLIENT, SERVER].map(|host| world.stacks[host].counters());
    assert!(counters[0].rto_requests >= 1, "{counters:?}");
    assert_eq!(counters[0].rto_requests, counters[1].rto_answers);
}

#[test]
fn a_download_that_stops_halfway_starves_its_subflow_after_the_idle_time() {
    let mut world = World::new(extended(), extended());
    let (id, other) = world.connected();
    // More than any send buffer takes.
    let data = pattern(8 << 20, 1);
    let begin = world.now;
    let starved = world.run_with(ms(20_000), &mut |world| {
        if world.now >= begin + ms(300) {
            world.link(1).up = false;
        }
        // Without end.
        world.stacks[SERVER].write(world.now, other, &data);
        world.has_event(CLIENT, id, &Event::Starved(FIRST))
    });
    assert!(
        starved,
        "{:?} {:?}",
        world.stacks[CLIENT].counters(),
        world.info(CLIENT, id)
    );
    // What was on its way when the path died came within its delay of 5 ms.
    let silent = world.now.since(begin + ms(300));
    assert!(
        (ms(495)..=ms(506)).contains(&silent),
        "starved after {silent:?}"
    );
    assert!(world.subflows(CLIENT, id)[0].starved);
    // It is told once, and no longer so when something comes.
    world.run(ms(5_000));
    assert_eq!(world.stacks[CLIENT].counters().starved, 1);
    world.link(1).up = true;
    let fed = world.run_with(ms(20_000), &mut |world| {
        !world.subflows(CLIENT, id)[0].starved
    });
    assert!(fed);
}

/// The server's timeout counts where it is longer than the floor.
#[test]
fn the_idle_time_is_that_of_the_server_on_slow_paths() {
    let mut world = World::new(extended(), extended());
    world.link(1).delay = ms(400);
    let id = world.connect();
    world.run(ms(2_000));
    let other = world.stacks[SERVER].accept().expect("a connection");
    world.stacks[CLIENT].write(world.now, id, b"hello");
    world.run(ms(5_000));
    // The data before the last is lost, so that the client knows that more has to come.
    let lost = Rc::new(RefCell::new(false));
    let seen = lost.clone();
    world.middlebox = Some(Box::new(move |host, segment| {
        let data = host == SERVER && !segment.payload.is_empty();
        let drop = data && std::mem::replace(&mut *seen.borrow_mut(), true);
        (!drop).then_some(())
    }));
    let data = pattern(20_000, 1);
    world.stacks[SERVER].write(world.now, other, &data);
    let begin = world.now;
    let rto = world.subflows(SERVER, other)[0].tcp.rto;
    let starved = world.run_with(ms(20_000), &mut |world| {
        world.has_event(CLIENT, id, &Event::Starved(FIRST))
    });
    assert!(starved);
    // The last packet came one or two round trips after the first, which takes 400 ms.
    let after = world.now.since(begin + ms(400));
    assert!(rto > ms(1_000), "{rto:?}");
    assert!(
        after >= rto && after <= rto + ms(1_700),
        "{after:?} {rto:?}"
    );
}

/// Data that is sent again comes after what it was sent before, and its flag is that of data in
/// the middle: it does not start the timer when the end is there.
#[test]
fn the_flag_counts_by_its_place_in_the_stream() {
    let mut world = World::new(extended(), extended());
    let (id, other) = world.connected();
    let count = Rc::new(RefCell::new(0));
    world.middlebox = Some(Box::new(move |host, segment| {
        if host == SERVER && !segment.payload.is_empty() {
            *count.borrow_mut() += 1;
            return (*count.borrow() != 3).then_some(());
        }
        Some(())
    }));
    let data = pattern(10_000, 1);
    world.stacks[SERVER].write(world.now, other, &data);
    world.run(ms(10_000));
    assert!(world.received(CLIENT, id) == data);
    assert_eq!(world.stacks[CLIENT].counters().starved, 0);
}

/// The flag is set on what empties the send buffer, also when that is sent again, and on nothing
/// else.
#[test]
fn what_empties_the_send_buffer_says_so() {
    let mut world = World::new(extended(), extended());
    let (id, other) = world.connected();
    let flags: Rc<RefCell<Vec<(u64, u16, bool)>>> = Rc::default();
    let seen = flags.clone();
    let lose = Rc::new(RefCell::new(true));
    let losing = lose.clone();
    world.middlebox = Some(Box::new(move |host, segment| {
        for option in &segment.options.mptcp {
            if let MptcpOption::Dss(dss) = option
                && let Some(mapping) = dss.mapping
                && host == SERVER
            {
                let dsn = mapping.dsn.on_the_wire();
                seen.borrow_mut().push((dsn, mapping.length, dss.idle));
                return (!*losing.borrow()).then_some(());
            }
        }
        Some(())
    }));
    let data = pattern(3_000, 1);
    world.stacks[SERVER].write(world.now, other, &data);
    world.run(ms(2_000));
    *lose.borrow_mut() = false;
    world.run(ms(5_000));
    assert!(world.received(CLIENT, id) == data);
    let end = flags.borrow().iter().map(|f| f.0 + u64::from(f.1)).max();
    assert!(flags.borrow().len() > 6, "each was sent several times");
    for (dsn, length, idle) in flags.borrow().iter() {
        assert_eq!(*idle, Some(dsn + u64::from(*length)) == end);
    }
}

/// What subtypes the options have is for both ends to agree on; where they differ, nothing is used.
#[test]
fn other_subtypes_are_another_experiment() {
    let own = Subtypes::Own {
        offer: 9,
        rto: 10,
        fast_join_out: 12,
        fast_join_in: 14,
    };
    for (client, server, agreed) in [
        (own, own, 7),
        (own, Subtypes::default(), 0),
        (Subtypes::Experiment(1), Subtypes::Experiment(2), 0),
        (Subtypes::Experiment(9), Subtypes::Experiment(9), 7),
    ] {
        let with = |subtypes| Config {
            extensions: Extensions {
                subtypes,
                ..extended().extensions
            },
            ..extended()
        };
        let mut world = World::new(with(client), with(server));
        let (id, other) = world.connected();
        world.run(Duration::from_secs(5));
        let agreed = Event::Extensions(crate::wire::mptcp::Features(agreed));
        assert!(
            world.has_event(CLIENT, id, &agreed),
            "{client:?} {server:?}"
        );
        world.join(id, 2, false);
        world.exchange((id, other), [100_000, 100_000], ms(20_000));
    }
}

/// The offer survives the loss of what carries it, and is given up when its option never passes.
#[test]
fn the_offer_is_repeated() {
    for (lost, agreed) in [(1, 7), (2, 7), (100, 0)] {
        let mut world = World::new(extended(), extended());
        let count = Rc::new(RefCell::new(0));
        world.middlebox = Some(Box::new(move |host, segment| {
            let private = |o: &MptcpOption| matches!(o, MptcpOption::Private(_));
            if host == CLIENT && segment.options.mptcp.iter().any(private) {
                *count.borrow_mut() += 1;
                if *count.borrow() <= lost {
                    segment.options.mptcp.retain(|o| !private(o));
                }
            }
            Some(())
        }));
        let (id, other) = world.connected();
        world.run(ms(6_000));
        let agreed = Event::Extensions(crate::wire::mptcp::Features(agreed));
        assert!(world.has_event(CLIENT, id, &agreed), "{lost} lost");
        world.join(id, 2, false);
        world.exchange((id, other), [100_000, 100_000], ms(20_000));
    }
}
