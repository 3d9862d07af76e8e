//! Why is somebody not served, or no longer? Each reason has a label for the metrics and words.

use crate::token::TokenError;
use traffic::hello::HelloError;

/// Why a connection or channel was turned away.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the server has as many connections as it takes")]
    Connections,
    #[error("this network has as many connections as one network may have")]
    Prefix,
    #[error("the server has as many sessions as it takes")]
    Sessions,
    #[error("the server is shutting down")]
    Draining,
    #[error("no hello in time")]
    SlowHello,
    #[error("it closed before its hello was complete")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(std::io::Error),
    #[error(transparent)]
    Hello(#[from] HelloError),
    #[error("without a token only `ping` of at most 10 requests for at most 100 B is answered")]
    NoToken,
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("the token was used before: each is good for one session")]
    Used,
    #[error("the session of this token has another pattern, other parameters or another transport")]
    OtherSession,
    #[error("the session has this channel already")]
    Taken,
    #[error("there are no records of this token's session (any more)")]
    NoRecords,
    #[error("as many records as may be are on their way already")]
    Busy,
    #[error("the token cannot be written down as used, so it cannot be accepted: {0}")]
    State(String),
}

impl Refusal {
    /// The label in the metrics.
    pub(super) fn label(&self) -> &'static str {
        match self {
            Refusal::Connections => "connections",
            Refusal::Prefix => "prefix",
            Refusal::Sessions => "sessions",
            Refusal::Draining => "draining",
            Refusal::SlowHello => "slow-hello",
            Refusal::Closed => "closed",
            Refusal::Broken(_) => "broken",
            Refusal::Hello(_) => "hello",
            Refusal::NoToken => "no-token",
            Refusal::Token(TokenError::Malformed(_)) => "token-malformed",
            Refusal::Token(TokenError::Forged) => "token-forged",
            Refusal::Token(TokenError::OtherServer(_)) => "token-other-server",
            Refusal::Token(TokenError::Expired(_)) => "token-expired",
            Refusal::Token(TokenError::NotYet(_)) => "token-not-yet",
            Refusal::Used => "token-used",
            Refusal::OtherSession => "other-session",
            Refusal::Taken => "taken",
            Refusal::NoRecords => "no-records",
            Refusal::Busy => "busy",
            Refusal::State(_) => "state",
        }
    }
}

/// Why the server ended a session before its client did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Cut {
    #[error("the token's {0} bytes are spent")]
    Bytes(u64),
    #[error("the token's {0} s are over")]
    Time(u32),
    #[error("nothing moved for {0} s")]
    Silence(u32),
    #[error("more than {0} bytes waited for a client that does not take them")]
    Slow(usize),
    #[error("the server is shutting down")]
    Drain,
    #[error("the client does not keep to the pattern: {0}")]
    Pattern(String),
}

impl Cut {
    /// The label in the metrics.
    pub(super) fn label(&self) -> &'static str {
        match self {
            Cut::Bytes(_) => "bytes",
            Cut::Time(_) => "time",
            Cut::Silence(_) => "silence",
            Cut::Slow(_) => "slow",
            Cut::Drain => "drain",
            Cut::Pattern(_) => "pattern",
        }
    }
}
