//! Do the methods give the numbers that others give? Against SciPy and lifelines (`reference.json`
//! names their versions and is made by `reference.py`), against published results, and, for the
//! bootstrap, against what an interval promises.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::Deserialize;
use walkabout_analysis::metric::Observed;
use walkabout_analysis::statistics::{
    LEVEL, bootstrap, hodges_lehmann, kolmogorov_smirnov, proportion, survival, wilcoxon,
};

#[derive(Deserialize)]
struct Reference {
    signed_rank: Vec<SignedRank>,
    bca: Vec<Bca>,
    survival: Vec<Survival>,
    kolmogorov_smirnov: Vec<Distance>,
    proportion: Vec<Proportion>,
}

#[derive(Deserialize)]
struct SignedRank {
    name: String,
    differences: Vec<f64>,
    w_plus: f64,
    p: f64,
    exact: bool,
}

#[derive(Deserialize)]
struct Bca {
    name: String,
    blocks: Vec<f64>,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Survival {
    name: String,
    durations: Vec<f64>,
    happened: Vec<u8>,
    rows: Vec<SurvivalRow>,
    median: Option<f64>,
    median_low: Option<f64>,
    median_high: Option<f64>,
}

#[derive(Deserialize)]
struct SurvivalRow {
    x: f64,
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Deserialize)]
struct Distance {
    name: String,
    a: Vec<f64>,
    b: Vec<f64>,
    distance: f64,
    p: f64,
}

#[derive(Deserialize)]
struct Proportion {
    successes: usize,
    trials: usize,
    low: f64,
    high: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("reference.json")).expect("the reference")
}

/// Whether two numbers agree to about nine digits.
#[track_caller]
fn same(what: &str, found: f64, known: f64) {
    let near = (found - known).abs() <= 1e-9 * known.abs() + 1e-300;
    assert!(near, "{what}: {found} is not {known}");
}

#[test]
fn signed_rank() {
    for known in reference().signed_rank {
        let found = wilcoxon::signed_rank(&known.differences);
        assert_eq!(found.exact, known.exact, "{}", known.name);
        same(&known.name, found.w_plus, known.w_plus);
        same(&known.name, found.p, known.p);
    }
}

/// Hollander and Wolfe (1973), p. 29 and following, also the example of the help page
/// of `wilcox.test` in R: pseudo-median 0.46, interval 0.010 to 0.786.
#[test]
fn pseudo_median_of_the_depression_data() {
    let of = &reference().signed_rank[0].differences;
    let found = hodges_lehmann::pseudo_median(of, LEVEL).unwrap();
    let interval = found.interval.unwrap();
    assert!((found.estimate - 0.46).abs() < 1e-9, "{found:?}");
    assert!((interval.low - 0.010).abs() < 1e-9, "{found:?}");
    assert!((interval.high - 0.786).abs() < 1e-9, "{found:?}");
}

/// With a million resamples the reference has an error of its own of about a thousandth of its
/// width; ours with 200,000 of about two.
#[test]
fn bca() {
    for known in reference().bca {
        let mut random = Pcg64::seed_from_u64(7);
        let found = bootstrap::mean(&known.blocks, LEVEL, 200_000, &mut random);
        let found = found.interval().unwrap();
        let width = known.high - known.low;
        for (found, known_end) in [(found.low, known.low), (found.high, known.high)] {
            let off = (found - known_end).abs() / width;
            assert!(off < 0.01, "{}: {found} is not {known_end}", known.name);
        }
    }
}

