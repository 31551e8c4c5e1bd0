//! Beginning a session, or taking one up again. What can be known to be wrong is reported before anything is made.

use super::agent_loop::{Parts, Session};
use super::conversation::{Conversation, Tail};
use super::engine_set::EngineSet;
use super::error::SessionError;
use super::frontend::Frontend;
use super::snapshots::LoopSnapshots;
use super::tool_runner::{ToolAccess, ToolRunner, ToolRunnerError};
use crate::engines::Engine;
use crate::prompt;
use crate::tools::Registry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tripwire_authority::identity::{Configuration, Part};
use tripwire_core::counted::counted;
use tripwire_core::input::{HumanAct, What};
use tripwire_core::label::Label;
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_core::record::chain::Digest;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{FailureKind, OnHold, RUN_VERSION, RunRecord, Setup};
use tripwire_core::run::{LoopEffect, Next, Run, engine_label};
use tripwire_core::units::EventIndex;
use tripwire_secrets::{Redactor, Vault};
use tripwire_session::driver::run::again;
use tripwire_session::driver::{Driver, DriverError, Signing, open_existing};
use tripwire_session::execution::sandboxed::Network;
use tripwire_session::replica::Replica;
use tripwire_session::staging::Staging;
use tripwire_session::transcript::Transcript;
use tripwire_workspace::account;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::report_parts::nothing_unread;
use tripwire_workspace::loop_lock::LoopLock;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;

/// What a person asked for.
pub struct Plan {
    /// The objective, verbatim.
    pub objective: String,
    /// The engines.
    pub engines: EngineSet,
    /// What a hold means.
    pub patience: OnHold,
    /// Where the workspace is.
    pub root: PathBuf,
    /// Its `.geometry/`.
    pub layout: Layout,
    /// Who signs checkpoints.
    pub signing: Option<Signing>,
    /// Who must have the session's records before anything follows from them.
    pub replica: Option<Arc<dyn Replica>>,
    /// The folder of our own state, where snapshots go; without it none are taken.
    pub own_state: Option<PathBuf>,
    /// The way to the hosts that the policy's `sandbox.allow_hosts` names.
    pub network: Network,
    /// Who hears that the session has begun, before anything happens in it.
    pub begun: Box<dyn Fn(&SessionId)>,
}

/// Checks everything about a new session that can be checked without making anything; gives its wall clock.
///
/// # Errors
/// When it could not begin: an order to stop is in force, the policy is wrong, the workspace is no folder.
pub fn check_start(
    layout: &Layout,
    root: &Path,
    change: impl Fn(&mut Policy) -> Result<(), PolicyError>,
) -> Result<Option<Duration>, SessionError> {
    check_stop(layout)?;
    nothing_unread(layout)?;
    let trial = trial(layout, &change)?;
    ToolRunner::new(root, layout, &trial, ToolAccess::none(), &Redactor::default())?;
    Ok(trial.limits.max_session_runtime_ms.get().map(|ms| Duration::from_millis(ms.get())))
}

/// Begins a new session. Nothing is made unless everything is in order.
///
/// # Errors
/// When something is not: the engine does not answer, the policy is wrong, an order to stop is in force.
pub fn begin(
    plan: Plan,
    frontend: &mut dyn Frontend,
    change: impl Fn(&mut Policy) -> Result<(), PolicyError>,
) -> Result<Session<'_>, SessionError> {
    let registry_sha256 = *Registry::new().map_err(ToolRunnerError::from)?.digest();
    let prompt_sha256 = Digest::of(prompt::SYSTEM.as_bytes());
    let mut own = Configuration::default();
    own.set(Part::Prompt, Some(prompt_sha256));
    own.set(Part::Tools, Some(registry_sha256));
    let driver = Driver::begin_signed(&plan.layout, plan.signing.clone(), clock::now(), own, change)?;
    let mut driver = driver.replicated_by(plan.replica.clone());
    let lock = LoopLock::claim(&plan.layout, driver.session())?;
    (plan.begun)(driver.session());
    let runner = runner(&plan, &driver)?;
    driver.keep_objective(&plan.objective)?;
    plan.engines.names().keep(&plan.layout, driver.session().as_str())?;
    let setup = setup(&plan, &driver, registry_sha256);
    let begun = driver.learn(RunRecord::Begun(setup.clone()), Duration::ZERO, clock::now())?;
    let setup = if let RunRecord::Begun(setup) = begun { setup } else { setup };
    let (run, effects) = Run::new(setup, driver.policy());
    let parts = Parts {
        driver,
        run,
        runner,
        lock,
        engines: plan.engines,
        layout: plan.layout,
        root: plan.root,
        transcript: String::new(),
        conversation: Conversation::default(),
        tail: Tail::default(),
        results: Vec::new(),
    };
    let mut session = Session::new(parts, frontend)?;
    session.carry_out(effects)?;
    Ok(session)
}

