//! Does QUIC do what path managers and records rely on? Client and server in virtual time.

mod pipe;
mod recovery;
