//! What has to hold at every moment of a random sequence of operations, and at its end?

use std::net::SocketAddr;
use std::time::Duration;

use walkabout_mptcp::connection::Config;

use super::case::{Begin, Case, Operation, PATHS};
use super::order::Order;
use crate::network::lane::Lane;
use crate::network::log::Log;
use crate::pair::{CLIENT, PORT, Pair, Quality, SERVER, SERVER_ADDRESSES, config};

/// After everything works again all is over by then: 15 window probes of two minutes at most to an
/// address that is gone (half an hour) are the longest, with room.
const REST: Duration = Duration::from_secs(2_500);
/// What is left then at most: 15 retransmissions of a FIN to an address that is gone (924 s), with
/// room.
const AFTERMATH: Duration = Duration::from_secs(1_600);

/// A case under way.
struct Run<'a> {
    case: &'a Case,
    pair: Pair,
    order: [Order; 2],
    /// How many of each side's events were looked at.
    seen: [usize; 2],
    /// Addresses that the client had.
    moves: u8,
}

fn host(case: &Case, side: usize, extended: bool) -> Config {
    let mut config = config(case.scheduler, case.controller);
    config.extensions.idle_flag = extended;
    config.extensions.rto_option = extended;
    config.extensions.fast_join = extended;
    config.multipath = case.multipath[side];
    config.checksum = case.checksum[side];
    config.send_buffer = case.buffers[0];
    config.receive_buffer = case.buffers[1];
    config.subflow.keep_alive = Some(Duration::from_secs(20));
    config
}

/// Carries out a case and checks it.
///
/// # Panics
/// When something does not hold.
pub fn run(case: &Case, logged: bool) -> Log {
    run_extended(case, logged, [false; 2])
}

/// [`run`] with the extensions of Multipath TCP at these sides.
///
/// # Panics
/// When something does not hold.
pub fn run_extended(case: &Case, logged: bool, extended: [bool; 2]) -> Log {
    let path = |delay| Quality {
        delay: Duration::from_millis(delay),
        bottleneck: (case.rate > 0).then_some((case.rate * 1_000_000, 30 * 1_500)),
    };
    let paths = case.delays.map(path);
    let client = host(case, CLIENT, extended[CLIENT]);
    let server = host(case, SERVER, extended[SERVER]);
    let mut pair = Pair::new(case.seed, client, server, case.ipv6, &paths);
    if logged {
        pair = pair.logged();
    }
    for lane in &mut pair.network.lanes {
        lane.strip = case.strip;
    }
    let mut run = Run {
        case,
        pair,
        order: Default::default(),
        seen: [0; 2],
        moves: 0,
    };
    run.pair.connect();
    if case.begin != Begin::Syn {
        run.begin();
    }
    for &operation in &case.operations {
        run.carry_out(operation);
        run.check();
    }
    run.conclude();
    run.release();
    run.pair.network.log.take().unwrap_or_default()
}

