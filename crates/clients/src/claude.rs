//! Claude Code: hooks by settings file, a transcript with a line per block, an answer that can end a turn.

mod hook;
mod launch;
mod output;
mod settings;
pub mod statusline;
mod transcript;

use crate::adapter::{Adapter, CallIds, StepSource, TrialPlace, TurnEnd};
use crate::homes::ClientHome;
use crate::hooks::answer::Answer;
use crate::hooks::event::Event;
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::HookInput;
use crate::install::form::HookSettings;
use crate::launch::command_line::{CommandLineForm, KnownBy};
use crate::launch::exit_message::{ExitMessage, OutputShows};
use crate::launch::prepare::{LaunchError, LaunchPlace, OwnWords, PreparedClient};
use crate::transcript::{Item, LineForm};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Claude Code.
#[derive(Debug)]
pub(crate) struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn name(&self) -> &'static str {
        settings::NAME
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn home(&self) -> &'static ClientHome {
        &settings::HOME
    }

    fn event(&self, input: &HookInput<'_>) -> Result<Event, HookError> {
        hook::event(input)
    }

    fn reply(&self, event: &Event, answer: &Answer) -> Reply {
        hook::reply(event, answer)
    }

    fn reporting_events(&self) -> &'static [&'static str] {
        hook::REPORTS
    }

    fn project_variables(&self) -> &'static [&'static str] {
        &["CLAUDE_PROJECT_DIR"]
    }

    fn step_source(&self) -> StepSource {
        StepSource::Transcript
    }

    fn call_ids(&self) -> CallIds {
        CallIds::Shared
    }

    fn turn_end(&self) -> TurnEnd {
        TurnEnd::ByAnswer
    }

    fn agent_transcript(&self, transcript: &Path, agent: &str) -> Option<PathBuf> {
        let plain = !agent.is_empty() && agent.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let folder = transcript.with_extension("").join("subagents");
        plain.then(|| folder.join(format!("agent-{agent}.jsonl")))
    }

    fn transcripts(&self) -> &'static str {
        "projects"
    }

    fn is_transcript(&self, path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == "jsonl")
    }

    fn read_line<'a>(&self, line: &'a str, items: &mut Vec<Item<'a>>) -> LineForm {
        transcript::read(line, items)
    }

    fn may_be_answer(&self, beginning: &str) -> bool {
        transcript::may_be_answer(beginning)
    }

    fn hook_settings(&self) -> &'static HookSettings {
        &settings::FORM
    }

    fn known_by(&self) -> &'static KnownBy {
        &launch::KNOWN_BY
    }

    fn command_line(&self) -> &'static CommandLineForm {
        &launch::COMMAND_LINE
    }

    fn prepare(
        &self,
        place: &LaunchPlace<'_>,
        arguments: usize,
        prepared: &mut PreparedClient,
    ) -> Result<(), LaunchError> {
        launch::prepare(place, arguments, prepared)
    }

    fn hooks_switched_off(&self, place: &LaunchPlace<'_>, words: &OwnWords) -> Option<String> {
        launch::switched_off(place, words)
    }

    fn output_tells_end(&self, own: &[String]) -> bool {
        output::tells_end(own)
    }

    fn note_output(&self, line: &[u8], message: &mut ExitMessage) -> OutputShows {
        output::note(line, message)
    }

    fn prepare_trial(&self, place: &TrialPlace<'_>, command: &mut Command) -> io::Result<()> {
        launch::prepare_trial(place, command);
        Ok(())
    }
}
