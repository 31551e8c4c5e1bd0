//! What the command can be asked: one module per verb, and one line each in the parser and in the dispatch.

mod agent;
mod allow;
mod approvals;
mod arm;
mod check;
mod completions;
mod control;
mod cost;
mod decide;
mod diff;
mod doctor;
mod explain;
mod export;
mod fleet;
mod gateway;
pub(crate) mod here;
pub(crate) mod hook;
mod identity;
mod init;
mod judge;
mod log;
mod ls;
pub(crate) mod mcp;
mod memory;
mod not_a_loop;
mod notify_and_wait;
mod policy;
mod replay;
mod report;
mod review;
mod run;
pub(crate) mod sandbox;
mod scan;
mod serve;
mod set;
mod status;
mod statusline;
mod step;
mod tune;
mod undo;
mod verify;
mod watch;
mod web;
mod why;

use crate::error::Problem;
use crate::exit::Exit;
use clap::Subcommand;

/// Everything that can be asked of the command.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(Box<run::RunArgs>),
    Agent(Box<agent::AgentArgs>),
    Status(status::StatusArgs),
    Ls(ls::LsArgs),
    Watch(watch::WatchArgs),
    Web(web::WebArgs),
    Stop(control::StopArgs),
    Pause(control::PauseArgs),
    Resume(control::ResumeArgs),
    Ack(control::AckArgs),
    Allow(allow::AllowArgs),
    Approvals(approvals::ApprovalsArgs),
    Undo(undo::UndoArgs),
    Redo(undo::RedoArgs),
    Diff(diff::DiffArgs),
    Set(set::SetArgs),
    Fleet(Box<fleet::FleetArgs>),
    Gateway(Box<gateway::GatewayArgs>),
    Mcp(Box<mcp::McpArgs>),
    Cost(cost::CostArgs),
    Report(report::ReportArgs),
    Log(log::LogArgs),
    Why(why::WhyArgs),
    Verify(verify::VerifyArgs),
    Check(check::CheckArgs),
    Export(export::ExportArgs),
    Tune(tune::TuneArgs),
    NotALoop(not_a_loop::NotALoopArgs),
    Memory(memory::MemoryArgs),
    Step(step::StepArgs),
    Serve(serve::StdioArgs),
    Decide(decide::DecideArgs),
    Replay(replay::ReplayArgs),
    Scan(scan::ScanArgs),
    Policy(policy::PolicyVerbArgs),
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
    NotifyAndWait(notify_and_wait::NotifyArgs),
    #[command(hide = true)]
    WatchScreen(watch::WatchArgs),
}

impl Verb {
    /// Runs the verb; `parser` describes all of them, for the completions.
    pub(crate) fn run(self, parser: fn() -> clap::Command) -> Result<Exit, Problem> {
        match self {
            Self::Run(args) => run::run(&args),
            Self::Agent(args) => agent::run(&args),
            Self::Status(args) => status::run(&args),
            Self::Ls(args) => ls::run(&args),
            Self::Watch(args) => watch::run(&args),
            Self::WatchScreen(args) => watch::screen(&args),
            Self::Web(args) => web::run(&args),
            Self::Tune(args) => tune::run(&args),
            Self::Stop(args) => control::stop(&args),
            Self::Pause(args) => control::pause(&args),
            Self::Resume(args) => control::resume(&args),
            Self::Ack(args) => control::ack(&args),
            Self::Allow(args) => allow::run(&args),
            Self::Approvals(args) => approvals::run(&args),
            Self::Undo(args) => undo::run(&args),
            Self::Redo(args) => undo::redo(&args),
            Self::Diff(args) => diff::run(&args),
            Self::Set(args) => set::run(&args),
            Self::Fleet(args) => fleet::run(&args),
            Self::Gateway(args) => gateway::run(&args),
            Self::Mcp(args) => mcp::run(*args),
            Self::Cost(args) => cost::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Log(args) => log::run(&args),
            Self::Why(args) => why::run(&args),
            Self::Verify(args) => verify::run(&args),
            Self::Check(args) => check::run(&args),
            Self::Export(args) => export::run(&args),
            Self::NotALoop(args) => not_a_loop::run(&args),
            Self::Memory(args) => memory::run(&args),
            Self::Step(args) => step::run(&args),
            Self::Serve(args) => serve::run(&args),
            Self::NotifyAndWait(_) => notify_and_wait::run(),
            Self::Decide(args) => decide::run(&args),
            Self::Replay(args) => replay::run(&args),
            Self::Scan(args) => scan::run(&args),
            Self::Policy(args) => policy::run(&args),
            Self::Review(args) => review::run(&args),
            Self::Identity(args) => identity::run(&args),
            Self::Explain(args) => explain::run(&args),
            Self::Init(args) => init::run(&args),
            Self::Arm(args) => arm::arm(&args),
            Self::Disarm(args) => arm::disarm(&args),
            Self::Judge(args) => judge::run(&args),
            Self::Hook(args) => hook::run(&args),
            Self::Statusline(args) => statusline::run(&args),
            Self::Sandbox(args) => sandbox::run(&args),
            Self::Doctor(args) => doctor::run(&args),
            Self::Completions(args) => completions::run(&args, parser()),
        }
    }
}
