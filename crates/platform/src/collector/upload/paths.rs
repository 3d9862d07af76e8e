//! What are a run's paths called in the store? As the client calls them where that is made of known
//! words (`wifi`, `wlan0`); else by their kind, for an interface's name may hold its hardware address.

use crate::collector::refusal::Refusal;
use crate::collector::scrub;
use model::record::{Event, LinkState, Message, Sample};
use model::{Name, PathKind, Scenario};
use std::collections::BTreeMap;

/// The longest name, as for interfaces.
const LONGEST: usize = 15;

/// The names of a run's paths, by the client's.
pub struct Paths(BTreeMap<Name, Name>);

impl Paths {
    /// The names for the paths of `scenario`.
    pub fn of(scenario: &Scenario) -> Result<Paths, Refusal> {
        let mut names: BTreeMap<Name, Name> = BTreeMap::new();
        let count = scenario.paths.len();
        if !(1..=8).contains(&count) {
            let title = format!("manifest.scenario.path: a run has 1 to 8 paths, not {count}");
            return Err(Refusal::invalid(title));
        }
        for (number, path) in scenario.paths.iter().enumerate() {
            let name = path.name.as_str();
            let plain = name.len() <= LONGEST && scrub::is_plain_name(name);
            let taken = |name: &Name| names.values().any(|n| n == name);
            let kept = match plain && !taken(&path.name) {
                true => path.name.clone(),
                false => match Name::from(kind_word(path.kind)) {
                    kind if !taken(&kind) => kind,
                    kind => Name::from(format!("{kind}-{}", number + 1).as_str()),
                },
            };
            if names.insert(path.name.clone(), kept).is_some() {
                let title = "manifest.scenario.path: two paths have the same name";
                return Err(Refusal::invalid(title));
            }
        }
        Ok(Paths(names))
    }

    /// What `name` is called, if the run has such a path.
    pub fn get(&self, name: &Name) -> Option<Name> {
        self.0.get(name).cloned()
    }

    /// Renames the paths of a table's rows.
    pub fn rename<R: OnPath>(&self, rows: &mut [R], table: &str) -> Result<(), Refusal> {
        for (number, row) in rows.iter_mut().enumerate() {
            let Some(name) = row.path() else { continue };
            // Rows by the ten thousand share few names: an unchanged one costs no allocation.
            match self.0.get(name) {
                Some(kept) if kept == name => {}
                Some(kept) => *name = kept.clone(),
                None if is_servers(name) => {}
                None => {
                    let title =
                        format!("{table}: row {number} names a path that the scenario has not");
                    return Err(Refusal::invalid(title));
                }
            }
        }
        Ok(())
    }
}

/// Whether a test server calls a path so, which does not know the client's names: `path-1`.
fn is_servers(name: &Name) -> bool {
    let number = name.as_str().strip_prefix("path-").unwrap_or("");
    (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
}

/// As in the scenario format.
pub fn kind_word(kind: PathKind) -> &'static str {
    match kind {
        PathKind::Wifi => "wifi",
        PathKind::Cellular => "cellular",
        PathKind::Ethernet => "ethernet",
    }
}

/// A row that may be about a path.
pub trait OnPath {
    fn path(&mut self) -> Option<&mut Name>;
}

impl OnPath for Message {
    fn path(&mut self) -> Option<&mut Name> {
        self.path.as_mut()
    }
}

impl OnPath for Sample {
    fn path(&mut self) -> Option<&mut Name> {
        self.path.as_mut()
    }
}

impl OnPath for LinkState {
    fn path(&mut self) -> Option<&mut Name> {
        Some(&mut self.path)
    }
}

impl OnPath for Event {
    fn path(&mut self) -> Option<&mut Name> {
        self.path.as_mut()
    }
}
