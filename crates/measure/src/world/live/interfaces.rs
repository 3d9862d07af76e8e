//! Which interfaces has this host, what are they, and when do they change? By netlink, names of Wi-Fi
//! networks by nl80211 where there is one.

use std::io;
use std::net::IpAddr;
use std::sync::mpsc::Receiver;

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

/// The interfaces of the calling thread's network namespace.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    todo!()
}

/// A change: the interface as it is now; gone when not `running` or without addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceChange {
    /// What it is now; the last known state with `running` false when it was removed.
    pub interface: Interface,
    /// In words: `wlan0 lost its carrier`, `wlan0 went from one network to another`.
    pub what: String,
}

/// Watches the interfaces from a thread of its own.
pub struct Monitor {}

impl Monitor {
    /// Starts to watch the calling thread's network namespace.
    pub fn start() -> io::Result<(Monitor, Receiver<InterfaceChange>)> {
        todo!()
    }
}
