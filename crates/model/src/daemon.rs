//! What does the daemon `walkabout oracle` do on this host? Its configuration file.

use crate::path::PathKind;
use crate::scenario::check::{Fault, require};
use crate::scenario::key::KeyPath;
use crate::scenario::parse::{deserialize, one_of, place, tree};
use crate::scenario::{self, Oracle, ScenarioError};
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The configuration; every key has a default.
///
/// ```
/// use walkabout_model::daemon::Daemon;
/// let text = r#"
/// policy = "break-before-make"
/// period = "50 ms"
///
/// [home]
/// interface = "wlan0"
///
/// [backup]
/// kind = "cellular"
/// "#;
/// let daemon = Daemon::parse(text, "oracle.toml", &["break-before-make"]).unwrap();
/// assert_eq!(daemon.home.interface.as_deref(), Some("wlan0"));
///
/// let text = text.replace("wlan0", "wlan0\"\nintrface = \"wlan1");
/// let error = Daemon::parse(&text, "oracle.toml", &["break-before-make"]).unwrap_err();
/// assert!(error.to_string().starts_with("oracle.toml:7"), "{error}");
/// assert!(error.to_string().contains("did you mean `interface`?"), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Daemon {
    /// The path manager (`walkabout list policies`).
    pub policy: String,
    /// How often every connection is looked at; the path manager's own period when absent.
    pub period: Option<Span>,
    /// Whether to set `net.mptcp.path_manager=userspace`, and to put it back at the end.
    pub take_over: bool,
    /// Where `walkabout oracle status` asks.
    pub socket: PathBuf,
    /// What was changed on this host, to be put back; gone after a clean end.
    pub kept: PathBuf,
    /// The path connections prefer.
    pub home: Place,
    /// The path that helps out.
    pub backup: Place,
    /// The parameters of MultiMob's path managers.
    pub oracle: Oracle,
    /// How a server follows its clients.
    pub follow: Follow,
}

impl Default for Daemon {
    fn default() -> Daemon {
        Daemon {
            policy: "multimob".to_owned(),
            period: None,
            take_over: false,
            socket: PathBuf::from("/run/walkabout/oracle.sock"),
            kept: PathBuf::from("/run/walkabout/oracle-kept.json"),
            home: Place::default(),
            backup: Place::default(),
            oracle: Oracle::default(),
            follow: Follow::default(),
        }
    }
}

/// Which interface is a path; by the default routes' metrics when nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Place {
    /// The interface's name.
    pub interface: Option<String>,
    /// The interface's kind: with a name, what it counts as; alone, the interface of this kind
    /// whose default route has the lowest metric.
    pub kind: Option<PathKind>,
}

/// How a server sends on the subflow its client used last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Follow {
    /// How often every connection is looked at: 20 ms.
    pub period: Span,
    /// How much later than on the subflow in use data must have come on another one: 50 ms. A
    /// subflow that the client has just opened needs none.
    pub quiet: Span,
}

impl Default for Follow {
    fn default() -> Follow {
        Follow {
            period: Span::from_millis(20),
            quiet: Span::from_millis(50),
        }
    }
}

/// Looking more often than this costs more than it tells.
const LEAST_PERIOD: Span = Span::from_millis(5);

impl Daemon {
    /// Reads the configuration and checks it; `source` is the file's name in messages, `policies`
    /// are the known path managers.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn parse(text: &str, source: &str, policies: &[&str]) -> Result<Daemon, ScenarioError> {
        let tree = tree(text, source)?;
        let daemon: Daemon = deserialize(&tree, text, source)?;
        check(&daemon, policies).map_err(|fault| place(&tree, text, source, fault))?;
        Ok(daemon)
    }

    /// Checks it again, after it was changed by options of the command line.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn check(&self, policies: &[&str]) -> Result<(), ScenarioError> {
        check(self, policies).map_err(ScenarioError::from)
    }

    /// The interfaces that are named here and not among `present`, at their lines of the `text` that this was
    /// parsed from. None of them is a mistake as such: it may come.
    pub fn absent(&self, text: &str, source: &str, present: &[&str]) -> Vec<ScenarioError> {
        let Ok(tree) = tree(text, source) else {
            return Vec::new(); // the text was parsed before, so this is not reached
        };
        let missing = |(key, of): (&str, &Place)| {
            let name = of.interface.as_deref()?;
            let fault = Fault {
                key: KeyPath::top(key).key("interface"),
                message: no_interface(name, present)?,
            };
            Some(place(&tree, text, source, fault))
        };
        let places = [("home", &self.home), ("backup", &self.backup)];
        places.into_iter().filter_map(missing).collect()
    }
}

