//! From which network prefix does a request come? Its address is cut here, and nobody behind this
//! file ever sees it.

use super::state::State;
use crate::privacy::prefix;
use axum::extract::{ConnectInfo, Request, State as Shared};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// The network prefix a request comes from.
#[derive(Clone, Debug)]
pub struct Prefix(pub String);

/// Headers in which proxies name addresses.
const FORWARDED: [&str; 5] = [
    "x-forwarded-for",
    "forwarded",
    "x-real-ip",
    "cf-connecting-ip",
    "true-client-ip",
];

/// Replaces what is known of the peer's address by its [`Prefix`], and lets the prefix have no more
/// than its share of requests.
pub async fn cut(Shared(state): Shared<Arc<State>>, mut request: Request, next: Next) -> Response {
    let socket = request
        .extensions_mut()
        .remove::<ConnectInfo<SocketAddr>>()
        .map(|info| info.0)
        .or_else(|| request.extensions_mut().remove::<SocketAddr>());
    let prefix = match socket {
        Some(socket) => prefix_of(socket.ip(), request.headers(), &state.trusted_proxies),
        None => "unknown".to_owned(),
    };
    for name in FORWARDED {
        request.headers_mut().remove(name);
    }
    if let Err(refusal) = state.pace.admit(&prefix, Instant::now()) {
        return refusal.into_response();
    }
    request.extensions_mut().insert(Prefix(prefix));
    next.run(request).await
}

/// The prefix of the peer, or of whom a trusted proxy says it speaks for: the last address in
/// `X-Forwarded-For` that is no trusted proxy's. What a stranger wrote before that is not believed.
fn prefix_of(socket: IpAddr, headers: &HeaderMap, trusted: &BTreeSet<IpAddr>) -> String {
    let socket = socket.to_canonical();
    if !trusted.contains(&socket) {
        return prefix(socket);
    }
    let lines = headers.get_all("x-forwarded-for").into_iter();
    let lines: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
    let last_stranger = lines
        .iter()
        .flat_map(|line| line.split(','))
        .rev()
        .map(|word| address(word.trim()))
        .find(|address| address.is_none_or(|a| !trusted.contains(&a)));
    match last_stranger {
        Some(Some(address)) => prefix(address),
        // No such header, or one that says nothing: the proxy itself is all that is known.
        Some(None) | None => prefix(socket),
    }
}

/// `192.0.2.1`, `192.0.2.1:5000`, `2001:db8::1`, `[2001:db8::1]:5000`
fn address(word: &str) -> Option<IpAddr> {
    let plain = word.parse::<IpAddr>().ok();
    let with_port = || word.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    let bracketed = || word.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let address = plain.or_else(with_port).or_else(bracketed);
    address.map(|a: IpAddr| a.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn of(socket: &str, forwarded: &[&str]) -> String {
        let trusted: BTreeSet<IpAddr> = ["10.0.0.1", "10.0.0.2"]
            .map(|a| a.parse().expect("an address"))
            .into();
        let mut headers = HeaderMap::new();
        for line in forwarded {
            let value = HeaderValue::from_str(line).expect("a header");
            headers.append("x-forwarded-for", value);
        }
        prefix_of(socket.parse().expect("an address"), &headers, &trusted)
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(of("192.0.2.77", &["203.0.113.9"]), "192.0.2.0/24");
        assert_eq!(of("10.0.0.1", &["203.0.113.9"]), "203.0.113.0/24");
        assert_eq!(of("::ffff:10.0.0.1", &["203.0.113.9"]), "203.0.113.0/24");
        // The client wrote the first one itself; the second proxy is trusted.
        assert_eq!(
            of("10.0.0.1", &["198.51.100.1, 203.0.113.9", "10.0.0.2"]),
            "203.0.113.0/24"
        );
        assert_eq!(
            of("10.0.0.1", &["[2001:db8:1:2::9]:443"]),
            "2001:db8:1::/48"
        );
        assert_eq!(of("10.0.0.1", &[]), "10.0.0.0/24");
        assert_eq!(of("10.0.0.1", &["198.51.100.1, nonsense"]), "10.0.0.0/24");
    }
}
