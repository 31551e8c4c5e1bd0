//! One worker after the other: each is started, watched to its end and ended for certain, until the run is over.

use crate::closing::{self, Closed};
use crate::confinement;
use crate::ending::{EndFacts, Ending, WorkerEnd};
use crate::engine_thread::EngineThread;
use crate::error::RunError;
use crate::guard::{Guard, GuardPlace};
use crate::hook_silence::HookSilence;
use crate::late_hooks::LateHooks;
use crate::model_gateway::ModelGateway;
use crate::options::{Notifier, RunOptions};
use crate::output_tap::{OutputTap, StderrTail};
use crate::report::{EngineSwitch, Isolation, RunReport};
use crate::run_context::{RunContext, RunPlace};
use crate::serve;
use crate::transcript_audit::{Shown, TranscriptAudit};
use crate::watch::{NextEngine, Watch, WatchEnd, WorkerClock};
use crate::worker::{self, StartedWorker, Worker};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tripwire_clients::Client;
use tripwire_clients::launch::{CONTINUE, ExitMessage, LaunchError, Program, fallback, replaced};
use tripwire_core::effect::{HoldReason, SwitchReason};
use tripwire_core::explain::Explain as _;
use tripwire_core::input::{Compaction, EngineSwitched, What};
use tripwire_core::label::Label;
use tripwire_core::units::RunMillis;
use tripwire_sandbox::{CpuHold, Receipt, Shield, TreeExit, WorkspaceAccess};
use tripwire_session::driver::Driver;
use tripwire_session::file_marks::BoundTree;
use tripwire_session::supervised::{HeldRecord, RunEnd, RunRecord, StopReceipt};
use tripwire_workspace::clock;

/// What holds processes together before there are any.
const NOT_CONTAINED: &str = "none";

/// An engine of the person's chain to go on with.
pub(crate) struct FallbackEngine {
    /// The client.
    pub(crate) program: Program,
    /// Its name, or its whole command line.
    pub(crate) command: Vec<OsString>,
}

/// The run, worker after worker.
pub(crate) struct RunLoop<'a> {
    context: RunContext<'a>,
    record_file: HeldRecord,
    record: RunRecord,
    /// What holds the last worker's processes together.
    contained: &'static str,
    session: String,
    start: Instant,
    deadline: Option<Instant>,
    receipt: StopReceipt,
    clients: Vec<&'static str>,
    restarts: u32,
    switches: Vec<EngineSwitch>,
    /// What the last worker said at its end.
    text: Option<String>,
    /// Whether the client's own transcript shows the test run that the verdict rests on.
    shown: Shown,
    /// What a confined worker planted and nobody could make harmless.
    armed: Option<String>,
    isolation: Isolation,
}

/// What follows a worker.
enum AfterWorker {
    /// The run is over.
    End(Ending),
    /// Another worker goes on.
    Next(Box<Worker>),
}

impl<'a> RunLoop<'a> {
    /// Takes the session over and listens to hooks from now on.
    pub(crate) fn open(
        place: RunPlace<'a>,
        driver: Driver,
        notifier: Arc<dyn Notifier>,
        gateway: Option<ModelGateway>,
    ) -> Result<Self, RunError> {
        let RunPlace { options, folder, confinement } = place;
        let setup = |what| move |error| RunError::Setup { what, error };
        let session = driver.session().clone();
        let record = RunRecord {
            version: RunRecord::VERSION,
            pid: std::process::id(),
            client: String::new(),
            containment: NOT_CONTAINED.to_owned(),
            shielded: false,
            end: None,
        };
        let record_file = HeldRecord::begin(options.workspace.layout(), &session, &record)?;
        let limit = driver.policy().limits.max_session_runtime_ms.get();
        let bound = BoundTree::under(driver.policy());
        let around = GuardPlace {
            workspace: options.workspace.clone(),
            homes: options.homes.clone(),
            presence: options.presence,
            notifier: Arc::clone(&notifier),
            gateway,
        };
        let guard = Arc::new(Guard::new(around, driver));
        // What people did before is taken in now, and the key that signs it is there before it is hidden.
        guard.take(What::Tick)?;
        serve::listen(&folder.socket(), folder.program(), Arc::clone(&guard)).map_err(setup("listen to hooks"))?;
        let engine = EngineThread::start(Arc::clone(&guard)).map_err(setup("start a thread"))?;
        let start = Instant::now();
        let deadline = limit.map(|limit: RunMillis| start + Duration::from_millis(limit.get()));
        Ok(Self {
            context: RunContext {
                options,
                folder,
                confinement,
                notifier,
                guard,
                engine,
                session: session.to_string(),
                bound,
            },
            record_file,
            record,
            contained: NOT_CONTAINED,
            session: session.to_string(),
            start,
            deadline,
            receipt: StopReceipt::default(),
            clients: Vec::new(),
            restarts: 0,
            switches: Vec::new(),
            text: None,
            shown: Shown::Unknown,
            armed: None,
            isolation: Isolation::None,
        })
    }

