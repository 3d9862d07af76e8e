//! Do two stacks understand each other over any network, in virtual time?

mod allocation;
mod basics;
mod bulk;
mod handover;
mod memory;
mod network;
mod pair;
mod properties;
