//! The session's own driver as the one that is asked: one sync for each call.
//!
//! A call is synced before it reaches the server. Its result is in the journal before the client has it, and on the disk with
//! the next call: what the engine says to it goes with it, because nobody may be held for a warning that came too late.

use super::question::{AskCount, DoorPlace, DoorReply, WaitFor, reply_of};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tripwire_clients::hooks::handler::{Attempt, HookHandler, Measured, OnHeldCall};
use tripwire_clients::hooks::{FigureUse, HookCall, KeptNotes, waits_out_pause};
use tripwire_core::effect::HoldReason;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::{ToolsSeen, What};
use tripwire_core::policy::{Audience, OnGuardFailure, OutputBytes};
use tripwire_session::approvals;
use tripwire_session::driver::{Driver, DriverError, ManifestReach, ResultSync, StateSaves, frozen_policy};
use tripwire_session::foreign::{Foreign, follow_known_mode};
use tripwire_session::memory::{MemoryStore, Visibility};
use tripwire_supervisor::Notifier;
use tripwire_undo::UndoStore;
use tripwire_workspace::clock;
use tripwire_workspace::mode::KnownMode;
use tripwire_workspace::open_consoles::KnownConsoles;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;

/// The name of our sessions for clients that are known by their process alone.
const FOREIGN: &str = "mcp";
/// How often it is looked whether a call still has to wait.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The driver of this process.
pub struct SessionDoor {
    pub(super) place: DoorPlace,
    notifier: Arc<dyn Notifier>,
    /// In a box, because it is large and handed on at each call.
    engine: Mutex<Option<Box<Engine>>>,
    /// The session, once one was opened. It stays the one that is asked: where its journal is gone, nothing says what it had
    /// allowed, and no other one is begun in its place.
    begun: OnceLock<SessionId>,
}

/// An open session.
struct Engine {
    driver: Driver,
    kept: KeptNotes,
    undo: Option<UndoStore>,
    mode: KnownMode,
    consoles: KnownConsoles,
}

impl SessionDoor {
    /// Opens nothing yet: a session begins with the first thing that is to be recorded.
    #[must_use]
    pub fn new(place: DoorPlace, notifier: Arc<dyn Notifier>) -> Self {
        Self { place, notifier, engine: Mutex::default(), begun: OnceLock::new() }
    }

    /// Asks about a call; a guard that cannot decide refuses.
    pub(super) fn ask(&self, call: &HookCall, count: AskCount) -> DoorReply {
        let mut engine = self.lock();
        match self.decide(&mut engine, call, count) {
            Ok(reply) => reply,
            Err(error) => {
                // Whatever broke, the next call begins with a fresh look at the journal.
                *engine = None;
                self.broken(&format!("{error}; {}", error.hint()))
            }
        }
    }

    fn decide(
        &self,
        engine: &mut Option<Box<Engine>>,
        call: &HookCall,
        count: AskCount,
    ) -> Result<DoorReply, DriverError> {
        let engine = self.opened(engine)?;
        let state = self.place.state.as_deref();
        follow_known_mode(&mut engine.driver, self.place.workspace.layout(), state, &mut engine.mode)?;
        let patience = self.patience(&engine.driver, &mut engine.consoles);
        let (attempt, held) = match count {
            AskCount::First if patience.is_zero() => (Attempt::First, OnHeldCall::Refuses),
            AskCount::First => (Attempt::First, OnHeldCall::Waits),
            AskCount::Again if patience.is_zero() => (Attempt::Again, OnHeldCall::Refuses),
            AskCount::Again => (Attempt::Again, OnHeldCall::Waits),
            AskCount::Unanswered(waited) => (Attempt::Again, OnHeldCall::RefusesAfter(waited)),
        };
        let handler = self.handler(engine.undo.as_ref(), held);
        let handled = handler.handle(call, &mut engine.driver, &mut engine.kept, attempt)?;
        for taken in &handled.taken {
            self.notifier.taken(&engine.driver, taken);
        }
        let reply = if let Some(wait) = handled.retry_after {
            DoorReply::Wait(WaitFor::Throttle(wait))
        } else if let Some(code) = handled.awaits {
            DoorReply::Wait(WaitFor::Answer(code, patience))
        } else if waits_out_pause(call, &handled.reply) && is_paused(&engine.driver) {
            DoorReply::Wait(WaitFor::Pause)
        } else {
            reply_of(&handled.reply)
        };
        if let DoorReply::Wait(_) = &reply {
            // Other processes of the session go on meanwhile.
            engine.kept.write_down(&engine.driver)?;
        }
        Ok(reply)
    }

