//! What is known of the runs under way? Folded from what is seen, for the terminal, for plain lines, and
//! for those who watch at the collector.

use super::carried::Carried;
use measure::world::live::LiveRecord;
use model::record::{Event, EventKind, Message, Sample};
use model::{Name, Side};
use platform::api::{LiveEvent, LiveItem};
use std::collections::VecDeque;

/// How many of the last delays are kept.
const DELAYS: usize = 240;
/// How many values of the signal are kept: ten minutes at one per 100 ms.
const SIGNALS: usize = 6_000;
/// What happens within this time happens at once, to people.
const AT_ONCE_US: u64 = 100_000;

/// The runs under way, and those before.
#[derive(Debug, Default)]
pub struct Board {
    /// In the order of their start.
    pub runs: Vec<RunState>,
    /// The Wi-Fi's signal: microseconds since the test's start, dBm.
    pub signal: VecDeque<(u64, f64)>,
    /// What the test is, for the head of the view.
    pub heading: String,
    /// Which path the signal is of.
    pub signal_path: Option<Name>,
}

/// What is known of one run.
#[derive(Debug, Default)]
pub struct RunState {
    /// What its records call it.
    pub label: String,
    /// Its name within the test.
    pub name: String,
    /// The latest time of its records.
    pub time_us: u64,
    /// Where the data goes.
    pub path: Option<String>,
    /// The last delays, in the order they ended.
    pub delays_us: VecDeque<u64>,
    /// The longest delay so far.
    pub longest_us: u64,
    /// Messages answered.
    pub answered: u64,
    /// How long the oldest unanswered message has waited, while one does.
    pub waiting_us: Option<u64>,
    /// What the policy did last, and why.
    pub decision: Option<Decision>,
    /// Paths that are gone.
    pub gone: Vec<String>,
    /// Which paths went when, each time.
    pub losses: Vec<(String, u64)>,
    /// Why it ended, once it has.
    pub ended: Option<String>,
    /// Bytes per path, to see which carries the data.
    pub bytes: Carried,
}

/// A policy's decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// When, since the run's start.
    pub time_us: u64,
    /// What, in words.
    pub action: String,
    /// On which path.
    pub path: String,
    /// Why.
    pub cause: String,
}

impl Decision {
    /// Whether `other` says the same at about the same time.
    fn repeats(&self, other: &Decision) -> bool {
        let Decision {
            time_us,
            action,
            path,
            cause,
        } = self;
        (action, path, cause) == (&other.action, &other.path, &other.cause)
            && time_us.abs_diff(other.time_us) < AT_ONCE_US
    }
}

impl Board {
    /// A run starts: its records come under `label`, it is shown as `name`.
    pub fn start(&mut self, label: &str, name: &str) {
        self.runs.push(RunState {
            label: label.to_owned(),
            name: name.to_owned(),
            ..RunState::default()
        });
    }

    /// A run is over.
    pub fn end(&mut self, name: &str, why: &str) -> Option<LiveItem> {
        let run = self.runs.iter_mut().rfind(|run| run.name == name)?;
        run.ended = Some(why.to_owned());
        run.waiting_us = None;
        let why = why.to_owned();
        Some(run.item(run.time_us, LiveEvent::Ended { why }))
    }

    /// The runs that are not over.
    pub fn under_way(&self) -> impl Iterator<Item = &RunState> {
        self.runs.iter().filter(|run| run.ended.is_none())
    }

    fn run(&mut self, label: &str) -> Option<&mut RunState> {
        // The latest of this label: in stable mode each protocol runs once per pattern.
        self.runs.iter_mut().rfind(|run| run.label == label)
    }

