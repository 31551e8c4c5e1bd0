//! A machine's part in the fleet, for as long as `tripwire fleet serve` or a run with `--fleet` lasts: it copies the journals of its
//! sessions, obeys the orders of people, tells that it is alive, and pauses everything when nobody hears it.
//!
//! One process speaks for a machine. A run that finds another one speaking stands by: it only makes sure that the machine is
//! heard, and takes over when that process falls silent.

use crate::copied::Copied;
use crate::dead_man::{DeadMan, DeadManAct};
use crate::host::{Host, Membership, Obeyed};
use crate::log::{Entry, Log, LogError, Sequence, Waited};
use crate::machine::{self, Beat, MachineState, Part, SessionState};
use crate::order::{self, FleetAct, FleetOrder, FleetReceipt, OrderFault, OrderHistory, Outcome, SeenOrders, Target};
use crate::questions::{Questions, Waiting};
use crate::record::RecordError;
use crate::subject::Subject;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tripwire_fs::file;

/// What a machine remembers between two lives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Memory {
    order: Sequence,
    seen: SeenOrders,
}

/// A stop or pause that was obeyed when it was heard.
struct EarlyStop {
    nonce: String,
    /// Processes that it ended.
    ended: u64,
    at: Instant,
}

/// How a service ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// It was asked to leave.
    Left,
    /// Another process speaks for this machine.
    Rival,
}

/// A machine that serves.
pub struct Member<'a> {
    log: &'a dyn Log,
    host: &'a dyn Host,
    who: Membership,
    memory: Mutex<Memory>,
    /// The place of the last heartbeat that is known.
    at: Mutex<Sequence>,
    /// When the fleet was last in touch, in milliseconds since `start`.
    dead_man: Mutex<DeadMan>,
    start: Instant,
    questions: Questions,
    /// A stop that was obeyed before it was safe in the log.
    early: Mutex<Option<EarlyStop>>,
    /// Whether the last heartbeat was this process's own.
    speaks: AtomicBool,
    is_rival: AtomicBool,
}

impl<'a> Member<'a> {
    /// A machine that has not begun.
    #[must_use]
    pub fn new(log: &'a dyn Log, host: &'a dyn Host, who: Membership) -> Self {
        Self {
            log,
            host,
            memory: Mutex::new(remembered(&who.memory)),
            dead_man: Mutex::new(DeadMan::new(u64::try_from(who.dead_man.as_millis()).unwrap_or(u64::MAX), 0)),
            who,
            at: Mutex::new(Sequence(0)),
            start: Instant::now(),
            questions: Questions::default(),
            early: Mutex::new(None),
            speaks: AtomicBool::new(false),
            is_rival: AtomicBool::new(false),
        }
    }

    /// Tells the fleet of this machine and obeys what was ordered, before anything begins here.
    ///
    /// # Errors
    /// When the fleet does not answer.
    pub fn enter(&self) -> Result<(), LogError> {
        for _ in 0..ENTER_ATTEMPTS {
            if self.beat(&BTreeMap::new(), Leaving::No)? {
                if self.speaks.load(Ordering::Relaxed) {
                    self.catch_up()?;
                }
                return Ok(());
            }
        }
        Err(LogError::Unreachable("the heartbeat of this machine was not taken".to_owned()))
    }

    /// Obeys every order that this machine has not handled yet.
    ///
    /// # Errors
    /// When the orders cannot be read.
    pub fn catch_up(&self) -> Result<(), LogError> {
        self.recall();
        self.stand();
        loop {
            let page = self.log.read(&Subject::orders(), self.order(), PAGE)?;
            if page.is_empty() {
                return Ok(());
            }
            for entry in page {
                self.handle(&entry);
            }
        }
    }

    /// Serves until the host says that it is over.
    pub fn serve(&self) -> Served {
        std::thread::scope(|scope| {
            scope.spawn(|| self.take_orders());
            scope.spawn(|| self.replicate_and_beat());
            self.watch();
        });
        if self.is_rival.load(Ordering::Relaxed) { Served::Rival } else { Served::Left }
    }

    fn is_over(&self) -> bool {
        self.is_rival.load(Ordering::Relaxed) || self.host.is_over()
    }

    /// A machine that is new here obeys the order that stands; those before it are history.
    fn stand(&self) {
        if self.order() != Sequence(0) {
            return;
        }
        let Ok(history) = self.history() else { return };
        // The one that stands is handled as if it came now.
        let last = history.last_for(&self.who.labels);
        let handled = last.map_or(history.end, |(sequence, _)| Sequence(sequence.0.saturating_sub(1)));
        self.with_memory(|memory| *memory = Memory { order: handled, seen: SeenOrders::default() });
    }

