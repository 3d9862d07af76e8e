//! Which links, addresses, routes and rules a network namespace has, and how they are changed.

use super::Socket;
use super::socket::errno;
use model::Family;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The main routing table, `RT_TABLE_MAIN`.
pub const MAIN_TABLE: u32 = RouteHeader::RT_TABLE_MAIN as u32;

/// What could not be changed or read, and what the kernel said.
#[derive(Debug, thiserror::Error)]
#[error("could not {task}: {source}")]
pub struct RouteError {
    /// What was tried, with its object.
    pub task: String,
    /// The kernel's answer.
    pub source: io::Error,
}

impl RouteError {
    /// The kernel's error number.
    pub fn errno(&self) -> Option<i32> {
        errno(&self.source)
    }
}

/// A link as the kernel reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    /// Interface index.
    pub index: u32,
    /// Interface name.
    pub name: String,
    /// Whether it is administratively up (`IFF_UP`).
    pub up: bool,
    /// Whether it has a carrier (`IFF_LOWER_UP`).
    pub carrier: bool,
    /// Hardware address; empty where there is none, as on TUN.
    pub address: Vec<u8>,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// Packets that did not fit on their way out.
    pub tx_dropped: u64,
    /// Whether it can carry packets (`IFF_RUNNING`): up, with a carrier, and admitted to its network.
    pub running: bool,
    /// Its hardware's kind (`ARPHRD_*`, linux/if_arp.h).
    pub hardware: u16,
    /// What made it, where a program did (`IFLA_INFO_KIND`): `veth`, `bridge`, `wwan` ...
    pub made_by: Option<String>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Of which packets.
    pub family: Family,
    /// Destination and prefix length; everything when absent.
    pub destination: Option<(IpAddr, u8)>,
    /// Through which interface (by index), without a gateway; an unreachable route when absent.
    pub interface: Option<u32>,
    /// Preferred source address.
    pub source: Option<IpAddr>,
    /// Routing table.
    pub table: u32,
    /// Metric: the smallest is used.
    pub metric: u32,
}

impl Route {
    fn message(&self) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = number(self.family);
        message.header.protocol = RouteProtocol::Static;
        // Tables beyond 255 go in the attribute alone, and the header's field is unspecified.
        message.header.table = RouteHeader::RT_TABLE_UNSPEC;
        let attributes = &mut message.attributes;
        attributes.push(RouteAttribute::Table(self.table));
        attributes.push(RouteAttribute::Priority(self.metric));
        if let Some((address, length)) = self.destination {
            message.header.destination_prefix_length = length;
            attributes.push(RouteAttribute::Destination(RouteAddress::from(address)));
        }
        if let Some(source) = self.source {
            attributes.push(RouteAttribute::PrefSource(RouteAddress::from(source)));
        }
        match self.interface {
            Some(index) => {
                message.header.kind = RouteType::Unicast;
                message.header.scope = RouteScope::Link;
                attributes.push(RouteAttribute::Oif(index));
            }
            None => message.header.kind = RouteType::Unreachable,
        }
        message
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.destination {
            Some((address, length)) => write!(f, "{address}/{length}")?,
            None => f.write_str("default")?,
        }
        match self.interface {
            Some(index) => write!(f, " through interface {index}")?,
            None => f.write_str(" (unreachable)")?,
        }
        write!(f, " in table {}", self.table)
    }
}

/// The network configuration of one namespace: that of the thread that opened it, whichever
/// thread uses it later.
#[derive(Debug)]
pub struct Routing {
    socket: Socket,
}

impl Routing {
    /// Opens the configuration of the calling thread's network namespace.
    pub fn open() -> Result<Routing, RouteError> {
        let socket = Socket::open(netlink_sys::protocols::NETLINK_ROUTE);
        let socket = socket.map_err(|source| RouteError {
            task: "open a route netlink socket".to_owned(),
            source,
        })?;
        Ok(Routing { socket })
    }

