//! What does someone who walks want to see at a glance? Which path carries the data, how long messages
//! take, since when one waits, what the policy did and why. Words and symbols say it; colour only helps.

use super::bars::{bars, words};
use super::board::{Board, RunState};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// A wait that is shown as a stall.
const STALL_US: u64 = 500_000;
/// Lines that the bars of the delays take at most.
const TALLEST: usize = 4;

/// How it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether colours are used (`NO_COLOR` is not set).
    pub colour: bool,
}

impl Look {
    /// As the environment asks for (no-color.org).
    pub fn of_environment() -> Look {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Look { colour: !no_colour }
    }

    fn style(self, colour: Color, modifier: Modifier) -> Style {
        let style = Style::new().add_modifier(modifier);
        match self.colour {
            true => style.fg(colour),
            false => style,
        }
    }

    fn quiet(self) -> Style {
        self.style(Color::DarkGray, Modifier::empty())
    }
}

/// Draws the board.
pub fn draw(frame: &mut Frame<'_>, board: &Board, look: Look) {
    let area = frame.area();
    let [head, signal, runs, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(!board.signal.is_empty())),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(
        Paragraph::new(Line::styled(board.heading.as_str(), bold)),
        head,
    );
    if !board.signal.is_empty() {
        frame.render_widget(
            Paragraph::new(signal_line(board, signal.width, look)),
            signal,
        );
    }
    draw_runs(frame, board, runs, look);
    let foot_line = "Ctrl-C ends the test; what was measured is kept";
    frame.render_widget(Paragraph::new(Line::styled(foot_line, look.quiet())), foot);
}

/// The runs under way in equal shares; when none is, the last one.
fn draw_runs(frame: &mut Frame<'_>, board: &Board, area: Rect, look: Look) {
    let mut shown: Vec<&RunState> = board.under_way().collect();
    if shown.is_empty() {
        shown.extend(board.runs.last());
    }
    let rows = area.height as usize;
    let fit = (rows / 3).max(1);
    let hidden = shown.len().saturating_sub(fit);
    if hidden > 0 {
        shown.truncate(((rows.saturating_sub(1)) / 3).max(1));
    }
    let share = (rows.saturating_sub(usize::from(hidden > 0)) / shown.len().max(1)).clamp(1, 12);
    let mut y = area.y;
    let count = shown.len();
    for run in shown {
        let height = (share as u16).min(area.bottom().saturating_sub(y));
        let place = Rect { y, height, ..area };
        let lines = run_lines(run, area.width as usize, share, look);
        frame.render_widget(Paragraph::new(lines), place);
        y += height;
    }
    let all = board.under_way().count();
    if all > count && y < area.bottom() {
        let more = format!(
            "and {} more, for which this terminal is too small",
            all - count
        );
        let place = Rect {
            y,
            height: 1,
            ..area
        };
        frame.render_widget(Paragraph::new(Line::styled(more, look.quiet())), place);
    }
}

/// A run in at most `rows` lines: three say the most; more room is for taller bars, the whole cause, and
/// the totals.
fn run_lines(run: &RunState, width: usize, rows: usize, look: Look) -> Vec<Line<'static>> {
    let decided = decision_lines(run, width, rows, look);
    let totals = (rows >= 5).then(|| {
        let longest = words(run.longest_us);
        Line::raw(format!("  {} answered, longest {longest}", run.answered))
    });
    let gone = (rows >= 4 && !run.gone.is_empty())
        .then(|| Line::raw(format!("  gone: {}", run.gone.join(", "))));
    // The head, and a blank line that keeps runs apart.
    let taken = 2 + decided.len() + usize::from(totals.is_some()) + usize::from(gone.is_some());
    let tall = rows.saturating_sub(taken).clamp(1, TALLEST);
    let mut lines = vec![state_line(run, width, look)];
    lines.extend(delay_lines(run, width, tall, look));
    lines.extend(totals);
    lines.extend(decided);
    lines.extend(gone);
    lines.truncate(rows);
    lines
}

