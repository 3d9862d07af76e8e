//! What do a hundred thousand values come to: the points of their CDF, their median and how sure it is?
//! Neither needs them all in order.

use crate::api::CdfPoint;
use analysis::statistics::{LEVEL, median};

/// Points of a CDF: the picture of a phone or a screen shows no more.
const POINTS: usize = 256;

/// The values of a metric in an arm.
#[derive(Debug, Default)]
pub(super) struct Values {
    known: Vec<f64>,
    censored: u64,
}

impl Values {
    /// Adds a value, if there is one; a censored one is only a lower bound.
    pub(super) fn add(&mut self, value: Option<f64>, censored: bool) {
        match value {
            Some(_) if censored => self.censored += 1,
            Some(value) => self.known.push(value),
            None => {}
        }
    }

    /// The shares of all values that are known to be at most some.
    pub(super) fn cdf(mut self) -> Vec<CdfPoint> {
        let known = self.known.len();
        let count = known as f64 + self.censored as f64;
        let steps = known.min(POINTS);
        let places = (1..=steps).map(|step| (known * step).div_ceil(steps) - 1);
        let places: Vec<usize> = places.collect();
        select(&mut self.known, 0, &places);
        let mut points: Vec<CdfPoint> = Vec::with_capacity(steps);
        for (i, &place) in places.iter().enumerate() {
            let seconds = self.known[place];
            // Equal values step once, at the last of them; those up to the next point follow here.
            let next = places.get(i + 1).copied().unwrap_or(known);
            let others = &self.known[place + 1..next];
            let equal = others.iter().filter(|value| **value == seconds).count();
            let share = (place + 1 + equal) as f64 / count;
            if points.last().is_some_and(|point| point.seconds == seconds) {
                points.pop();
            }
            points.push(CdfPoint { seconds, share });
        }
        points
    }
}

/// Puts at each of `places` (ascending, of a slice that begins at `offset`) what would be there in order,
/// nothing larger before and nothing smaller after it: faster than putting all in order.
fn select(values: &mut [f64], offset: usize, places: &[usize]) {
    let Some(&middle) = places.get(places.len() / 2) else {
        return;
    };
    let (below, _, above) = values.select_nth_unstable_by(middle - offset, f64::total_cmp);
    let (left, right) = places.split_at(places.len() / 2);
    select(below, offset, left);
    select(above, middle + 1, &right[1..]);
}

/// The median of the ratios with these logarithms, and the ends of its interval.
pub(super) fn middle(logs: &mut [f64]) -> [Option<f64>; 3] {
    let count = logs.len();
    if count == 0 {
        return [None; 3];
    }
    // The median first: what is below it lies before it from then on.
    let half = count / 2;
    let (below, upper, above) = logs.select_nth_unstable_by(half, f64::total_cmp);
    let upper = *upper;
    let lower = match count % 2 {
        1 => upper,
        _ => below.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    };
    let mut ends = [None; 2];
    // The median's rank lies inside the interval: one end below it, one above.
    if let Some(rank) = median::rank(count, LEVEL) {
        let at = |part: &mut [f64], place: usize| {
            part.select_nth_unstable_by(place, f64::total_cmp).1.exp()
        };
        ends[0] = Some(at(below, rank - 1));
        let place = count - rank;
        ends[1] = Some(match place == half {
            true => upper.exp(),
            false => at(above, place - half - 1),
        });
    }
    [Some(((lower + upper) / 2.0).exp()), ends[0], ends[1]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::metric::Observed;
    use proptest::prelude::*;

    /// Few distinct values, so that many are equal, or hardly any that are.
    fn values() -> impl Strategy<Value = Vec<f64>> {
        let value = prop_oneof![(-3i32..40).prop_map(f64::from), -1.0..40.0];
        prop::collection::vec(value, 0..2_000)
    }

    proptest! {
        #[test]
        fn a_cdf_is_exact_at_its_points(values in values(), censored in 0u64..10) {
            let mut of = Values::default();
            values.iter().for_each(|value| of.add(Some(*value), false));
            (0..censored).for_each(|_| of.add(Some(1.0), true));
            of.add(None, false);
            let points = of.cdf();
            prop_assert!(points.len() <= POINTS && points.is_empty() == values.is_empty());
            let all = values.len() as f64 + censored as f64;
            for point in &points {
                let up_to = values.iter().filter(|value| **value <= point.seconds).count();
                prop_assert_eq!(point.share, up_to as f64 / all);
            }
            let steps = |pair: &[CdfPoint]| {
                pair[0].seconds < pair[1].seconds && pair[0].share < pair[1].share
            };
            prop_assert!(points.windows(2).all(steps));
            let most = values.iter().copied().reduce(f64::max);
            prop_assert_eq!(points.last().map(|point| point.seconds), most);
            let mut distinct = values.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            if values.len() <= POINTS {
                prop_assert_eq!(points.len(), distinct.len());
            }
        }

        #[test]
        fn the_median_is_that_of_the_statistics(mut logs in values()) {
            let observed: Vec<Observed> = logs
                .iter()
                .map(|value| Observed { value: *value, censored: false })
                .collect();
            let found = middle(&mut logs);
            let expected = median::median(&observed, LEVEL);
            let expected = expected.map_or([None; 3], |of| [Some(of.value), of.low, of.high]);
            prop_assert_eq!(found, expected.map(|end| end.map(f64::exp)));
        }
    }
}
