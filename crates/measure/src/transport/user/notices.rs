//! What is made of the stack's events?

use super::channel::Phase;
use super::packets::Packets;
use model::record::{Event, EventKind};
use model::{PathIndex, Side, Time};
use mptcp::connection::{self, FallbackReason, SubflowInfo};
use mptcp::subflow;
use mptcp::wire::mptcp::{FastJoinForm, Features};
use policy::SubflowId;

impl Packets {
    /// An event at this end.
    pub(super) fn event(
        &mut self,
        now: Time,
        kind: EventKind,
        channel: Option<usize>,
        path: Option<PathIndex>,
        detail: impl Into<String>,
    ) {
        let mut event = Event::new(now, kind, detail);
        event.side = Some(self.side);
        event.connection = channel.map(|c| c as u64);
        event.path = path.map(|p| self.paths[p.0].name.clone());
        self.events.push(event);
    }

    /// Marks a channel as over.
    pub(super) fn end(&mut self, now: Time, channel: usize, detail: &str) {
        let connection = &mut self.channels[channel];
        if connection.phase == Phase::Closed {
            return;
        }
        connection.end();
        self.event(now, EventKind::Disconnected, Some(channel), None, detail);
        self.changed = true;
    }

    /// What happened to a connection.
    pub(super) fn take_in(&mut self, now: Time, channel: usize, event: &connection::Event) {
        use connection::Event as Told;
        match *event {
            Told::Connected => self.connected(now, channel),
            Told::Fallback(reason) => {
                self.changed = true;
                let detail = fallback(reason);
                self.event(now, EventKind::Fallback, Some(channel), None, detail);
            }
            Told::SubflowOpening(id) => self.opening(now, channel, id),
            Told::SubflowEstablished(id) => self.established(now, channel, id),
            Told::SubflowClosed(id, why) => self.closed(now, channel, id, why),
            Told::FirstData(id) => self.first_data(now, channel, id),
            Told::PriorityChanged(id, backup) => {
                self.changed = true;
                let path = self.path_on(now, channel, id);
                let detail = match (self.acting, backup) {
                    (true, true) => "this end made it backup",
                    (true, false) => "this end made it regular",
                    (false, true) => "the peer made it backup",
                    (false, false) => "the peer made it regular",
                };
                self.event(now, EventKind::PriorityChanged, Some(channel), path, detail);
            }
            Told::Extensions(features) => {
                let detail = extensions(features);
                self.event(now, EventKind::Note, Some(channel), None, detail);
            }
            Told::Starved(id) => {
                self.changed = true;
                let path = self.path_on(now, channel, id);
                let detail =
                    "starved: nothing came for the idle time, and the peer has more to send";
                self.event(now, EventKind::Note, Some(channel), path, detail);
            }
            Told::FastJoin(id, form) => {
                let path = self.path_on(now, channel, id);
                let detail = match form {
                    FastJoinForm::Out => "opened with FAST_JOIN_OUT",
                    FastJoinForm::In => "opened with FAST_JOIN_IN",
                };
                self.event(now, EventKind::Note, Some(channel), path, detail);
            }
            Told::FastJoinGivenUp(id) => {
                let path = self.path_on(now, channel, id);
                let detail = "the fast join came to nothing; MP_JOIN is tried";
                self.event(now, EventKind::Note, Some(channel), path, detail);
            }
            Told::FastJoinRefused(why) => {
                let detail = format!("a fast join was refused: {why}");
                self.event(now, EventKind::Note, Some(channel), None, detail);
            }
            Told::AddressAnnounced { id, address } => {
                let detail = format!("the peer announced its address {id}: {address}");
                self.event(now, EventKind::Note, Some(channel), None, detail);
            }
            Told::AddressWithdrawn(id) => {
                let detail = format!("the peer removed its address {id}");
                self.event(now, EventKind::Note, Some(channel), None, detail);
            }
            Told::PeerFinished => self.channels[channel].peer_finished = true,
            Told::Closed => self.end(now, channel, "closed"),
            Told::Failed(why) => self.failed(now, channel, why),
        }
    }

    fn connected(&mut self, now: Time, channel: usize) {
        self.changed = true;
        self.channels[channel].phase = Phase::Open;
        self.can_join = false;
        let first = self.subflows(now, channel).first().copied();
        let path = first.and_then(|subflow| self.path_of(self.client_of(&subflow)));
        let detail = match (first, self.side) {
            (Some(subflow), Side::Client) => {
                format!("{} to {}", subflow.tuple.local, subflow.tuple.remote)
            }
            (Some(subflow), Side::Server) => format!("from {}", subflow.tuple.remote),
            (None, _) => String::new(),
        };
        self.event(now, EventKind::Connected, Some(channel), path, detail);
    }

