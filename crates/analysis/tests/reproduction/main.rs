//! Does each kind of criterion hold when it should, fail when it should, and stay open when it must?

mod made_up;

use made_up::{Study, exact, stalled};
use walkabout_analysis::reproduction::{Finding, Judged, Reproduced, Verdict, judge};

/// Judges one criterion of the kind `test` on the metric `delay-max-up`.
fn one(study: &Study, test: &str) -> Judged {
    let Reproduced { mut criteria, .. } = all(study, &[test]);
    assert_eq!(criteria.len(), 1);
    criteria.remove(0)
}

fn all(study: &Study, tests: &[&str]) -> Reproduced {
    let criteria: String = tests
        .iter()
        .map(|test| {
            format!(
                "[[criterion]]\nsays = \"so\"\nmetric = \"delay-max-up\"\n[criterion.test.{test}\n"
            )
        })
        .collect();
    reproduced(study, &criteria)
}

fn reproduced(study: &Study, rest: &str) -> Reproduced {
    let text = format!(
        "id = \"X1\"\ntitle = \"It is so\"\nsource = \"A paper\"\nclaim = \"It is so.\"\n{rest}"
    );
    let document = model::reproduction::Document::parse(&text, "x1.paper.toml");
    let document = document.unwrap_or_else(|error| panic!("{error}\n{text}"));
    judge(&study.made(), document.reproduction())
}

#[track_caller]
fn found(judged: &Judged, finding: Finding, words: &str) {
    assert_eq!(judged.finding, finding, "{judged:?}");
    assert!(judged.found.contains(words), "{judged:?}");
}

const RATIO: &str = "ratio]\nof = { arm = \"a\" }\nto = { arm = \"b\" }\nwithin = [0.4, 0.65]";

#[test]
fn a_ratio() {
    let of = |a: f64| {
        Study::of(&["a", "b"], move |arm, _, _| {
            exact(if arm == "a" { a } else { 2.0 })
        })
    };
    let half = one(&of(1.0), RATIO);
    found(&half, Finding::Met, "0.50 = 1.00 s / 2.00 s");
    assert_eq!(half.expected, "0.40 to 0.65");
    found(&one(&of(1.4), RATIO), Finding::Missed, "0.70");
    found(&one(&of(0.7), RATIO), Finding::Missed, "0.35");
    // Above the line only a bound is known, and it is below the upper end.
    let open = Study::of(&["a", "b"], |arm, _, _| match arm {
        "a" => stalled(1.0),
        _ => exact(2.0),
    });
    found(&one(&open, RATIO), Finding::Open, ">=0.50");
    let beyond = Study::of(&["a", "b"], |arm, _, _| match arm {
        "a" => stalled(3.0),
        _ => exact(2.0),
    });
    found(&one(&beyond, RATIO), Finding::Missed, ">=1.50");
    let of_nothing = Study::of(&["a", "b"], |arm, _, _| {
        exact(if arm == "a" { 1.0 } else { 0.0 })
    });
    found(&one(&of_nothing, RATIO), Finding::Missed, "1.00 s / 0 ms");
}

#[test]
fn what_is_missing_leaves_it_open() {
    let failing = Study::of(&["a", "b"], |arm, _, seed| match (arm, seed) {
        ("a", 3) => None,
        _ => exact(1.0),
    });
    found(&one(&failing, RATIO), Finding::Open, "3 of 30 runs failed");
    let mut few = Study::of(&["a", "b"], |_, _, _| exact(1.0));
    few.seeds = 1;
    found(&one(&few, RATIO), Finding::Open, "3 runs, 5 are needed");
    let other = Study::of(&["c"], |_, _, _| exact(1.0));
    found(&one(&other, RATIO), Finding::Open, "0 runs");
}

#[test]
fn a_range() {
    let range = "range]\nof = { arm = \"a\", at = { loss = \"40 %\" } }\nwithin = [0.5, inf]";
    let of = |value: f64| {
        Study::of(&["a"], move |_, loss, _| {
            exact(if loss == "40 %" { value } else { 9.0 })
        })
    };
    let met = one(&of(0.5), range);
    found(&met, Finding::Met, "500 ms");
    assert_eq!(met.expected, "at least 500 ms");
    found(&one(&of(0.4), range), Finding::Missed, "400 ms");
    let stalls = Study::of(&["a"], |_, _, _| stalled(0.1));
    found(&one(&stalls, range), Finding::Open, ">=100 ms");
}