impl Run<'_> {
    /// A byte each way, and perhaps a join.
    fn begin(&mut self) {
        self.pair.wait_for("the connection", |pair| {
            pair.established(CLIENT) == 1 && pair.established(SERVER) == 1
        });
        self.pair.exchange(1, 1);
        self.pair.pass(Duration::from_millis(130));
        if self.case.begin == Begin::Joined {
            // Refused after a fallback, which is as good a beginning.
            let _ = self.pair.open(1, 0, false);
            self.pair.pass(Duration::from_millis(250));
        }
        self.check();
    }

    fn carry_out(&mut self, operation: Operation) {
        let pair = &mut self.pair;
        match operation {
            Operation::Write { side, size } => drop(pair.write(side, size)),
            Operation::Read { side, size } => drop(pair.read(side, size)),
            Operation::Finish { side } => pair.finish(side),
            Operation::Abort { side } => {
                if let Some(connection) = pair.ends[side].connection {
                    let now = pair.network.now;
                    pair.stack(side).abort(now, connection);
                }
            }
            Operation::Open {
                side,
                path,
                server,
                backup,
            } => self.open(side, path, server, backup),
            Operation::Close { side, nth, reset } => {
                self.with_subflow(side, nth, |stack, now, connection, subflow| {
                    stack.close_subflow(now, connection, subflow, reset)
                });
            }
            Operation::Backup { side, nth, backup } => {
                self.with_subflow(side, nth, |stack, now, connection, subflow| {
                    stack.set_backup(now, connection, subflow, backup)
                });
            }
            Operation::MarkFailed { side, nth } => {
                self.with_subflow(side, nth, |stack, now, connection, subflow| {
                    stack.mark_failed(now, connection, subflow)
                });
            }
            Operation::Announce { side, which } => {
                if let Some(connection) = pair.ends[side].connection {
                    let address = SocketAddr::new(local(pair, side, which), 0);
                    let now = pair.network.now;
                    // Refused without Multipath TCP, which is as good an outcome here.
                    let _ = pair.stack(side).announce(now, connection, address);
                }
            }
            Operation::Withdraw { side, which } => {
                if let Some(connection) = pair.ends[side].connection {
                    let (address, now) = (local(pair, side, which), pair.network.now);
                    let _ = pair.stack(side).withdraw(now, connection, address);
                }
            }
            Operation::Up {
                path,
                direction,
                up,
            } => {
                let path = pair.paths[usize::from(path % PATHS)];
                if direction != 1 {
                    pair.network.lanes[path.up].up = up;
                }
                if direction != 0 {
                    pair.network.lanes[path.down].up = up;
                }
            }
            Operation::Faults {
                path,
                loss,
                duplicate,
                reorder,
                corrupt,
                garble,
            } => {
                // Nothing protects a stream without DSS checksums against a rewritten payload.
                let protected =
                    self.case.checksum.contains(&true) && self.case.multipath == [true; 2];
                let share = |percent: u8| f64::from(percent) / 100.0;
                let change = |lane: &mut Lane| {
                    lane.loss = share(loss);
                    lane.duplicate = share(duplicate);
                    lane.reorder = share(reorder);
                    lane.corrupt = if protected { share(corrupt) } else { 0.0 };
                    lane.garble = share(garble);
                };
                let path = pair.paths[usize::from(path % PATHS)];
                pair.network.each_lane(path, change);
            }
            Operation::Move { path } => {
                self.moves += 1;
                pair.move_client(path % PATHS, 10 + self.moves);
            }
            Operation::Wait { ms } => pair.pass(Duration::from_millis(ms)),
        }
        self.pair.network.settle(CLIENT);
        self.pair.network.settle(SERVER);
        self.pair.accept();
    }

    fn open(&mut self, side: usize, path: u8, server: u8, backup: bool) {
        let (path, server) = (path % PATHS, server % SERVER_ADDRESSES);
        let pair = &mut self.pair;
        let Some(connection) = pair.ends[side].connection else {
            return;
        };
        let client = pair.client_address(path);
        let server = pair.server_address(server);
        // The server reaches the client at the port from which it connected.
        let known = pair.subflows(SERVER).first().map(|s| s.tuple.remote.port());
        let (local, remote) = match side {
            CLIENT => (SocketAddr::new(client, 0), SocketAddr::new(server, PORT)),
            _ => (
                SocketAddr::new(server, 0),
                SocketAddr::new(client, known.unwrap_or(9)),
            ),
        };
        let now = pair.network.now;
        let stack = pair.stack(side);
        let _ = stack.open_subflow(now, connection, local, remote, backup);
    }

    fn with_subflow<T>(
        &mut self,
        side: usize,
        nth: usize,
        act: impl FnOnce(
            &mut walkabout_mptcp::stack::Stack,
            model::Time,
            walkabout_mptcp::stack::ConnectionId,
            policy::SubflowId,
        ) -> T,
    ) {
        let subflows = self.pair.subflows(side);
        if let Some(connection) = self.pair.ends[side].connection
            && !subflows.is_empty()
        {
            let subflow = subflows[nth % subflows.len()].id;
            let now = self.pair.network.now;
            act(self.pair.stack(side), now, connection, subflow);
        }
    }

    /// What holds at every moment.
    fn check(&mut self) {
        for side in [CLIENT, SERVER] {
            let Some(connection) = self.pair.ends[side].connection else {
                continue;
            };
            let events = &self.pair.network.hosts[side].events;
            for (at, whose, event) in &events[self.seen[side]..] {
                if *whose == connection {
                    self.order[side].next(*at, event);
                }
            }
            // The server's first events come before the connection is accepted.
            self.seen[side] = events.len();
            let Some(info) = self.pair.info(side) else {
                continue;
            };
            let [send, receive] = self.case.buffers;
            assert!(info.unsent + info.unacked <= send, "side {side}: {info:?}");
            // Probes of a shut window are taken when they are in order, up to 64 KiB beyond it.
            assert!(info.readable <= receive + 65_535, "side {side}: {info:?}");
            if info.at_end {
                self.nothing_is_missing(side);
            }
        }
    }

    /// A side was told that it has read everything.
    fn nothing_is_missing(&self, side: usize) {
        let (this, other) = (self.pair.ends[side], self.pair.ends[1 - side]);
        assert!(
            other.finished && this.read == other.written,
            "side {side} ended after {} of {} bytes\n{}",
            this.read,
            other.written,
            self.pair.network.recent(60)
        );
    }

    fn over(&self, side: usize) -> bool {
        self.pair.ends[side].connection.is_none() || self.order[side].over()
    }

    /// Everything works again, both sides finish and read: then it ends, well or with an error.
    fn conclude(&mut self) {
        for lane in &mut self.pair.network.lanes {
            lane.heal();
        }
        let until = self.pair.network.now + REST;
        loop {
            self.pair.accept();
            for side in [CLIENT, SERVER] {
                if !self.pair.ends[side].finished {
                    self.pair.finish(side);
                }
                self.pair.drain(side);
            }
            self.check();
            if self.over(CLIENT)
                && self.over(SERVER)
                && self
                    .pair
                    .network
                    .next_at()
                    .is_none_or(|at| at > self.pair.network.now)
            {
                break;
            }
            assert!(
                self.pair.network.step(until),
                "not over: {:?}\nclient {:?}\n{:?}\n{:#?}\nserver {:?}\n{:?}\n{:#?}\n{}",
                self.pair.ends,
                self.order[CLIENT],
                self.pair.info(CLIENT),
                self.pair.subflows(CLIENT),
                self.order[SERVER],
                self.pair.info(SERVER),
                self.pair.subflows(SERVER),
                self.pair.network.recent(60)
            );
        }
        for side in [CLIENT, SERVER] {
            let (this, other) = (self.pair.ends[side], self.pair.ends[1 - side]);
            if this.connection.is_some() && self.order[side].closed_well() {
                self.nothing_is_missing(side);
                assert!(
                    self.order[1 - side].failed() || other.read == this.written,
                    "side {side} closed, but only {} of {} bytes arrived\n{}",
                    other.read,
                    this.written,
                    self.pair.network.recent(60)
                );
            }
        }
    }

    /// Nothing is left behind.
    fn release(&mut self) {
        for side in [CLIENT, SERVER] {
            if let Some(connection) = self.pair.ends[side].connection {
                let now = self.pair.network.now;
                self.pair.stack(side).release(now, connection);
                self.pair.network.settle(side);
                let info = self.pair.network.hosts[side].stack.info(connection);
                assert!(info.is_none(), "released: {info:?}");
            }
        }
        let until = self.pair.network.now + AFTERMATH;
        self.pair.network.run(until, |_| {});
        for side in [CLIENT, SERVER] {
            let at = self.pair.network.hosts[side].stack.poll_at();
            assert!(
                at.is_none(),
                "side {side} still has something to do at {at:?}"
            );
        }
    }
}

/// One of a side's addresses.
fn local(pair: &Pair, side: usize, which: u8) -> std::net::IpAddr {
    match side {
        CLIENT => pair.client_address(which % PATHS),
        _ => pair.server_address(which % SERVER_ADDRESSES),
    }
}
