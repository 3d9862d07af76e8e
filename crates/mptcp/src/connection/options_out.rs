//! Which options go with a segment?

use super::path::{Origin, PathState, Phase};
use super::shared::{Protocol, Role, Shared};
use crate::subflow::{DataMapping, Kind, OptionSource};
use crate::wire::key::{dss_checksum, join_hmac};
use crate::wire::mptcp::{Capable, Dss, Join, Mapping, MptcpOption, MptcpOptions, Number};

/// SYNs that offer Multipath TCP: the first and two retransmissions (Linux's
/// net.mptcp.syn_retrans_before_tcp_fallback); a middlebox may drop those with the option.
pub(super) const SYNS_WITH_OPTION: u32 = 3;

/// The version spoken.
pub(super) const VERSION: u8 = 1;

/// Makes the options of one subflow's segments.
pub(super) struct Source<'a> {
    pub(super) shared: &'a mut Shared,
    pub(super) path: &'a mut PathState,
    /// Whether options wait for another acknowledgement.
    pub(super) more: bool,
    /// Whether they have to wait for the peer: until then each has the handshake's option.
    pub(super) held: bool,
}

/// The room that is left, in whole words: options are padded.
pub(super) struct Room(usize);

impl Room {
    fn admits(&self, option: &MptcpOption) -> bool {
        padded(option) <= self.0
    }

    /// Adds it if there is room.
    pub(super) fn add(&mut self, option: MptcpOption, options: &mut MptcpOptions) -> bool {
        let length = padded(&option);
        let admitted = length <= self.0 && !options.is_full();
        if admitted {
            self.0 -= length;
            options.push(option);
        }
        admitted
    }
}

fn padded(option: &MptcpOption) -> usize {
    option.len().next_multiple_of(4)
}

impl OptionSource for Source<'_> {
    fn options(&mut self, kind: Kind, payload: &[u8], room: usize, options: &mut MptcpOptions) {
        let mut room = Room(room);
        self.path.sent_data |= match kind {
            Kind::Data { .. } => true,
            Kind::EarlySyn => !payload.is_empty(),
            _ => false,
        };
        match kind {
            Kind::Reset => self.reset(&mut room, options),
            _ if self.shared.is_plain() => self.plain(kind, &mut room, options),
            Kind::Syn => self.syn(&mut room, options),
            Kind::EarlySyn => self.early_syn(payload, &mut room, options),
            Kind::SynAck => self.syn_ack(&mut room, options),
            Kind::Ack => self.ack(&mut room, options),
            Kind::Data {
                offset,
                mapping: Some(mapping),
                ..
            } => self.data(offset, mapping, payload, &mut room, options),
            Kind::Data { mapping: None, .. } | Kind::Fin => {
                room.add(self.data_ack(), options);
            }
        }
    }
}

