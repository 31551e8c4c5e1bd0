//! Runs the tools of our own loop: the registry of the session, the sandbox behind them, and the authority under which they act.
//!
//! Nothing here decides. A call is decoded, its meaning goes to the gate as a request, and only with the gate's permit it
//! runs; what it came to goes back as facts.

use super::change;
use super::real_call::RealCall;
use super::snapshots::LoopSnapshots;
use crate::engines::ToolSpec;
use crate::tools::registry::{FINISH, SHELL};
use crate::tools::{self, Decoded, Limits, Meaning, Memories, Ran, Registry, RegistryError, ToolFault, World, decode};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tripwire_authority::{Permissions, Who, Writing};
use tripwire_core::chain::event::{AgentEvent, DiskChanges, ErrorClass, Flag, Status, TestResult};
use tripwire_core::chain::gate::Permit;
use tripwire_core::explain::Explain;
use tripwire_core::input::{Grant, Permission};
use tripwire_core::label::{Fingerprint, Label};
use tripwire_core::policy::{Policy, ToolLimits};
use tripwire_core::record::chain::Digest;
use tripwire_core::run::record::{Answer, Call, CallFault, CallOutcome, Checked, FaultKind, Returned, WorkEnd};
use tripwire_core::text::{CallId, MemoryPointer, ToolOutput};
use tripwire_core::units::RunMillis;
use tripwire_observe::{Observer, RawCall, is_code};
use tripwire_secrets::Redactor;
use tripwire_session::execution::sandboxed::{Confinement, Interrupt, Network, SandboxedExecutor, Writes, budgets};
use tripwire_session::execution::spend;
use tripwire_session::file_marks::FileMarks;
use tripwire_session::files::{Files, FilesError};
use tripwire_session::memory::MemoryStore;
use tripwire_session::memory::pointer::Pointer;
use tripwire_session::staging::{StageError, Staging};
use tripwire_workspace::geometry::layout::Layout;

/// Bytes that a transcript holds of one output as it came; more is behind its pointer.
const VERBATIM_BYTES_MAX: usize = 256 * 1_024;

/// Bytes of a worker's last text that its claim repeats.
const SUMMARY_BYTES_MAX: usize = 1_024;

/// Why the tools cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ToolRunnerError {
    /// The registry cannot be named.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The workspace cannot be used.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The staged copy cannot be made or read.
    #[error(transparent)]
    Stage(#[from] StageError),
}

impl Explain for ToolRunnerError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Registry(error) => error.hint(),
            Self::Files(error) => error.hint(),
            Self::Stage(_) => "give yourself room and rights below `.geometry/state`, or run without `--review`".into(),
        }
    }
}

/// What the role's tools may reach.
#[derive(Debug, Clone)]
pub(super) struct ToolAccess {
    /// What becomes of what commands write.
    pub(super) writes: Writes,
    /// Which memories may be read.
    pub(super) memories: Memories,
    /// Whom commands may reach.
    pub(super) network: Network,
}

impl ToolAccess {
    /// The same with a way to these hosts, if the role may reach each of them; without permissions nobody may.
    pub(super) fn reaching(self, network: Network, hosts: &str, permissions: Option<&Permissions>, role: &str) -> Self {
        let name = |host: &str| host.rsplit_once(':').map_or(host, |(name, _port)| name).to_owned();
        let may = |host: &str| {
            permissions
                .is_some_and(|known| known.grant(Who::role(role), Permission::Reach, &name(host)) == Grant::Granted)
        };
        let network = if hosts.split_whitespace().all(may) { network } else { Network::Off };
        Self { network, ..self }
    }

    /// What a role reaches by the session's permissions; without any, nothing.
    pub(super) fn of(permissions: Option<&Permissions>, role: &str) -> Self {
        let who = Who::role(role);
        let writing = permissions.map_or(Writing::Nothing, |permissions| permissions.writing(who));
        let private = permissions.is_some_and(|permissions| {
            permissions.grant(who, Permission::CanAccessPrivateMemories, PRIVATE) == Grant::Granted
        });
        Self {
            writes: match writing {
                Writing::Workspace => Writes::Workspace,
                Writing::Nothing => Writes::Refused,
            },
            memories: if private { Memories::All } else { Memories::Public },
            network: Network::Off,
        }
    }

