//! What went wrong, for a person: what, where, why, and the next command.

pub(crate) mod denial;

use crate::error::denial::Denial;
use crate::exit::Exit;
use crate::verbs::agent::worker::WorkerError;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_agent::engines::EngineError;
use tripwire_agent::engines::open::OpenError;
use tripwire_agent::engines::sensitive::SensitivePathError;
use tripwire_agent::session::SessionError;
use tripwire_clients::install::InstallError;
use tripwire_core::explain::Explain as _;
use tripwire_core::policy::PolicyError;
use tripwire_core::record::canonical::CanonicalError;
use tripwire_fs::file::{FileError, ReadError};
use tripwire_journal::JournalError;
use tripwire_journal::bundle::BundleError;
use tripwire_session::driver::DriverError;
use tripwire_session::formats::recording::WriteError;
use tripwire_session::formats::stream::StreamError;
use tripwire_session::formats::traces::TraceError;
use tripwire_session::memory::MemoryError;
use tripwire_session::replay::ReplayError;
use tripwire_supervisor::{ArrangeError, RunError};
use tripwire_workspace::WorkspaceError;
use tripwire_workspace::policy_file::PolicyFileError;
use tripwire_workspace::session::SessionIdError;

/// Anything that ends a verb early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// A file cannot be opened.
    #[error("cannot open `{}`: {error}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A recording would overwrite a file.
    #[error("`{}` exists already and is not overwritten", file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// A file named `.zst` is not packed that way.
    #[error("`{}` is not packed with zstd: {problem}", file.display())]
    Unpack {
        /// The file.
        file: PathBuf,
        /// Why.
        problem: String,
    },
    /// A stream that should be replayed is empty: nothing was proved.
    #[error("{file}: holds no event")]
    Empty {
        /// The stream.
        file: String,
    },
    /// A line of a stream is bad.
    #[error("{file}: {error}")]
    Stream {
        /// The stream.
        file: String,
        /// What is wrong.
        error: StreamError,
    },
    /// A trace file is bad.
    #[error("{file}: {error}")]
    Trace {
        /// The file.
        file: String,
        /// What is wrong.
        error: TraceError,
    },
    /// A recording does not verify.
    #[error("{file}: {error}")]
    Replay {
        /// The file.
        file: String,
        /// What is wrong.
        error: ReplayError,
    },
    /// A policy file is bad.
    #[error(transparent)]
    PolicyFile(#[from] PolicyFileError),
    /// There is no home for what is a person's own.
    #[error("`HOME` is not set")]
    NoHome,
    /// No client was found or named.
    #[error("no client is on the search path: claude, codex and gemini are known")]
    NoClient,
    /// The program does not know where it is.
    #[error("cannot find this program's own file: {0}")]
    OwnProgram(io::Error),
    /// A client's settings cannot be changed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A policy contradicts itself.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The settings in a scenario's head are bad.
    #[error("{file}: line 1: field `scenario`: {error}")]
    Scenario {
        /// The stream.
        file: String,
        /// What is wrong.
        error: PolicyError,
    },
    /// The recording cannot be written.
    #[error("`{}`: {error}", file.display())]
    Record {
        /// The file.
        file: PathBuf,
        /// Why.
        error: WriteError,
    },
    /// There is no such rule.
    #[error("there is no rule `{name}`{}", nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default())]
    NoRule {
        /// What was asked for.
        name: String,
        /// The rule whose name is nearest.
        nearest: Option<&'static str>,
    },
    /// There is no workspace that may be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// What was named is no session.
    #[error(transparent)]
    SessionId(#[from] SessionIdError),
    /// No held command has this code.
    #[error("no held command has the code `{code}`{}", if waiting.is_empty() { String::new() } else { format!("; waiting: {}", waiting.join(", ")) })]
    NoHeldCommand {
        /// What was asked for.
        code: String,
        /// The codes that wait.
        waiting: Vec<String>,
    },
    /// Two different held commands have this code.
    #[error("two different held commands have the code `{code}`, so nothing is allowed")]
    AmbiguousCode {
        /// What was asked for.
        code: String,
    },
    /// A person's own verb, called from inside a client.
    #[error("`tripwire {verb}` is for a person, and {sign}: an agent does not let its own work go on")]
    OnlyAPerson {
        /// The verb.
        verb: &'static str,
        /// How that is known.
        sign: String,
    },
    /// The workspace has no session.
    #[error("there is no session below `{}`", folder.display())]
    NoSession {
        /// Where one was looked for.
        folder: PathBuf,
    },
    /// The session cannot be driven.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file of `.geometry/` cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of `.geometry/` is not what it should be.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An order stands, but could not be journaled.
    #[error("`{}` is written and binds, but the act was not journaled: {error}", file.display())]
    Unjournaled {
        /// The order.
        file: PathBuf,
        /// Why it is not journaled.
        error: Box<Problem>,
    },
    /// There is no such decision.
    #[error("there is no decision `{asked}` in {session}, which has {count}")]
    NoDecision {
        /// What was asked for.
        asked: u64,
        /// The session.
        session: String,
        /// How many there are.
        count: u64,
    },
    /// There is no alarm to object to.
    #[error("decision {decision} raised no alarm that the agent noticed")]
    NoAlarm {
        /// The decision.
        decision: u64,
    },
    /// A bundle cannot be written or used.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The memory store gave or took nothing.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Permissions, reviews or identity stand against it.
    #[error(transparent)]
    Denial(Box<Denial>),
    /// A moment that is none.
    #[error("`{text}` is neither a time such as `2026-02-28T15:30:00Z` nor a span such as `90s`, `15m`, `2h` or `3d`")]
    Since {
        /// What was given.
        text: String,
    },
    /// A client could not be started under the guard.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The system does not tell local times.
    #[error("this system does not tell when a local time is")]
    NoLocalTime,
    /// Standard output is closed or full.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// Nobody said what is to be reached.
    #[error("there is no objective")]
    NoObjective,
    /// An engine cannot be opened.
    #[error(transparent)]
    Engine(#[from] OpenError),
    /// A worker cannot be had.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The list of sensitive paths cannot be held.
    #[error(transparent)]
    Sensitive(SensitivePathError),
    /// An engine does not answer, and nothing was begun.
    #[error(transparent)]
    NoAnswer(#[from] EngineError),
    /// A session of our own loop cannot begin or go on.
    #[error(transparent)]
    Session(Box<SessionError>),
    /// A value has no canonical form.
    #[error("a record has no canonical form: {0}")]
    Canonical(#[from] CanonicalError),
}

impl Problem {
    /// A file that cannot be opened.
    pub(crate) fn open(file: &Path, error: io::Error) -> Self {
        Self::Open { file: file.to_owned(), error }
    }

    /// How the command ends with it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Open { .. }
            | Self::Exists { .. }
            | Self::Unpack { .. }
            | Self::Empty { .. }
            | Self::Scenario { .. }
            | Self::Stream { .. }
            | Self::Trace { .. }
            | Self::PolicyFile(_)
            | Self::Policy(_)
            | Self::NoRule { .. }
            | Self::SessionId(_)
            | Self::NoSession { .. }
            | Self::NoHeldCommand { .. }
            | Self::AmbiguousCode { .. }
            | Self::NoDecision { .. }
            | Self::NoAlarm { .. }
            | Self::NoLocalTime
            | Self::NoHome
            | Self::NoClient
            | Self::OwnProgram(_)
            | Self::Install(_)
            | Self::NoObjective
            | Self::Engine(_)
            | Self::Worker(_)
            | Self::NoAnswer(_)
            | Self::Sensitive(_)
            | Self::Since { .. } => Exit::Usage,
            Self::Denial(denial) => denial.exit(),
            Self::OnlyAPerson { .. } => Exit::Refused,
            Self::Workspace(error) => of_workspace(error),
            // A guard that cannot do its work lets nothing through, and says so with a code of its own.
            Self::File(_) | Self::Read(_) | Self::Unjournaled { .. } => Exit::DoesNotHold,
            Self::Journal(error) => of_journal(error),
            Self::Run(error) => of_run(error),
            Self::Driver(error) => of_driver(error),
            Self::Session(error) => of_session(error),
            Self::Bundle(error) => match error {
                BundleError::Journal(error) => of_journal(error),
                BundleError::File(_)
                | BundleError::Io(_)
                | BundleError::NoBundle { .. }
                | BundleError::Newer { .. } => Exit::Usage,
            },
            Self::Memory(error) => match error {
                MemoryError::Damaged { .. } | MemoryError::File(_) => Exit::DoesNotHold,
                MemoryError::Missing { .. }
                | MemoryError::Ambiguous { .. }
                | MemoryError::TooLarge { .. }
                | MemoryError::TooManyForms { .. }
                | MemoryError::Pointer(_) => Exit::Usage,
            },
            Self::Replay { error, .. } => match error {
                ReplayError::Journal(error) => of_journal(error),
                ReplayError::Read(_) | ReplayError::Record { .. } | ReplayError::Head(_) | ReplayError::NoHead => {
                    Exit::DoesNotHold
                }
                ReplayError::Policy(_) | ReplayError::Canonical(_) | ReplayError::Snapshot(_) => Exit::Internal,
            },
            Self::Record { .. } | Self::Output(_) | Self::Canonical(_) => Exit::Internal,
        }
    }

    /// What to do next.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::NoHome => "set HOME, or use `--project`".to_owned(),
            Self::NoClient => "name one with `tripwire init --client NAME`".to_owned(),
            Self::OwnProgram(_) => "start it by its full path".to_owned(),
            Self::Install(error) => error.hint(),
            Self::Open { error, .. } if error.kind() == std::io::ErrorKind::AlreadyExists => {
                "choose another name: no file is written over".to_owned()
            }
            Self::Open { .. } => "check the path; `-` reads standard input".to_owned(),
            Self::Exists { .. } | Self::Record { .. } => "choose another place with `--record FILE`".to_owned(),
            Self::Unpack { .. } => "pack it with `zstd FILE`, or give it a name without `.zst`".to_owned(),
            Self::Empty { .. } => "record one with `tripwire decide --record FILE`".to_owned(),
            Self::Stream { error, .. } if error.is_final() => {
                "check the device or the pipe, then run it again".to_owned()
            }
            Self::Stream { .. } => {
                "mend the line, or pass over bad lines with `--lenient`; the format: docs/reference/events.md"
                    .to_owned()
            }
            Self::Trace { .. } => "one trace per line; the format: docs/reference/traces.md".to_owned(),
            Self::Replay { error: ReplayError::Journal(error), .. } => error.hint().into_owned(),
            Self::Replay { .. } => {
                "keep the file as evidence; record again with `tripwire decide --record FILE`".to_owned()
            }
            Self::PolicyFile(PolicyFileError::Manifest(error)) => error.hint().into_owned(),
            Self::PolicyFile(PolicyFileError::Setting { .. } | PolicyFileError::Relation { .. })
            | Self::Policy(_)
            | Self::Scenario { .. } => "list all settings with `tripwire policy show`".to_owned(),
            Self::NoRule { .. } => "list all rules with `tripwire explain`".to_owned(),
            Self::Workspace(error) => error.hint().into_owned(),
            Self::SessionId(error) => error.hint().into_owned(),
            Self::NoSession { .. } => {
                "begin one with `tripwire step`, or name the workspace with `--workspace DIR`".to_owned()
            }
            Self::NoHeldCommand { .. } => "the code stands in the refusal; see `tripwire log`".to_owned(),
            Self::OnlyAPerson { .. } => "run it in a terminal of your own, outside of the client".to_owned(),
            Self::AmbiguousCode { .. } => {
                "judge each with `tripwire judge`, and run the one that you want yourself".to_owned()
            }
            Self::Driver(error) => error.hint().into_owned(),
            Self::Journal(error) => error.hint().into_owned(),
            Self::File(error) => error.hint().into_owned(),
            Self::Read(ReadError::File(error)) => error.hint().into_owned(),
            Self::Read(ReadError::TooBig { .. }) => "remove the file: it is none of ours".to_owned(),
            Self::Unjournaled { error, .. } => error.hint(),
            Self::NoDecision { .. } => "list the decisions with `tripwire log`".to_owned(),
            Self::NoAlarm { .. } => "find the alarms with `tripwire log --level override`".to_owned(),
            Self::Bundle(error) => error.hint().into_owned(),
            Self::Memory(error) => error.hint().into_owned(),
            Self::Denial(denial) => denial.hint(),
            Self::Since { .. } => "give one of these, for instance `--since 15m`".to_owned(),
            Self::Run(error) => error.hint(),
            Self::NoLocalTime => "say how long it may take with `--max-runtime 8h`".to_owned(),
            Self::NoObjective => "say it with `--objective TEXT` or `--task FILE`".to_owned(),
            Self::Engine(error) => error.hint().into_owned(),
            Self::Worker(error) => error.hint(),
            Self::NoAnswer(error) => error.hint().into_owned(),
            Self::Sensitive(error) => error.hint().into_owned(),
            Self::Session(error) => error.hint().into_owned(),
            Self::Output(_) => "check the disk and the reader of the pipe".to_owned(),
            Self::Canonical(_) => "this is a defect of tripwire; please report it".to_owned(),
        }
    }
}

