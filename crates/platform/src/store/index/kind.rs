//! Which runs are alike in all that is a word? There are few kinds of runs: a filter looks at each kind
//! once, and at each run only for its kind.

use super::super::database::SEPARATOR;
use crate::api::{Arm, Filter};
use std::collections::HashMap;

/// A word's place in [`Kinds::words`].
type Word = u32;

/// What runs of a kind have in common.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    experiment: Word,
    mode: Word,
    server: Word,
    pub(super) transport: Word,
    pub(super) policy: Word,
    pub(super) pattern: Word,
    family: Word,
    platform: Word,
    networks: Word,
    /// Empty where there is none.
    pub(super) cause: Word,
    publish: bool,
    /// Whether it is complete and not invalid.
    pub(super) counts: bool,
}

/// The SQL for a kind as one text, [`Kinds::place`]'s argument; `$1` is the [`SEPARATOR`].
pub(super) const KIND: &str = "experiment || $1 || mode || $1 || server || $1 || transport || $1 || \
     policy || $1 || pattern || $1 || family || $1 || platform || $1 || networks || $1 || \
     COALESCE(cellular_cause, '') || $1 || publish || $1 || counts";

/// The kinds that were seen.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    places: HashMap<Box<str>, u32>,
    words: Vec<Box<str>>,
    word_places: HashMap<Box<str>, Word>,
}

impl Kinds {
    /// The place of the kind whose words stand in `text`; `None` when it is none.
    pub(super) fn place(&mut self, text: &str) -> Option<u32> {
        if let Some(place) = self.places.get(text) {
            return Some(*place);
        }
        let words: Vec<&str> = text.split(SEPARATOR).collect();
        let [words @ .., publish, counts] = &words[..] else {
            return None;
        };
        let words: Vec<Word> = words.iter().map(|word| self.word(word)).collect();
        let [
            experiment,
            mode,
            server,
            transport,
            policy,
            pattern,
            family,
            platform,
            networks,
            cause,
        ] = words[..]
        else {
            return None;
        };
        let kind = Kind {
            experiment,
            mode,
            server,
            transport,
            policy,
            pattern,
            family,
            platform,
            networks,
            cause,
            publish: *publish == "1",
            counts: *counts == "1",
        };
        let place = u32::try_from(self.kinds.len()).ok()?;
        self.kinds.push(kind);
        self.places.insert(text.into(), place);
        Some(place)
    }

    fn word(&mut self, word: &str) -> Word {
        if let Some(place) = self.word_places.get(word) {
            return *place;
        }
        let place = self.words.len() as Word;
        self.words.push(word.into());
        self.word_places.insert(word.into(), place);
        place
    }

    /// The kinds, by their places.
    pub(super) fn all(&self) -> &[Kind] {
        &self.kinds
    }

    pub(super) fn text(&self, word: Word) -> &str {
        &self.words[word as usize]
    }

    pub(super) fn arm(&self, kind: &Kind) -> Arm {
        Arm {
            transport: self.text(kind.transport).to_owned(),
            policy: self.text(kind.policy).to_owned(),
        }
    }

    /// What usage is counted by: platform, networks, server, transport.
    pub(super) fn usage_words(&self, kind: &Kind) -> [&str; 4] {
        [kind.platform, kind.networks, kind.server, kind.transport].map(|word| self.text(word))
    }

    /// Which kinds pass `filter`; those that don't count only if it asks for them.
    pub(super) fn matching(&self, filter: &Filter) -> Vec<bool> {
        // A word nobody has used matches nothing.
        let wanted = |word: &Option<String>| {
            let word = word.as_deref()?;
            Some(self.word_places.get(word).copied())
        };
        let asked = [
            wanted(&filter.experiment),
            wanted(&filter.mode),
            wanted(&filter.server),
            wanted(&filter.transport),
            wanted(&filter.policy),
            wanted(&filter.pattern),
            wanted(&filter.family),
        ];
        let with_invalid = filter.invalid == Some(true);
        let passes = |kind: &Kind| {
            let has = [
                kind.experiment,
                kind.mode,
                kind.server,
                kind.transport,
                kind.policy,
                kind.pattern,
                kind.family,
            ];
            (kind.counts || with_invalid)
                && filter.publish.is_none_or(|publish| publish == kind.publish)
                && asked
                    .iter()
                    .zip(has)
                    .all(|(asked, has)| asked.is_none_or(|word| word == Some(has)))
        };
        self.kinds.iter().map(passes).collect()
    }
}
