//! The command `tripwire` as a library: the parser, and what each verb calls. The binary only runs it.

mod answer;
mod client_name;
mod console;
mod error;
mod exit;
mod help;
mod limits;
mod notify;
mod parity;
mod person;
mod policy;
mod print;
mod session;
mod sessions;
mod snapshots;
mod telemetry;
mod topics;
mod verbs;
mod version;
mod workspace;

pub use exit::Exit;

use tripwire_console::{history, moment};

use clap::{CommandFactory, FromArgMatches as _, Parser};
use std::ffi::OsString;
use std::process::ExitCode;
use verbs::{Verb, here, hook, sandbox};
use version::VersionDetail;

/// A deterministic safety runtime for autonomous LLM agents.
///
/// tripwire reads what an agent does, decides whether the agent may continue, and says why. The same events give the
/// same decisions on every machine. Without a command it prints the state of this workspace and suggests the next
/// command.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag; the second needs the first")]
#[derive(Debug, Parser)]
#[command(name = "tripwire", version, disable_version_flag = true, after_help = AFTER_HELP)]
struct Cli {
    /// Print the version.
    #[arg(short = 'V', long)]
    version: bool,
    /// With `--version`: details of this build.
    #[arg(long, requires = "version")]
    verbose: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 internal error or (`doctor`, `scan --secrets`) a check that failed, 2 usage or bad input, 3 system error or hard stop,
4 done but not verified, 5 waits for a person, 6 budget, 7 loop or no progress, 8 wall clock or step cap, 9 verification failed or the guard
is broken, 10 stopped by a person, 11 refused, 75 try again later. Data goes to stdout, messages to stderr. `tripwire VERB --help` explains a verb,
`tripwire help topics` lists the file formats and longer pages.";

/// The parser, for the reference, the man pages and the completions.
#[must_use]
pub fn command() -> clap::Command {
    help::grouped(Cli::command())
}

/// The schema of the protocol of `serve --stdio`, for the reference.
#[must_use]
pub fn stdio_schema() -> serde_json::Value {
    tripwire_embed::stdio::schema()
}

/// The answer to a plain `tripwire hook CLIENT`, before the ordinary start of the process, and its exit code; nothing for any
/// other command line.
#[cfg(target_os = "linux")]
#[must_use]
pub fn answer_early() -> Option<u8> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let client = hook::plain(&arguments)?;
    tripwire_sandbox::early::prepare().then(|| ended(hook::answer_for(client)).code())
}

/// Runs the command with these arguments and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let done = if let Some(client) = hook::plain(&arguments) {
        hook::answer_for(client)
    } else if let Some(args) = sandbox::args::plain(&arguments) {
        Ok(sandbox::exec(&args))
    } else if let Some(asked) = topics::asked(&arguments) {
        topics::print(&asked)
    } else {
        let parser = help::for_words(Cli::command(), &arguments);
        let parsed = parser.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
        match parsed {
            Ok(Cli { version: true, verbose: false, .. }) => version::print(VersionDetail::Number),
            Ok(Cli { version: true, verbose: true, .. }) => version::print(VersionDetail::Everything),
            Ok(Cli { verb: Some(verb), .. }) => verb.run(command),
            Ok(Cli { verb: None, .. }) => here::run(),
            Err(error) => Ok(print::usage(&error)),
        }
    };
    ended(done).into()
}

/// How a verb ended; a problem is told.
fn ended(done: Result<Exit, error::Problem>) -> Exit {
    done.unwrap_or_else(|problem| print::problem(&problem))
}
