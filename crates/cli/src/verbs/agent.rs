//! `tripwire agent`: our own agent loop, from an objective to an exit code.

mod available;
mod cassette_file;
pub(crate) mod example;
mod reach;
pub(crate) mod report;
pub(crate) mod worker;

use crate::error::Problem;
use crate::exit::Exit;
use crate::limits;
use crate::parity::AgentParity;
use crate::print::terminal;
use crate::print::{self, Form, Out};
use crate::telemetry::Telemetry;
use crate::verbs::agent::available::{ListedBy, Unopened, first_available};
use crate::verbs::agent::cassette_file::{beside, recorder};
use crate::verbs::agent::example::Example;
use crate::verbs::agent::report::{Printer, Shown};
use crate::verbs::agent::worker::{Team, WorkerError};
use crate::verbs::fleet::{FleetChoice, FleetLink};
use crate::workspace::{self, Acting, Where};
use clap::Args;
use std::borrow::Cow;
use std::io::{Error, ErrorKind, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tripwire_agent::engines::sensitive::SensitivePaths;
use tripwire_agent::engines::worker::OBJECTIVE_BYTES_MAX;
use tripwire_agent::engines::{chains, open};
use tripwire_agent::session::{self, EngineSet, Plan, Recorders, SavedEngines, Session, SessionEnd};
use tripwire_core::explain::Explain;
use tripwire_core::policy::{Limit, Policy, PolicyError, Profile};
use tripwire_core::run::ending::Ending;
use tripwire_core::run::record::OnHold;
use tripwire_core::units::{Count, MicroUsd, RunMillis};
use tripwire_fs::bounded;
use tripwire_journal::{JournalError, SessionPaths};
use tripwire_sandbox::interrupts;
use tripwire_session::driver::frozen_policy;
use tripwire_session::execution::sandboxed::Network as Reach;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::Manifest;
use tripwire_workspace::policy_file::{self, PolicyFileError};
use tripwire_workspace::session::SessionId;
use tripwire_workspace::{Workspace, test_command};

/// Work on an objective with tripwire's own agent loop: a model requests tools, the guard decides, the sandbox runs
/// them.
///
/// Every model answer and every tool result is journaled before it is used. Therefore `tripwire replay` can run the
/// session again without a model, and `--resume` can continue after a crash. Engines: `scripted:FILE` (a cassette),
/// `anthropic:MODEL`,
/// `openai:MODEL`, `openai-chat:MODEL@URL`, `gemini:MODEL`, `lmstudio:MODEL`, `ollama:MODEL`. Keys come from the
/// environment. Workers: `claude`, `codex`, `gemini`, alone or with their own flags, do a whole turn themselves under
/// the supervisor of `tripwire run`; the loop then runs the test command and checks their claim.
///
/// Exit codes: 0 done and verified (or nothing to verify), 3 system error or hard stop, 4 done but not verified, 5 held
/// for a person, 6 budget, 7 loop or no progress, 8 wall clock or no iteration left, 9 guard broken, 10 stopped by a
/// person, 11 refused, 75 parked for a rate limit.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// The objective, as text.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["task", "resume", "example"])]
    objective: Option<String>,
    /// A file that contains the objective.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "example"])]
    task: Option<PathBuf>,
    /// Continue a session that was held, stopped or killed.
    #[arg(long, value_name = "SESSION", conflicts_with = "example")]
    resume: Option<String>,
    /// Play the built-in example in a temporary folder: no key, no network, the real sandbox.
    #[arg(long)]
    example: bool,
    #[command(flatten)]
    place: Where,
    /// The engine to use; `default` is Claude Code, then Gemini, then a local model. Without this option the
    /// manifest's `engines.chain` applies.
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// The engine that takes over when the previous one fails; may be repeated.
    #[arg(long, value_name = "ENGINE")]
    fallback: Vec<String>,
    /// The engine that is asked when the agent is stuck; without an advisor a held loop waits for a person. May be
    /// repeated: the next one is asked when the previous one has no answer. `default` is the strongest Claude model,
    /// then a local one, then Gemini; without this option the manifest's `engines.advisors` applies.
    #[arg(long, value_name = "ENGINE")]
    advisor: Vec<String>,
    /// Stage all changes and apply them only when this engine approves.
    #[arg(long, value_name = "ENGINE")]
    review: Option<String>,
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    limits: LimitArgs,
    /// The command that runs the tests; by default the one in the policy, else one derived from the project's files.
    #[arg(long, value_name = "COMMAND", value_parser = limits::test_command)]
    verify: Option<String>,
    /// Record the answers as a cassette that `scripted:FILE` plays.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetChoice,
    #[command(flatten)]
    form: Form,
}

