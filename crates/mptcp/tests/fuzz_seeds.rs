//! Do the fuzz targets hold for their seeds? So that a seed that once failed is run in every
//! test, without a fuzzer.

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::path::Path;

/// Runs a target with each of its seeds.
fn run(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(name);
    let mut seeds = 0;
    for entry in folder.read_dir().expect("a folder of seeds") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        #[expect(clippy::disallowed_methods, reason = "a test's input, not the crate's")]
        target(&std::fs::read(path).expect("a seed"));
        seeds += 1;
    }
    assert!(seeds > 0);
}

#[test]
fn segment() {
    run("segment", targets::segment);
}

#[test]
fn options() {
    run("options", targets::options);
}

#[test]
fn extensions() {
    run("extensions", targets::extensions);
}

#[test]
fn stack() {
    run("stack", targets::stack);
}
