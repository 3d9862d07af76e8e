//! From which of its addresses can a host open a subflow of a connection, and where does it lead?

use super::table::Tracked;
use std::net::{IpAddr, SocketAddr};

impl Tracked {
    /// Where a subflow from `local` can lead: the address the connection began with, or one that
    /// the peer has announced, of the same family. From a unique local address nothing leads to the internet
    /// (RFC 4193, section 4.3), unless the connection itself began that way.
    pub fn remote_for(&self, local: IpAddr) -> Option<SocketAddr> {
        let announced = self.announced.values().copied();
        let like = |other: IpAddr| is_unique_local(other) == is_unique_local(local);
        std::iter::once(self.remote)
            .chain(announced)
            .filter(|remote| remote.is_ipv4() == local.is_ipv4())
            .find(|remote| like(remote.ip()) || like(self.local.ip()))
    }

    /// Whether a subflow can be opened from one of `addresses`.
    pub fn leads_from_any(&self, addresses: &[IpAddr]) -> bool {
        addresses.iter().any(|ip| self.remote_for(*ip).is_some())
    }

    /// The address among `addresses`, the preferred first, from which a subflow is opened, and where it
    /// leads: one of the family the connection began with, if there is one.
    pub fn ends_among(&self, addresses: &[IpAddr]) -> Option<(IpAddr, SocketAddr)> {
        let ends = addresses
            .iter()
            .filter_map(|local| Some((*local, self.remote_for(*local)?)));
        ends.min_by_key(|(local, remote)| {
            let other_family = local.is_ipv4() != self.remote.is_ipv4();
            let unlike = is_unique_local(*local) != is_unique_local(remote.ip());
            (other_family, unlike)
        })
    }
}

fn is_unique_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unique_local())
}
