//! The proxy as a whole: it accepts, bounds how much it serves, and stops cleanly.

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tripwire_core::explain::{ExitClass, Explain};

use super::limits::{ACCEPT_POLL, STOP_POLL, THREAD_STACK_BYTES};
use super::log::{Reason, Summary};
use super::serve::Connection;
use super::shared::{Admission, ProxyConfig, Seat, Service, Shared};
use super::wire::is_transient;

/// The allow-list proxy; see the module for what it lets through.
#[derive(Debug)]
pub struct Proxy;

/// Why a proxy could not be started; nothing listens then.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the allow-list proxy: {cause}")]
pub struct StartError {
    #[source]
    cause: io::Error,
}

impl Explain for StartError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed("check the limits on open files and threads with `ulimit -a`")
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

impl Proxy {
    /// Serves a socket that the caller has bound, so that the caller decides who can reach it. The socket's file
    /// stays the caller's to remove.
    ///
    /// ```
    /// use std::os::unix::net::UnixListener;
    /// use std::sync::{Arc, Mutex};
    /// use tripwire_egress::{AllowList, Proxy, ProxyConfig, RequestRecord};
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
        let shared = Arc::new(Shared::new(config, waker));
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
        self.shared.summary()
    }

    /// The totals of the requests that have ended so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.shared.summary()
    }

    fn halt(&mut self) {
        self.shared.stop();
        if let Some(accepting) = self.accepting.take() {
            // A panic there has ended the accepting, which is what was wanted.
            drop(accepting.join());
        }
        self.shared.wait_until_idle();
    }
}

impl Drop for ProxyHandle {
    fn drop(&mut self) {
        if self.accepting.is_some() {
            self.halt();
        }
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
                        let seat = Seat { id, service, shared: Arc::clone(shared) };
                        serve_on_thread(seat, client);
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
    // A later connection is refused at once instead of waiting in a queue that no thread reads.
    shared.close_listener();
}

fn serve_on_thread(seat: Seat, client: Arc<UnixStream>) {
    let (id, shared) = (seat.id, Arc::clone(&seat.shared));
    let for_thread = Arc::clone(&client);
    let spawned =
        thread::Builder::new().name("allow-list-client".to_owned()).stack_size(THREAD_STACK_BYTES).spawn(move || {
            let connection = Connection::new(seat.id, for_thread, Arc::clone(&seat.shared));
            match seat.service {
                Service::Whole => connection.serve(),
                Service::Refusal => connection.refuse(Reason::TooManyConnections),
            }
            drop(seat);
        });
    if spawned.is_err() {
        turn_away(id, client, &shared, Reason::ThreadUnavailable);
    }
}

fn turn_away(id: u64, client: Arc<UnixStream>, shared: &Arc<Shared>, reason: Reason) {
    Connection::new(id, client, Arc::clone(shared)).turn_away(reason);
}