    fn opening(&mut self, now: Time, channel: usize, id: SubflowId) {
        self.changed = true;
        let path = self.path_on(now, channel, id);
        // The first subflow is the connection; the others the server is told of by the client.
        if self.side == Side::Client && self.channels[channel].phase == Phase::Open {
            let backup = self.seen.iter().any(|s| s.id == id && s.backup);
            let detail = if backup { "as backup" } else { "as regular" };
            self.event(now, EventKind::PathOpening, Some(channel), path, detail);
        }
    }

    fn established(&mut self, now: Time, channel: usize, id: SubflowId) {
        self.changed = true;
        let path = self.path_on(now, channel, id);
        let seen = self.seen.iter().find(|s| s.id == id);
        let detail = seen.map_or_else(String::new, |subflow| {
            let word = |says: bool, word: &'static str| if says { word } else { "" };
            format!(
                "{} to {}{}{}",
                subflow.tuple.local,
                subflow.tuple.remote,
                word(subflow.backup, ", backup"),
                word(subflow.peer_backup, ", backup for the peer"),
            )
        });
        self.event(now, EventKind::PathOpened, Some(channel), path, detail);
    }

    fn closed(&mut self, now: Time, channel: usize, id: SubflowId, why: Option<subflow::Failure>) {
        self.changed = true;
        let known = &mut self.channels[channel].subflows;
        let place = known.iter().position(|(known, _)| *known == id);
        let path = place.map(|place| known.swap_remove(place).1);
        let detail = match (why, self.acting) {
            (_, true) => "this end closed it",
            (None, _) => "closed",
            (Some(subflow::Failure::Reset), _) => "reset by the peer",
            (Some(subflow::Failure::Refused), _) => "refused",
            (Some(subflow::Failure::TimedOut), _) => "timed out",
            (Some(subflow::Failure::Aborted), _) => "reset by this end",
        };
        self.event(now, EventKind::PathClosed, Some(channel), path, detail);
    }

    fn first_data(&mut self, now: Time, channel: usize, id: SubflowId) {
        let Some(path) = self.path_on(now, channel, id) else {
            return;
        };
        let used = &mut self.channels[channel].used;
        if used.contains(&path) {
            return;
        }
        let previous = used.last().copied();
        used.push(path);
        let detail = previous.map_or_else(String::new, |from| {
            format!("after {}", self.paths[from.0].name)
        });
        self.event(now, EventKind::FirstData, Some(channel), Some(path), detail);
    }

    fn failed(&mut self, now: Time, channel: usize, why: connection::Failure) {
        if self.side == Side::Client && self.channels[channel].phase == Phase::Connecting {
            let (local, server) = (self.paths[0].client, self.server);
            let reason = format!("cannot connect from {local} to {server}: {why}");
            self.connect_failure.get_or_insert(reason);
        }
        self.end(now, channel, &why.to_string());
    }

    /// The subflows of a channel, as they are now.
    pub(super) fn subflows(&mut self, now: Time, channel: usize) -> &[SubflowInfo] {
        self.seen.clear();
        let id = self.channels[channel].id;
        self.stack.subflows(now, id, &mut self.seen);
        &self.seen
    }

    /// The client's end of a subflow.
    pub(super) fn client_of(&self, subflow: &SubflowInfo) -> std::net::IpAddr {
        match self.side {
            Side::Client => subflow.tuple.local.ip(),
            Side::Server => subflow.tuple.remote.ip(),
        }
    }

    /// The path of a subflow; it is remembered, as one that is gone has none to look at.
    fn path_on(&mut self, now: Time, channel: usize, id: SubflowId) -> Option<PathIndex> {
        let found = self.subflows(now, channel).iter().find(|s| s.id == id);
        let path = match found.copied() {
            Some(subflow) => self.path_of(self.client_of(&subflow)),
            None => None,
        };
        let known = &mut self.channels[channel].subflows;
        match (known.iter_mut().find(|(known, _)| *known == id), path) {
            (Some((_, known)), Some(path)) => *known = path,
            (Some((_, known)), None) => return Some(*known),
            (None, Some(path)) => known.push((id, path)),
            (None, None) => {}
        }
        path
    }
}

fn fallback(reason: FallbackReason) -> &'static str {
    match reason {
        FallbackReason::NotOffered => "plain TCP: the peer did not offer Multipath TCP",
        FallbackReason::HandshakeStripped => "plain TCP: the handshake lost its options on the way",
        FallbackReason::NoMapping => "plain TCP: data came without a mapping",
        FallbackReason::Checksum => "plain TCP: a checksum was wrong",
        FallbackReason::Peer => "plain TCP: the peer gave Multipath TCP up",
    }
}

fn extensions(both: Features) -> String {
    let words = [
        (Features::IDLE_FLAG, "idle-flag"),
        (Features::RTO, "rto-option"),
        (Features::FAST_JOIN, "fast-join"),
    ];
    let words = words.into_iter().filter(|(one, _)| both.has(*one));
    match words.map(|(_, word)| word).collect::<Vec<_>>() {
        none if none.is_empty() => "the peer has none of the extensions".to_owned(),
        some => format!("extensions of both ends: {}", some.join(", ")),
    }
}
