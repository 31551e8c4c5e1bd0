//! Claude Code's settings: where they are, which events call our hook, and how an entry looks.

use crate::homes::{ClientHome, ProtectedPart, VariableNames};
use crate::install::form::{HookEntry, HookSettings, Relaxed};
use jsonc_parser::cst::CstInputValue;
use jsonc_parser::json;
use serde_json::Value;

pub(super) const NAME: &str = "claude";

/// Its files of settings: the shared one, and the one that stays out of commits.
pub(super) const FILES: [&str; 2] = ["settings.json", "settings.local.json"];

pub(super) static HOME: ClientHome = ClientHome {
    variable: "CLAUDE_CONFIG_DIR",
    folder: ".claude",
    names: VariableNames::TheFolder,
    in_workspace: ProtectedPart::SettingsFiles,
    in_home: ProtectedPart::SettingsFiles,
    read_only_in_run: &FILES,
};

pub(super) static FORM: HookSettings = HookSettings {
    client: NAME,
    home: &HOME,
    file: "settings.json",
    events: &[
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "SessionStart",
        "SessionEnd",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
    ],
    relaxed: Relaxed::Ignores("Claude Code ignores settings"),
    entry,
    status_line: Some("statusLine"),
    servers: None,
    switched_off,
};

fn entry(hook: &HookEntry<'_>) -> CstInputValue {
    let HookEntry { command, seconds, .. } = *hook;
    json!({ "matcher": "*", "hooks": [
        { "type": "command", "command": command, "timeout": seconds, "onFailure": "block" }] })
}

fn switched_off(settings: &Value) -> Option<&'static str> {
    (settings["disableAllHooks"] == true).then_some("disableAllHooks")
}
