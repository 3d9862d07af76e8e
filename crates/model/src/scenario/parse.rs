//! From TOML text to a checked scenario, with errors that name file, line and key.

/// placeholder
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ScenarioError(String);

/// placeholder
pub fn json_schema() -> serde_json::Value {
    serde_json::to_value(schemars::schema_for!(super::Scenario)).expect("a schema is JSON")
}
