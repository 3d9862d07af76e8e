//! Does the follower stay right, whatever its clients do, and when it is restarted?

use super::clients::Clients;
use crate::oracle::follow::Follower;
use crate::oracle::log::Kind;
use model::daemon::Follow;
use model::{Family, Seed, Time};
use rand::RngExt;
use std::time::Duration;

/// Time between two turns.
const TURN: Duration = Duration::from_millis(10);

struct Stage {
    follower: Follower<Clients>,
    now: Time,
    failed: Vec<String>,
}

impl Stage {
    fn new() -> Stage {
        Stage {
            follower: Follower::new(Clients::default(), Follow::default(), false),
            now: Time::ZERO,
            failed: Vec::new(),
        }
    }

    fn clients(&mut self) -> &mut Clients {
        self.follower.kernel_mut()
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += TURN;
            self.clients().turn();
            self.follower.poll(self.now);
            let log = self.follower.take_log().into_iter();
            let failed = log.filter(|e| e.kind == Kind::Failed);
            self.failed.extend(failed.map(|e| e.detail));
        }
    }

    /// Another one takes its place, which knows nothing.
    fn restart(&mut self) {
        let clients = std::mem::take(self.clients());
        self.follower = Follower::new(clients, Follow::default(), false);
    }

    /// Whether each connection's used subflow is regular, and every other one left alone by some end.
    fn is_right(&mut self) -> bool {
        self.clients().connections.iter().all(|c| {
            let right = |(at, s): (usize, &super::clients::Arrived)| match at == c.used {
                true => !s.backup,
                false => s.backup || s.peer_backup,
            };
            c.subflows.iter().enumerate().all(right)
        })
    }
}

/// One that replaces another goes on sending where the client is, and not on what it saw last.
#[test]
fn a_restart_moves_nothing() {
    let mut stage = Stage::new();
    stage.clients().connect(Family::Ipv6, false);
    stage.clients().join(0, false);
    stage.clients().connections[0].used = 0;
    stage.pass(Duration::from_secs(1));
    assert!(stage.is_right(), "{:#?}", stage.clients());
    stage.restart();
    for _ in 0..100 {
        stage.pass(TURN);
        assert!(stage.is_right(), "{:#?}", stage.clients());
    }
}

#[test]
fn random_sequences_of_events_leave_it_right() {
    for seed in 0..24 {
        random_sequence(seed);
    }
}

fn random_sequence(seed: u64) {
    let mut random = Seed(seed).stream("follower.events");
    let mut stage = Stage::new();
    for _ in 0..80 {
        let number: usize = random.random_range(0..1_000);
        let clients = stage.clients();
        let count = clients.connections.len();
        let which = number % count.max(1);
        match random.random_range(0..10) {
            0 | 1 => {
                let family = Family::ALL[number % 2];
                clients.connect(family, number.is_multiple_of(3));
            }
            2 | 3 if count > 0 => clients.join(which, number.is_multiple_of(5)),
            4 | 5 if count > 0 => {
                let connection = &mut clients.connections[which];
                connection.used = number % connection.subflows.len();
            }
            6 if count > 0 => clients.close(which, number / 7),
            7 if count > 1 => drop(clients.connections.remove(which)),
            8 => clients.overflow = true,
            9 => clients.fail_reading = number.is_multiple_of(2),
            _ => stage.restart(),
        }
        stage.pass(Duration::from_millis(random.random_range(0..500)));
    }
    stage.clients().fail_reading = false;
    // The longest wait before a change that does not show is asked for again, and a full reading.
    stage.pass(Duration::from_secs(3));
    let failed = std::mem::take(&mut stage.failed);
    assert_eq!(failed, Vec::<String>::new(), "seed {seed}");
    assert_eq!(stage.clients().wrongs, Vec::<String>::new(), "seed {seed}");
    assert!(stage.is_right(), "seed {seed}: {:#?}", stage.clients());
}
