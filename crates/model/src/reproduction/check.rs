//! Which criteria and curves contradict themselves, or name what the study does not have?

use super::{
    Criterion, Curve, Factor, Figure, Gain, Monotone, Order, Range, Ratio, Reproduction, Selection,
    Share, Test,
};
use crate::scenario::check::{Fault, fault, plain_name, require};
use crate::scenario::key::KeyPath;
use crate::scenario::parse::one_of;

/// What a study has that can be named.
#[derive(Clone, Debug)]
pub struct Subjects<'n> {
    /// The labels of its arms, in every world.
    pub arms: Vec<&'n str>,
    /// The names of its scenarios.
    pub scenarios: Vec<&'n str>,
    /// Its parameters with their values as written.
    pub parameters: Vec<(&'n str, Vec<&'n str>)>,
    /// The metrics that are numbers.
    pub metrics: Vec<&'n str>,
}

/// Every check without the study.
pub(super) fn alone(reproduction: &Reproduction) -> Result<(), Fault> {
    let Reproduction {
        id,
        title,
        source,
        claim,
        notes: _,
        figures,
        criteria,
    } = reproduction;
    plain_name(id, &KeyPath::top("id"))?;
    for (key, text) in [("title", title), ("source", source), ("claim", claim)] {
        require(
            !text.trim().is_empty(),
            &KeyPath::top(key),
            "it is empty; a sentence was expected",
        )?;
    }
    let mut names: Vec<&str> = Vec::new();
    for (i, figure) in figures.iter().enumerate() {
        let at = KeyPath::top("figure").index(i);
        for (j, curve) in figure.curves.iter().enumerate() {
            let at = at.key("curve").index(j);
            require(
                !names.contains(&curve.name.as_str()),
                &at.key("name"),
                format!("another curve is called `{}` already", curve.name),
            )?;
            names.push(&curve.name);
            let misplaced = match figure.along {
                Some(_) => curve.value.is_some().then_some("value"),
                None => (!curve.values.is_empty()).then_some("values"),
            };
            if let Some(key) = misplaced {
                return fault(
                    &at.key(key),
                    "`values` go with a figure that has `along`, `value` with one that has not",
                );
            }
        }
    }
    require(
        !criteria.is_empty(),
        &KeyPath::top("criterion"),
        "without a criterion nothing can be reproduced; name at least one",
    )?;
    for (i, criterion) in criteria.iter().enumerate() {
        let at = KeyPath::top("criterion").index(i).key("test");
        bounds(criterion, &at, &names)?;
    }
    Ok(())
}

/// The numbers of a criterion make sense.
fn bounds(criterion: &Criterion, at: &KeyPath, curves: &[&str]) -> Result<(), Fault> {
    let within = |kind: &str, [low, high]: [f64; 2]| {
        require(
            low <= high,
            &at.key(kind).key("within"),
            format!("`[{low}, {high}]` has no room; the lower end comes first"),
        )
    };
    let slack = |kind: &str, slack: f64| {
        require(
            (0.0..1.0).contains(&slack),
            &at.key(kind).key("slack"),
            format!("`{slack}` is no share below 1"),
        )
    };
    match &criterion.test {
        Test::Ratio(test) => within("ratio", test.within),
        Test::Range(test) => within("range", test.within),
        Test::Gain(test) => within("gain", test.within),
        Test::Share(test) => within("share", test.within),
        Test::Monotone(test) => slack("monotone", test.slack),
        Test::Order(test) => {
            require(
                test.least_first.len() >= 2,
                &at.key("order").key("least_first"),
                "an order is of two at least",
            )?;
            slack("order", test.slack)
        }
        Test::Factor(Factor { curve, most }) => {
            let at = at.key("factor");
            require(
                curves.contains(&curve.as_str()),
                &at.key("curve"),
                format!("no curve is called `{curve}`; {}", one_of(curve, curves)),
            )?;
            require(
                *most > 1.0 && most.is_finite(),
                &at.key("most"),
                format!("`{most}` is no factor above 1"),
            )
        }
    }
}

