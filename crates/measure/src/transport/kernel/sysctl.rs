//! How the sysctls of a network namespace are read and set.
//!
//! `/proc/sys/net` shows the network namespace of the thread that opens the file.

use super::SetupError;
use std::fs;
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

/// A sysctl's value, trimmed; `None` when this kernel does not have it.
pub fn read(name: &str) -> Option<String> {
    let text = fs::read_to_string(file(name)).ok()?;
    Some(text.trim().to_owned())
}

/// Sets a sysctl; does not touch it when it has the value already.
pub fn set(name: &str, value: &str) -> Result<(), SetupError> {
    if read(name).as_deref() == Some(value) {
        return Ok(());
    }
    fs::write(file(name), value).map_err(|source| SetupError::Sysctl {
        name: name.to_owned(),
        value: value.to_owned(),
        source,
    })
}

/// Chooses who manages the paths of the connections made from now on in this namespace.
pub fn set_path_manager(userspace: bool) -> Result<(), SetupError> {
    let (name, number) = if userspace {
        ("userspace", "1")
    } else {
        ("kernel", "0")
    };
    // The name replaced the number in Linux 6.15, which keeps both.
    match read("net.mptcp.path_manager") {
        Some(_) => set("net.mptcp.path_manager", name),
        None => set("net.mptcp.pm_type", number),
    }
}