    /// Nothing: for a look at what could be done, before there is a session.
    pub(super) const fn none() -> Self {
        Self { writes: Writes::Refused, memories: Memories::Public, network: Network::Off }
    }
}

/// Tools that may change files; the tree is looked at before and after them.
const WRITING_TOOLS: [&str; 3] = [SHELL, "write", "edit"];

/// What private memories are called in a policy.
const PRIVATE: &str = "private";

/// The tools of one session.
#[derive(Debug)]
pub(super) struct ToolRunner {
    registry: Registry,
    root: PathBuf,
    network: Network,
    files: Files,
    memory: MemoryStore,
    executor: SandboxedExecutor,
    limits: Limits,
    tool_limits: ToolLimits,
    memories: Memories,
    verify: String,
    observer: Observer,
    redactor: Redactor,
    /// The staged copy, where a change must be reviewed before it is applied.
    staging: Option<Staging>,
    /// The tree as it was after the last call that could change it.
    marks: Option<FileMarks>,
    /// The workspace before and after each call, for undo.
    snapshots: LoopSnapshots,
    /// The call at hand, decoded once: from its check until its event.
    current: Option<CurrentCall>,
}

/// The call at hand.
#[derive(Debug)]
struct CurrentCall {
    decoded: Decoded,
    ended: Option<EndedCall>,
}

/// What became of it.
#[derive(Debug)]
struct EndedCall {
    ran: Ran,
    /// What changed on disk meanwhile, where that was measured.
    changes: Option<DiskChanges>,
    snapshot: Option<Label>,
}

impl ToolRunner {
    /// The tools of a session in this workspace.
    ///
    /// # Errors
    /// When the workspace is no folder.
    pub(super) fn new(
        root: &Path,
        layout: &Layout,
        policy: &Policy,
        authority: ToolAccess,
        redactor: &Redactor,
    ) -> Result<Self, ToolRunnerError> {
        Ok(Self {
            registry: Registry::new()?,
            root: root.to_owned(),
            files: Files::of(root, layout.folder())?,
            memory: MemoryStore::at(&layout.memory()).redacting(redactor.clone()),
            executor: SandboxedExecutor::new(Confinement {
                writes: authority.writes,
                network: authority.network.clone(),
                ..confinement(root, policy)
            }),
            network: authority.network,
            limits: Limits::of(policy),
            tool_limits: policy.tools.limits.clone(),
            memories: authority.memories,
            verify: policy.dirty_bits.test_command.as_str().trim().to_owned(),
            observer: Observer::default(),
            redactor: redactor.clone(),
            staging: None,
            marks: None,
            snapshots: LoopSnapshots::default(),
            current: None,
        })
    }

    /// Works on a staged copy from now on: nothing reaches the workspace before it was reviewed.
    ///
    /// # Errors
    /// When the copy cannot be used.
    pub(super) fn on_stage(
        mut self,
        staging: Staging,
        layout: &Layout,
        policy: &Policy,
    ) -> Result<Self, ToolRunnerError> {
        self.files = staging.files(layout.folder())?;
        let network = self.network.clone();
        let confinement = Confinement { writes: staging.writes(), network, ..confinement(&self.root, policy) };
        self.executor = SandboxedExecutor::new(confinement);
        self.staging = Some(staging);
        self.marks = None;
        Ok(self)
    }

    /// Takes snapshots from now on.
    pub(super) fn with_snapshots(self, snapshots: LoopSnapshots) -> Self {
        Self { snapshots, ..self }
    }

    /// What a person has to know of the snapshots.
    pub(super) fn snapshot_notices(&mut self) -> Vec<String> {
        self.snapshots.notices()
    }