/// What bounds the session.
#[derive(Debug, Args)]
struct LimitArgs {
    /// Which profile of the loop rules applies: `strict` or `balanced`.
    #[arg(long, value_name = "NAME")]
    profile: Option<crate::policy::ProfileName>,
    /// Iterations before a checkpoint waits for a person.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_iterations: Option<u32>,
    /// Steps in one iteration.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_steps: Option<u32>,
    /// The maximum duration of the session: `90s`, `15m`, `2h`.
    #[arg(long, value_name = "SPAN", value_parser = limits::span)]
    max_runtime: Option<Duration>,
    /// The maximum cost of the session: `5usd`.
    #[arg(long, value_name = "AMOUNT", value_parser = limits::budget)]
    budget: Option<u64>,
    /// CPU limit of each command's process tree, in processors, such as `1` or `0.5`.
    #[arg(long, value_name = "N", value_parser = limits::processors)]
    cpu: Option<u64>,
    /// Host that commands may reach, `NAME` or `NAME:PORT`; may be repeated. Without this option they have no
    /// network.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
}

/// Steps in one iteration of our own loop, unless an option says otherwise.
const MAX_STEPS: Count = Count::new(10);
/// The largest task that is read.
const TASK_BYTES_MAX: u64 = 1 << 20;
/// The engine that is asked when none is named.
const ENGINE: &str = "scripted";

/// Runs the verb.
pub(crate) fn run(args: &AgentArgs) -> Result<Exit, Problem> {
    if args.example {
        let example = Example::unpack()?;
        return example.play(|example| begin(args, Start::of_example(example)));
    }
    match &args.resume {
        Some(session) => resume(args, session),
        None => {
            let start = Start::of(args)?;
            if start.names.engines == [ENGINE] && args.engine.is_none() {
                print::say(NO_ENGINE);
            }
            Ok(begin(args, start)?.0)
        }
    }
}

/// What a person hears who names no engine: the built-in cassette keeps the loop whole on a machine that has nothing else,
/// but it works on no objective.
const NO_ENGINE: &str = "\
WARNING: no engine was named: the built-in cassette answers, which does nothing for this objective
hint: name one with `--engine`: `anthropic:MODEL`, `openai:MODEL`, `gemini:MODEL`, `ollama:MODEL`, `lmstudio:MODEL`,
      `claude`, `codex`, `gemini` or `scripted:FILE`; a whole story without a model is `tripwire agent --example`";

/// What a new session begins with.
struct Start {
    objective: String,
    workspace: Workspace,
    names: SavedEngines,
}

impl Start {
    /// What the command line says. Nothing is made.
    fn of(args: &AgentArgs) -> Result<Self, Problem> {
        let workspace = args.place.look()?;
        let scalars = manifest(workspace.layout())?.map(|manifest| manifest.settings()).unwrap_or_default();
        let given: Vec<String> = args.engine.iter().chain(&args.fallback).cloned().collect();
        let mut engines = chains::named(&given, &scalars, chains::CHAIN_KEY, &chains::CHAIN);
        if engines.is_empty() {
            engines.push(ENGINE.to_owned());
        }
        let advisors = chains::named(&args.advisor, &scalars, chains::ADVISORS_KEY, &chains::ADVISORS);
        let names = SavedEngines { engines, advisors, reviewer: args.review.clone() };
        if !workspace.root().is_dir() {
            return Err(Problem::open(workspace.root(), Error::from(ErrorKind::NotADirectory)));
        }
        let objective = objective(args)?;
        workers_fit(args, &names, &objective)?;
        Ok(Self { objective, workspace, names })
    }

    fn of_example(example: &Example) -> Self {
        let names = SavedEngines { engines: vec![example.engine()], advisors: vec![example.advisor()], reviewer: None };
        Self { objective: example.objective(), workspace: example.workspace(), names }
    }
}

