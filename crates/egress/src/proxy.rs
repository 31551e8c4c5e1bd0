//! The proxy as a whole: it accepts, bounds how much it serves, and stops cleanly.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::dial::Dialler;
use super::limits::{ACCEPT_POLL, Limits, STOP_POLL, THREAD_STACK_BYTES};
use super::log::{Reason, RequestLog, RequestRecord, Summary};
use super::name::Port;
use super::policy::AllowList;
use super::resolve::{Resolver, SystemResolver};
use super::serve::Connection;
use super::wire::{Side, is_transient};

/// The allow-list proxy; see the module for what it lets through.
#[derive(Debug)]
pub struct Proxy;

/// What a proxy is started with. It never changes while the proxy runs.
pub struct ProxyConfig {
    /// Which names and ports may be asked for.
    pub allow: AllowList,
    /// Ports on which an allowed name may resolve to `127.0.0.1` or `::1`. For tests: anything else on this machine
    /// that listens there becomes reachable too.
    pub allow_loopback_ports: BTreeSet<Port>,
    /// Who is asked for addresses.
    pub resolver: Arc<dyn Resolver>,
    /// Where every request is written down.
    pub log: Arc<dyn RequestLog>,
    /// Bounds.
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

/// Why a proxy could not be started; nothing listens then.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot start the allow-list proxy: {cause}; hint: check the limits on open files and threads with `ulimit -a`"
)]
pub struct StartError {
    #[source]
    cause: io::Error,
}

impl Proxy {
    /// Serves a socket that the caller has bound, so that the caller decides who can reach it. The socket's file
    /// stays the caller's to remove.
    ///
    /// ```
    /// use std::os::unix::net::UnixListener;
    /// use std::sync::{Arc, Mutex};
    /// use crate::{AllowList, Proxy, ProxyConfig, RequestRecord};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let path = std::env::temp_dir().join(format!("allow-list-{}.sock", std::process::id()));
    /// let allow = AllowList::parse(["crates.io", "static.crates.io"])?;
    /// let lines = Arc::new(Mutex::new(Vec::new()));
    /// let kept = Arc::clone(&lines);
    /// let log = move |record: &RequestRecord| {
    ///     kept.lock().map_err(|_| std::io::Error::other("log lost"))?.push(record.clone());
    ///     Ok(())
    /// };
    /// let handle = Proxy::start(UnixListener::bind(&path)?, ProxyConfig::new(allow, Arc::new(log)))?;
    /// // The command runs here, with its bridge connected to the socket.
    /// let summary = handle.stop();
    /// assert_eq!(summary.connections, 0);
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn start(listener: UnixListener, config: ProxyConfig) -> Result<ProxyHandle, StartError> {
        Self::try_start(listener, config).map_err(|cause| StartError { cause })
    }

    fn try_start(listener: UnixListener, config: ProxyConfig) -> io::Result<ProxyHandle> {
        listener.set_nonblocking(false)?;
        // The same socket under another type: a listener has no time-out and no shutdown of its own, the socket has.
        let waker = UnixStream::from(OwnedFd::from(listener.try_clone()?));
        waker.set_read_timeout(Some(ACCEPT_POLL))?;
        let dialler = Dialler::new(config.resolver, config.allow_loopback_ports, &config.limits);
        let shared = Arc::new(Shared {
            allow: config.allow,
            dialler,
            limits: config.limits,
            log: config.log,
            waker,
            state: Mutex::default(),
            served: Condvar::new(),
        });
        let for_thread = Arc::clone(&shared);
        let accepting = thread::Builder::new()
            .name("allow-list-accept".to_owned())
            .stack_size(THREAD_STACK_BYTES)
            .spawn(move || accept_all(&listener, &for_thread))?;
        Ok(ProxyHandle { shared, accepting: Some(accepting) })
    }
}

/// A running proxy. Dropping it stops it as well, without telling what it did.
pub struct ProxyHandle {
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl ProxyHandle {
    /// Closes the listener and every tunnel, waits until each request is logged, and gives the totals.
    #[must_use]
    pub fn stop(mut self) -> Summary {
        self.halt();
        self.shared.lock().summary.clone()
    }

    /// The totals of the requests that have ended so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.shared.lock().summary.clone()
    }

