//! Do the files with a paper's numbers belong to studies, and are mistakes in them told with their line?

use std::collections::BTreeSet;
use walkabout_model::reproduction::{Document, Subjects, Test};
use walkabout_model::study;
use walkabout_model::study::builtin::{PAPERS, STUDIES};

#[test]
fn each_result_has_a_study_numbers_and_criteria() {
    let mut ids = BTreeSet::new();
    let mut used = BTreeSet::new();
    for (name, text) in STUDIES {
        let study = study::Document::parse(text, name).unwrap();
        let Some(file) = &study.study().paper else {
            continue;
        };
        assert!(used.insert(file.clone()), "{file} serves two studies");
        let text = study::builtin::paper(file).unwrap_or_else(|| panic!("no {file}"));
        let document = Document::parse(text, file).unwrap_or_else(|e| panic!("{e}"));
        let reproduction = document.reproduction();
        assert!(
            ids.insert(reproduction.id.clone()),
            "{} is there twice",
            reproduction.id
        );
        assert!(
            reproduction.source.contains("MultiMob, section"),
            "{file} cites no section"
        );
        let numbers = reproduction.figures.iter().flat_map(|f| &f.curves);
        let numbers = numbers
            .filter(|c| c.value.is_some() || !c.values.is_empty())
            .count();
        // What FAST_JOIN gains, and the field's delays, are told without figures.
        let told = ["M5", "M9"].contains(&reproduction.id.as_str());
        assert!(numbers > 0 || told, "{file} has no number of the paper");
    }
    assert!(
        used.iter()
            .map(String::as_str)
            .eq(PAPERS.iter().map(|(name, _)| *name))
    );
    let expected: BTreeSet<String> = (1..=9).map(|n| format!("M{n}")).collect();
    assert_eq!(ids, expected);
}

const TEXT: &str = r#"
id = "X1"
title = "It is halved"
source = "A paper, section 1"
claim = "It is half."

[[figure]]
title = "Delays"
metric = "delay-max"
along = "loss"
[[figure.curve]]
name = "A"
of = { arm = "a" }
values = { "5 %" = 1.0 }

[[criterion]]
says = "half"
metric = "delay-max"
[criterion.test.ratio]
of = { arm = "a", at = { loss = "5 %" } }
to = { arm = "b", scenario = "walk" }
within = [0.4, 0.6]

[[criterion]]
says = "as drawn"
metric = "delay-max"
[criterion.test.factor]
curve = "A"
most = 1.5
"#;

fn subjects() -> Subjects<'static> {
    Subjects {
        arms: vec!["a", "b"],
        scenarios: vec!["walk"],
        parameters: vec![("loss", vec!["0 %", "5 %"])],
        metrics: vec!["delay-max"],
    }
}

fn read(text: &str) -> Result<Document, String> {
    let document = Document::parse(text, "x1.paper.toml").map_err(|e| e.to_string())?;
    let checked = document.check_against(&subjects());
    checked.map(|()| document).map_err(|e| e.to_string())
}

#[test]
fn what_is_right_is_read() {
    let document = read(TEXT).unwrap();
    let reproduction = document.reproduction();
    let Test::Ratio(ratio) = &reproduction.criteria[0].test else {
        panic!("a ratio")
    };
    assert_eq!(ratio.of.to_string(), "a at loss=5 %");
    assert_eq!(ratio.to.to_string(), "b in walk");
    assert_eq!(
        ratio.of.with("queue", "none").to_string(),
        "a at loss=5 %, queue=none"
    );
}

#[test]
fn mistakes_name_the_line() {
    let cases = [
        (
            "arm = \"b\"",
            "arm = \"c\"",
            21,
            "the study has no arm `c`; expected one of a, b",
        ),
        (
            "scenario = \"walk\"",
            "scenario = \"wlak\"",
            21,
            "did you mean `walk`?",
        ),
        (
            "at = { loss",
            "at = { los",
            20,
            "the study has no parameter `los`",
        ),
        (
            "loss = \"5 %\"",
            "loss = \"6 %\"",
            20,
            "`loss` never has the value `6 %`",
        ),
        (
            "{ \"5 %\" = 1.0 }",
            "{ \"7 %\" = 1.0 }",
            14,
            "`loss` never has the value `7 %`",
        ),
        (
            "along = \"loss\"",
            "along = \"lost\"",
            10,
            "the study has no parameter `lost`",
        ),
        (
            "metric = \"delay-max\"",
            "metric = \"delay\"",
            9,
            "no metric that is a number is called `delay`",
        ),
        (
            "within = [0.4, 0.6]",
            "within = [0.6, 0.4]",
            22,
            "the lower end comes first",
        ),
        ("most = 1.5", "most = 0.5", 29, "is no factor above 1"),
        (
            "curve = \"A\"",
            "curve = \"B\"",
            28,
            "no curve is called `B`",
        ),
        (
            "values = { \"5 %\" = 1.0 }",
            "value = 1.0",
            14,
            "`values` go with a figure that has `along`",
        ),
        (
            "within = [0.4",
            "witin = [0.4",
            22,
            "did you mean `within`?",
        ),
        ("id = \"X1\"", "id = \"X 1\"", 2, "`X 1` is no name"),
    ];
    for (right, wrong, line, words) in cases {
        let text = TEXT.replacen(right, wrong, 1);
        assert_ne!(text, TEXT, "{right}");
        let error = read(&text).map(|_| ()).unwrap_err();
        assert!(error.contains(words), "{wrong}: {error}");
        assert!(
            error.starts_with(&format!("x1.paper.toml:{line}:")),
            "{wrong}: {error}"
        );
    }
    let none = TEXT.split("[[criterion]]").next().unwrap();
    assert!(
        read(none).is_err(),
        "without a criterion nothing can be reproduced"
    );
}
