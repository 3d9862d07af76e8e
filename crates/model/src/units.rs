//! Which quantities a scenario may hold: bit rates, byte sizes, probabilities and durations,
//! each parsed once from text with its unit and never a bare number again.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A text that is no quantity of the asked kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct UnitError {
    /// The text as written.
    pub text: String,
    /// What was expected, with an example.
    pub expected: &'static str,
}

/// Splits `12.5 Mbit/s` into its number and its unit.
fn split<'t>(text: &'t str, expected: &'static str) -> Result<(f64, &'t str), UnitError> {
    let error = || UnitError {
        text: text.to_owned(),
        expected,
    };
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(trimmed.len());
    let number: f64 = trimmed[..end]
        .replace('_', "")
        .parse()
        .map_err(|_| error())?;
    if !number.is_finite() || number < 0.0 {
        return Err(error());
    }
    Ok((number, trimmed[end..].trim()))
}

macro_rules! text_serde {
    ($type:ident, $expected:expr, $pattern:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                text.parse().map_err(de::Error::custom)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern, "description": $expected})
            }
        }
    };
}

/// A rate in bits per second.
///
/// ```
/// use walkabout_model::units::BitRate;
/// assert_eq!("2.5 Mbit/s".parse::<BitRate>().unwrap().bits_per_second(), 2_500_000);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct BitRate(u64);

const RATE: &str = "a bit rate such as `10 Mbit/s`, `640 kbit/s` or `1 Gbit/s`";

impl BitRate {
    /// A rate of `bits` per second.
    pub const fn from_bits_per_second(bits: u64) -> BitRate {
        BitRate(bits)
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// How long `bytes` take at this rate; `None` at rate zero.
    pub fn time_for(self, bytes: usize) -> Option<Duration> {
        let nanos = (bytes as u128 * 8 * 1_000_000_000).div_ceil(u128::from(self.0).max(1));
        (self.0 > 0).then(|| Duration::from_nanos(nanos.min(u128::from(u64::MAX)) as u64))
    }
}

impl FromStr for BitRate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, RATE)?;
        let scale = match unit {
            "bit/s" | "bps" => 1.0,
            "kbit/s" | "kbps" => 1e3,
            "Mbit/s" | "Mbps" => 1e6,
            "Gbit/s" | "Gbps" => 1e9,
            _ => {
                return Err(UnitError {
                    text: text.to_owned(),
                    expected: RATE,
                });
            }
        };
        Ok(BitRate((number * scale).round() as u64))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, scale) in [
            ("Gbit/s", 1_000_000_000),
            ("Mbit/s", 1_000_000),
            ("kbit/s", 1_000),
        ] {
            // Only as long as the short form says the same number.
            if self.0 >= scale && (self.0 * 1000).is_multiple_of(scale) {
                return write!(f, "{} {unit}", self.0 as f64 / scale as f64);
            }
        }
        write!(f, "{} bit/s", self.0)
    }
}
text_serde!(BitRate, RATE, r"^[0-9._]+ ?([kMG]?bit/s|[kMG]?bps)$");

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct ByteSize(u64);

const SIZE: &str = "a size such as `2000 B`, `64 KiB` or `10 MB`";

impl ByteSize {
    /// A size of `bytes`.
    pub const fn from_bytes(bytes: u64) -> ByteSize {
        ByteSize(bytes)
    }

    /// Bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, SIZE)?;
        let scale = match unit {
            "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => {
                return Err(UnitError {
                    text: text.to_owned(),
                    expected: SIZE,
                });
            }
        };
        Ok(ByteSize((number * scale).round() as u64))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, scale) in [
            ("GiB", 1 << 30),
            ("GB", 1_000_000_000),
            ("MiB", 1 << 20),
            ("MB", 1_000_000),
            ("KiB", 1 << 10),
            ("kB", 1_000),
        ] {
            if self.0 >= scale && self.0.is_multiple_of(scale) {
                return write!(f, "{} {unit}", self.0 / scale);
            }
        }
        write!(f, "{} B", self.0)
    }
}
text_serde!(ByteSize, SIZE, r"^[0-9._]+ ?([kKMG]?B|[KMG]iB)$");

/// A probability from 0 to 1, written `1 %` or `0.01`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Probability(f64);

const PROBABILITY: &str = "a probability such as `1 %` or `0.01`, from 0 to 1";

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0.0);
    /// Always.
    pub const ONE: Probability = Probability(1.0);

    /// A probability; `None` outside 0 to 1.
    pub fn new(p: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&p).then_some(Probability(p))
    }

    /// From 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Probability {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError {
            text: text.to_owned(),
            expected: PROBABILITY,
        };
        let (number, unit) = split(text, PROBABILITY)?;
        let p = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(error()),
        };
        Probability::new(p).ok_or_else(error)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        match Written::deserialize(d)? {
            Written::Number(p) => Probability::new(p).ok_or_else(|| {
                de::Error::custom(UnitError {
                    text: p.to_string(),
                    expected: PROBABILITY,
                })
            }),
            Written::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"description": PROBABILITY, "anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^[0-9.]+ ?%?$"}]})
    }
}

/// A length of time in a scenario, written `20 ms`, `1.5 s` or `2 min`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct Span(Duration);

const SPAN: &str = "a time such as `500 us`, `20 ms`, `1.5 s` or `2 min`, not negative";

impl Span {
    /// No time.
    pub const ZERO: Span = Span(Duration::ZERO);

    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Span {
        Span(Duration::from_millis(ms))
    }

    /// The duration.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl From<Duration> for Span {
    fn from(d: Duration) -> Span {
        Span(d)
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError {
            text: text.to_owned(),
            expected: SPAN,
        };
        let (number, unit) = split(text, SPAN)?;
        let nanos = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            _ => return Err(error()),
        };
        Ok(Span(Duration::from_nanos((number * nanos).round() as u64)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        for (unit, scale) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
            if ns >= scale && (ns * 1000).is_multiple_of(scale) {
                return write!(f, "{} {unit}", ns as f64 / scale as f64);
            }
        }
        write!(f, "{ns} ns")
    }
}
text_serde!(Span, SPAN, r"^[0-9._]+ ?(ns|us|µs|ms|s|min)$");
