//! A queue of bounded length: pushing beyond the bound drops the oldest entry.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize};

/// The newest `N` entries.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Ring<T, const N: usize>(VecDeque<T>);

impl<T: Clone, const N: usize> Clone for Ring<T, N> {
    /// Every decision is made on a copy of the engine: plain entries are copied as a whole, with room for the next one.
    fn clone(&self) -> Self {
        let (older, newer) = self.0.as_slices();
        if older.is_empty() {
            return Self(VecDeque::new());
        }
        let mut entries = Vec::with_capacity(self.0.len().saturating_add(1).min(N));
        entries.extend_from_slice(older);
        entries.extend_from_slice(newer);
        Self(VecDeque::from(entries))
    }
}

impl<T, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Self(VecDeque::with_capacity(N))
    }
}

impl<T, const N: usize> Ring<T, N> {
    /// Adds the newest entry.
    pub(crate) fn push(&mut self, entry: T) {
        if self.0.len() >= N {
            self.0.pop_front();
        }
        self.0.push_back(entry);
    }

    /// The entries, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &T> {
        self.0.iter().rev()
    }

    /// The entries, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    /// The entry `back` places before the newest.
    pub(crate) fn back(&self, back: usize) -> Option<&T> {
        let index = self.0.len().checked_sub(back.saturating_add(1))?;
        self.0.get(index)
    }

    /// The newest entry, to be changed.
    pub(crate) fn newest_mut(&mut self) -> Option<&mut T> {
        self.0.back_mut()
    }

    /// Removes the oldest entries for as long as a test says so.
    pub(crate) fn drop_oldest_while(&mut self, mut test: impl FnMut(&T) -> bool) {
        while self.0.front().is_some_and(&mut test) {
            self.0.pop_front();
        }
    }

    /// Keeps only the entries that a test says so of.
    pub(crate) fn retain(&mut self, test: impl FnMut(&T) -> bool) {
        self.0.retain(test);
    }

    /// The oldest entry.
    pub(crate) fn oldest(&self) -> Option<&T> {
        self.0.front()
    }

    /// Whether the bound is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= N
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for Ring<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = VecDeque::<T>::deserialize(deserializer)?;
        if entries.len() > N {
            return Err(serde::de::Error::custom(format_args!("{} entries where {N} are kept", entries.len())));
        }
        Ok(Self(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_entries_stay() {
        let mut ring = Ring::<u32, 3>::default();
        (1..=5).for_each(|n| ring.push(n));
        assert!(ring.newest_first().eq([5, 4, 3].iter()));
        assert_eq!((ring.back(0), ring.back(2), ring.back(3)), (Some(&5), Some(&3), None));
        assert_eq!((ring.oldest(), ring.is_full(), ring.len()), (Some(&3), true, 3));
    }

    #[test]
    fn a_copy_has_the_same_entries_in_the_same_order_wherever_they_begin() {
        for pushed in 0..8 {
            let mut ring = Ring::<u32, 3>::default();
            (0..pushed).for_each(|n| ring.push(n));
            let mut copy = ring.clone();
            assert_eq!(copy, ring, "{pushed} pushed");
            copy.push(9);
            ring.push(9);
            assert_eq!(copy, ring, "{pushed} pushed, and one more");
        }
    }

    #[test]
    fn a_snapshot_with_too_many_entries_is_refused() {
        assert!(serde_json::from_str::<Ring<u32, 2>>("[1,2,3]").is_err());
        assert!(serde_json::from_str::<Ring<u32, 3>>("[1,2,3]").is_ok());
    }
}
