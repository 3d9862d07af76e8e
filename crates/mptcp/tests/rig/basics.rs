//! What do two stacks say to each other, packet by packet, when nothing goes wrong?

use std::time::Duration;

use walkabout_mptcp::connection::{Event, FallbackReason};

use crate::network::middlebox::Strip;
use crate::pair::{CLIENT, Pair, Quality, SERVER, config};

fn path(ms: u64) -> Quality {
    Quality {
        delay: Duration::from_millis(ms),
        bottleneck: None,
    }
}

fn two_paths(checksum: bool, ipv6: bool) -> Pair {
    let mut config = config("lowest-rtt", "reno");
    config.checksum = checksum;
    Pair::new(1, config.clone(), config, ipv6, &[path(10), path(20)]).logged()
}

/// Both sides finish, and all that was written arrived.
fn close(pair: &mut Pair) {
    pair.finish(CLIENT);
    pair.finish(SERVER);
    pair.wait_for("the end", |pair| {
        pair.drain(CLIENT);
        pair.drain(SERVER);
        pair.told(CLIENT, &Event::Closed) && pair.told(SERVER, &Event::Closed)
    });
    assert_eq!(pair.ends[CLIENT].read, pair.ends[SERVER].written);
    assert_eq!(pair.ends[SERVER].read, pair.ends[CLIENT].written);
}

#[test]
fn a_connection_with_a_join_from_syn_to_data_fin() {
    let mut pair = two_paths(true, false);
    pair.establish();
    pair.exchange(3_000, 750);
    close(&mut pair);
    pair.pass(Duration::from_secs(1));
    let log = pair.network.log.as_ref().expect("logged");
    insta::assert_snapshot!(log.render());
}

#[test]
fn a_megabyte_each_way_over_two_paths() {
    for (checksum, ipv6) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut pair = two_paths(checksum, ipv6);
        pair.establish();
        pair.exchange(1 << 20, 1 << 20);
        close(&mut pair);
        let counters = pair.stack(SERVER).counters();
        assert_eq!(
            (counters.joins, counters.fallbacks, counters.bad_mappings),
            (1, 0, 0)
        );
    }
}

/// Whatever a middlebox strips, plain TCP remains, and the data arrives.
#[test]
fn stripped_options_lead_to_plain_tcp() {
    for strip in [Strip::Syn, Strip::NotSyn, Strip::Everything] {
        for lanes in [&[0][..], &[1], &[0, 1]] {
            let mut pair = two_paths(false, false);
            for &lane in lanes {
                pair.network.lanes[lane].strip = strip;
            }
            pair.connect();
            pair.wait_for("the connection", |pair| {
                pair.established(CLIENT) == 1 && pair.established(SERVER) == 1
            });
            pair.exchange(100_000, 100_000);
            let fallback = |pair: &Pair, side| {
                pair.events(side)
                    .any(|(_, e)| matches!(e, Event::Fallback(_)))
            };
            assert!(
                fallback(&pair, CLIENT) && fallback(&pair, SERVER),
                "{strip:?} {lanes:?}"
            );
            close(&mut pair);
        }
    }
}

#[test]
fn a_client_of_plain_tcp_is_served() {
    let (mut client, server) = (config("lowest-rtt", "reno"), config("lowest-rtt", "reno"));
    client.multipath = false;
    let mut pair = Pair::new(1, client, server, false, &[path(10)]).logged();
    pair.connect();
    pair.wait_for("the connection", |pair| pair.established(SERVER) == 1);
    pair.exchange(100_000, 100_000);
    assert!(pair.told(SERVER, &Event::Fallback(FallbackReason::NotOffered)));
    close(&mut pair);
}
