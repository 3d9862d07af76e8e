//! How do further subflows join a connection (RFC 8684, section 3.2)?

use super::handshake::Start;
use super::machine::{Connection, Context, Stage};
use super::path::{JoinAck, Origin, PathState, Phase};
use super::shared::Protocol;
use super::{Event, SubflowError, reason};
use crate::subflow::{Subflow, Tuple};
use crate::wire::Segment;
use crate::wire::key::join_hmac;
use crate::wire::mptcp::{Join, MptcpOption};
use policy::SubflowId;
use policy::scheduler::MIN_TIMEOUT;
use rand::RngExt;

/// How often the third ACK of a join is sent before the join is given up: as a SYN in Linux
/// (net.ipv4.tcp_syn_retries).
const JOIN_ACKS: u32 = 6;

/// The MP_JOIN of a segment.
pub(crate) fn join_option<'a>(segment: &'a Segment<'_>) -> Option<&'a Join> {
    segment
        .options
        .mptcp
        .iter()
        .find_map(|option| match option {
            MptcpOption::Join(join) => Some(join),
            _ => None,
        })
}

impl Connection {
    /// A number that no subflow has.
    pub(super) fn free_id(&self) -> Option<SubflowId> {
        let free = |index: &usize| self.paths.get(*index).is_none_or(Option::is_none);
        (0..SubflowId::MAX).find(free).map(SubflowId::new)
    }

    /// Whether subflows may be opened and closed.
    pub(super) fn check_multipath(&self) -> Result<(), SubflowError> {
        match (self.stage, self.shared.protocol) {
            (Stage::Opening | Stage::Over(_), _) => Err(SubflowError::NotConnected),
            (Stage::Connected, Protocol::Multipath) => Ok(()),
            (Stage::Connected, _) => Err(SubflowError::NotMultipath),
        }
    }

    /// Opens a subflow; with a FAST_JOIN if it may be `fast` and both ends have that.
    pub(crate) fn open_subflow(
        &mut self,
        ctx: &mut Context<'_>,
        tuple: Tuple,
        start: Start,
        backup: bool,
        fast: bool,
    ) -> Result<SubflowId, SubflowError> {
        self.check_multipath()?;
        if !self.shared.fully_established {
            return Err(SubflowError::NotConnected);
        }
        if self.shared.no_join && tuple.remote == self.first.remote {
            return Err(SubflowError::Unwanted);
        }
        let id = self.free_id().ok_or(SubflowError::TooMany)?;
        let mut config = ctx.config.subflow.clone();
        config.option_reserve = super::option_reserve(true);
        let mut tcp = Subflow::connect(
            &config,
            ctx.now,
            tuple,
            start.initial,
            start.timestamp_offset,
        );
        tcp.share_windows();
        let mut state = PathState::new(id, tuple, Origin::Joins, ctx.now);
        state.local_id = self.addresses.local_id(tuple.local.ip());
        state.remote_id = self.addresses.remote_id(tuple.remote.ip());
        state.local_nonce = ctx.random.random();
        state.backup = backup;
        self.emit(ctx, Event::SubflowOpening(id));
        if fast {
            state.fast = self.begin_fast(ctx, id, &mut tcp);
        }
        self.add_path(tcp, state);
        Ok(id)
    }

    /// Answers a SYN with MP_JOIN for this connection's token; `Err` with the reason to reset it.
    pub(crate) fn join(
        &mut self,
        ctx: &mut Context<'_>,
        tuple: Tuple,
        start: Start,
        syn: &Segment<'_>,
    ) -> Result<SubflowId, u8> {
        let Some(&Join::Syn {
            backup,
            address_id,
            nonce,
            ..
        }) = join_option(syn)
        else {
            return Err(reason::MPTCP);
        };
        if self.check_multipath().is_err() || !self.shared.fully_established {
            return Err(reason::MPTCP);
        }
        let id = self.free_id().ok_or(reason::RESOURCES)?;
        let mut config = ctx.config.subflow.clone();
        config.option_reserve = super::option_reserve(true);
        let mut tcp = Subflow::accept(
            &config,
            ctx.now,
            tuple,
            start.initial,
            start.timestamp_offset,
            syn,
        );
        tcp.share_windows();
        let mut state = PathState::new(id, tuple, Origin::Joined, ctx.now);
        state.peer_initial = Some(syn.seq);
        state.local_id = self.addresses.local_id(tuple.local.ip());
        state.remote_id = Some(address_id);
        state.local_nonce = ctx.random.random();
        state.remote_nonce = nonce;
        state.peer_backup = backup;
        self.add_path(tcp, state);
        // From its SYN/ACK on the peer may hold the subflow for one that can carry data, whether
        // or not its third ACK ever comes.
        self.single = false;
        self.emit(ctx, Event::SubflowOpening(id));
        Ok(id)
    }