fn of_driver(error: &DriverError) -> Exit {
    match error {
        DriverError::Journal(error) => of_journal(error),
        DriverError::PolicyFile(_) | DriverError::Policy(_) | DriverError::Authority(_) => Exit::Usage,
        DriverError::Canonical(_) | DriverError::Snapshot(_) => Exit::Internal,
        DriverError::Unknown(_)
        | DriverError::Fenced
        | DriverError::Control(_)
        | DriverError::Configuration(_)
        | DriverError::Head(_)
        | DriverError::Record { .. }
        | DriverError::State(_)
        | DriverError::Log(_)
        | DriverError::File(_) => Exit::DoesNotHold,
    }
}

fn of_session(error: &SessionError) -> Exit {
    match error {
        SessionError::Driver(error) => of_driver(error),
        SessionError::StopStands { .. } => Exit::Stopped,
        SessionError::Tools(_)
        | SessionError::Engine(_)
        | SessionError::NotOurs { .. }
        | SessionError::Over { .. }
        | SessionError::Changed { .. }
        | SessionError::SavedEngines(_)
        | SessionError::Locked(_) => Exit::Usage,
        SessionError::File(_) => Exit::DoesNotHold,
        SessionError::Canonical(_) => Exit::Internal,
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        Self::Session(Box::new(error))
    }
}

