//! How is a test followed while it runs: on a terminal, as plain lines, or as a stream of JSON, and by
//! those who watch at the collector?

use super::bars::words;
use super::board::Board;
use super::push::Push;
use super::stream;
use super::terminal::Screen;
use super::view::Look;
use measure::world::live::LiveRecord;
use platform::api::{LiveEvent, LiveItem};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time between two pictures.
const FRAME: Duration = Duration::from_millis(100);
/// A wait that is worth a plain line.
const LONG_WAIT_US: u64 = 1_000_000;

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The view where standard output is a terminal, else lines on standard error.
    People,
    /// One JSON object per line on standard output.
    Stream,
    /// Not at all: `--json` prints the result when the test is over.
    Silent,
}

/// Shows a test.
pub struct Show {
    board: Board,
    style: Style,
    screen: Option<Screen>,
    push: Option<Push>,
    /// Runs whose long wait was told.
    stalled: BTreeSet<String>,
}

/// A run as those who watch are told of it.
pub struct Begins<'a> {
    /// What its records call it.
    pub label: &'a str,
    /// Its name within the test.
    pub name: &'a str,
    /// The transport's name.
    pub transport: &'a str,
    /// The path manager's name.
    pub policy: &'a str,
    /// The pattern's name.
    pub pattern: &'a str,
    /// The paths' names.
    pub paths: &'a [String],
}

impl Show {
    /// Begins to show a test.
    pub fn start(style: Style, heading: String, push: Option<Push>) -> Show {
        let terminal = style == Style::People && std::io::stdout().is_terminal();
        // A terminal that cannot be a screen still takes lines.
        let screen = terminal.then(|| Screen::enter(Look::of_environment()));
        Show {
            board: Board {
                heading,
                ..Board::default()
            },
            style,
            screen: screen.and_then(Result::ok),
            push,
            stalled: BTreeSet::new(),
        }
    }

    /// A run starts.
    pub fn begin(&mut self, run: &Begins<'_>) {
        self.board.start(run.label, run.name);
        let event = LiveEvent::Started {
            transport: run.transport.to_owned(),
            policy: run.policy.to_owned(),
            pattern: run.pattern.to_owned(),
            paths: run.paths.to_vec(),
        };
        self.tell(vec![LiveItem {
            run: run.name.to_owned(),
            time_us: 0,
            event,
        }]);
        self.stream(|| {
            let Begins {
                label,
                name,
                transport,
                policy,
                pattern,
                paths,
            } = run;
            stream::other(
                "started",
                json!({"run": label, "name": name, "transport": transport, "policy": policy,
                       "pattern": pattern, "paths": paths}),
            )
        });
    }

    /// A run is over.
    pub fn end(&mut self, name: &str, why: &str, invalid: Option<&str>, error: Option<&str>) {
        let item = self.board.end(name, why);
        self.tell(item.into_iter().collect());
        self.stream(|| {
            let content = json!({"name": name, "why": why, "invalid": invalid, "error": error});
            stream::other("ended", content)
        });
        for problem in [invalid, error].into_iter().flatten() {
            self.line(&format!("{name}: {problem}"));
        }
    }

    /// A line for people, beside the view.
    pub fn line(&self, line: &str) {
        if self.style == Style::People && self.screen.is_none() {
            eprintln!("{line}");
        }
    }

