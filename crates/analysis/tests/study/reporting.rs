//! Is the report of a study with known effects what those effects are?

use crate::synthetic::{METRIC, exact, luck, stalled, study};
use walkabout_analysis::metric::Observed;
use walkabout_analysis::study::report::{Comparison, CurveKind};
use walkabout_analysis::study::{Bound, Study, StudyReport, Verdict};

const ARMS: &[&str] = &["quic", "mpquic-backup", "mpquic-fullmesh"];

/// Of `quic`, with luck of its own in every block.
fn delay(arm: &str, seed: u64) -> f64 {
    0.8 * luck("block", seed, 0.4) * luck(arm, seed, 0.2)
}

/// An effect in each scenario.
fn effect(scenario: &str, arm: &str, seed: u64) -> Option<Observed> {
    let of = |factor: f64| exact(factor * delay(arm, seed));
    match (scenario, arm) {
        ("blackhole", "quic") => stalled(20.0 + delay(arm, seed)),
        ("blackhole", "mpquic-backup") => of(1.0),
        ("blackhole", _) if seed.is_multiple_of(4) => stalled(20.0),
        ("blackhole", _) => of(0.5),
        ("link-down", "mpquic-backup") => of(0.5),
        ("link-down", "mpquic-fullmesh") => of(2.5),
        ("steady", "mpquic-fullmesh") => exact(delay("quic", seed)),
        ("steady", "mpquic-backup") => exact(0.98 * delay("quic", seed)),
        _ => of(1.0),
    }
}

fn report() -> StudyReport {
    let scenarios = ["blackhole", "link-down", "steady", "walk"];
    StudyReport::of(&study(&scenarios, ARMS, 100, false, effect))
}

fn comparison<'r>(report: &'r StudyReport, scenario: &str, arm: &str) -> &'r Comparison {
    let found = report
        .comparisons
        .iter()
        .find(|c| report.cases[c.case].scenario == scenario && report.arms[c.arm] == arm);
    found.expect("a comparison")
}

#[test]
fn effects_are_found() {
    let report = report();
    assert_eq!(report.comparisons.len(), 8);
    let of = |scenario, arm| comparison(&report, scenario, arm);

    let lower = of("link-down", "mpquic-backup");
    assert_eq!((lower.verdict, lower.bound), (Verdict::Lower, Bound::Exact));
    assert!(
        lower.low.unwrap() < 0.5 && 0.5 < lower.high.unwrap(),
        "{lower:?}"
    );
    assert!(lower.hl_low.unwrap() < 0.5 && 0.5 < lower.hl_high.unwrap());
    assert!(lower.holm_p.unwrap() < 1e-9 && lower.holm_p >= lower.wilcoxon_p);
    assert_eq!((lower.blocks, lower.pairs_used), (100, 100));

    let higher = of("link-down", "mpquic-fullmesh");
    assert_eq!(higher.verdict, Verdict::Higher);
    assert!(
        higher.sentence.contains("higher by a factor of 2."),
        "{}",
        higher.sentence
    );

    assert_eq!(of("steady", "mpquic-fullmesh").verdict, Verdict::Equivalent);
    assert_eq!(of("steady", "mpquic-fullmesh").ratio, Some(1.0));
    let small = of("steady", "mpquic-backup");
    assert_eq!(
        (small.verdict, small.ratio),
        (Verdict::Equivalent, Some(0.98))
    );
    assert_eq!(
        (small.low, small.high),
        (Some(0.98), Some(0.98)),
        "every block the same"
    );

    for arm in ["mpquic-backup", "mpquic-fullmesh"] {
        let none = of("walk", arm);
        assert!(
            matches!(none.verdict, Verdict::Equivalent | Verdict::NoDifference),
            "{none:?}"
        );
    }
}

