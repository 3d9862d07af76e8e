//! Which quantities a scenario may hold: bit rates, byte sizes, probabilities and durations,
//! each parsed once from text with its unit and never a bare number again.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
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

/// Splits `12.5 Mbit/s` into its number and its unit. A sign belongs to neither: no quantity
/// of a scenario is negative.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Reads a decimal number with one of `units` and multiplies it by the unit's scale; rounds to
/// the nearest whole. Integer arithmetic throughout, so that what [`write_scaled`] wrote comes
/// back as the same number whatever its size.
fn read_scaled(
    text: &str,
    units: &[(&str, u64)],
    expected: &'static str,
) -> Result<u64, UnitError> {
    let (number, unit) = split(text);
    let scale = units.iter().find(|(name, _)| *name == unit).map(|u| u.1);
    let value = scale.and_then(|scale| {
        let digits = number.replace('_', "");
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        // 15 decimals of the largest unit (minutes, in nanoseconds) are far below a nanosecond.
        let fraction = &fraction[..fraction.len().min(15)];
        let whole: u128 = u128::from(whole.parse::<u64>().ok()?) * u128::from(scale);
        let part = match fraction {
            "" => 0,
            _ => {
                let power = 10_u128.pow(fraction.len() as u32);
                (u128::from(fraction.parse::<u64>().ok()?) * u128::from(scale) + power / 2) / power
            }
        };
        u64::try_from(whole + part).ok()
    });
    value.ok_or_else(|| UnitError {
        text: text.to_owned(),
        expected,
    })
}

/// Writes `value` in the largest of `units` (largest first) that says the same number with at
/// most three decimals.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    for (unit, scale) in units {
        let thousandth = (scale / 1_000).max(1);
        if value >= *scale && value.is_multiple_of(thousandth) {
            let (whole, rest) = (value / scale, value % scale / thousandth);
            let decimals = match rest {
                0 => String::new(),
                _ => format!(".{rest:03}").trim_end_matches('0').to_owned(),
            };
            return write!(f, "{whole}{decimals} {unit}");
        }
    }
    let smallest = units.last().map_or("", |u| u.0);
    write!(f, "{value} {smallest}")
}

/// Reads a quantity that is written as text, and says what was expected when it is a number.
struct Text<T> {
    expected: &'static str,
    kind: PhantomData<T>,
}

impl<T: FromStr<Err = UnitError>> de::Visitor<'_> for Text<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (in quotes)", self.expected)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
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
                d.deserialize_str(Text {
                    expected: $expected,
                    kind: PhantomData,
                })
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
        let units = [
            ("bit/s", 1),
            ("bps", 1),
            ("kbit/s", 1_000),
            ("kbps", 1_000),
            ("Mbit/s", 1_000_000),
            ("Mbps", 1_000_000),
            ("Gbit/s", 1_000_000_000),
            ("Gbps", 1_000_000_000),
        ];
        read_scaled(text, &units, RATE).map(BitRate)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            ("Gbit/s", 1_000_000_000),
            ("Mbit/s", 1_000_000),
            ("kbit/s", 1_000),
            ("bit/s", 1),
        ];
        write_scaled(f, self.0, &units)
    }
}
text_serde!(
    BitRate,
    RATE,
    r"^[0-9][0-9_]*(\.[0-9_]+)? *([kMG]?bit/s|[kMG]?bps)$"
);

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
        let units = [
            ("B", 1),
            ("kB", 1_000),
            ("KB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
        ];
        read_scaled(text, &units, SIZE).map(ByteSize)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whole numbers only: nobody writes 1.5 KiB for a packet.
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
text_serde!(
    ByteSize,
    SIZE,
    r"^[0-9][0-9_]*(\.[0-9_]+)? *([kKMG]?B|[KMG]iB)$"
);

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
        let (number, unit) = split(text);
        let number = number.replace('_', "").parse::<f64>().ok();
        let p = match unit {
            "" => number,
            "%" => number.map(|n| n / 100.0),
            _ => None,
        };
        p.and_then(Probability::new).ok_or_else(|| UnitError {
            text: text.to_owned(),
            expected: PROBABILITY,
        })
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
        struct NumberOrText;
        impl de::Visitor<'_> for NumberOrText {
            type Value = Probability;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(PROBABILITY)
            }
            fn visit_f64<E: de::Error>(self, p: f64) -> Result<Probability, E> {
                Probability::new(p).ok_or_else(|| {
                    E::custom(UnitError {
                        text: p.to_string(),
                        expected: PROBABILITY,
                    })
                })
            }
            fn visit_i64<E: de::Error>(self, p: i64) -> Result<Probability, E> {
                self.visit_f64(p as f64)
            }
            fn visit_u64<E: de::Error>(self, p: u64) -> Result<Probability, E> {
                self.visit_f64(p as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }
        }
        d.deserialize_any(NumberOrText)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"description": PROBABILITY, "anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^[0-9][0-9_]*(\.[0-9_]+)? *%?$"}]})
    }
}

/// A length of time in a scenario, written `20 ms`, `1.5 s` or `2 min`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct Span(Duration);

const SPAN: &str = "a time of zero or more, such as `500 us`, `20 ms`, `1.5 s` or `2 min`";

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

    /// Nanoseconds, as many as [`crate::Time`] can hold (584 years).
    pub fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
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
        let units = [
            ("ns", 1),
            ("us", 1_000),
            ("µs", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
        ];
        read_scaled(text, &units, SPAN).map(|ns| Span(Duration::from_nanos(ns)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() {
            return f.write_str("0 s");
        }
        let units = [
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
            ("us", 1_000),
            ("ns", 1),
        ];
        write_scaled(f, self.as_nanos(), &units)
    }
}
text_serde!(
    Span,
    SPAN,
    r"^[0-9][0-9_]*(\.[0-9_]+)? *(ns|us|µs|ms|s|min)$"
);
