//! Two stacks talk to each other.

mod fallback;
mod finishing;
mod handshake;
mod paths;
mod rig;
mod scheduler;
mod transfer;