#[test]
fn stalls_make_bounds() {
    let report = report();
    let bound = comparison(&report, "blackhole", "mpquic-backup");
    assert_eq!(
        (bound.verdict, bound.bound),
        (Verdict::Lower, Bound::AtMost)
    );
    assert_eq!((bound.censored_arm, bound.censored_baseline), (0, 100));
    assert!(
        bound.sentence.contains("by at least a factor of"),
        "{}",
        bound.sentence
    );

    let open = comparison(&report, "blackhole", "mpquic-fullmesh");
    assert_eq!(
        (open.verdict, open.bound),
        (Verdict::NotEstimable, Bound::Open)
    );
    assert_eq!((open.ratio, open.holm_p), (None, None));
    assert!(
        open.sentence.contains("25 of 100 (25 %"),
        "{}",
        open.sentence
    );
    assert!(open.sentence.contains("shares differ"), "{}", open.sentence);

    let group = &report.groups[0];
    assert_eq!((group.censored, group.median_censored), (100, true));
    assert!(group.median_low.is_some() && group.median_high.is_none());
    for group in &report.groups {
        let kind = match group.case {
            0 => CurveKind::Survival,
            _ => CurveKind::Cdf,
        };
        assert_eq!(group.curve.kind, kind, "one kind in each case");
        assert!(group.curve.x.len() <= 200);
    }
}

#[test]
fn the_same_study_gives_the_same_report() {
    let json = |report: &StudyReport| serde_json::to_string(report).unwrap();
    assert_eq!(json(&report()), json(&report()));
}

