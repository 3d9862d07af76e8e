//! `cargo xtask bench`: what the link models and the emulator really do, as JSON.

use crate::shell;
use anyhow::Result;

/// Runs every bench; each prints one JSON object.
pub fn all() -> Result<()> {
    shell::cargo(&[
        "bench",
        "--locked",
        "--package",
        "walkabout-network",
        "--bench",
        "link",
    ])?;
    shell::cargo(&[
        "bench",
        "--locked",
        "--package",
        "walkabout-measure",
        "--bench",
        "links",
    ])
}
