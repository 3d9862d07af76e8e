//! What happens to a connection when a segment, a timer or a call comes?

use super::addresses::Addresses;
use super::extensions::Extended;
use super::fast_join::{FastJoins, Rejoin};
use super::path::{Path, PathState, Phase};
use super::receiving::Receiving;
use super::sending::Sending;
use super::shared::{Protocol, Shared};
use super::{Config, Event, Failure, Info};
use crate::stack::{ConnectionId, Counters, Transmit};
use crate::subflow::{Congestion, State, Tuple};
use crate::wire::Segment;
use model::Time;
use policy::congestion::Controller;
use policy::{SubflowId, SubflowSet};
use rand_pcg::Pcg64;
use std::collections::VecDeque;
use std::time::Duration;

/// What a connection borrows from its stack.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) config: &'a Config,
    pub(crate) events: &'a mut VecDeque<(ConnectionId, Event)>,
    pub(crate) counters: &'a mut Counters,
    pub(crate) random: &'a mut Pcg64,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The first handshake is under way.
    Opening,
    /// It carries data.
    Connected,
    /// All was delivered, or it failed.
    Over(Option<Failure>),
}

/// One connection.
pub(crate) struct Connection {
    pub(super) id: ConnectionId,
    pub(super) stage: Stage,
    /// By their numbers.
    pub(super) paths: Vec<Option<Path>>,
    pub(super) controller: Box<dyn Controller>,
    pub(super) shared: Shared,
    pub(super) sending: Sending,
    pub(super) receiving: Receiving,
    pub(super) addresses: Addresses,
    pub(super) extended: Extended,
    pub(super) fast_joins: FastJoins,
    /// Subflows to open with MP_JOIN.
    pub(crate) rejoins: Vec<Rejoin>,
    /// Where the first subflow goes.
    pub(super) first: Tuple,
    /// Whether there was ever only one subflow and everything went once: only then may it become
    /// plain TCP (Linux's allow_infinite_fallback).
    pub(super) single: bool,
    /// When the last subflow went.
    pub(super) alone_since: Option<Time>,
    /// How long it waits for another then.
    pub(super) close_timeout: Duration,
    /// Whether nobody knows of it yet: a peer made it and it is not connected.
    pub(super) hidden: bool,
    /// Subflows that may have something to transmit.
    ready: SubflowSet,
    /// Subflows whose timers may have changed since anybody asked for the first.
    retimed: SubflowSet,
    /// The one that transmitted last.
    turn: usize,
    /// Those that had more to transmit when they did last.
    pressing: SubflowSet,
    /// Tuples that are free again.
    pub(crate) freed: Vec<Tuple>,
    /// Whether the application forgot it.
    pub(crate) released: bool,
}

impl Connection {
    /// One that has its first subflow to come.
    pub(super) fn new(
        ctx: &Context<'_>,
        id: ConnectionId,
        shared: Shared,
        first: Tuple,
    ) -> Connection {
        Connection {
            id,
            stage: Stage::Opening,
            paths: Vec::new(),
            controller: (ctx.config.controller.make)(),
            sending: Sending::new(ctx.config),
            receiving: Receiving::new(ctx.config.receive_buffer, ctx.now),
            addresses: Addresses::new(first),
            extended: Extended::default(),
            fast_joins: FastJoins::default(),
            rejoins: Vec::new(),
            shared,
            first,
            single: true,
            alone_since: None,
            close_timeout: ctx.config.close_timeout,
            hidden: false,
            ready: SubflowSet::EMPTY,
            retimed: SubflowSet::EMPTY,
            turn: 0,
            pressing: SubflowSet::EMPTY,
            freed: Vec::new(),
            released: false,
        }
    }

    pub(super) fn path(&self, id: SubflowId) -> Option<&Path> {
        self.paths.get(id.index())?.as_ref()
    }

    pub(super) fn path_mut(&mut self, id: SubflowId) -> Option<&mut Path> {
        self.paths.get_mut(id.index())?.as_mut()
    }

    /// The subflows that `which` holds for.
    pub(super) fn select(&self, which: impl Fn(&PathState) -> bool) -> SubflowSet {
        let paths = self.paths.iter().flatten().map(|p| &p.state);
        paths.filter(|s| which(s)).map(|s| s.id).collect()
    }

    /// Those that can carry data.
    pub(super) fn usable(&self) -> SubflowSet {
        self.select(PathState::is_usable)
    }

