//! Which studies come along: the files of `studies/`, embedded.

/// Name and TOML text of each, sorted by name.
pub const STUDIES: &[(&str, &str)] = &[
    (
        "handover",
        include_str!("../../../../studies/handover.toml"),
    ),
    (
        "kernel-blackhole",
        include_str!("../../../../studies/kernel-blackhole.toml"),
    ),
    (
        "multimob-field",
        include_str!("../../../../studies/multimob-field.toml"),
    ),
    (
        "multimob-fig3",
        include_str!("../../../../studies/multimob-fig3.toml"),
    ),
    (
        "multimob-fig4",
        include_str!("../../../../studies/multimob-fig4.toml"),
    ),
    (
        "multimob-fig5",
        include_str!("../../../../studies/multimob-fig5.toml"),
    ),
    (
        "multimob-fig6",
        include_str!("../../../../studies/multimob-fig6.toml"),
    ),
    (
        "multimob-fig7",
        include_str!("../../../../studies/multimob-fig7.toml"),
    ),
    (
        "multimob-radio",
        include_str!("../../../../studies/multimob-radio.toml"),
    ),
    (
        "multimob-revive",
        include_str!("../../../../studies/multimob-revive.toml"),
    ),
    (
        "multimob-walk",
        include_str!("../../../../studies/multimob-walk.toml"),
    ),
    ("walk", include_str!("../../../../studies/walk.toml")),
];

/// Name and TOML text of each file with a paper's numbers, as the studies name them; sorted by
/// name.
pub const PAPERS: &[(&str, &str)] = &[
    (
        "multimob-field.paper.toml",
        include_str!("../../../../studies/multimob-field.paper.toml"),
    ),
    (
        "multimob-fig3.paper.toml",
        include_str!("../../../../studies/multimob-fig3.paper.toml"),
    ),
    (
        "multimob-fig4.paper.toml",
        include_str!("../../../../studies/multimob-fig4.paper.toml"),
    ),
    (
        "multimob-fig5.paper.toml",
        include_str!("../../../../studies/multimob-fig5.paper.toml"),
    ),
    (
        "multimob-fig6.paper.toml",
        include_str!("../../../../studies/multimob-fig6.paper.toml"),
    ),
    (
        "multimob-fig7.paper.toml",
        include_str!("../../../../studies/multimob-fig7.paper.toml"),
    ),
    (
        "multimob-radio.paper.toml",
        include_str!("../../../../studies/multimob-radio.paper.toml"),
    ),
    (
        "multimob-revive.paper.toml",
        include_str!("../../../../studies/multimob-revive.paper.toml"),
    ),
    (
        "multimob-walk.paper.toml",
        include_str!("../../../../studies/multimob-walk.paper.toml"),
    ),
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
    look_up(STUDIES, name)
}

/// The TOML text of the file called `name` with a paper's numbers.
///
/// ```
/// use walkabout_model::reproduction::Document;
/// use walkabout_model::study::builtin;
/// let text = builtin::paper("multimob-fig3.paper.toml").unwrap();
/// let document = Document::parse(text, "multimob-fig3.paper.toml").unwrap();
/// assert_eq!(document.reproduction().id, "M1");
/// ```
pub fn paper(name: &str) -> Option<&'static str> {
    look_up(PAPERS, name)
}

fn look_up(list: &'static [(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    let found = list.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}
