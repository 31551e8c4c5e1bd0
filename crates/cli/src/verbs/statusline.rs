//! `tripwire statusline`: one line about the session for Claude Code's status bar. It never fails loudly.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Out;
use crate::workspace::places;
use clap::Args;
use tripwire_clients::claude::statusline;
use tripwire_clients::hooks::window;
use tripwire_core::visible::visible;
use tripwire_fs::bounded;
use tripwire_session::driver::Driver;
use tripwire_session::foreign::Foreign;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;

/// Show one line about the session that Claude Code names on standard input: money, time, context, health, tests, holds.
///
/// For the `statusLine` command in Claude Code's settings. Errors are shown in the line; the exit code is always 0.
#[derive(Debug, Args)]
pub(crate) struct StatuslineArgs {}

/// The most that is read of what the client tells.
const INPUT_BYTES_MAX: u64 = 1 << 20;

/// Runs the verb.
pub(crate) fn run(_args: &StatuslineArgs) -> Result<Exit, Problem> {
    let line = line().unwrap_or_else(|why| format!("tripwire: guard broken: {why}"));
    let mut out = Out::lock();
    out.line(&visible(line.lines().next().unwrap_or_default()))?;
    out.flush()?;
    Ok(Exit::Done)
}

fn line() -> Result<String, String> {
    let input = bounded::read_beginning(std::io::stdin().lock(), INPUT_BYTES_MAX).map_err(|error| error.to_string())?;
    let given = statusline::read(&input).map_err(|error| error.to_string())?;
    let workspace = Workspace::locate(&given.cwd, &places()).map_err(|error| error.to_string())?;
    let foreign = Foreign { client: statusline::CLIENT, session: &given.session };
    let Some(session) = foreign.known(workspace.layout()) else {
        return Ok("tripwire: no session yet".to_owned());
    };
    if let Some(size) = given.window {
        window::write(workspace.layout(), &given.session, size).map_err(|error| error.to_string())?;
    }
    let driver = Driver::resume(workspace.layout(), &session).map_err(|error| error.to_string())?;
    let minutes = clock::now().epoch_ms().saturating_sub(driver.start().epoch_ms()) / 60_000;
    Ok(statusline::line(&driver.view(), minutes))
}
