//! What is entered at the desk for as long as it lasts? Sessions under way, and records on their way: gone
//! when dropped, whatever happened.

use super::desk::Desk;
use super::reasons::Refusal;
use measure::Clock;
use model::live::SessionRecords;
use std::sync::Arc;

/// Records that may be on their way at once, of one token (a client whose path died asks again) and of all.
const HAND_OUTS_OF_TOKEN: usize = 3;
const HAND_OUTS: usize = 128;

/// A session's entry at the desk; gone when dropped, whatever happened.
pub(super) struct Registration {
    desk: Arc<Desk>,
    /// None for a ping without a token.
    token: Option<String>,
    expires_s: u64,
    open: bool,
}

impl Registration {
    /// The entry of a session that is at the desk already: with its token, which expires then, or as one
    /// of the pings.
    pub(super) fn new(desk: &Arc<Desk>, token: Option<String>, expires_s: u64) -> Registration {
        Registration {
            desk: Arc::clone(desk),
            token,
            expires_s,
            open: true,
        }
    }

    pub(super) fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The session is over: its records are there for its client from the moment on at which it is
    /// not under way any more.
    pub(super) fn finish(&mut self, records: SessionRecords, clock: Clock, bytes: usize) {
        self.leave(Some((records, clock, bytes)));
    }

    fn leave(&mut self, records: Option<(SessionRecords, Clock, usize)>) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let mut state = self.desk.state();
        match &self.token {
            None => state.pings -= 1,
            Some(token) => {
                let asked = state.live.remove(token).is_some_and(|live| live.asked);
                if let Some((records, clock, bytes)) = records {
                    let expires_s = self.expires_s;
                    let token = token.clone();
                    let archive = &mut state.archive;
                    archive.keep(token, records, clock, expires_s, bytes, asked);
                }
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.leave(None);
    }
}

/// Records on their way to a client, which take memory until it has them.
pub(super) struct HandOut {
    desk: Arc<Desk>,
    token: String,
}

impl HandOut {
    /// One more of the token's, if it may be.
    pub(super) fn new(desk: &Arc<Desk>, token: &str) -> Result<HandOut, Refusal> {
        let mut state = desk.state();
        let of_token = state.handed_out.get(token).copied().unwrap_or(0);
        let all: usize = state.handed_out.values().sum();
        if of_token >= HAND_OUTS_OF_TOKEN || all >= HAND_OUTS {
            return Err(Refusal::Busy);
        }
        state.handed_out.insert(token.to_owned(), of_token + 1);
        drop(state);
        Ok(HandOut {
            desk: Arc::clone(desk),
            token: token.to_owned(),
        })
    }
}

impl Drop for HandOut {
    fn drop(&mut self) {
        let mut state = self.desk.state();
        if let Some(count) = state.handed_out.get_mut(&self.token) {
            *count -= 1;
            if *count == 0 {
                state.handed_out.remove(&self.token);
            }
        }
    }
}
