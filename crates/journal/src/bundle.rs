//! A session in one file, to be verified and replayed on another machine, without this one and without a network.
//!
//! Lines of text: a head, the signed checkpoints, the journal's lines as they are behind a mark for each segment, the
//! blobs they point to, and an end that carries the digest of everything before it. A bundle that was cut or changed is
//! still unpacked as far as it goes, so that the first bad record can be named.

use crate::blob::{BLOB_BYTES_MAX, BlobPointer, Blobs};
use crate::error::JournalError;
use crate::journal::Journal;
use crate::names;
use crate::note::Verifier;
use crate::paths::SessionPaths;
use crate::session_id::SessionId;
use crate::storage::Disk;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{DirEntry, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{FileAction, FileError};

/// The version of the form; a newer one is refused.
const VERSION: u32 = 1;
/// The longest line: the largest blob in base64 and its frame.
const LINE_BYTES_MAX: u64 = 360 << 20;
const _: () = assert!(LINE_BYTES_MAX / 4 * 3 > BLOB_BYTES_MAX as u64, "the largest blob fits a line");

/// Why there is no bundle, or none that can be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The stream broke.
    #[error("the bundle cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// The files of the journal hold other records than the journal says: a bundle of them would not be the session.
    #[error("the journal has {expected} records, and its files hold {found}")]
    Incomplete {
        /// Records that were found.
        found: u64,
        /// Records that the journal has.
        expected: u64,
    },
    /// It does not begin as a bundle does.
    #[error("this is no bundle of tripwire: {problem}")]
    NoBundle {
        /// What was found instead.
        problem: String,
    },
    /// A newer tripwire wrote it.
    #[error("the bundle is of version {found}; this tripwire knows version {VERSION}")]
    Newer {
        /// Its version.
        found: u32,
    },
}

impl Explain for BundleError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Io(_) => "check the disk and the path, then run it again".into(),
            Self::Incomplete { .. } => "see what is wrong with it: `tripwire verify`; no bundle was made".into(),
            Self::NoBundle { .. } => "make one with `tripwire export FILE`".into(),
            Self::Newer { .. } => "use the newer tripwire that wrote it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Journal(error) => error.exit_class(),
            Self::Incomplete { .. } => ExitClass::DoesNotHold,
            Self::File(_) | Self::Io(_) | Self::NoBundle { .. } | Self::Newer { .. } => ExitClass::BadInput,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct BundleHead {
    key: Option<String>,
    records: u64,
    session: String,
    version: u32,
}

/// One line that is not a journal line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BundleLine {
    Bundle(BundleHead),
    Note { size: u64, text: String },
    Segment(u64),
    Blob { base64: String, sha256: String },
    End { lines: u64, sha256: String },
}

/// What was put into a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Records of the journal.
    pub records: u64,
    /// Signed checkpoints.
    pub checkpoints: u64,
    /// Blobs.
    pub blobs: u64,
}

/// Writes a session's bundle. What is appended meanwhile is not in it.
///
/// # Errors
/// When the journal cannot be read as a whole or the stream not be written.
pub fn write(journal: &mut Journal<Disk>, key: Option<&Verifier>, out: impl Write) -> Result<Exported, BundleError> {
    // The lock is held only for as long as it takes to learn where the journal ends now.
    let place = journal.turn()?.journal().place();
    let paths = journal.paths().clone();
    let mut out = Sealing { out, hash: Sha256::new(), lines: 0 };
    out.line(&BundleLine::Bundle(BundleHead {
        key: key.map(ToString::to_string),
        records: place.records(),
        session: paths.session().to_string(),
        version: VERSION,
    }))?;
    let checkpoints = notes(&paths, place.records(), &mut out)?;
    let mut pointers = BTreeMap::new();
    let mut found: u64 = 0;
    for (number, path) in
        (1..).zip(named(paths.dir(), names::SEGMENT_SUFFIX)?).take_while(|(number, _)| *number <= place.segment)
    {
        out.line(&BundleLine::Segment(number))?;
        let file = File::open(&path).map_err(FileError::at(&path, FileAction::Read))?;
        let length = if number == place.segment { place.end } else { u64::MAX };
        let mut reader = BufReader::new(file.take(length));
        let mut line = Vec::new();
        while read_line(&mut reader, &mut line)? {
            pointers.extend(pointer(&line).map(|pointer| (pointer.sha256.to_string(), pointer)));
            out.raw(&line)?;
            found += 1;
        }
    }
    if found != place.records() {
        return Err(BundleError::Incomplete { found, expected: place.records() });
    }
    for (sha256, pointer) in &pointers {
        let bytes = journal.blobs().get(pointer)?;
        out.line(&BundleLine::Blob { base64: STANDARD.encode(bytes), sha256: sha256.clone() })?;
    }
    out.seal()?;
    let blobs = u64::try_from(pointers.len()).unwrap_or(u64::MAX);
    Ok(Exported { records: place.records(), checkpoints, blobs })
}

