//! How are a million runs filtered, counted and compared in a fraction of a second? By what the filters
//! and comparisons need of each, held in memory: about 100 bytes a run, read once and then kept up with the
//! database by its numbers.
//!
//! The database stays the truth. Before each answer the index asks it for what was stored or removed
//! since; so an answer contains all that was acknowledged before it was asked for, by whichever collector.

mod compare;
mod distribution;
mod follow;
mod kind;
mod selection;
mod usage;

pub(super) use follow::Follower;
pub(super) use selection::Selection;

use kind::Kinds;
use std::collections::HashMap;

/// No run.
const NONE: u32 = u32::MAX;

/// A number of seconds that was observed; not a number where there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seconds(f64);

impl Seconds {
    fn get(self) -> Option<f64> {
        (!self.0.is_nan()).then_some(self.0)
    }
}

/// What is kept of a run.
#[derive(Clone, Debug)]
struct Entry {
    /// Rises with the time it was stored.
    number: i64,
    stored_us: i64,
    /// Its place in [`Index::kinds`].
    kind: u32,
    /// Its place in [`Index::tests`].
    test: u32,
    /// The entry of the same test before this one, or [`NONE`].
    before: u32,
    flags: u8,
    delay_max: Seconds,
    delay_max_up: Seconds,
    delay_max_down: Seconds,
    handover: Seconds,
}

/// The bits of [`Entry::flags`]; the first four come from the database.
mod flag {
    pub(super) const DELAY_MAX_CENSORED: u8 = 1;
    pub(super) const DELAY_MAX_UP_CENSORED: u8 = 2;
    pub(super) const DELAY_MAX_DOWN_CENSORED: u8 = 4;
    pub(super) const HANDOVER_CENSORED: u8 = 8;
    /// It was deleted.
    pub(super) const GONE: u8 = 16;
}

impl Entry {
    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A test.
#[derive(Clone, Copy, Debug)]
struct Test {
    /// The entry stored last, or [`NONE`].
    last: u32,
    /// How many runs it has.
    runs: u32,
}

/// What is kept of the runs.
#[derive(Debug, Default)]
struct Index {
    /// In the order of their numbers.
    entries: Vec<Entry>,
    /// Of them, those that are gone.
    gone: usize,
    kinds: Kinds,
    tests: Vec<Test>,
    test_places: HashMap<u128, u32>,
    /// Up to which number of the database it was read.
    read_to: i64,
}

/// A test's name in 16 bytes. Names are 32 hexadecimal digits, but nothing here depends on it.
fn short(test: &str) -> u128 {
    let digest = ring::digest::digest(&ring::digest::SHA256, test.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_ref()[..16]);
    u128::from_le_bytes(bytes)
}

impl Index {
    /// Adds a run of `test` that was stored after all that are there.
    fn add(&mut self, test: &str, mut entry: Entry) {
        // A place is a u32: 2^32 runs would take 300 GB.
        let place = u32::try_from(self.entries.len()).unwrap_or(NONE);
        let tests = &mut self.tests;
        let at = *self.test_places.entry(short(test)).or_insert_with(|| {
            tests.push(Test {
                last: NONE,
                runs: 0,
            });
            (tests.len() - 1) as u32
        });
        let of = &mut self.tests[at as usize];
        entry.test = at;
        entry.before = std::mem::replace(&mut of.last, place);
        of.runs += 1;
        self.entries.push(entry);
    }

    /// Takes out the run `number`, if it is there.
    fn remove(&mut self, number: i64) {
        let Ok(place) = self.entries.binary_search_by_key(&number, |e| e.number) else {
            return;
        };
        let entry = &mut self.entries[place];
        if !entry.is(flag::GONE) {
            entry.flags |= flag::GONE;
            self.tests[entry.test as usize].runs -= 1;
            self.gone += 1;
        }
    }

    /// Whether so many are gone that reading all anew is worth the memory.
    fn is_worn(&self) -> bool {
        self.gone > 10_000 && self.gone > self.entries.len() / 2
    }

    fn test(&self, name: &str) -> Option<u32> {
        self.test_places.get(&short(name)).copied()
    }
}
