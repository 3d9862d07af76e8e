//! What a Mahimahi trace says: the instants at which a link may deliver 1504 bytes.
//!
//! One integer a line, in milliseconds since the start, not decreasing; several equal lines
//! are several opportunities in that millisecond. The trace begins again after its last
//! timestamp. (Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", 2015, and
//! the manual page mm-link(1).)

mod opportunities;

pub use opportunities::Opportunities;

use model::units::BitRate;
use std::fmt;
use std::sync::Arc;

/// Bytes that one opportunity delivers: Mahimahi's MTU, an Ethernet payload and its TUN header.
pub const OPPORTUNITY: usize = 1504;

/// A packet-delivery trace; cheap to clone.
///
/// ```
/// use walkabout_network::trace::Trace;
/// let trace = Trace::parse("0\n4\n4\n10\n").unwrap();
/// assert_eq!(trace.to_string(), "0\n4\n4\n10\n");
/// assert_eq!(Trace::parse("1\nfast\n").unwrap_err().to_string(),
///     "line 2: `fast` is not a whole number of milliseconds");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Not empty, not decreasing, and the last is above zero.
    millis: Arc<[u64]>,
}

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// There is no line.
    #[error("the trace is empty: it needs a line with a time in milliseconds per opportunity")]
    Empty,
    /// A line is no number.
    #[error("line {line}: `{text}` is not a whole number of milliseconds")]
    NotANumber {
        /// From 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A number is larger than any run is long.
    #[error("line {line}: {millis} ms is more than {MAX_MILLIS} ms (a year)")]
    TooLong {
        /// From 1.
        line: usize,
        /// What it says.
        millis: u64,
    },
    /// Time goes back.
    #[error("line {line}: {millis} ms comes after {previous} ms, but times must not decrease")]
    Decreasing {
        /// From 1.
        line: usize,
        /// What it says.
        millis: u64,
        /// What the line before says.
        previous: u64,
    },
    /// All opportunities are at time zero, so that the trace has no length.
    #[error("every time is 0 ms: the last time is the trace's length and must be above zero")]
    NoLength,
}

/// A year: bounds the arithmetic in nanoseconds.
const MAX_MILLIS: u64 = 366 * 24 * 3600 * 1000;

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// When it is empty, a line is no number, times decrease, or all are zero.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let mut millis: Vec<u64> = Vec::new();
        for (index, written) in text.trim_end().lines().enumerate() {
            let line = index + 1;
            let written = written.trim();
            let value: u64 = written.parse().map_err(|_| TraceError::NotANumber {
                line,
                // A binary file may be one long line.
                text: written.chars().take(40).collect(),
            })?;
            if value > MAX_MILLIS {
                return Err(TraceError::TooLong {
                    line,
                    millis: value,
                });
            }
            if let Some(&previous) = millis.last()
                && previous > value
            {
                return Err(TraceError::Decreasing {
                    line,
                    millis: value,
                    previous,
                });
            }
            millis.push(value);
        }
        match millis.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoLength),
            Some(_) => Ok(Trace {
                millis: millis.into(),
            }),
        }
    }

    /// A trace that delivers at `rate`, some ten seconds long (shorter above 1.2 Gbit/s);
    /// `None` at rate zero, or when one opportunity takes longer than a year. Each
    /// opportunity is at the end of the millisecond in which it is earned, so that the rate is
    /// never exceeded by more than one opportunity.
    pub fn constant(rate: BitRate) -> Option<Trace> {
        const LENGTH_MS: u128 = 10_000;
        /// 8 MB of memory.
        const MOST: u128 = 1_000_000;
        let bps = u128::from(rate.bits_per_second());
        let cost = OPPORTUNITY as u128 * 8 * 1000; // in bits times ms per second
        if bps == 0 || cost / bps >= u128::from(MAX_MILLIS) {
            return None;
        }
        let count = (bps * LENGTH_MS / cost).clamp(1, MOST);
        let millis: Arc<[u64]> = (1..=count)
            .map(|n| (n * cost).div_ceil(bps) as u64)
            .collect();
        Some(Trace { millis })
    }

    /// How long it takes before it begins again, in milliseconds.
    pub fn length_ms(&self) -> u64 {
        self.millis[self.millis.len() - 1]
    }

    /// The average rate over the trace.
    pub fn mean_rate(&self) -> BitRate {
        let bits = self.millis.len() as u128 * OPPORTUNITY as u128 * 8;
        BitRate::from_bits_per_second((bits * 1000 / u128::from(self.length_ms())) as u64)
    }
}

/// As the file format has it, so that [`Trace::parse`] reads it back.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.millis.iter().try_for_each(|ms| writeln!(f, "{ms}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line() {
        let message = |text| Trace::parse(text).unwrap_err().to_string();
        insta::assert_snapshot!(
            ["", "\n\n", "1\n\n2\n", "1\n2 ms\n", "1\n-2\n", "5\n4\n", "0\n0\n", "99999999999999\n"]
                .map(message).join("\n"),
            @r"
        the trace is empty: it needs a line with a time in milliseconds per opportunity
        the trace is empty: it needs a line with a time in milliseconds per opportunity
        line 2: `` is not a whole number of milliseconds
        line 2: `2 ms` is not a whole number of milliseconds
        line 2: `-2` is not a whole number of milliseconds
        line 2: 4 ms comes after 5 ms, but times must not decrease
        every time is 0 ms: the last time is the trace's length and must be above zero
        line 1: 99999999999999 ms is more than 31622400000 ms (a year)
        "
        );
    }

    #[test]
    fn a_constant_trace_has_its_rate() {
        for kbps in [1, 9, 640, 12_032, 50_000, 5_000_000] {
            let rate = BitRate::from_bits_per_second(kbps * 1000);
            let mean = Trace::constant(rate).unwrap().mean_rate();
            let ratio = mean.bits_per_second() as f64 / rate.bits_per_second() as f64;
            assert!((0.999..=1.0).contains(&ratio), "{kbps}: {ratio}");
        }
        assert_eq!(Trace::constant(BitRate::from_bits_per_second(0)), None);
    }
}
