//! What ends a verb early: the message, the next step and the exit code. Errors of the other crates, and those of a single
//! verb, explain themselves; a variant here is something that several verbs have to say.

use crate::exit::Exit;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_core::decision::SafetyDecision;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::shell_word::shell_word;
use tripwire_session::driver::refusal_hint;

/// Anything that ends a verb early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// An error that explains itself.
    #[error("{0}")]
    Explained(Box<dyn Explain>),
    /// The same, in a file or a stream that the message has to name.
    #[error("{file}: {error}")]
    InFile { file: String, error: Box<dyn Explain> },
    /// The engine refused: permission, review, identity, or the state of the session.
    #[error("{}", .0.reason)]
    Refused(Box<SafetyDecision>),
    /// A file or a folder that is written, or that cannot come from standard input.
    #[error("cannot open `{}`: {error}", file.display())]
    Open { file: PathBuf, error: io::Error },
    /// A file that is read, for which `-` may stand.
    #[error("cannot open `{}`: {error}", file.display())]
    Input { file: PathBuf, error: io::Error },
    #[error("`{}` exists already and is not overwritten", file.display())]
    Exists { file: PathBuf },
    #[error("`HOME` is not set")]
    NoHome,
    #[error("cannot find this program's own file: {0}")]
    OwnProgram(io::Error),
    #[error("there is no rule `{name}`{}", nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default())]
    NoRule { name: String, nearest: Option<&'static str> },
    #[error("there is no session below `{}`", folder.display())]
    NoSession { folder: PathBuf },
    #[error("there is no decision `{asked}` in {session}, which has {count}")]
    NoDecision { asked: u64, session: String, count: u64 },
    #[error("this system cannot convert a local time")]
    NoLocalTime,
    /// Standard output is closed or full.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

impl Problem {
    /// A file that cannot be opened.
    pub(crate) fn open(file: &Path, error: io::Error) -> Self {
        Self::Open { file: file.to_owned(), error }
    }

    /// A file that cannot be read, where standard input could be.
    pub(crate) fn input(file: &Path, error: io::Error) -> Self {
        Self::Input { file: file.to_owned(), error }
    }

    /// An error in a file or a stream, called as the message is to call it.
    pub(crate) fn in_file(file: impl Into<String>, error: impl Explain + 'static) -> Self {
        Self::InFile { file: file.into(), error: Box::new(error) }
    }

    /// How the command ends with it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Explained(error) | Self::InFile { error, .. } => error.exit_class().into(),
            Self::Refused(decision) => Exit::of_refusal(decision),
            Self::Open { .. }
            | Self::Input { .. }
            | Self::Exists { .. }
            | Self::NoHome
            | Self::OwnProgram(_)
            | Self::NoRule { .. }
            | Self::NoSession { .. }
            | Self::NoDecision { .. }
            | Self::NoLocalTime => Exit::Usage,
            Self::Output(_) => Exit::Internal,
        }
    }

    /// What to do next.
    pub(crate) fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Explained(error) | Self::InFile { error, .. } => error.hint(),
            Self::Refused(decision) => refusal_hint(decision),
            Self::Open { error, .. } if error.kind() == io::ErrorKind::AlreadyExists => {
                "choose another name: no file is written over".into()
            }
            Self::Open { file, .. } => format!("check the path: `ls -ld {}`", shell_word(file)).into(),
            Self::Input { .. } => "check the path; `-` reads standard input".into(),
            Self::Exists { .. } => "choose another place with `--record FILE`".into(),
            Self::NoHome => "set HOME, or use `--project`".into(),
            Self::OwnProgram(_) => "start it by its full path".into(),
            Self::NoRule { .. } => "list all rules with `tripwire explain`".into(),
            Self::NoSession { .. } => {
                "begin one with `tripwire run claude`, or install the hooks with `tripwire init`; `--workspace DIR` names \
                 another workspace"
                    .into()
            }
            Self::NoDecision { .. } => "list the decisions with `tripwire log`".into(),
            Self::NoLocalTime => "say how long it may take with `--max-runtime 8h`".into(),
            Self::Output(_) => "check the disk and the reader of the pipe".into(),
        }
    }
}

impl<E: Explain + 'static> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::Explained(Box::new(error))
    }
}

impl From<ExitClass> for Exit {
    fn from(class: ExitClass) -> Self {
        match class {
            ExitClass::BadInput => Self::Usage,
            ExitClass::Held => Self::Held,
            ExitClass::Money => Self::Budget,
            ExitClass::Stopped => Self::Stopped,
            ExitClass::Refused => Self::Refused,
            ExitClass::DoesNotHold => Self::DoesNotHold,
            ExitClass::Internal => Self::Internal,
        }
    }
}