    pub(super) fn emit(&self, ctx: &mut Context<'_>, event: Event) {
        if !self.released && !self.hidden {
            ctx.events.push_back((self.id, event));
        }
    }

    /// Something about a subflow changed: its timers, and perhaps it has something to say.
    pub(super) fn touch(&mut self, id: SubflowId) {
        self.ready.insert(id);
        self.retimed.insert(id);
        self.sending.views.mark(id);
    }

    /// A subflow has something to send.
    pub(super) fn make_ready(&mut self, id: SubflowId) {
        self.ready.insert(id);
        self.retimed.insert(id);
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// Makes each of `subflows` send an acknowledgement.
    pub(super) fn send_acks(&mut self, subflows: SubflowSet) {
        for id in subflows.iter() {
            if let Some(path) = self.path_mut(id) {
                path.tcp.send_ack();
                self.touch(id);
            }
        }
    }

    /// A segment for one of its subflows arrived.
    pub(crate) fn receive(&mut self, ctx: &mut Context<'_>, id: SubflowId, segment: &Segment<'_>) {
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let congestion = Congestion {
            controller: &mut *self.controller,
            id,
        };
        let result = path.tcp.receive(ctx.now, segment, congestion);
        // Whatever arrives says that the subflow lives (Linux's mptcp_subflow_active).
        path.state.stale = false;
        if !result.acceptable {
            let challenges = path.tcp.info(ctx.now).challenges;
            ctx.counters.challenges += challenges - path.state.challenges;
            path.state.challenges = challenges;
        }
        let reset = segment.flags.rst && path.tcp.state() == State::Closed;
        self.touch(id);
        if reset {
            self.read_reset(ctx, segment);
        } else if result.acceptable {
            if result.established {
                self.on_handshake(ctx, id, segment);
            }
            self.read_options(ctx, id, segment, &result);
            self.note_fin(id, segment);
            self.take_payload(ctx, id, segment, &result);
            if result.acked {
                self.on_acked(ctx, id);
            }
            if result.fin {
                let bare = segment.flags.fin && segment.options.mptcp.is_empty();
                self.on_subflow_fin(ctx, id, bare);
            }
        }
        self.check_end(ctx, id);
        self.watch_idle(ctx, id);
        self.progress(ctx);
        self.let_rest(id);
    }

    /// Every other segment with data is answered by nothing: then its subflow need not be asked.
    fn let_rest(&mut self, id: SubflowId) {
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let congestion = Congestion {
            controller: &mut *self.controller,
            id,
        };
        path.tcp.set_receive_window(self.receiving.announce());
        match path.tcp.rests(&congestion) {
            true => self.ready.remove(id),
            false => self.pressing.insert(id),
        }
    }

    /// Something changed: sends what can be sent, and ends what is complete.
    pub(super) fn progress(&mut self, ctx: &mut Context<'_>) {
        self.check_finish(ctx);
        self.push(ctx);
        self.check_finish_sent(ctx);
    }

    /// Timers that are due.
    pub(crate) fn poll(&mut self, ctx: &mut Context<'_>) {
        self.look_at_timers();
        for index in 0..self.paths.len() {
            let Some(path) = &mut self.paths[index] else {
                continue;
            };
            if path.poll_at.is_none_or(|at| at > ctx.now) {
                continue;
            }
            let id = path.state.id;
            let congestion = Congestion {
                controller: &mut *self.controller,
                id,
            };
            path.tcp.poll(ctx.now, congestion);
            self.touch(id);
            self.check_timeout(ctx, id);
            self.check_end(ctx, id);
        }
        self.poll_joins(ctx);
        self.poll_addresses(ctx);
        self.poll_extensions(ctx);
        self.poll_retransmission(ctx);
        self.poll_closing(ctx);
        self.poll_alone(ctx);
        self.progress(ctx);
    }

    /// Looks again at the timers of the subflows where something happened.
    fn look_at_timers(&mut self) {
        for id in self.retimed.iter() {
            if let Some(path) = self.path_mut(id) {
                path.look_at_timers();
            }
        }
        self.retimed = SubflowSet::EMPTY;
    }

    /// When something is due.
    pub(crate) fn poll_at(&mut self) -> Option<Time> {
        self.look_at_timers();
        let first = Time::earliest([
            self.sending.poll_at(),
            self.addresses.poll_at(),
            self.alone_deadline(),
            self.extensions_poll_at(),
        ]);
        let paths = self.paths.iter().flatten();
        paths.fold(first, |first, path| Time::earliest([first, path.poll_at]))
    }

    /// The next packet of one of its subflows, in turn.
    pub(crate) fn transmit(
        &mut self,
        ctx: &mut Context<'_>,
        packet: &mut [u8],
    ) -> Option<Transmit> {
        while !self.ready.is_empty() {
            let after = self.ready.iter().find(|id| id.index() > self.turn);
            let id = after.or_else(|| self.ready.iter().next())?;
            let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
                self.ready.remove(id);
                continue;
            };
            self.shared.data_ack = self.receiving.data_ack();
            let written = self.sending.written_until();
            self.shared.written_until = written.map(|end| self.shared.local.numbers.number(end));
            let window = self.receiving.announce();
            path.tcp.set_receive_window(window);
            let congestion = Congestion {
                controller: &mut *self.controller,
                id,
            };
            self.retimed.insert(id);
            let pressing = self.pressing.contains(id);
            self.pressing.remove(id);
            if !pressing && path.tcp.rests(&congestion) {
                self.ready.remove(id);
                continue;
            }
            let had_sent = path.state.sent_data;
            let mut source = super::options_out::Source {
                shared: &mut self.shared,
                path: &mut path.state,
                more: false,
                held: false,
            };
            let length = path.tcp.transmit(ctx.now, congestion, &mut source, packet);
            let (more, held) = (source.more, source.held);
            let fin = self.shared.data_fin.is_some() && !self.shared.fin_told;
            let waiting = more || fin || path.state.outbox.is_waiting();
            if length.is_some() && waiting && !held {
                // They go with acknowledgements only; data went instead, or there was no room.
                path.tcp.send_ack();
            }
            // Looked at here for the next call, which comes right after this one.
            let congestion = Congestion {
                controller: &mut *self.controller,
                id,
            };
            let sent = length.is_some();
            let rests = sent && (path.tcp.has_sent_all() || path.tcp.rests(&congestion));
            let first_data = !had_sent && path.state.sent_data;
            ctx.counters.resets_sent += std::mem::take(&mut self.shared.resets);
            match length {
                Some(length) => {
                    let tuple = &path.state.tuple;
                    let sent = Transmit {
                        length,
                        source: tuple.local.ip(),
                        destination: tuple.remote.ip(),
                    };
                    match rests {
                        true => self.ready.remove(id),
                        false => self.pressing.insert(id),
                    }
                    self.turn = id.index();
                    self.sending.views.mark(id);
                    if first_data {
                        self.emit(ctx, Event::FirstData(id));
                    }
                    return Some(sent);
                }
                None => {
                    self.ready.remove(id);
                    if path.tcp.state() == State::Closed && path.state.phase == Phase::Gone {
                        self.freed.push(path.state.tuple);
                        self.paths[id.index()] = None;
                    }
                }
            }
        }
        None
    }

