//! How far a study is and how long it takes still: a bar on a terminal, a line now and then
//! elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const LINE_GAP: Duration = Duration::from_secs(10);

/// Before this there is nothing to extrapolate from.
const FIRST_ESTIMATE: Duration = Duration::from_millis(500);

/// The bar or the lines.
pub struct Watch {
    bar: ProgressBar,
    plain: bool,
    total: usize,
    before: usize,
    done: usize,
    failed: usize,
    start: Instant,
    line: Instant,
}

impl Watch {
    /// Over `total` runs, of which some were done `before`; nothing is shown under `--json` but a
    /// bar.
    pub fn new(total: usize, before: usize, json: bool) -> Watch {
        let terminal = std::io::stderr().is_terminal();
        let target = match terminal {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:32} {percent:>3} %  {msg}") {
            bar.set_style(style);
        }
        let now = Instant::now();
        let watch = Watch {
            bar,
            plain: !terminal && !json,
            total,
            before,
            done: before,
            failed: 0,
            start: now,
            line: now,
        };
        watch.update();
        watch
    }

    /// A run ended.
    pub fn ended(&mut self, failed: bool) {
        self.done += 1;
        self.failed += usize::from(failed);
        self.tick();
    }

    /// Time goes by.
    pub fn tick(&mut self) {
        self.update();
        if self.plain && self.line.elapsed() >= LINE_GAP {
            self.line = Instant::now();
            eprintln!("{}", self.words());
        }
    }

    fn update(&self) {
        self.bar.set_position(self.done as u64);
        self.bar.set_message(self.words());
    }

    /// `340 of 2500 runs, 2 failed, 12 s left`
    fn words(&self) -> String {
        let mut words = format!("{} of {} runs", self.done, self.total);
        if self.failed > 0 {
            words.push_str(&format!(", {} failed", self.failed));
        }
        let (elapsed, new) = (self.start.elapsed(), self.done - self.before);
        if new > 0 && elapsed >= FIRST_ESTIMATE {
            // Cases and arms are mixed, so that those to come take as long as those that were.
            let each = elapsed.as_secs_f64() / new as f64;
            let left = each * (self.total - self.done) as f64;
            words.push_str(&format!(", {} left", duration(left)));
        }
        words
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// `12 s`, `3 min`, `5 h 20 min`.
pub fn duration(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round();
    match seconds {
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ if minutes < 120.0 => format!("{minutes:.0} min"),
        _ => format!(
            "{:.0} h {:.0} min",
            (minutes / 60.0).floor(),
            minutes % 60.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_rounded_to_what_one_can_plan_with() {
        let cases = [
            (0.2, "0 s"),
            (119.0, "119 s"),
            (150.0, "3 min"),
            (19_200.0, "5 h 20 min"),
        ];
        for (seconds, words) in cases {
            assert_eq!(duration(seconds), words);
        }
    }
}