/// Refuses what a worker cannot be or do, before anything is made.
fn workers_fit(args: &AgentArgs, names: &SavedEngines, objective: &str) -> Result<(), Problem> {
    let advisors = names.advisors.iter().map(|name| (name, "advisor"));
    for (name, part) in advisors.chain(names.reviewer.iter().map(|name| (name, "reviewer"))) {
        if worker::command(name).is_some() {
            return Err(WorkerError::Aside { name: name.clone(), part }.into());
        }
    }
    let worker = names.engines.iter().find(|name| worker::command(name).is_some());
    let Some(name) = worker.cloned() else { return Ok(()) };
    let bytes = objective.len();
    match (&names.reviewer, &args.record) {
        (Some(_), _) => Err(WorkerError::Review { name }.into()),
        (None, Some(_)) => Err(WorkerError::Record { name }.into()),
        (None, None) if bytes > OBJECTIVE_BYTES_MAX => Err(WorkerError::Objective { name, bytes }.into()),
        (None, None) => Ok(()),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("there is no objective")]
struct NoObjectiveError;

impl Explain for NoObjectiveError {
    fn hint(&self) -> Cow<'_, str> {
        "say it with `--objective TEXT` or `--task FILE`".into()
    }
}

/// The objective, verbatim.
fn objective(args: &AgentArgs) -> Result<String, Problem> {
    let text = match (&args.objective, &args.task) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => task(file)?,
        (None, None) => return Err(NoObjectiveError.into()),
    };
    if text.trim().is_empty() { Err(NoObjectiveError.into()) } else { Ok(text) }
}

fn task(file: &Path) -> Result<String, Problem> {
    let wrong = |error| Problem::open(file, error);
    let bytes = bounded::read_whole(print::open(file)?, TASK_BYTES_MAX).map_err(|error| wrong(error.into()))?;
    String::from_utf8(bytes).map_err(|error| wrong(Error::new(ErrorKind::InvalidData, error.utf8_error())))
}

/// Plays a new session to its end; gives the exit code and how it was left.
fn begin(args: &AgentArgs, start: Start) -> Result<(Exit, SessionEnd), Problem> {
    let Start { objective, workspace, names } = start;
    let root = workspace.root().to_owned();
    let change = |policy: &mut Policy| set(args, &root, policy);
    let runtime_max = session::check_start(workspace.layout(), workspace.root(), change)?;
    interrupts::watch().map_err(|error| Problem::open(Path::new("the signals of this process"), error))?;
    let mut trial = policy_file::load_for(workspace.layout())?.policy;
    change(&mut trial)?;
    let (network, _serving) = reach::open(&trial)?;
    let fleet = FleetLink::open(args.fleet, &workspace, Box::new(print::say))?;
    let mut engines = engines(args, &names, &workspace, &fleet)?;
    engines.probe(&interrupted, runtime_max)?;
    let workspace = workspace::open(workspace.root())?;
    say_where(args, &workspace);
    let telemetry = Arc::new(Telemetry::begin(&workspace, Box::new(print::say)));
    let plan = Plan { network, replica: fleet.replica(), ..plan(objective, engines, &workspace, &telemetry) };
    let mut printer = Printer::new(shown(args));
    let left = session::begin(plan, &mut printer, change).and_then(Session::play);
    telemetry.finish();
    fleet.finish();
    let left = left?;
    Ok((leave(&workspace, &left, printer)?, left))
}

/// Says so where the agent gets more than the folder that was named: the sessions, orders and policy of a workspace are those of
/// the whole.
fn say_where(args: &AgentArgs, workspace: &Workspace) {
    let Some(given) = args.place.given() else { return };
    if given.canonicalize().is_ok_and(|given| given != workspace.root()) {
        let (root, given) = (workspace.root().display(), given.display());
        print::say(&format!(
            "note: the workspace is `{root}`, to which `{given}` belongs, and the agent works in all of it; with a \
             `.geometry` folder of its own `{given}` is a workspace by itself"
        ));
    }
}

