//! Is a study that was written the study that is read?

use crate::synthetic::{exact, luck, stalled, study};
use std::fs;
use walkabout_analysis::study::{Study, StudyError};

fn some() -> Study {
    study(
        &["blackhole", "walk"],
        &["quic", "mpquic-backup"],
        5,
        true,
        |_, arm, seed| match (arm, seed) {
            ("quic", 3) => None,
            ("quic", _) => stalled(20.0),
            _ => exact(luck("x", seed, 0.3)),
        },
    )
}

#[test]
fn comes_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    some().write(folder.path()).unwrap();
    assert_eq!(Study::open(folder.path()).unwrap(), some());
}

#[test]
fn equal_studies_are_equal_bytes() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    some().write(one.path()).unwrap();
    some().write(other.path()).unwrap();
    for file in ["study.json", "runs.parquet"] {
        let of = |folder: &tempfile::TempDir| fs::read(folder.path().join(file)).unwrap();
        assert!(of(&one) == of(&other), "{file}");
    }
    let files = fs::read_dir(one.path()).unwrap().count();
    assert_eq!(files, 2, "nothing partial remains");
}

#[test]
fn without_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = some();
    study.runs.clear();
    study.write(folder.path()).unwrap();
    assert_eq!(Study::open(folder.path()).unwrap(), study);
}

#[test]
fn errors_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let error = Study::open(folder.path()).unwrap_err();
    assert!(matches!(error, StudyError::NotAStudy(_)), "{error}");
    assert!(
        error.to_string().contains("it has no study.json"),
        "{error}"
    );

    some().write(folder.path()).unwrap();
    fs::write(folder.path().join("runs.parquet"), "PAR1").unwrap();
    let error = Study::open(folder.path()).unwrap_err();
    assert!(
        error.to_string().contains("runs.parquet is damaged"),
        "{error}"
    );

    fs::remove_file(folder.path().join("runs.parquet")).unwrap();
    let error = Study::open(folder.path()).unwrap_err();
    assert!(matches!(error, StudyError::Read { .. }), "{error}");

    fs::write(
        folder.path().join("study.json"),
        r#"{"schema": "walkabout.study/9"}"#,
    )
    .unwrap();
    let error = Study::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("walkabout.study/9"), "{error}");

    let missing = folder.path().join("no/such");
    assert!(matches!(
        some().write(&missing),
        Err(StudyError::Write { .. })
    ));

    let mut other = some();
    other.runs[3].parameters.clear();
    let error = other.write(folder.path()).unwrap_err();
    assert!(error.to_string().contains("other parameters"), "{error}");
}