/// The signed checkpoints over what is exported.
fn notes(paths: &SessionPaths, records: u64, out: &mut Sealing<impl Write>) -> Result<u64, BundleError> {
    let mut count = 0;
    for path in named(&paths.dir().join(names::CHECKPOINTS), names::NOTE_SUFFIX)? {
        let size = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse::<u64>().ok());
        let Some(size) = size.filter(|size| *size <= records) else { continue };
        let text = std::fs::read_to_string(&path).map_err(FileError::at(&path, FileAction::Read))?;
        out.line(&BundleLine::Note { size, text })?;
        count += 1;
    }
    Ok(count)
}

/// The files of a folder whose names end so, sorted; a folder that is not there has none.
fn named(folder: &Path, end: &str) -> Result<Vec<PathBuf>, BundleError> {
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(FileError::at(folder, FileAction::Read)(cause).into()),
    };
    let listed: io::Result<Vec<_>> = listed.collect();
    let listed = listed.map_err(FileError::at(folder, FileAction::Read))?;
    let mut paths: Vec<PathBuf> = listed
        .iter()
        .map(DirEntry::path)
        .filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(end.as_bytes())))
        .collect();
    paths.sort();
    Ok(paths)
}

/// The blob that a journal line points to.
fn pointer(line: &[u8]) -> Option<BlobPointer> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        b: &'a RawValue,
    }
    if !line.starts_with(b"{\"b\":{\"$blob\":") {
        return None;
    }
    let body: Body<'_> = serde_json::from_slice(line).ok()?;
    BlobPointer::from_body(body.b.get())
}

/// Hashes what is written, for the end.
struct Sealing<W> {
    out: W,
    hash: Sha256,
    lines: u64,
}

impl<W: Write> Sealing<W> {
    fn line(&mut self, line: &BundleLine) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.raw(&text)
    }

    /// A line with its end.
    fn raw(&mut self, line: &[u8]) -> io::Result<()> {
        self.hash.update(line);
        self.lines += 1;
        self.out.write_all(line)
    }

    fn seal(mut self) -> io::Result<()> {
        let end = BundleLine::End { lines: self.lines, sha256: hex(self.hash) };
        writeln!(self.out, "{}", serde_json::to_string(&end)?)?;
        self.out.flush()
    }
}

/// A bundle in a folder of its own, which goes when this goes.
#[derive(Debug)]
pub struct Unpacked {
    folder: PathBuf,
    session: SessionId,
    records: u64,
    /// The key that the bundle says its checkpoints were signed with. Whether it is the right one must be known from elsewhere.
    pub key: Option<Verifier>,
    /// What is wrong with the bundle as a file.
    pub problem: Option<String>,
}

impl Unpacked {
    /// Where the journal lies.
    #[must_use]
    pub fn paths(&self) -> SessionPaths {
        SessionPaths::new(&self.folder, &self.session)
    }