    /// Takes in what was seen; returns what those who watch elsewhere are told.
    pub fn see(&mut self, record: &LiveRecord) -> Vec<LiveItem> {
        match record {
            LiveRecord::Message { run, message } => {
                self.run(run).map_or(Vec::new(), |run| run.message(message))
            }
            LiveRecord::Sample { run, sample } => {
                self.run(run).map_or(Vec::new(), |run| run.sample(sample))
            }
            LiveRecord::Event { run, event } => {
                self.run(run).map_or(Vec::new(), |run| run.event(event))
            }
            LiveRecord::Waiting {
                run,
                time_us,
                waited_us,
            } => {
                let Some(run) = self.run(run) else {
                    return Vec::new();
                };
                run.waiting_us = Some(*waited_us);
                let event = LiveEvent::Waiting {
                    waited_us: *waited_us,
                };
                vec![run.at(*time_us, event)]
            }
            LiveRecord::Signal {
                path,
                time_us,
                signal_dbm,
            } => {
                if self.signal.len() == SIGNALS {
                    self.signal.pop_front();
                }
                self.signal.push_back((*time_us, *signal_dbm));
                self.signal_path = Some(path.clone());
                let event = LiveEvent::Signal {
                    path: path.to_string(),
                    signal_dbm: *signal_dbm,
                };
                let first = self.under_way().next();
                let item = first.map(|run| run.item(run.time_us, event));
                item.into_iter().collect()
            }
        }
    }
}

impl RunState {
    fn item(&self, time_us: u64, event: LiveEvent) -> LiveItem {
        LiveItem {
            run: self.name.clone(),
            time_us,
            event,
        }
    }

    fn at(&mut self, time_us: u64, event: LiveEvent) -> LiveItem {
        self.time_us = self.time_us.max(time_us);
        self.item(time_us, event)
    }

    fn message(&mut self, message: &Message) -> Vec<LiveItem> {
        let (Some(delay_us), Some(acked_us)) = (message.delay_us, message.acked_us) else {
            return Vec::new();
        };
        if self.delays_us.len() == DELAYS {
            self.delays_us.pop_front();
        }
        self.delays_us.push_back(delay_us);
        self.longest_us = self.longest_us.max(delay_us);
        self.answered += 1;
        self.waiting_us = None;
        let direction = message.direction;
        let event = LiveEvent::Message {
            direction,
            delay_us,
        };
        let mut items = vec![self.at(acked_us, event)];
        if let Some(path) = &message.path {
            items.extend(self.in_use(acked_us, path.as_str()));
        }
        items
    }

    fn sample(&mut self, sample: &Sample) -> Vec<LiveItem> {
        if sample.side != Side::Client {
            return Vec::new();
        }
        self.time_us = self.time_us.max(sample.time_us);
        let busiest = self.bytes.add(sample);
        let used = busiest.and_then(|path| self.in_use(sample.time_us, path.as_str()));
        used.into_iter().collect()
    }

    /// The data goes over `path`; says so when it is another than before.
    fn in_use(&mut self, time_us: u64, path: &str) -> Option<LiveItem> {
        if self.path.as_deref() == Some(path) {
            return None;
        }
        self.path = Some(path.to_owned());
        let path = path.to_owned();
        Some(self.at(time_us, LiveEvent::PathInUse { path }))
    }