    fn halt(&mut self) {
        {
            let mut state = self.shared.lock();
            state.phase = Phase::Stopped;
            for side in state.active.values().flatten() {
                side.close(Shutdown::Both);
            }
        }
        self.shared.waker.close(Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            // A panic there has ended the accepting, which is what was wanted.
            drop(accepting.join());
        }
        let mut state = self.shared.lock();
        while !state.active.is_empty() {
            state = self.shared.served.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for ProxyHandle {
    fn drop(&mut self) {
        if self.accepting.is_some() {
            self.halt();
        }
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
    /// the failure stands in the totals.
    pub(super) fn end(&self, record: &RequestRecord) {
        drop(self.log(record));
        self.lock().summary.count(record);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state holds counts and sockets; a thread that died while holding it leaves both usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new connection in and says what becomes of it.
    fn admit(&self, client: &Arc<UnixStream>) -> Admission {
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
        let service = match (state.serving < most, state.active.len() < most.saturating_mul(2)) {
            (true, true | false) => Service::Whole,
            (false, true) => Service::Refusal,
            (false, false) => return Admission::Overrun(id),
        };
        if service == Service::Whole {
            state.serving += 1;
        }
        let side: Arc<dyn Side> = Arc::<UnixStream>::clone(client);
        state.active.insert(id, vec![side]);
        Admission::OnThread(id, service)
    }
}

enum Admission {
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
enum Service {
    Whole,
    Refusal,
}

/// Takes a connection off the list of those with a thread, also when its thread panics.
struct Place {
    id: u64,
    service: Service,
    shared: Arc<Shared>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let sides = state.active.remove(&self.id);
        if self.service == Service::Whole {
            state.serving = state.serving.saturating_sub(1);
        }
        drop(state);
        for side in sides.iter().flatten() {
            side.close(Shutdown::Both);
        }
        self.shared.served.notify_all();
    }
}

/// Errors in a row after which accepting is given up; a listener that is gone only ever fails.
const ACCEPT_FAILURES_MAX: u32 = 500;

fn accept_all(listener: &UnixListener, shared: &Arc<Shared>) {
    let mut failures = 0;
    while failures < ACCEPT_FAILURES_MAX && !shared.is_stopped() {
        match listener.accept() {
            Ok((stream, _)) => {
                failures = 0;
                let client = Arc::new(stream);
                match shared.admit(&client) {
                    Admission::OnThread(id, service) => {
                        let place = Place { id, service, shared: Arc::clone(shared) };
                        serve_on_thread(place, client);
                    }
                    Admission::Overrun(id) => turn_away(id, client, shared, Reason::TooManyConnections),
                    Admission::Last(id) => {
                        Connection::new(id, client, Arc::clone(shared)).refuse(Reason::TotalReached);
                        break;
                    }
                    Admission::Stopped => break,
                }
            }
            Err(error) if is_transient(&error) => {}
            // Out of descriptors, or a client that left in the queue: others may fare better in a moment.
            Err(_) => {
                failures += 1;
                thread::sleep(STOP_POLL);
            }
        }
    }
    // Whoever connects from now on is refused at once instead of waiting in a queue that nobody reads.
    shared.waker.close(Shutdown::Both);
}

fn serve_on_thread(place: Place, client: Arc<UnixStream>) {
    let (id, shared) = (place.id, Arc::clone(&place.shared));
    let for_thread = Arc::clone(&client);
    let spawned =
        thread::Builder::new().name("allow-list-client".to_owned()).stack_size(THREAD_STACK_BYTES).spawn(move || {
            let connection = Connection::new(place.id, for_thread, Arc::clone(&place.shared));
            match place.service {
                Service::Whole => connection.serve(),
                Service::Refusal => connection.refuse(Reason::TooManyConnections),
            }
            drop(place);
        });
    if spawned.is_err() {
        turn_away(id, client, &shared, Reason::ThreadUnavailable);
    }
}

fn turn_away(id: u64, client: Arc<UnixStream>, shared: &Arc<Shared>, reason: Reason) {
    Connection::new(id, client, Arc::clone(shared)).turn_away(reason);
}
