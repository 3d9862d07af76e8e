//! What can an attacker or a peer that keeps no rules do? Nothing that outlives its packets: no
//! panic, bounded memory, and the connections of honest peers go on.

mod floods;
mod off_path;
mod peer;
mod protocol;
mod random;

use std::time::Duration;

use crate::pair::{CLIENT, Pair, Quality, SERVER, config};

/// An established connection over two paths, with a packet log for the attacker to read.
fn victims(checksum: bool) -> Pair {
    let mut config = config("lowest-rtt", "reno");
    config.checksum = checksum;
    let path = |ms| Quality {
        delay: Duration::from_millis(ms),
        bottleneck: None,
    };
    let mut pair = Pair::new(1, config.clone(), config, false, &[path(10), path(20)]).logged();
    pair.establish();
    pair.exchange(5_000, 5_000);
    pair.pass(Duration::from_millis(500));
    pair
}

/// The connection lives with that many subflows, and carries data both ways unharmed.
fn unharmed(pair: &mut Pair, subflows: usize) {
    pair.pass(Duration::from_secs(1));
    pair.exchange(50_000, 50_000);
    for side in [CLIENT, SERVER] {
        assert_eq!(
            pair.established(side),
            subflows,
            "{}",
            pair.network.recent(40)
        );
        let info = pair.info(side).expect("not released");
        assert!(info.multipath && info.failure.is_none(), "{info:?}");
    }
}
