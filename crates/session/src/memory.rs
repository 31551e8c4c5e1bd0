//! The memory store: every original whole and content-addressed; compressed forms only point to it.
//!
//! A summary, a diff or an embedding loses something, so none of them ever replaces its original: it is stored as a
//! content of its own, and records on both sides tie the two together. Reading checks the digest each time: a pointer
//! gives exactly the bytes that were put, or an error, never something else.

mod error;
mod form;
pub mod pointer;
mod record;

pub use error::{ENTRY_BYTES_MAX, FORMS_MAX, MemoryError};
pub use form::{Form, StoredAs, Visibility};
use pointer::Pointer;
pub use record::{FormRecord, OriginRecord, Record};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_fs::file::{self, FileAction, FileError, ReadError, make_folder, read_bounded};
use tripwire_fs::lock::FileLock;
use tripwire_secrets::Redactor;

/// The words behind the beginning of a result of which an agent does not get all: how large it is, and where the whole is.
#[must_use]
pub fn cut_words(bytes: usize, pointer: &str) -> String {
    format!("[tripwire: cut here; the result has {bytes} bytes: `tripwire memory get {pointer}` prints all of it]")
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The content.
    pub pointer: Pointer,
    /// How its bytes lie on disk.
    pub stored: StoredAs,
    /// What is known about it; a record that cannot be read counts as private, with no forms.
    pub record: Record,
}

/// The store of one `.geometry/` folder.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    folder: PathBuf,
    redactor: Option<Redactor>,
}