/// `mptcp-backup  0:23  on wifi  28 ms`, or since when it waits.
fn state_line(run: &RunState, width: usize, look: Look) -> Line<'static> {
    let seconds = run.time_us / 1_000_000;
    let path = match (&run.ended, &run.path) {
        (Some(why), _) => Span::raw(format!("ended: {why}")),
        // Where it goes instead shows with the next samples.
        (None, Some(path)) if run.gone.contains(path) => Span::raw(format!("was on {path}")),
        (None, Some(path)) => {
            let colour = match path.as_str() {
                path if path.starts_with("cellular") => Color::Magenta,
                _ => Color::Cyan,
            };
            Span::styled(format!("on {path}"), look.style(colour, Modifier::BOLD))
        }
        (None, None) => Span::styled("connecting", look.quiet()),
    };
    let delay = match (run.waiting_us, run.delays_us.back()) {
        (Some(waiting), _) if waiting >= STALL_US => Span::styled(
            format!("! WAITING {} !", words(waiting)),
            look.style(Color::Red, Modifier::BOLD | Modifier::REVERSED),
        ),
        (Some(waiting), _) => Span::raw(format!("waiting {}", words(waiting))),
        (None, Some(last)) => Span::raw(words(*last)),
        (None, None) => Span::raw(""),
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let label = width.saturating_sub(36).clamp(12, 30);
    let name: String = run.name.chars().take(label).collect();
    Line::from(vec![
        Span::styled(format!("{name:label$} "), bold),
        Span::raw(format!("{:>2}:{:02}  ", seconds / 60, seconds % 60)),
        path,
        Span::raw("  "),
        delay,
    ])
}

/// The delays of the last messages as bars, and the scale they stand on.
fn delay_lines(run: &RunState, width: usize, tall: usize, look: Look) -> Vec<Line<'static>> {
    if run.delays_us.is_empty() {
        return vec![Line::styled("  no message answered yet", look.quiet())];
    }
    let room = width.saturating_sub(20).max(10);
    let skipped = run.delays_us.len().saturating_sub(room);
    let last: Vec<f64> = run
        .delays_us
        .iter()
        .skip(skipped)
        .map(|us| *us as f64)
        .collect();
    let highest = last.iter().copied().fold(0.0, f64::max);
    let colour = match highest >= STALL_US as f64 {
        true => Color::Red,
        false => Color::Green,
    };
    let step = highest / tall as f64;
    let row = |above: usize| {
        // The part of each bar that is between `above` and `above + 1` steps.
        let low = above as f64 * step;
        let drawn: String = last
            .iter()
            .map(|value| match *value {
                value if above > 0 && value <= low => " ".to_owned(),
                value => bars([value], low, low + step),
            })
            .collect();
        let scale = match above {
            _ if tall == 1 => format!(" 0 to {}", words(highest as u64)),
            0 => " 0".to_owned(),
            top if top + 1 == tall => format!(" {}", words(highest as u64)),
            _ => String::new(),
        };
        Line::from(vec![
            Span::raw("  "),
            Span::styled(drawn, look.style(colour, Modifier::empty())),
            Span::styled(scale, look.quiet()),
        ])
    };
    (0..tall).rev().map(row).collect()
}

/// What the policy did, and why; with little room in one line.
fn decision_lines(run: &RunState, width: usize, rows: usize, look: Look) -> Vec<Line<'static>> {
    let Some(decision) = &run.decision else {
        return vec![Line::styled("  the policy has not acted", look.quiet())];
    };
    let seconds = decision.time_us / 1_000_000;
    let what = format!("  > {} {}", decision.action, decision.path);
    let when = format!(" at {}:{:02}", seconds / 60, seconds % 60);
    let style = look.style(Color::Yellow, Modifier::BOLD);
    let short = what.len() + when.len() + 2 + decision.cause.len() <= width;
    if short || rows < 4 {
        let why = format!("{when}: {}", decision.cause);
        return vec![Line::from(vec![Span::styled(what, style), Span::raw(why)])];
    }
    let head = Line::from(vec![Span::styled(what, style), Span::raw(when)]);
    vec![head, Line::raw(format!("    {}", decision.cause))]
}

