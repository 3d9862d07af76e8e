//! Does a packet cost an allocation in the steady state?

use std::time::Duration;

use crate::bulk::Bulk;
use crate::memory::allocations;
use crate::pair::{CLIENT, Pair, Quality, SERVER, config};

/// Blocks of memory that many packets share, and a buffer that grows once more, are allowed.
const PER_PACKET: f64 = 0.05;

fn per_packet(scheduler: &str, controller: &str, checksum: bool) -> f64 {
    let mut config = config(scheduler, controller);
    config.checksum = checksum;
    let send_buffer = config.send_buffer;
    let path = |ms| Quality {
        delay: Duration::from_millis(ms),
        bottleneck: Some((25_000_000, 100_000)),
    };
    let mut pair = Pair::new(1, config.clone(), config, false, &[path(10), path(20)]);
    pair.establish();
    let ends = pair.ends.map(|e| e.connection.expect("connected"));
    let mut bulk = Bulk::new((CLIENT, ends[CLIENT]), (SERVER, ends[SERVER]), send_buffer);
    let mut run = |pair: &mut Pair, seconds| {
        bulk.turn(&mut pair.network);
        let until = pair.network.now + Duration::from_secs(seconds);
        pair.network.run(until, |network| bulk.turn(network));
        bulk.read
    };
    let warm = run(&mut pair, 10);
    let (before, sent) = (allocations(), pair.network.hosts[CLIENT].sent);
    let read = run(&mut pair, 10) - warm;
    let packets = pair.network.hosts[CLIENT].sent - sent;
    let each = (allocations() - before) as f64 / packets as f64;
    println!(
        "{scheduler}, {controller}, checksum {checksum}: {each:.4} allocations a packet, {packets} packets, {read} bytes"
    );
    assert!(read > 40_000_000, "only {read} bytes in ten seconds");
    each
}

#[test]
fn a_packet_costs_no_allocation_in_the_steady_state() {
    for (scheduler, controller, checksum) in [
        ("lowest-rtt", "lia", false),
        ("linux-default", "cubic", false),
        ("lowest-rtt", "olia", true),
    ] {
        let each = per_packet(scheduler, controller, checksum);
        assert!(
            each < PER_PACKET,
            "{scheduler} with {controller}: {each} a packet"
        );
    }
}
