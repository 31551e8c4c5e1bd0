//! `tripwire run`: someone else's agent under the guard, for one run, with nothing installed.

mod notes;
pub(crate) mod report;
mod sandbox;

use crate::client_name::GuardedName;
use crate::error::Problem;
use crate::exit::Exit;
use crate::limits::{self, TimeOfDay};
use crate::print;
use crate::print::terminal;
use crate::telemetry::{Telemetry, TelemetryNotifier};
use crate::verbs::fleet::{FleetChoice, FleetLink};
use crate::workspace::{self, Where};
use clap::Args;
use notes::KeptNotes;
use sandbox::SandboxChoice;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tripwire_core::explain::Explain;
use tripwire_fs::file;
use tripwire_session::driver::{Driver, Reporting, StepOutcome, frozen_policy};
use tripwire_supervisor::{
    self as supervisor, GatewaySwitch, Notifier, Output, Presence, RunError, RunOptions, RunReport, StderrUse,
    WatchLimits,
};
use tripwire_workspace::clock;
use tripwire_workspace::session::SessionId;

/// Run Claude Code, Codex, Gemini CLI or another agent under the guard, for this run only; nothing is installed or
/// changed.
///
/// The client's hooks are set up for this run only. Its model calls go through a gateway that is private to the run;
/// the gateway counts them, keeps them within the budget and holds the provider's key. The client's processes form
/// one tree that can be frozen and reliably ended. This process is the only writer of the session's journal. Clients
/// without hooks (opencode, Qwen Code, aider, any program with `--client`) are guarded at the gateway only. The
/// client's input and output are not altered; the report is printed on standard error at the end. `tripwire stop`,
/// `pause` and `resume` work from any other terminal.
///
/// Exit codes: 0 if the agent is done and its work is verified (or there was nothing to verify), 4 if it is done and
/// not verified, 5 held for a person, 6 budget, 7 loop or no progress, 8 wall clock, 9 guard broken, 10 stopped by a
/// person, 75 parked because the provider is rate limited or overloaded, 3 if the client ended without finishing.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    place: Where,
    /// The most that the run may cost, such as `5usd`.
    #[arg(long, value_name = "AMOUNT", value_parser = limits::budget)]
    budget: Option<u64>,
    /// The longest that the run may take, such as `2h` or `90m`.
    #[arg(long, value_name = "SPAN", value_parser = limits::span)]
    max_runtime: Option<Duration>,
    /// The latest time at which the run ends, in local time, such as `07:00`.
    #[arg(long, value_name = "TIME", value_parser = limits::time_of_day)]
    until: Option<TimeOfDay>,
    /// The command that verifies the work; it runs at the end, and the agent is told about it.
    #[arg(long, value_name = "COMMAND", value_parser = limits::test_command)]
    verify: Option<String>,
    /// The engine to continue with when this one is rate limited: a client's name or its command line; may be
    /// repeated.
    #[arg(long, value_name = "CLIENT")]
    engine_fallback: Vec<String>,
    /// Which profile of the loop rules applies: `balanced` or `strict`.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The client, if the program's name does not reveal it; `anthropic`, `openai` and `gemini` guard any program
    /// that reads its model's address from the usual variables.
    #[arg(long, value_name = "CLIENT")]
    client: Option<GuardedName>,
    #[command(flatten)]
    gateway: GatewayChoice,
    #[command(flatten)]
    sandbox: SandboxChoice,
    #[command(flatten)]
    fleet: FleetChoice,
    /// Write the report as one JSON object to standard error.
    #[arg(long)]
    json: bool,
    /// Also write the report as one JSON object to this file; the file is replaced atomically.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The client's command line, after the options of `run`; a `--` before it is optional.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The way of the client's model calls.
#[derive(Debug, Args)]
struct GatewayChoice {
    /// Let the client call its model directly: calls are not counted, limited or cut off, and the report says so.
    #[arg(long)]
    no_gateway: bool,
}

impl GatewayChoice {
    const fn switch(&self) -> GatewaySwitch {
        if self.no_gateway { GatewaySwitch::Off } else { GatewaySwitch::On }
    }
}

/// Tells a person who is elsewhere that the run has ended, and how.
fn tell_end(options: &RunOptions, report: &RunReport, exit: Exit) {
    let session = SessionId::parse(&report.session).ok();
    let policy = session.and_then(|session| frozen_policy(options.workspace.layout(), &session));
    if let (Some(policy), Some(line)) = (policy, report::lines(report, exit).first()) {
        crate::notify::finished(&policy, &report.session, line.trim());
    }
}

/// Runs the verb.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Problem> {
    let mut options = options(args)?;
    // Served until the run is over.
    let _network = args.sandbox.open(&mut options)?;
    if let Some(file) = &args.report {
        // Before anything is spent: a report that cannot be written is no report.
        file::replace(file, b"").map_err(|error| Problem::open(file, error.into_cause()))?;
    }
    let terminal = terminal::SavedTerminal::save();
    let notes = Arc::new(KeptNotes::default());
    let notifier: Arc<dyn Notifier> =
        if args.json { Arc::<KeptNotes>::clone(&notes) } else { Arc::new(TerminalNotifier) };
    if let Some(why) = args.sandbox.reason_for_none(&options) {
        notifier.say(&why);
    }
    let talk = Arc::clone(&notifier);
    let fleet = FleetLink::open(args.fleet, &options.workspace, Box::new(move |line| talk.say(line)))?;
    (options.replica, options.money) = (fleet.replica(), fleet.money());
    let report = supervise(&options, notifier);
    fleet.finish();
    let report = report?;
    // The report is read on the person's own screen, each line from the left edge.
    if report::ended_by_guard(&report.ending) {
        terminal.restore();
    } else {
        drop(terminal);
    }
    let exit = report::exit_of(&report);
    tell_end(&options, &report, exit);
    let object = report::json(&report, exit, &notes.taken());
    if let Some(file) = &args.report {
        // The run is over: its exit code says more than a full disk does.
        if let Err(error) = file::replace(file, format!("{object}\n").as_bytes()) {
            print::say(&format!("tripwire: the report is not written: {error}"));
        }
    }
    if args.json {
        print::say_whole(&object.to_string());
    } else {
        let lines = terminal::fit(&report::lines(&report, exit), terminal::columns_of_talk());
        lines.iter().for_each(|line| print::say(line));
    }
    Ok(exit)
}

