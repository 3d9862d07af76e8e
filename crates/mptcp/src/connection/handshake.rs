//! How do two hosts find that both speak Multipath TCP (RFC 8684, section 3.1)?

use super::machine::{Connection, Context, Stage};
use super::options_out::{SYNS_WITH_OPTION, VERSION};
use super::path::{Origin, Path, PathState, Phase};
use super::shared::{Key, Protocol, Role, Shared};
use super::{Event, FallbackReason};
use crate::stack::ConnectionId;
use crate::subflow::{Received, State, Subflow, Tuple};
use crate::wire::mptcp::{Capable, MptcpOption};
use crate::wire::{Segment, Seq};
use policy::SubflowId;

/// What the stack draws for a new subflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The initial sequence number.
    pub(crate) initial: Seq,
    /// What the timestamps begin with.
    pub(crate) timestamp_offset: u32,
}

/// The MP_CAPABLE of a segment.
pub(super) fn capable<'a>(segment: &'a Segment<'_>) -> Option<&'a Capable> {
    segment
        .options
        .mptcp
        .iter()
        .find_map(|option| match option {
            MptcpOption::Capable(capable) => Some(capable),
            _ => None,
        })
}

impl Connection {
    /// Begins to connect; `key` is this side's.
    pub(crate) fn connect(
        ctx: &mut Context<'_>,
        id: ConnectionId,
        tuple: Tuple,
        key: u64,
        start: Start,
    ) -> Connection {
        let protocol = match ctx.config.multipath {
            true => Protocol::Offered,
            false => Protocol::Plain,
        };
        let shared = Shared::new(Role::Client, protocol, key, ctx.config.checksum);
        let mut connection = Connection::new(ctx, id, shared, tuple);
        let mut config = ctx.config.subflow.clone();
        config.option_reserve = super::option_reserve(protocol == Protocol::Offered);
        let tcp = Subflow::connect(
            &config,
            ctx.now,
            tuple,
            start.initial,
            start.timestamp_offset,
        );
        let first = PathState::new(SubflowId::new(0), tuple, Origin::First, ctx.now);
        connection.add_path(tcp, first);
        connection.emit(ctx, Event::SubflowOpening(SubflowId::new(0)));
        connection
    }

    /// Answers a SYN that is no join.
    pub(crate) fn accept(
        ctx: &mut Context<'_>,
        id: ConnectionId,
        tuple: Tuple,
        key: u64,
        start: Start,
        syn: &Segment<'_>,
    ) -> Connection {
        // An older version has another handshake; a newer one is answered with this one.
        let offered = capable(syn).filter(|c| c.version >= VERSION && c.sha256);
        let protocol = match offered {
            Some(_) if ctx.config.multipath => Protocol::Offered,
            _ => Protocol::Plain,
        };
        let mut shared = Shared::new(Role::Server, protocol, key, ctx.config.checksum);
        if let Some(capable) = offered {
            shared.checksum = ctx.config.checksum || capable.checksum;
            shared.no_join = capable.no_join;
        }
        let mut connection = Connection::new(ctx, id, shared, tuple);
        connection.hidden = true;
        let mut config = ctx.config.subflow.clone();
        config.option_reserve = super::option_reserve(protocol == Protocol::Offered);
        let tcp = Subflow::accept(
            &config,
            ctx.now,
            tuple,
            start.initial,
            start.timestamp_offset,
            syn,
        );
        let mut first = PathState::new(SubflowId::new(0), tuple, Origin::First, ctx.now);
        first.peer_initial = Some(syn.seq);
        connection.add_path(tcp, first);
        connection
    }

    /// Takes a subflow in, at its number.
    pub(super) fn add_path(&mut self, tcp: Subflow, state: PathState) {
        let index = state.id.index();
        if self.paths.len() <= index {
            self.paths.resize_with(index + 1, || None);
        }
        let id = state.id;
        self.paths[index] = Some(Path {
            tcp,
            state,
            poll_at: None,
        });
        self.touch(id);
    }

