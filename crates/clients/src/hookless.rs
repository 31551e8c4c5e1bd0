//! Clients without hooks of ours, which are guarded at the gateway of a supervised run: what they have in common.

use crate::adapter::{Adapter, Door, SandboxUse};
use crate::homes::{ClientHome, ProtectedPart, VariableNames};
use crate::hooks::answer::Turn;
use crate::hooks::dialect::{AfterTool, CallIds, ContextEvents, HookDialect, Shortening, StepSource, TurnEnd};
use crate::hooks::reply::{HookError, Reply};
use crate::install::form::{HookEntry, HookSettings, Relaxed};
use crate::launch::command_line::{CommandLineForm, KnownBy, PromptPlace};
use crate::launch::dialect::{LaunchDialect, TrialPlace};
use crate::launch::exit_message::{ExitMessage, OutputShows};
use crate::launch::model_route::{ApiVariables, GatewayPlace, ModelRoute, Routing};
use crate::launch::prepare::{LaunchError, LaunchPlace, OwnWords, PreparedClient};
use crate::transcript::{FigureOrder, LineForm, TranscriptDialect};
use jsonc_parser::cst::CstInputValue;
use serde_json::json;
use std::ffi::OsString;
use std::io;
use std::process::Command;

/// A command line of which nothing is known but the program.
pub(crate) const PLAIN: CommandLineForm = CommandLineForm {
    subcommands: &[],
    prompt_flags: &[],
    value_flags: &[],
    resume_flags: &[],
    resume_words: &[],
    one_prompt: &[],
    print_flags: &["-v", "--version", "-h", "--help"],
    manage_words: &[],
    worker_defaults: &[],
    worker_prompt: PromptPlace::Last,
};

/// The first of these options among a client's own words.
pub(crate) fn option_in(own: &[OsString], options: &[&'static str]) -> Option<&'static str> {
    let name = |word: &OsString| word.to_string_lossy().split('=').next().unwrap_or_default().to_owned();
    let words = own.iter().take_while(|word| *word != "--").map(name);
    words.into_iter().find_map(|word| options.iter().copied().find(|option| *option == word))
}

/// An adapter without hooks.
pub(crate) const fn adapter(
    title: &'static str,
    settings: &'static HookSettings,
    launch: &'static LaunchDialect,
) -> Adapter {
    Adapter {
        title,
        settings,
        trust: None,
        hooks: &HOOKS,
        transcript: &TRANSCRIPT,
        launch,
        servers: None,
        door: Door::Gateway,
        private: None,
        sandbox: SandboxUse::WITHOUT_OWN_FILES,
    }
}

/// The name of a client that has no hooks to install.
pub(crate) const fn settings(client: &'static str, home: &'static ClientHome) -> HookSettings {
    HookSettings {
        client,
        home,
        file: "",
        events: &[],
        relaxed: Relaxed::Reads,
        entry: no_entry,
        status_line: None,
        servers: None,
        switched_off: |_| None,
    }
}

/// A folder of the client's own that we write nothing to.
pub(crate) const fn home(variable: &'static str, folder: &'static str) -> ClientHome {
    ClientHome {
        variable,
        folder,
        names: VariableNames::TheFolder,
        in_workspace: ProtectedPart::Files(&[]),
        in_home: ProtectedPart::Files(&[]),
        read_only_in_run: &[],
    }
}

/// A start that only needs its model calls to take another way.
pub(crate) const fn launch(
    known_by: KnownBy,
    command_line: CommandLineForm,
    prepare: fn(&LaunchPlace<'_>, usize, &mut PreparedClient) -> Result<(), LaunchError>,
) -> LaunchDialect {
    LaunchDialect {
        known_by,
        command_line,
        prepare,
        switched_off: nothing_to_switch,
        output_tells_end: |_| false,
        note_output,
        provider_status: &[],
        prepare_trial,
        any_program: None,
    }
}

/// The gateway of the run, without which nothing would be guarded.
pub(crate) fn gateway<'a>(place: &LaunchPlace<'a>, client: &'static str) -> Result<GatewayPlace<'a>, LaunchError> {
    place.gateway.ok_or_else(|| LaunchError::Unguarded {
        client,
        why: "it has no hooks, and `--no-gateway` leaves it without a gateway".to_owned(),
    })
}

/// Sends the calls of a program that reads such variables through the gateway.
pub(crate) fn route_by_variables(
    place: &LaunchPlace<'_>,
    client: &'static str,
    tables: &[ApiVariables],
    prepared: &mut PreparedClient,
) -> Result<(), LaunchError> {
    let gateway = gateway(place, client)?;
    let routes: Vec<ModelRoute> = tables
        .iter()
        .map(|table| {
            let set = |name: &str, value: String| prepared.set(name, value.into());
            table.route(gateway, |name| place.variable_text(name), set)
        })
        .collect();
    prepared.routing = Routing::Through(routes);
    Ok(())
}

static HOOKS: HookDialect = DIALECT;

/// The dialect of a client that tells nothing by hooks.
pub(crate) const DIALECT: HookDialect = HookDialect {
    event: |_| Err(HookError { problem: "this client has no hooks".to_owned() }),
    reports: &[],
    deny,
    block: "block",
    after_tool: AfterTool::EndsTurn,
    shortens: Shortening::No,
    context: ContextEvents { before_tool: None, prompt: "", agent_start: None },
    project_variables: &[],
    step_source: StepSource::ModelRequests,
    call_ids: CallIds::Shared,
    idle_arguments: |_| &[],
    turn_end: TurnEnd::ByAnswer,
    announces: |_| false,
    shows_run: |_| true,
    agent_transcript: |_, _| None,
};

/// What the door of the gateway reads back: a refusal ends the reply or the request that it is about.
pub(crate) fn deny(reason: &str, turn: Turn) -> Reply {
    Reply::json(&json!({"decision": "deny", "reason": reason, "continue": turn == Turn::GoesOn}))
}

pub(crate) static TRANSCRIPT: TranscriptDialect = TranscriptDialect {
    folder: "",
    is_transcript: |_| false,
    names_workspace: false,
    read_line: |_, _| LineForm::Foreign,
    may_be_answer: |_| false,
    lines_of_whole_file: |_| None,
    figures: FigureOrder::BeforeCalls,
    folder_in_line: |_| None,
};

fn no_entry(_: &HookEntry<'_>) -> CstInputValue {
    CstInputValue::Null
}

fn nothing_to_switch(_: &LaunchPlace<'_>, _: &OwnWords) -> Option<String> {
    None
}

fn note_output(_: &[u8], _: &mut ExitMessage) -> OutputShows {
    OutputShows::Other
}

fn prepare_trial(_: &TrialPlace<'_>, _: &mut Command) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