    /// Creates a veth pair: `(name, hardware address)` here, and its `peer` in the namespace
    /// behind `peer_namespace`. Both are down.
    pub fn create_veth(
        &mut self,
        (name, address): (&str, [u8; 6]),
        (peer, peer_address): (&str, [u8; 6]),
        peer_namespace: BorrowedFd<'_>,
    ) -> Result<(), RouteError> {
        let mut other = LinkMessage::default();
        other.attributes = vec![
            LinkAttribute::IfName(peer.to_owned()),
            LinkAttribute::Address(peer_address.to_vec()),
            LinkAttribute::NetNsFd(peer_namespace.as_raw_fd()),
        ];
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Address(address.to_vec()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
            ]),
        ];
        self.send(
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
            || format!("create the veth pair {name} and {peer}"),
        )?;
        Ok(())
    }

    /// The link called `name`.
    pub fn link(&mut self, name: &str) -> Result<Link, RouteError> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        let task = || format!("find the interface {name}");
        let answers = self.send(RouteNetlinkMessage::GetLink(message), 0, task)?;
        answers.iter().find_map(link).ok_or_else(|| RouteError {
            task: task(),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    /// The link with `index`.
    pub fn link_by_index(&mut self, index: u32) -> Result<Link, RouteError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let task = || format!("find interface {index}");
        let answers = self.send(RouteNetlinkMessage::GetLink(message), 0, task)?;
        answers.iter().find_map(link).ok_or_else(|| RouteError {
            task: task(),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    /// All links.
    pub fn links(&mut self) -> Result<Vec<Link>, RouteError> {
        let message = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let answers = self.send(message, NLM_F_DUMP, || "list the interfaces".to_owned())?;
        Ok(answers.iter().filter_map(link).collect())
    }

    /// Brings an interface up or down. Going down, the kernel drops its routes and keeps its
    /// addresses; coming up brings back the addresses' own routes and no other.
    pub fn set_up(&mut self, index: u32, up: bool) -> Result<(), RouteError> {
        let flags = if up {
            LinkFlags::Up
        } else {
            LinkFlags::empty()
        };
        self.change_link(index, flags, LinkFlags::Up, Vec::new(), || {
            format!("bring interface {index} {}", if up { "up" } else { "down" })
        })
    }

    /// Makes an interface neither ask for nor need its neighbours' hardware addresses
    /// (`IFF_NOARP`): it then sends every frame to its own address.
    pub fn set_no_arp(&mut self, index: u32) -> Result<(), RouteError> {
        self.change_link(
            index,
            LinkFlags::Noarp,
            LinkFlags::Noarp,
            Vec::new(),
            || format!("turn off address resolution on interface {index}"),
        )
    }

    /// Takes or gives the carrier (`IFLA_CARRIER`). TUN can do it; a veth cannot: it loses its
    /// carrier when its peer goes down.
    pub fn set_carrier(&mut self, index: u32, carrier: bool) -> Result<(), RouteError> {
        let attributes = vec![LinkAttribute::Carrier(carrier.into())];
        let (flags, mask) = (LinkFlags::empty(), LinkFlags::empty());
        self.change_link(index, flags, mask, attributes, || {
            format!("set the carrier of interface {index} to {carrier}")
        })
    }

    /// Sets the largest packet, in bytes.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> Result<(), RouteError> {
        let (flags, mask) = (LinkFlags::empty(), LinkFlags::empty());
        self.change_link(index, flags, mask, vec![LinkAttribute::Mtu(mtu)], || {
            format!("set the MTU of interface {index} to {mtu}")
        })
    }

    /// Sets how many packets wait in the interface's own queue.
    pub fn set_queue_length(&mut self, index: u32, packets: u32) -> Result<(), RouteError> {
        let (flags, mask) = (LinkFlags::empty(), LinkFlags::empty());
        let attributes = vec![LinkAttribute::TxQueueLen(packets)];
        self.change_link(index, flags, mask, attributes, || {
            format!("set the queue of interface {index} to {packets} packets")
        })
    }

    /// The interfaces that a default route of `family` leads through, in any table.
    pub fn default_routes(&mut self, family: Family) -> Result<Vec<u32>, RouteError> {
        let routes = self.default_metrics(family)?;
        Ok(routes.into_iter().map(|(interface, _)| interface).collect())
    }

    /// The same with each route's metric, of which the smallest is used.
    pub fn default_metrics(&mut self, family: Family) -> Result<Vec<(u32, u32)>, RouteError> {
        let mut message = RouteMessage::default();
        message.header.address_family = number(family);
        let answers = self.send(RouteNetlinkMessage::GetRoute(message), NLM_F_DUMP, || {
            "list the routes".to_owned()
        })?;
        let mut interfaces = Vec::new();
        for answer in &answers {
            let RouteNetlinkMessage::NewRoute(route) = answer else {
                continue;
            };
            if route.header.destination_prefix_length != 0
                || route.header.kind != RouteType::Unicast
                || route.header.address_family != number(family)
            {
                continue;
            }
            let metric = route
                .attributes
                .iter()
                .find_map(|attribute| match attribute {
                    RouteAttribute::Priority(metric) => Some(*metric),
                    _ => None,
                });
            let metric = metric.unwrap_or(0);
            for attribute in &route.attributes {
                match attribute {
                    RouteAttribute::Oif(index) => interfaces.push((*index, metric)),
                    RouteAttribute::MultiPath(hops) => {
                        interfaces.extend(hops.iter().map(|hop| (hop.interface_index, metric)));
                    }
                    _ => {}
                }
            }
        }
        Ok(interfaces)
    }

    fn change_link(
        &mut self,
        index: u32,
        flags: LinkFlags,
        mask: LinkFlags,
        attributes: Vec<LinkAttribute>,
        task: impl Fn() -> String,
    ) -> Result<(), RouteError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = flags;
        message.header.change_mask = mask;
        message.attributes = attributes;
        self.send(RouteNetlinkMessage::SetLink(message), 0, task)?;
        Ok(())
    }

    /// Adds a route.
    pub fn add_route(&mut self, route: &Route) -> Result<(), RouteError> {
        let message = RouteNetlinkMessage::NewRoute(route.message());
        self.send(message, NLM_F_CREATE | NLM_F_EXCL, || {
            format!("add the route {route}")
        })?;
        Ok(())
    }

    /// Deletes a route.
    pub fn delete_route(&mut self, route: &Route) -> Result<(), RouteError> {
        let message = RouteNetlinkMessage::DelRoute(route.message());
        self.send(message, 0, || format!("delete the route {route}"))?;
        Ok(())
    }

    pub(super) fn send(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        task: impl Fn() -> String,
    ) -> Result<Vec<RouteNetlinkMessage>, RouteError> {
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        let failed = |source| RouteError {
            task: task(),
            source,
        };
        let answers = self.socket.request(&bytes).map_err(failed)?;
        let parsed = answers.iter().map(|answer| {
            match NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer) {
                Ok(message) => Ok(message.payload),
                Err(error) => Err(failed(io::Error::new(io::ErrorKind::InvalidData, error))),
            }
        });
        let inner = parsed.filter_map(|payload| match payload {
            Ok(NetlinkPayload::InnerMessage(message)) => Some(Ok(message)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        });
        inner.collect()
    }
}

/// The kernel's number of an address family.
pub(super) fn number(family: Family) -> AddressFamily {
    match family {
        Family::Ipv4 => AddressFamily::Inet,
        Family::Ipv6 => AddressFamily::Inet6,
    }
}

fn link(message: &RouteNetlinkMessage) -> Option<Link> {
    let RouteNetlinkMessage::NewLink(message) = message else {
        return None;
    };
    let mut link = Link {
        index: message.header.index,
        up: message.header.flags.contains(LinkFlags::Up),
        carrier: message.header.flags.contains(LinkFlags::LowerUp),
        running: message.header.flags.contains(LinkFlags::Running),
        hardware: message.header.link_layer_type.into(),
        ..Link::default()
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name.clone(),
            LinkAttribute::Address(address) => link.address = address.clone(),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::Stats64(stats) => link.tx_dropped = stats.tx_dropped,
            LinkAttribute::LinkInfo(info) => {
                link.made_by = info.iter().find_map(|part| match part {
                    LinkInfo::Kind(kind) => Some(kind.to_string()),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    Some(link)
}
