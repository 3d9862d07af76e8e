//! What may be kept of a person's network? Addresses cut to /24 and /48, names of networks only as keyed
//! hashes.
//!
//! The client does this before anything leaves the machine ([`keyed_hash`] with a key that it alone
//! has); the collector does it again to whatever it is sent ([`scrub`]), and never writes down more of a
//! peer's address than [`prefix`].

use ring::hmac;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network prefix of `address`: `192.0.2.0/24`, `2001:db8:1::/48`. IPv4 in IPv6 counts as IPv4.
pub fn prefix(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => format!("{}/24", cut_v4(v4)),
        IpAddr::V6(v6) => format!("{}/48", cut_v6(v6)),
    }
}

/// `name` under `key`: 16 hexadecimal digits of its HMAC-SHA256 (RFC 2104).
pub fn keyed_hash(key: &[u8; 32], name: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    crate::token::hex(&hmac::sign(&key, name.as_bytes()).as_ref()[..8])
}

/// `text` with every IP address in it cut to /24 or /48; loopback and unspecified addresses, which name
/// nobody, stay.
pub fn scrub(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        out.push_str(&rest[..start]);
        let end = rest[start..]
            .find(|c| !is_part(c))
            .map_or(rest.len(), |n| start + n);
        out.push_str(&scrub_word(&rest[start..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// A run of hexadecimal digits, dots and colons: an address, one with a port, or neither.
fn scrub_word(word: &str) -> String {
    let core = word.trim_end_matches(['.', ':']);
    let tail = &word[core.len()..];
    if let Ok(address) = core.parse::<IpAddr>() {
        return cut(address) + tail;
    }
    if let Some((host, port)) = core.rsplit_once(':')
        && let Ok(address) = host.parse::<Ipv4Addr>()
    {
        return format!("{}:{port}{tail}", cut(address.into()));
    }
    word.to_owned()
}

fn cut(address: IpAddr) -> String {
    if address.is_loopback() || address.is_unspecified() {
        return address.to_string();
    }
    match address {
        IpAddr::V4(v4) => cut_v4(v4).to_string(),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => cut_v4(v4).to_string(),
            None => cut_v6(v6).to_string(),
        },
    }
}

fn cut_v4(address: Ipv4Addr) -> Ipv4Addr {
    let [a, b, c, _] = address.octets();
    Ipv4Addr::new(a, b, c, 0)
}

fn cut_v6(address: Ipv6Addr) -> Ipv6Addr {
    let [a, b, c, ..] = address.segments();
    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_cut_wherever_they_stand() {
        let cases = [
            ("from 203.0.113.77:45678", "from 203.0.113.0:45678"),
            (
                "10.1.2.3 to [2001:db8:1:2::77]:443.",
                "10.1.2.0 to [2001:db8:1::]:443.",
            ),
            (
                "cannot connect to 192.0.2.9: refused",
                "cannot connect to 192.0.2.0: refused",
            ),
            ("::ffff:198.51.100.7 came", "198.51.100.0 came"),
            ("at 12:30:05, version 1.2.3", "at 12:30:05, version 1.2.3"),
            (
                "127.0.0.1 and ::1 stay; cafe",
                "127.0.0.1 and ::1 stay; cafe",
            ),
            ("RTO 213.4 ms, 0.5 of 1", "RTO 213.4 ms, 0.5 of 1"),
        ];
        for (text, scrubbed) in cases {
            assert_eq!(scrub(text), scrubbed);
        }
    }

    #[test]
    fn prefixes_and_hashes() {
        let parse = |a: &str| a.parse::<IpAddr>().expect("an address");
        assert_eq!(prefix(parse("192.0.2.200")), "192.0.2.0/24");
        assert_eq!(prefix(parse("::ffff:192.0.2.200")), "192.0.2.0/24");
        assert_eq!(prefix(parse("2001:db8:1:2:3::4")), "2001:db8:1::/48");
        // RFC 4231, test case 2 has key "Jefe" and is not 32 bytes; what matters is that the key does.
        let (a, b) = (keyed_hash(&[1; 32], "home"), keyed_hash(&[2; 32], "home"));
        assert!(a != b && a.len() == 16 && a == keyed_hash(&[1; 32], "home"));
    }
}