    /// Looks once whether a call still has to wait.
    pub(super) fn still_waits(&self, wait: &WaitFor, waited: Duration) -> bool {
        let left = match wait {
            WaitFor::Throttle(most) | WaitFor::Answer(_, most) => most.saturating_sub(waited),
            WaitFor::Pause => LOOK_AGAIN,
        };
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(LOOK_AGAIN));
        let mut engine = self.lock();
        // What cannot be looked at is asked for again, and that says why.
        let Some(Engine { driver, .. }) = engine.as_deref_mut() else { return false };
        match wait {
            WaitFor::Throttle(_) => true,
            WaitFor::Pause | WaitFor::Answer(..) if driver.has_news(clock::now()).unwrap_or(true) => false,
            WaitFor::Pause => driver.refresh().is_ok() && is_paused(driver),
            WaitFor::Answer(code, _) => driver.refresh().is_ok() && approvals::is_open(driver, code),
        }
    }

    /// Takes in how a call ended, and gives words for the agent. What cannot be recorded is said, and the next call is refused.
    pub(super) fn done(&self, result: &HookCall) -> Option<String> {
        let mut engine = self.lock();
        let taken = self.opened(&mut engine).and_then(|engine| {
            let handler = self.handler(engine.undo.as_ref(), OnHeldCall::Refuses);
            let handled = handler.handle(result, &mut engine.driver, &mut engine.kept, Attempt::First)?;
            for taken in &handled.taken {
                self.notifier.taken(&engine.driver, taken);
            }
            Ok(handled.reply.words())
        });
        taken.unwrap_or_else(|error| {
            *engine = None;
            self.notifier.say(&format!("tripwire: a result is not recorded: {error}; {}", error.hint()));
            None
        })
    }

    /// Writes down what the last call left, once its message went on: nobody waits for that.
    pub(super) fn write_down(&self) {
        let mut engine = self.lock();
        let Some(Engine { driver, kept, .. }) = engine.as_deref_mut() else { return };
        if let Err(error) = kept.write_down(driver) {
            *engine = None;
            self.notifier.say(&format!("tripwire: notes of a call are not kept: {error}; {}", error.hint()));
        }
    }

    /// No call follows any more.
    pub(super) fn close(&self) {
        self.write_down();
        let mut engine = self.lock();
        let Some(Engine { driver, .. }) = engine.as_deref_mut() else { return };
        if let Err(error) = driver.finish() {
            self.notifier.say(&format!("tripwire: the last results may be lost: {error}; {}", error.hint()));
        }
    }

    /// Takes in what was seen of the server's tools.
    pub(super) fn seen(&self, seen: ToolsSeen) {
        let mut engine = self.lock();
        let taken = self.opened(&mut engine).and_then(|engine| {
            let taken = engine.driver.take_now(What::ToolsSeen(seen), clock::now)?;
            self.notifier.taken(&engine.driver, &taken);
            Ok(())
        });
        if let Err(error) = taken {
            *engine = None;
            self.notifier.say(&format!("tripwire: a list of tools is not recorded: {error}; {}", error.hint()));
        }
    }

    /// Bytes of one result that an agent gets.
    pub(super) fn output_max(&self, tool: &str) -> Option<usize> {
        let engine = self.lock();
        let tools = &engine.as_ref()?.driver.policy().tools;
        let own = tools.limits.output_max(tool).map(OutputBytes::get);
        usize::try_from(own.unwrap_or_else(|| u64::from(tools.max_output_kib.get()).saturating_mul(1_024))).ok()
    }

    /// Keeps a whole result in the memory of the workspace, without its secrets.
    pub(super) fn keep_whole(&self, result: &str) -> Result<String, String> {
        let engine = self.lock();
        let Some(Engine { driver, .. }) = engine.as_deref() else { return Err("the session is not open".to_owned()) };
        let redactor = driver.redactor().map_err(|error| error.to_string())?.clone();
        let store = MemoryStore::at(&self.place.workspace.layout().memory()).redacting(redactor);
        let pointer = store.put(result.as_bytes(), Visibility::Public).map_err(|error| error.to_string())?;
        Ok(pointer.to_string())
    }

    fn handler<'a>(&'a self, undo: Option<&'a UndoStore>, held: OnHeldCall) -> HookHandler<'a> {
        HookHandler {
            workspace: &self.place.workspace,
            homes: &self.place.homes,
            clock: clock::now,
            changes: Measured::ByHooks,
            figures: FigureUse::Nothing,
            held,
            undo,
        }
    }

    fn opened<'a>(&self, engine: &'a mut Option<Box<Engine>>) -> Result<&'a mut Engine, DriverError> {
        let opened = match engine.take() {
            Some(open) => open,
            None => self.open()?,
        };
        Ok(engine.insert(opened))
    }

    fn open(&self) -> Result<Box<Engine>, DriverError> {
        let DoorPlace { workspace, homes, signing, role, session, .. } = &self.place;
        let layout = workspace.layout();
        let mut driver = match session.as_ref().or(self.begun.get()) {
            Some(session) => Driver::resume(layout, session)?.acting_as(role.clone()),
            None => self.foreign().open_in(workspace, signing.clone(), clock::now(), role.as_deref())?,
        };
        self.begun.get_or_init(|| driver.session().clone());
        // Nothing confines the agent here: its calls can write the manifest.
        driver = driver.signed_by(signing.clone()).with_reach(ManifestReach::Open);
        driver = driver.with_results(ResultSync::Grouped).with_saves(StateSaves::Seldom);
        let undo = UndoStore::under(homes.own_state().as_deref(), workspace.root(), driver.policy());
        let undo = undo.map(UndoStore::watching_few);
        let (mode, consoles) = (KnownMode::default(), KnownConsoles::default());
        Ok(Box::new(Engine { driver, kept: KeptNotes::staying(), undo, mode, consoles }))
    }

    fn foreign(&self) -> Foreign<'_> {
        Foreign { client: FOREIGN, session: &self.place.origin.client }
    }

    /// How long a held call waits for a person's answer: nobody sees the guard at work, so only while a console is open.
    fn patience(&self, driver: &Driver, consoles: &mut KnownConsoles) -> Duration {
        let is_open = self.place.state.as_deref().is_some_and(|state| consoles.is_any(state));
        let seen = if is_open { Audience::Person } else { Audience::Nobody };
        Duration::from_millis(driver.policy().approvals.wait.seen_by(seen).get())
    }

    /// The guard cannot decide: the policy says what that means, and a policy that cannot be read says no.
    fn broken(&self, why: &str) -> DoorReply {
        let layout = self.place.workspace.layout();
        let named = self.place.session.as_ref().or(self.begun.get()).cloned();
        let known = named.or_else(|| self.foreign().known(layout));
        let policy = match known {
            Some(session) => frozen_policy(layout, &session),
            None => policy_file::load_for(layout).ok().map(|loaded| loaded.policy),
        };
        match policy.map_or(OnGuardFailure::Hold, |policy| policy.gate.on_guard_failure) {
            OnGuardFailure::Hold => DoorReply::Refuse(format!("tripwire: the guard is broken: {why}")),
            OnGuardFailure::Allow => {
                self.notifier.say(&format!("tripwire: NOT GUARDED (on_guard_failure: allow): {why}"));
                DoorReply::Pass(None)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Engine>>> {
        // A driver moves only after its append was acknowledged: a panic leaves it as it was before.
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_paused(driver: &Driver) -> bool {
    driver.view().held == Some(HoldReason::Paused) && driver.view().stopped.is_none()
}