    fn event(&mut self, event: &Event) -> Vec<LiveItem> {
        if event.side == Some(Side::Server) {
            return Vec::new();
        }
        let path = event.path.as_ref().map(Name::to_string);
        let time_us = event.time_us;
        let seen = match (event.kind, path) {
            (EventKind::Decision, path) => {
                let decision = Decision {
                    time_us,
                    action: event.detail.clone(),
                    path: path.unwrap_or_default(),
                    cause: event.cause.clone().unwrap_or_default(),
                };
                // Each connection of a run has its own, and they decide alike.
                if self
                    .decision
                    .as_ref()
                    .is_some_and(|last| last.repeats(&decision))
                {
                    return Vec::new();
                }
                self.decision = Some(decision.clone());
                let Decision {
                    time_us: _,
                    action,
                    path,
                    cause,
                } = decision;
                LiveEvent::Decision {
                    action,
                    path,
                    cause,
                }
            }
            (EventKind::PathUp, Some(path)) => {
                self.gone.retain(|gone| *gone != path);
                LiveEvent::Path { path, up: true }
            }
            (EventKind::PathDown, Some(path)) => {
                if !self.gone.contains(&path) {
                    self.gone.push(path.clone());
                    self.losses.push((path.clone(), time_us));
                }
                LiveEvent::Path { path, up: false }
            }
            (EventKind::FirstData, Some(path)) if self.path.is_none() => {
                return self.in_use(time_us, &path).into_iter().collect();
            }
            _ => {
                self.time_us = self.time_us.max(time_us);
                return Vec::new();
            }
        };
        vec![self.at(time_us, seen)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Direction, Time};

    pub fn message(run: &str, sent_us: u64, delay_us: Option<u64>) -> LiveRecord {
        let run = run.to_owned();
        let message = Message {
            channel: 0,
            id: 0,
            direction: Direction::Up,
            size_bytes: 2_000,
            answer_bytes: 9,
            sent_us,
            acked_us: delay_us.map(|delay| sent_us + delay),
            delay_us,
            path: None,
        };
        LiveRecord::Message { run, message }
    }

    fn sample(time_us: u64, path: &str, sent_bytes: u64) -> LiveRecord {
        LiveRecord::Sample {
            run: "mptcp".into(),
            sample: Sample {
                time_us,
                side: Side::Client,
                connection: 0,
                path: Some(path.into()),
                state: "established".into(),
                srtt_us: None,
                rttvar_us: None,
                rto_us: None,
                timeouts: None,
                cwnd_bytes: None,
                in_flight_bytes: None,
                oldest_unacked_us: None,
                unsent_bytes: None,
                sent_packets: None,
                sent_bytes: Some(sent_bytes),
                received_bytes: None,
                lost_packets: None,
                retransmitted_packets: None,
                backup: None,
                peer_backup: None,
            },
        }
    }

    #[test]
    fn the_busiest_path_is_in_use() {
        let mut board = Board::default();
        board.start("mptcp", "mptcp");
        let mut told = Vec::new();
        for (tick, wifi, cellular) in [
            (1, 5_000, 100),
            (2, 9_000, 200),
            (3, 9_100, 300),
            (4, 9_100, 9_000),
            (5, 9_100, 9_000),
        ] {
            for (path, bytes) in [("wifi", wifi), ("cellular", cellular)] {
                told.extend(board.see(&sample(tick * 100_000, path, bytes)));
            }
        }
        let paths: Vec<_> = told
            .iter()
            .map(|item| match &item.event {
                LiveEvent::PathInUse { path } => (item.time_us, path.as_str()),
                other => panic!("{other:?}"),
            })
            .collect();
        // Known with the samples that follow; the third tick had keep-alives only.
        assert_eq!(paths, [(200_000, "wifi"), (500_000, "cellular")]);
        assert_eq!(board.runs[0].path.as_deref(), Some("cellular"));
    }

    #[test]
    fn a_stall_is_waiting_until_an_answer_comes() {
        let mut board = Board::default();
        board.start("quic", "quic-bulk");
        board.see(&message("quic", 0, Some(28_000)));
        let waiting = LiveRecord::Waiting {
            run: "quic".into(),
            time_us: 400_000,
            waited_us: 300_000,
        };
        let told = board.see(&waiting);
        assert_eq!(told[0].run, "quic-bulk");
        assert_eq!(board.runs[0].waiting_us, Some(300_000));
        // One that is given up at the end is no answer.
        assert_eq!(board.see(&message("quic", 0, None)), []);
        assert_eq!(board.runs[0].waiting_us, Some(300_000));
        board.see(&message("quic", 100_000, Some(900_000)));
        let run = &board.runs[0];
        assert_eq!(
            (run.waiting_us, run.answered, run.longest_us),
            (None, 2, 900_000)
        );
        assert_eq!(run.time_us, 1_000_000);
        let ended = board.end("quic-bulk", "done").expect("it ran");
        assert_eq!(ended.event, LiveEvent::Ended { why: "done".into() });
        assert_eq!(board.under_way().count(), 0);
    }

    #[test]
    fn decisions_come_with_their_cause() {
        let mut board = Board::default();
        board.start("mptcp", "mptcp");
        let event = Event {
            path: Some("cellular".into()),
            cause: Some("Wi-Fi silent for 320 ms".into()),
            ..Event::new(Time::from_millis(900), EventKind::Decision, "open")
        };
        let run = "mptcp".to_owned();
        let told = board.see(&LiveRecord::Event { run, event });
        assert_eq!(
            told[0].event,
            LiveEvent::Decision {
                action: "open".into(),
                path: "cellular".into(),
                cause: "Wi-Fi silent for 320 ms".into()
            }
        );
        assert_eq!(told[0].time_us, 900_000);
    }
}
