//! What is special about a client's start and its output.

use super::command_line::{CommandLineForm, KnownBy};
use super::exit_message::{ExitMessage, OutputShows};
use super::prepare::{LaunchError, LaunchPlace, OwnWords, PreparedClient};
use std::io;
use std::path::Path;
use std::process::Command;

/// The dialect of a client's command line and output.
#[derive(Debug)]
pub struct LaunchDialect {
    /// By what it is known in a command line.
    pub known_by: KnownBy,
    /// The form of its command line.
    pub command_line: CommandLineForm,
    /// Adds our hooks for one run; the client's own arguments begin at this index. After an error nothing is to be started.
    pub prepare: fn(&LaunchPlace<'_>, usize, &mut PreparedClient) -> Result<(), LaunchError>,
    /// What switches its hooks off where that shows before the start: a flag, a variable, a setting.
    pub switched_off: fn(&LaunchPlace<'_>, &OwnWords) -> Option<String>,
    /// Whether its arguments ask for an output that tells its end.
    pub output_tells_end: fn(&[String]) -> bool,
    /// Notes what a line of its output says about its end.
    pub note_output: fn(&[u8], &mut ExitMessage) -> OutputShows,
    /// The exit codes that stand for a provider's refusal, with its status.
    pub provider_status: &'static [ProviderExit],
    /// Prepares a run in a throw-away home against a model on loopback.
    pub prepare_trial: fn(&TrialPlace<'_>, &mut Command) -> io::Result<()>,
    /// The name of the client that stands for it where the program that is started is another one: any that speaks the same API.
    pub any_program: Option<&'static str>,
}

/// An exit code by which a client says that its provider refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderExit {
    /// The exit code.
    pub exit_code: u8,
    /// The provider's status.
    pub status: u16,
}

/// The throw-away folders of a trial, and its model.
#[derive(Debug, Clone, Copy)]
pub struct TrialPlace<'a> {
    /// The home.
    pub home: &'a Path,
    /// The workspace.
    pub workspace: &'a Path,
    /// Where the model listens.
    pub model_url: &'a str,
    /// What the client is asked to do.
    pub task: &'a str,
}
