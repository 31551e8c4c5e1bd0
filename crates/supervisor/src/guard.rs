//! The guard of one run: the session's only writer. Hooks ask it, the engine thread keeps it awake, the watch looks at its pulse.
//!
//! Two locks keep it honest. The engine's lock may be held for as long as a disk takes; the pulse is never held for longer
//! than it takes to copy it, so that the watch can see that the engine does not answer, and end the run.

mod model_calls;
mod open_calls;
mod patience;
mod place;
pub(crate) mod pulse;
mod snapshots;
mod tool_servers;
mod waiting;

use self::model_calls::ModelInput;
use self::open_calls::OpenCalls;
pub(crate) use self::place::GuardPlace;
use self::pulse::{Orders, Pulse, TestRun};
use self::snapshots::RunSnapshots;
use self::waiting::{Waited, throttle_words, waits};
use crate::model_gateway::ModelGateway;
use crate::options::{Notifier, Presence};
use crate::socket::Question;
use crate::sources;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tripwire_clients::hooks::TurnEnd;
use tripwire_clients::hooks::handler::{Attempt, Handled, HookHandler, Measured, OnHeldCall};
use tripwire_clients::hooks::{self, Event, FigureUse, HookCall, KeptNotes, Reply, ToolCall};
use tripwire_clients::{Client, Homes};
use tripwire_core::chain::event::{DiskChanges, Flag};
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::What;
use tripwire_observe::{CleanCall, RawCall, observe};
use tripwire_session::driver::{Driver, DriverError, StepOutcome};
use tripwire_session::file_marks::FileMarks;
use tripwire_session::sources::{counts_as_code, is_source};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;

/// The guard.
pub(crate) struct Guard {
    workspace: Workspace,
    homes: Homes,
    presence: Presence,
    notifier: Arc<dyn Notifier>,
    gateway: Option<ModelGateway>,
    sources: Mutex<Option<FileMarks>>,
    snapshots: RunSnapshots,
    engine: Mutex<Driver>,
    pulse: Mutex<Pulse>,
    open: Mutex<OpenCalls>,
    changed: Condvar,
    served: AtomicUsize,
}

impl Guard {
    /// Takes a session over.
    pub(crate) fn new(around: GuardPlace, driver: Driver) -> Self {
        let GuardPlace { workspace, homes, presence, notifier, gateway } = around;
        let sources = Mutex::new(FileMarks::of(workspace.root()));
        let pulse = Mutex::new(Pulse::of(&driver));
        let snapshots = RunSnapshots::begin(&workspace, &homes, &driver, &*notifier);
        let (engine, changed) = (Mutex::new(driver), Condvar::new());
        let (open, served) = (Mutex::default(), AtomicUsize::new(0));
        Self { workspace, homes, presence, notifier, gateway, sources, snapshots, engine, pulse, open, changed, served }
    }

    /// The gateway of the run, if it has one.
    pub(crate) const fn gateway(&self) -> Option<&ModelGateway> {
        self.gateway.as_ref()
    }

    /// How things stand now.
    pub(crate) fn pulse(&self) -> Pulse {
        self.lock_pulse().clone()
    }

    /// Takes what the watch has to carry out.
    pub(crate) fn orders(&self) -> Orders {
        std::mem::take(&mut self.lock_pulse().orders)
    }

    /// A worker begins: what was seen of the one before does not vouch for it.
    pub(crate) fn begin_worker(&self) {
        self.lock_pulse().begin_worker();
        self.open().clear();
    }

    /// The run is over: hooks that wait here are refused.
    pub(crate) fn close(&self) {
        self.lock_pulse().over = true;
        self.changed.notify_all();
    }

    /// Whether calls that a hook announced have no result yet.
    pub(crate) fn has_open_calls(&self) -> bool {
        !self.open().is_empty()
    }

    /// How many hooks are being served now.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }

    /// Answers one event of the client; waits as long as need be.
    pub(crate) fn answer(&self, question: &Question) -> Reply {
        self.served.fetch_add(1, Ordering::SeqCst);
        let reply = self.answer_one(question);
        self.served.fetch_sub(1, Ordering::SeqCst);
        reply
    }

