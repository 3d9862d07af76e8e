//! How is an agreement written on a terminal?

use super::{Agreement, Arm, Verdict};
use crate::metric::list;
use crate::table::Part;

impl Verdict {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "DIFFERS",
            Verdict::Unknown => "unknown",
        }
    }
}

impl Agreement {
    /// Every arm's delays of messages, a row each.
    pub fn delays(&self) -> Part {
        let ms = |seconds: f64| format!("{:.1}", seconds * 1e3);
        let rows = self.arms.iter().map(|arm| {
            let mut row = vec![arm.label(), arm.runs()];
            match &arm.delay {
                None => row.extend(std::iter::repeat_n("-".to_owned(), 6)),
                Some(delay) => {
                    for p in [0.5, 0.75, 0.95, 0.99] {
                        let quantile = delay.quantiles.iter().find(|q| q.p == p);
                        row.push(quantile.map_or_else(String::new, |q| {
                            format!("{} / {}", ms(q.virtual_s), ms(q.emulated_s))
                        }));
                    }
                    row.push(format!("{:.3}", delay.distance));
                    row.push(format!("{:.3}", delay.plain_distance));
                }
            }
            row.push(arm.verdict.words().to_owned());
            row
        });
        let head = [
            "virtual / emulated",
            "runs",
            "delay\nP50\n[ms]",
            "delay\nP75\n[ms]",
            "delay\nP95\n[ms]",
            "delay\nP99\n[ms]",
            "KS\ndistance",
            "KS\n(plain)",
            "verdict",
        ];
        Part {
            head: head.map(str::to_owned).to_vec(),
            is_number: vec![false, false, true, true, true, true, true, true, false],
            rows: rows.collect(),
        }
    }
}

impl Arm {
    /// `blackhole mpquic backup`.
    pub fn label(&self) -> String {
        format!("{} {} {}", self.scenario, self.transport, self.policy)
    }

    /// Its label, and whose stacks it compares: `blackhole mptcp backup: walkabout's, cubic, against
    /// linux's, bbr`.
    pub fn heading(&self) -> String {
        let (label, a, b) = (self.label(), &self.virtual_stack, &self.emulated_stack);
        format!("{label}: {a}, against {b}")
    }

    fn runs(&self) -> String {
        let mut text = format!("{} / {}", self.virtual_runs, self.emulated_runs);
        if self.left_out > 0 {
            text.push_str(&format!(" ({} late)", self.left_out));
        }
        text
    }

    /// Every metric, a row each.
    pub fn metrics(&self) -> Part {
        let rows = self.metrics.iter().map(|metric| {
            let heading = list::find(metric.name).map_or(metric.name, |m| m.heading);
            let number = |value: Option<f64>, decimals: usize| {
                value.map_or("-".to_owned(), |v| format!("{v:.decimals$}"))
            };
            vec![
                match metric.unit.symbol() {
                    "1" | "word" => heading.to_owned(),
                    symbol => format!("{heading} [{symbol}]"),
                },
                metric.in_virtual.plain(self.virtual_runs),
                metric.in_emulated.plain(self.emulated_runs),
                number(metric.difference, 4),
                number(metric.distance, 3),
            ]
        });
        let head = ["metric", "virtual", "emulated", "difference", "KS distance"];
        Part {
            head: head.map(str::to_owned).to_vec(),
            is_number: vec![false, true, true, true, true],
            rows: rows.collect(),
        }
    }
}
