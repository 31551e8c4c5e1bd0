//! The command `tripwire` as a library: the parser, and what each verb calls. The binary only runs it.

mod completions;
mod decide;
mod exit;
mod explain;
mod hook;
mod output;
mod policy;
mod problem;
mod replay;
mod sandbox;
mod sandbox_network;
mod sandbox_print;
mod scan;
mod words;

pub use exit::Exit;

use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// A deterministic safety runtime for autonomous LLM agents.
///
/// Event streams in, decisions out: what an agent is doing, whether it may go on, and why. The same events give the
/// same decisions on every machine.
#[derive(Debug, Parser)]
#[command(name = "tripwire", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 internal error, 2 usage or bad input, 9 what was checked does not hold.
Data goes to stdout, talk to stderr. `tripwire VERB --help` tells more.";

/// Everything that can be asked of the command.
#[derive(Debug, Subcommand)]
enum Verb {
    Decide(decide::DecideArgs),
    Replay(replay::ReplayArgs),
    Scan(scan::ScanArgs),
    Policy(policy::PolicyArgs),
    Explain(explain::ExplainArgs),
    Hook(hook::HookArgs),
    Sandbox(Box<sandbox::SandboxArgs>),
    Doctor(sandbox::DoctorArgs),
    Completions(completions::CompletionsArgs),
}

/// The parser, for the reference, the man pages and the completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command with these arguments and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error).into(),
    };
    let done = match cli.verb {
        Verb::Decide(args) => decide::run(&args),
        Verb::Replay(args) => replay::run(&args),
        Verb::Scan(args) => scan::run(&args),
        Verb::Policy(args) => policy::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Hook(args) => hook::run(&args),
        Verb::Sandbox(args) => return sandbox::run(&args),
        Verb::Doctor(args) => return sandbox::doctor(&args),
        Verb::Completions(args) => completions::run(&args),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(problem) => output::problem(&problem).into(),
    }
}
