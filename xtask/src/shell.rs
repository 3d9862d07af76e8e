//! How commands are run: from the workspace's root, shown before they start.

use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The workspace's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
}

/// Where cargo puts what it builds.
pub fn target() -> Result<PathBuf> {
    let output = Command::new(cargo_program())
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(root())
        .output()
        .context("cargo metadata")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let target = metadata["target_directory"]
        .as_str()
        .context("cargo metadata names no target directory")?;
    Ok(target.into())
}

fn cargo_program() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Runs cargo.
pub fn cargo(arguments: &[&str]) -> Result<()> {
    cargo_with(arguments, &[])
}

/// Runs cargo with more environment variables.
pub fn cargo_with(arguments: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    run(Command::new(cargo_program())
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(root()))
}

/// Runs a program in `folder`.
pub fn program(program: impl AsRef<OsStr>, arguments: &[&str], folder: &Path) -> Result<()> {
    run(Command::new(program).args(arguments).current_dir(folder))
}

/// Runs cargo and hands on every line it prints, on standard output; each goes to `see` as well.
pub fn cargo_seen(arguments: &[&str], mut see: impl FnMut(&str)) -> Result<()> {
    let mut command = Command::new(cargo_program());
    command.args(arguments).current_dir(root());
    let line = announce(&command);
    // Both streams in one pipe, so that lines keep their order.
    let (reader, writer) = std::io::pipe()?;
    command.stderr(writer.try_clone()?).stdout(writer);
    let child = command.spawn();
    // It holds the pipe's other end, which would never be closed.
    drop(command);
    let mut child = child.with_context(|| format!("`{line}` cannot be started"))?;
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        std::io::stdout().write_all(&bytes)?;
        see(String::from_utf8_lossy(&bytes).trim_end());
        bytes.clear();
    }
    succeeded(&line, child.wait()?)
}

fn run(command: &mut Command) -> Result<()> {
    let line = announce(command);
    let status = command
        .status()
        .with_context(|| format!("`{line}` cannot be started"))?;
    succeeded(&line, status)
}

/// Shows a command that is about to start; returns its words.
fn announce(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|w| w.to_string_lossy())
        .collect();
    let line = words.join(" ");
    eprintln!("$ {line}");
    line
}

fn succeeded(line: &str, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Replaces this process by `program`, so that signals and exit codes are its own.
pub fn become_program(program: &Path, arguments: &[&str]) -> Result<()> {
    eprintln!("$ walkabout {}", arguments.join(" "));
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("{} cannot be started", program.display()))
}
