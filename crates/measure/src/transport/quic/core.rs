//! What does one end of QUIC do, given datagrams and the time? Sockets and clocks stay outside:
//! a driver hands in what arrived, asks for what to send, and for the time of the next timer.

use super::channel::Channel;
use super::config::{CoreConfig, QuicError};
use super::identity::SERVER_NAME;
use super::path::{Paths, Slot};
use super::settings;
use bytes::BytesMut;
use model::record::{Event, EventKind};
use model::{PathIndex, Side, Time};
use noq_proto::{
    Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, FourTuple, VarInt,
};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One datagram to send.
#[derive(Debug, PartialEq, Eq)]
pub struct Transmit<'a> {
    /// The path it takes, if its addresses belong to one.
    pub path: Option<PathIndex>,
    /// The address to send it from; `None` means the first path's.
    pub local: Option<IpAddr>,
    /// The address to send it to.
    pub remote: SocketAddr,
    /// The ECN codepoint of its IP header.
    pub ecn: Option<EcnCodepoint>,
    /// The UDP payload.
    pub payload: &'a [u8],
}

/// One end: noq's endpoint with its connections, their channels and paths.
pub struct Core {
    pub(super) config: CoreConfig,
    pub(super) side: Side,
    endpoint: Endpoint,
    pub(super) sessions: Vec<Session>,
    pub(super) channels: Vec<Channel>,
    pub(super) accepted: VecDeque<usize>,
    pub(super) events: Vec<Event>,
    pub(super) changed: bool,
    /// Answers of the endpoint itself (refusals, version negotiation).
    responses: VecDeque<(noq_proto::Transmit, Vec<u8>)>,
    payload: Vec<u8>,
    sending: bool,
    /// Whether something happened since noq last had nothing to send: asking it is dear.
    pub(super) stirred: bool,
}

/// One connection.
pub(super) struct Session {
    handle: ConnectionHandle,
    pub connection: Connection,
    pub paths: Paths,
    /// The server's address, where the client's paths lead.
    pub server: Option<SocketAddr>,
    pub connected: bool,
    /// Whether both ends know that the handshake is complete (RFC 9001, section 4.1.2).
    pub confirmed: bool,
    /// Why it is over.
    pub lost: Option<String>,
    /// Closed by this end, and the peer has not been told yet.
    pub goodbye_due: bool,
    /// Closed by this end.
    pub left: bool,
}

impl Core {
    /// A client that connects to `server` over the first path and opens `channels` streams.
    pub fn client(
        config: CoreConfig,
        server: SocketAddr,
        channels: usize,
        now: Time,
    ) -> Result<Core, QuicError> {
        let mut core = Core::new(config, Side::Client, None)?;
        let noq_config =
            settings::client(&core.config.security, core.transport(), core.config.seed)?;
        let (handle, connection) = core
            .endpoint
            .connect(core.instant(now), noq_config, server, SERVER_NAME)
            .map_err(|source| QuicError::Connect { server, source })?;
        core.add_session(now, handle, connection, Some(server));
        core.channels = (0..channels).map(|_| Channel::new(0, None)).collect();
        Ok(core)
    }

    /// A server that accepts every connection.
    pub fn server(config: CoreConfig) -> Result<Core, QuicError> {
        let transport = Core::transport_of(&config);
        let noq_config = settings::server(&config.security, transport)?;
        Core::new(config, Side::Server, Some(noq_config))
    }

    fn new(
        config: CoreConfig,
        side: Side,
        server: Option<noq_proto::ServerConfig>,
    ) -> Result<Core, QuicError> {
        if config.paths.is_empty() {
            return Err(QuicError::NoPath);
        }
        let stream = match side {
            Side::Client => "quic.client",
            Side::Server => "quic.server",
        };
        let endpoint_config = settings::endpoint(config.seed, stream, &config.security);
        Ok(Core {
            endpoint: Endpoint::new(Arc::new(endpoint_config), server.map(Arc::new), true),
            config,
            side,
            sessions: Vec::new(),
            channels: Vec::new(),
            accepted: VecDeque::new(),
            events: Vec::new(),
            changed: false,
            responses: VecDeque::new(),
            payload: Vec::with_capacity(2048),
            sending: false,
            stirred: true,
        })
    }

    fn transport(&self) -> noq_proto::TransportConfig {
        Core::transport_of(&self.config)
    }

    fn transport_of(config: &CoreConfig) -> noq_proto::TransportConfig {
        let multipath_paths = config.multipath.then_some(config.paths.len());
        settings::transport(multipath_paths, config.congestion)
    }

