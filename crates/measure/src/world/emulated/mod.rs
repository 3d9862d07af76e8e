//! The emulated world: real stacks exchange real packets between network namespaces.
//!
//! Each run is a process of its own (the *worker*), because only a single-threaded process may
//! enter a user namespace. Its namespaces have no names, so everything is gone when it is.

mod crew;
mod termination;
mod worker;

pub use crew::Crew;
pub use worker::{Report, WorkError, work};
