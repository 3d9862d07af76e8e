//! Whether every dependency's licence goes with MIT OR Apache-2.0.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// Licences that ask for no more than a notice, or that cover their own files alone.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Fails with the list of packages whose licence is not known to be compatible.
pub fn check() -> Result<()> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(shell::root())
        .output()
        .context("cargo metadata")?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    let offenders: Vec<String> = packages
        .iter()
        .filter(|p| !p["license"].as_str().is_some_and(is_allowed))
        .map(|p| format!("{} {} ({})", p["name"], p["version"], p["license"]))
        .collect();
    if !offenders.is_empty() {
        bail!(
            "licences that are not known to be compatible: {}",
            offenders.join(", ")
        );
    }
    eprintln!("licences of {} packages: compatible", packages.len());
    Ok(())
}

/// Evaluates an SPDX expression of ANDs, ORs and brackets (and the old `/` for OR).
fn is_allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace(" WITH ", "\u{1}");
    let words: Vec<String> = spaced
        .split_whitespace()
        .map(|w| w.replace('\u{1}', " WITH "))
        .collect();
    let mut rest = words.as_slice();
    any(&mut rest) && rest.is_empty()
}

fn any(words: &mut &[String]) -> bool {
    let mut result = all(words);
    while words.first().is_some_and(|w| w == "OR") {
        *words = &words[1..];
        result |= all(words);
    }
    result
}

fn all(words: &mut &[String]) -> bool {
    let mut result = one(words);
    while words.first().is_some_and(|w| w == "AND") {
        *words = &words[1..];
        result &= one(words);
    }
    result
}

fn one(words: &mut &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    *words = rest;
    if first != "(" {
        return ALLOWED.contains(&first.as_str());
    }
    let result = any(words);
    if words.first().is_some_and(|w| w == ")") {
        *words = &words[1..];
    }
    result
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn expressions() {
        assert!(is_allowed("MIT OR Apache-2.0"));
        assert!(is_allowed("MIT/Apache-2.0"));
        assert!(is_allowed("(MIT OR GPL-3.0) AND Unicode-3.0"));
        assert!(is_allowed("Apache-2.0 WITH LLVM-exception OR GPL-2.0"));
        assert!(!is_allowed("GPL-3.0"));
        assert!(!is_allowed("MIT AND GPL-3.0"));
        assert!(!is_allowed(""));
    }
}
