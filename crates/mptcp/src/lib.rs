//! TCP and Multipath TCP v1 (RFC 8684) as state machines: no socket, no clock, no thread.
//!
//! A [`stack::Stack`] is a host's transport layer. Its driver brings IP packets and the time,
//! and takes IP packets away; the application reads and writes connections. Inside, a packet
//! goes from [`wire`] (bytes become types) through the stack (whose is it?) to a
//! [`connection`] (data sequence numbers, several subflows) and one of its [`subflow`]s (a TCP
//! connection of its own), and back.

pub mod connection;
pub mod stack;
pub mod subflow;
pub mod wire;
