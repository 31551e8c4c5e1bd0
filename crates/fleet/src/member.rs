//! A machine's part in the fleet, for as long as `tripwire fleet serve` runs: it copies the journals of its sessions, obeys the
//! orders of people, tells that it is alive, and pauses everything when nobody hears it.

use crate::log::{Entry, Log, Sequence};
use crate::machine::{self, Beat, MachineState, SessionState};
use crate::order::{self, FleetAct, FleetOrder, FleetReceipt, OrderFault, Outcome, SeenOrders, Target};
use crate::record::{RecordError, Replication};
use crate::subject::{Name, Subject};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tripwire_fs::file;
use tripwire_journal::SessionPaths;
use tripwire_journal::note::Verifier;

/// What a machine needs from the place where it runs.
pub trait Host: Send + Sync {
    /// The journals of this machine's sessions, each with the name of its workspace.
    fn sessions(&self) -> Vec<(Name, SessionPaths)>;

    /// Whose orders count.
    fn trusted(&self) -> Vec<Verifier>;

    /// Carries an order out in every workspace of this machine.
    fn obey(&self, act: FleetAct, who: &str, reason: &str) -> Obeyed;

    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Tells a person.
    fn say(&self, line: &str);

    /// Whether it is time to leave.
    fn is_over(&self) -> bool;
}

/// What came of an order in the workspaces of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Obeyed {
    /// In words, a line each.
    pub lines: Vec<String>,
    /// Processes that ended.
    pub ended: u64,
    /// Processes that are still alive.
    pub survivors: u64,
    /// What does not hold; nothing if everything is as ordered.
    pub failures: Vec<String>,
}

/// Who a machine is in the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Its name.
    pub machine: Name,
    /// Its labels.
    pub labels: BTreeMap<Name, Name>,
    /// The version of the program.
    pub version: String,
    /// Without a heartbeat for so long everything is paused.
    pub dead_man: Duration,
    /// Where it remembers which orders it has handled.
    pub memory: PathBuf,
    /// Tells this life of the process from the next.
    pub life: String,
}

/// What a machine remembers between two lives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Memory {
    order: Sequence,
    seen: SeenOrders,
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
    /// Milliseconds since `start` at which the fleet last acknowledged something.
    heard_ms: AtomicU64,
    start: Instant,
    is_rival: AtomicBool,
}

impl<'a> Member<'a> {
    /// A machine that has not begun.
    #[must_use]
    pub fn new(log: &'a dyn Log, host: &'a dyn Host, who: Membership) -> Self {
        let bytes = file::read_bounded(&who.memory, MEMORY_BYTES_MAX).ok();
        let memory = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self {
            log,
            host,
            who,
            memory: Mutex::new(memory),
            heard_ms: AtomicU64::new(0),
            start: Instant::now(),
            is_rival: AtomicBool::new(false),
        }
    }

    /// Serves until the host says that it is over.
    pub fn serve(&self) -> Served {
        self.stand();
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
        let subject = Subject::orders();
        let (mut standing, mut after) = (None, Sequence(0));
        while let Ok(page) = self.log.read(&subject, after, PAGE) {
            let Some(last) = page.last() else { break };
            after = last.sequence;
            let trusted = self.host.trusted();
            for entry in page {
                let opened = self.with_memory(|memory| FleetOrder::open(&entry, &trusted, &mut memory.seen));
                if opened.is_ok_and(|order| order.target.is_for(&self.who.labels)) {
                    standing = Some(entry);
                }
            }
        }
        if let Some(entry) = standing {
            // It is handled below as if it came now.
            let before = Sequence(entry.sequence.0.saturating_sub(1));
            self.with_memory(|memory| *memory = Memory { order: before, seen: SeenOrders::default() });
        } else {
            self.with_memory(|memory| memory.order = after);
        }
    }

    fn take_orders(&self) {
        let subject = Subject::orders();
        while !self.is_over() {
            match self.log.wait(&subject, self.order(), ORDERS_WAIT) {
                Ok(entries) => {
                    for entry in entries {
                        self.handle(&entry);
                    }
                }
                Err(_) => std::thread::sleep(RETRY),
            }
        }
    }