    /// What keeps secrets out of the record.
    pub(super) const fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Keeps other secrets out of the record from now on: those that the workspace has by now.
    pub(super) fn redact_with(&mut self, redactor: &Redactor) {
        self.memory = self.memory.clone().redacting(redactor.clone());
        self.redactor = redactor.clone();
    }

    /// The folder whose contents the agent changes.
    pub(super) fn tree(&self) -> &Path {
        self.files.tree()
    }

    /// The tools as a model is told about them.
    pub(super) fn specs(&self) -> &[ToolSpec] {
        self.registry.specs()
    }

    /// The name of exactly these tools.
    pub(super) const fn digest(&self) -> &Digest {
        self.registry.digest()
    }

    /// The handle by which a running command is ended.
    pub(super) fn interrupt(&self) -> Interrupt {
        self.executor.interrupt()
    }

    /// Checks a call against the registry. A call that decodes is kept until its event.
    pub(super) fn check(&mut self, call: &RealCall) -> Checked {
        match self.take_up(call) {
            Ok(current) if current.decoded.tool() == FINISH => Checked::Finish,
            Ok(_) => Checked::Valid,
            Err(fault) => {
                let kind = match fault {
                    ToolFault::UnknownTool { .. } => FaultKind::UnknownTool,
                    ToolFault::NotJson { .. } | ToolFault::Invalid { .. } | ToolFault::TooLarge { .. } => {
                        FaultKind::ValidationError
                    }
                };
                Checked::Fault(CallFault { kind, text: fault.for_model().into() })
            }
        }
    }

    /// The call as it was decoded; decoded now where another process checked it.
    fn take_up(&mut self, call: &RealCall) -> Result<&mut CurrentCall, ToolFault> {
        let current = match self.current.take().filter(|current| current.decoded.is_of(&call.real)) {
            Some(current) => current,
            None => {
                let decoded = decode(&call.real, self.registry.entries())?.recorded_as(&call.recorded);
                CurrentCall { decoded, ended: None }
            }
        };
        Ok(self.current.insert(current))
    }

    /// What a call means for the gate; nothing for a call that does not decode, which is never requested.
    pub(super) fn meaning(&mut self, call: &RealCall) -> Option<Meaning> {
        self.take_up(call).ok()?;
        let current = self.current.as_ref()?;
        Some(current.decoded.meaning(&self.files, &self.memory))
    }

    /// A worker that says it is done makes a claim: the loop itself runs the test command, then claims to be done. Both are
    /// calls like a model's, so both pass the gate and are in the transcript, and an error is what the worker hears next.
    pub(super) fn claim_of_worker(&self, mut answer: Answer) -> Answer {
        if answer.work.as_ref().is_none_or(|work| work.end != WorkEnd::Finished) {
            return answer;
        }
        let call = |tool: &str, arguments: serde_json::Value| Call {
            id: CallId::default(),
            tool: tool.into(),
            arguments: arguments.to_string().into(),
        };
        if !self.verify.is_empty() {
            answer.calls.push(call(SHELL, serde_json::json!({"command": self.verify})));
        }
        let summary = tripwire_core::label::cut(answer.text.trim(), SUMMARY_BYTES_MAX);
        let summary = if summary.is_empty() { "the worker ended its turn" } else { summary };
        answer.calls.push(call(FINISH, serde_json::json!({"summary": summary})));
        answer
    }

