//! Between the world and every record: secrets become placeholders (SECRET-1). What counts as one beside the known forms of
//! keys are the values in the environment and in `.env` files of the workspace; both are read when they are needed and kept
//! in memory only.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tripwire_core::explain::Explain;
use tripwire_core::policy::{List, Policy, SettingRow};
use tripwire_fs::bounded;
use tripwire_journal::keys::KeyHome;
use tripwire_secrets::{KnownSecret, RedactionKey, Redactor, Vault, is_env_file, of_env_file};
use tripwire_workspace::clock;
use tripwire_workspace::mark::{FolderWatch, Names};

/// The largest `.env` file that is looked through.
const ENV_BYTES_MAX: u64 = 1024 * 1024;

/// Why nothing can be redacted: then nothing is recorded, and no call runs.
#[derive(Debug, thiserror::Error)]
pub enum RedactionError {
    /// A file with secrets of the workspace cannot be looked through.
    #[error("`{}` cannot be read, so its secrets would not be known in the record: {why}", path.display())]
    EnvFile {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The policy, which every session records, holds a secret.
    #[error("the setting `{setting}` holds a secret, and every session records its settings [SECRET-1]")]
    Policy {
        /// The setting.
        setting: &'static str,
    },
    /// A placeholder does not fit where a secret was.
    #[error("a record has no form without its secrets: {0}")]
    Form(#[from] serde_json::Error),
    /// No key for the placeholders.
    #[error("no key for placeholders can be drawn: {0}")]
    Key(io::Error),
}

impl Explain for RedactionError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::EnvFile { path, .. } => format!(
                "make `{}` readable for you and at most 1 MiB long, or move it out of the workspace",
                path.display()
            )
            .into(),
            Self::Policy { .. } => {
                "name a variable of the environment there, such as `$NAME`, or a script that reads the secret; what is none \
                 is listed in `secrets.allow`"
                    .into()
            }
            Self::Form(_) => "this is a defect of tripwire; please report it".into(),
            Self::Key(_) => "make `/dev/urandom` readable".into(),
        }
    }
}

/// Where the key and the known values of a session come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretSources {
    /// The person's keys, and the workspace that they must lie outside of.
    pub(crate) home: Option<(KeyHome, PathBuf)>,
    /// Secrets of the environment.
    pub(crate) environment: Vec<KnownSecret>,
    /// The workspace, with its `.env` files.
    pub(crate) root: Option<PathBuf>,
    /// The session, which has placeholders of its own.
    pub(crate) session: String,
    /// What is no secret, by the policy.
    pub(crate) allowed: List,
}

/// The redactor of one session, and the real values behind the placeholders that this process made.
#[derive(Debug, Default)]
pub(crate) struct Redaction {
    sources: SecretSources,
    built: OnceCell<Built>,
    env: RefCell<EnvWatch>,
    pub(crate) vault: Vault,
}

/// The workspace's folder, and the `.env` files that were in it at the last look.
#[derive(Debug, Default)]
struct EnvWatch {
    folder: FolderWatch,
    files: Vec<PathBuf>,
}

#[derive(Debug)]
struct Built {
    redactor: Redactor,
    marks: Vec<EnvMark>,
    /// The secrets of the `.env` files.
    files: Vec<KnownSecret>,
}

/// How a `.env` file was found: another mark is another file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EnvMark {
    path: PathBuf,
    bytes: u64,
    changed: Option<SystemTime>,
}

impl Redaction {
    pub(crate) fn new(sources: SecretSources) -> Self {
        Self { sources, ..Self::default() }
    }

    /// The redactor; made at the first use.
    pub(crate) fn redactor(&self) -> Result<&Redactor, RedactionError> {
        if let Some(built) = self.built.get() {
            return Ok(&built.redactor);
        }
        let built = self.sources.build(self.env.borrow_mut().marks(self.sources.root.as_deref()))?;
        Ok(&self.built.get_or_init(|| built).redactor)
    }

    /// Makes it again where the `.env` files are other ones by now. What stood in them before stays a secret.
    pub(crate) fn refresh(&mut self) -> Result<(), RedactionError> {
        let marks = self.env.get_mut().marks(self.sources.root.as_deref());
        match self.built.get() {
            Some(built) if built.marks == marks => return Ok(()),
            Some(built) => {
                let gone = built.files.iter().filter(|secret| !self.sources.environment.contains(secret)).cloned();
                let gone: Vec<KnownSecret> = gone.collect();
                self.sources.environment.extend(gone);
            }
            None => {}
        }
        self.built = OnceCell::from(self.sources.build(marks)?);
        Ok(())
    }