    fn add_session(
        &mut self,
        now: Time,
        handle: ConnectionHandle,
        connection: Connection,
        server: Option<SocketAddr>,
    ) {
        let slots = self.config.paths.iter();
        let slots = slots.map(|path| Slot::new(path.name.clone(), path.client));
        let mut paths = Paths {
            slots: slots.collect(),
            in_use: None,
        };
        paths.learn(
            &connection,
            noq_proto::PathId::ZERO,
            self.side == Side::Client,
        );
        self.sessions.push(Session {
            handle,
            connection,
            paths,
            server,
            connected: false,
            confirmed: false,
            lost: None,
            goodbye_due: false,
            left: false,
        });
        self.drive(now);
    }

    /// noq's instant of a run's time.
    pub(super) fn instant(&self, time: Time) -> Instant {
        self.config.base + Duration::from_nanos(time.as_nanos())
    }

    /// A run's time of noq's instant.
    fn time(&self, instant: Instant) -> Time {
        Time::ZERO + instant.saturating_duration_since(self.config.base)
    }

    /// A datagram arrived at `local` from `remote`.
    pub fn receive(
        &mut self,
        now: Time,
        local: IpAddr,
        remote: SocketAddr,
        ecn: Option<EcnCodepoint>,
        datagram: &[u8],
    ) {
        self.stirred = true;
        let instant = self.instant(now);
        let network_path = FourTuple::new(remote, Some(local));
        let data = BytesMut::from(datagram);
        let mut response = Vec::new();
        let event = self
            .endpoint
            .handle(instant, network_path, ecn, data, &mut response);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                // noq gives the handle of a connection that is over to a later one.
                let mut newest_first = self.sessions.iter_mut().rev();
                if let Some(session) = newest_first.find(|s| s.handle == handle) {
                    session.connection.handle_event(event);
                }
                self.drive(now);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, instant, &mut response, None) {
                    Ok((handle, connection)) => self.add_session(now, handle, connection, None),
                    Err(error) => {
                        if let Some(transmit) = error.response {
                            self.responses.push_back((transmit, response));
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                self.responses.push_back((transmit, response));
            }
            None => {}
        }
    }

    /// When to call [`Core::handle_timeouts`] next, if nothing happens before.
    pub fn poll_at(&self) -> Option<Time> {
        let sessions = self.sessions.iter();
        let timers = sessions.filter_map(|s| s.connection.poll_timeout());
        let timers = timers.map(|at| self.time(at));
        let slots = self.sessions.iter().flat_map(|s| &s.paths.slots);
        let retries = slots.filter_map(|slot| slot.wanted.map(|wanted| wanted.retry_at));
        timers.chain(retries).min()
    }

    /// Runs the timers that are due.
    pub fn handle_timeouts(&mut self, now: Time) {
        self.stirred = true;
        let instant = self.instant(now);
        for session in &mut self.sessions {
            session.connection.handle_timeout(instant);
        }
        self.drive(now);
    }

