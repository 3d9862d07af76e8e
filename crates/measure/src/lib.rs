//! The live part: transports, the emulator, recording, and the worlds that join them.

pub mod addresses;
pub mod clock;
pub mod doctor;
pub mod emulator;
pub mod failure;
pub mod host;
mod lane;
pub mod memory;
pub mod netlink;
pub mod oracle;
mod priority;
pub mod recording;
pub mod transport;
pub mod world;

pub use clock::Clock;
