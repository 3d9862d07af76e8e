//! Which known name did the user mean? For the hint behind "unknown ..." in error messages.

/// The candidate that is nearest to `word`, if one is near enough to have been meant.
///
/// ```
/// use walkabout_model::spelling::nearest;
/// assert_eq!(nearest("dealy", ["rate", "delay", "jitter"]), Some("delay"));
/// assert_eq!(nearest("colour", ["rate", "delay", "jitter"]), None);
/// ```
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // A third of the word may be wrong, at least one letter: two typing errors in `duration`.
    let most = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(d, _)| *d <= most)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment: letters inserted, deleted, replaced, or swapped with a neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // rows[i][j]: from the first i letters of `a` to the first j of `b`.
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_each_kind_of_error_once() {
        assert_eq!(distance("delay", "delay"), 0);
        assert_eq!(distance("dealy", "delay"), 1, "swapped");
        assert_eq!(distance("delai", "delay"), 1, "replaced");
        assert_eq!(distance("dela", "delay"), 1, "left out");
        assert_eq!(distance("dellay", "delay"), 1, "doubled");
        assert_eq!(distance("", "delay"), 5);
        assert_eq!(distance("delay", ""), 5);
    }

    #[test]
    fn a_short_word_is_not_taken_for_any_other() {
        assert_eq!(nearest("x", ["up", "down"]), None);
        assert_eq!(nearest("pu", ["up", "down"]), Some("up"));
    }
}
