//! The supervisor: someone else's agent under our guard for one run, with nothing installed.
//!
//! It begins the session, arranges the client's hooks for this run only, starts the client as one process tree, and is the
//! session's only writer: hooks hand over what the client told them, and the answers come from here. It freezes the tree
//! while something holds the session and ends it with a receipt. Nothing here decides; what the engine decides is carried
//! out whether the client likes it or not.

mod arrange;
mod ending;
mod explained;
mod folder;
mod guard;
mod latecomers;
mod program;
mod prompt;
mod records;
mod report;
mod serve;
mod shift;
pub mod socket;
mod sources;
mod stream;
mod switches;
mod unasked;
mod verify;
mod watch;
mod witness;

pub use arrange::ArrangeError;
pub use ending::Ending;
pub use guard::Presence;
pub use program::Program;
pub use report::{EngineSwitch, Proof, RunReport};
pub use verify::Verified;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tripwire_authority::identity::Configuration;
use tripwire_clients::hooks::Client;
use tripwire_clients::hooks::protected::Homes;
use tripwire_core::explain::Explain as _;
use tripwire_fs::file::FileError;
use tripwire_sandbox::{TreeError, interrupts};
use tripwire_session::driver::{Driver, DriverError, Signing, Taken};
use tripwire_workspace::clock;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::{Workspace, exclude, test_command};

use folder::RunFolder;
use shift::Shifts;

/// Who speaks to the person while the run goes on.
pub trait Teller: Send + Sync {
    /// Says a line.
    fn say(&self, line: &str);
    /// Passes on what was decided, for whoever is to be notified.
    fn taken(&self, driver: &Driver, taken: &Taken);
}

/// Who hears the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The person: it has our own streams.
    Passed,
    /// Nobody but the report, which keeps its last words; nothing can be typed to it.
    Kept,
}

/// What a person asks for.
#[derive(Debug)]
pub struct Wish {
    /// The client's command line.
    pub command: Vec<OsString>,
    /// The client, where its program's name does not tell.
    pub client: Option<Client>,
    /// Where the client starts.
    pub cwd: PathBuf,
    /// The client's environment.
    pub env: Vec<(OsString, OsString)>,
    /// The workspace.
    pub workspace: Workspace,
    /// The person's folders.
    pub homes: Homes,
    /// Folders that the client's processes are not to see.
    pub hidden: Vec<PathBuf>,
    /// Files and folders of the person's that the client's processes may only read, where they exist.
    pub kept: Vec<PathBuf>,
    /// Folders in which the run's own folder may be made, best first.
    pub temporary: Vec<PathBuf>,
    /// Our own program.
    pub program: PathBuf,
    /// Settings that this run freezes, as a person writes them.
    pub settings: Vec<(String, String)>,
    /// The command that proves the work.
    pub verify: Option<String>,
    /// Engines to go on with, in order: a client's name, or its command line.
    pub fallbacks: Vec<Vec<OsString>>,
    /// Whether somebody is there to ask.
    pub presence: Presence,
    /// Who hears the client.
    pub output: Output,
    /// Who signs the journal.
    pub signing: Option<Signing>,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program is none of the clients.
    #[error("`{}` is none of the clients that tripwire knows", program.display())]
    UnknownClient {
        /// The program.
        program: OsString,
    },
    /// The program is not there.
    #[error("`{}` is not found", program.display())]
    NotFound {
        /// The program.
        program: OsString,
    },
    /// A person's order stands.
    #[error("`.geometry/{0}` stands: nothing begins")]
    Blocked(&'static str),
    /// The hooks could not be arranged.
    #[error(transparent)]
    Arrange(#[from] ArrangeError),
    /// The session cannot be begun.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The client cannot be started.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The record of the run cannot be written.
    #[error(transparent)]
    Record(#[from] FileError),
    /// The run's own folder, socket or threads cannot be made.
    #[error("cannot {what}: {error}")]
    Setup {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        error: io::Error,
    },
}

impl RunError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownClient { .. } => "start claude, codex or gemini, or say which of them it is with `--client`; \
                 other commands run confined with `tripwire sandbox exec`"
                .to_owned(),
            Self::NotFound { .. } => "install the client, or give its path".to_owned(),
            Self::Blocked(_) => "`tripwire resume` takes the order back".to_owned(),
            Self::Arrange(error) => error.hint().to_owned(),
            Self::Driver(error) => error.hint().into_owned(),
            Self::Tree(error) => error.hint().into_owned(),
            Self::Record(error) => error.hint().into_owned(),
            Self::Setup { .. } => "make the folder for temporary files writable (`TMPDIR`)".to_owned(),
        }
    }
}

