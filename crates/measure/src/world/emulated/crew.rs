//! Several runs side by side: starts workers, keeps as many going as the machine can time.

use super::worker::Report;
use crate::world::plan::RunSpec;
use crate::world::progress::{Failed, Progress};
use model::scenario::Traffic;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Low-rate runs that share a core: measured, ten interactive walks take about a quarter of one.
const LOW_RATE_RUNS_PER_CORE: usize = 6;

/// Runs that start together would send their messages together ever after; this much apart (a
/// prime number of milliseconds, so that no usual period divides it) they rarely do.
const START_GAP: Duration = Duration::from_millis(37);

/// Runs workers side by side.
pub struct Crew {
    /// The program and the arguments that make it a worker.
    pub worker: (PathBuf, Vec<String>),
    /// At most this many at once.
    pub jobs: usize,
}

impl Crew {
    /// How many runs of `traffic` may go side by side on `cores`: low-rate ones share a core,
    /// others get one each.
    pub fn jobs_for(traffic: &Traffic, cores: usize) -> usize {
        match traffic {
            Traffic::Interactive(_)
            | Traffic::Ping(_)
            | Traffic::Bursts(_)
            | Traffic::Request(_)
            | Traffic::Radio(_) => cores * LOW_RATE_RUNS_PER_CORE,
            Traffic::Bulk(_) | Traffic::Iperf(_) => (cores / 2).max(1),
            Traffic::WithBackground(both) => Crew::jobs_for(&both.main, cores),
        }
    }

    /// Carries out all runs; `interrupted` ends the ones under way and starts no more.
    ///
    /// A run that missed its timing bound halves the number of runs side by side.
    pub fn run(
        &self,
        runs: &[RunSpec],
        interrupted: &AtomicBool,
        mut progress: impl FnMut(Progress),
    ) -> io::Result<()> {
        let (sender, receiver) = mpsc::channel();
        let mut active: Vec<(usize, Child)> = Vec::new();
        let mut waiting = 0..runs.len();
        let mut limit = Limit::new(self.jobs);
        let mut told = false;
        let mut last_start: Option<Instant> = None;
        loop {
            let patience = START_GAP.saturating_sub(last_start.map_or(START_GAP, |t| t.elapsed()));
            let may_start = active.len() < limit.now && !interrupted.load(Ordering::Relaxed);
            if may_start
                && patience.is_zero()
                && let Some(run) = waiting.next()
            {
                last_start = Some(Instant::now());
                active.push((run, self.start(run, &runs[run], sender.clone())?));
                progress(Progress::Started { run });
                continue;
            }
            if active.is_empty() && (waiting.is_empty() || !may_start) {
                return Ok(());
            }
            if interrupted.load(Ordering::Relaxed) && !told {
                told = true;
                for (_, child) in &active {
                    terminate(child);
                }
            }
            let wait = match may_start && !waiting.is_empty() {
                true => patience,
                false => Duration::from_millis(100),
            };
            let Ok((run, report)) = receiver.recv_timeout(wait) else {
                continue;
            };
            let result = match report {
                Some(Report::At { seconds }) => {
                    progress(Progress::At { run, seconds });
                    continue;
                }
                Some(Report::Done { timing }) => Ok(Some(timing)),
                Some(Report::Failed { error, impossible }) => Err(Failed { error, impossible }),
                None => Err(Failed {
                    error: "the run's process ended without a word; it was killed or is broken"
                        .to_owned(),
                    impossible: false,
                }),
            };
            let Some(place) = active.iter().position(|(r, _)| *r == run) else {
                continue; // the end of a stream whose last word was heard
            };
            let (_, mut child) = active.swap_remove(place);
            child.wait()?;
            let missed = matches!(&result, Ok(Some(timing)) if !timing.kept);
            limit.ended(run, missed, waiting.start);
            progress(Progress::Ended { run, result });
        }
    }

    /// Starts a worker and a thread that reads its reports; `None` is the end of them.
    fn start(
        &self,
        run: usize,
        spec: &RunSpec,
        reports: mpsc::Sender<(usize, Option<Report>)>,
    ) -> io::Result<Child> {
        let (program, arguments) = &self.worker;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            serde_json::to_writer(&mut input, spec)?;
            input.write_all(b"\n")?;
        }
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if let Ok(report) = serde_json::from_str(&line) {
                        let _ = reports.send((run, Some(report)));
                    }
                }
                let _ = reports.send((run, None));
            });
        }
        Ok(child)
    }
}

/// How many runs go side by side: half as many after one that missed its timing bound, one more each
/// time as many in a row have kept it as go side by side.
struct Limit {
    most: usize,
    now: usize,
    kept_in_a_row: usize,
    /// Runs before this one were under way at the last halving. What made one of them late made others late
    /// as well, and is one reason to have fewer, as the losses of one round trip are to TCP.
    since: usize,
}

impl Limit {
    fn new(most: usize) -> Limit {
        Limit {
            most: most.max(1),
            now: most.max(1),
            kept_in_a_row: 0,
            since: 0,
        }
    }

    /// `run` has ended; `next` is the next to be started.
    fn ended(&mut self, run: usize, missed: bool, next: usize) {
        if missed {
            self.kept_in_a_row = 0;
            if run >= self.since {
                self.now = (self.now / 2).max(1);
                self.since = next;
            }
            return;
        }
        self.kept_in_a_row += 1;
        if self.kept_in_a_row >= self.now && self.now < self.most {
            self.now += 1;
            self.kept_in_a_row = 0;
        }
    }
}

fn terminate(child: &Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let pid = nix::unistd::Pid::from_raw(pid);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_moment_halves_once() {
        let mut limit = Limit::new(8);
        // All eight were under way.
        (0..8).for_each(|run| limit.ended(run, true, 8));
        assert_eq!(limit.now, 4);
        // The next four meet another.
        (8..12).for_each(|run| limit.ended(run, true, 12));
        assert_eq!(limit.now, 2);
        (12..20).for_each(|run| limit.ended(run, true, run + 1));
        assert_eq!(limit.now, 1, "never none");
    }

    #[test]
    fn as_many_in_a_row_as_go_side_by_side_are_one_more() {
        let mut limit = Limit::new(3);
        limit.ended(0, true, 3);
        assert_eq!(limit.now, 1);
        limit.ended(1, false, 4);
        assert_eq!(limit.now, 2);
        // A late one that was under way then begins the row anew.
        limit.ended(3, false, 5);
        limit.ended(2, true, 6);
        assert_eq!(limit.now, 2);
        limit.ended(4, false, 6);
        assert_eq!(limit.now, 2);
        (5..100).for_each(|run| limit.ended(run, false, run + 1));
        assert_eq!(limit.now, 3, "never more than were asked for");
    }
}
