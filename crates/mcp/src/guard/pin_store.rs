//! Pins on disk, in the person's own state: an agent's calls cannot write there, and under `run` its whole tree cannot.
//!
//! A pin belongs to a name with its command line: another program under a trusted name is a new server.

use super::server_name::ServerName;
use crate::wire::pins::{DiffForm, PinnedTool, Pins, difference};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, FileError, ReadError};
use tripwire_fs::lock::{FileLock, Wait};

/// The form of the files.
const VERSION: u32 = 1;
/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Servers that are looked at.
const SERVERS_MAX: usize = 4_096;
/// The longest wait for another process that writes pins.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// What is kept of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedServer {
    version: u32,
    /// Its name.
    pub name: String,
    /// Its command line.
    pub command: Vec<String>,
    /// The tools that were seen first, or that a person trusted since.
    pub pins: Pins,
    /// Tools that differ and wait for a person, as they were last seen.
    pub pending: BTreeMap<String, PinnedTool>,
    /// What was suspicious in its tools.
    pub findings: Vec<String>,
}

impl PinnedServer {
    /// What waits for a person, one line for each tool.
    #[must_use]
    pub fn waiting(&self, form: DiffForm) -> Vec<String> {
        let line = |(name, now): (&String, &PinnedTool)| match self.pins.tools.get(name) {
            Some(before) => format!("`{name}` changed: {}", difference(before, now, form)),
            None => format!("`{name}` is new: {}", now.tool),
        };
        self.pending.iter().map(line).collect()
    }
}

/// Why pins cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// A file cannot be written or locked.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file is not of our form.
    #[error("the pins in `{}` cannot be read: {problem}", file.display())]
    Form {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// There is no place for them.
    #[error("there is no folder for pins: neither `XDG_STATE_HOME` nor `HOME` is set")]
    NoPlace,
    /// Nothing of this server waits.
    #[error("no changed tool of a server `{name}` waits for you{}", elsewhere(.known))]
    NothingWaits {
        /// What was asked for.
        name: String,
        /// The servers of which something waits.
        known: Vec<String>,
    },
}

fn elsewhere(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; something waits for {}", names.join(", ")) }
}

impl Explain for PinError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::File(error) => error.hint(),
            Self::Read(error) => error.hint(),
            Self::Form { .. } => "remove the file to pin the server again at its next start".into(),
            Self::NoPlace => "set `HOME`".into(),
            Self::NothingWaits { .. } => "`tripwire doctor` lists the servers and what waits".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::File(error) => error.exit_class(),
            Self::Read(error) => error.exit_class(),
            Self::Form { .. } => ExitClass::DoesNotHold,
            Self::NoPlace | Self::NothingWaits { .. } => ExitClass::BadInput,
        }
    }
}

/// All pins of a person.
#[derive(Debug, Clone)]
pub struct PinStore {
    folder: Option<PathBuf>,
}

impl PinStore {
    /// Below the folder of our own state.
    #[must_use]
    pub fn below(own_state: Option<&Path>) -> Self {
        Self { folder: own_state.map(|state| state.join("mcp")) }
    }

    /// Every server that was pinned, by name; a file that cannot be read is told.
    #[must_use]
    pub fn servers(&self) -> Vec<Result<PinnedServer, PinError>> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
        let mut files: Vec<PathBuf> =
            files.filter(|file| file.extension().is_some_and(|ending| ending == "json")).take(SERVERS_MAX).collect();
        files.sort();
        files.iter().filter_map(|file| read(file).transpose()).collect()
    }

    /// A person trusts what waits of a server; gives the servers with what was trusted.
    ///
    /// # Errors
    /// When nothing waits, or the pins cannot be read or written: then nothing is trusted.
    pub fn trust(&self, name: &str) -> Result<Vec<(PinnedServer, Vec<String>)>, PinError> {
        let _lock = self.lock()?;
        let mut trusted = Vec::new();
        let mut waiting = Vec::new();
        for server in self.servers() {
            let mut server = server?;
            if server.pending.is_empty() {
                continue;
            }
            waiting.push(server.name.clone());
            if server.name != name {
                continue;
            }
            let lines = server.waiting(DiffForm::Whole);
            let pending = std::mem::take(&mut server.pending);
            server.pins.tools.extend(pending);
            self.write(&server)?;
            trusted.push((server, lines));
        }
        if trusted.is_empty() {
            return Err(PinError::NothingWaits { name: name.to_owned(), known: waiting });
        }
        Ok(trusted)
    }

    /// What is kept of one server; nothing if it was never seen.
    pub(super) fn of(&self, server: &ServerIdentity) -> Result<Option<PinnedServer>, PinError> {
        read(&self.file(server)?)
    }

    /// Keeps what is known of one server now. Pins that another process has written meanwhile stay.
    pub(super) fn keep(&self, identity: &ServerIdentity, server: &mut PinnedServer) -> Result<(), PinError> {
        let _lock = self.lock()?;
        if let Some(known) = self.of(identity)? {
            server.pins = known.pins;
            server.pending.retain(|name, now| server.pins.tools.get(name) != Some(now));
        }
        self.write(server)
    }

    /// Adds tools of the first walk to a server that this process saw first.
    pub(super) fn pin(&self, server: &PinnedServer) -> Result<(), PinError> {
        let _lock = self.lock()?;
        self.write(server)
    }

    fn write(&self, server: &PinnedServer) -> Result<(), PinError> {
        let identity = ServerIdentity { name: server.name.clone(), command: server.command.clone() };
        let text = serde_json::to_vec_pretty(server).unwrap_or_default();
        Ok(file::replace(&self.file(&identity)?, &text)?)
    }

    fn lock(&self) -> Result<FileLock, PinError> {
        let folder = self.folder.as_ref().ok_or(PinError::NoPlace)?;
        if let Some(parent) = folder.parent() {
            file::make_folder(parent)?;
        }
        file::make_folder(folder)?;
        Ok(FileLock::take(&folder.join("lock"), Wait::Until(Instant::now() + LOCK_WAIT))?)
    }

    fn file(&self, server: &ServerIdentity) -> Result<PathBuf, PinError> {
        let folder = self.folder.as_ref().ok_or(PinError::NoPlace)?;
        let digest = Digest::of_parts([server.name.as_bytes(), server.command.join("\0").as_bytes()]).to_string();
        Ok(folder.join(format!("{}-{}.json", server.name, digest.get(..16).unwrap_or(&digest))))
    }
}

/// Which server it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerIdentity {
    pub(super) name: String,
    pub(super) command: Vec<String>,
}

impl ServerIdentity {
    pub(super) fn new(name: &ServerName, command: &[OsString]) -> Self {
        let command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Self { name: name.as_str().to_owned(), command }
    }

    pub(super) fn server(&self) -> PinnedServer {
        PinnedServer {
            version: VERSION,
            name: self.name.clone(),
            command: self.command.clone(),
            pins: Pins::default(),
            pending: BTreeMap::new(),
            findings: Vec::new(),
        }
    }
}

fn read(file: &Path) -> Result<Option<PinnedServer>, PinError> {
    let bytes = match file::read_bounded(file, FILE_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(ReadError::File(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let form = |problem: String| PinError::Form { file: file.to_owned(), problem };
    let server: PinnedServer = serde_json::from_slice(&bytes).map_err(|error| form(error.to_string()))?;
    if server.version == VERSION { Ok(Some(server)) } else { Err(form(format!("version {}", server.version))) }
}
