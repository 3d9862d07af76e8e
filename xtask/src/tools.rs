//! What a fresh machine may lack: installed where that is possible, else named exactly.

use anyhow::{Result, bail};
use std::process::{Command, Stdio};

/// A program, the Debian package that has it, and what it is for.
pub struct Tool {
    /// The program.
    pub program: &'static str,
    /// The Debian package.
    pub package: &'static str,
    /// What it is for.
    pub purpose: &'static str,
}

/// What the tests need beside Rust and Node.
pub const FOR_TESTS: &[Tool] = &[
    Tool {
        program: "tshark",
        package: "tshark",
        purpose: "checks the captures of a run",
    },
    Tool {
        program: "chromium",
        package: "chromium",
        purpose: "opens the report",
    },
    Tool {
        program: "ip",
        package: "iproute2",
        purpose: "sets up networks for tests",
    },
    Tool {
        program: "postgres",
        package: "postgresql",
        purpose: "keeps the results of those who outgrow SQLite",
    },
    Tool {
        program: "setpriv",
        package: "util-linux",
        purpose: "runs tests as an ordinary user",
    },
];

/// Whether `program` can be started, or is where Debian keeps PostgreSQL's: a folder per version.
pub fn has(program: &str) -> bool {
    let started = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut folders = versions.flatten().map(|version| version.path().join("bin"));
    started.is_ok() || folders.any(|folder| folder.join(program).exists())
}

/// Makes sure that all of `tools` are there: by apt-get as root, else by asking for them.
pub fn ensure(tools: &[Tool]) -> Result<()> {
    let missing: Vec<&Tool> = tools.iter().filter(|t| !has(t.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|t| t.package).collect();
    let install = format!("apt-get install -y {}", packages.join(" "));
    if is_root() && has("apt-get") {
        eprintln!("$ {install}");
        let apt = |arguments: &[&str]| {
            Command::new("apt-get")
                .env("DEBIAN_FRONTEND", "noninteractive")
                .args(arguments)
                .stdout(Stdio::null())
                .status()
        };
        apt(&["update", "-qq"])?;
        let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
        arguments.extend(&packages);
        apt(&arguments)?;
    }
    let still: Vec<String> = missing
        .iter()
        .filter(|t| !has(t.program))
        .map(|t| format!("{} ({})", t.program, t.purpose))
        .collect();
    if !still.is_empty() {
        bail!(
            "missing: {}; install with `sudo {install}` or your distribution's equivalent",
            still.join(", ")
        );
    }
    Ok(())
}

fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|o| o.stdout.trim_ascii() == b"0")
}
