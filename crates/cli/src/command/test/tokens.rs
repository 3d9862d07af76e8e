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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    /// Grants what is asked for; the first answer's tokens expire in `first_s` seconds.
    fn collector(first_s: i64, answers: usize) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        std::thread::spawn(move || {
            for answer in 0..answers {
                let (stream, _) = listener.accept().expect("a client");
                let mut reader = BufReader::new(stream);
                let (mut length, mut line) = (0, String::new());
                while reader.read_line(&mut line).expect("a head") > 2 {
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().expect("a number");
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).expect("a body");
                let request: TokenRequest = serde_json::from_slice(&body).expect("a request");
                let tokens: Vec<_> = (0..request.count)
                    .map(|n| format!("{answer}.{n}"))
                    .collect();
                let seconds = if answer == 0 { first_s } else { 600 };
                let expires_at = Timestamp::now() + SignedDuration::from_secs(seconds);
                let granted =
                    serde_json::json!({"tokens": tokens, "expires_at": expires_at.to_string()});
                let granted = granted.to_string();
                let length = granted.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                let stream = reader.get_mut();
                stream
                    .write_all((head + &granted).as_bytes())
                    .expect("it reads");
            }
        });
        Collector::new(&url, Duration::from_secs(5)).expect("an address")
    }

    fn request() -> TokenRequest {
        TokenRequest {
            server: "near".into(),
            test: "0".repeat(32),
            consent_version: "1".into(),
            bytes: 1,
            seconds: 1,
            count: 0,
        }
    }

    fn taken(tokens: &mut Tokens<'_>, count: usize) -> Vec<String> {
        let take = |_| tokens.take().expect("a token");
        (0..count).map(take).collect()
    }

    #[test]
    fn each_run_has_a_token_that_has_not_expired() {
        let fresh = collector(600, 2);
        let clock = SignedDuration::ZERO;
        let mut tokens = Tokens::fetch(&fresh, request(), 2, clock).expect("granted");
        assert_eq!(tokens.any, "0.0");
        assert_eq!(taken(&mut tokens, 3), ["0.0", "0.1", "1.0"]);

        let late = collector(5, 2);
        let mut tokens = Tokens::fetch(&late, request(), 2, clock).expect("granted");
        assert_eq!(taken(&mut tokens, 1), ["1.0"]);

        // A collector whose clock is an hour behind gives tokens that seem to have expired.
        let behind = collector(-3_000, 1);
        let clock = SignedDuration::from_hours(1);
        let mut tokens = Tokens::fetch(&behind, request(), 2, clock).expect("granted");
        assert_eq!(taken(&mut tokens, 2), ["0.0", "0.1"]);
    }

    #[test]
    fn many_runs_take_several_requests() {
        let many = collector(600, 2);
        let tokens = Tokens::fetch(&many, request(), 70, SignedDuration::ZERO);
        assert_eq!(tokens.expect("granted").left.len(), 70);
    }
}