/// Runs a client under the guard to its end.
///
/// # Errors
/// When nothing was started. What happens after the start is told in the report.
pub fn run(wish: &Wish, teller: Arc<dyn Teller>) -> Result<RunReport, RunError> {
    let program = find(&wish.command, wish.client)?;
    let mut fallbacks = Vec::new();
    for words in &wish.fallbacks {
        fallbacks.push((find(words, None)?, words.clone()));
    }
    for command in [&wish.command].into_iter().chain(&wish.fallbacks) {
        is_there(command, &wish.cwd, &wish.env)?;
    }
    for (program, command) in &fallbacks {
        switches::none_is_off(wish, *program, command)?;
    }
    nothing_blocks(&wish.workspace)?;
    let setup = |what| move |error| RunError::Setup { what, error };
    let folder = RunFolder::make(&wish.temporary, &wish.program).map_err(setup("make the run's folder"))?;
    // A repository that cannot be told to leave `.geometry/` alone is no reason to run unguarded.
    if let Err(error) = exclude::exclude_geometry(wish.workspace.root()) {
        teller.say(&format!("note: `.geometry/` is not excluded from git: {error}"));
    }
    interrupts::watch().map_err(setup("watch for interrupts"))?;
    let first = shift::arrange(wish, &folder, program, &wish.command)?;
    let place = (wish.workspace.layout(), wish.signing.clone());
    let driver = Driver::begin_signed(place, clock::now(), Configuration::default(), |policy| {
        wish.settings.iter().try_for_each(|(path, text)| policy.set(path, text))?;
        test_command::fill_in(wish.workspace.root(), policy)
    })?;
    Shifts::open(wish, &folder, driver, teller)?.work(first, fallbacks)
}

fn find(command: &[OsString], named: Option<Client>) -> Result<Program, RunError> {
    let found = match named {
        Some(client) if !command.is_empty() => Some(Program::named(client, command)),
        Some(_) | None => Program::find(command),
    };
    found.ok_or_else(|| RunError::UnknownClient { program: command.first().cloned().unwrap_or_default() })
}

/// Whether the program of a command line can be found: what is not there is told before anything begins.
///
/// # Errors
/// When it is not there.
pub fn is_there(command: &[OsString], cwd: &Path, env: &[(OsString, OsString)]) -> Result<(), RunError> {
    let program = command.first().cloned().unwrap_or_default();
    let found = if program.as_encoded_bytes().contains(&b'/') {
        cwd.join(&program).is_file()
    } else {
        let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let folders = path.unwrap_or_else(|| "/usr/bin:/bin".into());
        std::env::split_paths(&folders).any(|folder| cwd.join(folder).join(&program).is_file())
    };
    if found { Ok(()) } else { Err(RunError::NotFound { program }) }
}

/// A leftover order blocks a new session before it is begun.
fn nothing_blocks(workspace: &Workspace) -> Result<(), RunError> {
    for (file, name) in [(ControlFile::Stop, "STOP"), (ControlFile::Pause, "PAUSE")] {
        if file.path(workspace.layout()).symlink_metadata().is_ok() {
            return Err(RunError::Blocked(name));
        }
    }
    Ok(())
}
