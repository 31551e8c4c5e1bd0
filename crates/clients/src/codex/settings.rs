//! Codex CLI's file of hooks: where it is, which events call our hook, and how an entry looks.

use crate::homes::{ClientHome, ProtectedPart, VariableNames};
use crate::install::form::{HookEntry, HookSettings, Relaxed};
use jsonc_parser::cst::CstInputValue;
use jsonc_parser::json;

pub(super) const NAME: &str = "codex";

pub(super) static HOME: ClientHome = ClientHome {
    variable: "CODEX_HOME",
    folder: ".codex",
    names: VariableNames::TheFolder,
    in_workspace: ProtectedPart::WholeFolder,
    in_home: ProtectedPart::Files(&["config.toml", "hooks.json", "requirements.toml"]),
    // The client writes its trust in a folder into its `config.toml`, so that one stays open.
    read_only_in_run: &["hooks.json"],
};

pub(super) static FORM: HookSettings = HookSettings {
    client: NAME,
    home: &HOME,
    file: "hooks.json",
    events: &[
        "PreToolUse",
        "PostToolUse",
        "UserPromptSubmit",
        "SessionStart",
        "SessionEnd",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
    ],
    relaxed: Relaxed::Ignores("Codex ignores hooks"),
    entry,
    status_line: None,
    servers: None,
    switched_off: |_| None,
};

/// The client cuts longer waits at the end of a session to three seconds anyway, and says so each time.
pub(super) fn seconds_for(event: &str, seconds: u64) -> u64 {
    if event == "SessionEnd" { 3 } else { seconds }
}

fn entry(hook: &HookEntry<'_>) -> CstInputValue {
    let (command, seconds) = (hook.command, seconds_for(hook.event, hook.seconds));
    json!({ "hooks": [{ "type": "command", "command": command, "timeout": seconds }] })
}
