//! Do random sequences of path operations and failures ever panic or lose bytes?

use super::pipe::{Joined, ms};
use model::PathIndex;
use proptest::prelude::*;
use traffic::Channels;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Open { path: usize, backup: bool },
    Close { path: usize },
    SetBackup { path: usize, backup: bool },
    Pipe { path: usize, up: bool, down: bool },
    Write { client: bool, size: usize },
    Run { ms: u64 },
}

fn operation() -> impl Strategy<Value = Operation> {
    let path = 0..3_usize;
    prop_oneof![
        (path.clone(), any::<bool>()).prop_map(|(path, backup)| Operation::Open { path, backup }),
        path.clone().prop_map(|path| Operation::Close { path }),
        (path.clone(), any::<bool>())
            .prop_map(|(path, backup)| Operation::SetBackup { path, backup }),
        (path, any::<bool>(), any::<bool>()).prop_map(|(path, up, down)| Operation::Pipe {
            path,
            up,
            down
        }),
        (any::<bool>(), 1..20_000_usize)
            .prop_map(|(client, size)| Operation::Write { client, size }),
        (1..400_u64).prop_map(|ms| Operation::Run { ms }),
        (1..400_u64).prop_map(|ms| Operation::Run { ms }),
    ]
}

/// One end's sending and the other's receiving of the bytes 0, 1, 2 ... 250, 0, 1 ...
#[derive(Default)]
struct Count {
    written: usize,
    read: usize,
}

impl Count {
    fn write(&mut self, channels: &mut impl Channels, size: usize) {
        let bytes: Vec<u8> = (self.written..self.written + size)
            .map(|n| (n % 251) as u8)
            .collect();
        channels.write(0, &bytes);
        self.written += size;
    }

    fn read(&mut self, channels: &mut impl Channels) {
        let mut buffer = [0; 4096];
        loop {
            let n = channels.read(0, &mut buffer);
            if n == 0 {
                return;
            }
            for byte in &buffer[..n] {
                assert_eq!(usize::from(*byte), self.read % 251, "at byte {}", self.read);
                self.read += 1;
            }
        }
    }
}

fn check(seed: u64, operations: &[Operation]) {
    let mut joined = Joined::new(true, seed, &[20, 60, 35]);
    let (mut up, mut down) = (Count::default(), Count::default());
    up.write(&mut joined.client, 10);
    joined.run_for(ms(300));
    for operation in operations {
        // An operation may be impossible at this point; that it says so is part of the test.
        match *operation {
            Operation::Open { path, backup } => {
                let _ = joined.open(PathIndex(path), backup);
            }
            Operation::Close { path } => {
                let _ = joined.close(PathIndex(path));
            }
            Operation::SetBackup { path, backup } => {
                let _ = joined.set_backup(PathIndex(path), backup);
            }
            Operation::Pipe { path, up, down } => {
                joined.pipes[path].up = up;
                joined.pipes[path].down = down;
            }
            Operation::Write { client: true, size } => up.write(&mut joined.client, size),
            Operation::Write {
                client: false,
                size,
            } => down.write(&mut joined.server, size),
            Operation::Run { ms: duration } => joined.run_for(ms(duration)),
        }
        up.read(&mut joined.server);
        down.read(&mut joined.client);
        let mut samples = Vec::new();
        joined.client.sample(joined.now, &mut samples);
        joined.server.sample(joined.now, &mut samples);
        joined.server.view(joined.now);
    }
    for pipe in &mut joined.pipes {
        pipe.up = true;
        pipe.down = true;
    }
    for _ in 0..300 {
        joined.run_for(ms(200));
        up.read(&mut joined.server);
        down.read(&mut joined.client);
        if up.read == up.written && down.read == down.written {
            return;
        }
    }
    panic!(
        "after 60 s of whole paths: up {} of {}, down {} of {}",
        up.read, up.written, down.read, down.written
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_are_lost(seed in any::<u64>(), operations in prop::collection::vec(operation(), 0..40)) {
        check(seed, &operations);
    }
}
