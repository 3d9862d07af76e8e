//! The nouns every part of Walkabout shares: units, time, paths, scenarios and the
//! schemas of what a run records. Pure: no clock, no file, no socket.

pub mod columns;
pub mod daemon;
pub mod family;
pub mod live;
pub mod manifest;
pub mod path;
pub mod random;
pub mod record;
pub mod reproduction;
pub mod scenario;
pub mod spelling;
pub mod study;
pub mod time;
pub mod units;
pub mod world;

pub use family::Family;
pub use manifest::Manifest;
pub use path::{Direction, Name, PathIndex, PathKind, Side};
pub use random::Seed;
pub use scenario::Scenario;
pub use time::Time;
pub use world::World;