    /// The peer's HMAC over the nonces of a subflow.
    fn expected_hmac(&self, id: SubflowId) -> Option<[u8; 32]> {
        let state = &self.path(id)?.state;
        let peer = self.shared.peer?.key;
        let own = self.shared.local.key;
        Some(join_hmac(peer, own, state.remote_nonce, state.local_nonce))
    }

    /// The SYN/ACK of a subflow that this side joins.
    pub(super) fn on_join_answer(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        segment: &Segment<'_>,
    ) {
        if self.on_fast_answer(ctx, id, segment) {
            return;
        }
        let Some(&Join::SynAck {
            backup,
            address_id,
            hmac,
            nonce,
        }) = join_option(segment)
        else {
            self.rejoin(ctx, id);
            self.reset_subflow(ctx, id, reason::MPTCP);
            return;
        };
        if self
            .path_mut(id)
            .is_some_and(|p| p.state.fast.take().is_some())
        {
            // What a SYN was to carry has to wait for the fourth ACK, or goes elsewhere.
            self.abandon(id);
        }
        if let Some(path) = self.path_mut(id) {
            path.state.remote_nonce = nonce;
            path.state.remote_id = Some(address_id);
            path.state.peer_backup = backup;
        }
        let expected = self.expected_hmac(id);
        let expected = expected.and_then(|h| h.first_chunk().copied());
        if expected.map(u64::from_be_bytes) != Some(hmac) {
            ctx.counters.join_bad_hmac += 1;
            self.reset_subflow(ctx, id, reason::MPTCP);
            return;
        }
        self.single = false;
        if let Some(path) = self.path_mut(id) {
            path.state.phase = Phase::PreEstablished;
            let again = path.tcp.info(ctx.now).rto.max(MIN_TIMEOUT);
            path.state.join_ack = Some(JoinAck {
                at: ctx.now + again,
                sent: 1,
            });
            path.tcp.send_ack();
        }
    }

    /// The third ACK of a subflow that the peer joins.
    pub(super) fn on_join_proof(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        segment: &Segment<'_>,
    ) {
        let expected = self.expected_hmac(id);
        match (join_option(segment), expected) {
            (Some(Join::Ack { hmac }), Some(expected)) if hmac[..] == expected[..20] => {
                self.single = false;
                self.subflow_usable(ctx, id);
                // The fourth ACK: the peer waits for it.
                self.send_acks(policy::SubflowSet::only(id));
            }
            (Some(Join::Ack { .. }), _) => {
                ctx.counters.join_bad_hmac += 1;
                self.reset_subflow(ctx, id, reason::MPTCP);
            }
            _ => self.reset_subflow(ctx, id, reason::MPTCP),
        }
    }

    /// A joined subflow carries data from now on.
    #[cold]
    pub(super) fn subflow_usable(&mut self, ctx: &mut Context<'_>, id: SubflowId) {
        let Some(path) = self.path_mut(id) else {
            return;
        };
        path.state.phase = Phase::Usable;
        path.state.join_ack = None;
        path.state.established = ctx.now;
        path.state.last_original = Some(ctx.now);
        let waiting = path.state.outbox.is_waiting();
        if let Some(remote) = path.state.remote_id {
            self.addresses.begin_use(remote);
        }
        self.alone_since = None;
        ctx.counters.joins += 1;
        self.sending.views.mark(id);
        self.emit(ctx, Event::SubflowEstablished(id));
        if self.sending.sent.orphans() > 0 {
            self.start_rescue();
        }
        if waiting || self.shared.data_fin.is_some() || self.receiving.is_finished() {
            self.send_acks(policy::SubflowSet::only(id));
        }
    }

    /// Sends the third ACKs of joins again whose fourth did not come.
    pub(super) fn poll_joins(&mut self, ctx: &mut Context<'_>) {
        let due = self.select(|s| s.join_ack.is_some_and(|join| join.at <= ctx.now));
        for id in due.iter() {
            let Some(path) = self.path_mut(id) else {
                continue;
            };
            let rto = path.tcp.info(ctx.now).rto.max(MIN_TIMEOUT);
            let Some(join) = &mut path.state.join_ack else {
                continue;
            };
            if join.sent >= JOIN_ACKS {
                self.reset_subflow(ctx, id, reason::MPTCP);
                continue;
            }
            join.at = ctx.now + rto * 2_u32.pow(join.sent);
            join.sent += 1;
            self.send_acks(policy::SubflowSet::only(id));
        }
    }
}
