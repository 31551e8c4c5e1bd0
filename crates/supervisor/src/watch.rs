//! The watch over one worker: freezes, thaws and ends its tree as the guard decides, and never waits for a disk itself.

use crate::ending::WorkerEnd;
use crate::guard::Guard;
use crate::guard::pulse::{LastAnswer, Pulse};
use crate::hook_silence::{HookSilence, OtherCalls};
use crate::late_hooks::{self, LateHooks};
use crate::no_hook::NoHookDiagnosis;
use crate::options::{Notifier, Presence, WatchLimits};
use crate::transcript_audit::TranscriptAudit;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tripwire_clients::Client;
use tripwire_clients::hooks::TurnEnd;
use tripwire_core::effect::{HoldReason, StopReason, SwitchReason};
use tripwire_core::input::Mode;
use tripwire_sandbox::{Planted, Receipt, Tree, TreeError, TreeExit, interrupts};

/// How often the watch looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often it reads the client's records.
const READ_EVERY: Duration = Duration::from_millis(300);
/// The first event of a hook must come within this time of a start.
const ALIVE_WITHIN: Duration = Duration::from_secs(60);
/// The same while a person may have to answer the client's questions first.
const ALIVE_WITHIN_AT_A_TERMINAL: Duration = Duration::from_secs(600);
/// How long a client that was answered to end its turn may take to do so.
const GRACE: Duration = Duration::from_secs(4);
/// How long an answer may be on its way to a hook.
const SETTLE: Duration = Duration::from_millis(200);
/// How long a worker that is interrupted for a restart may take to end.
const INTERRUPT_GRACE: Duration = Duration::from_secs(3);

/// Whether another engine stands ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextEngine {
    /// One does.
    Ready,
    /// None does.
    None,
}

/// The watch.
pub(crate) struct Watch<'a> {
    /// The guard.
    pub(crate) guard: &'a Guard,
    /// Who tells the person.
    pub(crate) notifier: &'a Arc<dyn Notifier>,
    /// How long it waits for signs of life.
    pub(crate) limits: WatchLimits,
    /// Whether a person can be asked.
    pub(crate) presence: Presence,
    /// What the client's own records say.
    pub(crate) audit: TranscriptAudit,
    /// What the model asked for and no hook announced yet.
    pub(crate) silence: HookSilence,
    /// Hooks on their way.
    pub(crate) late_hooks: LateHooks,
    /// The run's folder, by which its hooks are known.
    pub(crate) folder: PathBuf,
    /// Whether another engine stands ready.
    pub(crate) next: NextEngine,
    /// What tells a client that only printed something from one that worked past its guard.
    pub(crate) no_hook: NoHookDiagnosis,
    /// The worker.
    pub(crate) tree: Tree,
    /// A clock that stands still while the worker does.
    pub(crate) clock: WorkerClock,
}

/// What is known of a worker whose time is over.
pub(crate) struct WatchEnd {
    pub(crate) end: WorkerEnd,
    pub(crate) receipt: Receipt,
    pub(crate) audit: TranscriptAudit,
    /// What it planted, where it was confined.
    pub(crate) planted: Planted,
}

/// Time that counts for the worker.
#[derive(Debug)]
pub(crate) struct WorkerClock {
    start: Instant,
    frozen: Duration,
    frozen_since: Option<Instant>,
}

impl WorkerClock {
    /// Starts now.
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), frozen: Duration::ZERO, frozen_since: None }
    }

    fn now(&self) -> Duration {
        let standing = self.frozen_since.map_or(Duration::ZERO, |since| since.elapsed());
        self.start.elapsed().saturating_sub(self.frozen + standing)
    }
}

