//! The list of congestion controllers.

use super::Controller;

/// An entry of the list.
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
    /// Whether it couples the subflows of a connection.
    pub coupled: bool,
    /// Makes one, for one connection.
    pub make: fn() -> Box<dyn Controller>,
}

/// Every controller, sorted by name.
pub const CONTROLLERS: &[Entry] = &[];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    CONTROLLERS.iter().find(|e| e.name == name)
}
