//! What can be wrong with a manifest: always with the file, where possible with the line and the key, and with a fix.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use tripwire_core::explain::Explain;
use tripwire_fs::file::ReadError;

/// A manifest that is not accepted. Nothing is guessed: the guard holds until a person has fixed it.
#[derive(Debug)]
pub struct ManifestError {
    file: PathBuf,
    line: Option<u64>,
    problem: ManifestProblem,
}

/// The ways in which a manifest can be wrong.
#[derive(Debug, thiserror::Error)]
pub enum ManifestProblem {
    /// The file system refused, or the file is too big.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The bytes are no UTF-8 text.
    #[error("the file is not UTF-8 text")]
    NotUtf8,
    /// The text is no YAML that a manifest may use.
    #[error("{problem}")]
    Syntax {
        /// The reader's words.
        problem: String,
    },
    /// One key is there twice, so that it is not clear which value is meant.
    #[error("the key `{key}` appears twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A key that no rule reads: most likely a spelling error, and then a limit that does not hold.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The dotted path.
        key: String,
        /// A known key that looks alike.
        nearest: Option<String>,
    },
    /// A value of the wrong kind or out of range.
    #[error("`{key}` is `{found}`, but must be {expected}")]
    WrongType {
        /// The dotted path.
        key: String,
        /// What is there.
        found: String,
        /// What may be there.
        expected: &'static str,
    },
    /// The whole document is no mapping.
    #[error("the file holds {found}, but must hold the sections of a manifest")]
    NotSections {
        /// What it holds.
        found: &'static str,
    },
}

impl ManifestError {
    /// Binds a problem to its file and line.
    #[must_use]
    pub fn new(file: &Path, line: Option<u64>, problem: ManifestProblem) -> Self {
        Self { file: file.to_owned(), line, problem }
    }

    /// What is wrong.
    #[must_use]
    pub const fn problem(&self) -> &ManifestProblem {
        &self.problem
    }

    /// The line, from 1, where one line is to blame.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        self.line
    }
}

impl Explain for ManifestError {
    fn hint(&self) -> Cow<'_, str> {
        let file = self.file.display();
        let place = self.line.map_or_else(|| format!("{file}"), |line| format!("line {line} of {file}"));
        match &self.problem {
            ManifestProblem::Unreadable(ReadError::File(error)) => error.hint(),
            ManifestProblem::Unreadable(ReadError::TooBig { .. }) => {
                format!("a manifest is a page of text: move `{file}` away and let `tripwire` write a fresh one").into()
            }
            ManifestProblem::NotUtf8 => format!("save `{file}` as UTF-8 (`iconv -t UTF-8`), or move it away").into(),
            ManifestProblem::Syntax { .. } => format!("fix {place}, then run `tripwire status`").into(),
            ManifestProblem::DuplicateKey { key } => format!("keep one `{key}` and delete {place}").into(),
            ManifestProblem::UnknownKey { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`? otherwise delete {place}").into()
            }
            ManifestProblem::UnknownKey { nearest: None, key } => {
                format!("delete `{key}` ({place}); `tripwire policy show` lists every key").into()
            }
            ManifestProblem::WrongType { key, .. } => format!("correct `{key}` in {place}").into(),
            ManifestProblem::NotSections { .. } => format!("start `{file}` with a section such as `safety:`").into(),
        }
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.problem, self.line) {
            (ManifestProblem::Unreadable(error), _) => error.fmt(f),
            (problem, Some(line)) => write!(f, "`{}` line {line}: {problem}", self.file.display()),
            (problem, None) => write!(f, "`{}`: {problem}", self.file.display()),
        }
    }
}

impl std::error::Error for ManifestError {}