/// The Wi-Fi's signal over time, and what it is now.
fn signal_line(board: &Board, width: u16, look: Look) -> Line<'static> {
    let Some((_, now)) = board.signal.back() else {
        return Line::default();
    };
    let path = board.signal_path.as_ref().map_or("wifi", |p| p.as_str());
    let text = format!("signal of {path} {now:.0} dBm ");
    let room = usize::from(width).saturating_sub(text.len() + 1).min(40);
    let skipped = board.signal.len().saturating_sub(room);
    let last = board.signal.iter().skip(skipped).map(|(_, dbm)| *dbm);
    // What receivers make of it: nothing below -90 dBm, all they can above -40 dBm.
    let drawn = bars(last, -90.0, -40.0);
    let strength = match *now {
        dbm if dbm < -80.0 => " weak",
        _ => "",
    };
    Line::from(vec![
        Span::raw(text),
        Span::styled(drawn, look.style(Color::Blue, Modifier::empty())),
        Span::raw(strength),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::test::board::Decision;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn run(name: &str, path: &str) -> RunState {
        RunState {
            label: name.to_owned(),
            name: name.to_owned(),
            time_us: 83_400_000,
            path: Some(path.to_owned()),
            delays_us: (0..60).map(|n| 20_000 + (n % 7) * 3_000).collect(),
            longest_us: 38_000,
            answered: 1_660,
            ..RunState::default()
        }
    }

    fn board(runs: Vec<RunState>) -> Board {
        Board {
            runs,
            heading: "mobile, server near over IPv4:443".to_owned(),
            signal: (0..50u32)
                .map(|n| (0, -44.0 - f64::from(n) * 0.8))
                .collect(),
            signal_path: Some("wifi".into()),
        }
    }

    fn stalled() -> RunState {
        let mut run = run("mpquic-backup", "wifi");
        run.delays_us.push_back(912_000);
        run.waiting_us = Some(1_340_000);
        run.gone = vec!["wlan".to_owned()];
        run.decision = Some(Decision {
            time_us: 82_100_000,
            action: "open".into(),
            path: "cellular".into(),
            cause: "wifi silent for 320 ms (PTO 290 ms)".into(),
        });
        run
    }

    fn drawn(board: &Board, width: u16, height: u16, look: Look) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("in memory");
        terminal
            .draw(|frame| draw(frame, board, look))
            .expect("in memory");
        terminal.backend().to_string()
    }

    const PLAIN: Look = Look { colour: false };

    #[test]
    fn one_run() {
        let stable = Board {
            signal: Default::default(),
            ..board(vec![run("quic-interactive", "wifi")])
        };
        insta::assert_snapshot!(drawn(&stable, 60, 20, PLAIN));
    }

    #[test]
    fn all_at_once_with_a_stall() {
        let mobile = board(vec![run("mptcp-backup", "cellular"), stalled()]);
        insta::assert_snapshot!(drawn(&mobile, 60, 20, PLAIN));
    }

    #[test]
    fn more_than_fit() {
        let many = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| run(name, "wifi"));
        insta::assert_snapshot!(drawn(&board(many.into()), 60, 20, PLAIN));
    }

    #[test]
    fn before_anything_is_known_and_after_the_end() {
        let mut first = Board::default();
        first.start("tcp", "tcp-ping");
        let mut last = run("tcp-ping", "wifi");
        last.ended = Some("done".into());
        let both = [
            drawn(&first, 60, 8, PLAIN),
            drawn(&board(vec![last]), 60, 8, PLAIN),
        ];
        insta::assert_snapshot!(both.join("\n"));
    }

    #[test]
    fn colour_says_nothing_that_words_do_not() {
        let mobile = board(vec![run("mptcp-backup", "cellular"), stalled()]);
        let colourful = drawn(&mobile, 60, 20, Look { colour: true });
        assert_eq!(colourful, drawn(&mobile, 60, 20, PLAIN));
        let mut terminal = Terminal::new(TestBackend::new(60, 20)).expect("in memory");
        terminal
            .draw(|frame| draw(frame, &mobile, PLAIN))
            .expect("in memory");
        let cells = terminal.backend().buffer().content();
        assert!(
            cells
                .iter()
                .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
        );
    }

    #[test]
    fn a_path_that_is_gone_is_not_said_to_be_in_use() {
        let mut left = stalled();
        left.gone = vec!["wifi".to_owned()];
        let shown = drawn(&board(vec![left]), 60, 20, PLAIN);
        assert!(
            shown.contains("was on wifi") && shown.contains("gone: wifi"),
            "{shown}"
        );
    }

    #[test]
    fn any_size_is_drawn() {
        let mobile = board(vec![run("mptcp-backup", "cellular"), stalled()]);
        for (width, height) in [(1, 1), (5, 3), (20, 5), (60, 2), (250, 80)] {
            drawn(&mobile, width, height, Look { colour: true });
        }
    }
}