#[test]
fn a_share() {
    let share =
        "share]\nof = { arm = \"a\", at = { loss = \"5 %\" } }\nat_most = 1.0\nwithin = [0.5, 0.8]";
    let of = |below: u64| {
        Study::of(&["a"], move |_, _, seed| {
            exact(if seed <= below { 1.0 } else { 2.0 })
        })
    };
    found(&one(&of(8), share), Finding::Met, "8 of 10 runs");
    found(&one(&of(9), share), Finding::Missed, "9 of 10 runs");
    found(&one(&of(4), share), Finding::Missed, "4 of 10 runs");
    // A lower bound below it may be anywhere; one beyond it is beyond it.
    let perhaps = Study::of(&["a"], |_, _, seed| match seed {
        1..=4 => exact(1.0),
        5..=6 => stalled(0.5),
        _ => stalled(2.0),
    });
    found(&one(&perhaps, share), Finding::Open, "4 to 6 of 10 runs");
}

#[test]
fn monotone() {
    let rises = "monotone]\nof = { arm = \"a\" }\nalong = \"loss\"\ndirection = \"rises\"";
    let falls = rises.replace("rises", "falls");
    let slack = format!("{rises}\nslack = 0.1");
    let of = |values: [f64; 3]| {
        Study::of(&["a"], move |_, loss, _| {
            exact(
                values[["5 %", "10 %", "40 %"]
                    .iter()
                    .position(|l| *l == loss)
                    .expect("a value")],
            )
        })
    };
    let up = of([1.0, 2.0, 3.0]);
    // In the order of their sizes, not of the study.
    found(
        &one(&up, rises),
        Finding::Met,
        "5 %: 1.00 s, 10 %: 2.00 s, 40 %: 3.00 s",
    );
    found(&one(&up, &falls), Finding::Missed, "");
    found(&one(&of([3.0, 2.0, 1.0]), &falls), Finding::Met, "");
    found(
        &one(&of([1.0, 0.95, 3.0]), rises),
        Finding::Missed,
        "950 ms",
    );
    found(&one(&of([1.0, 0.95, 3.0]), &slack), Finding::Met, "");
    found(&one(&of([1.0, 0.85, 3.0]), &slack), Finding::Missed, "");
    // Flat, or back where it began, is neither.
    found(&one(&of([1.0, 1.0, 1.0]), rises), Finding::Missed, "");
    found(&one(&of([1.0, 1.0, 0.95]), &slack), Finding::Missed, "");
    let stalls = Study::of(&["a"], |_, loss, _| match loss {
        "10 %" => stalled(2.0),
        "40 %" => exact(3.0),
        _ => exact(1.0),
    });
    found(&one(&stalls, rises), Finding::Open, "10 %: >=2.00 s");
}

#[test]
fn an_order() {
    let order = "order]\nleast_first = [{ arm = \"a\" }, { arm = \"b\" }]\nalong = \"loss\"";
    let only = format!("{order}\nonly = [\"5 %\", \"10 %\"]");
    let slack = format!("{order}\nslack = 0.05");
    let of = |b_at_40: f64| {
        Study::of(&["a", "b"], move |arm, loss, _| match (arm, loss) {
            ("a", _) => exact(1.0),
            (_, "40 %") => exact(b_at_40),
            _ => exact(2.0),
        })
    };
    let met = one(&of(1.5), order);
    found(&met, Finding::Met, "40 %: 1.00 s, 1.50 s");
    assert_eq!(met.expected, "a <= b");
    found(
        &one(&of(0.96), order),
        Finding::Missed,
        "40 %: 1.00 s, 960 ms",
    );
    found(&one(&of(0.96), &only), Finding::Met, "5 %: 1.00 s, 2.00 s");
    found(&one(&of(0.96), &slack), Finding::Met, "");
    found(&one(&of(0.94), &slack), Finding::Missed, "");
    // Without a parameter all cases are one.
    let pooled = order.replace("\nalong = \"loss\"", "");
    found(&one(&of(0.96), &pooled), Finding::Met, "1.00 s, 2.00 s");
}