    /// Carries out a permitted call.
    pub(super) fn execute(&mut self, permit: Permit, call: &RealCall, deadline: Option<Instant>) -> Returned {
        if let Err(fault) = self.take_up(call) {
            return returned(CallOutcome::NotRun, fault.for_model());
        }
        let Self { files, memory, executor, limits, tool_limits, memories, current, marks, snapshots, staging, .. } =
            self;
        let Some(current) = current else {
            return returned(CallOutcome::NotRun, "not run: the call was lost; ask again".to_owned());
        };
        let may_write = WRITING_TOOLS.contains(&current.decoded.tool());
        let looked = |marks: &Option<FileMarks>, tree: &Path| match marks {
            Some(marks) => marks.again(),
            None => FileMarks::of(tree),
        };
        let before = if may_write { looked(marks, files.tree()) } else { None };
        // On a staged copy nothing reaches the workspace before it is applied.
        let kept = may_write && staging.is_none() && snapshots.may_change(current.decoded.tool(), &call.real.arguments);
        let step = permit.request().get();
        if kept {
            snapshots.before(step, &format!("{} {}", call.recorded.tool, call.recorded.arguments));
        }
        let mut world = World::new(files, memory, executor, *limits);
        world.memories = *memories;
        world.deadline = deadline;
        world.output_max = tool_limits.output_max(current.decoded.tool());
        let ran = tools::run(permit, &current.decoded, &mut world);
        let returned = Returned {
            exit_code: ran.exit_code,
            how: outcome(&ran),
            pointer: ran.cut.as_deref().map(MemoryPointer::from),
            text: ran.text.as_str().into(),
            verbatim: verbatim(memory, &ran).map(ToolOutput::from),
        };
        let changes = before.and_then(|before| {
            let after = before.again()?;
            let changes = before.changes_until(&after, is_code);
            *marks = Some(after);
            Some(changes)
        });
        let snapshot = if kept { snapshots.after(step) } else { None };
        current.ended = Some(EndedCall { ran, changes, snapshot });
        returned
    }

    /// What a call looks like from outside, by the same functions that observe other agents.
    pub(super) fn event(&mut self, call: &Call, returned: &Returned) -> AgentEvent {
        let current = self.current.take().filter(|current| current.decoded.is_recorded_as(call));
        let ran = current.filter(|_| !was_never_run(returned.how));
        let mut event = match ran {
            Some(CurrentCall { decoded, ended: Some(EndedCall { ran, changes, snapshot }) }) => {
                AgentEvent { changes, snapshot, ..ran.event(&decoded, &self.files, &mut self.observer, &self.redactor) }
            }
            Some(CurrentCall { ended: None, .. }) | None => self.event_from_text(call, returned),
        };
        self.mark_tests(call, returned, &mut event);
        event
    }

    /// The event of a call that did not run here and now: refused, or run by a process that has died.
    fn event_from_text(&mut self, call: &Call, returned: &Returned) -> AgentEvent {
        let raw = RawCall {
            tool: &call.tool,
            args: &call.arguments,
            output: Some(&returned.text),
            error: Some(returned.how.is_error()),
            exit_code: returned.exit_code,
            workspace_root: self.files.names().last().and_then(|root| root.to_str()),
            ..RawCall::default()
        };
        let mut facts = self.observer.observe(&raw);
        facts.outcome.error_class = match returned.how {
            CallOutcome::Done => None,
            CallOutcome::Failed => facts.outcome.error_class.or(Some(ErrorClass::Tool)),
            CallOutcome::Unknown => Some(ErrorClass::Tool),
            CallOutcome::Cut => Some(ErrorClass::Timeout),
            CallOutcome::NotRun => Some(ErrorClass::CouldNotRun),
            CallOutcome::Refused => Some(ErrorClass::Refused),
        };
        facts.event(RunMillis::ZERO)
    }

    /// The session's own test command is a test run, whatever it is called. Where there is one, nothing else proves that the
    /// tests pass: a line around it can make it mean anything.
    fn mark_tests(&self, call: &Call, returned: &Returned, event: &mut AgentEvent) {
        if self.verify.is_empty() {
            return;
        }
        let command = serde_json::from_str::<serde_json::Value>(&call.arguments).ok();
        let command = command.as_ref().and_then(|arguments| arguments.get("command")).and_then(|text| text.as_str());
        let runs_them = command.is_some_and(|command| command.trim() == self.verify);
        let passed = |test: &mut Option<TestResult>| *test = test.filter(|test| *test != TestResult::Passed);
        match (returned.exit_code.filter(|_| runs_them), &mut event.outcome) {
            (None, None) => {}
            (None, Some(outcome)) => passed(&mut outcome.test),
            (Some(_), None) => event.flags = event.flags.with(Flag::Test),
            (Some(code), Some(outcome)) => {
                event.flags = event.flags.with(Flag::Test);
                let failed = code != 0 || outcome.test == Some(TestResult::Failed) || outcome.status == Status::Error;
                outcome.test = Some(if failed { TestResult::Failed } else { TestResult::Passed });
            }
        }
    }

