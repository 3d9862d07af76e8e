//! How does a subflow carry data from its SYN on (De Coninck and Bonaventure, MultiMob, section
//! III-C)?

use super::Event;
use super::fast_admission::Seen;
use super::machine::{Connection, Context};
use super::options_out::{Room, Source};
use super::path::{Fast, Origin, Phase};
use crate::subflow::{Subflow, Tuple};
use crate::wire::Segment;
use crate::wire::key::{dss_checksum, fast_join_hmac};
use crate::wire::mptcp::{Extension, FastJoin, FastJoinForm, Features, MptcpOption, MptcpOptions};
use policy::{SubflowId, SubflowSet};

/// SYNs with a FAST_JOIN: the first and one retransmission. What drops those with data or with an
/// unknown option may let those with MP_JOIN pass, which follow.
pub(super) const FAST_SYNS: u32 = 2;
/// The fast joins of a connection, of each form: offsets in the stream.
#[derive(Default, Debug)]
pub(super) struct FastJoins {
    /// Accepted from the peer.
    pub(super) seen: [Seen; 2],
    /// The last number that this side used: it only grows.
    used: [Option<u64>; 2],
}

pub(super) fn index(form: FastJoinForm) -> usize {
    match form {
        FastJoinForm::Out => 0,
        FastJoinForm::In => 1,
    }
}

/// A subflow to open with MP_JOIN, because one that was opened otherwise came to nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rejoin {
    /// Where it went; the next has another port.
    pub(crate) tuple: Tuple,
    /// Whether as a backup.
    pub(crate) backup: bool,
}

impl Connection {
    /// How a subflow to be opened now can begin, if not with MP_JOIN: with the oldest data that is
    /// not acknowledged, else with a Data ACK, each number once. `tcp` gets the data.
    pub(super) fn begin_fast(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        tcp: &mut Subflow,
    ) -> Option<Fast> {
        if !self.shared.agreed.has(Features::FAST_JOIN) {
            return None;
        }
        let first = self.sending.sent.first();
        let out = self.fast_joins.used[index(FastJoinForm::Out)] != Some(first);
        let carried = out && self.give_first(ctx, id, tcp);
        let fast = if carried {
            self.fast_joins.used[index(FastJoinForm::Out)] = Some(first);
            Fast {
                form: FastJoinForm::Out,
                number: self.shared.local.numbers.number(first),
                syns: 0,
            }
        } else {
            let next = self.receiving.stream.next();
            let number = self.receiving.data_ack()?;
            let used = &mut self.fast_joins.used[index(FastJoinForm::In)];
            if *used == Some(next) {
                return None;
            }
            *used = Some(next);
            Fast {
                form: FastJoinForm::In,
                number,
                syns: 0,
            }
        };
        self.single = false;
        tcp.begin_early(FAST_SYNS);
        ctx.counters.fast_joins_sent += 1;
        self.emit(ctx, Event::FastJoin(id, fast.form));
        Some(fast)
    }

    /// Gives the oldest data that is not acknowledged to a subflow that opens; whether there is any.
    /// Data that was never sent goes only when no other subflow could take it.
    fn give_first(&mut self, ctx: &Context<'_>, id: SubflowId, tcp: &mut Subflow) -> bool {
        let carrier = SubflowSet::only(id);
        if self.sending.sent.len() == 0 {
            let length = tcp.segment_payload() as u64;
            let length = length.min(self.sending.send_window());
            if self.sending.buffer.unsent() == 0 || length == 0 || !self.usable().is_empty() {
                return false;
            }
            let data = self.sending.buffer.cut(length as usize);
            self.sending.sent.push(data, false, carrier, ctx.now);
        } else {
            let length = self.sending.sent.get(0).map_or(0, |p| p.data.len());
            self.sending.sent.add_carriers(0, carrier);
            self.sending.reinjected += length as u64;
        }
        let Some(piece) = self.sending.sent.get(0) else {
            return false;
        };
        let mapping = crate::subflow::DataMapping {
            dsn: self.shared.local.numbers.number(piece.offset),
            data_fin: piece.fin,
        };
        tcp.enqueue(ctx.now, piece.data.clone(), Some(mapping));
        true
    }