#[test]
fn a_factor() {
    let of = |at_5: f64, at_40: f64| {
        Study::of(&["a"], move |_, loss, _| match loss {
            "5 %" => exact(at_5),
            "40 %" => exact(at_40),
            _ => exact(100.0), // the paper has no number there
        })
    };
    let rest = r#"
[[figure]]
title = "Delays"
metric = "delay-max-up"
along = "loss"
[[figure.curve]]
name = "the curve"
of = { arm = "a" }
values = { "5 %" = 1.0, "40 %" = 2.0 }
[[criterion]]
says = "so"
metric = "delay-max-up"
[criterion.test.factor]
curve = "the curve"
most = 1.5
"#;
    let judged = |study: &Study| reproduced(study, rest).criteria.remove(0);
    let met = judged(&of(1.5, 1.4));
    found(
        &met,
        Finding::Met,
        "5 %: 1.50 s against 1.00 s, 40 %: 1.40 s against 2.00 s",
    );
    found(&judged(&of(1.6, 2.0)), Finding::Missed, "1.60 s");
    found(&judged(&of(1.0, 1.3)), Finding::Missed, "1.30 s");
    let figures = reproduced(&of(1.5, 1.4), rest).figures;
    let figure = &figures[0];
    assert_eq!(figure.ticks, ["5 %", "10 %", "40 %"]);
    let curve = &figure.curves[0];
    let ours: Vec<_> = curve.ours.iter().map(|p| (p.at, p.value, p.runs)).collect();
    assert_eq!(ours, [(0, 1.5, 10), (1, 100.0, 10), (2, 1.4, 10)]);
    let paper: Vec<_> = curve.paper.iter().map(|p| (p.at, p.value)).collect();
    assert_eq!(paper, [(0, 1.0), (2, 2.0)]);
}

#[test]
fn a_gain() {
    let gain = "gain]\nof = { arm = \"a\" }\nagainst = { arm = \"b\" }\nper = \"rtt\"\nwithin = [1.5, 2.5]";
    let of = |multiple: f64| {
        let mut study = Study::of(&["a", "b"], move |arm, rtt, seed| {
            let size = if rtt == "20 ms" { 0.020 } else { 0.100 };
            // What a seed brings is the same in both.
            let own = if arm == "b" { multiple * size } else { 0.0 };
            exact(own + seed as f64)
        });
        study.parameter = ("rtt", &["100 ms", "20 ms"]);
        study
    };
    found(
        &one(&of(2.0), gain),
        Finding::Met,
        "20 ms: 2.00, 100 ms: 2.00",
    );
    found(&one(&of(1.0), gain), Finding::Missed, "1.00");
    let mut stalls = Study::of(&["a", "b"], |_, _, _| stalled(1.0));
    stalls.parameter = ("rtt", &["100 ms", "20 ms"]);
    found(
        &one(&stalls, gain),
        Finding::Open,
        "0 pairs without a stall",
    );
    let mut words = of(2.0);
    words.parameter = ("rtt", &["short", "long"]);
    found(&one(&words, gain), Finding::Open, "is no quantity");
}

#[test]
fn the_verdict_is_that_of_the_worst() {
    let study = Study::of(&["a", "b"], |arm, _, _| {
        exact(if arm == "a" { 1.0 } else { 2.0 })
    });
    let missed = RATIO.replace("0.65", "0.45");
    let open = RATIO.replace("\"b\"", "\"c\"");
    let verdict = |tests: &[&str]| all(&study, tests).verdict;
    assert_eq!(verdict(&[RATIO, RATIO]), Verdict::Reproduced);
    assert_eq!(verdict(&[RATIO, &open]), Verdict::NotDecidable);
    assert_eq!(verdict(&[&open, &missed]), Verdict::NotReproduced);
    // What is asked for in another world only is not asked here.
    let elsewhere =
        "[[criterion]]\nsays = \"so\"\nmetric = \"delay-max-up\"\nworld = \"emulated\"\n";
    let rest = format!("{elsewhere}[criterion.test.{RATIO}\n");
    let none = reproduced(&study, &rest);
    assert!(none.criteria.is_empty());
    assert_eq!(none.verdict, Verdict::NotDecidable);
}

#[test]
fn points_have_quartiles_and_single_ones_a_tick_of_their_own() {
    let study = Study::of(&["a", "b"], |arm, _, seed| match (arm, seed) {
        ("b", 8..) => stalled(8.0),
        _ => exact(seed as f64),
    });
    let rest = r#"
[[figure]]
title = "Delays"
metric = "delay-max-up"
[[figure.curve]]
name = "A"
of = { arm = "a", at = { loss = "5 %" } }
value = 7.0
[[figure.curve]]
name = "B"
of = { arm = "b", at = { loss = "5 %" } }
[[criterion]]
says = "so"
metric = "delay-max-up"
[criterion.test.range]
of = { arm = "a" }
within = [0, inf]
"#;
    let reproduced = reproduced(&study, rest);
    let figure = &reproduced.figures[0];
    assert_eq!(figure.ticks, ["A", "B"]);
    let [a, b] = &figure.curves[..] else {
        panic!("two curves")
    };
    let ours = &a.ours[0];
    assert_eq!((ours.value, ours.low, ours.high), (5.5, 3.25, Some(7.75)));
    assert_eq!((a.paper[0].at, a.paper[0].value), (0, 7.0));
    let ours = &b.ours[0];
    assert_eq!(
        (ours.at, ours.value, ours.high, ours.bound),
        (1, 5.5, None, false)
    );
    assert!(b.paper.is_empty());
}