    /// A JSON text without secrets; their values stay in memory.
    pub(crate) fn keep_json<'a>(&mut self, text: &'a str) -> Result<Cow<'a, str>, RedactionError> {
        self.redactor()?;
        let Some(built) = self.built.get() else { return Ok(Cow::Borrowed(text)) };
        Ok(built.redactor.redact_json_into(text, &mut self.vault))
    }

    /// Puts the values of the environment and of `.env` files behind their placeholders, as far as a record may hold them.
    pub(crate) fn recall(&mut self) -> Result<(), RedactionError> {
        self.redactor()?;
        let Some(built) = self.built.get() else { return Ok(()) };
        for secret in self.sources.environment.iter().chain(&built.files) {
            drop(built.redactor.redact_into(&secret.value, &mut self.vault));
        }
        Ok(())
    }
}

impl EnvWatch {
    /// The `.env` files as they are now; the folder is listed only where a name may have come or gone.
    fn marks(&mut self, root: Option<&Path>) -> Vec<EnvMark> {
        let Some(root) = root else { return Vec::new() };
        match self.folder.look(root.metadata().ok().as_ref(), clock::now()) {
            Names::Stood => {}
            Names::Moved => self.files = env_files(root),
        }
        marks_of(&self.files)
    }
}

impl SecretSources {
    /// The redactor that these make.
    pub(crate) fn redactor(&self) -> Result<Redactor, RedactionError> {
        self.build(self.marks()).map(|built| built.redactor)
    }

    fn build(&self, marks: Vec<EnvMark>) -> Result<Built, RedactionError> {
        // Where the key must not lie, or cannot be read, placeholders hold for this process alone.
        let kept = self.home.as_ref().and_then(|(home, workspace)| home.redaction_seed(workspace).ok());
        let seed = kept.map_or_else(drawn, Ok)?;
        let mut redactor = Redactor::new(RedactionKey::new(seed).for_session(&self.session));
        redactor.allow(self.allowed.clone());
        let files = of_files(&marks)?;
        self.environment.iter().chain(&files).for_each(|secret| redactor.know(secret));
        Ok(Built { redactor, marks, files })
    }

    /// The `.env` files of the workspace's folder.
    fn marks(&self) -> Vec<EnvMark> {
        marks_of(&self.root.as_deref().map(env_files).unwrap_or_default())
    }
}

/// These files as they are now; a pipe or a device is none.
fn marks_of(files: &[PathBuf]) -> Vec<EnvMark> {
    let mark = |path: &PathBuf| {
        let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(EnvMark { path: path.clone(), bytes: found.len(), changed: found.modified().ok() })
    };
    let mut marks: Vec<EnvMark> = files.iter().filter_map(mark).collect();
    marks.sort_by(|one, other| one.path.cmp(&other.path));
    marks
}

/// The secrets in these files.
fn of_files(marks: &[EnvMark]) -> Result<Vec<KnownSecret>, RedactionError> {
    let mut known = Vec::new();
    for EnvMark { path, .. } in marks {
        let read = File::open(path)
            .map_err(|error| error.to_string())
            .and_then(|file| bounded::read_whole(file, ENV_BYTES_MAX).map_err(|error| error.to_string()));
        let bytes = read.map_err(|why| RedactionError::EnvFile { path: path.clone(), why })?;
        known.extend(of_env_file(&String::from_utf8_lossy(&bytes)));
    }
    Ok(known)
}

/// Refuses a policy that holds a secret: it is frozen in the first record as it is.
pub(crate) fn check_policy(policy: &Policy, redactor: &Redactor) -> Result<(), RedactionError> {
    let holds = |row: &SettingRow| !redactor.find(&row.value).is_empty();
    match policy.rows().into_iter().find(holds) {
        Some(row) => Err(RedactionError::Policy { setting: row.path }),
        None => Ok(()),
    }
}

/// The files of variables in a folder, by their names.
fn env_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_env = |name: &std::ffi::OsStr| name.to_str().is_some_and(is_env_file);
    entries.filter(|entry| is_env(&entry.file_name())).map(|entry| entry.path()).collect()
}

fn drawn() -> Result<[u8; 32], RedactionError> {
    let mut seed = [0; 32];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut seed)).map_err(RedactionError::Key)?;
    Ok(seed)
}