/// Takes up a session that was left, by a hold, a crash or a kill.
///
/// # Errors
/// When it is over, is not one of our own loop, or was frozen with another prompt or other tools.
pub fn resume<'a>(id: &SessionId, mut plan: Plan, frontend: &'a mut dyn Frontend) -> Result<Session<'a>, SessionError> {
    let session = || id.as_str().to_owned();
    check_stop(&plan.layout)?;
    let lock = LoopLock::claim(&plan.layout, id)?;
    (plan.begun)(id);
    let journal = open_existing(&plan.layout, id)?;
    let mut retold = Retold::default();
    let Some(run) = again(&journal, |effect, _, decided| retold.take(effect, decided))? else {
        return Err(SessionError::NotOurs { session: session() });
    };
    if let Next::Finished(ending) = run.next()
        && !run.can_go_on()
    {
        // A kill at the very end may have cost the transcript its last lines.
        Transcript::open(&plan.layout, id, &retold.transcript)?;
        return Err(SessionError::Over { session: session(), ending });
    }
    let driver = Driver::resume(&plan.layout, id)?.signed_by(plan.signing.clone());
    let mut driver = driver.replicated_by(plan.replica.clone());
    driver.recall_secrets()?;
    let gone = retold.conversation.restore(driver.vault());
    if gone > 0 {
        frontend.notice(&format!(
            "{} of this session {} no longer in memory: the model sees {}, and a call that uses one is refused",
            counted(gone, "secret"),
            if gone == 1 { "is" } else { "are" },
            if gone == 1 { "its placeholder" } else { "their placeholders" },
        ));
    }
    let runner = runner(&plan, &driver)?;
    for (what, frozen, now) in [
        ("system prompt", run.setup().prompt_sha256, Digest::of(prompt::SYSTEM.as_bytes())),
        ("tool registry", run.setup().registry_sha256, *runner.digest()),
    ] {
        if frozen != now {
            return Err(SessionError::Changed { session: session(), what });
        }
    }
    plan.engines.skip(&retold.had);
    let patience = plan.patience;
    let parts = Parts {
        driver,
        run,
        runner,
        lock,
        engines: plan.engines,
        layout: plan.layout,
        root: plan.root,
        transcript: retold.transcript,
        conversation: retold.conversation,
        tail: retold.tail,
        results: retold.results,
    };
    let mut session = Session::new(parts, frontend)?;
    session.settle_accounts()?;
    if session.driver().view().stopped.is_some() {
        // Taking a session up withdraws its order to stop: an order on disk was refused above.
        session.put(What::Human(HumanAct::WithdrawStop.signed(&account::current(), "")))?;
    }
    session.learn(RunRecord::Resumed(patience), Duration::ZERO)?;
    Ok(session)
}

fn check_stop(layout: &Layout) -> Result<(), SessionError> {
    if layout.stop().symlink_metadata().is_ok() {
        return Err(SessionError::StopStands { path: layout.stop() });
    }
    Ok(())
}

