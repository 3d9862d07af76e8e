//! Why was cellular first used?
//!
//! The causes are tested in this order on the client's Wi-Fi samples around the first cellular
//! data: Wi-Fi SRTT above 600 ms, Wi-Fi under RTO, Wi-Fi RTO above 1,500 ms, other.
//!
//! The samples that count are those from the one before the decision to the one before the
//! data: a subflow that is opened on demand carries data only a round trip after the decision.
//! A timer fires between two samples, and a backup may carry data at that instant; so for
//! *under RTO* the next sample counts as well, unless the host knew that the Wi-Fi was gone.

use super::Value;
use super::handover::first_cellular_data_ns;
use crate::folder::RunFolder;
use model::record::{Event, EventKind, Sample};
use model::{Name, PathKind, Side};
use std::collections::BTreeSet;

/// MultipathTester, condition (1): the smoothed round-trip time above which Wi-Fi is too slow.
const SRTT_THRESHOLD_US: u64 = 600_000;
/// MultipathTester, condition (3): the retransmission timeout above which Wi-Fi is too slow.
const RTO_THRESHOLD_US: u64 = 1_500_000;
/// The decision that led to the data is looked for this long before the data: a join takes
/// a round trip or two, and one repeated after a lost SYN another second (RFC 6298).
const DECISION_BEFORE_US: u64 = 1_500_000;
/// The period of the samples, and as much again for one that came late.
const NEXT_SAMPLE_US: u64 = 200_000;

/// Why cellular was first used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It never was.
    None,
    /// Wi-Fi's smoothed round-trip time was above the threshold.
    RttThreshold,
    /// Wi-Fi was under RTO.
    UnderRto,
    /// Wi-Fi's retransmission timeout was above the threshold.
    RtoThreshold,
    /// None of these: a visible failure, aggregation, assistance.
    Other,
}

impl Cause {
    /// As written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Cause::None => "none",
            Cause::RttThreshold => "rtt-threshold",
            Cause::UnderRto => "under-rto",
            Cause::RtoThreshold => "rto-threshold",
            Cause::Other => "other",
        }
    }
}

/// When a path counts as under RTO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Definition {
    /// The timer fired and nothing was acknowledged since.
    Timer,
    /// The count of retransmissions rose since the last sample.
    Retransmission,
    /// Either.
    Either,
}

pub fn timer(run: &RunFolder) -> Option<Value> {
    word(run, Definition::Timer)
}

pub fn retransmission(run: &RunFolder) -> Option<Value> {
    word(run, Definition::Retransmission)
}

pub fn either(run: &RunFolder) -> Option<Value> {
    word(run, Definition::Either)
}

/// `None` in a scenario without both Wi-Fi and cellular.
fn word(run: &RunFolder, definition: Definition) -> Option<Value> {
    if run.paths(PathKind::Wifi).is_empty() || run.paths(PathKind::Cellular).is_empty() {
        return None;
    }
    Some(Value::Word(first_use(run, definition).name().to_owned()))
}

/// Why cellular was first used in `run`.
pub fn first_use(run: &RunFolder, definition: Definition) -> Cause {
    let Some(data_ns) = first_cellular_data_ns(run) else {
        return Cause::None;
    };
    let data = data_ns / 1_000;
    let decision = decision_us(run, data);
    let host_knew = was_noticed(run, data);
    let evidence: Vec<Evidence> = series(run, data)
        .iter()
        .map(|samples| Evidence::of(samples, decision, data, host_knew))
        .collect();
    let any = |test: &dyn Fn(&Evidence) -> bool| evidence.iter().any(test);
    if any(&|e| e.slow_rtt) {
        Cause::RttThreshold
    } else if any(&|e| e.is_under_rto(definition)) {
        Cause::UnderRto
    } else if any(&|e| e.slow_rto) {
        Cause::RtoThreshold
    } else {
        Cause::Other
    }
}

/// What the samples of one connection's Wi-Fi path show.
struct Evidence {
    slow_rtt: bool,
    slow_rto: bool,
    timer: bool,
    retransmission: bool,
}

impl Evidence {
    /// Of `samples`, by time, around a decision that led to data.
    fn of(samples: &[&Sample], decision: u64, data: u64, host_knew: bool) -> Evidence {
        // One past the last sample at or before the moment.
        let until = |moment| samples.partition_point(|s| s.time_us <= moment);
        let (first, end) = (until(decision).saturating_sub(1), until(data));
        let before = &samples[first.min(end)..end];
        let next = samples
            .get(end)
            .filter(|s| !host_knew && s.time_us <= data + NEXT_SAMPLE_US);
        let with_next = || before.iter().chain(next);
        let mut retransmitted = first
            .checked_sub(1)
            .and_then(|i| samples[i].retransmitted_packets)
            .or_else(|| before.first()?.retransmitted_packets);
        let mut retransmission = false;
        for count in with_next().filter_map(|s| s.retransmitted_packets) {
            retransmission |= retransmitted.is_some_and(|earlier| count > earlier);
            retransmitted = Some(count);
        }
        Evidence {
            slow_rtt: before.iter().any(|s| s.srtt_us > Some(SRTT_THRESHOLD_US)),
            slow_rto: before.iter().any(|s| s.rto_us > Some(RTO_THRESHOLD_US)),
            timer: with_next().any(|s| s.timeouts > Some(0)),
            retransmission,
        }
    }

