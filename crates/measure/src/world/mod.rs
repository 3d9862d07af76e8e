//! Worlds: what joins network, transport, traffic, policy and recording into a run.

pub mod emulated;
pub mod plan;
