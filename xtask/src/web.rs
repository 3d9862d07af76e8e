//! The web bundle, the report's page and the dashboard's: built from the lock file, once per state of its sources.

use crate::{shell, tools};
use anyhow::{Context, Result, bail};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The oldest Node that the bundle's tools run on.
const NODE: &str = "Node 20 or newer, with npm";

/// Builds `web/dist`, unless it was built from exactly these sources.
pub fn build() -> Result<()> {
    let web = shell::root().join("web");
    let stamp = web.join("dist/.sources");
    let sources = fingerprint(&web)?;
    if fs::read_to_string(&stamp).is_ok_and(|s| s == sources) {
        return Ok(());
    }
    install()?;
    shell::program("npm", &["run", "build"], &web)?;
    // The crates that embed the pages are not compiled again by themselves when there was none.
    let now = std::time::SystemTime::now();
    for embedding in [
        "crates/analysis/src/report/bundle.rs",
        "crates/platform/src/dashboard/mod.rs",
    ] {
        let embedding = shell::root().join(embedding);
        fs::File::options()
            .append(true)
            .open(&embedding)
            .and_then(|file| file.set_modified(now))
            .with_context(|| format!("{} cannot be touched", embedding.display()))?;
    }
    fs::write(&stamp, sources).with_context(|| format!("{} cannot be written", stamp.display()))
}

/// Type checks and browser tests of the bundle.
pub fn test() -> Result<()> {
    let web = shell::root().join("web");
    build()?;
    install()?;
    shell::program("npm", &["run", "check"], &web)?;
    shell::program("npm", &["test"], &web)
}

/// `npm ci`, unless the installed packages are those of the lock file.
fn install() -> Result<()> {
    if !tools::has("node") || !tools::has("npm") {
        bail!("{NODE}, is missing: install it from your distribution or its project's site");
    }
    let web = shell::root().join("web");
    let lock = fs::read(web.join("package-lock.json")).context("web/package-lock.json")?;
    let stamp = web.join("node_modules/.lock");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    shell::program("npm", &["ci", "--no-audit", "--no-fund"], &web)?;
    fs::write(&stamp, lock).with_context(|| format!("{} cannot be written", stamp.display()))
}

/// A hash over the names and contents of the bundle's sources.
fn fingerprint(web: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect(web, &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.strip_prefix(web)?.hash(&mut hasher);
        fs::read(&file)?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if !["node_modules", "dist", "fixtures"]
                .iter()
                .any(|skipped| name == *skipped)
            {
                collect(&path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}
