//! Is a fast join accepted only from whom it says, in the window, and once?

use super::fast_join::{extended, is_fast, open};
use super::rig::*;
use crate::connection::{Event, JoinRefusal};
use crate::stack::RefusedJoins;
use crate::wire::key::fast_join_hmac;
use crate::wire::mptcp::*;
use crate::wire::{Flags, Segment, Seq};
use std::cell::RefCell;
use std::rc::Rc;

/// An attacker who saw everything, the keys included where that helps him.
struct Attacker {
    keys: Rc<RefCell<Option<(u64, u64)>>>,
    syn: Rc<RefCell<Option<Vec<u8>>>>,
}

impl Attacker {
    fn watch(world: &mut World) -> Attacker {
        let attacker = Attacker {
            keys: Rc::default(),
            syn: Rc::default(),
        };
        let (keys, syn) = (attacker.keys.clone(), attacker.syn.clone());
        world.middlebox = Some(Box::new(move |_, segment| {
            for option in &segment.options.mptcp {
                if let MptcpOption::Capable(capable) = option
                    && let (Some(sender), Some(receiver)) =
                        (capable.sender_key, capable.receiver_key)
                {
                    *keys.borrow_mut() = Some((sender, receiver));
                }
            }
            if is_fast(segment) && !segment.flags.ack {
                let mut packet = [0; 2048];
                let length = segment.emit(&mut packet);
                *syn.borrow_mut() = Some(packet[..length].to_vec());
            }
            Some(())
        }));
        attacker
    }

    /// Sends the SYN again from another port, with its option changed; what the server answers.
    fn attack(
        &self,
        world: &mut World,
        port: u16,
        change: impl Fn(&mut FastJoin, &mut Vec<u8>, (u64, u64)),
    ) -> Flags {
        let keys = self.keys.borrow().expect("the keys were seen");
        let packet = self.syn.borrow().clone().expect("a SYN was seen");
        let segment = Segment::parse(&packet).expect("a valid segment");
        let [MptcpOption::Private(private)] = &segment.options.mptcp[..] else {
            panic!("{segment:?}");
        };
        let Ok(Extension::FastJoin(mut join)) = Subtypes::default().read(private, true, false)
        else {
            panic!("{private:?}");
        };
        let mut rest = Vec::new();
        change(&mut join, &mut rest, keys);
        let mut option = Subtypes::default().write(&Extension::FastJoin(join));
        if let [cut] = rest[..] {
            option.body.truncate(usize::from(cut));
        }
        let mut forged = segment.clone();
        forged.source.set_port(port);
        forged.seq = Seq(77);
        forged.options.mptcp = [MptcpOption::Private(option)].into_iter().collect();
        let mut changed = [0; 2048];
        let length = forged.emit(&mut changed);
        world.stacks[SERVER].receive(world.now, &changed[..length]);
        let mut answer = [0; 2048];
        let sent = world.stacks[SERVER].transmit(world.now, &mut answer);
        let sent = sent.expect("an answer");
        let answer = Segment::parse(&answer[..sent.length]).expect("a valid segment");
        assert_eq!(answer.destination.port(), port);
        if answer.flags.rst {
            assert_eq!(answer.ack, Seq(77) + forged.sequence_length());
            let reset = matches!(answer.options.mptcp[..], [MptcpOption::Reset { .. }]);
            assert!(reset, "{answer:?}");
        }
        answer.flags
    }
}

fn sign(join: &mut FastJoin, (client, server): (u64, u64)) {
    let FastJoin::Syn {
        token,
        number,
        hmac,
        ..
    } = join
    else {
        panic!("{join:?}");
    };
    *hmac = fast_join_hmac(client, server, *token, *number);
}

fn number(join: &mut FastJoin) -> &mut u64 {
    match join {
        FastJoin::Syn { number, .. } => number,
        FastJoin::SynAck { .. } => panic!("{join:?}"),
    }
}

#[test]
fn a_join_is_accepted_once_from_whom_it_says_and_in_the_window() {
    let mut world = World::new(extended(), extended());
    let attacker = Attacker::watch(&mut world);
    let (id, other) = world.connected();
    world.link(1).up = false;
    let data = pattern(1_000, 1);
    world.stacks[CLIENT].write(world.now, id, &data);
    world.run(ms(300));
    open(&mut world, id);
    world.run(ms(100));
    assert_eq!(world.stacks[SERVER].counters().fast_joins, 1);
    let reset = |flags: Flags| flags.rst && flags.ack && !flags.syn;

    let before = world.info(SERVER, other);
    // The SYN once more, from another port.
    assert!(reset(attacker.attack(&mut world, 1, |_, _, _| {})));
    // The HMAC, or what it is over, changed.
    let forgeries: [fn(&mut FastJoin); 2] = [
        |join| *number(join) += 1,
        |join| {
            if let FastJoin::Syn { hmac, .. } = join {
                *hmac ^= 1;
            }
        },
    ];
    for forge in forgeries {
        let flags = attacker.attack(&mut world, 2, |join, _, _| forge(join));
        assert!(reset(flags));
    }
    // By the peer itself, but outside of the window. The first join brought 1,000 bytes.
    for distance in [1_001_i64, 100_000, 1 << 40, -70_000, i64::MIN] {
        let flags = attacker.attack(&mut world, 3, |join, _, keys| {
            let number = number(join);
            *number = number.wrapping_add_signed(distance);
            sign(join, keys);
        });
        assert!(reset(flags), "{distance}");
    }
    // Truncated, at each length that is none.
    for length in [2, 3, 12, 22] {
        let flags = attacker.attack(&mut world, 4, |_, rest, _| rest.push(length));
        assert!(reset(flags), "{length}");
    }
    // For no connection.
    let flags = attacker.attack(&mut world, 5, |join, _, _| {
        if let FastJoin::Syn { token, .. } = join {
            *token ^= 1;
        }
    });
    assert!(reset(flags));
    let refused = world.stacks[SERVER].counters().fast_joins_refused;
    let expected = RefusedJoins {
        replayed: 1,
        forged: 2,
        out_of_window: 5,
        malformed: 4,
        no_token: 1,
        ..RefusedJoins::default()
    };
    assert_eq!(refused, expected);
    let after = world.info(SERVER, other);
    assert_eq!(before.received_bytes, after.received_bytes);
    assert_eq!(world.subflows(SERVER, other).len(), 2);
    world.run(ms(0));
    for refusal in [
        JoinRefusal::Replayed,
        JoinRefusal::Forged,
        JoinRefusal::OutOfWindow,
    ] {
        assert!(world.has_event(SERVER, other, &Event::FastJoinRefused(refusal)));
    }
    // The peer itself, within the window: each number once.
    for (port, distance, accepted) in [
        (6, 1_000, true),
        (7, 1_000, false),
        (8, 500, true),
        (9, 500, false),
    ] {
        let flags = attacker.attack(&mut world, port, |join, _, keys| {
            *number(join) += distance;
            sign(join, keys);
        });
        assert_eq!(flags.syn && flags.ack, accepted, "{port}: {flags:?}");
        assert_eq!(reset(flags), !accepted, "{port}");
    }
    assert_eq!(
        world.stacks[SERVER].counters().fast_joins_refused.replayed,
        3
    );
}
