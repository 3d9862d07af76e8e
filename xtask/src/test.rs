//! `cargo xtask test`: everything that must hold before a change is accepted.

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
    // All that fails is told at once.
    shell::cargo(&["test", "--locked", "--workspace", "--no-fail-fast"])
}
