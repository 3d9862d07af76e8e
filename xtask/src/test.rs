//! `cargo xtask test`: everything that must hold before a change is accepted.

use crate::failures::Failures;
use crate::{licences, shell, tools, web};
use anyhow::Result;

/// Runs all checks and tests, the quick ones first.
pub fn all() -> Result<()> {
    tools::ensure(tools::FOR_TESTS)?;
    shell::cargo(&["fmt", "--all", "--check"])?;
    licences::check()?;
    web::test()?;
    shell::cargo(&[
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ])?;
    shell::cargo_with(
        &["doc", "--locked", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "--deny warnings")],
    )?;
    // All that fails is told at once, and again at the end, where it is found.
    let mut failures = Failures::default();
    let arguments = ["test", "--locked", "--workspace", "--no-fail-fast"];
    let result = shell::cargo_seen(&arguments, |line| failures.see(line));
    if result.is_err() {
        println!("\nWhat failed:\n{}", failures.told());
    }
    result
}
