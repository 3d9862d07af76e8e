//! Which addresses do the hosts of a run have? The same in every world.

use std::net::Ipv4Addr;

/// The server's address.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// The port it listens on.
pub const PORT: u16 = 443;

/// More paths than this would run out of the address plan's third octet.
pub const MAX_PATHS: usize = 254;

/// The client's address on the path with this index, below [`MAX_PATHS`].
pub fn client(path: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, path as u8 + 1, 2)
}