    /// The next datagram to send; call until `None` after anything else was called.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit<'_>> {
        if !self.stirred {
            return None;
        }
        if !std::mem::replace(&mut self.sending, true) {
            for session in &mut self.sessions {
                for live in session
                    .paths
                    .slots
                    .iter()
                    .filter_map(|s| s.current.as_ref())
                {
                    live.record.lock().begin_sending();
                }
            }
            self.drive(now);
        }
        let (path, transmit) = self.next_transmit(now)?;
        Some(Transmit {
            path,
            local: transmit.src_ip,
            remote: transmit.destination,
            ecn: transmit.ecn,
            payload: &self.payload[..transmit.size],
        })
    }

    fn next_transmit(&mut self, now: Time) -> Option<(Option<PathIndex>, noq_proto::Transmit)> {
        if let Some((transmit, payload)) = self.responses.pop_front() {
            self.payload = payload;
            return Some((None, transmit));
        }
        let instant = self.instant(now);
        loop {
            for index in 0..self.sessions.len() {
                self.payload.clear();
                let session = &mut self.sessions[index];
                let transmit =
                    session
                        .connection
                        .poll_transmit(instant, NonZeroUsize::MIN, &mut self.payload);
                if let Some(transmit) = transmit {
                    session.goodbye_due = false;
                    let path = self.note_sent(now, index, &transmit);
                    return Some((path, transmit));
                }
            }
            // Sending produces events for the endpoint (retired connection ids), whose answers
            // may have to be sent in turn.
            if !self.exchange_endpoint_events() {
                self.sending = false;
                self.stirred = false;
                return None;
            }
        }
    }

    /// Finds the path a packet takes, and whether it is the first with data there.
    fn note_sent(
        &mut self,
        now: Time,
        index: usize,
        transmit: &noq_proto::Transmit,
    ) -> Option<PathIndex> {
        let is_client = self.side == Side::Client;
        let session = &mut self.sessions[index];
        let path = match (is_client, transmit.src_ip) {
            (true, None) => Some(PathIndex(0)),
            (true, Some(local)) => session.paths.of_client(local),
            (false, _) => session.paths.of_client(transmit.destination.ip()),
        }?;
        if session.paths.slots[path.0].current.is_none() && !is_client {
            for id in session.connection.paths() {
                session.paths.learn(&session.connection, id, is_client);
            }
        }
        if session.paths.slots[path.0].packet_sent(&mut session.connection) {
            self.note_data(now, index, path);
        }
        Some(path)
    }

    /// Passes events between the connections and the endpoint; whether there were any.
    pub(super) fn exchange_endpoint_events(&mut self) -> bool {
        let mut any = false;
        for session in &mut self.sessions {
            while let Some(event) = session.connection.poll_endpoint_events() {
                any = true;
                if let Some(answer) = self.endpoint.handle_event(session.handle, event) {
                    session.connection.handle_event(answer);
                }
            }
        }
        any
    }

    /// Ends every connection, telling the peer; send what [`Core::poll_transmit`] then yields, and what
    /// is left at [`Core::goodbye_at`].
    pub fn close(&mut self, now: Time) {
        self.stirred = true;
        let instant = self.instant(now);
        for session in &mut self.sessions {
            session.left |= !session.connection.is_closed();
            session.goodbye_due = !session.connection.is_closed();
            session
                .connection
                .close(instant, VarInt::from_u32(0), bytes::Bytes::new());
        }
        self.drive(now);
    }

    /// When to call [`Core::handle_timeouts`] and send again, so that a peer learns that its connection
    /// is closed; `None` when there is nobody left to tell. noq paces a CONNECTION_CLOSE like any other
    /// packet: right after others it yields none yet.
    pub fn goodbye_at(&self) -> Option<Time> {
        let due = self.sessions.iter().filter(|s| s.goodbye_due);
        let timers = due.filter_map(|s| s.connection.poll_timeout());
        timers.min().map(|at| self.time(at))
    }

    /// Whether a peer may still be answered that its connection is closed: a CONNECTION_CLOSE is not sent
    /// again by itself, so what the peer goes on sending shows that it was lost (RFC 9000, section 10.2.1).
    pub fn is_leaving(&self) -> bool {
        let left = |s: &Session| s.left && !s.connection.is_drained();
        self.sessions.iter().any(left)
    }

    /// Whether every channel can carry data (client), or always (server).
    pub fn is_connected(&self) -> bool {
        match self.side {
            Side::Server => true,
            Side::Client => self.channels.iter().all(Channel::is_ready),
        }
    }

    /// Whether the server knows that the client's connection is established: from then on it understands
    /// that it is closed.
    pub fn is_confirmed(&self) -> bool {
        self.sessions.first().is_some_and(|s| s.confirmed)
    }

    /// Why the client's connection could not be established, once that is certain.
    pub fn connect_failure(&self) -> Option<&str> {
        let session = self.sessions.first().filter(|s| !s.connected)?;
        session
            .lost
            .as_deref()
            .filter(|_| self.side == Side::Client)
    }

    /// A channel the peer opened, each once (server).
    pub fn accepted(&mut self) -> Option<usize> {
        self.accepted.pop_front()
    }

    /// Whether paths came, went or changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Moves what happened since the last call to `events`.
    pub fn events(&mut self, events: &mut Vec<Event>) {
        events.append(&mut self.events);
    }

    /// Records an event of a connection, and of one of its paths.
    pub(super) fn event(
        &mut self,
        now: Time,
        kind: EventKind,
        session: usize,
        path: Option<PathIndex>,
        detail: impl Into<String>,
    ) {
        let mut event = Event::new(now, kind, detail);
        event.side = Some(self.side);
        event.connection = Some(session as u64);
        event.path = path.map(|index| self.config.paths[index.0].name.clone());
        self.events.push(event);
    }

    /// Records something about a path that is worth a line.
    pub(super) fn note(&mut self, now: Time, path: Option<PathIndex>, detail: String) {
        self.event(now, EventKind::Note, 0, path, detail);
    }

    pub(super) fn is_client(&self) -> bool {
        self.side == Side::Client
    }
}
