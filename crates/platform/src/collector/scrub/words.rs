//! Which words does Walkabout use? Those of its own messages, of the systems' error messages, and of the
//! units it writes.

use super::LEFT_OUT;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

/// Sorted, one a line, lower case.
static WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("words.txt").lines().collect());

/// What stands behind a number without a space.
const UNITS: [&str; 14] = [
    "ms", "us", "ns", "s", "min", "h", "B", "kB", "MB", "GB", "kbit", "Mbit", "dBm", "x",
];

/// Characters that words and numbers are joined with.
fn is_joint(c: char) -> bool {
    matches!(c, '.' | ':' | '/' | '-' | '_' | '%' | '+' | '@' | '#')
}

/// Punctuation beyond ASCII that messages use.
fn is_mark(c: char) -> bool {
    matches!(c, '≥' | '≤' | '–' | '—' | '…' | '×' | '→' | '±')
}

/// `text` with every word replaced by [`LEFT_OUT`] that is neither known nor one of `also`.
pub fn known_only(text: &str, also: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || is_joint(c);
        if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            keep_word(&rest[..end], also, &mut out);
            rest = &rest[end..];
            continue;
        }
        match first {
            c if c == ' ' || c.is_ascii_punctuation() || is_mark(c) => out.push(c),
            c if c.is_ascii_control() => out.push(' '),
            // A name may be all symbols.
            _ if out.ends_with(LEFT_OUT) => {}
            _ => out.push_str(LEFT_OUT),
        }
        rest = &rest[first.len_utf8()..];
    }
    out
}

fn keep_word(word: &str, also: &[&str], out: &mut String) {
    if is_address(word.trim_end_matches(['.', '/', '-'])) {
        return out.push_str(word);
    }
    let core = word.trim_matches(is_joint);
    let Some(start) = word.find(core).filter(|_| !core.is_empty()) else {
        // Nothing but joints; a long row of them may say something in Morse.
        return out.push_str(if word.len() <= 3 { word } else { LEFT_OUT });
    };
    let (before, after) = (&word[..start], &word[start + core.len()..]);
    let known = before.len() <= 3
        && after.len() <= 3
        && (is_address(core) || is_known(core) || also.contains(&core));
    if known {
        out.push_str(word);
    } else {
        out.push_str(LEFT_OUT);
        // The colon of `name: value`, the end of a sentence, the slash of a closing tag.
        out.push_str(&after[..after.len().min(1)]);
    }
}

/// An address with or without a port: it was cut before.
fn is_address(word: &str) -> bool {
    let word = word
        .strip_suffix(':')
        .filter(|w| !w.ends_with(':'))
        .unwrap_or(word);
    word.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok()
}

/// A number, a word, or several of them joined.
fn is_known(core: &str) -> bool {
    is_number(core) || is_time(core) || is_name(core)
}

/// `12`, `0.5`, `1.2.3`, with a unit or without; not as long as the number of a device.
fn is_number(core: &str) -> bool {
    let unit = UNITS.iter().find_map(|unit| core.strip_suffix(unit));
    let number = unit.unwrap_or(core);
    let groups: Vec<&str> = number.split('.').collect();
    let digits = |group: &&str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    groups.len() <= 3 && groups.iter().all(digits) && number.len() <= 13
}

/// `12:30:05`
fn is_time(core: &str) -> bool {
    let groups: Vec<&str> = core.split(':').collect();
    let two_digits = |g: &&str| matches!(g.len(), 1 | 2) && g.bytes().all(|b| b.is_ascii_digit());
    (2..=3).contains(&groups.len()) && groups.iter().all(two_digits)
}

/// Words joined with each other, and with at most four small numbers: no address of a device, written
/// one way or the other, passes.
pub fn is_name(core: &str) -> bool {
    let (mut words, mut numbers) = (0, 0);
    for part in core.split(is_joint) {
        if part.bytes().all(|b| b.is_ascii_digit()) && (1..=5).contains(&part.len()) {
            numbers += 1;
        } else if is_word(part) {
            words += 1;
        } else {
            return false;
        }
    }
    words > 0 && numbers <= 4
}

/// A known word in lower, upper or title case, perhaps with up to three digits behind it.
fn is_word(part: &str) -> bool {
    let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.is_empty() || part.len() - letters.len() > 3 || letters.len() > 20 {
        return known_with_digits(part);
    }
    let tail = letters.get(1..).unwrap_or("");
    let one_case = letters.bytes().all(|b| b.is_ascii_uppercase())
        || tail.bytes().all(|b| b.is_ascii_lowercase());
    let known = one_case && WORDS.contains(letters.to_ascii_lowercase().as_str());
    known || known_with_digits(part)
}

/// `x86`, `ipv4`, `aarch64`, and what begins with digits or mixes cases.
fn known_with_digits(part: &str) -> bool {
    WORDS.contains(part)
        || UNITS.contains(&part)
        || matches!(part, "464XLAT" | "IPv4" | "IPv6" | "KiB")
}
