//! By which right do the runs use the test server? A token each, and a fresh one for a run that comes
//! after its own expired.

use crate::failure::Failure;
use jiff::{SignedDuration, Timestamp};
use platform::api::TokenRequest;
use platform::client::Collector;
use std::collections::VecDeque;

/// How many the collector gives at once.
const AT_ONCE: usize = 64;
/// A token that is valid for less than this is not used any more.
const SPARE: SignedDuration = SignedDuration::from_secs(10);

/// The tokens of a test.
pub struct Tokens<'c> {
    collector: &'c Collector,
    request: TokenRequest,
    /// Each with the moment it expires, by this machine's clock.
    left: VecDeque<(String, Timestamp)>,
    /// What is added to the collector's times.
    clock: SignedDuration,
    /// One of the test's, spent or not.
    pub any: String,
}

impl<'c> Tokens<'c> {
    /// As many as there are `runs`; `clock` is what is added to the collector's times to have this
    /// machine's.
    ///
    /// # Errors
    /// When the collector gives none.
    pub fn fetch(
        collector: &'c Collector,
        request: TokenRequest,
        runs: usize,
        clock: SignedDuration,
    ) -> Result<Tokens<'c>, Failure> {
        let mut tokens = Tokens {
            collector,
            request,
            left: VecDeque::new(),
            clock,
            any: String::new(),
        };
        while tokens.left.len() < runs {
            tokens.more((runs - tokens.left.len()).min(AT_ONCE))?;
        }
        Ok(tokens)
    }

    fn more(&mut self, count: usize) -> Result<(), Failure> {
        self.request.count = count as u32;
        let granted = self.collector.tokens(&self.request);
        let granted =
            granted.map_err(|e| Failure::failed(format!("no right to use the server: {e}")))?;
        let expires = granted.expires_at.parse::<Timestamp>();
        let expires = expires.map_err(|e| {
            Failure::failed(format!("the collector's tokens expire at no time: {e}"))
        })?;
        let expires = expires
            .saturating_add(self.clock)
            .map_err(Failure::failed)?;
        if let Some(first) = granted.tokens.first() {
            self.any.clone_from(first);
        }
        self.left
            .extend(granted.tokens.into_iter().map(|token| (token, expires)));
        Ok(())
    }

    /// One that no run has used.
    ///
    /// # Errors
    /// When the rest expired and the collector gives no other.
    pub fn take(&mut self) -> Result<String, Failure> {
        while let Some((token, expires)) = self.left.pop_front() {
            if Timestamp::now().duration_until(expires) > SPARE {
                return Ok(token);
            }
        }
        self.more(1)?;
        let fresh = self.left.pop_front();
        fresh
            .map(|(token, _)| token)
            .ok_or_else(|| Failure::failed("no token is left"))
    }
}
