//! What is special about a client. Everything else is the same for all of them.

use crate::homes::ClientHome;
use crate::hooks::answer::Answer;
use crate::hooks::event::Event;
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::HookInput;
use crate::install::form::HookSettings;
use crate::install::trust::HookTrust;
use crate::launch::command_line::{CommandLineForm, KnownBy};
use crate::launch::exit_message::{ExitMessage, OutputShows};
use crate::launch::prepare::{LaunchError, LaunchPlace, OwnWords, PreparedClient};
use crate::transcript::{Item, LineForm};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One client's dialect: its hooks, its transcript, its settings, its start.
pub trait Adapter: Debug + Sync {
    /// The name on the command line and in our records.
    fn name(&self) -> &'static str;

    /// The name for people.
    fn title(&self) -> &'static str;

    /// Its own folder, and what in it is protected.
    fn home(&self) -> &'static ClientHome;

    // Hooks.

    /// What an event means.
    ///
    /// # Errors
    /// When a field that the event needs is missing.
    fn event(&self, input: &HookInput<'_>) -> Result<Event, HookError>;

    /// An answer in the client's words; what an event cannot carry is not said.
    fn reply(&self, event: &Event, answer: &Answer) -> Reply;

    /// Events that ask for nothing: a broken guard reports and lets them go.
    fn reporting_events(&self) -> &'static [&'static str];

    /// The variables in which it tells a hook where it was started.
    fn project_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Which step of the agent a call belongs to.
    fn step_source(&self) -> StepSource;

    /// Whether its hooks and its transcript name a call by the same id.
    fn call_ids(&self) -> CallIds;

    /// Whether an answer of a hook can end the agent's turn.
    fn turn_end(&self) -> TurnEnd;

    /// Where it keeps a sub-agent's transcript that no hook names.
    fn agent_transcript(&self, transcript: &Path, agent: &str) -> Option<PathBuf> {
        let (_, _) = (transcript, agent);
        None
    }

    // Transcript.

    /// The folder of its transcripts, below its own.
    fn transcripts(&self) -> &'static str;

    /// Whether a file's name is one that it gives to transcripts.
    fn is_transcript(&self, path: &Path) -> bool;

    /// Whether a transcript holds the workspace's path as text.
    fn transcript_names_workspace(&self) -> bool {
        true
    }

    /// Reads one line of a transcript.
    fn read_line<'a>(&self, line: &'a str, items: &mut Vec<Item<'a>>) -> LineForm;

    /// Whether a line that is too long to be read may be an answer of the model, by its beginning.
    fn may_be_answer(&self, beginning: &str) -> bool;

    /// The lines of a transcript that is one object and not a line per entry; none for all others.
    fn lines_of_whole_file(&self, text: &str) -> Option<Vec<String>> {
        let _ = text;
        None
    }

    /// Whether the figures of an answer come behind the calls that it asked for.
    fn figures_follow_calls(&self) -> bool {
        false
    }

    // Settings.

    /// The form of the file that holds its hooks.
    fn hook_settings(&self) -> &'static HookSettings;

    /// How it comes to trust our hooks, where it runs only trusted ones.
    fn trust(&self) -> Option<&'static dyn HookTrust> {
        None
    }

    // Start and output.

    /// By what it is known in a command line.
    fn known_by(&self) -> &'static KnownBy;

    /// The form of its command line.
    fn command_line(&self) -> &'static CommandLineForm;

    /// Adds our hooks for one run; the client's own arguments begin at this index.
    ///
    /// # Errors
    /// When it cannot be done: then nothing is to be started.
    fn prepare(
        &self,
        place: &LaunchPlace<'_>,
        arguments: usize,
        prepared: &mut PreparedClient,
    ) -> Result<(), LaunchError>;

    /// What switches its hooks off where that shows before the start: a flag, a variable, a setting.
    fn hooks_switched_off(&self, place: &LaunchPlace<'_>, words: &OwnWords) -> Option<String>;

    /// Whether its arguments ask for an output that tells its end.
    fn output_tells_end(&self, own: &[String]) -> bool;

    /// Notes what a line of its output says about its end.
    fn note_output(&self, line: &[u8], message: &mut ExitMessage) -> OutputShows;

    /// The provider's status that an exit code stands for, where it refused.
    fn provider_status(&self, exit_code: u8) -> Option<u16> {
        let _ = exit_code;
        None
    }

    /// Prepares a run in a throw-away home against a model on loopback.
    ///
    /// # Errors
    /// When its settings cannot be written.
    fn prepare_trial(&self, place: &TrialPlace<'_>, command: &mut Command) -> io::Result<()>;
}

/// Which step of the agent a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepSource {
    /// The answer that asked for it, by the transcript.
    Transcript,
    /// The model request that the client announced last.
    ModelRequests,
}

/// Whether hooks and transcript name a call by the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIds {
    /// They do.
    Shared,
    /// Hooks name no calls: they can only be counted.
    Unnamed,
}

/// Whether an answer of a hook can end the agent's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// It can.
    ByAnswer,
    /// No answer ends a turn: the client has to be ended.
    ByEndingTheClient,
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
