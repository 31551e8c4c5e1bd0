//! The thread that follows the journals and sends what they hold. The journals are its queue: while a receiver does not answer,
//! nothing more is read, and what it will not take is left out, counted and told.

use crate::ledger::{self, Accounts};
use crate::metrics::MetricsState;
use crate::otlp::{Span, metrics_request, trace_request};
use crate::sender::{Sender, Sent};
use crate::session::SessionTrace;
use crate::settings::TelemetrySettings;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tripwire_journal::storage::Disk;
use tripwire_journal::{Follower, JournalError, SessionId, SessionPaths};
use tripwire_secrets::Redactor;
use tripwire_workspace::clock;

/// How often the journals are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long spans wait for others to be sent with.
const GATHER: Duration = Duration::from_millis(1_000);
/// Spans of one request.
const SPANS_MAX: usize = 512;
/// Attempts to send one request.
const ATTEMPTS_MAX: u32 = 4;
/// The wait before the second attempt; each further one is twice as long.
const RETRY_WAIT: Duration = Duration::from_millis(500);
/// How long the end of a command may wait for a receiver.
const FINISH_WAIT: Duration = Duration::from_secs(5);

/// Who hears what a person should know.
pub type Talk = Box<dyn Fn(&str) + Send>;

/// What is exported.
#[derive(Debug, Clone)]
pub enum Source {
    /// Every model call of the workspace's ledger that belongs to no session, from now on.
    Calls,
    /// A session from its beginning on, with its model calls in the ledger from now on.
    Session {
        /// Which.
        id: SessionId,
        /// Who works in it, for people.
        agent: String,
    },
    /// A session of our own loop, whose own record tells its model calls: its lines in the ledger are the same calls.
    OwnLoop {
        /// Which.
        id: SessionId,
    },
}

/// What our own loop is called.
const OWN_LOOP: &str = "tripwire";

enum Order {
    /// With the ledger from where it ended when this was ordered.
    Follow(Source, Result<Follower<Disk>, JournalError>),
    Finish,
}

/// Exports until it is finished or dropped.
#[derive(Debug)]
pub struct Exporter {
    geometry: PathBuf,
    orders: mpsc::Sender<Order>,
    done: Mutex<Option<Receiver<()>>>,
}

impl Exporter {
    /// Begins to export from a workspace's `.geometry` folder. Everything passes the redactor once more.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        settings: TelemetrySettings,
        geometry: &Path,
        redactor: Redactor,
        talk: Talk,
    ) -> std::io::Result<Self> {
        let (orders, received) = mpsc::channel();
        let (finished, done) = mpsc::channel();
        let geometry = geometry.to_owned();
        let followed = geometry.clone();
        std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || {
            ExportLoop::new(settings, followed, redactor, talk).run(&received);
            // Nobody may wait any more.
            finished.send(()).unwrap_or_default();
        })?;
        Ok(Self { geometry, orders, done: Mutex::new(Some(done)) })
    }

    /// Exports this too: what the ledger gets after this returned is exported, however late the thread begins. A thread that is
    /// gone exports nothing, and that was told.
    pub fn follow(&self, source: Source) {
        let ledger = Follower::from_end(Disk, SessionPaths::of_ledger(&self.geometry));
        self.orders.send(Order::Follow(source, ledger)).unwrap_or_default();
    }

    /// Sends what is left, within a bound: a receiver that hangs does not keep a command from ending. The second time there is
    /// nothing left.
    pub fn finish(&self) {
        let Some(done) = self.done.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        self.orders.send(Order::Finish).unwrap_or_default();
        // Whether it was done in time or not, the command goes on.
        done.recv_timeout(FINISH_WAIT + Duration::from_secs(1)).unwrap_or_default();
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.finish();
    }
}

/// What is followed.
enum Followed {
    Calls { follower: Follower<Disk>, accounts: Accounts },
    Session { follower: Follower<Disk>, trace: Box<SessionTrace> },
}

struct ExportLoop {
    settings: TelemetrySettings,
    geometry: PathBuf,
    redactor: Redactor,
    talk: Talk,
    sender: Sender,
    followed: Vec<Followed>,
    metrics: MetricsState,
    spans: Vec<Span>,
    /// When the oldest of the spans was read.
    waiting_since: Option<Instant>,
    metrics_sent: Instant,
    /// Attempts to send the spans, and when the next one is due.
    attempts: u32,
    not_before: Instant,
    dropped: u64,
    told: u64,
}

impl ExportLoop {
    fn new(settings: TelemetrySettings, geometry: PathBuf, redactor: Redactor, talk: Talk) -> Self {
        let now = Instant::now();
        Self {
            sender: Sender::new(settings.timeout),
            settings,
            geometry,
            redactor,
            talk,
            followed: Vec::new(),
            metrics: MetricsState::new(clock::now().epoch_ms()),
            spans: Vec::new(),
            waiting_since: None,
            metrics_sent: now,
            attempts: 0,
            not_before: now,
            dropped: 0,
            told: 0,
        }
    }

