//! Which routing table does a packet look its route up in, and which packets does the host not
//! take at all?

use super::route::{RouteError, Routing, number};
use model::Family;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use std::net::IpAddr;

/// `RT_TABLE_LOCAL`.
const LOCAL_TABLE: u8 = 255;
/// The rule that finds the host's own addresses, where the kernel has it.
const LOCAL_PRIORITY: u32 = 0;
/// Where it is put to let [`Routing::shut_out`] go first.
const LOCAL_PRIORITY_AFTER: u32 = 1;

impl Routing {
    /// Makes packets from `source` look their route up in `table`, before rules of a greater
    /// `priority`.
    pub fn add_rule(
        &mut self,
        source: IpAddr,
        table: u32,
        priority: u32,
    ) -> Result<(), RouteError> {
        let message = RouteNetlinkMessage::NewRule(source_rule(source, table, priority));
        self.send(message, NLM_F_CREATE | NLM_F_EXCL, || {
            format!("add the rule from {source} to table {table}")
        })?;
        Ok(())
    }

    /// Deletes the rule [`Routing::add_rule`] added.
    pub fn delete_rule(
        &mut self,
        source: IpAddr,
        table: u32,
        priority: u32,
    ) -> Result<(), RouteError> {
        let message = RouteNetlinkMessage::DelRule(source_rule(source, table, priority));
        self.send(message, 0, || {
            format!("delete the rule from {source} to table {table}")
        })?;
        Ok(())
    }

    /// Makes the host drop every packet of `family` that comes in through the interface called
    /// `interface`, without an answer, whatever address it is for. Packet sockets see them all
    /// the same. It survives the interface's going down and its addresses' going away.
    ///
    /// The rule has to come before the one that finds the host's own addresses, which is moved
    /// behind it, and stays there.
    pub fn shut_out(&mut self, interface: &str, family: Family) -> Result<(), RouteError> {
        let task = || format!("move the rule that finds the host's {family:?} addresses");
        let moved = RouteNetlinkMessage::NewRule(local_rule(family, LOCAL_PRIORITY_AFTER));
        match self.send(moved, NLM_F_CREATE | NLM_F_EXCL, task) {
            Err(error) if error.errno() != Some(libc::EEXIST) => return Err(error),
            _ => {}
        }
        let first = RouteNetlinkMessage::DelRule(local_rule(family, LOCAL_PRIORITY));
        match self.send(first, 0, task) {
            Err(error) if error.errno() != Some(libc::ENOENT) => return Err(error),
            _ => {}
        }
        let message = RouteNetlinkMessage::NewRule(shut_out_rule(interface, family));
        let task = || format!("drop what comes in through {interface}");
        match self.send(message, NLM_F_CREATE | NLM_F_EXCL, task) {
            Err(error) if error.errno() != Some(libc::EEXIST) => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes back [`Routing::shut_out`].
    pub fn let_in(&mut self, interface: &str, family: Family) -> Result<(), RouteError> {
        let message = RouteNetlinkMessage::DelRule(shut_out_rule(interface, family));
        self.send(message, 0, || {
            format!("take what comes in through {interface}")
        })?;
        Ok(())
    }
}

fn source_rule(source: IpAddr, table: u32, priority: u32) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = number(Family::of(source));
    message.header.src_len = if source.is_ipv4() { 32 } else { 128 };
    message.header.action = RuleAction::ToTable;
    message.attributes = vec![
        RuleAttribute::Source(source),
        RuleAttribute::Table(table),
        RuleAttribute::Priority(priority),
    ];
    message
}

fn local_rule(family: Family, priority: u32) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = number(family);
    message.header.action = RuleAction::ToTable;
    message.header.table = LOCAL_TABLE;
    message.attributes = vec![
        RuleAttribute::Table(LOCAL_TABLE.into()),
        RuleAttribute::Priority(priority),
    ];
    message
}

fn shut_out_rule(interface: &str, family: Family) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = number(family);
    message.header.action = RuleAction::Blackhole;
    message.attributes = vec![
        RuleAttribute::Iifname(interface.to_owned()),
        RuleAttribute::Priority(LOCAL_PRIORITY),
    ];
    message
}
