//! The measurement platform: test servers, the collector with its store and dashboard, and the client's
//! way to both.
//!
//! ```text
//! walkabout test ──metadata, token──> collector ──> store (SQLite or PostgreSQL)
//!      │                                 ^  │
//!      ├──hello with the token──> server │  └──> dashboard
//!      └──upload of the run folder───────┘
//! ```
//!
//! A server knows no more of the collector than the key its tokens are signed with.

pub mod api;
pub mod client;
pub mod collector;
pub mod dashboard;
pub mod privacy;
pub mod server;
pub mod store;
pub mod token;
