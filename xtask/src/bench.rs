//! `cargo xtask bench`: what the link models and the emulator really do, as JSON.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::{Command, Stdio};

/// The benches: package and name.
const BENCHES: &[(&str, &str)] = &[
    ("walkabout-network", "link"),
    ("walkabout-measure", "virtual_time"),
    ("walkabout-measure", "links"),
    ("walkabout-measure", "oracle"),
];

/// Runs every bench; each prints one JSON object, which is also kept in `target/bench/`.
pub fn all() -> Result<()> {
    let folder = shell::target()?.join("bench");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    for (package, name) in BENCHES {
        let output = Command::new("cargo")
            .args(["bench", "--locked", "--package", package, "--bench", name])
            .current_dir(shell::root())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("the bench `{name}` cannot be started"))?;
        if !output.status.success() {
            bail!("the bench `{name}` failed ({})", output.status);
        }
        let text = String::from_utf8(output.stdout).context("a bench prints UTF-8")?;
        serde_json::from_str::<serde_json::Value>(&text)
            .with_context(|| format!("the bench `{name}` printed no JSON: {text}"))?;
        let file = folder.join(format!("{name}.json"));
        fs::write(&file, &text).with_context(|| file.display().to_string())?;
        print!("{text}");
        eprintln!("kept in {}", file.display());
    }
    Ok(())
}
