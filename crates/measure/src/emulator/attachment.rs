//! How one path is attached to the client's host: interface, address, routes and rule.

use crate::netlink::route::{MAIN_TABLE, Route, RouteError, Routing};
use model::Family;
use std::net::IpAddr;

/// The first path's own routing table; the next path has the next one.
const FIRST_TABLE: u32 = 100;
/// The priority of the first path's rule: before the main table's, 32766.
const FIRST_PRIORITY: u32 = 1_000;
/// The metric of the first path's default route; in the main table the next path has the next.
const FIRST_METRIC: u32 = 100;
/// The metric of the route that says unreachable once a path's own route is gone.
const UNREACHABLE_METRIC: u32 = 10_000;

/// What makes an interface lose its carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// The device has a switch.
    Switch,
    /// The veth's peer, this interface in the emulator's namespace, goes down.
    Peer(u32),
}

/// One path's place in the client's network configuration: everything a host's network manager
/// sets up when the interface appears.
///
/// Packets from the path's address look their route up in a table of their own, which has the
/// path and nothing else: when the interface is down they are unreachable, and do not leak
/// to another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    path: usize,
    interface: u32,
    address: IpAddr,
    carrier: Carrier,
}

impl Attachment {
    pub(super) fn new(
        path: usize,
        interface: u32,
        address: IpAddr,
        carrier: Carrier,
    ) -> Attachment {
        Attachment {
            path,
            interface,
            address,
            carrier,
        }
    }

    fn family(&self) -> Family {
        Family::of(self.address)
    }

    /// The prefix length of its address.
    fn prefix_length(&self) -> u8 {
        match self.family() {
            Family::Ipv4 => 24,
            Family::Ipv6 => 64,
        }
    }

    fn table(&self) -> u32 {
        FIRST_TABLE + self.path as u32
    }

    fn priority(&self) -> u32 {
        FIRST_PRIORITY + self.path as u32
    }

    fn default_route(&self, table: u32, metric: u32) -> Route {
        Route {
            family: self.family(),
            destination: None,
            interface: Some(self.interface),
            source: Some(self.address),
            table,
            metric,
        }
    }

    /// Gives the interface its address, brings it up, adds its routes and its rule. What is
    /// there already stays. `client` is the client's network configuration.
    pub fn attach(&self, client: &mut Routing) -> Result<(), RouteError> {
        ignore(
            libc::EEXIST,
            client.add_address(self.interface, self.address, self.prefix_length()),
        )?;
        client.set_up(self.interface, true)?;
        let main_metric = FIRST_METRIC + self.path as u32;
        let unreachable = Route {
            family: self.family(),
            destination: None,
            interface: None,
            source: None,
            table: self.table(),
            metric: UNREACHABLE_METRIC,
        };
        for route in [
            self.default_route(self.table(), FIRST_METRIC),
            unreachable,
            self.default_route(MAIN_TABLE, main_metric),
        ] {
            ignore(libc::EEXIST, client.add_route(&route))?;
        }
        let rule = client.add_rule(self.address, self.table(), self.priority());
        ignore(libc::EEXIST, rule)?;
        client.wait_for_address(self.address)
    }

    /// Takes the interface down; its address and its rule stay, and the kernel drops its routes.
    pub fn take_down(&self, client: &mut Routing) -> Result<(), RouteError> {
        client.set_up(self.interface, false)
    }

    /// Withdraws the address and the rule, and takes the interface down.
    pub fn withdraw(&self, client: &mut Routing) -> Result<(), RouteError> {
        let address = client.delete_address(self.interface, self.address, self.prefix_length());
        ignore(libc::EADDRNOTAVAIL, address)?;
        let rule = client.delete_rule(self.address, self.table(), self.priority());
        ignore(libc::ENOENT, rule)?;
        self.take_down(client)
    }

    /// Takes or gives the carrier. `emulator` is the configuration of the emulator's namespace.
    pub fn set_carrier(
        &self,
        client: &mut Routing,
        emulator: &mut Routing,
        carrier: bool,
    ) -> Result<(), RouteError> {
        match self.carrier {
            Carrier::Switch => client.set_carrier(self.interface, carrier),
            Carrier::Peer(index) => emulator.set_up(index, carrier),
        }
    }
}

/// A change that was made already is no failure.
fn ignore(errno: i32, result: Result<(), RouteError>) -> Result<(), RouteError> {
    match result {
        Err(error) if error.errno() == Some(errno) => Ok(()),
        other => other,
    }
}
