//! Which state belongs to which subflow?

use crate::SubflowId;

/// A value for each open subflow, found by its number.
pub struct Table<T> {
    slots: Vec<Option<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { slots: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Sets the value of `subflow`; what was there before is forgotten.
    pub fn insert(&mut self, subflow: SubflowId, value: T) {
        let index = subflow.index();
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(value);
    }

    /// Forgets `subflow`.
    pub fn remove(&mut self, subflow: SubflowId) {
        if let Some(slot) = self.slots.get_mut(subflow.index()) {
            *slot = None;
        }
    }

    /// The value of `subflow`, if it is open.
    pub fn get(&self, subflow: SubflowId) -> Option<&T> {
        self.slots.get(subflow.index())?.as_ref()
    }

    /// The value of `subflow`, if it is open.
    pub fn get_mut(&mut self, subflow: SubflowId) -> Option<&mut T> {
        self.slots.get_mut(subflow.index())?.as_mut()
    }

    /// The values of all open subflows, by their numbers.
    pub fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.slots.iter().flatten()
    }

    /// The values of all open subflows, by their numbers.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }
}
