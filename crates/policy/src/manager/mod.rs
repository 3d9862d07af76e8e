//! Which path managers are there? One file each; the list is [`crate::list::MANAGERS`].
//!
//! Each of them asks [`crate::requests::Requests`] for what it wants, which keeps to the rules
//! that hold for all: nothing twice, and never the last usable subflow closed.

pub mod apple_conditions;
pub mod apple_interactive;
pub mod backup;
pub mod break_before_make;
pub mod fullmesh;
pub mod multimob;
#[cfg(test)]
mod properties;
pub mod single;
#[cfg(test)]
mod stage;
