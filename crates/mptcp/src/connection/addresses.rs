//! Which addresses do the hosts have, which subflows are backups, and how is the peer told
//! (RFC 8684, sections 3.3.8 and 3.4)?

use super::machine::{Connection, Context};
use super::path::Phase;
use super::shared::Protocol;
use super::{Event, SubflowError, reason};
use crate::subflow::Tuple;
use crate::wire::key::add_addr_hmac;
use crate::wire::mptcp::AddAddr;
use arrayvec::ArrayVec;
use model::Time;
use policy::scheduler::MIN_TIMEOUT;
use policy::{SubflowId, SubflowSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Addresses that are remembered of the peer at most.
const MAX_REMOTE: usize = 32;
/// Announcements that wait for their echo at most.
const MAX_ANNOUNCED: usize = 8;
/// How often an address is announced again (Linux's ADD_ADDR_RETRANS_MAX).
const ANNOUNCEMENTS_AGAIN: u32 = 3;
/// After how long at least it is announced again; longer with the path's RTO, and double each
/// time. Linux waits for 120 s (net.mptcp.add_addr_timeout), since 6.18 by the RTO at most: a
/// handover is over by then.
const FIRST_AGAIN: Duration = Duration::from_secs(1);

/// An address that was announced and not echoed.
#[derive(Clone, Copy, Debug)]
struct Announcement {
    option: AddAddr,
    again_at: Time,
    wait: Duration,
    left: u32,
}

/// The addresses of both hosts, by their identifiers.
#[derive(Debug)]
pub(super) struct Addresses {
    local: Vec<(IpAddr, u8)>,
    /// As announced; the port is the one to connect to.
    remote: Vec<(u8, SocketAddr)>,
    /// Identifiers that the peer announced or had subflows with, and has not withdrawn: a bit each.
    in_use: [u64; 4],
    announced: ArrayVec<Announcement, MAX_ANNOUNCED>,
    first: Tuple,
}

impl Addresses {
    /// Those of the first subflow have the identifier 0.
    pub(super) fn new(first: Tuple) -> Addresses {
        Addresses {
            local: vec![(first.local.ip(), 0)],
            remote: Vec::new(),
            in_use: [1, 0, 0, 0],
            announced: ArrayVec::new(),
            first,
        }
    }

    /// The peer uses the address with this identifier.
    pub(super) fn begin_use(&mut self, id: u8) {
        self.in_use[usize::from(id / 64)] |= 1 << (id % 64);
    }

    /// The peer withdraws the address with this identifier; whether it was in use.
    fn end_use(&mut self, id: u8) -> bool {
        self.remote.retain(|r| r.0 != id);
        let word = &mut self.in_use[usize::from(id / 64)];
        let before = *word;
        *word &= !(1 << (id % 64));
        *word != before
    }

    /// The identifier of an address of this host, a new one if need be.
    pub(super) fn local_id(&mut self, address: IpAddr) -> u8 {
        if let Some(known) = self.local.iter().find(|l| l.0 == address) {
            return known.1;
        }
        let free = |id: &u8| self.local.iter().all(|l| l.1 != *id);
        // With 255 addresses one of them gets another's.
        let id = (1..=u8::MAX).find(free).unwrap_or(u8::MAX);
        self.local.push((address, id));
        id
    }

    /// The identifier of an address of the peer, if it is known.
    pub(super) fn remote_id(&self, address: IpAddr) -> Option<u8> {
        let announced = self.remote.iter().find(|r| r.1.ip() == address);
        let first = (self.first.remote.ip() == address).then_some(0);
        first.or(announced.map(|r| r.0))
    }

    /// When an address is announced again.
    pub(super) fn poll_at(&self) -> Option<Time> {
        self.announced.iter().map(|a| a.again_at).min()
    }

    /// Nothing is announced again.
    pub(super) fn forget_announcements(&mut self) {
        self.announced.clear();
    }
}

impl Connection {
    /// Announces an address of this host.
    pub(crate) fn announce(
        &mut self,
        ctx: &mut Context<'_>,
        address: SocketAddr,
    ) -> Result<u8, SubflowError> {
        self.check_multipath()?;
        let peer = self.shared.peer.ok_or(SubflowError::NotConnected)?;
        if self.addresses.announced.is_full() {
            return Err(SubflowError::TooMany);
        }
        let id = self.addresses.local_id(address.ip());
        let port = match address.port() {
            0 => None,
            port => Some(port).filter(|p| *p != self.first.local.port()),
        };
        let hmac = add_addr_hmac(
            self.shared.local.key,
            peer.key,
            id,
            address.ip(),
            port.unwrap_or(0),
        );
        let option = AddAddr {
            id,
            address: address.ip(),
            port,
            hmac: Some(hmac),
        };
        self.addresses.announced.retain(|a| a.option.id != id);
        let wait = self.announcement_wait(ctx.now);
        self.addresses.announced.push(Announcement {
            option,
            again_at: ctx.now + wait,
            wait,
            left: ANNOUNCEMENTS_AGAIN,
        });
        self.send_announcement(option);
        Ok(id)
    }

    fn announcement_wait(&self, now: Time) -> Duration {
        let rtos = self.paths.iter().flatten().map(|p| p.tcp.info(now).rto);
        FIRST_AGAIN.max(2 * rtos.max().unwrap_or(MIN_TIMEOUT))
    }

    fn send_announcement(&mut self, option: AddAddr) {
        let waiting = &mut self.shared.announcements;
        if !waiting.contains(&option) && waiting.len() < MAX_ANNOUNCED {
            waiting.push_back(option);
        }
        if let Some(id) = self.signalling().iter().next() {
            self.send_acks(SubflowSet::only(id));
        }
    }

    /// Announces again what was not echoed.
    pub(super) fn poll_addresses(&mut self, ctx: &mut Context<'_>) {
        let mut again = ArrayVec::<AddAddr, MAX_ANNOUNCED>::new();
        self.addresses.announced.retain(|a| {
            if a.again_at > ctx.now {
                return true;
            }
            if a.left == 0 {
                return false;
            }
            a.left -= 1;
            a.wait *= 2;
            a.again_at = ctx.now + a.wait;
            again.push(a.option);
            true
        });
        for option in again {
            self.send_announcement(option);
        }
    }

    /// ADD_ADDR, or its echo.
    #[cold]
    pub(super) fn read_add_addr(&mut self, ctx: &mut Context<'_>, id: SubflowId, add: &AddAddr) {
        let Some(hmac) = add.hmac else {
            self.addresses.announced.retain(|a| a.option.id != add.id);
            return;
        };
        let Some(peer) = self.shared.peer else {
            return;
        };
        let (own, port) = (self.shared.local.key, add.port.unwrap_or(0));
        if add_addr_hmac(peer.key, own, add.id, add.address, port) != hmac {
            ctx.counters.add_addr_bad_hmac += 1;
            return;
        }
        if let Some(path) = self.path_mut(id) {
            let echo = AddAddr { hmac: None, ..*add };
            if !path.state.outbox.echoes.contains(&echo) {
                // One that does not fit is announced again.
                let _ = path.state.outbox.echoes.try_push(echo);
            }
        }
        self.send_acks(SubflowSet::only(id));
        let port = add.port.unwrap_or(self.first.remote.port());
        let address = SocketAddr::new(add.address, port);
        let remote = &mut self.addresses.remote;
        // An identifier in use does not get another address (RFC 8684, section 3.4.1).
        if remote.len() < MAX_REMOTE && remote.iter().all(|r| r.0 != add.id) {
            remote.push((add.id, address));
            self.addresses.begin_use(add.id);
            self.emit(
                ctx,
                Event::AddressAnnounced {
                    id: add.id,
                    address,
                },
            );
        }
    }

    /// REMOVE_ADDR: the subflows to these addresses are of no use any more. They may have ended
    /// already: their FIN took another path. An identifier nobody knows is ignored (RFC 8684,
    /// section 3.4.2).
    #[cold]
    pub(super) fn read_remove_addr(&mut self, ctx: &mut Context<'_>, ids: &[u8]) {
        for &address in ids {
            let known = self.addresses.end_use(address);
            let gone = self.select(|s| {
                s.remote_id == Some(address) && !matches!(s.phase, Phase::Closing | Phase::Gone)
            });
            if known {
                self.emit(ctx, Event::AddressWithdrawn(address));
            }
            for id in gone.iter() {
                self.reset_subflow(ctx, id, reason::UNSPECIFIED);
            }
        }
    }

    /// Withdraws an address of this host.
    pub(crate) fn withdraw(
        &mut self,
        ctx: &mut Context<'_>,
        address: IpAddr,
    ) -> Result<(), SubflowError> {
        self.check_multipath()?;
        let known = self.addresses.local.iter().find(|l| l.0 == address);
        let id = known.ok_or(SubflowError::Unknown)?.1;
        self.addresses.announced.retain(|a| a.option.id != id);
        self.shared.announcements.retain(|a| a.id != id);
        let gone = self.select(|s| {
            s.tuple.local.ip() == address && !matches!(s.phase, Phase::Closing | Phase::Gone)
        });
        let others: SubflowSet = self
            .signalling()
            .iter()
            .filter(|other| !gone.contains(*other))
            .collect();
        for other in others.iter() {
            if let Some(path) = self.path_mut(other) {
                let _ = path.state.outbox.removed.try_push(id);
            }
        }
        self.send_acks(others);
        for id in gone.iter() {
            self.reset_subflow(ctx, id, reason::UNSPECIFIED);
        }
        if id != 0 {
            self.addresses.local.retain(|l| l.1 != id);
        }
        self.progress(ctx);
        Ok(())
    }

    /// Makes a subflow a backup or regular, and tells the peer.
    pub(crate) fn set_backup(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        backup: bool,
    ) -> Result<(), SubflowError> {
        self.check_multipath()?;
        let path = self.path_mut(id).ok_or(SubflowError::Unknown)?;
        if matches!(path.state.phase, Phase::Closing | Phase::Gone) {
            return Err(SubflowError::Unknown);
        }
        let before = path.state.is_backup();
        path.state.backup = backup;
        let after = path.state.is_backup();
        path.state.outbox.priority = Some(backup);
        self.send_acks(SubflowSet::only(id));
        self.priority_changed(ctx, id, before, after);
        self.progress(ctx);
        Ok(())
    }

    /// MP_PRIO: the peer asks this side to use the subflow only as backup, or no longer.
    pub(super) fn read_priority(&mut self, ctx: &mut Context<'_>, id: SubflowId, backup: bool) {
        if self.shared.protocol == Protocol::Multipath
            && let Some(path) = self.path_mut(id)
        {
            let before = path.state.is_backup();
            path.state.peer_backup = backup;
            let after = path.state.is_backup();
            self.priority_changed(ctx, id, before, after);
        }
    }

    fn priority_changed(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        before: bool,
        after: bool,
    ) {
        self.sending.views.mark(id);
        if before != after {
            self.emit(ctx, Event::PriorityChanged(id, after));
        }
    }
}
