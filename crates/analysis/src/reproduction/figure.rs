//! How are the paper's numbers and the study's drawn together? As curves of points along a
//! parameter, or a point each; medians have the quartiles that the paper draws.

use super::known::{Known, quantile};
use super::select::Runs;
use crate::metric::{Metric, Observed};
use crate::study::report::{MetricHead, six};
use model::reproduction::{Curve, Figure, Statistic};
use serde::Serialize;

/// A figure with both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrawnFigure {
    /// What it shows.
    pub title: String,
    /// The metric of the y axis.
    pub metric: MetricHead,
    /// What is taken of the runs, in words.
    pub statistic: &'static str,
    /// The parameter of the x axis.
    pub along: Option<String>,
    /// The values of the x axis, the least first; the curves' names without a parameter.
    pub ticks: Vec<String>,
    /// The ticks as numbers, when they are quantities of one kind.
    pub numbers: Option<Vec<f64>>,
    /// The curves.
    pub curves: Vec<DrawnCurve>,
}

/// A curve of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrawnCurve {
    /// Its name.
    pub name: String,
    /// The study's points.
    pub ours: Vec<Point>,
    /// The paper's.
    pub paper: Vec<PaperPoint>,
    /// Where the paper's are from, when not from the source of the whole.
    pub source: Option<String>,
}

/// A number of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Its tick, by its place.
    pub at: usize,
    /// How many runs it is of.
    pub runs: usize,
    /// The number, or a lower bound of it.
    pub value: f64,
    /// Whether it is only a lower bound.
    pub bound: bool,
    /// The first quartile of the runs.
    pub low: f64,
    /// The third; `None` where it is only bounded.
    pub high: Option<f64>,
}

/// A number of the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaperPoint {
    /// Its tick, by its place.
    pub at: usize,
    /// The number.
    pub value: f64,
}

/// Draws `figure`, whose metric is `metric`, of `runs`.
pub(super) fn draw(figure: &Figure, metric: &Metric, runs: &Runs<'_>) -> DrawnFigure {
    let ascending = figure.along.as_ref().map(|name| runs.ascending(name));
    // An arm of another world has no curve here.
    let shown = figure.curves.iter().filter(|curve| {
        let has_paper = curve.value.is_some() || !curve.values.is_empty();
        has_paper || !of(curve, figure, None, runs).is_empty()
    });
    let shown: Vec<&Curve> = shown.collect();
    let ticks = match &ascending {
        Some(values) => values.iter().map(|(value, _)| value.clone()).collect(),
        None => shown.iter().map(|c| c.name.clone()).collect(),
    };
    let numbers = ascending
        .as_ref()
        .and_then(|values| values.iter().map(|(_, size)| *size).collect());
    let curves = shown.into_iter().enumerate().map(|(place, curve)| {
        let (ours, paper) = match (&figure.along, &ascending) {
            (Some(name), Some(values)) => along(figure, curve, name, values, runs),
            _ => {
                let values = of(curve, figure, None, runs);
                let ours = point(place, figure.statistic, &values);
                let paper = curve.value.map(|value| PaperPoint { at: place, value });
                (ours.into_iter().collect(), paper.into_iter().collect())
            }
        };
        DrawnCurve {
            name: curve.name.clone(),
            ours,
            paper,
            source: curve.source.clone(),
        }
    });
    DrawnFigure {
        title: figure.title.clone(),
        metric: MetricHead::of(metric),
        statistic: figure.statistic.name(),
        along: figure.along.clone(),
        curves: curves.collect(),
        ticks,
        numbers,
    }
}

fn along(
    figure: &Figure,
    curve: &Curve,
    parameter: &str,
    values: &[(String, Option<f64>)],
    runs: &Runs<'_>,
) -> (Vec<Point>, Vec<PaperPoint>) {
    let (mut ours, mut paper) = (Vec::new(), Vec::new());
    for (at, (written, _)) in values.iter().enumerate() {
        let found = of(curve, figure, Some((parameter, written)), runs);
        ours.extend(point(at, figure.statistic, &found));
        let value = curve.values.get(written).copied();
        paper.extend(value.map(|value| PaperPoint { at, value }));
    }
    (ours, paper)
}

/// The values of a curve, with one parameter held.
fn of(
    curve: &Curve,
    figure: &Figure,
    held: Option<(&str, &str)>,
    runs: &Runs<'_>,
) -> Vec<Observed> {
    let hold = |selection: &model::reproduction::Selection| match held {
        Some((name, value)) => selection.with(name, value),
        None => selection.clone(),
    };
    match &curve.minus {
        Some(minus) => runs.differences(&figure.metric, &hold(&curve.of), &hold(minus)),
        None => runs.values(&figure.metric, &hold(&curve.of)),
    }
}

fn point(at: usize, statistic: Statistic, values: &[Observed]) -> Option<Point> {
    let known = Known::of(statistic, values)?;
    let quartile = |p: f64, of: fn(&Observed) -> f64| {
        let mut sorted: Vec<f64> = values.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, p)
    };
    let high = quartile(0.75, |value| match value.censored {
        true => f64::INFINITY,
        false => value.value,
    });
    Some(Point {
        at,
        runs: values.len(),
        value: six(known.low),
        bound: known.is_bound(),
        low: six(quartile(0.25, |value| value.value)),
        high: high.is_finite().then(|| six(high)),
    })
}
