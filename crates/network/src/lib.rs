//! Link models, traces and the walk, as pure state machines: packet and time in, packet or
//! timeout out.
//!
//! ```
//! use model::units::BitRate;
//! use model::Time;
//! use walkabout_network::link::{Delay, Exit, Link, Packet, Rate, Stage, Timeline};
//! use walkabout_network::link::queue::DropTail;
//! use std::time::Duration;
//!
//! let mut link = Link::new(vec![
//!     Stage::Rate(Rate::constant(
//!         DropTail::new(64_000),
//!         Timeline::constant(Some(BitRate::from_bits_per_second(12_000_000))),
//!     )),
//!     Stage::Delay(Delay::constant(Duration::from_millis(10))),
//! ]);
//! link.push(Time::ZERO, Packet { id: 0, size: 1500, payload: () });
//! // 1 ms on the wire at 12 Mbit/s, then 10 ms of propagation.
//! assert_eq!(link.poll(Time::from_millis(10)), None);
//! // A driver that wakes up late still gets the event at its own time.
//! assert!(matches!(
//!     link.poll(Time::from_millis(500)),
//!     Some(Exit::Delivered { at, .. }) if at == Time::from_millis(11)
//! ));
//! ```

pub mod link;
mod normal;
pub mod topology;
pub mod trace;
pub mod walk;
