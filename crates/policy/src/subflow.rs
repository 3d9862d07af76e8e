//! How are the subflows of a connection told apart by schedulers and congestion controllers?

use std::fmt;

/// A subflow (MPTCP) or path (QUIC) of a connection: a small number that is unique among those
/// of the connection that exist, and that may be given again after one is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubflowId(u8);

impl SubflowId {
    /// More subflows than this a connection does not have.
    pub const MAX: usize = 32;

    /// The `index`th.
    ///
    /// # Panics
    /// When `index` is [`SubflowId::MAX`] or more.
    pub const fn new(index: usize) -> SubflowId {
        assert!(index < SubflowId::MAX);
        SubflowId(index as u8)
    }

    /// Its number, below [`SubflowId::MAX`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of subflows of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SubflowSet(u32);

impl SubflowSet {
    /// None.
    pub const EMPTY: SubflowSet = SubflowSet(0);

    /// Only `subflow`.
    pub const fn only(subflow: SubflowId) -> SubflowSet {
        SubflowSet(1 << subflow.0)
    }

    /// Adds one.
    pub fn insert(&mut self, subflow: SubflowId) {
        self.0 |= 1 << subflow.0;
    }

    /// Takes one out.
    pub fn remove(&mut self, subflow: SubflowId) {
        self.0 &= !(1 << subflow.0);
    }

    /// Whether `subflow` is in it.
    pub const fn contains(self, subflow: SubflowId) -> bool {
        self.0 & (1 << subflow.0) != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many there are.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Each, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = SubflowId> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = (rest != 0).then(|| SubflowId(rest.trailing_zeros() as u8));
            rest &= rest.wrapping_sub(1); // without its lowest bit
            next
        })
    }
}

impl FromIterator<SubflowId> for SubflowSet {
    fn from_iter<T: IntoIterator<Item = SubflowId>>(ids: T) -> SubflowSet {
        let mut set = SubflowSet::EMPTY;
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

impl fmt::Debug for SubflowSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|id| id.0)).finish()
    }
}
