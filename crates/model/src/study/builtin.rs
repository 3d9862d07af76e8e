//! Which studies come along: the files of `studies/`, embedded.

/// Name and TOML text of each, sorted by name.
pub const STUDIES: &[(&str, &str)] = &[
    (
        "handover",
        include_str!("../../../../studies/handover.toml"),
    ),
    ("walk", include_str!("../../../../studies/walk.toml")),
];

/// The TOML text of the study called `name`.
///
/// ```
/// use walkabout_model::study::{Document, builtin};
/// let text = builtin::find("handover").unwrap();
/// let document = Document::parse(text, "handover.toml").unwrap();
/// assert_eq!(document.study().baseline.as_deref(), Some("quic"));
/// ```
pub fn find(name: &str) -> Option<&'static str> {
    STUDIES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
