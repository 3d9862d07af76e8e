//! Which random sequences of operations are there?

use proptest::prelude::*;
use proptest::sample::select;

use crate::network::middlebox::Strip;

/// How many paths there are.
pub const PATHS: u8 = 2;

/// One thing that happens. `side` is 0 for the client and 1 for the server, `path` and `nth`
/// count modulo what there is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operation {
    Write {
        side: usize,
        size: usize,
    },
    Read {
        side: usize,
        size: usize,
    },
    Finish {
        side: usize,
    },
    Abort {
        side: usize,
    },
    /// A subflow between the client's address on `path` and the server's of that number,
    /// opened by `side`.
    Open {
        side: usize,
        path: u8,
        server: u8,
        backup: bool,
    },
    Close {
        side: usize,
        nth: usize,
        reset: bool,
    },
    Backup {
        side: usize,
        nth: usize,
        backup: bool,
    },
    MarkFailed {
        side: usize,
        nth: usize,
    },
    Announce {
        side: usize,
        which: u8,
    },
    Withdraw {
        side: usize,
        which: u8,
    },
    /// Both directions (2) or one (0 up, 1 down) of a path stop or resume to deliver.
    Up {
        path: u8,
        direction: u8,
        up: bool,
    },
    /// In percent, of both directions.
    Faults {
        path: u8,
        loss: u8,
        duplicate: u8,
        reorder: u8,
        corrupt: u8,
        garble: u8,
    },
    /// The client's interface of that path has another address; the old one is gone.
    Move {
        path: u8,
    },
    /// Time passes, in milliseconds.
    Wait {
        ms: u64,
    },
}

/// Two hosts, what is between them, and what happens.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    pub seed: u64,
    pub scheduler: &'static str,
    pub controller: &'static str,
    /// Whether client and server speak Multipath TCP.
    pub multipath: [bool; 2],
    /// Whether they demand checksums.
    pub checksum: [bool; 2],
    pub ipv6: bool,
    /// Bytes of the send and receive buffers.
    pub buffers: [u64; 2],
    pub strip: Strip,
    /// One-way delays of the paths in milliseconds.
    pub delays: [u64; PATHS as usize],
    /// Rate of each path in Mbit/s, with a queue of 30 packets; 0 for none.
    pub rate: u64,
    pub begin: Begin,
    pub operations: Vec<Operation>,
}

/// What there is before the first operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Begin {
    /// The client has just asked for a connection.
    Syn,
    /// Both sides can write.
    Connected,
    /// A second subflow was opened as well, if the connection can have one.
    Joined,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let side = 0..2_usize;
    let path = 0..PATHS;
    let size = || prop_oneof![1..100_usize, 100..5_000_usize, 5_000..60_000_usize];
    let percent = || prop_oneof![3 => Just(0_u8), 1 => 1..40_u8];
    prop_oneof![
        12 => (side.clone(), size()).prop_map(|(side, size)| Write { side, size }),
        8 => (side.clone(), size()).prop_map(|(side, size)| Read { side, size }),
        2 => side.clone().prop_map(|side| Finish { side }),
        1 => side.clone().prop_map(|side| Abort { side }),
        6 => (side.clone(), path.clone(), 0..2_u8, any::<bool>())
            .prop_map(|(side, path, server, backup)| Open { side, path, server, backup }),
        3 => (side.clone(), 0..4_usize, any::<bool>())
            .prop_map(|(side, nth, reset)| Close { side, nth, reset }),
        2 => (side.clone(), 0..4_usize, any::<bool>())
            .prop_map(|(side, nth, backup)| Backup { side, nth, backup }),
        1 => (side.clone(), 0..4_usize).prop_map(|(side, nth)| MarkFailed { side, nth }),
        1 => (side.clone(), 0..2_u8).prop_map(|(side, which)| Announce { side, which }),
        1 => (side.clone(), 0..2_u8).prop_map(|(side, which)| Withdraw { side, which }),
        3 => (path.clone(), 0..3_u8, any::<bool>())
            .prop_map(|(path, direction, up)| Up { path, direction, up }),
        3 => (path.clone(), percent(), percent(), percent(), percent(), percent()).prop_map(
            |(path, loss, duplicate, reorder, corrupt, garble)| {
                Faults { path, loss, duplicate, reorder, corrupt, garble }
            }
        ),
        1 => path.prop_map(|path| Move { path }),
        12 => prop_oneof![4 => 1..60_u64, 2 => 60..1_000_u64, 1 => 1_000..90_000_u64]
            .prop_map(|ms| Wait { ms }),
    ]
}

/// Any case.
pub fn case() -> impl Strategy<Value = Case> {
    let schedulers = policy::scheduler::list::SCHEDULERS.iter().map(|e| e.name);
    let controllers = policy::congestion::list::CONTROLLERS.iter().map(|e| e.name);
    let mostly = || prop_oneof![5 => Just(true), 1 => Just(false)];
    let strips = [Strip::Nothing, Strip::Syn, Strip::NotSyn, Strip::Everything];
    let ends = (
        mostly(),
        mostly(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let path = (
        prop_oneof![8 => Just(Strip::Nothing), 1 => select(strips.to_vec())],
        (1..60_u64, 1..60_u64),
        prop_oneof![Just(0), 1..50_u64],
    );
    let buffers = || prop_oneof![Just(4_u64 << 20), 2_000..100_000_u64];
    (
        any::<u64>(),
        select(schedulers.collect::<Vec<_>>()),
        select(controllers.collect::<Vec<_>>()),
        ends,
        (buffers(), buffers()),
        path,
        prop_oneof![1 => Just(Begin::Syn), 1 => Just(Begin::Connected), 3 => Just(Begin::Joined)],
        prop::collection::vec(operation(), 0..24),
    )
        .prop_map(
            |(seed, scheduler, controller, ends, buffers, path, begin, operations)| Case {
                seed,
                scheduler,
                controller,
                multipath: [ends.0, ends.1],
                checksum: [ends.2, ends.3],
                ipv6: ends.4,
                buffers: [buffers.0, buffers.1],
                strip: path.0,
                delays: [path.1.0, path.1.1],
                rate: path.2,
                begin,
                operations,
            },
        )
}
