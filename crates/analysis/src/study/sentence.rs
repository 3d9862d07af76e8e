//! What does a comparison say in plain words? One sentence each.

use super::paired::{Bound, Paired};
use super::verdict::{EXPLORE_BLOCKS, LEAST_BLOCKS, MARGIN, PUBLISH_BLOCKS, Verdict};
use super::words::{change, count, interval, p, ratio, share};
use crate::statistics::{LEVEL, proportion};

/// What is compared, in the words of the tables.
#[derive(Clone, Copy)]
pub(super) struct Subject<'w> {
    /// Where: the case.
    pub case: &'w str,
    /// Whose ratio.
    pub arm: &'w str,
    /// To whose.
    pub baseline: &'w str,
    /// Of what.
    pub heading: &'w str,
}

/// The sentence of one of `comparisons`.
pub(super) fn of(
    subject: Subject<'_>,
    paired: &Paired,
    verdict: Verdict,
    holm_p: Option<f64>,
    comparisons: usize,
) -> String {
    let Subject {
        case,
        arm,
        baseline,
        heading,
    } = subject;
    let blocks = count(paired.blocks, "block");
    let left_out = match paired.blocks - paired.pairs_used {
        0 => String::new(),
        left_out => format!(", {left_out} left out for want of a ratio"),
    };
    if verdict == Verdict::Equivalent && paired.identical {
        let waiting = match paired.censored_arm {
            0 => String::new(),
            n => format!(", as far as it was observed: {n} ended while both were still waiting"),
        };
        return format!(
            "On {case}, {arm}'s {heading} is the same as {baseline}'s in every block \
             ({blocks}){waiting}."
        );
    }
    let (Some(middle), Some(range)) = (paired.ratio, paired.interval) else {
        return without_interval(subject, paired, verdict);
    };
    let figures = match paired.bound {
        Bound::Exact | Bound::Open => format!(
            "ratio {}, 95 % interval {}, {blocks}{left_out}",
            ratio(middle),
            interval(range)
        ),
        Bound::AtMost | Bound::AtLeast => format!(
            "ratio at {} {}, 95 % interval of this bound {}, {blocks}{left_out}; {}",
            match paired.bound {
                Bound::AtMost => "most",
                _ => "least",
            },
            ratio(middle),
            interval(range),
            waiting(subject, paired)
        ),
    };
    match verdict {
        Verdict::Lower | Verdict::Higher => {
            let at_least = match paired.bound {
                Bound::Exact => "",
                _ => "at least ",
            };
            format!(
                "On {case}, {arm}'s {heading} is {} than {baseline}'s ({figures}).",
                than(middle, at_least)
            )
        }
        Verdict::Equivalent => format!(
            "On {case}, {arm}'s {heading} is within {:.0} % of {baseline}'s ({figures}).",
            100.0 * (MARGIN - 1.0)
        ),
        Verdict::NoDifference if range.covers(1.0) => format!(
            "On {case}, no difference between {arm}'s and {baseline}'s {heading} is shown \
             ({figures}): it may be anything from {} to {}.",
            change_from(range.low),
            change_from(range.high)
        ),
        Verdict::NoDifference => format!(
            "On {case}, no difference between {arm}'s and {baseline}'s {heading} is shown \
             ({figures}): among {} one like this can be luck{}.",
            count(comparisons, "comparison"),
            holm_p.map_or(String::new(), |value| format!(" (Holm p {})", p(value)))
        ),
        Verdict::TooFew => too_few(subject, paired),
        Verdict::NotEstimable => format!(
            "On {case}, what is known of {arm}'s and {baseline}'s {heading} does not tell which is \
             lower ({figures})."
        ),
    }
}

/// `58 % lower`, `at least 58 % lower`, `lower by at least a factor of 24`.
fn than(ratio: f64, at_least: &str) -> String {
    let change = change(ratio);
    match change.split_once(" by a factor of ") {
        Some((which, factor)) => format!("{which} by {at_least}a factor of {factor}"),
        None => format!("{at_least}{change}"),
    }
}

/// `15 % lower`, `10 % higher`, `the same`.
fn change_from(ratio: f64) -> String {
    match ratio == 1.0 {
        true => "the same".to_owned(),
        false => change(ratio),
    }
}

fn without_interval(subject: Subject<'_>, paired: &Paired, verdict: Verdict) -> String {
    let Subject {
        case,
        arm,
        baseline,
        heading,
    } = subject;
    let blocks = count(paired.blocks, "block");
    if verdict == Verdict::TooFew {
        return too_few(subject, paired);
    }
    if paired.censored_arm > 0 && paired.censored_baseline > 0 {
        let of = |censored| proportion::wilson(censored, paired.blocks, LEVEL);
        let (arms, baselines) = (of(paired.censored_arm), of(paired.censored_baseline));
        let apart = arms.high < baselines.low || baselines.high < arms.low;
        return format!(
            "On {case}, the ratio of {arm}'s {heading} to {baseline}'s can't be told, as both were \
             still waiting when runs ended: {arm} in {}, {baseline} in {}. {} {arm}'s is lower for \
             certain in {} of {blocks}, higher in {}.",
            share(paired.censored_arm, paired.blocks, arms),
            share(paired.censored_baseline, paired.blocks, baselines),
            match apart {
                true => "These shares differ.",
                false => "These shares are not told apart.",
            },
            paired.lower,
            paired.higher
        );
    }
    match paired.pairs_used {
        0 => format!(
            "On {case}, {arm}'s {heading} can't be compared with {baseline}'s: in none of {blocks} \
             do both have a value above zero; `walkabout list metrics` says for which traffic there is \
             one."
        ),
        used => format!(
            "On {case}, the ratio of {arm}'s {heading} to {baseline}'s can't be told: in {} of \
             {blocks} one of them has no value above zero.",
            paired.blocks - used
        ),
    }
}

fn too_few(subject: Subject<'_>, paired: &Paired) -> String {
    let Subject {
        case,
        arm,
        baseline,
        heading,
    } = subject;
    let so_far = match (paired.ratio, paired.bound) {
        (Some(middle), Bound::Exact) => format!("; so far the ratio is {}", ratio(middle)),
        (Some(middle), Bound::AtMost) => {
            format!("; so far the ratio is at most {}", ratio(middle))
        }
        (Some(middle), Bound::AtLeast) => {
            format!("; so far the ratio is at least {}", ratio(middle))
        }
        _ => String::new(),
    };
    let few = match paired.blocks {
        0 => "no block has".to_owned(),
        1 => "1 block is too few to compare".to_owned(),
        n => format!("{n} blocks are too few to compare"),
    };
    match paired.blocks {
        0 => format!("On {case}, {few} both {arm} and {baseline}: nothing can be compared."),
        _ => format!(
            "On {case}, {few} {arm}'s {heading} with {baseline}'s ({LEAST_BLOCKS} at least, \
             {EXPLORE_BLOCKS} to explore, {PUBLISH_BLOCKS} to publish){so_far}."
        ),
    }
}

/// `quic was still waiting when 12 of its 100 runs ended`.
fn waiting(subject: Subject<'_>, paired: &Paired) -> String {
    let (who, number) = match paired.censored_arm {
        0 => (subject.baseline, paired.censored_baseline),
        number => (subject.arm, number),
    };
    format!(
        "{who} was still waiting when {number} of its {} ended",
        count(paired.blocks, "run")
    )
}
