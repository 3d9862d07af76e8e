//! The list of path managers.

use crate::PathManager;

/// An entry of the list.
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
    /// What the kernel's own path manager does for it on MPTCP, where it needs no brain at
    /// run time; `None` when it decides at run time through the userspace path manager.
    pub kernel: Option<KernelManaged>,
    /// Makes one.
    pub make: fn() -> Box<dyn PathManager>,
}

/// Endpoints the kernel's own path manager is given on the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelManaged {
    /// None: one subflow.
    Single,
    /// Each path, regular.
    Fullmesh,
    /// Each path; cellular ones as backup.
    Backup,
}

/// Every path manager, sorted by name.
pub const MANAGERS: &[Entry] = &[];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    MANAGERS.iter().find(|e| e.name == name)
}
