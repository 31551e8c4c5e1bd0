//! The MCP guard as a way in: one event for each call of a tool server, whichever client makes it.
//!
//! It is no client. Its questions have the form of a hook's, so that the session's own process and the supervisor of a run
//! answer them in the same way.

use crate::adapter::{Adapter, Door, SandboxUse};
use crate::homes::ClientHome;
use crate::hookless;
use crate::hooks::dialect::{ContextEvents, HookDialect};
use crate::hooks::event::Event;
use crate::hooks::reply::HookError;
use crate::hooks::wire::{HookInput, text};
use crate::install::form::HookSettings;
use crate::launch::command_line::KnownBy;
use crate::launch::dialect::LaunchDialect;
use crate::launch::prepare::LaunchError;
use crate::transcript::ToolOutput;

/// A tool server is about to be called.
pub const ASKED: &str = "tools/call";
/// A tool server has answered.
pub const DONE: &str = "tools/result";

const TITLE: &str = "an MCP server behind the guard";

/// The MCP guard.
pub(crate) static ADAPTER: Adapter = Adapter {
    title: TITLE,
    settings: &SETTINGS,
    trust: None,
    hooks: &HOOKS,
    transcript: &hookless::TRANSCRIPT,
    launch: &LAUNCH,
    servers: None,
    door: Door::OwnGuard,
    private: None,
    sandbox: SandboxUse::WITHOUT_OWN_FILES,
};

static SETTINGS: HookSettings = hookless::settings("mcp", &HOME);
static HOME: ClientHome = hookless::home("", "");
static LAUNCH: LaunchDialect = hookless::launch(KNOWN_BY, hookless::PLAIN, |_, _, _| {
    Err(LaunchError::Unguarded { client: TITLE, why: "it is a server and no agent".to_owned() })
});
const KNOWN_BY: KnownBy = KnownBy { package: "", programs: &[], package_folder: "", agent_variables: &[] };

static HOOKS: HookDialect = HookDialect {
    event,
    reports: &[DONE],
    context: ContextEvents { before_tool: Some(ASKED), prompt: "", agent_start: None },
    ..hookless::DIALECT
};

fn event(input: &HookInput<'_>) -> Result<Event, HookError> {
    match input.hook_event_name.as_ref() {
        ASKED => Ok(Event::Asked(input.tool()?)),
        DONE => {
            let failed = Some(input.error.is_some());
            input.done(ToolOutput { text: text(input.tool_response), failed, exit_code: None })
        }
        _ => Ok(Event::Other),
    }
}