#[test]
fn in_words() {
    let report = report();
    let sentences: Vec<&str> = report
        .comparisons
        .iter()
        .map(|comparison| comparison.sentence.as_str())
        .chain(report.conclusion.iter().map(String::as_str))
        .collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn as_text() {
    let text = report().text();
    let part = &text.parts[0];
    let head: Vec<String> = part.head.iter().map(|h| h.replace('\n', " ")).collect();
    let rows = std::iter::once(head.join(" | "));
    let rows = rows.chain(part.rows.iter().map(|row| row.join(" | ")));
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"));
}

#[test]
fn as_json() {
    let small = study(
        &["blackhole"],
        &["quic", "mpquic-backup"],
        12,
        false,
        effect,
    );
    let mut json = serde_json::to_value(StudyReport::of(&small)).unwrap();
    // Another metric is no other report: one stands for all.
    let metrics = json["metrics"].as_array_mut().unwrap();
    metrics.retain(|metric| metric["name"] == METRIC);
    assert_eq!(metrics.len(), 1);
    let values = json["runs"]["values"].as_object_mut().unwrap();
    values.retain(|name, _| name == METRIC);
    assert_eq!(values.len(), 1);
    insta::assert_snapshot!(serde_json::to_string_pretty(&json).unwrap());
}

fn two_arms(seeds: u64, effect: fn(&str, &str, u64) -> Option<Observed>) -> Comparison {
    let study = study(&["walk"], &["quic", "mpquic-backup"], seeds, false, effect);
    StudyReport::of(&study).comparisons[0].clone()
}

#[test]
fn few_blocks_conclude_nothing() {
    let few = two_arms(9, |_, arm, seed| {
        exact(if arm == "quic" {
            10.0
        } else {
            1.0 + seed as f64 / 50.0
        })
    });
    assert_eq!(few.verdict, Verdict::TooFew);
    assert!(
        few.sentence.contains("9 blocks are too few"),
        "{}",
        few.sentence
    );
    assert!(few.ratio.is_some_and(|ratio| ratio < 0.2));
    let none = two_arms(2, |_, arm, _| if arm == "quic" { None } else { exact(1.0) });
    assert_eq!((none.blocks, none.verdict), (0, Verdict::TooFew));
    assert!(
        none.sentence.contains("nothing can be compared"),
        "{}",
        none.sentence
    );
}

#[test]
fn failed_runs_take_their_blocks_out() {
    let some = two_arms(40, |_, arm, seed| match (arm, seed) {
        ("quic", 1..=5) | (_, 4..=8) => None,
        _ => exact(luck(arm, seed, 0.3)),
    });
    assert_eq!((some.blocks, some.pairs_used), (32, 32));
}

#[test]
fn zero_has_no_ratio_but_equals_zero() {
    let equal = two_arms(30, |_, _, _| exact(0.0));
    assert_eq!(
        (equal.verdict, equal.ratio),
        (Verdict::Equivalent, Some(1.0))
    );
    let one = two_arms(30, |_, arm, seed| {
        exact(if arm == "quic" || seed > 1 { 1.0 } else { 0.0 })
    });
    assert_eq!((one.blocks, one.pairs_used), (30, 29));
    assert!(
        one.sentence.contains("same") || one.sentence.contains("left out"),
        "{}",
        one.sentence
    );
    let many = two_arms(30, |_, arm, seed| {
        exact(if arm == "quic" || seed > 9 { 1.0 } else { 0.0 })
    });
    assert_eq!(
        (many.verdict, many.bound),
        (Verdict::NotEstimable, Bound::Open)
    );
    assert!(
        many.sentence.contains("in 9 of 30 blocks"),
        "{}",
        many.sentence
    );
}

#[test]
fn an_unknown_metric_or_baseline_compares_nothing() {
    let mut known = study(&["walk"], &["quic", "mpquic-backup"], 20, false, effect);
    known.head.primary = "no-such-metric".into();
    let report = StudyReport::of(&known);
    assert_eq!(report.comparisons[0].verdict, Verdict::NotEstimable);
    known.head.baseline = "tcp".into();
    let report = StudyReport::of(&known);
    assert!(report.comparisons.is_empty());
    assert!(
        report.conclusion[0].contains("baseline tcp"),
        "{}",
        report.conclusion[0]
    );
    known.runs.clear();
    assert!(StudyReport::of(&known).groups.is_empty());
}

#[test]
fn commands_are_kept_once_per_case_and_arm() {
    let report = report();
    let runs = &report.runs;
    let template = runs.reproduce.template[runs.case[0]][runs.arm[0]].as_deref();
    assert_eq!(
        template,
        Some("walkabout run blackhole --protocol quic --seed ")
    );
    assert_eq!((runs.seed[0], runs.folder[0].is_some()), (1, true));
    assert_eq!(runs.censored["delay-max-up"].len(), 125);
}

/// What `a_a` promises, kept: copies of one arm differ by luck alone, stalls or not.
#[test]
fn intervals_cover_one_of_copies() {
    let scenarios: Vec<String> = (0..60).map(|i| format!("walk-{i:02}")).collect();
    let scenarios: Vec<&str> = scenarios.iter().map(String::as_str).collect();
    let study: Study = study(
        &scenarios,
        &["quic", "mpquic-backup"],
        30,
        true,
        |scenario, arm, seed| {
            let delay = 15.0 * luck(&format!("{scenario} {arm}"), seed, 0.4);
            if delay < 20.0 {
                exact(delay)
            } else {
                stalled(20.0)
            }
        },
    );
    let report = StudyReport::of(&study);
    let coverage = report.a_a_coverage.expect("of an A/A study");
    assert_eq!(coverage.intervals, 120);
    assert!(
        (108..=119).contains(&coverage.covering),
        "{}",
        coverage.sentence
    );
    assert!(
        coverage.low < 0.95 && 0.95 < coverage.high,
        "{}",
        coverage.sentence
    );
    assert!(report.conclusion.contains(&coverage.sentence));
    // Copies have seeds of their own: they are blocks of their own, too.
    assert_eq!(report.comparisons[0].blocks, 60);
}

#[test]
fn equal_copies_say_nothing() {
    let study = study(&["walk"], &["quic"], 30, true, |_, _, _| stalled(20.0));
    let report = StudyReport::of(&study);
    assert_eq!(report.a_a_coverage, None);
    assert!(
        report
            .conclusion
            .iter()
            .any(|s| s.contains("does not tell"))
    );
}