impl Watch<'_> {
    /// Watches until the worker's time is over, ends what is left of it, and hands out the receipt.
    pub(crate) fn run(mut self, client: Client) -> WatchEnd {
        let over = match self.watch(client) {
            Ok(over) => over,
            Err(error) => WorkerEnd::Broken(error.to_string()),
        };
        if over == WorkerEnd::Restart {
            self.tree.interrupt();
            // Whether it ended by itself or not, it is ended now.
            drop(self.tree.wait(INTERRUPT_GRACE));
        }
        let receipt = self.tree.kill();
        let planted = self.tree.planted();
        WatchEnd { end: over, receipt, audit: self.audit, planted }
    }

    fn watch(&mut self, client: Client) -> Result<WorkerEnd, TreeError> {
        let mut grace: Option<Instant> = None;
        let mut read = Instant::now();
        loop {
            let ended = self.tree.wait(LOOK_EVERY)?;
            let pulse = self.guard.pulse();
            let due = read.elapsed() >= READ_EVERY;
            if ended.is_some() || due {
                read = Instant::now();
                if let Some(proof) = self.audit.look(&pulse, self.clock.now()) {
                    return Ok(WorkerEnd::Broken(proof));
                }
                if let Some(silent) = self.silent_hook(&pulse) {
                    return Ok(WorkerEnd::Broken(silent));
                }
                let is_silent = pulse.events == 0 && !self.no_hook.is_at_gateway();
                if let (true, None, None) = (is_silent, ended, pulse.stopped())
                    && let Some(work) = self.no_hook.look(self.clock.now())
                    // A hook that came meanwhile came before the work.
                    && self.guard.pulse().events == 0
                {
                    return Ok(WorkerEnd::Broken(work));
                }
                let (served, folder) = (self.guard.served(), &self.folder);
                if self.late_hooks.look(self.clock.now(), served, || late_hooks::started(folder)) {
                    return Ok(WorkerEnd::Broken("a hook was started and does not answer".to_owned()));
                }
            }
            if let Some(over) = self.alarm(&pulse, ended) {
                return Ok(over);
            }
            if interrupts::asked().is_some() {
                return Ok(WorkerEnd::Interrupted);
            }
            if let Some(budget) = self.tree.spent() {
                return Ok(WorkerEnd::OverBudget(budget));
            }
            if let Some(over) = self.verdict(&pulse) {
                let patience = patience(client, &over, &pulse);
                if ended.is_some() || grace.get_or_insert_with(Instant::now).elapsed() >= patience {
                    return Ok(over);
                }
                continue;
            }
            if let Some(exit) = ended {
                return Ok(WorkerEnd::ByItself(exit));
            }
            self.freeze_or_thaw(&pulse)?;
            let orders = self.guard.orders();
            if let (Some(reason), NextEngine::Ready) = (orders.switch, self.next) {
                return Ok(WorkerEnd::Switch(reason));
            }
            if orders.compact {
                return Ok(WorkerEnd::Restart);
            }
        }
    }

    /// A call that no hook announced, if that ends the run; where decisions do not bind, and to a person at a terminal, it is said.
    fn silent_hook(&mut self, pulse: &Pulse) -> Option<String> {
        let gateway = self.guard.gateway()?;
        let others = if self.guard.has_open_calls() { OtherCalls::Running } else { OtherCalls::None };
        let silent = self.silence.look(gateway.calls(), pulse, others, self.clock.now())?;
        match (pulse.view.guard, self.presence) {
            (Mode::Armed, Presence::Headless) => Some(silent),
            // A person may have interrupted the client before it came to the call; they are told and decide.
            (Mode::Armed, Presence::Terminal) | (Mode::Observe, Presence::Terminal | Presence::Headless) => {
                self.notifier.say(&format!("tripwire: {silent}"));
                None
            }
        }
    }

    /// What proves that the guard does not hold, or that there was nothing to guard.
    fn alarm(&self, pulse: &Pulse, ended: Option<TreeExit>) -> Option<WorkerEnd> {
        if let Some(fault) = &pulse.fault {
            return Some(WorkerEnd::Broken(fault.clone()));
        }
        if pulse.busy_since.is_some_and(|since| since.elapsed() > self.limits.engine) {
            let why = format!(
                "the engine did not answer for {} s: is the disk or the journal's lock held?",
                self.limits.engine.as_secs()
            );
            return Some(WorkerEnd::Broken(why));
        }
        let within = match self.presence {
            Presence::Terminal => ALIVE_WITHIN_AT_A_TERMINAL,
            Presence::Headless => ALIVE_WITHIN,
        };
        let is_silent = pulse.events == 0 && pulse.stopped().is_none() && !self.no_hook.is_at_gateway();
        if is_silent {
            if let Some(exit) = ended {
                return Some(self.no_hook.over(exit));
            }
            if self.clock.now() > within {
                return Some(WorkerEnd::Broken(format!(
                    "the client did not call its hook within {} s",
                    within.as_secs()
                )));
            }
        }
        None
    }

    /// What the engine decided about the run as a whole.
    fn verdict(&self, pulse: &Pulse) -> Option<WorkerEnd> {
        if let Some(reason) = pulse.stopped() {
            return Some(WorkerEnd::Stopped(reason));
        }
        match pulse.held()? {
            HoldReason::GuardFailure => {
                let newest = pulse.recent.last().map(|finding| finding.reason.clone());
                Some(WorkerEnd::Broken(newest.unwrap_or_else(|| HoldReason::GuardFailure.explain().to_owned())))
            }
            HoldReason::Context => Some(match self.next {
                NextEngine::Ready => WorkerEnd::Switch(SwitchReason::ContextExhausted),
                NextEngine::None => WorkerEnd::Restart,
            }),
            hold @ (HoldReason::Loop
            | HoldReason::NoProgress
            | HoldReason::IterationCap
            | HoldReason::SoftSuspend
            | HoldReason::Money
            | HoldReason::Converged
            | HoldReason::UnreadBlocker
            | HoldReason::UnreadCheckpoint
            | HoldReason::Paused) => (!self.guard.is_waited_for(hold)).then_some(WorkerEnd::Held(hold)),
        }
    }

    fn freeze_or_thaw(&mut self, pulse: &Pulse) -> Result<(), TreeError> {
        match (pulse.held(), self.clock.frozen_since) {
            (Some(hold), None) => {
                self.tree.freeze()?;
                self.clock.frozen_since = Some(Instant::now());
                self.notifier.say(&format!("tripwire: paused; {}", hold.explain()));
            }
            (None, Some(since)) => {
                self.clock.frozen += since.elapsed();
                self.clock.frozen_since = None;
                self.tree.thaw()?;
                self.notifier.say("tripwire: resumed");
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(())
    }
}

/// How long a client may take to end by itself once its end is decided.
fn patience(client: Client, over: &WorkerEnd, pulse: &Pulse) -> Duration {
    if !is_patient(over) {
        return Duration::ZERO;
    }
    match (client.adapter().hooks.turn_end, pulse.last_answer) {
        (TurnEnd::ByEndingTheClient, LastAnswer::GoOn | LastAnswer::End) => Duration::ZERO,
        (TurnEnd::ByAnswer, LastAnswer::End) => GRACE,
        // The answer that ends the turn may be on its way.
        (TurnEnd::ByAnswer, LastAnswer::GoOn) => SETTLE,
    }
}

/// Whether a client may end its turn by itself first. A person's word and a clock are carried out at once.
const fn is_patient(over: &WorkerEnd) -> bool {
    match over {
        WorkerEnd::Stopped(reason) => match reason {
            StopReason::SystemError
            | StopReason::InfiniteLoop
            | StopReason::HardStop
            | StopReason::Runaway
            | StopReason::Refusals => true,
            StopReason::StoppedByPerson | StopReason::WallClock => false,
        },
        WorkerEnd::Held(_) => true,
        WorkerEnd::ByItself(_)
        | WorkerEnd::Broken(_)
        | WorkerEnd::OverBudget(_)
        | WorkerEnd::Interrupted
        | WorkerEnd::Restart
        | WorkerEnd::Switch(_) => false,
    }
}
