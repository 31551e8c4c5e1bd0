//! Reading and writing a person's settings file: whole or not at all, with the mode that it has.
//!
//! A person may keep their own settings behind a link, as tools for dotfiles do. A link that a repository brings leads
//! where its author chose, so it is refused; what lies beside the settings is never reached through one.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tripwire_core::explain::Explain;
use tripwire_fs::bounded::{self, BoundedError};
use tripwire_fs::file::{self, FileMode};
use tripwire_fs::shell_word::shell_word;

/// The largest settings file that is read.
const BYTES_MAX: u64 = 32 << 20;
/// The mode of a file that is new; settings may hold secrets.
const MODE: u32 = 0o600;
/// Names under which a file as it was may be kept: whatever else has such a name is not ours and stays.
const BACKUPS_MAX: usize = 10;
/// Bits of a mode that are carried over.
const MODE_BITS: u32 = 0o777;
/// Bits by which a file may be run.
const RUN_BITS: u32 = 0o111;

/// Whose sessions are guarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All of this person's.
    User,
    /// Those in one workspace.
    Project(PathBuf),
}

/// Why a person's file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// The system refuses.
    #[error("cannot {action} `{}`: {error}", path.display())]
    Refused {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// It is too large or not text.
    #[error("`{}` is {problem}", path.display())]
    NotSettings {
        /// The file.
        path: PathBuf,
        /// What it is.
        problem: &'static str,
    },
    /// It is a link that came with the repository, or lies behind one.
    #[error("`{}` is a link, and it may have come with the repository", link.display())]
    Linked {
        /// The link.
        link: PathBuf,
    },
    /// Every name under which it would be kept is taken.
    #[error("every name for a copy of `{}` is taken", path.display())]
    NoNameFree {
        /// The file.
        path: PathBuf,
    },
    /// It changed since it was read.
    #[error("`{}` changed while this was planned", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl Explain for FileProblem {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Refused { path, .. } => format!("check who may write it: `ls -l {}`", shell_word(path)).into(),
            Self::NotSettings { .. } => "move it away, or name another client with `--client`".into(),
            Self::Linked { link } => format!(
                "see where it leads with `ls -l {}` and put a file or folder in its place, or use `tripwire init --user`",
                shell_word(link)
            )
            .into(),
            Self::NoNameFree { path } => format!("move the files `{}*` away", backup(path, 0).display()).into(),
            Self::Changed { .. } => "run the command again".into(),
        }
    }
}

/// Refuses a file of a workspace that is a link or lies behind one, from the workspace's folder on.
pub(super) fn refuse_links(path: &Path, scope: &Scope) -> Result<(), FileProblem> {
    let Scope::Project(root) = scope else { return Ok(()) };
    let below = path.ancestors().take_while(|place| *place != root);
    match below.filter(|place| place.is_symlink()).last() {
        Some(link) => Err(FileProblem::Linked { link: link.to_owned() }),
        None => Ok(()),
    }
}

/// The text of a person's settings; nothing if there is no such file.
pub(crate) fn read(path: &Path, scope: &Scope) -> Result<Option<String>, FileProblem> {
    refuse_links(path, scope)?;
    text_of(path, file::open_regular)
}

/// The files that may be this one as it was, each with its text; never through a link.
pub(crate) fn backups(path: &Path) -> Vec<(PathBuf, String)> {
    let places = (0..BACKUPS_MAX).map(|number| backup(path, number));
    // A link or something else in its place is not what we kept.
    places.filter_map(|place| text_of(&place, file::open_plain).ok().flatten().map(|text| (place, text))).collect()
}

/// Where this file as it is can be kept: nothing has that name.
pub(crate) fn free_backup(path: &Path) -> Result<PathBuf, FileProblem> {
    let mut places = (0..BACKUPS_MAX).map(|number| backup(path, number));
    places.find(|place| is_free(place)).ok_or_else(|| FileProblem::NoNameFree { path: path.to_owned() })
}

fn is_free(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn text_of(path: &Path, open: fn(&Path) -> io::Result<File>) -> Result<Option<String>, FileProblem> {
    let wrong = |problem| FileProblem::NotSettings { path: path.to_owned(), problem };
    let opened = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(wrong("not a file")),
        opened => opened.map_err(refused("read", path))?,
    };
    let bytes = bounded::read_whole(opened, BYTES_MAX).map_err(|error| match error {
        BoundedError::Io(error) => refused("read", path)(error),
        BoundedError::TooBig { .. } => wrong("larger than 32 MiB"),
    })?;
    String::from_utf8(bytes).map(Some).map_err(|_| wrong("not text in UTF-8"))
}

/// Keeps the file as it was beside it, under a name that nothing has.
pub(super) fn keep(backup: &Path, text: &str) -> Result<(), FileProblem> {
    if is_free(backup) { replace(backup, text) } else { Err(FileProblem::Changed { path: backup.to_owned() }) }
}

/// Writes a person's settings, through a link of their own to where it leads.
fn write(path: &Path, text: &str, scope: &Scope) -> Result<(), FileProblem> {
    refuse_links(path, scope)?;
    let target = match scope {
        Scope::User => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        Scope::Project(_) => path.to_owned(),
    };
    replace(&target, text)
}

/// Puts a file under this name, whole or not at all.
fn replace(target: &Path, text: &str) -> Result<(), FileProblem> {
    let folder = target.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(refused("make", folder))?;
    let now = target.symlink_metadata().ok().filter(std::fs::Metadata::is_file);
    let mode = now.map_or(MODE, |metadata| metadata.permissions().mode() & MODE_BITS);
    let written = file::replace_with_mode(target, text.as_bytes(), FileMode::Exact(mode));
    written.map_err(|error| refused("write", target)(error.into_cause()))
}

/// Puts a new text in place of the one that was read, or takes the file away.
pub(super) fn exchange(path: &Path, scope: &Scope, change: &TextChange<'_>) -> Result<(), FileProblem> {
    if read(path, scope)?.as_deref() != change.before {
        return Err(FileProblem::Changed { path: path.to_owned() });
    }
    match change.after {
        Some(text) => write(path, text, scope),
        None => remove(path),
    }
}

/// What is in a file, and what is to be in it; nothing stands for no file.
pub(super) struct TextChange<'a> {
    pub(super) before: Option<&'a str>,
    pub(super) after: Option<&'a str>,
}

/// Takes a file away; that there is none is as good.
pub(super) fn remove(path: &Path) -> Result<(), FileProblem> {
    file::remove(path).map(drop).map_err(|error| refused("remove", path)(error.into_cause()))
}

fn backup(path: &Path, number: usize) -> PathBuf {
    match number {
        0 => beside(path, ".before-tripwire"),
        more => beside(path, &format!(".before-tripwire.{more}")),
    }
}

/// Whether a file can be run.
pub(super) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & RUN_BITS != 0)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn refused(action: &'static str, path: &Path) -> impl Fn(io::Error) -> FileProblem {
    let path = path.to_owned();
    move |error| FileProblem::Refused { action, path: path.clone(), error }
}
