//! Does a test on real interfaces do what it says, with two hosts that are network namespaces?

mod ground;
mod interfaces;
mod reach;
mod runs;
mod server;
mod walk;