    /// The order that keeps this machine's agents from working, if there is one.
    ///
    /// # Errors
    /// When the orders cannot be read.
    pub fn held_by(&self) -> Result<Option<FleetOrder>, LogError> {
        Ok(self.history()?.hold_for(&self.who.labels).cloned())
    }

    fn history(&self) -> Result<OrderHistory, LogError> {
        OrderHistory::read(self.log, &self.host.trusted())
    }

    fn take_orders(&self) {
        let subject = Subject::orders();
        let wait = match self.who.part {
            Part::Service => SERVICE_WAIT.min(self.beat_every()),
            Part::Standby => STANDBY_WAIT,
        };
        let (mut spoke, mut looks) = (false, 0_u32);
        while !self.is_over() || self.owes_receipt() {
            if !self.speaks.load(Ordering::Relaxed) {
                // The process that speaks for this machine obeys them.
                spoke = false;
                std::thread::sleep(WATCH_EVERY);
                continue;
            }
            if !spoke {
                self.recall();
                self.stand();
                spoke = true;
            }
            // What is known is what stood when it was asked for.
            let asked_ms = self.since_start_ms();
            let at_most = if looks > 0 { SAFE_SOON } else { wait };
            looks -= looks.min(1);
            match self.log.wait(&subject, self.order(), at_most) {
                Ok(Waited::Heard(text)) => {
                    self.hear(text);
                    looks = SAFE_LOOKS;
                }
                Ok(Waited::Entries(entries)) => {
                    for entry in entries {
                        self.handle(&entry);
                        looks = 0;
                    }
                    self.switch(|switch, _now_ms| switch.know_orders(asked_ms));
                }
                Err(_) => std::thread::sleep(RETRY),
            }
        }
    }

    /// Somebody sends an order, which is not safe in the log yet. Work is held at once, whether the servers have a leader or not; that
    /// it goes on counts only from the log.
    fn hear(&self, text: String) {
        let entry = Entry { sequence: Sequence(0), time_ms: self.host.now_ms(), text };
        let mut seen = self.memory.lock().unwrap_or_else(PoisonError::into_inner).seen.clone();
        let Ok(order) = FleetOrder::open(&entry, &self.host.trusted(), &mut seen) else { return };
        let is_held = match order.act {
            FleetAct::Stop | FleetAct::Pause => order.target.is_for(&self.who.labels),
            FleetAct::Resume => false,
        };
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        if is_held && early.as_ref().is_none_or(|early| early.nonce != order.nonce) {
            let (_, Obeyed { ended, .. }) = self.obey(&order);
            *early = Some(EarlyStop { nonce: order.nonce, ended, at: Instant::now() });
        }
    }

    fn handle(&self, entry: &Entry) {
        let trusted = self.host.trusted();
        let opened = self.with_memory(|memory| FleetOrder::open(entry, &trusted, &mut memory.seen));
        let (outcome, done) = match opened {
            Ok(order) if !order.target.is_for(&self.who.labels) => (Outcome::NotMeant, Obeyed::default()),
            Ok(order) => {
                // Again, because another order may stand between what was heard and this.
                let (outcome, mut done) = self.obey(&order);
                done.ended += self.ended_early(&order.nonce);
                (outcome, done)
            }
            Err(fault) => self.refuse(&fault),
        };
        let Obeyed { mut lines, ended, survivors, failures } = done;
        lines.extend(failures);
        let (machine, at_ms) = (self.who.machine.clone(), self.host.now_ms());
        let receipt = FleetReceipt { order: entry.sequence, machine, at_ms, outcome, lines, ended, survivors };
        // Remembered before it is told: a stop that was carried out is not carried out again after a resume.
        self.with_memory(|memory| memory.order = entry.sequence);
        if let Err(error) = order::receipt(self.log, &receipt) {
            self.host.say(&format!("fleet: the receipt for order {} was not delivered: {error}", entry.sequence));
        }
    }

    /// A stop that was heard may end this very process, which owes the receipt all the same.
    fn owes_receipt(&self) -> bool {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.as_ref().is_some_and(|early| early.at.elapsed() < SAFE_WITHIN)
    }

    /// What an order ended when it was heard, before it was safe.
    fn ended_early(&self, nonce: &str) -> u64 {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.take_if(|early| early.nonce == nonce).map_or(0, |early| early.ended)
    }

    fn obey(&self, order: &FleetOrder) -> (Outcome, Obeyed) {
        let FleetOrder { act, who, reason, target, .. } = order;
        let meant = match target {
            Target::All => String::new(),
            Target::Label(label) => format!(" ({label})"),
        };
        self.host.say(&format!("fleet: {} by {who}{meant}: {reason}", act.name()));
        let done = self.host.obey(*act, &format!("{who} (fleet)"), reason);
        (if done.failures.is_empty() { Outcome::Obeyed } else { Outcome::Failed }, done)
    }