impl Source<'_> {
    fn capable(&self) -> Capable {
        Capable {
            version: VERSION,
            checksum: self.shared.checksum_demanded,
            no_join: false,
            sha256: true,
            sender_key: None,
            receiver_key: None,
            data_length: None,
            data_checksum: None,
        }
    }

    pub(super) fn data_ack(&self) -> MptcpOption {
        MptcpOption::Dss(Dss {
            data_fin: false,
            idle: false,
            data_ack: self.shared.data_ack.map(Number::Wide),
            mapping: None,
        })
    }

    fn syn(&mut self, room: &mut Room, options: &mut MptcpOptions) {
        self.path.syns += 1;
        match (self.path.origin, self.shared.peer) {
            (Origin::First, _) if self.path.syns <= SYNS_WITH_OPTION => {
                room.add(MptcpOption::Capable(self.capable()), options);
            }
            (Origin::Joins, Some(peer)) => {
                let join = Join::Syn {
                    backup: self.path.backup,
                    address_id: self.path.local_id,
                    token: peer.token,
                    nonce: self.path.local_nonce,
                };
                room.add(MptcpOption::Join(join), options);
            }
            _ => {}
        }
    }

    fn syn_ack(&mut self, room: &mut Room, options: &mut MptcpOptions) {
        match (self.path.origin, self.shared.peer) {
            (Origin::First, _) => {
                let capable = Capable {
                    checksum: self.shared.checksum,
                    sender_key: Some(self.shared.local.key),
                    ..self.capable()
                };
                room.add(MptcpOption::Capable(capable), options);
            }
            (Origin::Joined, Some(_)) if self.path.fast.is_some() => {
                self.fast_syn_ack(room, options);
            }
            (Origin::Joined, Some(peer)) => {
                let hmac = join_hmac(
                    self.shared.local.key,
                    peer.key,
                    self.path.local_nonce,
                    self.path.remote_nonce,
                );
                let (hmac, _) = hmac.split_first_chunk().expect("an HMAC has 32 bytes");
                let join = Join::SynAck {
                    backup: self.path.backup,
                    address_id: self.path.local_id,
                    hmac: u64::from_be_bytes(*hmac),
                    nonce: self.path.local_nonce,
                };
                room.add(MptcpOption::Join(join), options);
            }
            _ => {}
        }
    }

    /// MP_CAPABLE with both keys, as long as the peer may not have them.
    fn capable_with_keys(&self) -> Option<Capable> {
        let first = self.path.origin == Origin::First && self.shared.role == Role::Client;
        if !first || self.shared.fully_established {
            return None;
        }
        let peer = self.shared.peer?;
        Some(Capable {
            checksum: self.shared.checksum,
            sender_key: Some(self.shared.local.key),
            receiver_key: Some(peer.key),
            ..self.capable()
        })
    }

    fn ack(&mut self, room: &mut Room, options: &mut MptcpOptions) {
        let (Protocol::Multipath, Some(peer)) = (self.shared.protocol, self.shared.peer) else {
            return;
        };
        if self.path.phase == Phase::PreEstablished {
            let hmac = join_hmac(
                self.shared.local.key,
                peer.key,
                self.path.local_nonce,
                self.path.remote_nonce,
            );
            let (hmac, _) = hmac.split_first_chunk().expect("an HMAC has 32 bytes");
            room.add(MptcpOption::Join(Join::Ack { hmac: *hmac }), options);
            self.held = true;
            return;
        }
        if let Some(capable) = self.capable_with_keys()
            && !self.path.sent_data
        {
            room.add(MptcpOption::Capable(capable), options);
            self.small_signals(room, options);
            self.held = true;
            return;
        }
        self.signals(room, options);
    }

    /// A Data ACK, and what else waits.
    fn signals(&mut self, room: &mut Room, options: &mut MptcpOptions) {
        let whole = room.0;
        let outbox = &mut self.path.outbox;
        let address = outbox.echoes.first().or(self.shared.announcements.front());
        let address = address.copied().map(MptcpOption::AddAddr);
        // A DATA_FIN may leave no room for what else waits, and goes in an acknowledgement after it.
        let crowded = outbox.fail.is_some()
            || outbox.priority.is_some()
            || !outbox.removed.is_empty()
            || !outbox.extensions.is_empty();
        let fin = self.shared.data_fin.map(|dsn| data_fin(self.shared, dsn));
        match fin {
            Some(fin) if address.is_none() && !crowded && room.admits(&fin) => {
                self.shared.fin_told = true;
                room.add(fin, options);
            }
            _ => {
                room.add(self.data_ack(), options);
            }
        }
        if let Some(address) = address {
            // As in Linux, an address that leaves no room for anything else goes alone; one that
            // does not even fit then never goes.
            if !room.add(address.clone(), options) {
                options.clear();
                *room = Room(whole);
                if !room.add(address, options) {
                    room.add(self.data_ack(), options);
                } else {
                    // The Data ACK that it displaced: the peer would send again what arrived.
                    self.more = true;
                }
            }
            let outbox = &mut self.path.outbox;
            if outbox.echoes.is_empty() {
                self.shared.announcements.pop_front();
            } else {
                outbox.echoes.remove(0);
            }
        }
        self.small_signals(room, options);
        self.more |= !self.shared.announcements.is_empty();
    }

    /// What fits beside another option.
    fn small_signals(&mut self, room: &mut Room, options: &mut MptcpOptions) {
        let outbox = &mut self.path.outbox;
        if let Some(dsn) = outbox.fail
            && room.add(MptcpOption::Fail { dsn }, options)
        {
            outbox.fail = None;
        }
        if let Some(backup) = outbox.priority
            && room.add(MptcpOption::Prio { backup }, options)
        {
            outbox.priority = None;
        }
        if !outbox.removed.is_empty()
            && room.add(MptcpOption::RemoveAddr(outbox.removed.clone()), options)
        {
            outbox.removed.clear();
        }
        let subtypes = self.shared.subtypes;
        outbox.extensions.retain(|extension| {
            !room.add(MptcpOption::Private(subtypes.write(extension)), options)
        });
    }

    fn data(
        &mut self,
        offset: u64,
        mapping: DataMapping,
        payload: &[u8],
        room: &mut Room,
        options: &mut MptcpOptions,
    ) {
        let length = payload.len() as u16;
        // The first byte of data has 1 (RFC 8684, section 3.3.1).
        let subflow_seq = (offset as u32).wrapping_add(1);
        let with_checksum = self.shared.checksum;
        let checksum = |length| {
            with_checksum.then(|| dss_checksum(mapping.dsn, subflow_seq, length, 0, payload))
        };
        if offset == 0
            && let Some(capable) = self.capable_with_keys()
        {
            let capable = Capable {
                data_length: Some(length),
                data_checksum: checksum(length),
                ..capable
            };
            room.add(MptcpOption::Capable(capable), options);
            return;
        }
        let length = length + u16::from(mapping.data_fin);
        self.shared.fin_told |= mapping.data_fin;
        let dss = Dss {
            data_fin: mapping.data_fin,
            idle: self.shared.is_last(mapping.dsn, payload.len()),
            data_ack: self.shared.data_ack.map(Number::Wide),
            mapping: Some(Mapping {
                dsn: Number::Wide(mapping.dsn),
                subflow_seq,
                length,
                checksum: checksum(length),
            }),
        };
        room.add(MptcpOption::Dss(dss), options);
    }

    /// After a fallback there are only MP_FAIL and the infinite mapping (RFC 8684, section 3.7).
    fn plain(&mut self, kind: Kind, room: &mut Room, options: &mut MptcpOptions) {
        if let Kind::Data {
            offset,
            again: false,
            ..
        } = kind
            && let Some(begin) = self.shared.infinite
            && offset >= begin
        {
            self.shared.infinite = None;
            let dss = Dss {
                data_fin: false,
                idle: false,
                data_ack: self.shared.data_ack.map(Number::Wide),
                mapping: Some(Mapping {
                    dsn: Number::Wide(self.shared.local.numbers.number(begin)),
                    subflow_seq: (begin as u32).wrapping_add(1),
                    length: 0,
                    checksum: self.shared.checksum.then_some(0),
                }),
            };
            room.add(MptcpOption::Dss(dss), options);
        }
        if let Some(dsn) = self.path.outbox.fail
            && matches!(kind, Kind::Ack | Kind::Fin)
        {
            room.add(self.data_ack(), options);
            room.add(MptcpOption::Fail { dsn }, options);
            self.path.outbox.fail = None;
        }
    }

    fn reset(&mut self, room: &mut Room, options: &mut MptcpOptions) {
        self.shared.resets += 1;
        if self.shared.is_plain() {
            return;
        }
        if let (true, Some(peer)) = (self.shared.fast_close, self.shared.peer) {
            room.add(MptcpOption::FastClose { key: peer.key }, options);
        }
        if let Some(dsn) = self.path.outbox.fail.take() {
            room.add(MptcpOption::Fail { dsn }, options);
        }
        if let Some((transient, reason)) = self.path.outbox.reset {
            room.add(MptcpOption::Reset { transient, reason }, options);
        }
    }
}

/// A DATA_FIN without data: its mapping has length 1 and subflow sequence number 0 (RFC 8684,
/// section 3.3.3).
fn data_fin(shared: &Shared, dsn: u64) -> MptcpOption {
    MptcpOption::Dss(Dss {
        data_fin: true,
        idle: false,
        data_ack: shared.data_ack.map(Number::Wide),
        mapping: Some(Mapping {
            dsn: Number::Wide(dsn),
            subflow_seq: 0,
            length: 1,
            checksum: shared.checksum.then(|| dss_checksum(dsn, 0, 1, 0, &[])),
        }),
    })
}
