//! How much sooner does the response to the first request after a failure come with a fast join (De
//! Coninck and Bonaventure, MultiMob, section IV-f and figure 7)?

use std::time::Duration;

use model::Time;
use walkabout_mptcp::connection::{Config, Extensions};

use crate::pair::{CLIENT, Pair, Quality, SERVER, config};

/// Of the response.
const RESPONSE: usize = 750;

fn host(scheduler: &str, fast_join: bool) -> Config {
    Config {
        extensions: Extensions {
            fast_join,
            ..Extensions::default()
        },
        ..config(scheduler, "reno")
    }
}

/// From the first request after the failure to its response: the other path is opened when the
/// retransmission timer fires.
fn delay(size: usize, rtt: Duration, fast_join: bool) -> Duration {
    let path = Quality {
        delay: rtt / 2,
        bottleneck: None,
    };
    let (client, server) = (
        host("client-priority", fast_join),
        host("follow", fast_join),
    );
    let mut pair = Pair::new(1, client, server, false, &[path, path]).logged();
    pair.connect();
    pair.wait_for("the connection", |pair| {
        pair.established(CLIENT) == 1 && pair.established(SERVER) == 1
    });
    // A request every second, as long as the path works.
    let answer = |pair: &mut Pair, size: usize| {
        let (begin, read) = (pair.network.now, pair.ends[CLIENT].read);
        let asked = pair.ends[SERVER].read + size as u64;
        assert_eq!(pair.write(CLIENT, size), size);
        let (mut answered, mut opened) = (false, false);
        let end = begin + Duration::from_secs(20);
        while pair.ends[CLIENT].read < read + RESPONSE as u64 {
            assert!(pair.network.step(end), "no response");
            pair.accept();
            pair.drain(SERVER);
            pair.drain(CLIENT);
            if pair.ends[SERVER].read >= asked && !answered {
                assert_eq!(pair.write(SERVER, RESPONSE), RESPONSE);
                answered = true;
            }
            let failed = pair.subflows(CLIENT).iter().any(|s| s.potentially_failed);
            if failed && !opened {
                pair.open(1, 0, true).expect("a subflow");
                opened = true;
            }
        }
        pair.network.now.since(begin)
    };
    while pair.network.now < Time::from_millis(5_000) {
        assert!(answer(&mut pair, size) < 4 * rtt + Duration::from_millis(1));
        pair.pass(Duration::from_secs(1));
    }
    let first = pair.paths[0];
    pair.network.each_lane(first, |lane| lane.up = false);
    let delay = answer(&mut pair, size);
    let counters = pair.stack(CLIENT).counters();
    assert_eq!(counters.fast_joins_sent, u64::from(fast_join));
    assert_eq!(counters.joins, 1);
    delay
}

/// Two round trips where the request fits into the SYN, one where it does not: the rest waits for
/// the SYN/ACK, and not for the fourth acknowledgement.
#[test]
fn the_response_comes_one_or_two_round_trips_sooner() {
    for rtt in [20, 40, 80, 160, 320].map(Duration::from_millis) {
        for (size, round_trips) in [(512, 2), (1_420, 2), (4_096, 1), (16_384, 1)] {
            let (normal, fast) = (delay(size, rtt, false), delay(size, rtt, true));
            let gain = normal.saturating_sub(fast);
            println!("{size} B, {rtt:?}: {normal:?} - {fast:?} = {gain:?}");
            // Pacing begins at another moment where the handshake is another.
            let expected = rtt * round_trips;
            let off = gain.max(expected) - gain.min(expected);
            assert!(off <= rtt / 10, "{size} B, {rtt:?}: {normal:?}, {fast:?}");
        }
    }
}