    fn refuse(&self, fault: &OrderFault) -> (Outcome, Obeyed) {
        self.host.say(&format!("fleet: an order is not obeyed: {fault}"));
        (Outcome::Refused, Obeyed { lines: vec![fault.to_string()], ..Obeyed::default() })
    }

    fn replicate_and_beat(&self) {
        let mut copies: BTreeMap<Subject, Copied<'a>> = BTreeMap::new();
        let (mut beaten, mut asked): (Option<Instant>, Option<Instant>) = (None, None);
        let mut round = 0;
        while !self.is_over() {
            round += 1;
            if asked.is_none_or(|asked| asked.elapsed() >= QUESTIONS_EVERY) {
                asked = Some(Instant::now());
                let speaks = self.speaks.load(Ordering::Relaxed);
                if speaks && self.questions.look(self.log, self.host, &self.who.machine) == Waiting::Changed {
                    beaten = None;
                }
            }
            if beaten.is_none_or(|beaten| beaten.elapsed() >= self.beat_every()) {
                beaten = matches!(self.beat(&copies, Leaving::No), Ok(true)).then(Instant::now);
            }
            let until = beaten.unwrap_or_else(Instant::now) + self.beat_every();
            if self.replicate(&mut copies, round, until) == 0 {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        let deadline = Instant::now() + LAST_LINES_WITHIN;
        while Instant::now() < deadline && self.replicate(&mut copies, round, deadline) > 0 {}
        let is_behind = |copied: &Copied<'_>| copied.copy.is_none() && copied.problem.is_none();
        if Instant::now() >= deadline || copies.values().any(is_behind) {
            self.host.say("fleet: the last lines are not acknowledged yet; `tripwire fleet serve` copies the rest");
        }
        if self.speaks.load(Ordering::Relaxed) {
            // The next one need not wait for the lease to end. Without this it does, and no harm is done.
            drop(self.beat(&copies, Leaving::Yes));
        }
    }

    fn beat_every(&self) -> Duration {
        self.who.dead_man / BEATS
    }

    /// One round over all sessions, which ends early when the next heartbeat is due; says how many lines moved.
    fn replicate(&self, copies: &mut BTreeMap<Subject, Copied<'a>>, round: usize, until: Instant) -> usize {
        let mut moved = 0;
        if !self.speaks.load(Ordering::Relaxed) {
            return moved;
        }
        let mut sessions = self.host.sessions();
        // Each round begins with another session, so that a round that ends early leaves none behind for good.
        let first = round.checked_rem(sessions.len()).unwrap_or(0);
        sessions.rotate_left(first);
        for (place, paths) in sessions {
            let subject = Subject::record(&self.who.machine, &place, paths.session());
            let copied = copies.entry(subject.clone()).or_insert_with(|| Copied {
                state: SessionState { session: paths.session().to_string(), place: place.clone(), records: 0 },
                copy: None,
                problem: None,
            });
            if copied.problem.is_some() {
                continue;
            }
            let session = paths.session().clone();
            match copied.advance(self.log, subject, paths) {
                Ok(count) => moved += count,
                // Later it may go on.
                Err(RecordError::Log(_) | RecordError::Journal(_)) => copied.copy = None,
                Err(error @ (RecordError::Fault { .. } | RecordError::Differs { .. })) => {
                    copied.problem = Some(self.told(&copied.state, &error));
                }
                Err(error @ RecordError::Fenced { .. }) => {
                    copied.problem = Some(self.told(&copied.state, &error));
                    if let Err(cause) = self.host.end_session(&place, &session, &error.to_string()) {
                        self.host.say(&format!("fleet: {session} could not be ended: {cause}"));
                    }
                }
            }
            if Instant::now() >= until {
                break;
            }
        }
        moved
    }

    fn told(&self, state: &SessionState, error: &RecordError) -> String {
        let problem = format!("{}: {error}", state.session);
        self.host.say(&format!("fleet: {problem}"));
        problem
    }

    /// Writes a heartbeat; says whether the fleet knows that this machine is alive, by us or by another process.
    fn beat(&self, copies: &BTreeMap<Subject, Copied<'a>>, leaving: Leaving) -> Result<bool, LogError> {
        let policies = Some(self.host.policies());
        let now_ms = self.host.now_ms();
        let lease_ms = u64::try_from(self.who.dead_man.as_millis()).unwrap_or(u64::MAX);
        let state = MachineState {
            machine: self.who.machine.clone(),
            labels: self.who.labels.clone(),
            version: self.who.version.clone(),
            at_ms: now_ms,
            until_ms: now_ms.saturating_add(lease_ms),
            order: self.order(),
            sessions: copies.values().map(|copied| copied.state.clone()).take(SESSIONS_TOLD).collect(),
            problems: copies.values().filter_map(|copied| copied.problem.clone()).take(PROBLEMS_TOLD).collect(),
            policies,
            waiting: self.questions.open(),
            life: self.who.life.clone(),
            part: self.who.part,
            left_ms: match leaving {
                Leaving::Yes => Some(now_ms),
                Leaving::No => None,
            },
        };
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..2 {
            match machine::beat(self.log, &state, *at)? {
                Beat::Heard(sequence) => {
                    *at = sequence;
                    self.speaks.store(true, Ordering::Relaxed);
                    self.switch(DeadMan::hear_beat);
                    return Ok(true);
                }
                Beat::Again(sequence) => *at = sequence,
                Beat::Rival => {
                    self.speaks.store(false, Ordering::Relaxed);
                    return Ok(match self.who.part {
                        Part::Service => {
                            self.is_rival.store(true, Ordering::Relaxed);
                            false
                        }
                        Part::Standby => {
                            // The process that speaks for this machine obeys its orders.
                            self.switch(DeadMan::hear_beat);
                            self.switch(DeadMan::know_orders);
                            true
                        }
                    });
                }
            }
        }
        Ok(false)
    }

    /// The dead-man switch (FLEET-4): pauses everything when the fleet was out of touch for too long. What it paused stays
    /// paused until a person resumes it: nobody knows what was ordered meanwhile.
    fn watch(&self) {
        while !self.is_over() {
            match self.switch(DeadMan::look) {
                DeadManAct::Rest => {}
                DeadManAct::Pause => {
                    let reason = format!("no heartbeat reached the fleet for {} s", self.who.dead_man.as_secs());
                    let done = self.host.obey(FleetAct::Pause, "fleet dead-man switch", &reason);
                    self.host.say(&format!("fleet: {reason}: this machine's agents are paused"));
                    for line in done.failures {
                        self.host.say(&format!("fleet: {line}"));
                    }
                }
            }
            std::thread::sleep(WATCH_EVERY);
        }
    }

    fn switch<R>(&self, turn: impl FnOnce(&mut DeadMan, u64) -> R) -> R {
        let now_ms = self.since_start_ms();
        turn(&mut self.dead_man.lock().unwrap_or_else(PoisonError::into_inner), now_ms)
    }

    fn since_start_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn order(&self) -> Sequence {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).order
    }

    /// Takes over what another process of this machine has handled meanwhile.
    fn recall(&self) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = remembered(&self.who.memory);
        if kept.order > memory.order {
            *memory = kept;
        }
    }