    /// Works until the run is over.
    pub(crate) fn run(mut self, first: Worker, fallbacks: Vec<FallbackEngine>) -> Result<RunReport, RunError> {
        let mut fallbacks = VecDeque::from(fallbacks);
        let mut worker = first;
        let ending = loop {
            let next = if fallbacks.is_empty() { NextEngine::None } else { NextEngine::Ready };
            let started = match self.start(&worker) {
                Ok(started) => started,
                // The first worker's failure is the person's to fix; a later one's ends the run that is going on.
                Err(error) if self.clients.is_empty() => {
                    self.give_up(&error.to_string());
                    return Err(error);
                }
                Err(error) => break Ending::ClientFailed(format!("{error}; {}", error.hint())),
            };
            match self.watch(&worker, started, next, &mut fallbacks) {
                AfterWorker::End(ending) => break ending,
                AfterWorker::Next(next) => worker = *next,
            }
        };
        Ok(self.close(ending))
    }

    fn start(&mut self, worker: &Worker) -> Result<StartedWorker, RunError> {
        let started = worker.start(&self.context)?;
        self.clients.push(worker.program.client.name());
        self.record.client = self.clients.join(", ");
        self.contained = started.tree.containment().name();
        self.contained.clone_into(&mut self.record.containment);
        self.record.shielded = started.tree.shield() == Shield::Up;
        self.isolation = match (started.tree.is_confined(), started.tree.shield()) {
            (true, _) => Isolation::Sandboxed,
            (false, Shield::Up) => Isolation::Shielded,
            (false, Shield::Down) => Isolation::None,
        };
        if started.tree.cpu() == CpuHold::Pinned && self.isolation != Isolation::Sandboxed {
            self.context.notifier.say(
                "tripwire: no cgroup holds the processor time here: the client is pinned to as many processors, which a \
                 program can undo; `--sandbox` keeps it from that",
            );
        }
        self.record_file.write(&self.record)?;
        if !self.record.shielded {
            self.context.notifier.say(
                "tripwire: this system keeps no path from the client's processes: \
                 the journal is tamper-evident, not tamper-proof",
            );
        }
        Ok(started)
    }

    fn watch(
        &mut self,
        worker: &Worker,
        started: StartedWorker,
        next: NextEngine,
        fallbacks: &mut VecDeque<FallbackEngine>,
    ) -> AfterWorker {
        let client = worker.program.client;
        let StartedWorker { tree, output, stderr, no_hook } = started;
        let limits = self.context.options.limits;
        let watch = Watch {
            guard: &self.context.guard,
            notifier: &self.context.notifier,
            limits,
            presence: self.context.options.presence,
            audit: TranscriptAudit::new(client, limits.announced),
            silence: HookSilence::new(client, limits.silent),
            late_hooks: LateHooks::new(limits.question),
            folder: self.context.folder.path().to_owned(),
            next,
            no_hook,
            tree,
            clock: WorkerClock::new(),
        };
        let WatchEnd { end, receipt, audit, planted } = watch.run(client);
        self.add(receipt);
        if let Some(confinement) = self.context.confinement {
            self.context.note_held(confinement.held(&planted));
            self.armed = confinement::left_armed(&planted).or_else(|| self.armed.take());
        }
        let mut message = output.map_or_else(ExitMessage::default, OutputTap::exit_message);
        let complaint = stderr.and_then(StderrTail::last_line);
        if let (WorkerEnd::ByItself(exit), None) = (&end, &message.error)
            && *exit != TreeExit::Exited(0)
        {
            message.error = complaint;
        }
        self.text.clone_from(&message.text);
        if self.context.guard.gateway().is_some() {
            self.take_model_calls();
        }
        if let (WorkerEnd::ByItself(_), true) = (&end, client.is_at_gateway())
            && let Err(error) = self.context.guard.note_changes()
        {
            return AfterWorker::End(Ending::GuardBroken(error.to_string()));
        }
        let pulse = self.context.guard.pulse();
        self.shown = pulse.proof.as_ref().map_or(Shown::Unknown, |run| audit.shows(run));
        let facts = EndFacts { client, end: &end, pulse: &pulse, message: &message, refusal: audit.refusal() };
        match &end {
            WorkerEnd::Restart => self.restart(worker),
            WorkerEnd::Switch(reason) => self.switch(client, switch_words(*reason), fallbacks),
            WorkerEnd::ByItself(_) => match facts.overload() {
                Some(why) if next == NextEngine::Ready => self.switch(client, &why, fallbacks),
                Some(_) | None => AfterWorker::End(facts.ending()),
            },
            WorkerEnd::Stopped(_)
            | WorkerEnd::Held(_)
            | WorkerEnd::Broken(_)
            | WorkerEnd::OverBudget(_)
            | WorkerEnd::Interrupted => AfterWorker::End(facts.ending()),
        }
    }