impl MemoryStore {
    /// The store in a folder; nothing is touched yet.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), redactor: None }
    }

    /// Stores texts with placeholders in the place of their secrets from now on.
    #[must_use]
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// What is stored of a content.
    fn clean<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let redacted = self.redactor.as_ref().zip(std::str::from_utf8(bytes).ok());
        match redacted.map(|(redactor, text)| redactor.redact(text)) {
            Some(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
            Some(Cow::Borrowed(_)) | None => Cow::Borrowed(bytes),
        }
    }

    /// Stores a content and gives its pointer; the same bytes have the same pointer.
    ///
    /// A content that is already there keeps the stricter of the two visibilities.
    pub fn put(&self, bytes: &[u8], visibility: Visibility) -> Result<Pointer, MemoryError> {
        let _lock = self.lock()?;
        let (pointer, was) = self.store(&self.clean(bytes))?;
        self.change(pointer, was, |record| record.restrict(visibility))?;
        Ok(pointer)
    }

    /// Ties a compressed form, made by the caller, to an original. It is never more public than the original.
    pub fn compress(&self, original: &Pointer, form: Form, bytes: &[u8]) -> Result<Pointer, MemoryError> {
        let _lock = self.lock()?;
        // The original is read whole: a form of something that is lost or damaged would hide the loss.
        self.get(original)?;
        let record = self.record(original)?;
        if record.forms.len() >= FORMS_MAX {
            return Err(MemoryError::TooManyForms { pointer: *original });
        }
        let bytes = &*self.clean(bytes);
        let (pointer, was) = self.store(bytes)?;
        let visibility = record.visibility;
        self.change(pointer, was, |record| {
            record.restrict(visibility);
            record.origins.insert(OriginRecord { form, original: *original });
        })?;
        self.change(*original, Was::There, |record| {
            record.forms.insert(FormRecord { form, pointer, bytes: length(bytes) });
        })?;
        Ok(pointer)
    }

    /// Gives the exact bytes that were put, or an error.
    pub fn get(&self, pointer: &Pointer) -> Result<Vec<u8>, MemoryError> {
        let mut problem = None;
        for stored in [StoredAs::Plain, StoredAs::Deflated] {
            match self.read(pointer, stored)? {
                Some(Ok(bytes)) => return Ok(bytes),
                Some(Err(damage)) => problem = problem.or(Some(damage)),
                None => {}
            }
        }
        match problem {
            Some(problem) => Err(MemoryError::Damaged { pointer: *pointer, problem }),
            None => Err(MemoryError::Missing { pointer: pointer.to_string() }),
        }
    }

    /// Packs the bytes of a content on disk; its pointer stays, and `get` gives the same bytes as before.
    pub fn pack(&self, pointer: &Pointer) -> Result<StoredAs, MemoryError> {
        let _lock = self.lock()?;
        let bytes = self.get(pointer)?;
        if self.path(pointer, StoredAs::Plain).symlink_metadata().is_err() {
            return Ok(StoredAs::Deflated);
        }
        let packed = form::deflate(&bytes);
        if packed.len() >= bytes.len() {
            return Ok(StoredAs::Plain);
        }
        file::replace(&self.path(pointer, StoredAs::Deflated), &packed)?;
        // The plain bytes go only after the packed ones were read back from the disk and found right.
        match self.read(pointer, StoredAs::Deflated)? {
            Some(Ok(_)) => {
                file::remove(&self.path(pointer, StoredAs::Plain))?;
                Ok(StoredAs::Deflated)
            }
            Some(Err(problem)) => Err(MemoryError::Damaged { pointer: *pointer, problem }),
            None => Err(MemoryError::Missing { pointer: pointer.to_string() }),
        }
    }

    /// What is known about a content: its visibility and how it hangs together with others.
    pub fn record(&self, pointer: &Pointer) -> Result<Record, MemoryError> {
        match read_bounded(&self.record_path(pointer), RECORD_BYTES_MAX) {
            Ok(bytes) => Record::parse(pointer, &bytes),
            Err(ReadError::File(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Record::default()),
            Err(ReadError::File(error)) => Err(error.into()),
            Err(ReadError::TooBig { .. }) => {
                Err(MemoryError::Damaged { pointer: *pointer, problem: "its record is too large".to_owned() })
            }
        }
    }

    /// Lists every content, in the order of the pointers.
    pub fn list(&self) -> Result<Vec<Listed>, MemoryError> {
        let mut found = BTreeMap::new();
        for shard in names(&self.folder.join(DIGEST_FOLDER))? {
            for name in names(&self.folder.join(DIGEST_FOLDER).join(&shard))? {
                let (stem, stored) = match name.strip_suffix(DEFLATED_SUFFIX) {
                    Some(stem) => (stem, StoredAs::Deflated),
                    None => (name.as_str(), StoredAs::Plain),
                };
                if let Ok(pointer) = Pointer::from_hex(&format!("{shard}{stem}")) {
                    found.entry(pointer).or_insert(stored);
                }
            }
        }
        Ok(found
            .into_iter()
            .map(|(pointer, stored)| Listed { pointer, stored, record: self.record(&pointer).unwrap_or_default() })
            .collect())
    }

    /// Finds the one content that a full or short pointer means.
    pub fn resolve(&self, text: &str) -> Result<Pointer, MemoryError> {
        let prefix = pointer::prefix(text)?;
        let shard = prefix.get(..2).unwrap_or_default();
        let mut candidates: Vec<Pointer> = names(&self.folder.join(DIGEST_FOLDER).join(shard))?
            .iter()
            .map(|name| format!("{shard}{}", name.strip_suffix(DEFLATED_SUFFIX).unwrap_or(name)))
            .filter(|hex| hex.starts_with(&prefix))
            .filter_map(|hex| Pointer::from_hex(&hex).ok())
            .collect();
        candidates.sort_unstable();
        candidates.dedup();
        match candidates.as_slice() {
            [] => Err(MemoryError::Missing { pointer: text.to_owned() }),
            [only] => Ok(*only),
            [..] => {
                candidates.truncate(CANDIDATES_SHOWN);
                Err(MemoryError::Ambiguous { prefix: text.to_owned(), candidates })
            }
        }
    }

    /// Writes a content unless it is there and right; a damaged one is healed by the good bytes at hand.
    fn store(&self, bytes: &[u8]) -> Result<(Pointer, Was), MemoryError> {
        if bytes.len() > ENTRY_BYTES_MAX {
            return Err(MemoryError::TooLarge { bytes: bytes.len() });
        }
        let pointer = Pointer::of(bytes);
        if self.get(&pointer).is_ok() {
            return Ok((pointer, Was::There));
        }
        let there = |stored| self.path(&pointer, stored).symlink_metadata().is_ok();
        let was = if there(StoredAs::Plain) || there(StoredAs::Deflated) { Was::There } else { Was::New };
        let path = self.path(&pointer, StoredAs::Plain);
        make_folder(path.parent().unwrap_or(&self.folder))?;
        file::replace(&path, bytes)?;
        Ok((pointer, was))
    }

    /// Reads one stored kind of a content: nothing if it is not there, else the bytes or what is wrong with them.
    fn read(&self, pointer: &Pointer, stored: StoredAs) -> Result<Option<Result<Vec<u8>, String>>, MemoryError> {
        let limit = u64::try_from(ENTRY_BYTES_MAX).unwrap_or(u64::MAX);
        let bytes = match read_bounded(&self.path(pointer, stored), limit) {
            Ok(bytes) => bytes,
            Err(ReadError::TooBig { .. }) => return Ok(Some(Err("it is larger than any content".to_owned()))),
            Err(ReadError::File(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(ReadError::File(error)) => return Err(error.into()),
        };
        let bytes = match stored {
            StoredAs::Plain => bytes,
            StoredAs::Deflated => match form::inflate(&bytes) {
                Ok(bytes) => bytes,
                Err(problem) => return Ok(Some(Err(problem))),
            },
        };
        let found = Pointer::of(&bytes);
        if found == *pointer { Ok(Some(Ok(bytes))) } else { Ok(Some(Err(format!("its bytes are those of `{found}`")))) }
    }

    /// Changes a record; a damaged one is an error, not a fresh start, and a lost one counts as private.
    fn change(&self, pointer: Pointer, was: Was, change: impl FnOnce(&mut Record)) -> Result<(), MemoryError> {
        let path = self.record_path(&pointer);
        let before = if path.symlink_metadata().is_ok() { Some(self.record(&pointer)?) } else { None };
        let mut after = match (&before, was) {
            (Some(before), Was::There | Was::New) => before.clone(),
            (None, Was::There) => Record::default(),
            (None, Was::New) => Record::unrestricted(),
        };
        change(&mut after);
        if before.as_ref() != Some(&after) {
            file::replace(&path, after.text(&pointer).as_bytes())?;
        }
        Ok(())
    }

    /// Keeps several processes apart.
    fn lock(&self) -> Result<FileLock, MemoryError> {
        make_folder(&self.folder.join(DIGEST_FOLDER))?;
        Ok(FileLock::folder_of(&self.folder.join(DIGEST_FOLDER))?)
    }

    /// The file of a content.
    fn path(&self, pointer: &Pointer, stored: StoredAs) -> PathBuf {
        let suffix = match stored {
            StoredAs::Plain => "",
            StoredAs::Deflated => DEFLATED_SUFFIX,
        };
        self.below(pointer, suffix)
    }

    /// The file of a content's record.
    fn record_path(&self, pointer: &Pointer) -> PathBuf {
        self.below(pointer, RECORD_SUFFIX)
    }

    /// A file that belongs to a content: two digits make the folder, the rest the name.
    fn below(&self, pointer: &Pointer, suffix: &str) -> PathBuf {
        let hex = pointer.hex();
        let (shard, rest) = hex.split_at_checked(2).unwrap_or((&hex, ""));
        self.folder.join(DIGEST_FOLDER).join(shard).join(format!("{rest}{suffix}"))
    }
}

/// Whether a content was in the store before it was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Was {
    There,
    New,
}

/// The names in a folder, sorted; a folder that is not there has none.
fn names(folder: &Path) -> Result<Vec<String>, FileError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(FileError::at(folder, FileAction::Read)(cause)),
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is no UTF-8 is none of ours.
        names.extend(entry.map_err(FileError::at(folder, FileAction::Read))?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// A length as it is recorded.
fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Contents lie below the name of their digest, so that another one can come beside it.
const DIGEST_FOLDER: &str = "sha256";
/// Marks packed bytes.
const DEFLATED_SUFFIX: &str = ".z";
/// Marks a record.
const RECORD_SUFFIX: &str = ".json";
/// The largest record that is read.
const RECORD_BYTES_MAX: u64 = 1024 * 1024;
/// How many candidates an ambiguity names.
const CANDIDATES_SHOWN: usize = 5;

#[cfg(test)]
mod tests;
