//! Who may do what? Hellos come here; a token that is good begins a session, the same token joins it or
//! asks for its records.

use super::archive::Archive;
use super::gate::{Gate, Permit};
use super::metrics::{Family, Metrics};
use super::reasons::{Cut, Refusal};
use super::recorder::{Recorded, json, refused};
use super::register::{HandOut, Registration};
use super::session::{Allowance, Session};
use super::spent::{Spent, now_s};
use super::stream::Stream;
use super::{Config, Limits, ServerError};
use crate::token::{TokenError, VerifyingKey};
use model::live::SessionRecords;
use model::scenario::{Ping, Traffic};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// The most a stranger may ask for: `ping` of this many requests for this many bytes.
const PING_COUNT: u32 = 10;
const PING_BYTES: u64 = 100;
/// Seconds a ping without a token may take.
const PING_SECONDS: u32 = 30;
/// Commands that may wait for a session.
const COMMANDS: usize = 32;

/// What is told to a session under way.
pub(super) enum Command {
    /// A further channel.
    Join(Join),
    /// What was recorded so far.
    Records(oneshot::Sender<SessionRecords>),
    /// The end.
    Cut(Cut),
}

/// A channel that joins.
pub(super) struct Join {
    pub channel: usize,
    pub stream: Stream,
    pub permit: Option<Permit>,
}

/// The server's one place for decisions.
pub(super) struct Desk {
    id: String,
    token_key: VerifyingKey,
    limits: Limits,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
    spent: Spent,
    recorded: Recorded,
    state: Mutex<State>,
}

/// What changes.
#[derive(Default)]
pub(super) struct State {
    /// Sessions under way, by token.
    pub live: HashMap<String, Live>,
    /// Pings without a token under way.
    pub pings: usize,
    draining: bool,
    pub archive: Archive,
    /// Records on their way, by token.
    pub handed_out: HashMap<String, usize>,
}

/// A session under way.
pub(super) struct Live {
    commands: mpsc::Sender<Command>,
    traffic: Traffic,
    /// The QUIC connection it is bound to; none over TCP.
    connection: Option<usize>,
    /// Whether its client asked for its records: it will not ask again.
    pub asked: bool,
}

