//! All objects of a store: those in packs, and large contents as files of their own.

use crate::error::UndoError;
use crate::node::Tree;
use crate::pack::{Pack, Place};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, FileAction, FileError};

/// Contents above this are files of their own, copied without passing through memory.
pub(crate) const LARGE_BYTES: u64 = 4 << 20;

const BLOB_TAG: &[u8] = b"tripwire undo contents 1\n";
const TREE_TAG: &[u8] = b"tripwire undo folder 1\n";

/// The digest of contents.
pub(crate) fn contents_digest(bytes: &[u8]) -> Digest {
    Digest::of_parts([BLOB_TAG, bytes])
}

/// The digest of a folder's listing.
pub(crate) fn tree_digest(bytes: &[u8]) -> Digest {
    Digest::of_parts([TREE_TAG, bytes])
}

/// The digest of contents that are read piece by piece.
pub(crate) fn stream_digest(mut file: &File) -> std::io::Result<(Digest, u64)> {
    let mut hasher = Sha256::new();
    hasher.update(BLOB_TAG);
    let (mut buffer, mut size) = (vec![0_u8; 256 << 10], 0_u64);
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok((Digest::from_bytes(hasher.finalize().into()), size));
        }
        hasher.update(&buffer[..length]);
        size = size.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
}

/// Where the objects of a store are.
#[derive(Debug, Clone)]
pub(crate) struct ObjectPaths {
    pub(crate) packs: PathBuf,
    pub(crate) large: PathBuf,
}

impl ObjectPaths {
    pub(crate) fn of(folder: &Path) -> Self {
        Self { packs: folder.join("packs"), large: folder.join("large") }
    }

    /// The packs, oldest first.
    pub(crate) fn list(&self) -> Result<Vec<(u64, PathBuf)>, UndoError> {
        let entries = match std::fs::read_dir(&self.packs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(FileError::at(&self.packs, FileAction::Read)(error).into()),
        };
        let number = |path: &Path| path.file_stem()?.to_str()?.parse::<u64>().ok();
        let packs = entries.flatten().map(|entry| entry.path());
        let packs = packs.filter(|path| path.extension().is_some_and(|extension| extension == "pack"));
        let mut packs: Vec<_> = packs.filter_map(|path| Some((number(&path)?, path))).collect();
        packs.sort();
        Ok(packs)
    }

    /// The path of the next pack.
    pub(crate) fn next(&self) -> Result<PathBuf, UndoError> {
        let number = self.list()?.last().map_or(1, |(number, _)| number.saturating_add(1));
        Ok(self.packs.join(format!("{number:010}.pack")))
    }

    /// Where large contents are.
    pub(crate) fn large(&self, digest: &Digest) -> PathBuf {
        self.large.join(digest.to_string())
    }
}

/// The objects, for reading.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) paths: ObjectPaths,
    pub(crate) packs: Vec<Pack>,
    places: HashMap<Digest, (usize, Place)>,
}

impl Objects {
    /// Reads the lists of all packs. A pack that is damaged is passed over: what it held is missed where it is needed.
    pub(crate) fn open(paths: ObjectPaths) -> Result<Self, UndoError> {
        let (mut packs, mut places) = (Vec::new(), HashMap::new());
        for (_, path) in paths.list()? {
            let Ok((pack, list)) = Pack::open(&path) else { continue };
            places.extend(list.into_iter().map(|(digest, place)| (digest, (packs.len(), place))));
            packs.push(pack);
        }
        Ok(Self { paths, packs, places })
    }

    /// Whether an object is there.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.places.contains_key(digest) || self.paths.large(digest).exists()
    }

    /// In which pack an object is, and how large it is there.
    pub(crate) fn place(&self, digest: &Digest) -> Option<(usize, u64)> {
        self.places.get(digest).map(|(pack, place)| (*pack, place.length))
    }

    /// An object's bytes, whatever it is; not checked.
    pub(crate) fn raw(&self, digest: &Digest) -> Result<Vec<u8>, UndoError> {
        let missing = || UndoError::Damaged { what: format!("the object {digest} is missing") };
        let (pack, place) = self.places.get(digest).ok_or_else(missing)?;
        self.packs.get(*pack).ok_or_else(missing)?.read(*place)
    }

    /// Small contents.
    pub(crate) fn contents(&self, digest: &Digest) -> Result<Contents, UndoError> {
        if !self.places.contains_key(digest) {
            let path = self.paths.large(digest);
            let missing = |_| UndoError::Damaged { what: format!("the contents {digest} are missing") };
            return file::open_plain(&path).map(Contents::Large).map_err(missing);
        }
        let bytes = self.raw(digest)?;
        if contents_digest(&bytes) != *digest {
            return Err(UndoError::Damaged { what: format!("the contents {digest} are not what they were") });
        }
        Ok(Contents::Small(bytes))
    }

    /// A folder's listing.
    pub(crate) fn tree(&self, digest: &Digest) -> Result<Tree, UndoError> {
        let bytes = self.raw(digest)?;
        let whole = tree_digest(&bytes) == *digest;
        let damaged = || UndoError::Damaged { what: format!("the folder {digest} is not what it was") };
        Tree::decode(&bytes).filter(|_| whole).ok_or_else(damaged)
    }
}

/// What a file held.
#[derive(Debug)]
pub(crate) enum Contents {
    /// In memory.
    Small(Vec<u8>),
    /// To be copied.
    Large(File),
}