    /// Answers one event of the client.
    fn answer_one(&self, question: &Question) -> Reply {
        match hooks::read(question.client, &question.input) {
            Ok(call) => self.answer_call(call, &|why| hooks::broken(question.client, &question.input, why)),
            Err(error) => {
                self.fault(&error.to_string());
                hooks::broken(question.client, &question.input, &error.to_string())
            }
        }
    }

    /// Answers what the gateway saw of a client without hooks, as if a hook had told it.
    pub(crate) fn answer_event(&self, call: HookCall) -> Reply {
        self.answer_call(call, &|why| Reply { stderr: why.to_owned(), exit_code: 2, ..Reply::default() })
    }

    /// Answers an event; waits as long as the session is paused, a throttle lasts, or a person is asked.
    fn answer_call(&self, mut call: HookCall, broken: &dyn Fn(&str) -> Reply) -> Reply {
        if call.client != Client::Mcp {
            // What a tool server's guard asks does not vouch for the client's hooks.
            self.lock_pulse().note(&call);
        }
        if !call.concerns_the_engine() || self.follow_call(&mut call) == ResultOrigin::Unasked {
            return Reply::default();
        }
        let mut attempt = Attempt::First;
        let patience = self.patience();
        let mut held = if patience.is_zero() { OnHeldCall::Refuses } else { OnHeldCall::Waits };
        loop {
            let handled = match self.note_unseen_change(&call).and_then(|()| self.handle(&call, attempt, held)) {
                Ok(handled) => handled,
                Err(error) => {
                    let why = format!("{error}; {}", error.hint());
                    self.fault(&why);
                    return broken(&why);
                }
            };
            attempt = Attempt::Again;
            let waited = match handled.retry_after {
                None if let Some(code) = &handled.awaits => {
                    held = OnHeldCall::RefusesAfter(patience);
                    self.wait_for_answer(code, patience)
                }
                Some(wait) => self.wait(wait, &throttle_words(&handled)),
                None if waits(&call.event, &handled.reply) => self.wait_for_a_person(),
                None => Waited::NotNeeded,
            };
            match waited {
                // A result was taken in already; that it ended the turn is not true any more.
                Waited::Cleared if matches!(call.event, Event::Done(..)) => return Reply::default(),
                Waited::Cleared => {}
                Waited::NotNeeded | Waited::Over => {
                    if call.client.adapter().hooks.turn_end == TurnEnd::ByEndingTheClient {
                        self.withhold();
                    }
                    self.close_refused(&call.event, &handled.reply);
                    self.lock_pulse().note_reply(&handled.reply);
                    return handled.reply;
                }
            }
        }
    }

    /// Answers a hook that is not this run's: nothing of it is taken in, and what it asks for is judged. The run's own hook is asked
    /// about the client's own calls, so those get no objection here.
    pub(crate) fn answer_other(&self, question: &Question) -> Reply {
        let broken = |why: &str| hooks::broken(question.client, &question.input, why);
        let call = match hooks::read(question.client, &question.input) {
            Ok(call) => call,
            Err(error) => return broken(&error.to_string()),
        };
        if let Event::Asked(tool) = &call.event
            && self.open().has(tool)
        {
            return Reply::default();
        }
        let (workspace, homes, changes) = (&self.workspace, &self.homes, Measured::Given(None));
        let figures = FigureUse::ContextOnly;
        let handler = HookHandler {
            workspace,
            homes,
            clock: clock::now,
            changes,
            figures,
            held: OnHeldCall::Refuses,
            undo: None,
        };
        match self.with_engine(|driver| handler.opinion(&call, driver)) {
            Ok(reply) => reply,
            Err(error) => broken(&format!("{error}; {}", error.hint())),
        }
    }

    /// Follows a call from its question to its result, and says whether a result belongs to any.
    fn follow_call(&self, call: &mut HookCall) -> ResultOrigin {
        match &mut call.event {
            Event::Asked(tool) => self.open().ask(tool),
            Event::Done(tool, outcome) => match self.open().end(tool) {
                Some(asked) => *tool = asked,
                // What a client refuses to run at all was never asked for; a failure proves nothing anyway.
                None if outcome.failed == Some(true) || outcome.exit_code.is_some_and(|code| code != 0) => {}
                None => {
                    let name = &tool.name;
                    self.notifier
                        .say(&format!("tripwire: a result of `{name}` that was not asked for is not taken in"));
                    return ResultOrigin::Unasked;
                }
            },
            Event::Prompt
            | Event::ModelAsked { .. }
            | Event::SessionStarted(_)
            | Event::SessionEnded
            | Event::Claimed(_)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacting
            | Event::Compacted
            | Event::Other => {}
        }
        ResultOrigin::Asked
    }