fn resume(args: &AgentArgs, session: &str) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let id = SessionId::parse(session)?;
    if !SessionPaths::new(workspace.layout().folder(), &id).dir().is_dir() {
        return Err(JournalError::NoSession(id.to_string()).into());
    }
    let names = match (&args.engine, SavedEngines::of(workspace.layout(), id.as_str())) {
        (None, Ok(names)) => names,
        (None, Err(error)) => return Err(error.into()),
        (Some(_), kept) => SavedEngines {
            engines: args.engine.iter().chain(&args.fallback).cloned().collect(),
            advisors: match (args.advisor.is_empty(), &kept) {
                (true, Ok(kept)) => kept.advisors.clone(),
                (true, Err(_)) | (false, _) => args.advisor.clone(),
            },
            reviewer: args.review.clone().or_else(|| kept.as_ref().ok().and_then(|kept| kept.reviewer.clone())),
        },
    };
    interrupts::watch().map_err(|error| Problem::open(Path::new("the signals of this process"), error))?;
    workers_fit(args, &names, "")?;
    let telemetry = Arc::new(Telemetry::begin(&workspace, Box::new(print::say)));
    let frozen = frozen_policy(workspace.layout(), &id);
    let (network, _serving) = frozen.as_ref().map_or(Ok((Reach::Off, None)), reach::open)?;
    let fleet = FleetLink::open(args.fleet, &workspace, Box::new(print::say))?;
    let engines = engines(args, &names, &workspace, &fleet)?;
    let plan = Plan { network, replica: fleet.replica(), ..plan(String::new(), engines, &workspace, &telemetry) };
    let mut printer = Printer::new(shown(args));
    let left = session::resume(&id, plan, &mut printer).and_then(Session::play);
    telemetry.finish();
    fleet.finish();
    let left = left?;
    leave(&workspace, &left, printer)
}

fn plan(objective: String, engines: EngineSet, workspace: &Workspace, telemetry: &Arc<Telemetry>) -> Plan {
    let told = Arc::clone(telemetry);
    Plan {
        objective,
        engines,
        patience: if std::io::stderr().is_terminal() { OnHold::Wait } else { OnHold::Leave },
        root: workspace.root().to_owned(),
        layout: workspace.layout().clone(),
        signing: workspace::signing(workspace),
        replica: None,
        own_state: workspace::homes().own_state(),
        network: Reach::Off,
        begun: Box::new(move |session| told.follow_own_loop(session)),
    }
}

/// Whether the person in front of the terminal asked to end.
fn interrupted() -> bool {
    interrupts::asked().is_some()
}

/// Sets what the command line asks for in the policy that is frozen.
fn set(args: &AgentArgs, root: &Path, policy: &mut Policy) -> Result<(), PolicyError> {
    let limits = &args.limits;
    if let Some(profile) = limits.profile {
        policy.profile = Profile::from(profile);
    }
    if let Some(iterations) = limits.max_iterations {
        policy.safety.max_iterations = Count::new(iterations);
    }
    policy.limits.max_steps = match (limits.max_steps, policy.limits.max_steps) {
        (Some(steps), _) => Limit::At(Count::new(steps)),
        (None, Limit::At(steps)) => Limit::At(steps),
        (None, Limit::Off) => Limit::At(MAX_STEPS),
    };
    if let Some(span) = limits.max_runtime {
        let ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        policy.limits.max_session_runtime_ms = Limit::At(RunMillis::new(ms));
    }
    if let Some(budget) = limits.budget {
        policy.money.budget_micro_usd = Limit::At(MicroUsd::new(budget));
    }
    if let Some(milli) = limits.cpu {
        policy.sandbox.cpu_milli = Limit::At(Count::new(u32::try_from(milli).unwrap_or(u32::MAX)));
    }
    if !limits.allow_host.is_empty() {
        policy.set("sandbox.allow_hosts", &limits.allow_host.join(" "))?;
    }
    if let Some(role) = args.acting.named() {
        policy.set("identity.role", &role)?;
    }
    match &args.verify {
        Some(command) => policy.set("dirty_bits.test_command", command),
        None => test_command::fill_in(root, policy),
    }
}

fn engines(
    args: &AgentArgs,
    names: &SavedEngines,
    workspace: &Workspace,
    fleet: &FleetLink,
) -> Result<EngineSet, Problem> {
    let environment = |name: &str| std::env::var(name).ok();
    let sensitive = sensitive_paths(workspace.layout())?;
    let settings = worker_settings(args, workspace);
    let team = Team { workspace: workspace.clone(), settings, replica: fleet.replica(), money: fleet.money() };
    let (money, prices) = (fleet.money(), policy_file::load_for(workspace.layout())?.policy.price_list());
    let paid = |engine| session::paid_from(money.clone(), &prices, engine);
    let open = |name: &str| {
        let opened = match worker::command(name) {
            Some((program, words)) => team.open(name, program, words).map_err(Unopened::from),
            None => open(name, &environment).map_err(Unopened::from),
        };
        opened.map(|engine| paid(sensitive.guard(engine)))
    };
    let chain = first_available(&names.engines, listed_by(args.engine.iter().chain(&args.fallback)), &open)?;
    let advisors = first_available(&names.advisors, listed_by(args.advisor.iter()), &open)?;
    let reviewer = names.reviewer.as_deref().map(open).transpose().map_err(Unopened::problem)?;
    let recorders = match &args.record {
        None => Recorders::default(),
        Some(file) => Recorders {
            model: Some(recorder(file, "the model's answers")?),
            advisor: advisors
                .first()
                .map(|_| recorder(&beside(file, "advisor"), "the advisor's answers"))
                .transpose()?,
            reviewer: reviewer
                .as_ref()
                .map(|_| recorder(&beside(file, "reviewer"), "the reviewer's answers"))
                .transpose()?,
        },
    };
    Ok(EngineSet { chain, advisors, reviewer, recorders, probed: None })
}