/// Every name is one of the study's.
pub(super) fn against(reproduction: &Reproduction, subjects: &Subjects<'_>) -> Result<(), Fault> {
    for (i, figure) in reproduction.figures.iter().enumerate() {
        let at = KeyPath::top("figure").index(i);
        let Figure {
            title: _,
            metric,
            statistic: _,
            along,
            curves,
        } = figure;
        subjects.metric(metric, &at)?;
        if let Some(along) = along {
            subjects.parameter(along, &at.key("along"))?;
        }
        for (j, curve) in curves.iter().enumerate() {
            let Curve {
                name: _,
                of,
                minus,
                value: _,
                values,
                source: _,
            } = curve;
            let at = at.key("curve").index(j);
            subjects.selection(of, &at.key("of"))?;
            if let Some(minus) = minus {
                subjects.selection(minus, &at.key("minus"))?;
            }
            for value in values.keys() {
                let along = along.as_deref().unwrap_or_default();
                subjects.value(along, value, &at.key("values"))?;
            }
        }
    }
    for (i, criterion) in reproduction.criteria.iter().enumerate() {
        let at = KeyPath::top("criterion").index(i);
        subjects.metric(&criterion.metric, &at)?;
        subjects.test(&criterion.test, &at.key("test"))?;
    }
    Ok(())
}

impl Subjects<'_> {
    fn test(&self, test: &Test, at: &KeyPath) -> Result<(), Fault> {
        match test {
            Test::Ratio(Ratio { of, to, within: _ }) => {
                let at = at.key("ratio");
                self.selection(of, &at.key("of"))?;
                self.selection(to, &at.key("to"))
            }
            Test::Monotone(test) => {
                let Monotone {
                    of,
                    along,
                    direction: _,
                    slack: _,
                } = test;
                let at = at.key("monotone");
                self.selection(of, &at.key("of"))?;
                self.parameter(along, &at.key("along"))
            }
            Test::Order(test) => {
                let Order {
                    least_first,
                    along,
                    only,
                    slack: _,
                } = test;
                let at = at.key("order");
                for (i, of) in least_first.iter().enumerate() {
                    self.selection(of, &at.key("least_first").index(i))?;
                }
                if let Some(along) = along {
                    self.parameter(along, &at.key("along"))?;
                }
                for (i, value) in only.iter().enumerate() {
                    let along = along.as_deref().unwrap_or_default();
                    self.value(along, value, &at.key("only").index(i))?;
                }
                Ok(())
            }
            Test::Factor(_) => Ok(()), // the curve was looked up
            Test::Range(Range { of, within: _ }) => self.selection(of, &at.key("range").key("of")),
            Test::Gain(test) => {
                let Gain {
                    of,
                    against,
                    per,
                    within: _,
                } = test;
                let at = at.key("gain");
                self.selection(of, &at.key("of"))?;
                self.selection(against, &at.key("against"))?;
                self.parameter(per, &at.key("per"))
            }
            Test::Share(test) => {
                let Share {
                    of,
                    at_most: _,
                    within: _,
                } = test;
                self.selection(of, &at.key("share").key("of"))
            }
        }
    }

    fn metric(&self, name: &str, at: &KeyPath) -> Result<(), Fault> {
        require(
            self.metrics.contains(&name),
            &at.key("metric"),
            format!(
                "no metric that is a number is called `{name}`; {}",
                one_of(name, &self.metrics)
            ),
        )
    }

    fn selection(&self, selection: &Selection, at: &KeyPath) -> Result<(), Fault> {
        let Selection {
            arm,
            scenario,
            at: values,
        } = selection;
        require(
            self.arms.contains(&arm.as_str()),
            &at.key("arm"),
            format!("the study has no arm `{arm}`; {}", one_of(arm, &self.arms)),
        )?;
        if let Some(name) = scenario {
            require(
                self.scenarios.contains(&name.as_str()),
                &at.key("scenario"),
                format!(
                    "the study has no scenario `{name}`; {}",
                    one_of(name, &self.scenarios)
                ),
            )?;
        }
        for (name, value) in values {
            let at = at.key("at");
            self.parameter(name, &at)?;
            self.value(name, value, &at.key(name))?;
        }
        Ok(())
    }

    fn parameter(&self, name: &str, at: &KeyPath) -> Result<(), Fault> {
        let known: Vec<&str> = self.parameters.iter().map(|(name, _)| *name).collect();
        require(
            known.contains(&name),
            at,
            format!(
                "the study has no parameter `{name}`; {}",
                one_of(name, &known)
            ),
        )
    }

    fn value(&self, parameter: &str, value: &str, at: &KeyPath) -> Result<(), Fault> {
        let found = self.parameters.iter().find(|(name, _)| *name == parameter);
        let known = found.map_or(&[][..], |(_, values)| values);
        require(
            known.contains(&value),
            at,
            format!(
                "`{parameter}` never has the value `{value}`; {}",
                one_of(value, known)
            ),
        )
    }
}
