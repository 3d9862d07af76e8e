//! Does each scheduler follow its source's rules?

mod estimates;
mod linux_default;
mod lowest_rtt;
mod mobile;
mod properties;
mod spreading;

use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View, list};
use crate::subflow::{SubflowId, SubflowSet};
use model::Time;
use std::time::Duration;

/// Why, when these subflows exist, this one is chosen.
type Choice<'a> = (&'a str, &'a [Subflow], Option<usize>);

/// On which occasion, when these subflows exist and a piece has these carriers, this one sends
/// it again.
type Move<'a> = (Occasion, &'a [Subflow], &'a [usize], Option<usize>);

/// A segment.
const MSS: u64 = 1_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn set(indices: &[usize]) -> SubflowSet {
    indices.iter().map(|i| SubflowId::new(*i)).collect()
}

fn scheduler(name: &str) -> Box<dyn Scheduler> {
    (list::find(name).expect("it is in the list").make)()
}

/// An idle regular subflow with a window of ten segments, and 1 MB/s.
fn subflow(index: usize, rtt_ms: u64) -> Subflow {
    Subflow {
        id: SubflowId::new(index),
        established: at(index as u64),
        backup: false,
        potentially_failed: false,
        stale: false,
        stale_count: 0,
        retransmitting: false,
        in_slow_start: false,
        smoothed_rtt: Some(ms(rtt_ms)),
        rtt_variation: Duration::ZERO,
        rto: ms(rtt_ms + 200),
        retransmission_in: None,
        mss: MSS,
        window: 10 * MSS,
        in_flight: 0,
        unacked: 0,
        queued: 0,
        window_room: 10 * MSS,
        buffer_room: 20 * MSS,
        pacing_rate: 1_000_000,
        last_original: None,
    }
}

/// What a subflow is that is not idle, regular and well.
impl Subflow {
    fn backup(self) -> Subflow {
        Subflow {
            backup: true,
            ..self
        }
    }

    fn failed(self) -> Subflow {
        Subflow {
            potentially_failed: true,
            retransmitting: true,
            ..self
        }
    }

    fn stale(self) -> Subflow {
        Subflow {
            stale: true,
            stale_count: 5,
            ..self
        }
    }

    /// So much is in flight, of a window of ten segments.
    fn holding(self, bytes: u64) -> Subflow {
        Subflow {
            in_flight: bytes,
            unacked: bytes,
            window_room: self.window.saturating_sub(bytes),
            buffer_room: (2 * self.window).saturating_sub(bytes),
            ..self
        }
    }

    fn full(self) -> Subflow {
        self.holding(self.window)
    }

    fn original(self, ms: u64) -> Subflow {
        Subflow {
            last_original: Some(at(ms)),
            ..self
        }
    }
}

/// 100 segments wait and the peer takes them all.
fn view(subflows: &[Subflow]) -> View<'_> {
    View {
        now: at(1_000),
        subflows,
        unsent: 100 * MSS,
        send_window: 1_000 * MSS,
        unacked: 10 * MSS,
        first_unacked: 0,
    }
}

fn piece(carriers: &[usize]) -> Piece {
    Piece {
        dsn: 0,
        bytes: MSS,
        carriers: set(carriers),
        first_sent: at(900),
    }
}

fn assignment(indices: &[usize], bytes: u64) -> Option<Assignment> {
    Some(Assignment {
        subflows: set(indices),
        bytes,
    })
}

fn onto(index: usize) -> Option<Reinjection> {
    Some(Reinjection::onto(SubflowId::new(index)))
}

/// The number of the only subflow that a fresh scheduler gives new data to.
fn next(name: &str, subflows: &[Subflow]) -> Option<usize> {
    let chosen = scheduler(name).next(&view(subflows))?.subflows;
    assert_eq!(chosen.len(), 1, "{name}");
    chosen.iter().next().map(SubflowId::index)
}

/// The number of the only subflow on which a fresh scheduler sends a piece of `carriers` again.
fn again(
    name: &str,
    occasion: Occasion,
    subflows: &[Subflow],
    carriers: &[usize],
) -> Option<usize> {
    let answer = scheduler(name).reinject(&view(subflows), occasion, &piece(carriers))?;
    assert_eq!(answer.subflows.len(), 1, "{name}");
    assert_eq!(answer.penalised, None, "{name}");
    answer.subflows.iter().next().map(SubflowId::index)
}
