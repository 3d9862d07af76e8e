//! The progress bar: how far the runs are and how long it takes still, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::world::plan::RunSpec;
use measure::world::progress::Progress;
use model::World;
use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

/// What a run costs beside its own duration: namespaces, connecting, closing the tables.
pub const OVERHEAD: Duration = Duration::from_secs(1);

/// In virtual time, how much faster a run is than its own duration, at least: half of what the
/// bench of the walk shows on one core, with writing its folder.
const VIRTUAL_SPEED: u32 = 300;

/// How long one run takes.
fn cost(run: &RunSpec) -> Duration {
    let duration = run.scenario.duration.get();
    match run.world {
        World::Virtual => duration / VIRTUAL_SPEED,
        World::Emulated | World::Live => duration + OVERHEAD,
    }
}

/// How long `runs` take when `jobs` go side by side and each has its full duration.
pub fn expected(runs: &[RunSpec], jobs: usize) -> Duration {
    let mut ends = vec![Duration::ZERO; jobs.clamp(1, runs.len().max(1))];
    for run in runs {
        // The next run starts where one ends first.
        if let Some(first) = ends.iter_mut().min() {
            *first += cost(run);
        }
    }
    ends.into_iter().max().unwrap_or_default()
}

/// The bar.
pub struct Bar {
    bar: ProgressBar,
    /// Seconds done, per run.
    done: RefCell<Vec<f64>>,
    full: f64,
    labels: Vec<String>,
    wide: usize,
    plain: bool,
}

impl Bar {
    /// A bar over `runs`; without a terminal each run's end is a plain line instead.
    pub fn new(runs: &[RunSpec], jobs: usize, json: bool) -> Bar {
        let terminal = std::io::stderr().is_terminal();
        let target = match terminal {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:32} {percent:>3} %  {msg}") {
            bar.set_style(style);
        }
        let full = runs.first().map_or(1.0, |run| cost(run).as_secs_f64());
        let bar = Bar {
            bar,
            done: RefCell::new(vec![0.0; runs.len()]),
            full,
            labels: runs
                .iter()
                .map(|r| RunSpec::label(&r.transport, &r.policy))
                .collect(),
            wide: jobs.clamp(1, runs.len().max(1)),
            plain: !terminal && !json,
        };
        if bar.plain {
            let seconds = expected(runs, jobs).as_secs_f64();
            let plural = if runs.len() == 1 { "" } else { "s" };
            eprintln!("{} run{plural}, about {seconds:.0} s", runs.len());
        }
        bar.update();
        bar
    }

    /// Shows an event.
    pub fn show(&self, event: &Progress) {
        match event {
            Progress::Started { .. } => {}
            Progress::At { run, seconds } => self.done.borrow_mut()[*run] = seconds.min(self.full),
            Progress::Ended { run, result } => {
                self.done.borrow_mut()[*run] = self.full;
                let label = &self.labels[*run];
                let line = match result {
                    Ok(Some(timing)) if !timing.kept => format!(
                        "{label}: done, flagged: the emulator was {:.2} ms late (p99)",
                        timing.lateness_p99_ns as f64 / 1e6
                    ),
                    Ok(_) => format!("{label}: done"),
                    Err(failed) => format!("{label}: failed: {}", failed.error),
                };
                if self.plain {
                    eprintln!("{line}");
                } else if !matches!(result, Ok(timing) if timing.is_none_or(|t| t.kept)) {
                    self.bar.println(line);
                }
            }
        }
        self.update();
    }

    fn update(&self) {
        let done = self.done.borrow();
        let total = self.full * done.len() as f64;
        let sum: f64 = done.iter().sum();
        let ended = done.iter().filter(|d| **d >= self.full).count();
        // Neither less than the slowest run under way, nor than the work left for each lane.
        let longest = done.iter().map(|d| self.full - d).fold(0.0, f64::max);
        let left = longest.max((total - sum) / self.wide as f64);
        self.bar
            .set_position((1000.0 * sum / total.max(1.0)) as u64);
        self.bar
            .set_message(format!("{ended} of {} runs, {left:.0} s left", done.len()));
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