/// That there is no interface `name` among `present`, in words; `None` when there is.
pub fn no_interface(name: &str, present: &[&str]) -> Option<String> {
    let there = present.contains(&name);
    let names = one_of(name, present);
    (!there).then(|| format!("this host has no interface `{name}`; {names}"))
}

fn check(daemon: &Daemon, policies: &[&str]) -> Result<(), Fault> {
    let Daemon {
        policy,
        period,
        take_over: _,
        socket,
        kept,
        home,
        backup,
        oracle,
        follow,
    } = daemon;
    require(
        policies.contains(&policy.as_str()),
        &KeyPath::top("policy"),
        format!(
            "unknown path manager `{policy}`; {}",
            one_of(policy, policies)
        ),
    )?;
    scenario::oracle::check(oracle)?;
    let follow_key = KeyPath::top("follow");
    for (key, span) in [
        (KeyPath::top("period"), period.unwrap_or(LEAST_PERIOD)),
        (follow_key.key("period"), follow.period),
    ] {
        let wrong = format!("`{span}` is too often; give `{LEAST_PERIOD}` or more");
        require(span >= LEAST_PERIOD, &key, wrong)?;
    }
    for (key, path) in [("socket", socket), ("kept", kept)] {
        let wrong = format!("`{}` is no absolute path", path.display());
        require(path.is_absolute(), &KeyPath::top(key), wrong)?;
    }
    for (key, place) in [("home", home), ("backup", backup)] {
        // IFNAMSIZ with its final zero.
        let good = |name: &String| (1..=15).contains(&name.len()) && !name.contains(['/', ' ']);
        let wrong = "an interface's name has 1 to 15 characters, without `/` and spaces";
        let name = place.interface.as_ref();
        require(
            name.is_none_or(good),
            &KeyPath::top(key).key("interface"),
            wrong,
        )?;
    }
    require(
        home.interface.is_none() || home.interface != backup.interface,
        &KeyPath::top("backup").key("interface"),
        "home and backup are the same interface; a handover takes two",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICIES: [&str; 2] = ["break-before-make", "multimob"];

    fn wrong(text: &str) -> String {
        let error = Daemon::parse(text, "oracle.toml", &POLICIES).unwrap_err();
        error.to_string()
    }

    #[test]
    fn nothing_said_is_the_default() {
        let read = Daemon::parse("", "oracle.toml", &POLICIES).unwrap();
        assert_eq!(read, Daemon::default());
    }

    #[test]
    fn an_interface_that_is_not_there_has_its_line() {
        let text = "[home]\ninterface = \"wlan0\"\n[backup]\ninterface = \"wwan1\"";
        let daemon = Daemon::parse(text, "oracle.toml", &POLICIES).unwrap();
        let absent = |present: &[&str]| {
            let absent = daemon.absent(text, "oracle.toml", present);
            absent.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(absent(&["wlan0", "wwan1"]), [""; 0]);
        let missing = absent(&["lo", "wlan0", "wwan0"]);
        assert_eq!(missing.len(), 1);
        assert!(missing[0].starts_with("oracle.toml:4:13: this host has no interface `wwan1`"));
        assert!(missing[0].contains("did you mean `wwan0`?"), "{missing:?}");
    }

    #[test]
    fn each_mistake_is_one_line_with_its_place() {
        for (text, line, words) in [
            ("polcy = \"multimob\"", 1, "did you mean `policy`?"),
            ("\npolicy = \"multimop\"", 2, "did you mean `multimob`?"),
            ("period = \"1 ms\"", 1, "too often"),
            ("period = 20", 1, "`20 ms`"),
            ("[follow]\nperiod = \"0 s\"", 2, "too often"),
            ("[oracle]\nalpha = 0", 2, "nothing is ever counted"),
            ("socket = \"oracle.sock\"", 1, "absolute"),
            ("[home]\ninterface = \"a name\"", 2, "without"),
            ("[home]\nkind = \"wi-fi\"", 2, "did you mean `wifi`?"),
            (
                "[home]\ninterface = \"a\"\n[backup]\ninterface = \"a\"",
                4,
                "same interface",
            ),
            ("[home", 1, "not valid TOML"),
        ] {
            let message = wrong(text);
            assert!(
                message.starts_with(&format!("oracle.toml:{line}")),
                "{message}"
            );
            assert!(message.contains(words), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
