//! Which extensions of Multipath TCP are spoken? The `[multipath]` table.

use super::check::{Fault, fault, require};
use super::key::KeyPath;
use crate::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What MultiMob adds to Multipath TCP on the wire (De Coninck and Bonaventure, MultiMob, section
/// III), for the user-space stack, which offers each to its peer and uses what both ends have.
/// Everything is off unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Multipath {
    /// Whether data says if more follows it (MP_IDLE), and the client takes a subflow for starved
    /// that brings nothing though more should follow.
    pub idle_flag: bool,
    /// Whether the client asks the server for its retransmission timeout.
    pub rto_option: bool,
    /// How often it asks at most: 1 s by default. The paper says "from time to time".
    pub rto_period: Span,
    /// How long a subflow brings nothing at least before it is taken for starved: 500 ms in the
    /// paper; longer where the server's retransmission timeout is.
    pub idle_floor: Span,
    /// Whether further subflows are opened with FAST_JOIN_OUT or FAST_JOIN_IN.
    pub fast_join: bool,
    /// The experiment's identifier behind the subtype 15 of RFC 8684, 16 bits: 19789 (`MM`) by
    /// default.
    pub experiment: u16,
    /// Subtypes of their own instead, each from 9 to 14, which no one has assigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtypes: Option<Subtypes>,
}

/// An option subtype for each extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subtypes {
    /// Of the offer of extensions and its answer.
    pub offer: u8,
    /// Of the request for the retransmission timeout and its answer.
    pub rto: u8,
    /// Of FAST_JOIN_OUT.
    pub fast_join_out: u8,
    /// Of FAST_JOIN_IN.
    pub fast_join_in: u8,
}

impl Default for Multipath {
    fn default() -> Self {
        Multipath::NONE
    }
}

impl Multipath {
    /// No extension.
    pub const NONE: Multipath = Multipath {
        idle_flag: false,
        rto_option: false,
        rto_period: Span::from_millis(1_000),
        idle_floor: Span::from_millis(500),
        fast_join: false,
        experiment: u16::from_be_bytes(*b"MM"),
        subtypes: None,
    };

    /// Whether any extension is asked for.
    pub fn is_used(&self) -> bool {
        self.idle_flag || self.rto_option || self.fast_join
    }

    /// Whether nothing is said.
    pub(super) fn is_default(&self) -> bool {
        *self == Multipath::default()
    }

    /// The extensions in words, for manifests: `idle-flag, fast-join`; empty for none.
    pub fn in_words(&self) -> String {
        let words = [
            (self.idle_flag, "idle-flag"),
            (self.rto_option, "rto-option"),
            (self.fast_join, "fast-join"),
        ];
        let used = words.into_iter().filter(|(used, _)| *used);
        used.map(|(_, word)| word).collect::<Vec<_>>().join(", ")
    }
}

/// The subtypes that RFC 8684 (section 7.2) assigns to nobody.
const FREE: std::ops::RangeInclusive<u8> = 9..=14;

/// What the types cannot check.
pub(super) fn check(multipath: &Multipath) -> Result<(), Fault> {
    let Multipath {
        idle_flag,
        rto_option,
        rto_period,
        idle_floor,
        fast_join: _,
        experiment: _,
        subtypes,
    } = multipath;
    let key = KeyPath::top("multipath");
    require(
        *rto_period >= Span::from_millis(1),
        &key.key("rto_period"),
        format!("`{rto_period}` would ask without end; give a time such as `1 s`"),
    )?;
    require(
        *idle_floor >= Span::from_millis(1),
        &key.key("idle_floor"),
        format!("every subflow is starved after `{idle_floor}`; give a time such as `500 ms`"),
    )?;
    require(
        *idle_flag || !*rto_option,
        &key.key("rto_option"),
        "the server's timeout is of use only to the idle timer; set `idle_flag = true` as well",
    )?;
    let Some(subtypes) = subtypes else {
        return Ok(());
    };
    let Subtypes {
        offer,
        rto,
        fast_join_out,
        fast_join_in,
    } = *subtypes;
    let key = key.key("subtypes");
    let all = [
        ("offer", offer),
        ("rto", rto),
        ("fast_join_out", fast_join_out),
        ("fast_join_in", fast_join_in),
    ];
    for (index, (name, subtype)) in all.iter().enumerate() {
        let key = key.key(name);
        require(
            FREE.contains(subtype),
            &key,
            format!("`{subtype}` is not free; RFC 8684 leaves 9 to 14"),
        )?;
        if let Some((other, _)) = all[..index].iter().find(|(_, known)| known == subtype) {
            return fault(&key, format!("`{subtype}` is that of `{other}` already"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Document, Scenario, Setting, builtin};

    fn with(settings: &[&str]) -> Result<Scenario, String> {
        let read = |text: &&str| Setting::read(text, "--set").expect("KEY=VALUE");
        let settings: Vec<Setting> = settings.iter().map(read).collect();
        let text = builtin::find("blackhole").expect("built in");
        Document::parse_with(text, "blackhole", &settings)
            .map(Document::into_scenario)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_spoken_unless_it_is_asked_for() {
        let plain = with(&[]).expect("valid");
        assert!(!plain.multipath.is_used());
        let text = toml::to_string(&plain).expect("a scenario is TOML");
        assert!(!text.contains("multipath"), "{text}");
        let used = with(&[
            "multipath.idle_flag=true",
            "multipath.rto_option=true",
            "multipath.fast_join=true",
            "multipath.subtypes={ offer = 9, rto = 10, fast_join_out = 11, fast_join_in = 14 }",
        ]);
        let used = used.expect("valid").multipath;
        assert_eq!(used.in_words(), "idle-flag, rto-option, fast-join");
    }

    #[test]
    fn mistakes_say_what_is_right() {
        let subtypes = "offer = 9, rto = 10, fast_join_out = 11";
        let taken = format!("multipath.subtypes={{ {subtypes}, fast_join_in = 10 }}");
        let assigned = format!("multipath.subtypes={{ {subtypes}, fast_join_in = 2 }}");
        let missing = format!("multipath.subtypes={{ {subtypes} }}");
        let cases = [
            (
                "multipath.idle=true",
                "unknown key `idle` in [multipath]; expected one of",
            ),
            (
                "multipath.fast_join=1",
                "found integer `1`, expected a boolean",
            ),
            (
                "multipath.rto_option=true",
                "set `idle_flag = true` as well",
            ),
            ("multipath.idle_floor=0 ms", "give a time such as `500 ms`"),
            ("multipath.rto_period=0 ms", "give a time such as `1 s`"),
            ("multipath.experiment=70000", "expected u16"),
            (&taken, "`10` is that of `rto` already"),
            (&assigned, "`2` is not free; RFC 8684 leaves 9 to 14"),
            (&missing, "missing key `fast_join_in`"),
        ];
        for (setting, words) in cases {
            let error = with(&[setting]).expect_err(setting);
            assert!(error.contains(words), "{setting}: {error}");
        }
    }
}