    /// The SYN/ACK of a subflow that began with a FAST_JOIN, if it answers that; the answer may be
    /// to an MP_JOIN that was sent after it.
    pub(super) fn on_fast_answer(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        segment: &Segment<'_>,
    ) -> bool {
        let Some(fast) = self.path(id).and_then(|p| p.state.fast) else {
            return false;
        };
        let extensions = &ctx.config.extensions;
        let answer = super::extensions::in_syn(extensions, &segment.options.mptcp, true);
        let (
            Some(Ok(FastJoin::SynAck {
                form,
                backup,
                address_id,
                hmac,
            })),
            Some(peer),
        ) = (answer, self.shared.peer)
        else {
            return false;
        };
        let (own, token) = (self.shared.local.key, self.shared.local.token);
        if form != fast.form || hmac != fast_join_hmac(peer.key, own, token, fast.number) {
            ctx.counters.join_bad_hmac += 1;
            return false;
        }
        if let Some(path) = self.path_mut(id) {
            path.state.remote_id = Some(address_id);
            path.state.peer_backup = backup;
        }
        self.subflow_usable(ctx, id);
        let acks = segment.options.mptcp.iter().filter_map(|o| match o {
            MptcpOption::Dss(dss) => dss.data_ack,
            _ => None,
        });
        for ack in acks {
            self.on_data_ack(ctx, id, ack);
        }
        true
    }

    /// A subflow that this side opened comes to nothing: if it had only tried a FAST_JOIN, another
    /// is opened with MP_JOIN.
    pub(super) fn rejoin(&mut self, ctx: &mut Context<'_>, id: SubflowId) {
        let Some(path) = self.path(id) else {
            return;
        };
        let state = &path.state;
        let Some(fast) = state.fast.filter(|fast| fast.syns >= state.syns) else {
            return;
        };
        if state.origin != Origin::Joins || fast.syns == 0 || self.check_multipath().is_err() {
            return;
        }
        let (tuple, backup) = (state.tuple, state.backup);
        self.rejoins.push(Rejoin { tuple, backup });
        ctx.counters.fast_joins_given_up += 1;
        self.emit(ctx, Event::FastJoinGivenUp(id));
    }

    /// Whether a subflow's handshake is under way.
    pub(super) fn is_opening(&self, id: SubflowId) -> bool {
        self.path(id)
            .is_some_and(|p| p.state.phase == Phase::Opening)
    }
}

impl Source<'_> {
    /// The option of a SYN that counts at once.
    pub(super) fn early_syn(
        &mut self,
        payload: &[u8],
        room: &mut Room,
        options: &mut MptcpOptions,
    ) {
        self.path.syns += 1;
        let (Some(fast), Some(peer)) = (&mut self.path.fast, self.shared.peer) else {
            return;
        };
        fast.syns += 1;
        let checksum = (self.shared.checksum && !payload.is_empty())
            .then(|| dss_checksum(fast.number, 1, payload.len() as u16, 0, payload));
        let join = FastJoin::Syn {
            form: fast.form,
            backup: self.path.backup,
            address_id: self.path.local_id,
            token: peer.token,
            number: fast.number,
            hmac: fast_join_hmac(self.shared.local.key, peer.key, peer.token, fast.number),
            checksum,
        };
        let option = self.shared.subtypes.write(&Extension::FastJoin(join));
        room.add(MptcpOption::Private(option), options);
    }

    /// The answer, and a Data ACK for what came with the SYN.
    pub(super) fn fast_syn_ack(&mut self, room: &mut Room, options: &mut MptcpOptions) {
        let (Some(fast), Some(peer)) = (self.path.fast, self.shared.peer) else {
            return;
        };
        let join = FastJoin::SynAck {
            form: fast.form,
            backup: self.path.backup,
            address_id: self.path.local_id,
            hmac: fast_join_hmac(self.shared.local.key, peer.key, peer.token, fast.number),
        };
        let option = self.shared.subtypes.write(&Extension::FastJoin(join));
        room.add(MptcpOption::Private(option), options);
        room.add(self.data_ack(), options);
    }
}
