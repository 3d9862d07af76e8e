//! Whether two sets of runs are compared, and whether bad input gets one clear error.

use analysis::metric::{Unit, Value, list::METRICS};
use analysis::study::{SCHEMA, ScenarioHead, Study, StudyHead, StudyRun};
use assert_cmd::Command;
use std::path::Path;

/// Exit code, standard output and standard error.
fn compare(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("walkabout").expect("the binary is built with its tests");
    let output = command.arg("compare").args(arguments).output();
    let output = output.expect("it starts");
    (
        output.status.code().expect("it was not killed"),
        String::from_utf8(output.stdout).expect("UTF-8"),
        String::from_utf8(output.stderr).expect("UTF-8"),
    )
}

/// A study of one arm over thirty seeds, every number `factor` times the seed.
fn write(folder: &Path, factor: f64) -> &str {
    let runs = (1..=30).map(|seed| StudyRun {
        scenario: "blackhole".into(),
        parameters: Vec::new(),
        arm: "quic".into(),
        transport: "quic".into(),
        policy: "single".into(),
        replica: 0,
        seed,
        status: "complete".into(),
        error: None,
        folder: None,
        reproduce: format!("walkabout run blackhole --seed {seed}"),
        values: METRICS
            .iter()
            .map(|metric| match metric.unit {
                Unit::Word => None,
                _ => Some(Value::exact(factor * seed as f64)),
            })
            .collect(),
    });
    let study = Study {
        head: StudyHead {
            schema: SCHEMA.into(),
            walkabout_version: "0.1.0".into(),
            name: "one".into(),
            summary: "made up".into(),
            world: "virtual".into(),
            seed: 1,
            a_a: false,
            primary: "delay-max-up".into(),
            baseline: "quic".into(),
            scenarios: vec![ScenarioHead {
                name: "blackhole".into(),
                summary: "made up".into(),
            }],
            parameters: Vec::new(),
            arms: vec!["quic".into()],
            paper: None,
        },
        runs: runs.collect(),
    };
    study.write(folder).expect("a temporary folder");
    folder.to_str().expect("UTF-8")
}

#[test]
fn two_studies() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (a, b) = (write(folders[0].path(), 1.0), write(folders[1].path(), 0.5));
    let (code, out, err) = compare(&[a, b, "--metric", "delay-max-up"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("B's max delay up is 50 % lower than A's"),
        "{out}"
    );
    let (code, out, err) = compare(&[a, b, "--metric", "delay-max-up", "--json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["format"], "walkabout.comparison/1");
    assert_eq!(value["rows"][0]["ratio"], 0.5);
    assert_eq!(value["rows"][0]["verdict"], "lower");
    assert_eq!(value["a"], a);
}

#[test]
fn mistakes() {
    let folder = tempfile::tempdir().expect("a folder");
    let study = write(folder.path(), 1.0);
    for (arguments, code, words) in [
        (
            &[study, study, "--metric", "delay-maxx-up"][..],
            2,
            &["`delay-maxx-up`", "did you mean `delay-max-up`?"][..],
        ),
        (
            &[study, study, "--metric", "cellular-cause"],
            2,
            &["`cellular-cause`"],
        ),
        (
            &[study, "/nonexistent", "--metric", "gap-longest"],
            1,
            &["/nonexistent"],
        ),
        (&[study], 2, &["<B>"]),
    ] {
        let (found, out, err) = compare(arguments);
        assert_eq!((found, out.as_str()), (code, ""), "{err}");
        for word in words {
            assert!(err.contains(word), "`{word}` is not in: {err}");
        }
    }
    let empty = tempfile::tempdir().expect("a folder");
    let empty = empty.path().to_str().expect("UTF-8");
    let (code, out, _) = compare(&[study, empty, "--metric", "gap-longest", "--json"]);
    assert_eq!(code, 1);
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["error"]["exit_code"], 1);
}
