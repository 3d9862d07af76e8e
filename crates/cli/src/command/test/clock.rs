//! Whose clock is off, and by how much? Said in one sentence that names it.

use jiff::{SignedDuration, Timestamp};
use model::live::TokenRefused;

/// A clock that is further off than this is mentioned. A test server allows as much.
pub const OFF: SignedDuration = SignedDuration::from_secs(60);

/// `10 min ahead of` or `45 s behind`, of a clock that is off by `by`.
pub fn off(by: SignedDuration) -> String {
    let seconds = by.as_secs().unsigned_abs();
    let amount = match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h", (seconds + 1_800) / 3_600),
    };
    match by.is_negative() {
        true => format!("{amount} behind"),
        false => format!("{amount} ahead of"),
    }
}

/// Why `server` took no token, at `now` by this machine's clock, which is `clock` ahead of the collector's.
pub fn refused(
    refused: &TokenRefused,
    server: &str,
    now: Timestamp,
    clock: SignedDuration,
) -> String {
    let TokenRefused { why, server_s } = refused;
    let theirs = i64::try_from(*server_s).ok();
    let theirs = theirs.and_then(|seconds| Timestamp::from_second(seconds).ok());
    let collectors = now.checked_sub(clock).ok();
    let by = collectors.zip(theirs).map(|(c, s)| c.duration_until(s));
    match by.filter(|by| by.abs() > OFF) {
        Some(by) => format!(
            "the clock of the test server `{server}` is {} the collector's, so it takes none of the \
             collector's tokens: tell whoever runs them to set it, or take another server with --server",
            off(by)
        ),
        None => format!("the test server `{server}` refused the token: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_that_is_off_is_named() {
        let s = SignedDuration::from_secs;
        assert_eq!(off(s(-75)), "75 s behind");
        assert_eq!(off(s(601)), "10 min ahead of");
        assert_eq!(off(s(-86_400)), "24 h behind");
        let now = Timestamp::from_second(1_000_000).expect("a time");
        let said = |server_s, clock| {
            let why = "the token expired 3 s ago: ask the collector for a new one".to_owned();
            refused(&TokenRefused { why, server_s }, "near", now, s(clock))
        };
        let ahead = "the clock of the test server `near` is 10 min ahead of the collector's, so it takes \
            none of the collector's tokens: tell whoever runs them to set it, or take another server with \
            --server";
        assert_eq!(said(1_000_601, 0), ahead);
        // This machine's own clock is none of the two.
        assert_eq!(said(1_000_000, 600), ahead);
        assert_eq!(
            said(1_000_010, 0),
            "the test server `near` refused the token: the token expired 3 s ago: ask the collector for a \
             new one"
        );
    }
}
