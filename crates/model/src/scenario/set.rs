//! How are keys of a scenario set from outside: by a study's parameter, or by `--set`?
//!
//! The value is put into the parsed TOML before the scenario is read and checked, so that units,
//! misspelt keys and impossible values give the same errors as in the file itself.

use super::error::ScenarioError;
use super::parse::{deserialize, one_of, place};
use super::{Scenario, check};
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys of a `[[path]]` itself; any other belongs to its links, in both directions.
const PATH_KEYS: [&str; 6] = ["name", "kind", "up", "down", "change", "walk"];

/// Keys that say which scenario it is and who takes part, not how it is.
const FIXED_KEYS: [&str; 4] = ["name", "summary", "transports", "policies"];

/// Another value for a key of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key, with dots: `path.cellular.up.delay` (paths by their names; without a direction
    /// both are meant), `duration`, `traffic.interactive.period`, `failure.0.at`.
    pub key: String,
    /// The value, in TOML; a text needs no quotes: `60 ms`, `0.01`, `{ from = "1 s", to = "2 s" }`.
    pub value: String,
    /// Who says so, for messages.
    pub origin: Origin,
}

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A file, or an option of the command line.
    pub file: String,
    /// The line and the character within it, from 1, if it is a file.
    pub at: Option<(usize, usize)>,
}

impl Setting {
    /// Reads `KEY=VALUE`, as the command line has it behind `option`; `None` without both.
    ///
    /// ```
    /// use walkabout_model::scenario::{Document, Setting, builtin};
    /// let text = builtin::find("blackhole").unwrap();
    /// let set = Setting::read("path.cellular.delay=60 ms", "--set").unwrap();
    /// let slow = Document::parse_with(text, "blackhole", &[set]).unwrap().into_scenario();
    /// assert_eq!(slow.paths[1].up.delay.to_string(), "60 ms");
    /// assert_eq!(slow.paths[1].down.delay.to_string(), "60 ms");
    ///
    /// let set = Setting::read("path.cellular.dealy=60 ms", "--set").unwrap();
    /// let error = Document::parse_with(text, "blackhole", &[set]).unwrap_err();
    /// assert!(error.to_string().ends_with("(did you mean `delay`?)"), "{error}");
    /// ```
    pub fn read(text: &str, option: &str) -> Option<Setting> {
        let (key, value) = text.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        (!key.is_empty() && !value.is_empty()).then(|| Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            origin: Origin {
                file: option.to_owned(),
                at: None,
            },
        })
    }

    /// `message`, as an error at the origin.
    pub(super) fn error(&self, source: &str, key: &str, message: &str) -> ScenarioError {
        let Setting {
            key: own, value, ..
        } = self;
        ScenarioError {
            file: self.origin.file.clone(),
            line: self.origin.at.map(|(line, _)| line),
            column: self.origin.at.map(|(_, column)| column),
            key: key.to_owned(),
            message: format!("with `{own}` = `{value}`, {source}: {message}"),
        }
    }
}

/// The scenario of `tree`, which is valid, with all settings.
///
/// # Errors
/// What is wrong, blamed on the first setting that makes it so.
pub(super) fn apply(
    tree: &Spanned<DeTable<'_>>,
    text: &str,
    source: &str,
    settings: &[Setting],
) -> Result<Scenario, ScenarioError> {
    let all = with(tree, text, source, settings);
    let Err(last) = &all else { return all };
    // Settings may be valid only together: one is to blame if what comes before it is in order.
    let first = (1..settings.len()).find_map(|n| with(tree, text, source, &settings[..n]).err());
    Err(first.unwrap_or_else(|| last.clone()))
}

fn with(
    tree: &Spanned<DeTable<'_>>,
    text: &str,
    source: &str,
    settings: &[Setting],
) -> Result<Scenario, ScenarioError> {
    let mut changed = tree.clone();
    let mut spans = Spans { next: text.len() };
    for setting in settings {
        let keys: Vec<&str> = setting.key.split('.').collect();
        put(&mut changed, &keys, &setting.value, &mut spans)
            .map_err(|message| setting.error(source, &setting.key, &message))?;
    }
    let scenario = deserialize(&changed, text, source).and_then(|scenario: Scenario| {
        match check::scenario(&scenario) {
            Ok(()) => Ok(scenario),
            Err(fault) => Err(place(&changed, text, source, fault)),
        }
    });
    scenario.map_err(|error| match settings.last() {
        Some(setting) => setting.error(source, &error.key, &error.message),
        None => error,
    })
}

/// Spans behind the end of the text, each of its own: a key is known by its span.
struct Spans {
    next: usize,
}

impl Spans {
    fn take(&mut self) -> Range<usize> {
        self.next += 2;
        self.next - 1..self.next
    }

