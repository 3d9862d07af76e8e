//! What happens to a packet between one end of a link and the other: stages in a row, run by
//! a clock that the driver brings.
//!
//! [`crate::topology`] composes them in the order in which a packet meets them: `link-down`,
//! then the queue and its rate (constant, trace or walk), then what happens on the air or
//! wire: `blackhole`, `burst-loss`, `random-loss`, `duplicate`, `reorder`, and last `delay`.
//! Stages a scenario does not ask for are absent. So a packet that is lost on the way has used
//! its share of the rate, and what a failure catches is what leaves the transmitter during
//! it; packets that already propagate arrive.
//!
//! A packet goes from stage to stage as each returns it ([`Behaviour`]). Where nothing lies between
//! rate and delay, and the rate is known in advance, [`Line`] does what both would.

mod blackhole;
mod burst_loss;
mod delay;
mod duplicate;
mod line;
mod link_down;
pub mod list;
pub mod queue;
mod random_loss;
mod rate;
mod reorder;
mod stage;
mod timeline;

pub use blackhole::Blackhole;
pub use burst_loss::BurstLoss;
pub use delay::Delay;
pub use duplicate::Duplicate;
pub use line::Line;
pub use link_down::LinkDown;
pub use random_loss::RandomLoss;
pub use rate::Rate;
pub(crate) use rate::finish;
pub use reorder::Reorder;
pub use stage::{Behaviour, Outlet, Stage};
pub use timeline::Timeline;

use model::Time;
use model::units::BitRate;
use std::collections::VecDeque;
use std::time::Duration;

/// A packet on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// Its number; a duplicate has the number of its original.
    pub id: u64,
    /// Bytes of the IP packet, which is what rates and queue limits count.
    pub size: usize,
    /// What the driver attaches: the bytes, or nothing.
    pub payload: P,
}

/// How a packet left a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit<P> {
    /// It reached the other end.
    Delivered {
        /// The packet.
        packet: Packet<P>,
        /// The event's own time.
        at: Time,
    },
    /// A stage dropped it.
    Dropped {
        /// The packet.
        packet: Packet<P>,
        /// The event's own time.
        at: Time,
        /// The name of the stage or queue, as in [`list::STAGES`].
        reason: &'static str,
    },
}

impl<P> Exit<P> {
    /// When the packet left.
    pub fn at(&self) -> Time {
        match self {
            Exit::Delivered { at, .. } | Exit::Dropped { at, .. } => *at,
        }
    }

    /// The packet.
    pub fn packet(&self) -> &Packet<P> {
        match self {
            Exit::Delivered { packet, .. } | Exit::Dropped { packet, .. } => packet,
        }
    }
}

/// The state of a link at one moment, as the `links` table records it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSnapshot {
    /// The rate in force: configured, of the trace over the next second, or expected of the
    /// walk's radio over the next 100 ms; `None` when unlimited.
    pub rate: Option<BitRate>,
    /// One-way delay without jitter.
    pub delay: Duration,
    /// Probability that a packet is lost, queue drops aside.
    pub loss: f64,
    /// Whether the link is up.
    pub up: bool,
    /// Bytes that wait in the queue; a packet in service has left it.
    pub queue_bytes: usize,
    /// Local mean of the received signal (path loss and shadowing), on a walk.
    pub signal_dbm: Option<f64>,
}

impl LinkSnapshot {
    /// Adds an independent cause of loss with probability `p`.
    pub(crate) fn add_loss(&mut self, p: f64) {
        self.loss += (1.0 - self.loss) * p;
    }
}

/// One direction of a path: stages in a row.
///
/// Events happen at their own times, whatever the times at which the driver calls: a link
/// that is polled late gives exactly the exits of one that is polled at every instant.
#[derive(Clone, Debug)]
pub struct Link<P> {
    stages: Vec<Stage<P>>,
    /// When each stage's next event is; [`Time::MAX`] for none.
    due: Vec<Time>,
    /// The latest time that the driver told.
    now: Time,
    out: Outlet<P>,
    /// Packets on their way to the stage of that index; empty between calls.
    moving: Vec<(usize, Packet<P>)>,
    /// The first of `due`, and of which stage it is: drivers ask far more often than it changes.
    next: (Time, usize),
}

impl<P: Clone> Link<P> {
    /// A link of these stages, in the order in which a packet meets them; without any, it
    /// delivers at once. A rate and the delay behind it become one [`Line`] where they can.
    pub fn new(stages: Vec<Stage<P>>) -> Link<P> {
        Link::of(line::join(stages))
    }

