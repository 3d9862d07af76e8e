//! Which addresses do the hosts of a run have? The same in every world.

use model::Family;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The port the server listens on.
pub const PORT: u16 = 443;

/// More paths than this would run out of the address plan's third octet.
pub const MAX_PATHS: usize = 254;

/// The server's address.
pub const fn server(family: Family) -> IpAddr {
    host(family, 0, 1)
}

/// The client's address on the path with this index, below [`MAX_PATHS`].
pub const fn client(family: Family, path: usize) -> IpAddr {
    host(family, path as u8 + 1, 2)
}

/// 10.77.NETWORK.HOST, or fd77:0:0:NETWORK::HOST (unique local, RFC 4193).
const fn host(family: Family, network: u8, host: u8) -> IpAddr {
    match family {
        Family::Ipv4 => IpAddr::V4(Ipv4Addr::new(10, 77, network, host)),
        Family::Ipv6 => {
            let (network, host) = (network as u16, host as u16);
            IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, network, 0, 0, 0, host))
        }
    }
}