    /// `value`, and all that is in it, with spans of its own.
    fn renew<'t>(&mut self, value: DeValue<'t>) -> Spanned<DeValue<'t>> {
        let value = match value {
            DeValue::Array(array) => {
                let elements = array.into_iter().map(|e| self.renew(e.into_inner()));
                DeValue::Array(elements.collect())
            }
            DeValue::Table(table) => {
                let mut renewed = DeTable::new();
                for (key, value) in table {
                    let key = Spanned::new(self.take(), key.into_inner());
                    renewed.insert(key, self.renew(value.into_inner()));
                }
                DeValue::Table(renewed)
            }
            other => other,
        };
        Spanned::new(self.take(), value)
    }

    /// A value as a setting has it: TOML, or else a text without quotes.
    fn read<'t>(&mut self, text: &'t str) -> Spanned<DeValue<'t>> {
        match DeValue::parse(text) {
            Ok(value) => self.renew(value.into_inner()),
            Err(_) => Spanned::new(self.take(), DeValue::String(Cow::Borrowed(text))),
        }
    }
}

/// Puts `value` where `keys` say, in both directions of a path where they name none.
fn put<'t>(
    tree: &mut Spanned<DeTable<'t>>,
    keys: &[&'t str],
    value: &'t str,
    spans: &mut Spans,
) -> Result<(), String> {
    let top = tree.get_mut();
    match keys {
        [fixed, ..] if FIXED_KEYS.contains(fixed) => Err(format!(
            "`{fixed}` says which scenario it is or who takes part, and cannot be set"
        )),
        ["traffic", pattern, ..] => {
            let given = top.get("traffic").and_then(|t| t.get_ref().as_table());
            let given = given.and_then(|t| t.keys().next()).map(|k| k.get_ref());
            match given {
                Some(given) if given != pattern => Err(format!(
                    "the traffic is `{given}`; to take another, set `traffic` itself, such as to \
                     {{ {pattern} = {{}} }}"
                )),
                _ => in_table(top, "", keys, value, spans),
            }
        }
        ["path", path, rest @ ..] if rest.first().is_some_and(|k| !PATH_KEYS.contains(k)) => {
            ["up", "down"].iter().try_for_each(|direction| {
                let keys = [&["path", *path, *direction], rest].concat();
                in_table(top, "", &keys, value, spans)
            })
        }
        _ => in_table(top, "", keys, value, spans),
    }
}

/// Puts `value` below `table`, which is `at`; tables that are not there yet are made.
fn in_table<'t>(
    table: &mut DeTable<'t>,
    at: &str,
    keys: &[&'t str],
    value: &'t str,
    spans: &mut Spans,
) -> Result<(), String> {
    let Some((&key, rest)) = keys.split_first() else {
        return Err(format!("`{at}` is a table; name a key in it"));
    };
    if key.is_empty() {
        return Err("a key is missing between two dots".to_owned());
    }
    if rest.is_empty() {
        let value = spans.read(value);
        match table.get_mut(key) {
            Some(place) => *place = value,
            None => {
                table.insert(Spanned::new(spans.take(), Cow::Borrowed(key)), value);
            }
        }
        return Ok(());
    }
    if !table.contains_key(key) {
        let empty = Spanned::new(spans.take(), DeValue::Table(DeTable::new()));
        table.insert(Spanned::new(spans.take(), Cow::Borrowed(key)), empty);
    }
    let at = join(at, key);
    match table.get_mut(key) {
        Some(inner) => in_value(inner, &at, rest, value, spans),
        None => Err(format!("`{at}` is not there")), // it was made above
    }
}

/// Puts `value` below `inner`, which is `at`.
fn in_value<'t>(
    inner: &mut Spanned<DeValue<'t>>,
    at: &str,
    keys: &[&'t str],
    value: &'t str,
    spans: &mut Spans,
) -> Result<(), String> {
    match (inner.get_mut(), keys) {
        (DeValue::Table(table), _) => in_table(table, at, keys, value, spans),
        (DeValue::Array(list), [key, rest @ ..]) => {
            let name = |element: &Spanned<DeValue<'t>>| {
                let name = element.get_ref().get("name")?;
                name.get_ref().as_str().map(str::to_owned)
            };
            let names: Vec<String> = list.iter().filter_map(name).collect();
            let place = names.iter().position(|n| n == key);
            let place = place.or_else(|| key.parse().ok());
            let count = list.len();
            let Some(element) = place.and_then(|place| list.get_mut(place)) else {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                return Err(match names.is_empty() {
                    true => {
                        format!("`{at}` has no `{key}`; it is a list of {count}, counted from 0")
                    }
                    false => format!("`{at}` has no `{key}`; {}", one_of(key, &names)),
                });
            };
            match rest {
                [] => {
                    *element = spans.read(value);
                    Ok(())
                }
                _ => in_value(element, &join(at, key), rest, value, spans),
            }
        }
        (_, [key, ..]) => Err(format!("`{at}` is no table, it has no `{key}`")),
        (_, []) => Err(format!("`{at}` is no table")),
    }
}

