//! How does a subflow carry data from its SYN on (De Coninck and Bonaventure, MultiMob, section
//! III-C)?

use super::handshake::Start;
use super::machine::{Connection, Context};
use super::mapping::Mapping;
use super::options_out::{Room, Source};
use super::path::{Fast, Origin, PathState, Phase};
use super::receiving::Outcome;
use super::{Event, reason};
use crate::subflow::{Congestion, Subflow, Tuple};
use crate::wire::Segment;
use crate::wire::key::{dss_checksum, fast_join_hmac};
use crate::wire::mptcp::{
    self, Extension, FastJoin, FastJoinForm, Features, MptcpOption, MptcpOptions, Number,
};
use arrayvec::ArrayVec;
use policy::{SubflowId, SubflowSet};

/// SYNs with a FAST_JOIN: the first and one retransmission. What drops those with data or with an
/// unknown option may let those with MP_JOIN pass, which follow.
pub(super) const FAST_SYNS: u32 = 2;
/// Numbers of accepted joins that are remembered, of each form; lower ones than the lowest that had
/// to be forgotten are refused.
const REMEMBERED: usize = 32;

/// Why a FAST_JOIN is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JoinRefusal {
    /// The connection has not agreed on it, or ends.
    #[error("the connection has not agreed on fast joins")]
    NotAgreed,
    /// The HMAC is not the peer's.
    #[error("forged: a wrong HMAC")]
    Forged,
    /// The data sequence number or Data ACK is outside of what the paper admits.
    #[error("out of the window")]
    OutOfWindow,
    /// A join with this number was accepted, or may have been.
    #[error("replayed: its number was used before")]
    Replayed,
    /// The option or its data is not whole.
    #[error("malformed: its option or data is not whole")]
    Malformed,
    /// There are as many subflows as there can be.
    #[error("too many subflows")]
    Resources,
}

/// The numbers of the joins accepted, of one form.
#[derive(Default, Debug)]
struct Seen {
    /// In order.
    numbers: ArrayVec<u64, REMEMBERED>,
    /// All up to here count as seen.
    floor: Option<u64>,
}

impl Seen {
    fn contains(&self, number: u64) -> bool {
        self.floor.is_some_and(|floor| number <= floor) || self.numbers.contains(&number)
    }

    fn add(&mut self, number: u64) {
        if self.numbers.is_full() {
            self.floor = self.floor.max(self.numbers.pop_at(0));
        }
        let place = self.numbers.partition_point(|n| *n < number);
        if self.floor.is_none_or(|floor| number > floor) {
            self.numbers.insert(place, number);
        }
    }
}

/// The fast joins of a connection, of each form: offsets in the stream.
#[derive(Default, Debug)]
pub(super) struct FastJoins {
    /// Accepted from the peer.
    seen: [Seen; 2],
    /// The last number that this side used: it only grows.
    used: [Option<u64>; 2],
}

