//! The list of packet schedulers.

use super::Scheduler;

/// An entry of the list.
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
    /// Makes one, for one connection.
    pub make: fn() -> Box<dyn Scheduler>,
}

/// Every scheduler, sorted by name.
pub const SCHEDULERS: &[Entry] = &[];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    SCHEDULERS.iter().find(|e| e.name == name)
}
