//! What the threads of one proxy share: its configuration, the connections it serves, and its totals.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::dial::Dialler;
use super::limits::Limits;
use super::log::{Reason, RequestLog, RequestRecord, Summary};
use super::name::Port;
use super::policy::AllowList;
use super::resolve::{Resolver, SystemResolver};
use super::wire::Side;

/// What a proxy is started with. It never changes while the proxy runs.
pub struct ProxyConfig {
    /// Which names and ports may be asked for.
    pub allow: AllowList,
    /// Ports on which an allowed name may resolve to `127.0.0.1` or `::1`. For tests: anything else on this machine
    /// that listens there becomes reachable too.
    pub allow_loopback_ports: BTreeSet<Port>,
    /// Resolves the allowed names.
    pub resolver: Arc<dyn Resolver>,
    /// Gets every request.
    pub log: Arc<dyn RequestLog>,
    /// Sizes, times and counts.
    pub limits: Limits,
}

impl ProxyConfig {
    /// The system's resolver, the default bounds, no loopback port.
    #[must_use]
    pub fn new(allow: AllowList, log: Arc<dyn RequestLog>) -> Self {
        Self {
            allow,
            allow_loopback_ports: BTreeSet::new(),
            resolver: Arc::new(SystemResolver),
            log,
            limits: Limits::default(),
        }
    }
}

impl State {
    /// Connections that say nothing must not keep out one that does: the oldest of them makes room.
    fn crowd_out_oldest(&mut self) {
        let Some(oldest) = self.half_open.pop_first() else { return };
        self.serving = self.serving.saturating_sub(1);
        for side in self.active.get(&oldest).into_iter().flatten() {
            side.close(Shutdown::Both);
        }
        self.crowded_out.insert(oldest);
    }
}

/// What the threads of one proxy share.
pub(super) struct Shared {
    allow: AllowList,
    dialler: Dialler,
    limits: Limits,
    log: Arc<dyn RequestLog>,
    waker: UnixStream,
    state: Mutex<State>,
    served: Condvar,
}

#[derive(Default)]
struct State {
    phase: Phase,
    total: u64,
    /// Connections that are served, without those that are only being turned away.
    serving: usize,
    /// Those of them that have not said yet what they want: the first to go when there is no room.
    half_open: BTreeSet<u64>,
    /// Those that had to go and whose threads have not ended yet; they are not counted as served any more.
    crowded_out: BTreeSet<u64>,
    /// The sockets of each connection that has a thread, for a stop to shut.
    active: BTreeMap<u64, Vec<Arc<dyn Side>>>,
    summary: Summary,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Serving,
    Stopped,
}

impl Shared {
    /// `waker` is the listening socket under another type, so that a stop can shut it.
    pub(super) fn new(config: ProxyConfig, waker: UnixStream) -> Self {
        let dialler = Dialler::new(config.resolver, config.allow_loopback_ports, &config.limits);
        Self {
            allow: config.allow,
            dialler,
            limits: config.limits,
            log: config.log,
            waker,
            state: Mutex::default(),
            served: Condvar::new(),
        }
    }

    /// Shuts every socket; no connection is admitted after it.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.phase = Phase::Stopped;
        for side in state.active.values().flatten() {
            side.close(Shutdown::Both);
        }
        drop(state);
        self.close_listener();
    }

    pub(super) fn close_listener(&self) {
        self.waker.close(Shutdown::Both);
    }

    /// Waits until each connection with a thread has ended and is logged.
    pub(super) fn wait_until_idle(&self) {
        let mut state = self.lock();
        while !state.active.is_empty() {
            state = self.served.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn summary(&self) -> Summary {
        self.lock().summary.clone()
    }

    pub(super) fn allow(&self) -> &AllowList {
        &self.allow
    }

    pub(super) fn dialler(&self) -> &Dialler {
        &self.dialler
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().phase == Phase::Stopped
    }

    /// A connection has said what it wants, and stays.
    pub(super) fn has_asked(&self, id: u64) {
        self.lock().half_open.remove(&id);
    }

    /// Puts the server's socket where a stop finds it; after a stop it is too late.
    pub(super) fn adopt(&self, id: u64, server: Arc<TcpStream>) -> Result<(), Reason> {
        let mut state = self.lock();
        if state.phase == Phase::Stopped {
            return Err(Reason::Stopped);
        }
        state.active.entry(id).or_default().push(server);
        Ok(())
    }

    /// Writes a record down.
    pub(super) fn log(&self, record: &RequestRecord) -> io::Result<()> {
        self.log.record(record).inspect_err(|_| self.lock().summary.log_failures += 1)
    }

    /// Writes the last record of a request down and counts it. A log that fails here can refuse nothing any more;
    /// the totals count the failure.
    pub(super) fn end(&self, record: &RequestRecord) {
        drop(self.log(record));
        self.lock().summary.count(record);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state holds counts and sockets; a thread that died while holding it leaves both usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new connection in and says what becomes of it.
    pub(super) fn admit(&self, client: &Arc<UnixStream>) -> Admission {
        let mut state = self.lock();
        if state.phase == Phase::Stopped {
            return Admission::Stopped;
        }
        state.total += 1;
        let id = state.total;
        if id > self.limits.total_max {
            return Admission::Last(id);
        }
        let most = self.limits.concurrent_max;
        if state.serving >= most {
            state.crowd_out_oldest();
        }
        let service = match (state.serving < most, state.active.len() < most.saturating_mul(2)) {
            (true, true | false) => Service::Whole,
            (false, true) => Service::Refusal,
            (false, false) => return Admission::Overrun(id),
        };
        if service == Service::Whole {
            state.serving += 1;
            state.half_open.insert(id);
        }
        let side: Arc<dyn Side> = Arc::<UnixStream>::clone(client);
        state.active.insert(id, vec![side]);
        Admission::OnThread(id, service)
    }
}

pub(super) enum Admission {
    /// A thread takes care of it.
    OnThread(u64, Service),
    /// So many that not even a refusal is worth a thread.
    Overrun(u64),
    /// One more than may ever come.
    Last(u64),
    /// Too late.
    Stopped,
}

/// What the thread of a connection does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Whole,
    Refusal,
}

/// A connection's entry among those with a thread; dropping it takes the entry off, also when the thread panics.
pub(super) struct Seat {
    pub(super) id: u64,
    pub(super) service: Service,
    pub(super) shared: Arc<Shared>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let sides = state.active.remove(&self.id);
        state.half_open.remove(&self.id);
        if self.service == Service::Whole && !state.crowded_out.remove(&self.id) {
            state.serving = state.serving.saturating_sub(1);
        }
        drop(state);
        for side in sides.iter().flatten() {
            side.close(Shutdown::Both);
        }
        self.shared.served.notify_all();
    }
}
