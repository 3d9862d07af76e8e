//! Which addresses have the hosts of the tests?

use model::Family;
use std::net::{IpAddr, SocketAddr};

/// The server's address of this family.
pub fn server(family: Family) -> SocketAddr {
    match family {
        Family::Ipv4 => SocketAddr::from(([192, 0, 2, 1], 443)),
        Family::Ipv6 => SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 443)),
    }
}

/// The addresses of the interface with this number that end in `last`: the third part of all is the number. The
/// unique local one leads nowhere but to its like.
pub fn addresses(index: u32, last: u8) -> Vec<IpAddr> {
    let (number, end) = (index as u16, u16::from(last));
    vec![
        IpAddr::from([10, 0, index as u8, last]),
        IpAddr::from([0xfd00, 0, number, 0, 0, 0, 0, end]),
        IpAddr::from([0x2001, 0xdb8, number, 0, 0, 0, 0, end]),
    ]
}

/// Whether nothing outside its own site is reached from this address.
pub fn leads_nowhere(ip: &IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unique_local())
}
