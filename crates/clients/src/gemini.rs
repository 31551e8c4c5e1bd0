//! Gemini CLI: hooks in a home of the run's own, a session file with calls and results together.

mod hook;
mod launch;
mod output;
mod settings;
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
use std::path::Path;
use std::process::Command;

/// Gemini CLI.
#[derive(Debug)]
pub(crate) struct GeminiCli;

impl Adapter for GeminiCli {
    fn name(&self) -> &'static str {
        settings::NAME
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
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
        &["GEMINI_PROJECT_DIR"]
    }

    fn step_source(&self) -> StepSource {
        StepSource::ModelRequests
    }

    fn call_ids(&self) -> CallIds {
        CallIds::Unnamed
    }

    fn turn_end(&self) -> TurnEnd {
        TurnEnd::ByAnswer
    }

    fn transcripts(&self) -> &'static str {
        "tmp"
    }

    fn is_transcript(&self, path: &Path) -> bool {
        let in_chats = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "chats");
        let is_session = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"session-"));
        in_chats && is_session && path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl")
    }

    fn read_line<'a>(&self, line: &'a str, items: &mut Vec<Item<'a>>) -> LineForm {
        transcript::read(line, items)
    }

    fn may_be_answer(&self, beginning: &str) -> bool {
        transcript::may_be_answer(beginning)
    }

    /// It names the folder by a hash.
    fn transcript_names_workspace(&self) -> bool {
        false
    }

    fn lines_of_whole_file(&self, text: &str) -> Option<Vec<String>> {
        transcript::lines_of_whole_file(text)
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
        let _ = arguments;
        launch::prepare(place, prepared)
    }

    fn hooks_switched_off(&self, place: &LaunchPlace<'_>, words: &OwnWords) -> Option<String> {
        let _ = words;
        launch::switched_off(place)
    }

    fn output_tells_end(&self, own: &[String]) -> bool {
        output::tells_end(own)
    }

    fn note_output(&self, line: &[u8], message: &mut ExitMessage) -> OutputShows {
        output::note(line, message)
    }

    /// Its exit code is the provider's status, cut to a byte.
    fn provider_status(&self, exit_code: u8) -> Option<u16> {
        const STATUS: [(u8, u16); 3] = [(173, 429), (247, 503), (17, 529)];
        STATUS.into_iter().find(|(cut, _)| *cut == exit_code).map(|(_, status)| status)
    }

    fn prepare_trial(&self, place: &TrialPlace<'_>, command: &mut Command) -> io::Result<()> {
        launch::prepare_trial(place, command)
    }
}
