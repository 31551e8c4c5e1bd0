//! What can go wrong before anything runs, one enum per operation.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use thiserror::Error;
use tripwire_core::explain::{ExitClass, Explain};

/// A request that makes no sense; found before any layer is put on.
#[derive(Debug, Error)]
pub enum SpecError {
    /// No program to run.
    #[error("no command was given")]
    NoCommand,
    /// A path that was named does not exist or cannot be reached.
    #[error("cannot use `{}`: {source}", path.display())]
    Path {
        /// The path as given.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The workspace is a file.
    #[error("`{}` is not a folder", path.display())]
    NotAFolder {
        /// The path as given.
        path: PathBuf,
    },
    /// Granting the path would open the system itself.
    #[error("`{}` is too wide to grant", path.display())]
    TooWide {
        /// The path as given.
        path: PathBuf,
    },
    /// A variable that cannot be put into an environment.
    #[error("`{name}` cannot be an environment variable")]
    Env {
        /// The name as given.
        name: String,
    },
    /// The host's socket cannot be asked for its name.
    #[error("cannot use the allow-list socket: {source}")]
    Bridge {
        /// The system's answer.
        source: io::Error,
    },
    /// The host's socket has no path.
    #[error("the allow-list socket has no path in the file system")]
    BridgeUnnamed,
}

impl Explain for SpecError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::NoCommand => "put the command behind `--`, for instance `-- bash -c 'make test'`",
            Self::Path { .. } => "check the spelling; every path must exist before the run",
            Self::NotAFolder { .. } => "name the project's folder with `--workspace DIR`",
            Self::TooWide { .. } => "name a narrower folder; system programs are readable anyway",
            Self::Env { .. } => "write it as NAME=VALUE, with a name of letters, digits and `_`",
            Self::Bridge { .. } | Self::BridgeUnnamed => "bind the socket to a path before starting the sandbox",
        })
    }
}

/// A process tree that cannot be started or steered.
#[derive(Debug, Error)]
pub enum TreeError {
    /// No program to run.
    #[error("no command was given")]
    NoCommand,
    /// The tree could not be set up.
    #[error("cannot start the process tree: {what}: {source}")]
    Start {
        /// The step that failed.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The program could not be executed.
    #[error("cannot run `{program}`: {source}")]
    Command {
        /// The program as given.
        program: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The working folder could not be entered.
    #[error("cannot enter the folder `{}`: {source}", path.display())]
    Folder {
        /// The folder as given.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Freezing or thawing failed, or took too long.
    #[error("cannot {what} the process tree: {source}")]
    Steer {
        /// What was asked for.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A layer of its sandbox could not be put on: nothing was run.
    #[error("the sandbox's layer `{}` is missing: {cause}", layer)]
    Layer {
        /// The layer's name.
        layer: &'static str,
        /// Why.
        cause: String,
        /// What to do.
        hint: String,
    },
    /// The platform has no support yet.
    #[error("process trees are not supported yet on this system")]
    Unsupported,
}

/// A staged change that cannot be read or made.
#[derive(Debug, Error)]
pub enum StageError {
    /// A file of the stage or of the workspace cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The stage folder cannot be prepared.
    #[error("cannot prepare `{}`: {source}", path.display())]
    Prepare {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The folder is no stage, or belongs to another workspace.
    #[error("`{}` is not a stage of this workspace: {why}", path.display())]
    NotAStage {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The stage holds something that cannot be carried over.
    #[error("`{}` cannot be staged: {why}", path.display())]
    Unsupported {
        /// The file, relative to the workspace.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
}

/// Staged changes that were not applied; the workspace is as it was, unless the case says otherwise.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The stage cannot be read.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The change set is not the one that was named.
    #[error("the change set is `{found}`, not `{wanted}`")]
    Mismatch {
        /// The digest that was asked for.
        wanted: String,
        /// The digest of what is staged now.
        found: String,
    },
    /// An earlier apply of the same stage was interrupted after its last file; nothing was written again.
    #[error("these changes are in the workspace already: an apply was interrupted after its last file")]
    Finished,
    /// Another process is applying the same stage.
    #[error("another process is applying these changes just now")]
    Busy,
    /// What an interrupted apply left cannot be put in order.
    #[error("an apply was interrupted and cannot be put in order: {source}; its plan is in `{}`", notes.display())]
    Recover {
        /// The folder with the plan.
        notes: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The workspace moved on since the stage was made.
    #[error("`{}` changed in the workspace since it was staged", path.display())]
    Conflict {
        /// The file, relative to the workspace.
        path: PathBuf,
    },
    /// A change would touch what other programs obey.
    #[error("`{}` is protected and is never changed by staged writes", path.display())]
    Protected {
        /// The file, relative to the workspace.
        path: PathBuf,
    },
    /// A change could not be written; what was done so far was undone.
    #[error("cannot apply `{}`: {source}; everything was put back", path.display())]
    Write {
        /// The file, relative to the workspace.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A change could not be written and could not be undone either.
    #[error("cannot apply `{}`: {source}; `{}` could not be put back: {undo}", path.display(), left.display())]
    Torn {
        /// The file that failed.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
        /// The file that is left in its new state.
        left: PathBuf,
        /// Why it could not be put back.
        undo: io::Error,
    },
}

impl Explain for StageError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed("stage changes first with `tripwire sandbox exec --stage`")
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

impl Explain for TreeError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Command { .. } | Self::NoCommand => "name a program that is installed, or its path",
            Self::Layer { hint, .. } => hint,
            Self::Folder { .. } => "start in a folder that exists and may be entered",
            Self::Start { .. } | Self::Steer { .. } | Self::Unsupported => {
                "see what this machine allows with `tripwire doctor`"
            }
        })
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Command { .. } | Self::NoCommand | Self::Folder { .. } => ExitClass::BadInput,
            Self::Start { .. } | Self::Steer { .. } | Self::Layer { .. } | Self::Unsupported => ExitClass::DoesNotHold,
        }
    }
}

impl Explain for ApplyError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Stage(_) => "look at the stage with `tripwire sandbox diff`",
            Self::Mismatch { .. } => "review the change set again with `tripwire sandbox diff` and name its digest",
            Self::Conflict { .. } => "discard the stage and run the command again on the new state",
            Self::Protected { .. } => {
                "make this change yourself, or throw the stage away with `tripwire sandbox discard`"
            }
            Self::Write { .. } => "fix the cause that is named and apply again; nothing has changed yet",
            Self::Finished => "nothing is left to apply; look at the workspace itself",
            Self::Busy => "wait for it and look with `tripwire sandbox diff`",
            Self::Recover { .. } => {
                "fix the cause and apply again; `.tripwire-apply-…` in the workspace holds the old and the new files"
            }
            Self::Torn { .. } => {
                "the originals are in `.tripwire-apply-…` of the workspace; applying again puts them back"
            }
        })
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Mismatch { .. } | Self::Conflict { .. } | Self::Protected { .. } | Self::Finished | Self::Busy => {
                ExitClass::Refused
            }
            Self::Stage(_) | Self::Write { .. } | Self::Torn { .. } | Self::Recover { .. } => ExitClass::DoesNotHold,
        }
    }
}