/// Runs the client and exports what is decided, if the environment asks for it; the export ends before the report.
fn supervise(options: &RunOptions, notifier: Arc<dyn Notifier>) -> Result<RunReport, RunError> {
    let talk = Arc::clone(&notifier);
    let telemetry = Arc::new(Telemetry::begin(&options.workspace, Box::new(move |line| talk.say(line))));
    let program = options.command.first().map(|program| Path::new(program).file_name().unwrap_or(program.as_os_str()));
    let agent = program.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let told = TelemetryNotifier { inner: notifier, telemetry: Arc::clone(&telemetry), agent };
    let report = supervisor::run(options, Arc::new(told));
    telemetry.finish();
    report
}

/// Options of ours that no client has: after the client's name they would be passed to the client and limit nothing.
const OWN_OPTIONS: [&str; 10] = [
    "--fleet",
    "--budget",
    "--max-runtime",
    "--until",
    "--verify",
    "--engine-fallback",
    "--no-gateway",
    "--no-sandbox",
    "--allow-host",
    "--report",
];

/// An option of ours among the client's words.
#[derive(Debug, thiserror::Error)]
#[error("`{option}` comes after the client's name, where it would be passed to the client and limit nothing")]
struct MisplacedOptionError {
    option: String,
    client: String,
}

impl Explain for MisplacedOptionError {
    fn hint(&self) -> Cow<'_, str> {
        format!("put it first: `tripwire run {} … {} …`", self.option, self.client).into()
    }
}

fn check_order(args: &RunArgs) -> Result<(), MisplacedOptionError> {
    let mut words = args.command.iter().map(|word| word.to_string_lossy());
    let client = words.next().unwrap_or_default().into_owned();
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    match words.map(|word| name(&word)).find(|word| OWN_OPTIONS.contains(&word.as_str())) {
        Some(option) => Err(MisplacedOptionError { option, client }),
        None => Ok(()),
    }
}

fn options(args: &RunArgs) -> Result<RunOptions, Problem> {
    check_order(args)?;
    let settings = settings(args)?;
    let workspace = args.place.open()?;
    let setup = |what| move |error| Problem::from(RunError::Setup { what, error });
    let cwd = match args.place.given() {
        Some(folder) => folder.canonicalize().map_err(|error| Problem::open(folder, error))?,
        None => std::env::current_dir().map_err(setup("find the current folder"))?,
    };
    let person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let words = |text: &String| text.split_whitespace().map(OsString::from).collect();
    Ok(RunOptions {
        command: args.command.clone(),
        client: args.client.map(GuardedName::client),
        cwd,
        env: std::env::vars_os().collect(),
        homes: workspace::homes(),
        hidden: workspace::hidden(),
        kept: workspace::read_only(),
        temporary: workspace::temporary(),
        program: std::env::current_exe().map_err(setup("find our own program"))?,
        settings,
        verify: args.verify.clone(),
        fallbacks: args.engine_fallback.iter().map(words).collect(),
        output: Output::Passed,
        stderr: if args.json { StderrUse::ReportOnly } else { StderrUse::Shared },
        presence: if person { Presence::Terminal } else { Presence::Headless },
        reporting: Reporting::Own,
        signing: workspace::signing(&workspace),
        replica: None,
        money: None,
        payer: None,
        limits: WatchLimits::at_most(std::env::var(WatchLimits::SECONDS_VARIABLE).ok().as_deref()),
        gateway: args.gateway.switch(),
        sandbox: None,
        cpu: args.sandbox.cpu(),
        workspace,
    })
}

/// What the flags set in the policy, before it is frozen.
fn settings(args: &RunArgs) -> Result<Vec<(String, String)>, Problem> {
    let mut settings = Vec::new();
    let mut set = |path: &str, text: String| settings.push((path.to_owned(), text));
    if let Some(budget) = args.budget {
        set("money.budget_micro_usd", budget.to_string());
    }
    let until = match args.until {
        Some(time) => Some(time.left_at(clock::now().epoch_ms() / 1_000).ok_or(Problem::NoLocalTime)?),
        None => None,
    };
    if let Some(limit) = [args.max_runtime, until].into_iter().flatten().min() {
        set("limits.max_session_runtime_ms", limit.as_millis().to_string());
    }
    if let Some(command) = &args.verify {
        set("dirty_bits.test_command", command.clone());
    }
    if let Some(profile) = &args.profile {
        set("profile", profile.clone());
    }
    Ok(settings)
}

/// The person's ear.
struct TerminalNotifier;

impl Notifier for TerminalNotifier {
    fn say(&self, line: &str) {
        print::say(line);
    }

    fn taken(&self, driver: &Driver, taken: &StepOutcome) {
        crate::notify::notify(driver, taken);
    }
}
