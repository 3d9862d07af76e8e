//! How is the running kernel asked and told? By inet_diag, the path manager's commands and events,
//! and rtnetlink.

use super::kernel::{Interface, Kernel};
use crate::netlink::Socket;
use crate::netlink::mptcp::{Control, Events, LocalAddress, Notification};
use crate::netlink::route::Routing;
use crate::netlink::sockets::{Connection, Sockets, Subflow};
use crate::world::live::{InterfaceKind, interfaces};
use model::{Family, PathKind};
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

/// `RTNLGRP_LINK`, `RTNLGRP_IPV4_IFADDR`, `RTNLGRP_IPV4_ROUTE`, `RTNLGRP_IPV6_IFADDR`,
/// `RTNLGRP_IPV6_ROUTE` (linux/rtnetlink.h).
const GROUPS: [u32; 5] = [1, 5, 7, 9, 11];

/// The kernel, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Linux {
    sockets: Sockets,
    control: Control,
    events: Events,
    /// Tells that an interface, address or route has changed.
    bell: Socket,
    routing: Routing,
}

impl Linux {
    /// Opens what is needed in the calling thread's network namespace, which joins the group of
    /// the path manager's events. `EPERM` without `CAP_NET_ADMIN`, `ENOENT` without Multipath TCP.
    pub fn open() -> io::Result<Linux> {
        let mut bell = Socket::open(netlink_sys::protocols::NETLINK_ROUTE)?;
        GROUPS
            .iter()
            .try_for_each(|group| bell.join_group(*group))?;
        Ok(Linux {
            sockets: Sockets::open()?,
            control: Control::open()?,
            events: Events::subscribe()?,
            bell,
            routing: Routing::open().map_err(|error| error.source)?,
        })
    }

    /// The descriptors that tell when there is something to take in.
    pub fn wait_for(&self) -> [RawFd; 2] {
        [self.events.as_raw_fd(), self.bell.as_raw_fd()]
    }
}

impl Kernel for Linux {
    fn subflows(&mut self, seen: &mut Vec<Subflow>) -> io::Result<()> {
        self.sockets.subflows(seen)
    }

    fn connections(&mut self, seen: &mut Vec<Connection>) -> io::Result<()> {
        self.sockets.connections(seen)
    }

    fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        let mut metrics = Vec::new();
        for family in Family::ALL {
            // A kernel without IPv6 has no such routes.
            metrics.extend(self.routing.default_metrics(family).unwrap_or_default());
        }
        let lowest = |index: u32| {
            let its = metrics.iter().filter(|(of, _)| *of == index);
            its.map(|(_, metric)| *metric).min()
        };
        let all = interfaces()?.into_iter().map(|interface| Interface {
            kind: match interface.kind {
                InterfaceKind::Wifi => Some(PathKind::Wifi),
                InterfaceKind::Cellular => Some(PathKind::Cellular),
                InterfaceKind::Ethernet => Some(PathKind::Ethernet),
                InterfaceKind::Other => None,
            },
            metric: lowest(interface.index),
            index: interface.index,
            name: interface.name,
            running: interface.running,
            addresses: interface.addresses,
        });
        Ok(all.collect())
    }

    fn told(&mut self, told: &mut Vec<Notification>) -> io::Result<()> {
        told.extend(self.events.drain()?);
        Ok(())
    }

    fn interfaces_changed(&mut self) -> bool {
        // Lost notifications (ENOBUFS) were about a change as well.
        !self
            .bell
            .recv_events(true)
            .is_ok_and(|told| told.is_empty())
    }

    fn create(&mut self, token: u32, local: &LocalAddress, remote: SocketAddr) -> io::Result<()> {
        self.control.create_subflow(token, local, remote)
    }

    fn destroy(&mut self, token: u32, local: SocketAddr, remote: SocketAddr) -> io::Result<()> {
        self.control.destroy_subflow(token, local, remote)
    }

    fn remove(&mut self, token: u32, id: u8) -> io::Result<()> {
        self.control.remove(token, id)
    }

    fn set_backup(
        &mut self,
        token: u32,
        local: SocketAddr,
        remote: SocketAddr,
        backup: bool,
    ) -> io::Result<()> {
        self.control.set_backup(token, local, remote, backup)
    }
}
