//! The test server over real sockets on loopback.

mod amplification;
mod client;
mod drain;
mod limits;
mod live;
mod namespace;
mod rig;
mod sessions;
mod strangers;