impl Desk {
    pub(super) fn new(config: &Config, metrics: Arc<Metrics>) -> Result<Desk, ServerError> {
        Ok(Desk {
            id: config.id.clone(),
            token_key: config.token_key,
            limits: config.limits,
            gate: Gate::new(config.limits),
            metrics,
            spent: Spent::open(&config.state)?,
            recorded: Recorded::default(),
            state: Mutex::default(),
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    pub(super) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The memory of all recorders.
    pub(super) fn recorded(&self) -> Recorded {
        Arc::clone(&self.recorded)
    }

    /// Counts and logs that somebody was turned away.
    pub(super) fn refused(&self, prefix: &str, transport: &'static str, refusal: &Refusal) {
        let reason = refusal.label();
        self.metrics.add(Family::RefusedTotal, reason, 1);
        match refusal {
            // A port scan, or many of one kind: the metrics tell.
            Refusal::Closed | Refusal::Connections | Refusal::Prefix | Refusal::Broken(_) => {
                tracing::debug!(prefix, transport, reason, "refused: {refusal}");
            }
            _ => tracing::info!(prefix, transport, reason, "refused: {refusal}"),
        }
    }

    /// Somebody without a token asks for `traffic`.
    pub(super) fn ping(
        self: &Arc<Desk>,
        traffic: Traffic,
        first: Join,
        prefix: &str,
    ) -> Result<Session, Refusal> {
        match &traffic {
            Traffic::Ping(Ping { count, size })
                if *count <= PING_COUNT && size.bytes() <= PING_BYTES => {}
            _ => return Err(Refusal::NoToken),
        }
        let mut state = self.state();
        if state.draining {
            return Err(Refusal::Draining);
        }
        state.pings += 1;
        drop(state);
        let transport = first.stream.transport().name();
        self.metrics.add(Family::PingsTotal, transport, 1);
        let registration = Registration::new(self, None, 0);
        let allowance = Allowance {
            // A request has as many bytes as a small object at most; one more, so that the last
            // object is not cut off.
            bytes: u64::from(PING_COUNT) * 2 * PING_BYTES + 1,
            seconds: PING_SECONDS,
        };
        let (_, commands) = mpsc::channel(1);
        Ok(Session::new(
            registration,
            allowance,
            first,
            prefix,
            traffic,
            commands,
        ))
    }

    /// A token asks for `traffic`: the session it begins, or none when it joined one.
    pub(super) async fn traffic(
        self: &Arc<Desk>,
        token: String,
        traffic: Traffic,
        first: Join,
        prefix: &str,
    ) -> Result<Option<Session>, Refusal> {
        let Some(first) = self.join(&token, &traffic, first)? else {
            return Ok(None);
        };
        let now_s = now_s();
        let claims = self.token_key.verify(&token, &self.id, now_s)?;
        let (sender, commands) = mpsc::channel(COMMANDS);
        {
            let mut state = self.state();
            if state.live.contains_key(&token) {
                // Another channel of the session was faster, since the look above; limits are for new sessions.
                drop(state);
                self.join(&token, &traffic, first)?;
                return Ok(None);
            }
            state.archive.forget(now_s);
            if state.draining {
                return Err(Refusal::Draining);
            }
            if state.archive.has(&token) {
                return Err(Refusal::Used);
            }
            if state.live.len() >= self.limits.sessions {
                return Err(Refusal::Sessions);
            }
            let live = Live {
                commands: sender,
                traffic: traffic.clone(),
                connection: connection_of(&first.stream),
                asked: false,
            };
            state.live.insert(token.clone(), live);
        }
        // From here on further channels of the token wait for this one.
        let registration = Registration::new(self, Some(token), claims.expires_s);
        match self.spent.add(&claims.id, claims.expires_s).await {
            Ok(true) => {}
            Ok(false) => return Err(Refusal::Used),
            Err(what) => return Err(Refusal::State(what)),
        }
        if let Some(connection) = first.stream.connection() {
            super::quic::widen(connection.connection());
        }
        let allowance = Allowance {
            bytes: claims.bytes,
            seconds: claims.seconds,
        };
        let transport = first.stream.transport().name();
        self.metrics.add(Family::SessionsTotal, transport, 1);
        tracing::info!(prefix, transport, pattern = traffic.name(), "session");
        let session = Session::new(registration, allowance, first, prefix, traffic, commands);
        Ok(Some(session))
    }

    /// Adds a channel to the token's session; gives it back when there is none under way.
    fn join(&self, token: &str, traffic: &Traffic, join: Join) -> Result<Option<Join>, Refusal> {
        let state = self.state();
        let Some(live) = state.live.get(token) else {
            return Ok(Some(join));
        };
        if live.traffic != *traffic || live.connection != connection_of(&join.stream) {
            return Err(Refusal::OtherSession);
        }
        match live.commands.try_send(Command::Join(join)) {
            Ok(()) => Ok(None),
            // It ends this very moment, or is flooded.
            Err(_) => Err(Refusal::Used),
        }
    }

    /// What was recorded of the token's session, as JSON, while it is being handed out.
    pub(super) async fn records(
        self: &Arc<Desk>,
        token: &str,
    ) -> Result<(Vec<u8>, HandOut), Refusal> {
        let (sender, answer) = oneshot::channel();
        let hand_out = HandOut::new(self, token)?;
        let kept = {
            let mut state = self.state();
            let kept = state.archive.fetch(token);
            if kept.is_none() {
                let Some(live) = state.live.get_mut(token) else {
                    let json = self.no_records(token)?;
                    drop(state);
                    return Ok((json, hand_out));
                };
                live.asked = true;
                let asked = live.commands.try_send(Command::Records(sender));
                asked.map_err(|_| Refusal::NoRecords)?;
            }
            kept
        };
        let (records, now_us) = match kept {
            Some(kept) => kept,
            None => match answer.await {
                Ok(records) => {
                    let now_us = records.now_us;
                    (Arc::new(records), now_us)
                }
                // It ended in between.
                Err(_) => {
                    let records = self.state().archive.fetch(token);
                    records.ok_or(Refusal::NoRecords)?
                }
            },
        };
        let json = json(&records, now_us).map_err(|e| Refusal::Broken(e.into()))?;
        Ok((json, hand_out))
    }

    /// What is answered about a token that has no session: one that is good but for the time is told so,
    /// which says which clock is off. Whoever has another learns nothing.
    fn no_records(&self, token: &str) -> Result<Vec<u8>, Refusal> {
        let now_s = now_s();
        match self.token_key.verify(token, &self.id, now_s) {
            Err(why @ (TokenError::Expired(_) | TokenError::NotYet(_))) => {
                let records = refused(&self.id, &why, now_s);
                json(&records, 0).map_err(|e| Refusal::Broken(e.into()))
            }
            _ => Err(Refusal::NoRecords),
        }
    }

    /// Takes no new session from now on.
    pub(super) fn begin_drain(&self) {
        self.state().draining = true;
        self.metrics.add(Family::Draining, "", 1);
    }

    /// Whether a drain is under way.
    pub(super) fn is_draining(&self) -> bool {
        self.state().draining
    }

    /// Sessions under way; pings are none.
    pub(super) fn sessions(&self) -> usize {
        self.state().live.len()
    }

    /// Whether somebody may still want a little time: a ping under way, or the records of a session that
    /// is over and were never fetched.
    pub(super) fn has_loose_ends(&self) -> bool {
        let state = self.state();
        state.pings > 0 || state.archive.has_unfetched()
    }

    /// Ends the sessions under way; returns how many there are.
    pub(super) fn cut_all(&self) -> usize {
        let state = self.state();
        for live in state.live.values() {
            // One that is flooded with commands ends with the server.
            let _ = live.commands.try_send(Command::Cut(Cut::Drain));
        }
        state.live.len()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn connection_of(stream: &Stream) -> Option<usize> {
    Some(stream.connection()?.connection().stable_id())
}