    /// A call that was refused has no result.
    fn close_refused(&self, event: &Event, reply: &Reply) {
        if let Event::Asked(tool) = event
            && *reply != Reply::default()
        {
            self.open().end(tool);
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenCalls> {
        // Nothing that is done under this lock can leave it half done.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before tests run and when the agent says that it is done: sources that changed unseen make the code modified.
    fn note_unseen_change(&self, call: &HookCall) -> Result<(), DriverError> {
        let matters = match &call.event {
            Event::Claimed(_) => true,
            Event::Asked(tool) => is_test(tool),
            Event::Prompt
            | Event::ModelAsked { .. }
            | Event::SessionStarted(_)
            | Event::SessionEnded
            | Event::Done(..)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacting
            | Event::Compacted
            | Event::Other => false,
        };
        if matters { self.note_changes() } else { Ok(()) }
    }

    /// Takes in that sources changed unseen, if they did.
    pub(crate) fn note_changes(&self) -> Result<(), DriverError> {
        match self.changes(is_source).and_then(sources::event) {
            Some(event) => self.take(event).map(drop),
            None => Ok(()),
        }
    }

    /// What changed on disk since the last look, with what `counts` as code; nothing where the tree is too large.
    fn changes(&self, counts: impl Fn(&str) -> bool) -> Option<DiskChanges> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let now = sources.as_ref()?.again();
        let before = std::mem::replace(&mut *sources, now)?;
        sources.as_ref().map(|now| before.changes_until(now, counts))
    }

    /// What changed on disk during the call that ended. A call that says that it writes may write anything; from one that does
    /// not, only sources count.
    fn changes_of(&self, call: &HookCall) -> Option<DiskChanges> {
        let Event::Done(tool, _) = &call.event else { return None };
        let flags = observe(&tool.raw()).flags;
        self.changes(|path| counts_as_code(flags, path))
    }

    fn handle(&self, call: &HookCall, attempt: Attempt, held: OnHeldCall) -> Result<Handled, DriverError> {
        let changes = Measured::Given(self.changes_of(call));
        self.with_engine(|driver| {
            self.take_model_calls(driver)?;
            let counts = self.gateway.as_ref().is_some_and(ModelGateway::counts);
            let figures = match (call.client == Client::Mcp, counts) {
                (true, _) => FigureUse::Nothing,
                (false, true) => FigureUse::ContextOnly,
                (false, false) => FigureUse::Everything,
            };
            let (workspace, homes, undo) = (&self.workspace, &self.homes, self.snapshots.store());
            let handler = HookHandler { workspace, homes, clock: clock::now, changes, figures, held, undo };
            let spent = driver.view().spent;
            let handled = handler.handle(call, driver, &mut KeptNotes::default(), attempt)?;
            if let Some(gateway) = self.gateway.as_ref().filter(|_| driver.view().spent != spent) {
                gateway.note_bypass(&self.notifier);
            }
            for taken in &handled.taken {
                self.publish(driver, taken);
            }
            if let Event::Done(tool, _) = &call.event {
                self.note_proof(tool, driver)?;
            }
            Ok(handled)
        })
    }

    /// Remembers on which test run the verdict rests: a person is to know what was believed.
    fn note_proof(&self, tool: &ToolCall, driver: &Driver) -> Result<(), DriverError> {
        let mut pulse = self.lock_pulse();
        if driver.view().verdict != Verification::Verified {
            pulse.proof = None;
            return Ok(());
        }
        let test_command = Some(driver.policy().dirty_bits.test_command.as_str()).filter(|text| !text.is_empty());
        let raw = RawCall { test_command, ..tool.raw() };
        let facts = observe(&CleanCall::of(&raw, driver.redactor()?).raw());
        if facts.flags.has(Flag::Test) {
            let action = facts.action.signature.unwrap_or(facts.action.tool).to_string();
            pulse.proof = Some(TestRun { action, call: tool.call_id.clone() });
        }
        Ok(())
    }

    /// Takes in something that no hook brought: time, a person's act, a fact of our own.
    pub(crate) fn take(&self, what: What) -> Result<StepOutcome, DriverError> {
        self.with_engine(|driver| {
            // With a fault the run is ending, and what is handed over now says how.
            let broken = self.lock_pulse().fault.is_some();
            if !broken {
                self.take_model_calls(driver)?;
            }
            let taken = if broken { driver.take_last(what, clock::now)? } else { driver.take_now(what, clock::now)? };
            self.publish(driver, &taken);
            Ok(taken)
        })
    }

    /// Takes in what the gateway has booked and refused since the last look.
    fn take_model_calls(&self, driver: &mut Driver) -> Result<(), DriverError> {
        let Some(gateway) = &self.gateway else { return Ok(()) };
        for news in gateway.news() {
            match model_calls::input(news, driver.role()) {
                ModelInput::Take(what, unpaid) => {
                    let taken = driver.take_now(*what, clock::now)?;
                    self.publish(driver, &taken);
                    self.lock_pulse().unpaid = unpaid;
                }
                ModelInput::Fault(why) => self.fault(&why),
                ModelInput::Nothing => {}
            }
        }
        gateway.follow_budget(driver.view().budget_micro_usd);
        Ok(())
    }

    /// Looks whether people, the clock or the gateway have something to say, and takes it in.
    pub(crate) fn look(&self) -> Result<(), DriverError> {
        self.with_engine(|driver| {
            self.take_model_calls(driver)?;
            let due = self.lock_pulse().deadline.is_some_and(|deadline| {
                clock::now().epoch_ms() >= driver.start().epoch_ms().saturating_add(deadline.get())
            });
            if due || driver.has_news(clock::now())? {
                let taken = driver.take_now(What::Tick, clock::now)?;
                self.publish(driver, &taken);
            }
            Ok(())
        })
    }

    /// Takes in what another process journaled, such as `tripwire resume` from another terminal.
    pub(crate) fn refresh(&self) -> Result<(), DriverError> {
        self.with_engine(|driver| {
            driver.refresh()?;
            self.lock_pulse().see(driver);
            Ok(())
        })
    }

    /// Does something with the engine; the pulse shows for how long it has been at it.
    fn with_engine<T>(&self, work: impl FnOnce(&mut Driver) -> Result<T, DriverError>) -> Result<T, DriverError> {
        let mut driver = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        self.lock_pulse().busy_since = Some(Instant::now());
        let result = work(&mut driver);
        self.lock_pulse().busy_since = None;
        self.changed.notify_all();
        result
    }

    fn publish(&self, driver: &Driver, taken: &StepOutcome) {
        self.lock_pulse().publish(driver, taken);
        self.notifier.taken(driver, taken);
    }

    /// Notes that the guard itself is broken; the first cause stays.
    pub(crate) fn fault(&self, why: &str) {
        self.lock_pulse().fault.get_or_insert_with(|| why.to_owned());
        self.changed.notify_all();
    }

    /// Writes the report of a run that ends here for a person to look at.
    pub(crate) fn report_blocker(&self, reason: &str) -> Result<(), DriverError> {
        self.with_engine(|driver| driver.report_blocker(reason, clock::now()))
    }

    /// Writes the frozen replay of the run as it stands.
    pub(crate) fn freeze(&self) -> Result<(), DriverError> {
        self.with_engine(|driver| driver.freeze_in_passing())
    }

    /// Writes the briefing for a fresh worker.
    pub(crate) fn brief(&self) -> Result<(), DriverError> {
        self.with_engine(|driver| driver.brief(clock::now()))
    }

    fn lock_pulse(&self) -> MutexGuard<'_, Pulse> {
        // Nothing that is done under this lock can leave it half done.
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an event belongs to what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultOrigin {
    /// It does, or asks for nothing.
    Asked,
    /// It is a result without a question.
    Unasked,
}

/// Whether a call runs the tests.
fn is_test(tool: &ToolCall) -> bool {
    observe(&tool.raw()).flags.has(Flag::Test)
}
