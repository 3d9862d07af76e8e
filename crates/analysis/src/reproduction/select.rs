//! Which values have the runs that a curve or a criterion names?

use super::known::{Known, LEAST_RUNS};
use crate::metric::Observed;
use crate::study::report::ParameterAxis;
use crate::study::{Study, StudyRun, place};
use model::reproduction::{Selection, Statistic};
use std::collections::BTreeMap;

/// A run's place apart from its arm: scenario, parameters, replica, seed.
type Block<'s> = (&'s str, &'s [(String, String)], u64, u64);

/// The runs of a study, to be asked.
pub(super) struct Runs<'s> {
    study: &'s Study,
    /// What is varied.
    pub parameters: Vec<ParameterAxis>,
}

/// The runs that were named, by block.
struct Selected<'s> {
    values: BTreeMap<Block<'s>, Observed>,
    runs: usize,
    failed: usize,
}

impl<'s> Runs<'s> {
    pub fn of(study: &'s Study) -> Runs<'s> {
        Runs {
            study,
            parameters: study
                .head
                .parameters
                .iter()
                .map(ParameterAxis::of)
                .collect(),
        }
    }

    /// The parameter called `name`.
    pub fn parameter(&self, name: &str) -> Option<&ParameterAxis> {
        self.parameters.iter().find(|p| p.name == name)
    }

    /// The values of a parameter as written with their sizes, the least first; in the order of the
    /// study when they are no quantities.
    pub fn ascending(&self, name: &str) -> Vec<(String, Option<f64>)> {
        let Some(parameter) = self.parameter(name) else {
            return Vec::new();
        };
        let size = |place: usize| Some(*parameter.numbers.as_ref()?.get(place)?);
        let values = parameter.values.iter().enumerate();
        let mut values: Vec<_> = values.map(|(i, v)| (v.clone(), size(i))).collect();
        values.sort_by(|(_, a), (_, b)| match (a, b) {
            (Some(a), Some(b)) => a.total_cmp(b),
            _ => std::cmp::Ordering::Equal,
        });
        values
    }

    /// The values of `metric` in the runs of `selection`, in the order of their blocks.
    pub fn values(&self, metric: &str, selection: &Selection) -> Vec<Observed> {
        self.select(metric, selection)
            .values
            .into_values()
            .collect()
    }

    /// What one selection has more than another, block by block; a bound on either side leaves a
    /// block out, as nothing is known of the difference.
    pub fn differences(&self, metric: &str, more: &Selection, less: &Selection) -> Vec<Observed> {
        let less = self.select(metric, less).values;
        let more = self.select(metric, more).values;
        let pairs = more
            .iter()
            .filter_map(|(block, more)| Some((more, less.get(block)?)));
        pairs
            .filter(|(more, less)| !more.censored && !less.censored)
            .map(|(more, less)| Observed {
                value: more.value - less.value,
                censored: false,
            })
            .collect()
    }

    /// What is known of the statistic over the runs of `selection`, or why nothing is.
    pub fn known(
        &self,
        metric: &str,
        statistic: Statistic,
        selection: &Selection,
    ) -> Result<Known, String> {
        let values = self.enough(metric, selection)?;
        Known::of(statistic, &values).ok_or_else(|| format!("{selection}: no run"))
    }

    /// The values of runs that are enough to decide something, or why they are not.
    pub fn enough(&self, metric: &str, selection: &Selection) -> Result<Vec<Observed>, String> {
        let Selected {
            values,
            runs,
            failed,
        } = self.select(metric, selection);
        if failed > 0 {
            return Err(format!("{selection}: {failed} of {runs} runs failed"));
        }
        if values.len() < LEAST_RUNS {
            return Err(match runs - values.len() {
                0 => format!("{selection}: {runs} runs, {LEAST_RUNS} are needed"),
                none => format!("{selection}: {none} of {runs} runs have no {metric}"),
            });
        }
        Ok(values.into_values().collect())
    }

    fn select(&self, metric: &str, selection: &Selection) -> Selected<'s> {
        let place = place(metric);
        let mut selected = Selected {
            values: BTreeMap::new(),
            runs: 0,
            failed: 0,
        };
        for run in self.study.runs.iter().filter(|run| is_of(run, selection)) {
            selected.runs += 1;
            selected.failed += usize::from(!run.is_complete());
            if let Some(value) = run.number(place) {
                let block = (
                    run.scenario.as_str(),
                    run.parameters.as_slice(),
                    run.replica,
                    run.seed,
                );
                selected.values.insert(block, value);
            }
        }
        selected
    }
}

fn is_of(run: &StudyRun, selection: &Selection) -> bool {
    let Selection { arm, scenario, at } = selection;
    run.arm == *arm
        && scenario.as_ref().is_none_or(|name| run.scenario == *name)
        && at.iter().all(|(name, value)| {
            let parameters = run.parameters.iter();
            parameters.clone().any(|(n, v)| n == name && v == value)
        })
}