/// What is frozen when the loop begins.
fn setup(plan: &Plan, driver: &Driver, registry_sha256: Digest) -> Setup {
    let label = |engine: &dyn Engine| engine_label(engine.name());
    let mut advisors = plan.engines.advisors.iter().map(|engine| label(engine.as_ref()));
    Setup {
        advisor: advisors.next(),
        engines: plan.engines.chain.iter().map(|engine| label(engine.as_ref())).collect(),
        objective: plan.objective.as_str().into(),
        other_advisors: advisors.collect(),
        patience: plan.patience,
        prompt: prompt::SYSTEM.into(),
        prompt_sha256: Digest::of(prompt::SYSTEM.as_bytes()),
        probe: plan.engines.probed.clone(),
        registry_sha256,
        reviewer: plan.engines.reviewer.as_deref().map(label),
        role: Label::cut(driver.role()),
        seats: plan.engines.chain.iter().map(|engine| engine.place()).collect(),
        version: RUN_VERSION,
        workers: plan.engines.workers(),
    }
}

/// The tools of a session, as far as its role reaches; on a staged copy, where a reviewer must approve what they did.
fn runner(plan: &Plan, driver: &Driver) -> Result<ToolRunner, SessionError> {
    let (permissions, role) = (driver.frozen().permissions.as_ref(), driver.role());
    let hosts = driver.policy().sandbox.allow_hosts.as_str();
    let access = ToolAccess::of(permissions, role).reaching(plan.network.clone(), hosts, permissions, role);
    let snapshots =
        LoopSnapshots::of(plan.own_state.as_deref(), &plan.root, driver.session().as_str(), driver.policy());
    let runner = ToolRunner::new(&plan.root, &plan.layout, driver.policy(), access, driver.redactor()?)?;
    let runner = runner.with_snapshots(snapshots);
    if plan.engines.reviewer.is_none() {
        return Ok(runner);
    }
    let folder = plan.layout.state().join(format!("{}.stage", driver.session()));
    Ok(runner.on_stage(
        Staging::open(&folder, &plan.root).map_err(ToolRunnerError::from)?,
        &plan.layout,
        driver.policy(),
    )?)
}

/// The policy that the session would be frozen with.
fn trial(layout: &Layout, change: &impl Fn(&mut Policy) -> Result<(), PolicyError>) -> Result<Policy, SessionError> {
    let mut policy = policy_file::load_for(layout).map_err(DriverError::from)?.policy;
    change(&mut policy).map_err(DriverError::from)?;
    policy.check().map_err(DriverError::from)?;
    Ok(policy)
}

/// What a journal tells the process that takes a session up.
#[derive(Default)]
struct Retold {
    /// The lines of the transcript.
    transcript: String,
    conversation: Conversation,
    tail: Tail,
    /// Answers and results, with the decisions before them.
    results: Vec<(Line, EventIndex)>,
    /// Answers and errors that each engine gave.
    had: BTreeMap<Label, u64>,
}

impl Retold {
    fn take(&mut self, effect: &LoopEffect, decided: EventIndex) {
        match effect {
            LoopEffect::Line(line) => {
                // A line that had no canonical form was never written.
                let Ok(text) = line.text() else { return };
                self.tail.push(&text);
                self.transcript.extend([text.as_str(), "\n"]);
                if matches!(line, Line::Answer(_) | Line::Result(_)) {
                    self.results.push((line.clone(), decided));
                }
                if let Line::Answer(answer) = line {
                    *self.had.entry(answer.engine.clone()).or_default() += 1;
                }
                if let Line::EngineError(failure) = line
                    && failure.kind != FailureKind::Cut
                {
                    *self.had.entry(failure.engine.clone()).or_default() += 1;
                }
            }
            LoopEffect::Say(saying) => self.conversation.say(saying, &Vault::default()),
            LoopEffect::Forget => self.conversation.forget(),
            LoopEffect::Brief | LoopEffect::Plan(_) | LoopEffect::Recite(_) => {}
        }
    }
}
