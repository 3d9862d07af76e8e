//! How are numbers written in sentences and on a terminal?

use crate::metric::Unit;
use crate::statistics::Interval;

/// A value with its unit: `341 ms`, `12.3 s`, `1.2 MB`, `12.5 %`.
pub(crate) fn value(value: f64, unit: Unit) -> String {
    let size = value.abs();
    match unit {
        Unit::Seconds if size < 0.9995 => format!("{} ms", digits(value * 1e3, 3)),
        Unit::Seconds => format!("{} s", digits(value, 3)),
        Unit::Bytes if size < 1e3 => format!("{value:.0} B"),
        Unit::Bytes if size < 1e6 => format!("{} kB", digits(value / 1e3, 3)),
        Unit::Bytes => format!("{} MB", digits(value / 1e6, 3)),
        Unit::Joules if size < 0.9995 => format!("{} mJ", digits(value * 1e3, 3)),
        Unit::Joules => format!("{} J", digits(value, 3)),
        Unit::Milliwatts => format!("{} mW", digits(value, 3)),
        Unit::Share => format!("{} %", digits(value * 100.0, 3)),
        Unit::Count | Unit::Truth | Unit::Word => digits(value, 3),
    }
}

/// With as many significant digits, and never an exponent; zeros behind the point are kept.
pub(crate) fn digits(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // Of the rounded value: 9.996 has one digit less behind the point than 9.99.
    let rounded: f64 = format!("{:.*e}", (digits - 1).max(0) as usize, value)
        .parse()
        .unwrap_or(value);
    let before = rounded.abs().log10().floor() as i32 + 1;
    format!("{rounded:.*}", (digits - before).max(0) as usize)
}

/// A median with its interval: `341 ms (320 ms..360 ms)`, `>=19.9 s (19.9 s..)`.
pub(crate) fn median(
    middle: f64,
    is_bound: bool,
    range: (Option<f64>, Option<f64>),
    unit: Unit,
) -> String {
    let bound = match is_bound {
        true => ">=",
        false => "",
    };
    let text = |end| value(end, unit);
    let range = match range {
        (None, _) => String::new(),
        (Some(low), high) => format!(" ({}..{})", text(low), high.map_or(String::new(), text)),
    };
    format!("{bound}{}{range}", text(middle))
}

/// A ratio: `0.42`, `0.042`, `12.3`.
pub(crate) fn ratio(ratio: f64) -> String {
    match ratio {
        r if r >= 9.995 => digits(r, 3),
        r if r >= 0.0995 => format!("{r:.2}"),
        r => digits(r, 2),
    }
}

/// `0.38 to 0.47`.
pub(crate) fn interval(interval: Interval) -> String {
    format!("{} to {}", ratio(interval.low), ratio(interval.high))
}

/// What a ratio is to 1: `58 % lower`, `lower by a factor of 24`, `35 % higher`.
pub(crate) fn change(ratio: f64) -> String {
    match ratio {
        r if r < 0.0995 => format!("lower by a factor of {}", digits(1.0 / r, 2)),
        r if r < 1.0 => format!("{} % lower", percent(1.0 - r)),
        r if r < 1.995 => format!("{} % higher", percent(r - 1.0)),
        r => format!("higher by a factor of {}", digits(r, 2)),
    }
}

/// A small share to a tenth of a percent, others to the whole percent.
fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p < 0.095 => digits(p, 1),
        p if p < 9.95 => format!("{p:.1}").trim_end_matches(".0").to_owned(),
        p => format!("{p:.0}"),
    }
}

/// A p-value: `0.032`, `< 0.001`.
pub(crate) fn p(p: f64) -> String {
    match p {
        p if p < 0.001 => "< 0.001".to_owned(),
        p if p >= 0.9995 => "1".to_owned(),
        p => format!("{p:.3}"),
    }
}

/// `23 of 100 (23 %, 95 % interval 16 to 32 %)`.
pub(crate) fn share(of: usize, all: usize, interval: Interval) -> String {
    format!(
        "{of} of {all} ({:.0} %, 95 % interval {:.0} to {:.0} %)",
        100.0 * of as f64 / all.max(1) as f64,
        100.0 * interval.low,
        100.0 * interval.high
    )
}

/// `1 run`, `3 runs`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits() {
        let seconds = |v| value(v, Unit::Seconds);
        assert_eq!(seconds(0.3412), "341 ms");
        assert_eq!(seconds(0.9996), "1.00 s");
        assert_eq!(seconds(19.94), "19.9 s");
        assert_eq!(seconds(0.0), "0 ms");
        assert_eq!(value(1_234_567.0, Unit::Bytes), "1.23 MB");
        assert_eq!(value(0.125, Unit::Share), "12.5 %");
    }

    #[test]
    fn ratios_and_changes() {
        assert_eq!(ratio(0.4211), "0.42");
        assert_eq!(ratio(0.0421), "0.042");
        assert_eq!(ratio(12.34), "12.3");
        assert_eq!(change(0.42), "58 % lower");
        assert_eq!(change(0.0421), "lower by a factor of 24");
        assert_eq!(change(1.35), "35 % higher");
        assert_eq!(change(1.0123), "1.2 % higher");
        assert_eq!(change(2.4), "higher by a factor of 2.4");
        assert_eq!(p(0.00001), "< 0.001");
    }
}
