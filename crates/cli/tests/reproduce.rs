//! Is a paper's result held against runs, the same each time, and is what is wrong told?

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn walkabout(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("walkabout"));
    let command = command.args(arguments).current_dir(folder);
    command.output().expect("it starts")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        let err = String::from_utf8_lossy(&output.stderr);
        panic!("{e}: {}{err}", String::from_utf8_lossy(&output.stdout))
    })
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_list_has_every_id_and_the_docs_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = json(&walkabout(
        folder.path(),
        &["reproduce", "--list", "--json"],
    ));
    let ids: Vec<&str> = list
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|entry| entry["id"].as_str())
        .collect();
    assert_eq!(ids, ["M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9"]);
    assert_eq!(list[0]["study"], "multimob-fig3");
    assert!(list[0]["criteria"].as_array().is_some_and(|c| c.len() >= 2));
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduce.md");
    let docs = fs::read_to_string(docs).expect("docs");
    for entry in list.as_array().expect("a list") {
        for name in ["id", "study"] {
            let name = entry[name].as_str().expect("a name");
            assert!(
                docs.contains(&format!("`{name}`")),
                "docs say nothing of {name}"
            );
        }
    }
    let text = walkabout(folder.path(), &["reproduce", "--list", "M6"]);
    assert!(
        words(&text.stdout)
            .trim_start()
            .starts_with("M6  multimob-walk")
    );
    let left = fs::read_dir(folder.path()).expect("our own folder").count();
    assert_eq!(left, 0, "a list leaves nothing behind");
}

#[test]
fn a_result_is_reproduced_and_again_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |out: &str, jobs: &str| {
        let arguments = ["reproduce", "M1", "--seeds", "5", "--check", "--json"];
        walkabout(
            folder.path(),
            &[&arguments[..], &["--out", out, "--jobs", jobs]].concat(),
        )
    };
    let output = run("one", "2");
    assert!(output.status.success(), "{}", words(&output.stderr));
    let document = json(&output);
    let m1 = &document["reproductions"][0];
    assert_eq!(
        (&m1["id"], &m1["verdict"]),
        (&"M1".into(), &"reproduced".into()),
        "{m1:#}"
    );
    let criteria = m1["criteria"].as_array().expect("criteria");
    assert!(criteria.iter().all(|c| c["finding"] == "met"), "{m1:#}");
    let ours = m1["figures"][0]["curves"][1]["ours"]
        .as_array()
        .expect("points");
    assert_eq!(ours.len(), 2);
    assert_eq!(ours[0]["runs"], 5);
    let paper = m1["figures"][0]["curves"][1]["paper"]
        .as_array()
        .expect("points");
    assert_eq!(paper[1]["value"], 0.275);
    let page = fs::read_to_string(folder.path().join("one/M1/report.html")).expect("a page");
    assert!(
        page.contains("\"reproduction\":"),
        "the page has the verdict"
    );

    let again = run("other", "1");
    assert!(again.status.success());
    for file in ["study.json", "runs.parquet"] {
        let read = |out: &str| fs::read(folder.path().join(out).join("M1").join(file)).expect(file);
        assert!(read("one") == read("other"), "{file}");
    }
    let mut other = json(&again)["reproductions"][0].clone();
    other["folder"] = m1["folder"].clone();
    assert_eq!(&other, m1);

    // Drawn again from the folder alone.
    let report = walkabout(folder.path(), &["report", "one/M1", "--json"]);
    assert_eq!(
        json(&report)["study"]["reproduction"]["verdict"],
        "reproduced"
    );
}

#[test]
fn too_few_runs_decide_nothing_and_check_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["reproduce", "M1", "--seeds", "1", "--out", "few"];
    let plain = walkabout(folder.path(), &arguments);
    assert!(plain.status.success(), "{}", words(&plain.stderr));
    let text = words(&plain.stdout);
    assert!(
        text.contains("M1 not decidable in the virtual world"),
        "{text}"
    );
    assert!(text.contains("1 runs, 5 are needed"), "{text}");
    // What is done is not done again; the verdict is an error now.
    let checked = walkabout(
        folder.path(),
        &[&arguments[..], &["--check", "--json"]].concat(),
    );
    assert_eq!(checked.status.code(), Some(1));
    let document = json(&checked);
    assert_eq!(
        document["error"]["message"],
        "not reproduced, or not decidable: M1"
    );
    assert_eq!(document["reproductions"][0]["verdict"], "not-decidable");
}

#[test]
fn mistakes() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&[&str], &str); 3] = [
        (
            &["M11"],
            "no reproduction is called `M11`; there are M1, M2",
        ),
        (&["m1"], "did you mean `M1`?"),
        (
            &["M1", "--world", "live"],
            "no world for this is called `live`",
        ),
    ];
    for (arguments, expected) in cases {
        let output = walkabout(folder.path(), &[&["reproduce"], arguments].concat());
        let err = words(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
        assert!(err.contains(expected), "{arguments:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(output.stdout.is_empty());
    }
    // A study of one's own names a file that is wrong.
    let study = "name = \"mine\"\nsummary = \"One line\"\nscenarios = [\"steady\"]\ntransports = [\"quic\"]\npaper = \"mine.paper.toml\"\n";
    fs::write(folder.path().join("mine.toml"), study).expect("our own folder");
    let missing = walkabout(folder.path(), &["study", "mine.toml", "--dry-run"]);
    assert_eq!(missing.status.code(), Some(2));
    let err = words(&missing.stderr);
    assert!(err.contains("mine.toml:5:"), "{err}");
    assert!(err.contains("is no file beside the study"), "{err}");
    let paper = "id = \"X1\"\ntitle = \"t\"\nsource = \"s\"\nclaim = \"c\"\n[[criterion]]\nsays = \"so\"\nmetric = \"delay-max\"\n[criterion.test.range]\nof = { arm = \"quik\" }\nwithin = [0, 1]\n";
    fs::write(folder.path().join("mine.paper.toml"), paper).expect("our own folder");
    let wrong = walkabout(folder.path(), &["study", "mine.toml", "--dry-run"]);
    let err = words(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err.contains("mine.paper.toml:9:"), "{err}");
    assert!(err.contains("the study has no arm `quik`"), "{err}");
}