    /// The same client with a fresh context and the order to read the briefing.
    fn restart(&mut self, worker: &Worker) -> AfterWorker {
        self.context
            .notifier
            .say("tripwire: the context is full: a fresh worker goes on with `.geometry/MISSION_BRIEFING.md`");
        self.restarts += 1;
        let command = replaced(worker.program, &worker.command, CONTINUE);
        self.go_on(worker.program, &command)
    }

    /// The next engine of the person's chain.
    fn switch(&mut self, from: Client, reason: &str, fallbacks: &mut VecDeque<FallbackEngine>) -> AfterWorker {
        let Some(FallbackEngine { program, command }) = fallbacks.pop_front() else {
            return AfterWorker::End(Ending::Held(HoldReason::Context));
        };
        let switch = EngineSwitch { from: from.name(), to: program.client.name(), reason: reason.to_owned() };
        let EngineSwitch { from, to, reason } = &switch;
        self.context.notifier.say(&format!("tripwire: engine switch: {to} goes on for {from}: {reason}"));
        let switched = EngineSwitched { from: Label::cut(from), to: Label::cut(to), reason: Label::cut(reason) };
        self.switches.push(switch);
        if let Err(error) = self.context.take(What::EngineSwitched(switched)) {
            return AfterWorker::End(Ending::GuardBroken(error.to_string()));
        }
        let command = fallback(program.client, &command, CONTINUE);
        self.go_on(program, &command)
    }

    /// Starts over with an empty context: the briefing is there, and the engine knows.
    fn go_on(&mut self, program: Program, command: &[OsString]) -> AfterWorker {
        let context = &self.context;
        if let Err(error) = context.guard.brief() {
            return AfterWorker::End(Ending::GuardBroken(error.to_string()));
        }
        let compaction = Compaction { context_tokens: None, workspace_hash: context.bound_digest() };
        if let Err(error) = context.take(What::Compacted(compaction)) {
            return AfterWorker::End(Ending::GuardBroken(error.to_string()));
        }
        let pulse = context.guard.pulse();
        match (pulse.stopped(), pulse.held()) {
            (Some(reason), _) => return AfterWorker::End(Ending::Stopped(reason)),
            (None, Some(reason)) if !context.guard.is_waited_for(reason) => {
                return AfterWorker::End(Ending::Held(reason));
            }
            (None, Some(_) | None) => {}
        }
        let gateway = context.guard.gateway().map(ModelGateway::place);
        match worker::prepare(context.options, context.folder, gateway, program, command) {
            Ok(worker) => AfterWorker::Next(Box::new(worker)),
            Err(error) => AfterWorker::End(not_prepared(&error)),
        }
    }

    fn add(&mut self, receipt: Receipt) {
        self.receipt.ended += receipt.ended;
        self.receipt.survivors += receipt.survivors;
        let took_ms = u64::try_from(receipt.took.as_millis()).unwrap_or(u64::MAX);
        self.receipt.took_ms = self.receipt.took_ms.saturating_add(took_ms);
    }