/// What the interval promises: it covers the truth in about 95 of 100 studies. Of the log-ratios of
/// a lognormal delay, 30 blocks each. Of 1,000 intervals 950 would cover; the standard deviation
/// of that is 7, and a bootstrap of 30 values is known to fall short by one to two in a hundred.
#[test]
fn bca_covers_a_lognormal() {
    let mut random = Pcg64::seed_from_u64(11);
    let mut normal = || {
        let radius: f64 = 1.0 - random.random::<f64>();
        let angle = random.random::<f64>() * std::f64::consts::TAU;
        (-2.0 * radius.ln()).sqrt() * angle.cos()
    };
    let mut resampling = Pcg64::seed_from_u64(12);
    let covering = (0..1_000).filter(|_| {
        let blocks: Vec<f64> = (0..30).map(|_| 0.7 + 0.5 * normal()).collect();
        let interval = bootstrap::mean(&blocks, LEVEL, 1_000, &mut resampling);
        interval.interval().unwrap().covers(0.7)
    });
    let covering = covering.count();
    assert!((925..=965).contains(&covering), "{covering} of 1000");
}

/// The same for the mean of the lognormal itself, which is skewed: the harder case.
#[test]
fn bca_covers_a_skewed_mean() {
    let mut random = Pcg64::seed_from_u64(13);
    let mut normal = || {
        let radius: f64 = 1.0 - random.random::<f64>();
        let angle = random.random::<f64>() * std::f64::consts::TAU;
        (-2.0 * radius.ln()).sqrt() * angle.cos()
    };
    let mut resampling = Pcg64::seed_from_u64(14);
    let truth = (0.5_f64 * 0.25).exp();
    let covering = (0..1_000).filter(|_| {
        let blocks: Vec<f64> = (0..100).map(|_| (0.5 * normal()).exp()).collect();
        let interval = bootstrap::mean(&blocks, LEVEL, 1_000, &mut resampling);
        interval.interval().unwrap().covers(truth)
    });
    let covering = covering.count();
    assert!((930..=967).contains(&covering), "{covering} of 1000");
}

#[test]
fn kaplan_meier() {
    for known in reference().survival {
        let values: Vec<Observed> = known
            .durations
            .iter()
            .zip(&known.happened)
            .map(|(value, happened)| Observed {
                value: *value,
                censored: *happened == 0,
            })
            .collect();
        let found = survival::survival(&values, LEVEL);
        assert_eq!(found.median, known.median, "{}", known.name);
        assert_eq!(found.median_low, known.median_low, "{}", known.name);
        assert_eq!(found.median_high, known.median_high, "{}", known.name);
        for row in &known.rows {
            let place = found.curve.x.iter().position(|x| *x == row.x);
            let place = place.unwrap_or_else(|| panic!("{}: no step at {}", known.name, row.x));
            let y = found.curve.y[place];
            assert!((y - row.y).abs() < 1e-12, "{}", known.name);
            // Where nothing survives the reference has no band.
            if row.y > 1e-9 {
                same(&known.name, found.curve.low[place], row.low.unwrap());
                same(&known.name, found.curve.high[place], row.high.unwrap());
            }
        }
    }
}

/// Kalbfleisch and Prentice, *The Statistical Analysis of Failure Time Data*, section 1.4: the
/// remission data has a median of 23 weeks, and 0.627 remain at 13 weeks' end.
#[test]
fn remission() {
    let known = &reference().survival[0];
    let at = known.rows.iter().rfind(|row| row.x <= 16.0).unwrap();
    assert_eq!(known.median, Some(23.0));
    assert!((at.y - 0.627).abs() < 5e-4, "{}", at.y);
}

#[test]
fn kolmogorov_smirnov_distance() {
    for known in reference().kolmogorov_smirnov {
        let found = kolmogorov_smirnov::compare(&known.a, &known.b).unwrap();
        same(&known.name, found.distance, known.distance);
        same(&known.name, found.p, known.p);
    }
}

#[test]
fn wilson() {
    for known in reference().proportion {
        let found = proportion::wilson(known.successes, known.trials, LEVEL);
        assert!((found.low - known.low).abs() < 1e-9, "{found:?}");
        assert!((found.high - known.high).abs() < 1e-9, "{found:?}");
    }
}
