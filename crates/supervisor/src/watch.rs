//! The watch over one worker: freezes, thaws and ends its tree as the guard decides, and never waits for a disk itself.

use super::guard::{Guard, Pulse, Told};
use super::latecomers::{self, Latecomers};
use super::unasked::Unasked;
use super::witness::Witness;
use super::{Presence, Teller};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tripwire_clients::hooks::Client;
use tripwire_core::effect::{HoldReason, StopReason, SwitchReason};
use tripwire_sandbox::{Receipt, Tree, TreeError, TreeExit, interrupts};

/// How often the watch looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often it reads the client's records.
const READ_EVERY: Duration = Duration::from_millis(300);
/// The first event of a hook must come within this time of a start.
const ALIVE_WITHIN: Duration = Duration::from_secs(60);
/// The same while a person may have to answer the client's questions first.
const ALIVE_WITHIN_AT_A_TERMINAL: Duration = Duration::from_secs(600);
/// How long a client that was told to end its turn may take to do so.
const GRACE: Duration = Duration::from_secs(4);
/// How long an answer may be on its way to a hook.
const SETTLE: Duration = Duration::from_millis(200);
/// How long a worker that is interrupted for a restart may take to end.
const INTERRUPT_GRACE: Duration = Duration::from_secs(3);
/// How long the engine may take for one input: a disk or a lock that does not answer is a broken guard.
pub(crate) const ENGINE_WITHIN: Duration = Duration::from_secs(15);

/// Why a worker's time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Over {
    /// Its program ended.
    ByItself(TreeExit),
    /// The session was stopped.
    Stopped(StopReason),
    /// The session is held and nobody is there to ask.
    Held(HoldReason),
    /// The guard does not hold.
    Broken(String),
    /// Somebody asked this process to end.
    Interrupted,
    /// A fresh worker is to go on with the briefing.
    Restart,
    /// Another engine is to go on.
    Switch(SwitchReason),
}

/// Whether another engine stands ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// One does.
    Engine,
    /// None does.
    Nobody,
}

/// The watch.
pub(crate) struct Watch<'a> {
    /// The guard.
    pub(crate) guard: &'a Guard,
    /// Who speaks to the person.
    pub(crate) teller: &'a Arc<dyn Teller>,
    /// Whether somebody is there to ask.
    pub(crate) presence: Presence,
    /// What the client's own records say.
    pub(crate) witness: Witness,
    /// Hooks on their way.
    pub(crate) latecomers: Latecomers,
    /// The run's folder, by which its hooks are known.
    pub(crate) folder: PathBuf,
    /// Whether another engine stands ready.
    pub(crate) next: Next,
    /// What tells a client that only printed something from one that worked past its guard.
    pub(crate) unasked: Unasked,
    /// The worker.
    pub(crate) tree: Tree,
    /// A clock that stands still while the worker does.
    pub(crate) awake: Awake,
}

/// Time that counts for the worker.
#[derive(Debug)]
pub(crate) struct Awake {
    start: Instant,
    frozen: Duration,
    frozen_since: Option<Instant>,
}

impl Awake {
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
    pub(crate) fn run(mut self, client: Client) -> (Over, Receipt, Witness) {
        let over = match self.watch(client) {
            Ok(over) => over,
            Err(error) => Over::Broken(error.to_string()),
        };
        if over == Over::Restart {
            self.tree.interrupt();
            // Whether it ended by itself or not, it is ended now.
            drop(self.tree.wait(INTERRUPT_GRACE));
        }
        let receipt = self.tree.kill();
        (over, receipt, self.witness)
    }

    fn watch(&mut self, client: Client) -> Result<Over, TreeError> {
        let mut grace: Option<Instant> = None;
        let mut read = Instant::now();
        loop {
            let ended = self.tree.wait(LOOK_EVERY)?;
            let pulse = self.guard.pulse();
            let due = read.elapsed() >= READ_EVERY;
            if ended.is_some() || due {
                read = Instant::now();
                if let Some(proof) = self.witness.look(&pulse, self.awake.now()) {
                    return Ok(Over::Broken(proof));
                }
                if let (true, None, None) = (pulse.events == 0, ended, pulse.stopped())
                    && let Some(work) = self.unasked.look(self.awake.now())
                    // A hook that came meanwhile came before the work.
                    && self.guard.pulse().events == 0
                {
                    return Ok(Over::Broken(work));
                }
                let (served, folder) = (self.guard.served(), &self.folder);
                if self.latecomers.look(self.awake.now(), served, || latecomers::started(folder)) {
                    return Ok(Over::Broken("a hook was started and does not answer".to_owned()));
                }
            }
            if let Some(over) = self.alarm(&pulse, ended) {
                return Ok(over);
            }
            if interrupts::asked().is_some() {
                return Ok(Over::Interrupted);
            }
            if let Some(over) = self.verdict(&pulse) {
                let patience = patience(client, &over, &pulse);
                if ended.is_some() || grace.get_or_insert_with(Instant::now).elapsed() >= patience {
                    return Ok(over);
                }
                continue;
            }
            if let Some(exit) = ended {
                return Ok(Over::ByItself(exit));
            }
            self.freeze_or_thaw(&pulse)?;
            let orders = self.guard.orders();
            if let (Some(reason), Next::Engine) = (orders.switch, self.next) {
                return Ok(Over::Switch(reason));
            }
            if orders.compact {
                return Ok(Over::Restart);
            }
        }
    }

