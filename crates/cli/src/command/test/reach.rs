//! What does a walk say of the access point's reach? How long it carried the data, and how its signal
//! fell (MultipathTester, section II-B, presents the walk this way).

use super::bars::bars;
use super::board::Board;
use model::live::Ended;
use serde::Serialize;

/// An ordinary walk: the median of pedestrians, about 1.4 m/s (Bohannon 1997, comfortable gait).
const WALK_M_PER_S: f64 = 1.4;
/// How many values of the signal are shown.
const SHOWN: usize = 24;

/// The estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// How long the Wi-Fi was there.
    pub seconds: f64,
    /// Whether it was lost, so that this is its reach and not only a lower bound of it.
    pub reached_its_end: bool,
    /// How far one walks in this time; an upper bound of the distance, as nobody walks straight.
    pub walked_m: f64,
    /// The signal over time: seconds, dBm. Empty where the interface does not tell.
    pub signal: Vec<(f64, f64)>,
}

impl Reach {
    /// Of a walk whose runs ended for these reasons; `wifi` is the path.
    pub fn of(board: &Board, wifi: &str, ended: &[Ended]) -> Option<Reach> {
        let longest = board.runs.iter().map(|run| run.time_us).max()?;
        let losses = board.runs.iter().flat_map(|run| &run.losses);
        let lost_us = losses
            .filter(|(path, _)| path == wifi)
            .map(|(_, time)| *time);
        let lost = |e: &Ended| matches!(e, Ended::WifiLost | Ended::WifiChanged);
        let us = match ended.iter().any(lost) {
            // The last loss: a flap that was survived was none. The runs go on for a while after it.
            true => lost_us.max().unwrap_or(longest),
            false => longest,
        };
        let seconds = us as f64 / 1e6;
        let every = board.signal.len().div_ceil(SHOWN).max(1);
        let chunks: Vec<&(u64, f64)> = board.signal.iter().collect();
        let signal = chunks.chunks(every).map(|some| {
            let mean = some.iter().map(|(_, dbm)| dbm).sum::<f64>() / some.len() as f64;
            let dbm = (mean * 10.0).round() / 10.0;
            (some[0].0 as f64 / 1e6, dbm)
        });
        Some(Reach {
            seconds,
            reached_its_end: ended.iter().any(lost),
            walked_m: (seconds * WALK_M_PER_S).round(),
            signal: signal.collect(),
        })
    }

    /// In words, a line each.
    pub fn lines(&self) -> Vec<String> {
        let Reach {
            seconds,
            reached_its_end,
            walked_m,
            signal,
        } = self;
        let mut lines = vec![match reached_its_end {
            true => format!(
                "The Wi-Fi reached {seconds:.0} s of your walk: at most about {walked_m:.0} m at an ordinary \
                 pace."
            ),
            false => format!(
                "The Wi-Fi was still there after {seconds:.0} s (about {walked_m:.0} m at an ordinary pace): \
                 its reach is at least as far as you went."
            ),
        }];
        let dbm = signal.iter().map(|(_, dbm)| *dbm);
        let lowest = dbm.clone().fold(f64::INFINITY, f64::min);
        let highest = dbm.clone().fold(f64::NEG_INFINITY, f64::max);
        if let (Some((_, first)), Some((_, last))) = (signal.first(), signal.last()) {
            lines.push(format!(
                "Its signal over the walk: {} from {first:.0} to {last:.0} dBm (lowest {lowest:.0}, highest \
                 {highest:.0})",
                bars(dbm, -90.0, -40.0)
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_an_estimate_of_the_reach() {
        let mut board = Board::default();
        assert_eq!(Reach::of(&board, "wifi", &[]), None);
        board.start("mptcp", "mptcp");
        board.runs[0].time_us = 90_500_000;
        board.runs[0].losses = vec![("wifi".into(), 40_000_000), ("wifi".into(), 87_000_000)];
        board.signal = (0..870u32)
            .map(|n| (u64::from(n) * 100_000, -44.0 - f64::from(n) * 0.045))
            .collect();
        let reach = Reach::of(&board, "wifi", &[Ended::WifiLost]).expect("a walk");
        assert_eq!(
            (reach.seconds, reach.walked_m, reach.signal.len()),
            (87.0, 122.0, 24)
        );
        insta::assert_snapshot!(reach.lines().join("\n"), @r"
        The Wi-Fi reached 87 s of your walk: at most about 122 m at an ordinary pace.
        Its signal over the walk: █▇▇▇▇▆▆▆▆▅▅▅▅▄▄▄▃▃▃▃▂▂▂▂ from -45 to -83 dBm (lowest -83, highest -45)
        ");
        board.signal.clear();
        let reach = Reach::of(&board, "wifi", &[Ended::Stopped]).expect("a walk");
        assert_eq!(reach.lines().len(), 1);
        assert!(reach.lines()[0].contains("at least as far as you went"));
    }
}