    /// Changes what is remembered, and keeps it. A memory that cannot be kept costs a repeated order after a restart.
    fn with_memory<R>(&self, change: impl FnOnce(&mut Memory) -> R) -> R {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut memory);
        let text = serde_json::to_vec(&*memory).unwrap_or_default();
        if let Err(error) = file::replace(&self.who.memory, &text) {
            self.host.say(&format!("fleet: {error}"));
        }
        result
    }
}

fn remembered(path: &std::path::Path) -> Memory {
    let bytes = file::read_bounded(path, MEMORY_BYTES_MAX).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Whether a heartbeat is the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaving {
    Yes,
    No,
}

const MEMORY_BYTES_MAX: u64 = 1 << 20;
const PAGE: usize = 1_000;
const ENTER_ATTEMPTS: usize = 3;
const SERVICE_WAIT: Duration = Duration::from_secs(2);
/// A run that is over does not wait long for another order.
const STANDBY_WAIT: Duration = Duration::from_millis(400);
/// How soon, and how often, it is looked whether something that was heard is safe.
const SAFE_SOON: Duration = Duration::from_millis(50);
const SAFE_LOOKS: u32 = 40;
/// How long a process that a stop ends waits for the order to be safe: servers that choose a leader need seconds.
const SAFE_WITHIN: Duration = Duration::from_secs(15);
const RETRY: Duration = Duration::from_millis(300);
const LOOK_EVERY: Duration = Duration::from_millis(100);
const WATCH_EVERY: Duration = Duration::from_millis(50);
/// How long the last lines may take when everything else is over.
const LAST_LINES_WITHIN: Duration = Duration::from_secs(5);
/// Heartbeats within the time after which silence is taken for death.
const BEATS: u32 = 5;
const SESSIONS_TOLD: usize = 500;
const PROBLEMS_TOLD: usize = 50;
/// How often it is looked what waits for a person.
const QUESTIONS_EVERY: Duration = Duration::from_secs(1);
