//! Do two sets of runs compare as they were made?

use crate::synthetic::{METRIC, exact, luck, stalled, study};
use walkabout_analysis::metric::{Metric, list};
use walkabout_analysis::study::{ComparedRun, SetComparison, Verdict, compare};

fn metric() -> &'static Metric {
    list::find(METRIC).expect("a metric of the list")
}

/// `seeds` runs of two arms, from a seed on, with `factor` times the delay.
fn runs(from: u64, seeds: u64, factor: f64) -> Vec<ComparedRun> {
    let study = study(
        &["walk"],
        &["quic", "mpquic-backup"],
        seeds,
        false,
        |_, arm, seed| match (arm, seed % 10) {
            ("quic", 0) => stalled(20.0),
            _ => exact(luck(arm, seed, 0.3)),
        },
    );
    let mut runs = study.compared(metric());
    for run in &mut runs {
        run.seed += from;
        // Some luck that the other set does not share.
        let own = luck("own", run.seed + (factor * 1e6) as u64, 0.05);
        if let Some(value) = run.value.as_mut().filter(|value| !value.censored) {
            value.value *= factor * own;
        }
    }
    runs
}

fn backup(comparison: &SetComparison) -> usize {
    let rows = &comparison.rows;
    rows.iter()
        .position(|row| row.arm == "mpquic-backup")
        .expect("a row")
}

#[test]
fn same_seeds_are_paired() {
    let found = compare(&runs(0, 40, 1.0), &runs(0, 40, 0.6), metric());
    assert_eq!(found.rows.len(), 2);
    let row = &found.rows[backup(&found)];
    assert_eq!(
        (row.paired, row.blocks, row.verdict),
        (true, 40, Verdict::Lower)
    );
    assert!(row.low.unwrap() < 0.6 && 0.6 < row.high.unwrap(), "{row:?}");
    assert!(row.sentence.contains("B's"), "{}", row.sentence);
    let quic = &found.rows[1 - backup(&found)];
    assert_eq!((quic.a.censored, quic.verdict), (4, Verdict::NotEstimable));
}

#[test]
fn the_same_runs_are_equivalent() {
    let found = compare(&runs(0, 40, 1.0), &runs(0, 40, 1.0), metric());
    let row = &found.rows[backup(&found)];
    assert_eq!((row.verdict, row.ratio), (Verdict::Equivalent, Some(1.0)));
    assert_eq!((row.ks_distance, row.ks_p), (Some(0.0), Some(1.0)));
    // What stalled in both is the same, too, as far as anybody saw.
    let quic = &found.rows[1 - backup(&found)];
    assert_eq!((quic.verdict, quic.ratio), (Verdict::Equivalent, None));
    assert!(
        quic.sentence.contains("4 ended while both"),
        "{}",
        quic.sentence
    );
}

#[test]
fn other_seeds_are_not_paired_and_that_is_said() {
    let found = compare(&runs(0, 40, 1.0), &runs(1_000, 40, 0.4), metric());
    let row = &found.rows[backup(&found)];
    assert_eq!(
        (row.paired, row.ratio, row.verdict),
        (false, None, Verdict::Lower)
    );
    assert!(row.ks_distance.unwrap() > 0.8, "{row:?}");
    assert!(row.sentence.contains("not paired"), "{}", row.sentence);
    assert!(
        found
            .conclusion
            .iter()
            .any(|s| s.contains("can't be paired"))
    );
    let same = compare(&runs(0, 40, 1.0), &runs(1_000, 40, 1.01), metric());
    assert_eq!(same.rows[backup(&same)].verdict, Verdict::NoDifference);
    let few = compare(&runs(0, 5, 1.0), &runs(1_000, 40, 0.4), metric());
    assert_eq!(few.rows[backup(&few)].verdict, Verdict::TooFew);
}

#[test]
fn what_only_one_has_is_named() {
    let mut fewer = runs(0, 20, 1.0);
    fewer.retain(|run| run.arm == "quic");
    let found = compare(&runs(0, 20, 1.0), &fewer, metric());
    assert_eq!(found.rows.len(), 1);
    assert_eq!(
        found.only_in_a,
        ["walk cellular-delay=60 ms, mpquic-backup"]
    );
    assert!(found.only_in_b.is_empty());
    let none = compare(&[], &fewer, metric());
    assert!(none.rows.is_empty() && none.conclusion[0].contains("in common"));
}

#[test]
fn as_text() {
    let text = compare(&runs(0, 40, 1.0), &runs(0, 40, 0.6), metric()).text();
    let rows = text.parts[0].rows.iter().map(|row| row.join(" | "));
    let lines: Vec<String> = rows.chain(text.notes.iter().cloned()).collect();
    insta::assert_snapshot!(lines.join("\n"));
}