    /// Journals how it ended, and writes the record of the run.
    fn close(mut self, ending: Ending) -> RunReport {
        self.end_gateway();
        if let Some(confinement) = self.context.confinement {
            self.context.note_held(confinement.write_back(self.context.notifier.as_ref()));
        }
        let Closed { mut ending, verified, proof } = closing::close(&self.context, ending, self.shown, self.deadline);
        if let Some(what) = self.armed.take() {
            ending = Ending::GuardBroken(format!("something planted may still be armed: {what}"));
        }
        if self.receipt.survivors > 0 {
            ending = Ending::GuardBroken(format!("{} processes survived", self.receipt.survivors));
        }
        if let Err(error) = self.context.guard.freeze() {
            self.context.notifier.say(&format!("note: the frozen replay is not written: {error}"));
        }
        self.context.guard.close();
        let broken = if let Ending::GuardBroken(why) = &ending { Some(why.clone()) } else { None };
        self.record.end = Some(RunEnd { at: Some(clock::now()), how: ending.words(), broken, receipt: self.receipt });
        if let Err(error) = self.record_file.write(&self.record) {
            self.context.notifier.say(&format!("note: the end of the run is not recorded: {error}"));
        }
        let pulse = self.context.guard.pulse();
        RunReport {
            session: self.session,
            client_resume: resume_line(
                self.clients.last().copied(),
                pulse.client_session.as_deref(),
                self.context.options,
            ),
            clients: self.clients,
            ending,
            text: self.text,
            verified,
            proof,
            view: pulse.view,
            findings: pulse.recent,
            receipt: self.receipt,
            took: self.start.elapsed(),
            restarts: self.restarts,
            switches: self.switches,
            containment: self.contained,
            isolation: self.isolation,
            gateway: self.context.guard.gateway().map(ModelGateway::report),
        }
    }

    /// Ends the gateway, so that what its last calls cost is in the journal before the end is.
    fn end_gateway(&self) {
        if let Some(gateway) = self.context.guard.gateway() {
            gateway.finish();
            self.take_model_calls();
        }
    }

    /// Has the engine take in what the gateway told last, before anything is said about the end.
    fn take_model_calls(&self) {
        if let Err(error) = self.context.engine.look(self.context.options.limits.engine) {
            self.context.notifier.say(&format!("note: the last model calls are not in the journal: {error}"));
        }
    }

    /// Nothing was started: the record says so.
    fn give_up(&mut self, why: &str) {
        self.context.guard.close();
        let how = format!("not started: {why}");
        self.record.end = Some(RunEnd { at: Some(clock::now()), how, broken: None, receipt: self.receipt });
        // Nothing ran, so nothing depends on it.
        drop(self.record_file.write(&self.record));
    }
}

/// How a run ends whose next client cannot be prepared.
fn not_prepared(error: &LaunchError) -> Ending {
    let why = format!("{error}; {}", error.hint());
    match error {
        LaunchError::SwitchedOff { .. } | LaunchError::Unguarded { .. } => Ending::GuardBroken(why),
        LaunchError::File { .. }
        | LaunchError::Settings { .. }
        | LaunchError::Trust { .. }
        | LaunchError::NotText { .. } => Ending::ClientFailed(why),
    }
}

/// The last client's own command that goes on with its conversation.
fn resume_line(client: Option<&'static str>, session: Option<&str>, options: &RunOptions) -> Option<String> {
    let client = Client::named(client?)?;
    // What is printed for a person to paste holds nothing that a shell would read as more than a word.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let session = session.filter(|id| !id.is_empty() && id.chars().all(is_plain))?;
    let words = client.adapter().launch.command_line.resume_words;
    let words = Some(words).filter(|words| !words.is_empty())?.join(" ");
    // The history of a confined client is in its private copy.
    let sandbox = match options.sandbox.as_ref().map(|sandbox| sandbox.access) {
        Some(WorkspaceAccess::Write) => "--sandbox ",
        Some(WorkspaceAccess::Read) => "--sandbox=read-only ",
        None => "",
    };
    Some(format!("tripwire run {sandbox}-- {} {words} {session}", client.name()))
}

const fn switch_words(reason: SwitchReason) -> &'static str {
    match reason {
        SwitchReason::VerificationFailed => "verification failed too often",
        SwitchReason::ContextExhausted => "the context is exhausted",
    }
}
