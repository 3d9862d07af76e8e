//! What is seen of tests while they run: taken in from clients, passed on to whoever watches.

mod clean;
pub mod hub;
mod push;
mod watch;

pub use push::{__path_post, post};
pub use watch::{__path_events, __path_list, events, list};