fn index(form: FastJoinForm) -> usize {
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

    /// Answers a SYN with a FAST_JOIN for this connection's token.
    #[cold]
    pub(crate) fn fast_join(
        &mut self,
        ctx: &mut Context<'_>,
        tuple: Tuple,
        start: Start,
        syn: &Segment<'_>,
        join: &FastJoin,
    ) -> Result<SubflowId, u8> {
        let accepted = self.admit(syn, join);
        let (fast, at) = match accepted {
            Ok(accepted) => accepted,
            Err(refusal) => return Err(self.refuse_fast(ctx, refusal)),
        };
        let &FastJoin::Syn {
            backup, address_id, ..
        } = join
        else {
            return Err(self.refuse_fast(ctx, JoinRefusal::Malformed));
        };
        let Some(id) = self.free_id() else {
            return Err(self.refuse_fast(ctx, JoinRefusal::Resources));
        };
        self.fast_joins.seen[index(fast.form)].add(at);
        let mut config = ctx.config.subflow.clone();
        config.option_reserve = super::option_reserve(true);
        let (initial, offset) = (start.initial, start.timestamp_offset);
        let mut tcp = Subflow::accept(&config, ctx.now, tuple, initial, offset, syn);
        tcp.share_windows();
        let congestion = Congestion {
            controller: &mut *self.controller,
            id,
        };
        tcp.open_early(ctx.now, syn.payload.len(), congestion);
        let mut state = PathState::new(id, tuple, Origin::Joined, ctx.now);
        state.peer_initial = Some(syn.seq);
        state.local_id = self.addresses.local_id(tuple.local.ip());
        state.remote_id = Some(address_id);
        state.peer_backup = backup;
        state.controlled = true;
        state.fast = Some(fast);
        self.add_path(tcp, state);
        self.single = false;
        ctx.counters.fast_joins += 1;
        self.emit(ctx, Event::SubflowOpening(id));
        self.emit(ctx, Event::FastJoin(id, fast.form));
        match fast.form {
            FastJoinForm::Out => self.take_early(ctx, id, fast, syn, join),
            FastJoinForm::In => self.on_data_ack(ctx, id, Number::Wide(fast.number)),
        }
        self.subflow_usable(ctx, id);
        self.progress(ctx);
        Ok(id)
    }

    /// Whether a join may be accepted; with the offset in the stream that its number stands for.
    fn admit(&mut self, syn: &Segment<'_>, join: &FastJoin) -> Result<(Fast, u64), JoinRefusal> {
        let (
            &FastJoin::Syn {
                form,
                token,
                number,
                hmac,
                checksum,
                ..
            },
            Some(peer),
        ) = (join, self.shared.peer)
        else {
            return Err(JoinRefusal::NotAgreed);
        };
        let agreed = self.shared.agreed.has(Features::FAST_JOIN);
        if self.check_multipath().is_err() || !self.shared.fully_established || !agreed {
            return Err(JoinRefusal::NotAgreed);
        }
        if hmac != fast_join_hmac(peer.key, self.shared.local.key, token, number) {
            return Err(JoinRefusal::Forged);
        }
        let wide = Number::Wide(number);
        // The paper's rule: [EDSN - rcv_wnd, EDSN]; for a Data ACK the same of this side's stream,
        // up to what was sent.
        let (numbers, from, window, most) = match form {
            FastJoinForm::Out => {
                let window = self.receiving.announce();
                let next = self.receiving.stream.next();
                (peer.numbers, next, window, next)
            }
            FastJoinForm::In => {
                let sending = &self.sending;
                let first = sending.sent.first();
                let most = sending.sent.next() + u64::from(sending.fin_signalled);
                let window = sending.admitted.saturating_sub(first);
                (self.shared.local.numbers, first, window, most)
            }
        };
        let at = from.checked_add_signed(numbers.beyond(wide, from));
        let at = at.filter(|at| *at <= most && *at >= from.saturating_sub(window));
        let at = at.ok_or(JoinRefusal::OutOfWindow)?;
        if self.fast_joins.seen[index(form)].contains(at) {
            return Err(JoinRefusal::Replayed);
        }
        let wanted = self.shared.checksum && !syn.payload.is_empty();
        let length = u16::try_from(syn.payload.len()).map_err(|_| JoinRefusal::Malformed)?;
        let right = match checksum {
            Some(sum) => wanted && dss_checksum(number, 1, length, sum, syn.payload) == 0,
            None => !wanted,
        };
        let stray = form == FastJoinForm::In && length > 0;
        if !right || stray || syn.flags.fin {
            return Err(JoinRefusal::Malformed);
        }
        let fast = Fast {
            form,
            number,
            syns: 0,
        };
        Ok((fast, at))
    }

    /// Counts a refusal; the reason to reset the SYN with.
    #[cold]
    fn refuse_fast(&mut self, ctx: &mut Context<'_>, refusal: JoinRefusal) -> u8 {
        let counters = &mut ctx.counters.fast_joins_refused;
        let (counter, why) = match refusal {
            JoinRefusal::NotAgreed => (&mut counters.not_agreed, reason::MPTCP),
            JoinRefusal::Forged => (&mut counters.forged, reason::MPTCP),
            JoinRefusal::OutOfWindow => (&mut counters.out_of_window, reason::MPTCP),
            JoinRefusal::Replayed => (&mut counters.replayed, reason::MPTCP),
            JoinRefusal::Malformed => (&mut counters.malformed, reason::MPTCP),
            JoinRefusal::Resources => (&mut counters.resources, reason::RESOURCES),
        };
        *counter += 1;
        if !self.is_over() {
            self.emit(ctx, Event::FastJoinRefused(refusal));
        }
        why
    }

    /// The data of a SYN.
    fn take_early(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        fast: Fast,
        syn: &Segment<'_>,
        join: &FastJoin,
    ) {
        let length = syn.payload.len() as u16;
        let &FastJoin::Syn { checksum, .. } = join else {
            return;
        };
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        if length == 0 {
            // Something between took the data out; it comes again as any other.
            return;
        }
        let incoming = &mut path.state.incoming;
        let wire = mptcp::Mapping {
            dsn: Number::Wide(fast.number),
            subflow_seq: 1,
            length,
            checksum,
        };
        let mapping = Mapping {
            start: 0,
            length,
            data_fin: false,
            wire,
        };
        let mut outcome = Outcome::default();
        self.receiving.learn(incoming, mapping);
        self.receiving
            .take(incoming, 0, syn.payload, false, &mut outcome);
        ctx.counters.bad_mappings += outcome.bad;
        if let Some(fault) = outcome.fault {
            self.on_fault(ctx, id, fault);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_as_seen_even_when_it_had_to_be_forgotten() {
        let mut seen = Seen::default();
        for number in (0..1_000)
            .rev()
            .step_by(10)
            .chain((1_000..2_000).step_by(10))
        {
            if !seen.contains(number) {
                seen.add(number);
            }
            assert!(seen.contains(number), "{number}");
        }
        assert_eq!(seen.numbers.len(), REMEMBERED);
        assert!((0..1_990).step_by(10).all(|number| seen.contains(number)));
        assert!(!seen.contains(1_995) && !seen.contains(2_000));
    }
}
