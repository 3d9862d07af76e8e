//! How are values and times shown in a few letters?

/// The last values of a series as bars between 0 (or the lowest) and the highest of them.
pub fn bars(values: impl IntoIterator<Item = f64>, lowest: f64, highest: f64) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let range = (highest - lowest).max(f64::MIN_POSITIVE);
    let bar = |value: f64| {
        let part = ((value - lowest) / range).clamp(0.0, 1.0);
        BARS[((part * 8.0) as usize).min(7)]
    };
    values.into_iter().map(bar).collect()
}

/// A time for people: `28 ms`, `1.3 s`.
pub fn words(us: u64) -> String {
    match us {
        0..10_000 => format!("{:.1} ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_span_the_scale() {
        assert_eq!(bars([0.0, 50.0, 100.0, 400.0, -3.0], 0.0, 100.0), "▁▅██▁");
        assert_eq!(
            (words(900), words(28_000), words(1_340_000)),
            ("0.9 ms".into(), "28 ms".into(), "1.3 s".into())
        );
    }
}