    /// The staged change with its digest, for the reviewer; nothing when there is none.
    ///
    /// # Errors
    /// When the stage cannot be read.
    pub(super) fn proposal(&self, root: &Path) -> Result<Option<(Digest, String)>, ToolRunnerError> {
        let Some(staging) = &self.staging else { return Ok(None) };
        let changes = staging.changes()?;
        if changes.changes().is_empty() {
            return Ok(None);
        }
        Ok(Some((changes.digest(), change::text(&changes, root, self.tree()))))
    }

    /// Applies the staged change, if it is still the one that was approved. The permit is used up.
    pub(super) fn apply(&mut self, permit: Option<Permit>, action: Fingerprint, proposal: &Digest) -> Returned {
        let Some(permit) = permit else {
            return returned(CallOutcome::NotRun, "not applied: there is no permit".to_owned());
        };
        let step = permit.request().get();
        if let Err(error) = spend(permit, action) {
            return returned(CallOutcome::Refused, error.to_string());
        }
        let Some(staging) = self.staging.take() else {
            return returned(CallOutcome::NotRun, "not applied: nothing is staged".to_owned());
        };
        self.snapshots.before(step, "apply the reviewed change");
        let applied = staging.apply(proposal);
        self.snapshots.after(step);
        match applied {
            Ok(changes) => returned(CallOutcome::Done, format!("{} changes applied", changes.changes().len())),
            Err(error) => returned(CallOutcome::Failed, format!("not applied: {error}")),
        }
    }
}

/// The outputs as they came, where the model sees them cut or rewritten.
fn verbatim(memory: &MemoryStore, ran: &Ran) -> Option<String> {
    if ran.verbatim.is_empty() {
        return None;
    }
    let whole = |pointer: &Pointer| {
        let bytes = memory.get(pointer).ok().filter(|bytes| bytes.len() <= VERBATIM_BYTES_MAX)?;
        String::from_utf8(bytes).ok()
    };
    let parts = ran.verbatim.iter().map(|kept| match &kept.pointer {
        Ok(pointer) => match whole(pointer) {
            Some(text) => format!("{} {pointer}\n{text}", kept.name),
            None => format!("{} {pointer}", kept.name),
        },
        Err(why) => format!("{} was not kept: {why}", kept.name),
    });
    Some(parts.collect::<Vec<_>>().join("\n"))
}

fn confinement(root: &Path, policy: &Policy) -> Confinement {
    Confinement { budgets: budgets(policy), ..Confinement::of(PathBuf::from(root)) }
}

fn returned(how: CallOutcome, text: String) -> Returned {
    Returned { exit_code: None, how, pointer: None, text: text.into(), verbatim: None }
}

/// What a call gave that was not run.
pub(super) fn not_run(text: &str) -> Returned {
    returned(CallOutcome::NotRun, text.to_owned())
}

const fn was_never_run(how: CallOutcome) -> bool {
    match how {
        CallOutcome::Refused | CallOutcome::Unknown => true,
        CallOutcome::Done | CallOutcome::Failed | CallOutcome::Cut | CallOutcome::NotRun => false,
    }
}

fn outcome(ran: &Ran) -> CallOutcome {
    match (ran.is_error, ran.class) {
        (false, _) => CallOutcome::Done,
        (true, Some(ErrorClass::Timeout)) => CallOutcome::Cut,
        (true, Some(ErrorClass::CouldNotRun)) => CallOutcome::NotRun,
        (true, Some(ErrorClass::Refused)) => CallOutcome::Refused,
        (true, Some(ErrorClass::NonZeroExit | ErrorClass::Tool | ErrorClass::Infrastructure) | None) => {
            CallOutcome::Failed
        }
    }
}