    /// How many records the head promises.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // A folder that cannot be removed is left to the system's own cleaning of temporary files.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Whether a first line is that of a bundle.
#[must_use]
pub fn is_bundle(first_line: &[u8]) -> bool {
    first_line.starts_with(b"{\"bundle\":")
}

/// Unpacks a bundle into a fresh folder below the system's temporary one.
///
/// # Errors
/// When it is none, is of a newer version, or cannot be unpacked.
pub fn unpack(mut reader: impl BufRead) -> Result<Unpacked, BundleError> {
    let mut line = Vec::new();
    let no_bundle = |problem: String| BundleError::NoBundle { problem };
    if !read_line(&mut reader, &mut line)? {
        return Err(no_bundle("it is empty".to_owned()));
    }
    let first = serde_json::from_slice(&line).map_err(|error| no_bundle(error.to_string()))?;
    let BundleLine::Bundle(head) = first else { return Err(no_bundle("it has no head".to_owned())) };
    if head.version > VERSION {
        return Err(BundleError::Newer { found: head.version });
    }
    let mut unpacked = Unpacked {
        folder: fresh_folder()?,
        session: SessionId::parse(&head.session).map_err(|error| no_bundle(error.to_string()))?,
        records: head.records,
        key: head.key.as_deref().and_then(Verifier::parse),
        problem: None,
    };
    let mut unpacking = Unpacking { paths: unpacked.paths(), segment: None, seal: Sha256::new(), lines: 1 };
    unpacking.seal.update(&line);
    unpacked.problem = unpacking.all(&mut reader)?;
    Ok(unpacked)
}

struct Unpacking {
    paths: SessionPaths,
    segment: Option<BufWriter<File>>,
    seal: Sha256,
    lines: u64,
}

impl Unpacking {
    /// Takes all lines; says what is wrong with the bundle, if anything is.
    fn all(&mut self, reader: &mut impl BufRead) -> Result<Option<String>, BundleError> {
        make(self.paths.dir())?;
        let mut line = Vec::new();
        let mut problem = Some("it is cut off: the end is missing".to_owned());
        while read_line(reader, &mut line)? {
            let mark = if line.starts_with(b"{\"b\":") { None } else { serde_json::from_slice(&line).ok() };
            match (mark, &mut self.segment) {
                (Some(BundleLine::End { lines, sha256 }), _) => {
                    let whole = lines == self.lines && sha256 == hex(self.seal.clone());
                    problem = (!whole).then(|| "it is not what was exported".to_owned());
                    break;
                }
                (Some(other), _) => self.take(other)?,
                // A record whose bytes were changed belongs to its segment as well: there it is found and named.
                (None, Some(segment)) => segment.write_all(&line)?,
                (None, None) => return Ok(Some(format!("line {} cannot be read", self.lines + 1))),
            }
            self.seal.update(&line);
            self.lines += 1;
        }
        self.close()?;
        Ok(problem)
    }

    fn close(&mut self) -> io::Result<()> {
        self.segment.take().map_or(Ok(()), |mut segment| segment.flush())
    }

    fn take(&mut self, line: BundleLine) -> Result<(), BundleError> {
        match line {
            BundleLine::Segment(number) => {
                self.close()?;
                let path = self.paths.dir().join(names::segment(number));
                let file = File::create_new(&path).map_err(FileError::at(&path, FileAction::Create))?;
                self.segment = Some(BufWriter::new(file));
            }
            BundleLine::Note { size, text } => {
                let folder = self.paths.dir().join(names::CHECKPOINTS);
                make(&folder)?;
                let path = folder.join(names::note(size));
                std::fs::write(&path, text).map_err(FileError::at(&path, FileAction::Create))?;
            }
            BundleLine::Blob { base64, sha256: _ } => {
                // Stored under the digest of what is there: a changed blob is missing under the name that was promised.
                if let Ok(bytes) = STANDARD.decode(base64) {
                    Blobs::new(Disk, self.paths.blobs().to_owned()).put(&bytes)?;
                }
            }
            BundleLine::Bundle(_) | BundleLine::End { .. } => {}
        }
        Ok(())
    }
}

/// Reads one line with its end, bounded.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)?;
    Ok(!line.is_empty())
}

fn make(folder: &Path) -> Result<(), BundleError> {
    std::fs::create_dir_all(folder).map_err(FileError::at(folder, FileAction::Create))?;
    Ok(())
}

/// A fresh folder that only this user may look into.
fn fresh_folder() -> Result<PathBuf, BundleError> {
    use std::os::unix::fs::DirBuilderExt as _;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let base = std::env::temp_dir();
    for _ in 0..FOLDERS_TRIED {
        let name = format!("tripwire-bundle-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = base.join(name);
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(FileError::at(&folder, FileAction::Create)(cause).into()),
        }
    }
    Err(FileError::at(&base, FileAction::Create)(io::ErrorKind::AlreadyExists.into()).into())
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Leftover folders of ended processes with our number that are passed over.
const FOLDERS_TRIED: u32 = 100;
