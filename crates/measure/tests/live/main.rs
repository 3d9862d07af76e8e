//! Does a test on real interfaces do what it says, with two hosts that are network namespaces?

mod ground;
#[path = "../hosts/mod.rs"]
#[allow(dead_code, reason = "each of those who share it uses its part")]
mod hosts;
mod interfaces;
mod reach;
mod runs;
mod server;
mod walk;
