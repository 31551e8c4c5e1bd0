//! What a name in a folder was at a snapshot, and folders as lists of names.

use crate::binary::{Decoder, Encoder};
use tripwire_core::record::chain::Digest;

/// Why something is seen and not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uncovered {
    /// A folder that the policy leaves out.
    Excluded,
    /// A file above the cap.
    TooLarge,
    /// A pipe, a socket or a device.
    Special,
    /// It may not be read.
    Unreadable,
    /// Another file system is mounted there.
    OtherFilesystem,
}

impl Uncovered {
    /// Why, in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Excluded => "an excluded folder (`undo.exclude`)",
            Self::TooLarge => "larger than `undo.file_mib_max`",
            Self::Special => "a pipe, a socket or a device",
            Self::Unreadable => "not readable",
            Self::OtherFilesystem => "on another file system",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Excluded => 0,
            Self::TooLarge => 1,
            Self::Special => 2,
            Self::Unreadable => 3,
            Self::OtherFilesystem => 4,
        }
    }

    const fn of_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Excluded),
            1 => Some(Self::TooLarge),
            2 => Some(Self::Special),
            3 => Some(Self::Unreadable),
            4 => Some(Self::OtherFilesystem),
            _ => None,
        }
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A file with these contents.
    File {
        /// The digest of its contents.
        contents: Digest,
        /// Its size in bytes.
        size: u64,
    },
    /// A symbolic link to this text.
    Link {
        /// The digest of where it points.
        target: Digest,
    },
    /// A folder; what is in it is compared by itself.
    Folder,
    /// Something that is not kept.
    Unsaved {
        /// Why not.
        why: Uncovered,
        /// What moves when it changes.
        mark: u64,
    },
}

/// Owner, group and permission bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) mode: u32,
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// One name's entry with everything that is brought back with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) entry: Entry,
    pub(crate) rights: Rights,
    /// The object that holds its extended attributes, if it has any.
    pub(crate) attributes: Option<Digest>,
    /// The listing of a folder; not compared with the folder itself.
    pub(crate) tree: Option<Digest>,
}

impl Node {
    /// The node without what is below it.
    pub(crate) const fn alone(mut self) -> Self {
        self.tree = None;
        self
    }

    pub(crate) const fn is_folder(&self) -> bool {
        matches!(self.entry, Entry::Folder)
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        match &self.entry {
            Entry::File { contents, size } => {
                out.byte(0);
                out.digest(contents);
                out.u64(*size);
            }
            Entry::Link { target } => {
                out.byte(1);
                out.digest(target);
            }
            Entry::Folder => out.byte(2),
            Entry::Unsaved { why, mark } => {
                out.byte(3);
                out.byte(why.code());
                out.u64(*mark);
            }
        }
        let Rights { mode, user, group } = self.rights;
        [mode, user, group].into_iter().for_each(|figure| out.u32(figure));
        for digest in [&self.attributes, &self.tree] {
            match digest {
                Some(digest) => {
                    out.byte(1);
                    out.digest(digest);
                }
                None => out.byte(0),
            }
        }
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let entry = match from.byte()? {
            0 => Entry::File { contents: from.digest()?, size: from.u64()? },
            1 => Entry::Link { target: from.digest()? },
            2 => Entry::Folder,
            3 => Entry::Unsaved { why: Uncovered::of_code(from.byte()?)?, mark: from.u64()? },
            _ => return None,
        };
        let rights = Rights { mode: from.u32()?, user: from.u32()?, group: from.u32()? };
        let mut digest = || match from.byte()? {
            0 => Some(None),
            1 => from.digest().map(Some),
            _ => None,
        };
        Some(Self { entry, rights, attributes: digest()?, tree: digest()? })
    }
}

/// The names of one folder, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tree(pub(crate) Vec<(Vec<u8>, Node)>);

impl Tree {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        for (name, node) in &self.0 {
            out.bytes(name);
            node.encode(&mut out);
        }
        out.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder(bytes);
        let mut names = Vec::new();
        while !from.is_empty() {
            let name = from.bytes()?.to_vec();
            names.push((name, Node::decode(&mut from)?));
        }
        Some(Self(names))
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Node> {
        self.0
            .binary_search_by(|(known, _)| known.as_slice().cmp(name))
            .ok()
            .and_then(|at| self.0.get(at))
            .map(|(_, node)| node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_1_a_tree_is_read_back_as_it_was_and_a_cut_one_is_refused() {
        let rights = Rights { mode: 0o644, user: 1, group: 2 };
        let node = |entry| Node { entry, rights, attributes: Some(Digest::of(b"a")), tree: None };
        let file = node(Entry::File { contents: Digest::of(b"x"), size: 1 });
        let tree = Tree(vec![
            (b"a".to_vec(), file),
            (b"b".to_vec(), node(Entry::Link { target: Digest::of(b"a") })),
            (b"c".to_vec(), Node { tree: Some(Digest::of(b"t")), ..node(Entry::Folder) }),
            (b"d".to_vec(), node(Entry::Unsaved { why: Uncovered::TooLarge, mark: 7 })),
        ]);
        let bytes = tree.encode();
        assert_eq!(Tree::decode(&bytes), Some(tree.clone()));
        assert_eq!(tree.get(b"a"), Some(&file));
        assert_eq!(tree.get(b"x"), None);
        for length in 1..bytes.len() {
            assert_ne!(Tree::decode(&bytes[..length]), Some(tree.clone()), "{length}");
        }
        assert_eq!(Tree::decode(&[]), Some(Tree::default()), "an empty folder");
    }
}
