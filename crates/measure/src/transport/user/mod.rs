//! How do TCP and Multipath TCP in user space carry the channels? Over [`mptcp::stack::Stack`], a
//! host's transport layer without sockets or clocks.
//!
//! Each channel is a connection of its own, as over the kernel's, and connects from the first
//! path. The send buffer is as deep as the kernel's; what it does not take yet waits in a queue
//! before it, so that both stacks record the same.

mod action;
mod channel;
mod notices;
mod observe;
mod packets;
mod settings;

pub use packets::Packets;
pub use settings::{DEFAULT_CONGESTION, DEFAULT_SCHEDULER, Setup, UserError};
