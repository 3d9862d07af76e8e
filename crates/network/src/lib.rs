//! Link models, traces and the walk, as pure state machines: packet and time in, packet or
//! timeout out.

pub mod link;
pub mod topology;
pub mod trace;
pub mod walk;