fn join(at: &str, key: &str) -> String {
    match at {
        "" => key.to_owned(),
        _ => format!("{at}.{key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Document, builtin};

    fn blackhole(settings: &[&str]) -> Result<Scenario, String> {
        let settings: Vec<Setting> = settings
            .iter()
            .map(|text| Setting::read(text, "--set").expect("KEY=VALUE"))
            .collect();
        let text = builtin::find("blackhole").expect("built in");
        Document::parse_with(text, "blackhole", &settings)
            .map(Document::into_scenario)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn each_kind_of_key_is_found() {
        let scenario = blackhole(&[
            "duration=1 min",
            "congestion=cubic",
            "path.cellular.up.delay=45 ms",
            "path.wifi.loss=0.02",
            "path.1.queue.limit=1 MiB",
            "traffic.interactive.period=\"50 ms\"",
            "failure.0.at={ from = \"20 s\", to = \"21 s\" }",
            "failure.0.direction=up",
        ])
        .expect("valid");
        assert_eq!(scenario.duration.get().as_secs(), 60);
        assert_eq!(scenario.congestion.as_deref(), Some("cubic"));
        let [wifi, cellular] = &scenario.paths[..] else {
            panic!("two paths");
        };
        assert_eq!(cellular.up.delay.to_string(), "45 ms");
        assert_eq!(cellular.down.delay.to_string(), "30 ms");
        assert_eq!(wifi.up.loss.map(|p| p.get()), Some(0.02));
        assert_eq!(wifi.down.loss, wifi.up.loss);
        for link in [&cellular.up, &cellular.down] {
            assert_eq!(link.queue.limit.to_string(), "1 MiB");
        }
        assert_eq!(scenario.failures[0].at.latest().to_string(), "21 s");
        assert_eq!(scenario.failures[0].direction, Some(crate::Direction::Up));
    }

    #[test]
    fn another_pattern_is_taken_as_a_whole() {
        let scenario = blackhole(&["traffic={ bulk = { size = \"2 MB\" } }"]).expect("valid");
        assert_eq!(scenario.traffic.name(), "bulk");
    }

    #[test]
    fn mistakes_are_told_as_those_of_a_file() {
        let cases = [
            (
                "path.cellular.dealy=60 ms",
                "unknown key `dealy` in [path.down]; expected one of",
            ),
            ("path.cellular.dealy=60 ms", "(did you mean `delay`?)"),
            (
                "path.celular.delay=60 ms",
                "`path` has no `celular`; expected one of wifi, cellular",
            ),
            (
                "path.cellular.delay=60",
                "found integer `60`, expected a time",
            ),
            (
                "path.cellular.delay=-60 ms",
                "`-60 ms` is not a time of zero or more",
            ),
            (
                "failure.1.at=3 s",
                "`failure` has no `1`; it is a list of 1, counted from 0",
            ),
            (
                "failure.0.at=31 s",
                "`31 s` is not within the run, which ends at `30 s`",
            ),
            ("traffic.bulk.size=1 MB", "the traffic is `interactive`"),
            ("duraton=3 s", "(did you mean `duration`?)"),
            ("duration.long=3 s", "`duration` is no table"),
            (
                "transports=tcp",
                "`transports` says which scenario it is or who takes part",
            ),
            (
                "path=wifi",
                "`path`: found string \"wifi\", expected a list",
            ),
            ("path..delay=1 s", "`path` has no ``"),
            (
                "path.wifi.up.burst.loss=0.5",
                "missing key `enter` in [path.up.burst]",
            ),
        ];
        for (setting, words) in cases {
            let error = blackhole(&[setting]).expect_err(setting);
            assert!(error.contains(words), "{setting}: {error}");
            assert!(error.starts_with("--set: with `"), "{error}");
        }
    }

    #[test]
    fn the_first_setting_that_makes_it_wrong_is_named() {
        let error = blackhole(&["congestion=cubic", "duration=5 s", "path.wifi.delay=1 ms"]);
        let error = error.expect_err("the failure is later");
        assert!(error.contains("with `duration` = `5 s`"), "{error}");
        let both = blackhole(&["duration=5 s", "failure.0.at=2 s"]);
        assert!(both.is_ok(), "valid together: {both:?}");
    }
}
