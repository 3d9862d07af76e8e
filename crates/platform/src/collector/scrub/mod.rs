//! What may be kept of text that a client sent? Addresses are cut, and of the rest only words that
//! Walkabout itself uses, numbers and punctuation stay: a network's name, a host's or a person's cannot
//! be told from any other word, but it is none of these.

mod words;

use crate::privacy;

/// What stands for what was left out.
pub const LEFT_OUT: &str = "…";

/// `text` with addresses cut to their prefix and unknown words left out.
pub fn text(text: &str) -> String {
    text_with(text, &[])
}

/// As [`text`], with some more words that are known.
pub fn text_with(text: &str, known: &[&str]) -> String {
    words::known_only(&privacy::scrub(text), known)
}

/// Whether `name` is made of known words, `-` and `_`, and small numbers: `apple-interactive`, `wlan0`.
pub fn is_plain_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(plain) && words::is_name(name)
}

/// A kernel's name, release and machine; of a release that somebody named, the numbers.
pub fn kernel(kernel: &str) -> String {
    let words = kernel.split_whitespace().take(3).map(|word| {
        let known = text(word);
        if known == word {
            return known;
        }
        let number: String = word
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        let number = number.trim_end_matches('.');
        match number.is_empty() {
            true => LEFT_OUT.to_owned(),
            false => text(number),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_walkabout_says_stays() {
        let said = [
            "SRTT 650.3 ms > 600 ms while cellular's is 40 ms",
            "wifi is under RTO (213.4 ms) and there is new data",
            "the peer announced its address 2: 203.0.113.0",
            "10.1.2.0 to [2001:db8:1::]:443",
            "a subflow is gone: Connection reset by peer",
            "no connection from the peer, timed out",
            "path id 3: -5.0 %, 12:30:05, tcp/443, 1.2 MB",
            "carries data again after 300 ms",
            "TLS 1.3",
            "cubic; userspace; lowest-rtt; mptcp-apple-interactive",
        ];
        for said in said {
            assert_eq!(text(said), said);
        }
        assert_eq!(
            kernel("Linux 6.8.0-45-generic x86_64"),
            "Linux 6.8.0-45-generic x86_64"
        );
        assert_eq!(
            kernel("Linux 6.18.5-zaphods-laptop x86_64"),
            "Linux 6.18.5 x86_64"
        );
    }

    #[test]
    fn every_trap_stays() {
        use measure::world::live::{PathFamilies, traps};
        use model::{Family, Name};
        let of = |families: &[Family]| {
            [
                vec![],
                vec![families[0]],
                vec![families[1]],
                families.to_vec(),
            ]
        };
        let choices = of(&Family::ALL);
        let mut said = 0;
        for (wifi, cellular) in choices
            .iter()
            .flat_map(|a| choices.iter().map(move |b| (a, b)))
        {
            let path = |name, families: &Vec<Family>| PathFamilies {
                path: Name::from(name),
                families: families.clone(),
            };
            let paths = [path("wifi", wifi), path("cellular", cellular)];
            for (server, chosen) in choices.iter().flat_map(|s| Family::ALL.map(|c| (s, c))) {
                for trap in traps(&paths, server, chosen) {
                    assert_eq!(text(&trap), trap);
                    said += 1;
                }
            }
        }
        assert!(said > 0);
    }

    #[test]
    fn what_names_somebody_goes() {
        let cases = [
            ("joined FRITZBox-7590 on wlan0", "joined … on wlan0"),
            ("from 203.0.113.77:45678", "from 203.0.113.0:45678"),
            ("bssid 00:11:22:33:44:55", "… …"),
            ("bssid 00-11-22-33-44-55 aa:bb:cc:dd:ee:ff", "… … …"),
            ("2001:db8:1:2:3:4:5:6 sent", "2001:db8:1:: sent"),
            ("café 🏠 ok", "… … ok"),
            ("at fe80::1ff:fe23:4567:890a%wlan0", "at …"),
            ("imsi 310150123456789", "… …"),
            ("<script>alert(1)</script>", "<…>…(1)<…>"),
        ];
        for (said, kept) in cases {
            assert_eq!(text(said), kept, "of {said}");
        }
    }

    #[test]
    fn names() {
        for name in [
            "wifi",
            "cellular",
            "wlan0",
            "mptcp-backup",
            "apple-interactive",
            "eth12",
        ] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in [
            "",
            "ZaphodsNet",
            "enx0a1b2c3d4e5f",
            "a b",
            "10.0.0.1",
            "00-11-22-33-44-55",
        ] {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}
