//! Do two stacks understand each other over any network, in virtual time?

mod allocation;
mod basics;
mod bulk;
mod fairness;
mod fast_join;
mod handover;
mod hostile;
mod memory;
mod network;
mod pair;
mod properties;
mod transfer;