    /// What proves that the guard does not hold, or that there was nothing to guard.
    fn alarm(&self, pulse: &Pulse, ended: Option<TreeExit>) -> Option<Over> {
        if let Some(fault) = &pulse.fault {
            return Some(Over::Broken(fault.clone()));
        }
        if pulse.busy_since.is_some_and(|since| since.elapsed() > ENGINE_WITHIN) {
            let why = format!(
                "the engine did not answer for {} s: is the disk or the journal's lock held?",
                ENGINE_WITHIN.as_secs()
            );
            return Some(Over::Broken(why));
        }
        let within = match self.presence {
            Presence::Terminal => ALIVE_WITHIN_AT_A_TERMINAL,
            Presence::Headless => ALIVE_WITHIN,
        };
        if pulse.events == 0 && pulse.stopped().is_none() {
            if let Some(exit) = ended {
                return Some(self.unasked.over(exit));
            }
            if self.awake.now() > within {
                return Some(Over::Broken(format!("the client did not call its hook within {} s", within.as_secs())));
            }
        }
        None
    }

    /// What the engine decided about the run as a whole.
    fn verdict(&self, pulse: &Pulse) -> Option<Over> {
        if let Some(reason) = pulse.stopped() {
            return Some(Over::Stopped(reason));
        }
        match pulse.held()? {
            HoldReason::GuardFailure => {
                let newest = pulse.recent.last().map(|finding| finding.reason.clone());
                Some(Over::Broken(newest.unwrap_or_else(|| HoldReason::GuardFailure.explain().to_owned())))
            }
            HoldReason::Context => Some(match self.next {
                Next::Engine => Over::Switch(SwitchReason::ContextExhausted),
                Next::Nobody => Over::Restart,
            }),
            hold @ (HoldReason::Loop
            | HoldReason::NoProgress
            | HoldReason::IterationCap
            | HoldReason::SoftSuspend
            | HoldReason::Money
            | HoldReason::Converged
            | HoldReason::Paused) => (!self.guard.is_waited_for(hold)).then_some(Over::Held(hold)),
        }
    }

    fn freeze_or_thaw(&mut self, pulse: &Pulse) -> Result<(), TreeError> {
        match (pulse.held(), self.awake.frozen_since) {
            (Some(hold), None) => {
                self.tree.freeze()?;
                self.awake.frozen_since = Some(Instant::now());
                self.teller.say(&format!("tripwire: everything stands still: {}", hold.explain()));
            }
            (None, Some(since)) => {
                self.awake.frozen += since.elapsed();
                self.awake.frozen_since = None;
                self.tree.thaw()?;
                self.teller.say("tripwire: goes on");
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(())
    }
}

/// How long a client may take to end by itself once its end is decided.
fn patience(client: Client, over: &Over, pulse: &Pulse) -> Duration {
    if !is_patient(over) {
        return Duration::ZERO;
    }
    match (client, pulse.told) {
        // No answer ends a turn of this client.
        (Client::Codex, Told::GoOn | Told::End) => Duration::ZERO,
        (Client::Claude | Client::Gemini, Told::End) => GRACE,
        // The answer that ends the turn may be on its way.
        (Client::Claude | Client::Gemini, Told::GoOn) => SETTLE,
    }
}

/// Whether a client that was told so may end its turn by itself first. A person's word and a clock are carried out at once.
const fn is_patient(over: &Over) -> bool {
    match over {
        Over::Stopped(reason) => match reason {
            StopReason::SystemError | StopReason::InfiniteLoop | StopReason::HardStop | StopReason::Runaway => true,
            StopReason::StoppedByPerson | StopReason::WallClock => false,
        },
        Over::Held(_) => true,
        Over::ByItself(_) | Over::Broken(_) | Over::Interrupted | Over::Restart | Over::Switch(_) => false,
    }
}
