//! Does QUIC do what path managers and records rely on? Client and server in virtual time, and
//! once over the loopback interface.

mod interactive;
mod lifecycle;
mod loopback;
mod pipe;
mod plain;
mod random;
mod recovery;
