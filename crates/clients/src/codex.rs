//! Codex CLI: hooks that it must trust, a rollout with the thread's totals, no answer that ends a turn.

mod app_server;
mod hook;
mod launch;
mod output;
mod settings;
mod transcript;
mod trust;
mod trusted_config;

use crate::adapter::{Adapter, CallIds, StepSource, TrialPlace, TurnEnd};
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
use std::io;
use std::path::Path;
use std::process::Command;

/// Codex CLI.
#[derive(Debug)]
pub(crate) struct CodexCli;

impl Adapter for CodexCli {
    fn name(&self) -> &'static str {
        settings::NAME
    }

    fn title(&self) -> &'static str {
        "Codex CLI"
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

    fn step_source(&self) -> StepSource {
        StepSource::Transcript
    }

    fn call_ids(&self) -> CallIds {
        CallIds::Shared
    }

    fn turn_end(&self) -> TurnEnd {
        TurnEnd::ByEndingTheClient
    }

    fn transcripts(&self) -> &'static str {
        "sessions"
    }

    fn is_transcript(&self, path: &Path) -> bool {
        let is_rollout = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"rollout-"));
        is_rollout && path.extension().is_some_and(|extension| extension == "jsonl")
    }

    fn read_line<'a>(&self, line: &'a str, items: &mut Vec<Item<'a>>) -> LineForm {
        transcript::read(line, items)
    }

    fn may_be_answer(&self, beginning: &str) -> bool {
        transcript::may_be_answer(beginning)
    }

    fn figures_follow_calls(&self) -> bool {
        true
    }

    fn hook_settings(&self) -> &'static HookSettings {
        &settings::FORM
    }

    fn trust(&self) -> Option<&'static dyn HookTrust> {
        Some(&trust::CodexTrust)
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
        launch::prepare_trial(place, command)
    }
}