    fn handle(&self, entry: &Entry) {
        let trusted = self.host.trusted();
        let opened = self.with_memory(|memory| FleetOrder::open(entry, &trusted, &mut memory.seen));
        let (outcome, done) = match opened {
            Ok(order) if !order.target.is_for(&self.who.labels) => (Outcome::NotMeant, Obeyed::default()),
            Ok(order) => self.obey(&order),
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
        let mut at = Sequence(0);
        let mut beaten: Option<Instant> = None;
        while !self.is_over() {
            let moved = self.replicate(&mut copies);
            if beaten.is_none_or(|beaten| beaten.elapsed() >= self.who.dead_man / BEATS) {
                beaten = self.beat(&mut at, &copies).then(Instant::now);
            }
            if moved == 0 {
                std::thread::sleep(LOOK_EVERY);
            }
        }
    }

    /// One round over all sessions; says how many lines moved.
    fn replicate(&self, copies: &mut BTreeMap<Subject, Copied<'a>>) -> usize {
        let mut moved = 0;
        for (place, paths) in self.host.sessions() {
            let subject = Subject::record(&self.who.machine, &place, paths.session());
            let copied = copies.entry(subject.clone()).or_insert_with(|| Copied {
                state: SessionState { session: paths.session().to_string(), place, records: 0 },
                copy: None,
                problem: None,
            });
            if copied.problem.is_some() {
                continue;
            }
            if copied.copy.is_none() {
                copied.copy = Replication::open(self.log, subject.clone(), paths).ok();
            }
            let Some(copy) = &mut copied.copy else { continue };
            match copy.advance(LINES_AT_ONCE) {
                Ok(count) => {
                    moved += count;
                    copied.state.records = copy.records();
                }
                // Later it may go on.
                Err(RecordError::Log(_) | RecordError::Journal(_)) => copied.copy = None,
                Err(error @ (RecordError::Fault { .. } | RecordError::Fenced { .. } | RecordError::Differs { .. })) => {
                    let problem = format!("{}: {error}", copied.state.session);
                    self.host.say(&format!("fleet: {problem}"));
                    copied.problem = Some(problem);
                }
            }
        }
        moved
    }

    fn beat(&self, at: &mut Sequence, copies: &BTreeMap<Subject, Copied<'a>>) -> bool {
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
            life: self.who.life.clone(),
        };
        for _ in 0..2 {
            match machine::beat(self.log, &state, *at) {
                Ok(Beat::Heard(sequence)) => {
                    *at = sequence;
                    self.heard_ms.store(self.since_start_ms(), Ordering::Relaxed);
                    return true;
                }
                Ok(Beat::Again(sequence)) => *at = sequence,
                Ok(Beat::Rival) => {
                    self.is_rival.store(true, Ordering::Relaxed);
                    return false;
                }
                Err(_) => return false,
            }
        }
        false
    }

    /// The dead-man switch (FLEET-4): pauses everything when no heartbeat was acknowledged for too long. What it paused stays
    /// paused until a person resumes it: nobody knows what was ordered meanwhile.
    fn watch(&self) {
        let bound_ms = u64::try_from(self.who.dead_man.as_millis()).unwrap_or(u64::MAX);
        // The pause itself takes a moment, and it has to be done within the bound.
        let act_after_ms = bound_ms - bound_ms / 10;
        let mut paused_at = None;
        while !self.is_over() {
            let heard_ms = self.heard_ms.load(Ordering::Relaxed);
            let silent_ms = self.since_start_ms().saturating_sub(heard_ms);
            if silent_ms >= act_after_ms && paused_at != Some(heard_ms) {
                paused_at = Some(heard_ms);
                let reason = format!("no heartbeat reached the fleet for {} s", bound_ms / 1_000);
                let done = self.host.obey(FleetAct::Pause, "fleet dead-man switch", &reason);
                self.host.say(&format!("fleet: {reason}: this machine's agents are paused"));
                for line in done.failures {
                    self.host.say(&format!("fleet: {line}"));
                }
            }
            std::thread::sleep(WATCH_EVERY);
        }
    }

    fn since_start_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn order(&self) -> Sequence {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).order
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

/// A session on its way into the fleet.
struct Copied<'a> {
    state: SessionState,
    copy: Option<Replication<'a>>,
    problem: Option<String>,
}

const MEMORY_BYTES_MAX: u64 = 1 << 20;
const PAGE: usize = 1_000;
const ORDERS_WAIT: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(300);
const LOOK_EVERY: Duration = Duration::from_millis(100);
const WATCH_EVERY: Duration = Duration::from_millis(50);
/// Lines of one session that are sent before the next one's turn.
const LINES_AT_ONCE: usize = 200;
/// Heartbeats within the time after which silence is taken for death.
const BEATS: u32 = 5;
const SESSIONS_TOLD: usize = 500;
const PROBLEMS_TOLD: usize = 50;