    /// The handshake of a subflow's TCP completed with `segment`.
    #[cold]
    pub(super) fn on_handshake(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        segment: &Segment<'_>,
    ) {
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        if path.state.phase != Phase::Opening {
            // It is being closed already.
            return;
        }
        path.state.established = ctx.now;
        path.state.peer_initial.get_or_insert(segment.seq);
        path.state.controlled = true;
        match (path.state.origin, self.shared.role) {
            (Origin::First, Role::Client) => self.finish_connect(ctx, id, segment),
            (Origin::First, Role::Server) if self.shared.is_plain() => {
                self.connected(ctx, id);
                if ctx.config.multipath {
                    self.emit(ctx, Event::Fallback(FallbackReason::NotOffered));
                }
            }
            // The third ACK's options decide: see `confirm`.
            (Origin::First, Role::Server) => {}
            (Origin::Joins, _) => self.on_join_answer(ctx, id, segment),
            (Origin::Joined, _) => self.on_join_proof(ctx, id, segment),
        }
    }

    /// The SYN/ACK of the first subflow.
    fn finish_connect(&mut self, ctx: &mut Context<'_>, id: SubflowId, segment: &Segment<'_>) {
        if self.shared.is_plain() {
            self.connected(ctx, id);
            return;
        }
        let offered = self
            .path(id)
            .is_some_and(|p| p.state.syns <= SYNS_WITH_OPTION);
        let answer = capable(segment).filter(|c| offered && c.version == VERSION && c.sha256);
        match answer.and_then(|c| Some((c, c.sender_key?))) {
            Some((answer, key)) => {
                self.shared.checksum = self.shared.checksum_demanded || answer.checksum;
                self.shared.no_join = answer.no_join;
                self.learn_key(id, key);
                self.connected(ctx, id);
                self.offer_extensions(ctx);
            }
            None => self.fall_back(ctx, id, FallbackReason::NotOffered),
        }
    }

    /// Both keys are known.
    fn learn_key(&mut self, id: SubflowId, key: u64) {
        let peer = Key::new(key);
        self.shared.peer = Some(peer);
        self.shared.protocol = Protocol::Multipath;
        self.receiving.numbers = Some(peer.numbers);
        self.receiving.checksum = self.shared.checksum;
        if let Some(path) = self.path_mut(id) {
            path.tcp.share_windows();
        }
    }

    /// The connection carries data from now on.
    pub(super) fn connected(&mut self, ctx: &mut Context<'_>, id: SubflowId) {
        if self.stage != Stage::Opening {
            return;
        }
        self.stage = Stage::Connected;
        let Some(path) = self.path_mut(id) else {
            return;
        };
        path.state.phase = Phase::Usable;
        let window = path.tcp.peer_window();
        self.sending.admitted = window;
        self.sending.views.mark(id);
        if self.hidden {
            self.hidden = false;
            self.emit(ctx, Event::SubflowOpening(id));
        }
        self.emit(ctx, Event::Connected);
        self.emit(ctx, Event::SubflowEstablished(id));
    }

    /// Looks at a segment that comes right behind the peer's SYN on the first subflow, or brings
    /// the first data: the third ACK for a server, what follows the SYN/ACK for a client.
    pub(super) fn confirm(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        segment: &Segment<'_>,
        result: &Received,
    ) {
        let Some(path) = self.path(id) else {
            return;
        };
        let waiting = path.state.outbox.is_waiting();
        let right_behind = path
            .state
            .peer_initial
            .is_some_and(|initial| segment.seq == initial + 1)
            || result.in_order.is_some_and(|new| new.offset == 0);
        let open = !matches!(path.tcp.state(), State::SynSent | State::SynReceived);
        if path.state.origin != Origin::First || !right_behind || !open {
            return;
        }
        match self.shared.protocol {
            // The server waits for the keys.
            Protocol::Offered => {
                let own = self.shared.local.key;
                let keys = capable(segment)
                    .filter(|c| c.receiver_key == Some(own))
                    .and_then(|c| c.sender_key);
                match keys {
                    Some(key) => {
                        self.learn_key(id, key);
                        self.shared.fully_established = true;
                        self.connected(ctx, id);
                        self.offer_extensions(ctx);
                    }
                    None => self.fall_back(ctx, id, FallbackReason::HandshakeStripped),
                }
            }
            Protocol::Multipath if !self.shared.fully_established => {
                let proof = segment.options.mptcp.iter().any(|option| match option {
                    MptcpOption::Dss(dss) => dss.data_ack.is_some(),
                    MptcpOption::AddAddr(add) => add.hmac.is_some(),
                    MptcpOption::FastClose { .. } => true,
                    _ => false,
                });
                if proof {
                    self.shared.fully_established = true;
                    if waiting {
                        self.send_acks(policy::SubflowSet::only(id));
                    }
                } else {
                    self.fall_back(ctx, id, FallbackReason::HandshakeStripped);
                }
            }
            _ => {}
        }
    }
}
