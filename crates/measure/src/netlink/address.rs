//! Which addresses do the interfaces of a network namespace have, and do they work yet?

use super::route::{RouteError, Routing, number};
use model::Family;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

impl Routing {
    /// Gives an interface an address.
    pub fn add_address(
        &mut self,
        index: u32,
        address: IpAddr,
        length: u8,
    ) -> Result<(), RouteError> {
        let message = RouteNetlinkMessage::NewAddress(address_message(index, address, length));
        self.send(message, NLM_F_CREATE | NLM_F_EXCL, || {
            format!("give interface {index} the address {address}/{length}")
        })?;
        Ok(())
    }

    /// Waits until packets for an address of an interface that is up reach the host: the kernel
    /// gives an IPv6 address its route in its own time, some milliseconds later.
    pub fn wait_for_address(&mut self, address: IpAddr) -> Result<(), RouteError> {
        /// Longer than any kernel takes.
        const PATIENCE: Duration = Duration::from_secs(2);
        if address.is_ipv4() {
            return Ok(());
        }
        let task = || format!("make {address} reachable");
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let mut message = RouteMessage::default();
            message.header.address_family = number(Family::of(address));
            message.header.destination_prefix_length = 128;
            message.attributes = vec![RouteAttribute::Destination(address.into())];
            let found = self.send(RouteNetlinkMessage::GetRoute(message), 0, task);
            let is_local = |answer: &RouteNetlinkMessage| match answer {
                RouteNetlinkMessage::NewRoute(route) => route.header.kind == RouteType::Local,
                _ => false,
            };
            if found.is_ok_and(|answers| answers.iter().any(is_local)) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(RouteError {
            task: task(),
            source: io::ErrorKind::TimedOut.into(),
        })
    }

    /// Every usable address of global scope with its interface's index, the preferred first: no
    /// address that is being checked for duplicates, or that failed the check.
    pub fn addresses(&mut self) -> Result<Vec<(u32, IpAddr)>, RouteError> {
        let task = || "list the addresses".to_owned();
        let message = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let answers = self.send(message, NLM_F_DUMP, task)?;
        let mut found = Vec::new();
        for answer in &answers {
            let RouteNetlinkMessage::NewAddress(message) = answer else {
                continue;
            };
            let flags = message.header.flags;
            let unusable = AddressHeaderFlags::Tentative | AddressHeaderFlags::Dadfailed;
            if message.header.scope != AddressScope::Universe || flags.intersects(unusable) {
                continue;
            }
            // On a link between two ends the address is the other's, and `Local` this one's.
            let local = message
                .attributes
                .iter()
                .find_map(|attribute| match attribute {
                    AddressAttribute::Local(address) => Some(*address),
                    _ => None,
                });
            let address = message
                .attributes
                .iter()
                .find_map(|attribute| match attribute {
                    AddressAttribute::Address(address) => Some(*address),
                    _ => None,
                });
            let deprecated = flags.contains(AddressHeaderFlags::Deprecated);
            if let Some(address) = local.or(address) {
                found.push((deprecated, message.header.index, address));
            }
        }
        found.sort_by_key(|(deprecated, ..)| *deprecated);
        Ok(found
            .into_iter()
            .map(|(_, index, address)| (index, address))
            .collect())
    }

    /// The index of the interface that has `address`.
    pub fn interface_of(&mut self, address: IpAddr) -> Result<u32, RouteError> {
        let mut message = AddressMessage::default();
        message.header.family = number(Family::of(address));
        let task = || format!("find the interface that has the address {address}");
        let answers = self.send(RouteNetlinkMessage::GetAddress(message), NLM_F_DUMP, task)?;
        let found = answers.iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewAddress(message) => message
                .attributes
                .contains(&AddressAttribute::Address(address))
                .then_some(message.header.index),
            _ => None,
        });
        found.ok_or_else(|| RouteError {
            task: task(),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    /// Takes an address from an interface.
    pub fn delete_address(
        &mut self,
        index: u32,
        address: IpAddr,
        length: u8,
    ) -> Result<(), RouteError> {
        let message = RouteNetlinkMessage::DelAddress(address_message(index, address, length));
        self.send(message, 0, || {
            format!("take the address {address}/{length} from interface {index}")
        })?;
        Ok(())
    }
}

fn address_message(index: u32, address: IpAddr, length: u8) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = number(Family::of(address));
    message.header.prefix_len = length;
    // IPv6: usable at once, without asking who else has it (IPv4 has no such question).
    message.header.flags = AddressHeaderFlags::Nodad;
    message.header.scope = AddressScope::Universe;
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Address(address),
        AddressAttribute::Local(address),
    ];
    message
}
