//! `tripwire hook`: what a client calls for each event. It never crashes and never prints what a client would reject.

use crate::exit::Exit;
use crate::output::Out;
use crate::problem::Problem;
use clap::{Args, ValueEnum};
use std::io::Read;
use std::path::Path;
use tripwire_adapters::hooks::{Reply, claude};
use tripwire_host::clock;
use tripwire_host::foreign::Foreign;
use tripwire_host::workspace::{Places, Workspace};

/// The largest hook input that is read; a tool's whole output may be inside.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Answer one event of a client: its hook input on standard input, the decision in its own form on standard output.
///
/// For now Claude Code's events before and after a tool call, at a prompt and at the end of a turn are decided; while
/// `.geometry/PAUSE` or `.geometry/STOP` exists every call is refused. Whatever breaks inside is a refusal.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The client that calls.
    client: Client,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Client {
    /// Claude Code.
    Claude,
}

/// Runs the verb.
pub(crate) fn run(args: &HookArgs) -> Result<Exit, Problem> {
    let reply = match args.client {
        Client::Claude => answer().unwrap_or_else(|why| claude::broken(&why)),
    };
    if !reply.stderr.is_empty() {
        crate::output::say(&reply.stderr);
    }
    if !reply.stdout.is_empty() {
        let mut out = Out::lock();
        out.line(&reply.stdout)?;
        out.flush()?;
    }
    Ok(if reply.exit_code == 0 { Exit::Done } else { Exit::Refusal })
}

/// The answer, or why there can be none.
fn answer() -> Result<Reply, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input cannot be read: {error}"))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > INPUT_BYTES_MAX {
        return Err("the hook's input is larger than 64 MiB".to_owned());
    }
    let call = claude::read(&bytes).map_err(|error| error.to_string())?;
    if !call.concerns_the_engine() {
        return Ok(Reply::default());
    }
    let workspace = workspace(&call.cwd)?;
    let now = clock::now();
    let foreign = Foreign { client: claude::CLIENT, session: &call.session };
    let mut observer = foreign.observer(workspace.layout());
    let Some(what) = call.input(&mut observer) else { return Ok(Reply::default()) };
    let told = |error: tripwire_host::driver::DriverError| format!("{error}; {}", error.hint());
    let driver = foreign.open(workspace.layout(), now).map_err(told)?;
    let mut driver = driver.signed_by(crate::place::signing(&workspace));
    let taken = driver.take_now(what, clock::now).map_err(told)?;
    crate::step::tell(&driver, &taken);
    foreign.keep_observer(workspace.layout(), &observer);
    Ok(call.reply(&taken.decision))
}

fn workspace(start: &Path) -> Result<Workspace, String> {
    let variable = |name| std::env::var_os(name).map(std::path::PathBuf::from);
    let places = Places { xdg_state_home: variable("XDG_STATE_HOME"), home: variable("HOME") };
    Workspace::open(start, &places).map_err(|error| format!("{error}; {}", error.hint()))
}