    /// Shows what comes until nothing more can.
    pub fn follow(&mut self, records: &Receiver<LiveRecord>) {
        let mut next = Instant::now();
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match records.recv_timeout(left) {
                Ok(record) => self.see(&record),
                Err(RecvTimeoutError::Timeout) => {
                    self.draw();
                    next = Instant::now() + FRAME;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // A flood of records does not keep the picture from moving.
            if Instant::now() > next + FRAME {
                self.draw();
                next = Instant::now() + FRAME;
            }
        }
        self.draw();
    }

    fn see(&mut self, record: &LiveRecord) {
        let items = self.board.see(record);
        self.stream(|| stream::line(record));
        self.tell(items);
    }

    /// Tells those who watch at the collector, and prints what is worth a line.
    fn tell(&mut self, items: Vec<LiveItem>) {
        if self.style == Style::People && self.screen.is_none() {
            for item in &items {
                if let Some(line) = plain(item, &mut self.stalled) {
                    eprintln!("{line}");
                }
            }
        }
        if let Some(push) = &self.push {
            push.show(items);
        }
    }

    fn stream(&self, line: impl FnOnce() -> Value) {
        if self.style == Style::Stream {
            let mut out = std::io::stdout().lock();
            // A reader that is gone ends no measurement.
            let _ = writeln!(out, "{}", line());
        }
    }

    fn draw(&mut self) {
        if let Some(screen) = &mut self.screen
            && screen.draw(&self.board).is_err()
        {
            self.screen = None;
        }
    }

    /// Gives the terminal back and tells those who watch that the test is over; the last of it may
    /// still be on its way.
    pub fn finish(self) -> (Board, Option<Push>) {
        let Show {
            board,
            screen,
            push,
            ..
        } = self;
        drop(screen);
        if let Some(push) = &push {
            push.over();
        }
        (board, push)
    }
}

/// The line of what happened; `stalled` are the runs whose wait was told and goes on.
fn plain(item: &LiveItem, stalled: &mut BTreeSet<String>) -> Option<String> {
    let what = match &item.event {
        LiveEvent::Started {
            transport,
            policy,
            pattern,
            paths,
        } => {
            let over = paths.join(", ");
            format!("started: {pattern} over {transport} ({policy}), paths {over}")
        }
        LiveEvent::Message { delay_us, .. } => {
            if !stalled.remove(&item.run) {
                return None;
            }
            format!("answered again, after {}", words(*delay_us))
        }
        LiveEvent::Waiting { waited_us } => {
            if *waited_us < LONG_WAIT_US || !stalled.insert(item.run.clone()) {
                return None;
            }
            format!("no answer for {}", words(*waited_us))
        }
        LiveEvent::PathInUse { path } => format!("the data goes over {path}"),
        LiveEvent::Decision {
            action,
            path,
            cause,
        } => format!("{action} {path}: {cause}"),
        LiveEvent::Path { path, up: true } => format!("{path} is there"),
        LiveEvent::Path { path, up: false } => format!("{path} is gone"),
        LiveEvent::Signal { .. } => return None,
        LiveEvent::Ended { why } => {
            stalled.remove(&item.run);
            format!("ended: {why}")
        }
    };
    let seconds = item.time_us as f64 / 1e6;
    Some(format!("{seconds:8.1} s  {}: {what}", item.run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Direction;

    #[test]
    fn plain_lines_tell_a_stall_once() {
        let item = |time_us, event| LiveItem {
            run: "quic".into(),
            time_us,
            event,
        };
        let waiting = |waited_us| LiveEvent::Waiting { waited_us };
        let answered = |delay_us| LiveEvent::Message {
            direction: Direction::Up,
            delay_us,
        };
        let items = [
            item(100_000, answered(20_000)),
            item(400_000, waiting(300_000)),
            item(1_200_000, waiting(1_000_000)),
            item(1_300_000, waiting(1_100_000)),
            item(1_500_000, answered(1_300_000)),
            item(1_600_000, answered(1_200_000)),
            item(
                1_700_000,
                LiveEvent::Path {
                    path: "wifi".into(),
                    up: false,
                },
            ),
            item(
                1_800_000,
                LiveEvent::Ended {
                    why: "wifi-lost".into(),
                },
            ),
        ];
        let mut stalled = BTreeSet::new();
        let lines = items.iter().filter_map(|item| plain(item, &mut stalled));
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
             1.2 s  quic: no answer for 1.0 s
             1.5 s  quic: answered again, after 1.3 s
             1.7 s  quic: wifi is gone
             1.8 s  quic: ended: wifi-lost
        ");
    }
}
