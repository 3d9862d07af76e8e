//! What may stand where in a scenario file, for editors: its JSON Schema.

use super::Scenario;
use serde_json::Value;

/// The JSON Schema (draft 2020-12) of a scenario file, for editors that complete and check TOML.
///
/// ```
/// let schema = walkabout_model::scenario::json_schema();
/// assert_eq!(schema["title"], "Scenario");
/// ```
pub fn json_schema() -> Value {
    of::<Scenario>()
}

/// The JSON Schema of what `T` is in TOML.
pub(crate) fn of<T: schemars::JsonSchema>() -> Value {
    let schema = schemars::schema_for!(T);
    let mut schema = serde_json::to_value(schema).expect("a schema is JSON");
    without_null(&mut schema);
    schema
}

/// Takes `null` out of the types of optional keys: TOML has no null, such a key is left out.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|t| t != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice["type"] != "null");
                if let [Value::Object(only)] = &choices[..] {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
            object.values_mut().for_each(without_null);
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_null),
        _ => {}
    }
}