fn of_run(error: &RunError) -> Exit {
    if matches!(error, RunError::Arrange(ArrangeError::SwitchedOff { .. })) {
        return Exit::DoesNotHold;
    }
    match error {
        RunError::UnknownClient { .. } | RunError::NotFound { .. } | RunError::Arrange(_) | RunError::Tree(_) => {
            Exit::Usage
        }
        RunError::Blocked("STOP") => Exit::Stopped,
        RunError::Blocked(_) => Exit::Held,
        RunError::Driver(error) => of_driver(error),
        RunError::Record(_) | RunError::Setup { .. } => Exit::DoesNotHold,
    }
}

/// A folder that was named and is none is the person's to mend; one that cannot hold our records is a broken guard.
const fn of_workspace(error: &WorkspaceError) -> Exit {
    match error {
        WorkspaceError::NoFolder { .. } => Exit::Usage,
        WorkspaceError::Symlink { .. }
        | WorkspaceError::NotAFolder { .. }
        | WorkspaceError::NotWritable { .. }
        | WorkspaceError::ForeignOwner { .. }
        | WorkspaceError::NoStateHome { .. }
        | WorkspaceError::File(_) => Exit::DoesNotHold,
    }
}

/// A session that was never there is a wrong name; everything else is a journal that cannot be trusted or used now.
fn of_journal(error: &JournalError) -> Exit {
    let is_name = matches!(error, JournalError::NoSession(_) | JournalError::SessionName(_));
    if is_name { Exit::Usage } else { Exit::DoesNotHold }
}