    fn of(stages: Vec<Stage<P>>) -> Link<P> {
        let due: Vec<Time> = stages.iter().map(Stage::due).collect();
        let next = first(&due);
        Link {
            stages,
            due,
            now: Time::ZERO,
            out: Outlet {
                copy: None,
                exits: VecDeque::new(),
            },
            moving: Vec::new(),
            next,
        }
    }

    /// A packet enters at `now`, after everything that is due by then. A `now` before that of
    /// an earlier call counts as that earlier call's.
    pub fn push(&mut self, now: Time, packet: Packet<P>) {
        self.advance(now);
        self.enter(self.now, 0, packet);
        self.next = first(&self.due);
    }

    /// When to call [`Link::poll`] next: no exit is before that. `None` when the link is empty or
    /// stands still.
    #[inline]
    pub fn poll_at(&self) -> Option<Time> {
        match self.out.exits.front() {
            Some(exit) => Some(exit.at()),
            None => Some(self.next.0).filter(|&at| at < Time::MAX),
        }
    }

    /// The next exit up to `now`; call until `None`. Exits come in the order of their times.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Exit<P>> {
        self.now = self.now.max(now);
        while self.out.exits.is_empty() {
            if !self.is_due(now) {
                return None;
            }
            let exit = self.happen();
            // What the same event dropped comes first.
            if self.out.exits.is_empty() && exit.is_some() {
                return exit;
            }
            self.out.exits.extend(exit);
        }
        self.out.exits.pop_front_if(|exit| exit.at() <= now)
    }

    /// The state at `now`.
    pub fn state(&mut self, now: Time) -> LinkSnapshot {
        self.advance(now);
        let mut state = LinkSnapshot {
            rate: None,
            delay: Duration::ZERO,
            loss: 0.0,
            up: true,
            queue_bytes: 0,
            signal_dbm: None,
        };
        for stage in &mut self.stages {
            stage.describe(self.now, &mut state);
        }
        state
    }

    /// The packets that have entered and not left.
    pub fn inside(&self) -> Vec<&Packet<P>> {
        let mut packets = Vec::new();
        for stage in &self.stages {
            stage.inside(&mut packets);
        }
        packets.extend(self.out.exits.iter().map(Exit::packet));
        packets
    }

    /// Whether a packet may leave twice.
    pub fn duplicates(&self) -> bool {
        let mut stages = self.stages.iter();
        stages.any(|stage| matches!(stage, Stage::Duplicate(_)))
    }

    /// When parameters of the link step to a new value (changes, failures, repairs), sorted;
    /// a walk changes all the time and is not listed.
    pub fn changes(&self) -> Vec<Time> {
        let mut times: Vec<Time> = self.stages.iter().flat_map(Stage::changes).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    #[inline]
    fn is_due(&self, now: Time) -> bool {
        self.next.0 <= now && self.next.0 < Time::MAX
    }

    /// Lets everything happen that is due by `now`, each event at its own time.
    #[inline]
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        while self.is_due(self.now) {
            let exit = self.happen();
            self.out.exits.extend(exit);
        }
    }

    /// The next event; what the last stage let go by it leaves the link.
    fn happen(&mut self) -> Option<Exit<P>> {
        let (at, index) = self.next;
        let stage = &mut self.stages[index];
        let passed = stage.poll(at, &mut self.out);
        self.due[index] = stage.due();
        let mut exit = None;
        if let Some(packet) = passed {
            if index + 1 == self.stages.len() {
                exit = Some(Exit::Delivered { packet, at });
            } else {
                self.enter(at, index + 1, packet);
            }
        }
        self.next = first(&self.due);
        exit
    }

    /// Moves a packet from the stage of this index on, and all that comes of it, through the
    /// stages as far as they get at `at`: a packet as far as it gets, then the copy behind it.
    fn enter(&mut self, at: Time, mut index: usize, mut packet: Packet<P>) {
        loop {
            let passed = match self.stages.get_mut(index) {
                Some(stage) => {
                    let passed = stage.push(at, packet, &mut self.out);
                    self.due[index] = stage.due();
                    passed
                }
                None => {
                    self.out.exits.push_back(Exit::Delivered { packet, at });
                    None
                }
            };
            index += 1;
            if let Some(copy) = self.out.copy.take() {
                self.moving.push((index, copy));
            }
            if let Some(next) = passed {
                packet = next;
            } else if let Some(next) = self.moving.pop() {
                (index, packet) = next;
            } else {
                return;
            }
        }
    }
}

/// The earliest event and its stage; of events at the same time the one nearest to the link's
/// end, so that what has waited longer moves first.
#[inline]
fn first(due: &[Time]) -> (Time, usize) {
    if let [only] = due {
        return (*only, 0);
    }
    let mut first = (Time::MAX, 0);
    for (index, &at) in due.iter().enumerate() {
        if at <= first.0 {
            first = (at, index);
        }
    }
    first
}
