//! The client's hooks for one run only: settings by flag, overrides or a home of the run's own. The person's files stay.

mod claude;
mod codex;
mod gemini;
mod relaxed;

use super::ending::Ending;
use super::folder::RunFolder;
use super::program::Program;
use crate::socket::SOCKET_VARIABLE;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_clients::hooks::Client;

/// How long a client waits for a hook, in seconds: as long as a person may keep a run paused. That the hook answers at all
/// is watched by the supervisor, which does not leave it to the client.
pub(crate) const HOOK_TIMEOUT_SECONDS: u64 = 86_400;

/// What the hooks print when our program cannot even be started; it is looked for in what the client tells its model.
pub(crate) const GUARD_FAILED: &str = "tripwire: guard failed";

/// Why the hooks could not be arranged: then nothing is started.
#[derive(Debug, thiserror::Error)]
pub enum ArrangeError {
    /// A file of the run cannot be written, or one of the person's cannot be read.
    #[error("cannot {action} `{}`: {error}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// Settings that the person chose are not of the client's form.
    #[error("`{}` is not a settings file of {client}: {problem}", path.display())]
    Settings {
        /// The client.
        client: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The client does not tell the trust marks of its hooks.
    #[error("codex does not list its hooks: {problem}")]
    Trust {
        /// What happened.
        problem: String,
    },
    /// Something switches the client's hooks off.
    #[error("{by} switches the client's hooks off, so nothing would be guarded")]
    SwitchedOff {
        /// The file or the flag.
        by: String,
    },
    /// A word of the command line is not text where it must be.
    #[error("`{}` is not valid UTF-8", word.display())]
    NotText {
        /// The word.
        word: OsString,
    },
}

impl ArrangeError {
    /// What a person can do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::File { .. } => "make the file readable and the folder for temporary files writable",
            Self::Settings { .. } => "mend the file, or leave it out of the command line",
            Self::Trust { .. } => "check that `codex app-server` starts, and that codex is 0.166 or newer",
            Self::SwitchedOff { .. } => "take it out; nothing was started",
            Self::NotText { .. } => "write it with letters that the terminal knows",
        }
    }

    /// How a run ends that goes on until here.
    pub(super) fn ending(&self) -> Ending {
        let why = format!("{self}; {}", self.hint());
        match self {
            Self::SwitchedOff { .. } => Ending::GuardBroken(why),
            Self::File { .. } | Self::Settings { .. } | Self::Trust { .. } | Self::NotText { .. } => {
                Ending::ClientFailed(why)
            }
        }
    }
}

/// The surroundings of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    /// The folder of the run.
    pub(crate) folder: &'a RunFolder,
    /// Where the client starts.
    pub(crate) cwd: &'a Path,
    /// The environment that the person gave.
    pub(crate) env: &'a [(OsString, OsString)],
}

impl Scene<'_> {
    /// A variable of the person's environment.
    fn variable(&self, name: &str) -> Option<&OsString> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The command that a client runs for each event: it refuses also when our program is missing, crashes or is killed.
    fn hook(&self, client: Client) -> String {
        let program = shell_quoted(&self.folder.program().to_string_lossy());
        format!("{program} hook {} || {{ echo '{GUARD_FAILED}' >&2; exit 2; }}", client.name())
    }
}

/// A client that is ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arranged {
    /// The whole command line.
    pub(crate) command: Vec<OsString>,
    /// The whole environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// What the client's processes may only read, beside the folder of the run.
    pub(crate) read_only: Vec<PathBuf>,
}

/// Arranges the hooks of a client for one run.
pub(crate) fn arrange(scene: &Scene<'_>, program: Program, command: &[OsString]) -> Result<Arranged, ArrangeError> {
    let mut arranged = Arranged { command: command.to_vec(), env: scene.env.to_vec(), read_only: Vec::new() };
    set(&mut arranged.env, SOCKET_VARIABLE, scene.folder.socket().into_os_string());
    match program.client {
        Client::Claude => claude::arrange(scene, program.arguments, &mut arranged)?,
        Client::Codex => codex::arrange(scene, program.arguments, &mut arranged)?,
        Client::Gemini => gemini::arrange(scene, &mut arranged)?,
    }
    Ok(arranged)
}

fn set(env: &mut Vec<(OsString, OsString)>, name: &str, value: OsString) {
    env.retain(|(known, _)| known != name);
    env.push((name.into(), value));
}

fn write(path: &Path, text: &str) -> Result<(), ArrangeError> {
    std::fs::write(path, text).map_err(|error| ArrangeError::File { action: "write", path: path.to_owned(), error })
}

/// A word as a shell reads it back.
fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shell_quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