/// Who made a list of engines: a person who names each, or something that stands.
fn listed_by<'a>(given: impl Iterator<Item = &'a String>) -> ListedBy {
    let mut given = given.peekable();
    let named = given.peek().is_some() && given.all(|name| name != chains::DEFAULT);
    if named { ListedBy::Person } else { ListedBy::Standing }
}

/// What the command line sets in the policy of a worker's own session; time and money are what is left of ours.
fn worker_settings(args: &AgentArgs, workspace: &Workspace) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut set = |path: &str, text: String| settings.push((path.to_owned(), text));
    if let Some(profile) = args.limits.profile {
        set("profile", crate::print::decision::name(&Profile::from(profile)));
    }
    if let Some(role) = args.acting.named() {
        set("identity.role", role);
    }
    let detected = test_command::detect(workspace.root()).map(str::to_owned);
    let policy = tripwire_workspace::policy_file::load_for(workspace.layout()).unwrap_or_default().policy;
    let written = !policy.dirty_bits.test_command.as_str().is_empty();
    if let Some(command) = args.verify.clone().or(detected.filter(|_| !written)) {
        set("dirty_bits.test_command", command);
    }
    settings
}

/// What only ever goes to a local engine, as the manifest says.
fn sensitive_paths(layout: &Layout) -> Result<SensitivePaths, Problem> {
    match manifest(layout)? {
        Some(manifest) => SensitivePaths::of_manifest(&manifest.settings()).map_err(Problem::from),
        None => Ok(SensitivePaths::default()),
    }
}

/// The manifest, where there is one.
fn manifest(layout: &Layout) -> Result<Option<Manifest>, Problem> {
    let file = layout.manifest();
    if file.symlink_metadata().is_err() {
        return Ok(None);
    }
    Ok(Some(Manifest::load(&file).map_err(PolicyFileError::from)?))
}

fn shown(args: &AgentArgs) -> Shown {
    match (args.form.json, std::io::stderr().is_terminal()) {
        (true, _) => Shown::Json,
        (false, true) => Shown::Live,
        (false, false) => Shown::Plain,
    }
}

/// Says how it ended, with the proof that it can be run again.
fn leave(workspace: &Workspace, left: &SessionEnd, mut printer: Printer) -> Result<Exit, Problem> {
    let exit = exit_of(&left.ending);
    let session = SessionId::parse(&left.session).ok();
    if let Some(policy) = session.and_then(|session| frozen_policy(workspace.layout(), &session)) {
        crate::notify::finished(&policy, &left.session, &left.ending.explain());
    }
    let parity = AgentParity::of(workspace, &left.session)?;
    printer.end();
    let mut out = Out::lock();
    let report = crate::verbs::agent::report::report(left, exit, &parity, &printer);
    let lines = if printer.writes_json() { report } else { terminal::fit(&report, terminal::columns_of_output()) };
    for line in lines {
        out.line(&line)?;
    }
    out.flush()?;
    Ok(exit)
}

/// The exit code of a session of our own loop (SPEC §12).
fn exit_of(ending: &Ending) -> Exit {
    match ending {
        Ending::Completed { verdict } if verdict.is_proved() => Exit::Done,
        Ending::Completed { .. } => Exit::Unverified,
        Ending::Held { reason } => Exit::of_hold(*reason),
        Ending::Stopped { reason } => Exit::of_stop(*reason),
        Ending::SystemError { .. } | Ending::ToolFailed { .. } | Ending::NoEngine { .. } => Exit::HardStop,
        Ending::NoMoney { .. } => Exit::Budget,
        Ending::Refused { .. } => Exit::Refused,
        Ending::OutOfIterations => Exit::Clock,
        Ending::Parked { .. } => Exit::Parked,
    }
}
