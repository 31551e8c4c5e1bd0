//! What is special about the file that holds a client's hooks.

use crate::homes::ClientHome;
use crate::tool_servers::server_form::ServerForm;
use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

/// The form of a client's hook settings: `{"hooks": {EVENT: [ENTRY]}}` in a file of its folder.
#[derive(Debug, Clone, Copy)]
pub struct HookSettings {
    /// The client's name in our commands.
    pub client: &'static str,
    /// The folder that the file is in.
    pub home: &'static ClientHome,
    /// The file's name.
    pub file: &'static str,
    /// The events that the engine wants to hear of.
    pub events: &'static [&'static str],
    /// What the client does with a file that has comments or trailing commas.
    pub relaxed: Relaxed,
    /// Our entry for an event.
    pub entry: fn(&HookEntry<'_>) -> CstInputValue,
    /// The member of the settings that holds a command for the status line, where the client has one.
    pub status_line: Option<&'static str>,
    /// How the same file names tool servers, where it does.
    pub servers: Option<ServerForm>,
    /// The setting by which all hooks are switched off, or ours by name, if the settings hold it.
    pub switched_off: fn(&Value) -> Option<&'static str>,
}

/// What an entry of our hook says.
#[derive(Debug, Clone, Copy)]
pub struct HookEntry<'a> {
    /// The event.
    pub event: &'a str,
    /// The shell line to run.
    pub command: &'a str,
    /// How long the client waits for it.
    pub seconds: u64,
}

/// What a client does with JSON that is not strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relaxed {
    /// It reads it.
    Reads,
    /// It ignores the whole file without a message; the text says so for a person.
    Ignores(&'static str),
}
