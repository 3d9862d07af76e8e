//! Two stacks talk to each other.

mod fallback;
mod fast_join;
mod finishing;
mod forgery;
mod handshake;
mod paths;
mod rig;
mod scheduler;
mod starvation;
mod transfer;
