//! The collector, through its routes and through its socket.

mod fuzz;
mod hostile;
mod live;
mod privacy;
mod rig;
mod routes;
mod sample;
mod tokens;
mod wire;
