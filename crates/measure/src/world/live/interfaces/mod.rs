//! Which interfaces has this host, what are they, and when do they change? By netlink, names of Wi-Fi
//! networks by nl80211 where there is one.

pub(super) mod change;
mod kind;
mod local_path;
mod monitor;
pub(super) mod wifi;

pub use local_path::{PathError, local_path};
pub use monitor::Monitor;

use crate::netlink::route::{RouteError, Routing};
use model::Family;
use std::io;
use std::net::IpAddr;
use wifi::Nl80211;

/// An interface as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// The kernel's number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: InterfaceKind,
    /// Whether it is up and has a carrier.
    pub running: bool,
    /// Its addresses of global scope.
    pub addresses: Vec<IpAddr>,
    /// Whether a default route (or one to everywhere) leads through it, per family: IPv4, IPv6.
    pub default_route: [bool; 2],
    /// Its Wi-Fi, where it is one and is associated.
    pub wifi: Option<Wifi>,
}

impl Interface {
    /// Whether it can carry packets from `address`.
    pub fn carries(&self, address: IpAddr) -> bool {
        self.running && self.addresses.contains(&address)
    }

    /// The versions of the internet protocol it has an address of.
    pub fn families(&self) -> Vec<Family> {
        let has = |family: &Family| self.addresses.iter().any(|a| Family::of(*a) == *family);
        Family::ALL.into_iter().filter(has).collect()
    }
}

/// What an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceKind {
    /// IEEE 802.11.
    Wifi,
    /// A mobile network.
    Cellular,
    /// A wire.
    Ethernet,
    /// Loopback, bridges, tunnels, containers: no path of a walk.
    Other,
}

/// The Wi-Fi an interface is associated with. Never leaves the machine but as a keyed hash.
#[derive(Clone, Debug, PartialEq)]
pub struct Wifi {
    /// The network's name.
    pub ssid: String,
    /// The access point's address.
    pub bssid: String,
    /// The received signal.
    pub signal_dbm: Option<f64>,
}

/// A change: the interface as it is now; gone when not `running` or without addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceChange {
    /// What it is now; the last known state with `running` false when it was removed.
    pub interface: Interface,
    /// In words: `wlan0 lost its carrier`, `wlan0 went from one network to another`. Never the name
    /// of a network.
    pub what: String,
}

/// The interfaces of the calling thread's network namespace.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    Source::open()?.list()
}

/// Where the list of interfaces comes from: that of the network namespace of the thread that
/// opened it, whichever thread uses it later.
struct Source {
    routing: Routing,
    wifi: Option<Nl80211>,
}

impl Source {
    fn open() -> io::Result<Source> {
        Ok(Source {
            routing: Routing::open().map_err(with_task)?,
            wifi: Nl80211::open(),
        })
    }

    fn list(&mut self) -> io::Result<Vec<Interface>> {
        let links = self.routing.links().map_err(with_task)?;
        let addresses = self.routing.addresses().map_err(with_task)?;
        let routes = [
            self.routing.default_routes(Family::Ipv4),
            // A kernel without IPv6 has no such routes.
            self.routing.default_routes(Family::Ipv6),
        ]
        .map(Result::unwrap_or_default);
        // An interface may go between two questions: then there is no Wi-Fi to tell of.
        let associated = self.wifi.as_mut().map(Nl80211::associations);
        let associated = associated.unwrap_or_default();
        let interfaces = links.into_iter().map(|link| Interface {
            kind: kind::of(&link, associated.contains_key(&link.index)),
            running: link.up && link.running,
            addresses: addresses
                .iter()
                .filter(|(index, _)| *index == link.index)
                .map(|(_, address)| *address)
                .collect(),
            default_route: [0, 1].map(|family| routes[family].contains(&link.index)),
            wifi: associated.get(&link.index).cloned().flatten(),
            index: link.index,
            name: link.name,
        });
        Ok(interfaces.collect())
    }
}

fn with_task(error: RouteError) -> io::Error {
    io::Error::new(error.source.kind(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_there_and_no_path_of_a_walk() {
        let all = interfaces().expect("netlink needs no privilege to read");
        let lo = all.iter().find(|i| i.name == "lo").expect("a loopback");
        assert_eq!(lo.kind, InterfaceKind::Other);
        assert_eq!(lo.wifi, None);
        assert_eq!(lo.addresses.iter().filter(|a| a.is_loopback()).count(), 0);
    }
}
