//! Which scenarios come along: the files of `scenarios/`, embedded.

/// Name and TOML text of each, sorted by name.
pub const SCENARIOS: &[(&str, &str)] = &[
    (
        "blackhole",
        include_str!("../../../../scenarios/blackhole.toml"),
    ),
    (
        "blackhole-down",
        include_str!("../../../../scenarios/blackhole-down.toml"),
    ),
    (
        "blackhole-up",
        include_str!("../../../../scenarios/blackhole-up.toml"),
    ),
    (
        "bufferbloat",
        include_str!("../../../../scenarios/bufferbloat.toml"),
    ),
    (
        "carrier-loss",
        include_str!("../../../../scenarios/carrier-loss.toml"),
    ),
    ("jitter", include_str!("../../../../scenarios/jitter.toml")),
    (
        "link-down",
        include_str!("../../../../scenarios/link-down.toml"),
    ),
    (
        "multimob",
        include_str!("../../../../scenarios/multimob.toml"),
    ),
    ("steady", include_str!("../../../../scenarios/steady.toml")),
    ("walk", include_str!("../../../../scenarios/walk.toml")),
];

/// The TOML text of the scenario called `name`.
///
/// ```
/// use walkabout_model::scenario::{Document, builtin};
/// let text = builtin::find("walk").unwrap();
/// let document = Document::parse(text, "walk.toml").unwrap();
/// assert_eq!(document.scenario().paths.len(), 2);
/// ```
pub fn find(name: &str) -> Option<&'static str> {
    SCENARIOS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
