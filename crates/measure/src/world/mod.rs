//! Worlds: what joins network, transport, traffic, policy and recording into a run.

pub mod emulated;
pub mod live;
mod machine;
pub mod plan;
pub mod progress;
pub mod virtual_time;
