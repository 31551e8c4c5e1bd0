//! The Merkle tree of RFC 6962 over the journal's lines, as its frontier: the few subtree roots that the next leaf needs.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tripwire_core::record::chain::Digest;

/// The roots of the perfect subtrees, largest first; their sizes are the binary digits of `size`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Frontier {
    hashes: Vec<Digest>,
    size: u64,
}

impl Frontier {
    /// How many leaves the tree has.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf: a whole line, so that what is outside the record's hash is covered too.
    pub(crate) fn push(&mut self, leaf: &[u8]) {
        let mut hash = hash_parts(&[&[LEAF], leaf]);
        let mut rest = self.size;
        while rest & 1 == 1
            && let Some(left) = self.hashes.pop()
        {
            hash = hash_parts(&[&[NODE], left.as_bytes(), hash.as_bytes()]);
            rest >>= 1;
        }
        self.hashes.push(hash);
        self.size += 1;
    }

    /// The root over all leaves.
    pub(crate) fn root(&self) -> Digest {
        let mut roots = self.hashes.iter().rev();
        let Some(smallest) = roots.next() else {
            return Digest::of(b"");
        };
        roots.fold(*smallest, |right, left| hash_parts(&[&[NODE], left.as_bytes(), right.as_bytes()]))
    }

    /// Whether a frontier that was read from a file can be one at all.
    pub(crate) fn is_well_formed(&self) -> bool {
        u32::try_from(self.hashes.len()).is_ok_and(|count| count == self.size.count_ones())
    }
}

fn hash_parts(parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    Digest::from_bytes(hasher.finalize().into())
}

/// The prefixes keep a leaf from ever being taken for a node.
const LEAF: u8 = 0;
const NODE: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of RFC 6962 section 2.1, word for word and slowly.
    fn definition(leaves: &[Vec<u8>]) -> Digest {
        match leaves {
            [] => Digest::of(b""),
            [leaf] => hash_parts(&[&[0], leaf]),
            _ => {
                let mut split = 1;
                while split * 2 < leaves.len() {
                    split *= 2;
                }
                let (left, right) = leaves.split_at(split);
                hash_parts(&[&[1], definition(left).as_bytes(), definition(right).as_bytes()])
            }
        }
    }

    #[test]
    fn the_root_is_that_of_the_definition_at_every_size() {
        let mut frontier = Frontier::default();
        let mut leaves = Vec::new();
        assert_eq!(frontier.root(), definition(&leaves));
        for index in 0_u32..130 {
            let leaf = index.to_be_bytes().to_vec();
            frontier.push(&leaf);
            leaves.push(leaf);
            assert_eq!(frontier.root(), definition(&leaves), "size {}", leaves.len());
            assert!(frontier.is_well_formed());
        }
    }

    #[test]
    fn a_frontier_with_a_root_too_few_is_refused() {
        let mut frontier = Frontier::default();
        for index in 0_u8..3 {
            frontier.push(&[index]);
        }
        frontier.hashes.pop();
        assert!(!frontier.is_well_formed());
    }
}
