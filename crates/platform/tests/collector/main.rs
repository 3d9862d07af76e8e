//! The collector, through its routes and through its socket.

#[path = "../postgres/mod.rs"]
mod postgres;

mod config;
mod full;
mod fuzz;
mod hostile;
mod live;
mod privacy;
mod rig;
mod routes;
mod sample;
mod shared;
mod tokens;
mod wire;