    /// Whether something may be there to transmit.
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether nothing is left of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.iter().all(Option::is_none)
    }

    /// Whether it ended, well or not.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_over()
    }

    /// Whether it carries data, or did.
    pub(crate) fn is_connected(&self) -> bool {
        self.stage != Stage::Opening
    }

    /// Whether nobody knows of it yet.
    pub(crate) fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// The token by which the peer joins.
    pub(crate) fn token(&self) -> Option<u32> {
        (self.shared.protocol != Protocol::Plain).then_some(self.shared.local.token)
    }

    /// As seen from outside.
    pub(crate) fn info(&self) -> Info {
        let stream = &self.receiving.stream;
        let connected = self.stage == Stage::Connected;
        Info {
            multipath: self.shared.protocol == Protocol::Multipath,
            connected,
            writable: !self.is_over() && !self.sending.is_finished(),
            unsent: self.sending.buffer.unsent(),
            unacked: self.sending.sent.bytes(),
            readable: stream.readable(),
            at_end: self.receiving.is_finished() && stream.readable() == 0,
            failure: match self.stage {
                Stage::Over(failure) => failure,
                _ => None,
            },
            reinjected_bytes: self.sending.reinjected,
            duplicate_bytes: stream.duplicates(),
            fully_established: self.shared.fully_established,
            oldest_sent: self.sending.sent.get(0).map(|piece| piece.first_sent),
            sent_bytes: self.sending.sent.next(),
            received_bytes: stream.next(),
        }
    }
}
