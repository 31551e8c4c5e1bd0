//! The command `tripwire` as a library: the parser, and what each verb calls. The binary only runs it.

mod client_name;
mod error;
mod exit;
mod history;
mod limits;
mod person;
mod print;
mod session;
mod verbs;
mod workspace;

pub use exit::Exit;

use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;
use verbs::{
    agent, allow, arm, completions, control, decide, doctor, explain, export, hook, identity, init, judge, log, memory,
    not_a_loop, policy, replay, review, run, sandbox, scan, status, statusline, step, verify, why,
};

/// A deterministic safety runtime for autonomous LLM agents.
///
/// Event streams in, decisions out: what an agent is doing, whether it may go on, and why. The same events give the
/// same decisions on every machine.
#[derive(Debug, Parser)]
#[command(name = "tripwire", version, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 internal error or (`doctor`) a promise not kept, 2 usage or bad input, 3 system error or hard stop,
4 done but not verified, 5 waits for a person, 6 budget, 7 loop or no progress, 8 wall clock or step cap, 9 what was checked does not hold,
10 stopped by a person, 11 refused, 75 not now. Data goes to stdout, talk to stderr. `tripwire VERB --help` tells more.";

/// Everything that can be asked of the command.
#[derive(Debug, Subcommand)]
enum Verb {
    Run(Box<run::RunArgs>),
    Agent(Box<agent::AgentArgs>),
    Status(status::StatusArgs),
    Stop(control::StopArgs),
    Pause(control::PauseArgs),
    Resume(control::ResumeArgs),
    Ack(control::AckArgs),
    Allow(allow::AllowArgs),
    Log(log::LogArgs),
    Why(why::WhyArgs),
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
    NotALoop(not_a_loop::NotALoopArgs),
    Memory(memory::MemoryArgs),
    Step(step::StepArgs),
    Decide(decide::DecideArgs),
    Replay(replay::ReplayArgs),
    Scan(scan::ScanArgs),
    Policy(policy::PolicyArgs),
    Review(review::ReviewArgs),
    Identity(identity::IdentityArgs),
    Explain(explain::ExplainArgs),
    Init(init::InitArgs),
    Arm(arm::ArmArgs),
    Disarm(arm::DisarmArgs),
    Judge(judge::JudgeArgs),
    Hook(hook::HookArgs),
    Statusline(statusline::StatuslineArgs),
    Sandbox(Box<sandbox::SandboxArgs>),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    NotifyAndWait(step::NotifyArgs),
}

/// The parser, for the reference, the man pages and the completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// The sandbox verbs alone: describing all verbs to the parser costs a twentieth of a short sandboxed run.
#[derive(Debug, Parser)]
#[command(name = "tripwire", disable_help_subcommand = true)]
struct SandboxCli {
    #[command(subcommand)]
    verb: SandboxOnly,
}

#[derive(Debug, Subcommand)]
enum SandboxOnly {
    Sandbox(Box<sandbox::SandboxArgs>),
}

/// Runs the command with these arguments and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(client) = hook::plain(&arguments) {
        return match hook::answer_for(client) {
            Ok(exit) => exit.into(),
            Err(problem) => print::problem(&problem).into(),
        };
    }
    if let Some(args) = sandbox::args::plain(&arguments) {
        return sandbox::exec(&args);
    }
    if arguments.get(1).is_some_and(|verb| verb == "sandbox")
        && let Ok(SandboxCli { verb: SandboxOnly::Sandbox(args) }) = SandboxCli::try_parse_from(&arguments)
    {
        return sandbox::run(&args);
    }
    // Help and every complaint come from the whole parser, so that they read the same for all verbs.
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return print::usage(&error).into(),
    };
    let done = match cli.verb {
        Verb::Run(args) => run::run(&args),
        Verb::Agent(args) => agent::run(&args),
        Verb::Status(args) => status::run(&args),
        Verb::Stop(args) => control::stop(&args),
        Verb::Pause(args) => control::pause(&args),
        Verb::Resume(args) => control::resume(&args),
        Verb::Ack(args) => control::ack(&args),
        Verb::Allow(args) => allow::run(&args),
        Verb::Log(args) => log::run(&args),
        Verb::Why(args) => why::run(&args),
        Verb::Verify(args) => verify::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::NotALoop(args) => not_a_loop::run(&args),
        Verb::Memory(args) => memory::run(&args),
        Verb::Step(args) => step::run(&args),
        Verb::NotifyAndWait(args) => step::run_notify(&args),
        Verb::Decide(args) => decide::run(&args),
        Verb::Replay(args) => replay::run(&args),
        Verb::Scan(args) => scan::run(&args),
        Verb::Policy(args) => policy::run(&args),
        Verb::Review(args) => review::run(&args),
        Verb::Identity(args) => identity::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Init(args) => init::run(&args),
        Verb::Arm(args) => arm::arm(&args),
        Verb::Disarm(args) => arm::disarm(&args),
        Verb::Judge(args) => judge::run(&args),
        Verb::Hook(args) => hook::run(&args),
        Verb::Statusline(args) => statusline::run(&args),
        Verb::Sandbox(args) => return sandbox::run(&args),
        Verb::Doctor(args) => return doctor::run(&args),
        Verb::Completions(args) => completions::run(&args),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(problem) => print::problem(&problem).into(),
    }
}
