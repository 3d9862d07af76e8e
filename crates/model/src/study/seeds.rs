//! Which seeds does a study take?

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;
use std::fmt;

/// Seeds are numbers that every JSON reader keeps exactly.
const MOST: u64 = 1 << 53;

/// Seeds in a row. Written `100`, or `{ from = 1, count = 100 }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Seeds {
    /// The first.
    pub from: u64,
    /// How many.
    pub count: u64,
}

/// The two forms, for the schema.
#[allow(dead_code)] // only its schema is used
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Written {
    /// So many, from 1 on.
    Count(u64),
    /// So many, from there on.
    Range(Range),
}

impl JsonSchema for Seeds {
    fn schema_name() -> Cow<'static, str> {
        "Seeds".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Range {
    /// The first seed; 1 when absent.
    #[serde(default = "first")]
    from: u64,
    /// How many seeds.
    count: u64,
}

fn first() -> u64 {
    1
}

impl Default for Seeds {
    fn default() -> Seeds {
        Seeds {
            from: first(),
            count: 100,
        }
    }
}

impl Seeds {
    /// What is wrong with them, if they are to be taken `replicas` times.
    pub(super) fn fault(self, replicas: u64) -> Option<String> {
        if self.count == 0 {
            return Some("at least 1 seed was expected".to_owned());
        }
        let end = self.count.checked_mul(replicas);
        let end = end.and_then(|n| n.checked_add(self.from));
        end.is_none_or(|end| end > MOST)
            .then(|| format!("the seeds go beyond {MOST} (2^53)"))
    }

    /// The seed of the `n`th block, from 0. The second copies of an A/A study take the seeds
    /// behind those of the first.
    pub fn seed(self, n: u64, replica: u64) -> u64 {
        self.from + replica * self.count + n
    }
}

/// By hand, because serde's own message for an untagged enum says neither what is wrong nor
/// what was expected.
impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Seeds, D::Error> {
        struct CountOrRange;
        impl<'de> de::Visitor<'de> for CountOrRange {
            type Value = Seeds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seeds such as `100`, or `{ from = 1, count = 100 }`")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Seeds, E> {
                Ok(Seeds {
                    from: first(),
                    count,
                })
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Seeds, E> {
                match u64::try_from(count) {
                    Ok(count) => self.visit_u64(count),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Signed(count), &self)),
                }
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Seeds, A::Error> {
                let Range { from, count } = Range::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Seeds { from, count })
            }
        }
        d.deserialize_any(CountOrRange)
    }
}