    fn run(&mut self, orders: &Receiver<Order>) {
        loop {
            match orders.recv_timeout(LOOK_EVERY) {
                Ok(Order::Follow(source, ledger)) => self.follow(source, ledger),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Order::Finish) | Err(RecvTimeoutError::Disconnected) => break,
            }
            self.read();
            let is_old = self.waiting_since.is_some_and(|since| since.elapsed() >= GATHER);
            if is_old || self.spans.len() >= SPANS_MAX {
                self.send_spans();
            }
            if self.metrics_sent.elapsed() >= self.settings.interval {
                self.send_metrics();
            }
        }
        self.finish();
    }

    fn follow(&mut self, source: Source, ledger: Result<Follower<Disk>, JournalError>) {
        let (accounts, session) = match source {
            Source::Calls => (Some(Accounts::All), None),
            Source::Session { id, agent } => (Some(Accounts::Session(id.as_str().to_owned())), Some((id, agent))),
            Source::OwnLoop { id } => (None, Some((id, OWN_LOOP.to_owned()))),
        };
        match (ledger, accounts) {
            (Ok(follower), Some(accounts)) => self.followed.push(Followed::Calls { follower, accounts }),
            (Err(error), Some(_)) => (self.talk)(&format!("telemetry: the ledger cannot be followed: {error}")),
            (Ok(_) | Err(_), None) => {}
        }
        if let Some((id, agent)) = session {
            let follower = Follower::from_start(Disk, SessionPaths::new(&self.geometry, &id));
            let trace = Box::new(SessionTrace::new(id.as_str().to_owned(), agent));
            self.followed.push(Followed::Session { follower, trace });
        }
    }

    /// Reads what is new, as long as there is room for it.
    fn read(&mut self) {
        let mut broken = Vec::new();
        for (number, followed) in self.followed.iter_mut().enumerate() {
            while self.spans.len() < SPANS_MAX {
                let (Followed::Calls { follower, .. } | Followed::Session { follower, .. }) = &mut *followed;
                let mut records = match follower.next(SPANS_MAX - self.spans.len()) {
                    Ok(records) if records.is_empty() => break,
                    Ok(records) => records,
                    Err(error) => {
                        broken.push((number, error.to_string()));
                        break;
                    }
                };
                for record in &mut records {
                    // Once more: names of models and tools come from outside.
                    record.body = self.redactor.redact_json(&record.body).into_owned();
                    match &mut *followed {
                        Followed::Calls { accounts, .. } => {
                            self.spans.extend(ledger::span(record, accounts, &mut self.metrics));
                        }
                        Followed::Session { trace, .. } => self.spans.extend(trace.take(record, &mut self.metrics)),
                    }
                }
            }
        }
        for (number, error) in broken.into_iter().rev() {
            (self.talk)(&format!("telemetry: a journal cannot be followed any more: {error}"));
            self.followed.remove(number);
        }
        if !self.spans.is_empty() {
            self.waiting_since.get_or_insert_with(Instant::now);
        }
    }

    fn send_spans(&mut self) {
        if Instant::now() < self.not_before || self.spans.is_empty() {
            return;
        }
        let Some(endpoint) = self.settings.traces.clone() else {
            self.clear();
            return;
        };
        match self.sender.send(&endpoint, &trace_request(&self.settings.service, &self.spans)) {
            Sent::Taken => self.clear(),
            Sent::Later(why) if self.attempts + 1 < ATTEMPTS_MAX => {
                self.attempts += 1;
                self.not_before = Instant::now() + RETRY_WAIT * 2_u32.pow(self.attempts - 1);
                // Only the first failure in a row is worth a line, and only once.
                if self.told == 0 && self.attempts == 1 {
                    (self.talk)(&format!("telemetry: {} waits: {why}; it is tried again", endpoint.shown()));
                }
            }
            Sent::Later(why) | Sent::Refused(why) => self.give_up(&why),
            Sent::Unknown => {
                self.give_up("it takes no traces there");
                self.settings.traces = None;
            }
        }
    }

    fn send_metrics(&mut self) {
        self.metrics_sent = Instant::now();
        let Some(endpoint) = self.settings.metrics.clone().filter(|_| self.metrics.is_new) else { return };
        match self
            .sender
            .send(&endpoint, &metrics_request(&self.settings.service, &self.metrics, clock::now().epoch_ms()))
        {
            Sent::Taken => self.metrics.is_new = false,
            // They are sums: the next request says everything that this one would have said.
            Sent::Later(_) => {}
            Sent::Refused(_) | Sent::Unknown => {
                (self.talk)(&format!("telemetry: {} takes no metrics; only traces are sent", endpoint.shown()));
                self.settings.metrics = None;
            }
        }
    }

    /// Leaves out what could not be sent, and what was written meanwhile.
    fn give_up(&mut self, why: &str) {
        self.dropped += self.spans.len() as u64;
        self.clear();
        for followed in &mut self.followed {
            let (Followed::Calls { follower, .. } | Followed::Session { follower, .. }) = followed;
            self.dropped += follower.skip().unwrap_or(0);
        }
        let shown = self.settings.traces.as_ref().map(crate::Endpoint::shown).unwrap_or_default();
        if self.told == 0 {
            (self.talk)(&format!("telemetry: {shown} does not take the traces: {why}; {} are dropped", self.dropped));
            self.told = self.dropped;
        }
    }

    fn clear(&mut self) {
        self.spans.clear();
        self.waiting_since = None;
        self.attempts = 0;
        self.not_before = Instant::now();
    }

    /// Sends what is left.
    fn finish(&mut self) {
        let deadline = Instant::now() + FINISH_WAIT;
        self.read();
        let roots = self.followed.iter().filter_map(|followed| match followed {
            Followed::Calls { .. } => None,
            Followed::Session { trace, .. } => trace.root(),
        });
        self.spans.extend(roots.collect::<Vec<_>>());
        while !self.spans.is_empty() && Instant::now() < deadline {
            self.send_spans();
            if self.spans.is_empty() {
                self.read();
            } else {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        if Instant::now() < deadline {
            self.send_metrics();
        }
        self.dropped += self.spans.len() as u64;
        if self.dropped > self.told {
            (self.talk)(&format!("telemetry: {} spans or records were not exported", self.dropped));
        }
    }
}
