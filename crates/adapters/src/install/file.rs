//! Reading and writing a person's settings file: through links, whole or not at all, with the mode that it has.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The largest settings file that is read.
const BYTES_MAX: u64 = 4 << 20;
/// The mode of a file that is new; settings may hold secrets.
const MODE: u32 = 0o600;
/// Bits by which a file may be run.
const RUN_BITS: u32 = 0o111;

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
    /// It changed since it was read.
    #[error("`{}` changed while this was planned", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl FileProblem {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { path, .. } => format!("check who may write it: `ls -l '{}'`", path.display()),
            Self::NotSettings { .. } => "move it away, or name another client with `--client`".to_owned(),
            Self::Changed { .. } => "run the command again".to_owned(),
        }
    }
}

/// The text of a file; nothing if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, FileProblem> {
    let mut bytes = Vec::new();
    let opened = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(refused("read", path))?,
    };
    opened.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(refused("read", path))?;
    let wrong = |problem| FileProblem::NotSettings { path: path.to_owned(), problem };
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > BYTES_MAX {
        return Err(wrong("larger than 4 MiB"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| wrong("not text in UTF-8"))
}

/// Writes a file whole or not at all, through a link to where it leads.
pub(super) fn write(path: &Path, text: &str) -> Result<(), FileProblem> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(refused("make", folder))?;
    let mode = target.metadata().map_or(MODE, |metadata| metadata.permissions().mode());
    let draft = beside(&target, ".tripwire-draft");
    let written = File::create(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        std::fs::rename(&draft, &target)
    });
    written.map_err(|error| {
        // What is half written must not stay; that it cannot be removed either changes nothing about the first error.
        drop(std::fs::remove_file(&draft));
        refused("write", path)(error)
    })
}

/// Puts a new text in place of the one that was read, or takes the file away.
pub(super) fn exchange(path: &Path, before: Option<&str>, after: Option<&str>) -> Result<(), FileProblem> {
    if read(path)?.as_deref() != before {
        return Err(FileProblem::Changed { path: path.to_owned() });
    }
    match after {
        Some(text) => write(path, text),
        None => remove(path),
    }
}

/// Takes a file away; that there is none is as good.
pub(super) fn remove(path: &Path) -> Result<(), FileProblem> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Where a file as it was is kept.
pub(super) fn backup(path: &Path) -> PathBuf {
    beside(path, ".before-tripwire")
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