    fn is_under_rto(&self, definition: Definition) -> bool {
        match definition {
            Definition::Timer => self.timer,
            Definition::Retransmission => self.retransmission,
            Definition::Either => self.timer || self.retransmission,
        }
    }
}

/// The client's Wi-Fi samples, one series per connection and path, of the connections that
/// used cellular at `data`; of all where that is not known.
fn series(run: &RunFolder, data: u64) -> Vec<Vec<&Sample>> {
    let wifi = run.paths(PathKind::Wifi);
    let connections = connections_on_cellular(run, data);
    let mut keys: BTreeSet<(u64, &Name)> = BTreeSet::new();
    let samples: Vec<(u64, &Name, &Sample)> = run
        .samples
        .iter()
        .filter(|s| s.side == Side::Client)
        .filter_map(|s| Some((s.connection, s.path.as_ref()?, s)))
        .filter(|(_, path, _)| wifi.contains(path))
        .collect();
    keys.extend(
        samples
            .iter()
            .map(|&(connection, path, _)| (connection, path)),
    );
    if keys
        .iter()
        .any(|(connection, _)| connections.contains(connection))
    {
        keys.retain(|(connection, _)| connections.contains(connection));
    }
    let of_key = |key: (u64, &Name)| {
        let samples = samples.iter();
        let samples = samples.filter(move |(connection, path, _)| (*connection, *path) == key);
        samples.map(|&(_, _, sample)| sample).collect()
    };
    keys.into_iter().map(of_key).collect()
}

/// The connections that sent their first cellular data at `data`, by the transport's events, or
/// by the first samples that show bytes sent over cellular.
fn connections_on_cellular(run: &RunFolder, data: u64) -> BTreeSet<u64> {
    let at_client = on_cellular(run, |e| e.kind == EventKind::FirstData);
    let near = data.saturating_sub(NEXT_SAMPLE_US)..=data + NEXT_SAMPLE_US;
    let first = at_client
        .filter(|e| near.contains(&e.time_us) && e.connection.is_some())
        .min_by_key(|e| e.time_us);
    if let Some(connection) = first.and_then(|e| e.connection) {
        return [connection].into();
    }
    let cellular = run.paths(PathKind::Cellular);
    let sending: Vec<&Sample> = run
        .samples
        .iter()
        .filter(|s| s.side == Side::Client && s.sent_bytes > Some(0))
        .filter(|s| s.path.as_ref().is_some_and(|p| cellular.contains(&p)))
        .filter(|s| near.contains(&s.time_us))
        .collect();
    let earliest = sending.iter().map(|s| s.time_us).min();
    let sending = sending.iter().filter(|s| Some(s.time_us) == earliest);
    sending.map(|s| s.connection).collect()
}

/// When the decision fell that led to the data: the last time before it that a cellular
/// subflow was asked for or its priority changed; the moment of the data when it was neither.
fn decision_us(run: &RunFolder, data: u64) -> u64 {
    let before = data.saturating_sub(DECISION_BEFORE_US)..=data;
    let decisions = on_cellular(run, |e| {
        matches!(e.kind, EventKind::PathOpening | EventKind::PriorityChanged)
    });
    let times = decisions.map(|e| e.time_us).filter(|t| before.contains(t));
    times.max().unwrap_or(data)
}

fn on_cellular<'r>(
    run: &'r RunFolder,
    is: impl Fn(&Event) -> bool + 'r,
) -> impl Iterator<Item = &'r Event> + 'r {
    let cellular = run.paths(PathKind::Cellular);
    run.events.iter().filter(move |e| {
        is(e)
            && e.side != Some(Side::Server)
            && e.path.as_ref().is_some_and(|p| cellular.contains(&p))
    })
}

/// Whether the host knew at `data` that a Wi-Fi path is gone.
fn was_noticed(run: &RunFolder, data: u64) -> bool {
    run.paths(PathKind::Wifi).into_iter().any(|wifi| {
        let events = run.events.iter().rev();
        let mut events = events.filter(|e| {
            e.time_us <= data && e.path.as_ref() == Some(wifi) && e.side != Some(Side::Server)
        });
        let last = events.find(|e| matches!(e.kind, EventKind::PathUp | EventKind::PathDown));
        last.is_some_and(|e| e.kind == EventKind::PathDown)
    })
}
