//! Gemini CLI's settings: where they are, which events call our hook, and how an entry looks.

use crate::homes::{ClientHome, ProtectedPart, VariableNames};
use crate::install::form::{HookEntry, HookSettings, Relaxed};
use crate::tool_servers::server_form::ServerForm;
use jsonc_parser::cst::CstInputValue;
use jsonc_parser::json;
use serde_json::Value;

pub(super) const NAME: &str = "gemini";
pub(super) const FILE: &str = "settings.json";

/// How its settings name tool servers.
pub(super) const SERVER_FORM: ServerForm = ServerForm::McpServers { also_in: None };

pub(super) static HOME: ClientHome = ClientHome {
    variable: "GEMINI_CLI_HOME",
    folder: ".gemini",
    names: VariableNames::ItsParent,
    in_workspace: ProtectedPart::Files(&[FILE]),
    in_home: ProtectedPart::Files(&[FILE]),
    read_only_in_run: &[FILE],
};

pub(super) static FORM: HookSettings = HookSettings {
    client: NAME,
    home: &HOME,
    file: FILE,
    // Those that come with every part of an answer are left out: they cost most and tell least.
    events: &["SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"],
    relaxed: Relaxed::Reads,
    entry,
    status_line: None,
    servers: Some(SERVER_FORM),
    switched_off,
};

fn entry(hook: &HookEntry<'_>) -> CstInputValue {
    let (name, milliseconds) = (format!("tripwire-{}", hook.event), hook.seconds.saturating_mul(1_000));
    let command = hook.command;
    json!({ "matcher": "*", "hooks": [
        { "type": "command", "name": name, "command": command, "timeout": milliseconds }] })
}

fn switched_off(settings: &Value) -> Option<&'static str> {
    if settings["hooksConfig"]["enabled"] == false {
        return Some("hooksConfig.enabled");
    }
    let named = settings["hooksConfig"]["disabled"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_ours = |name: &Value| name.as_str().is_some_and(|name| name.starts_with("tripwire-"));
    named.iter().any(is_ours).then_some("hooksConfig.disabled")
}
