//! From an allowed destination to a connected socket: resolve once, check every address, connect to what was checked.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::address::{AddressClass, classify};
use super::limits::{ADDRESSES_TRIED_MAX, Limits, STOP_POLL, THREAD_STACK_BYTES};
use super::log::Reason;
use super::name::Port;
use super::policy::Destination;
use super::resolve::Resolver;
use super::wire::Deadline;

/// What dialling needs to know; shared by all connections of a proxy.
pub(super) struct Dialler {
    resolver: Arc<dyn Resolver>,
    loopback_ports: BTreeSet<Port>,
    resolve_time: Duration,
    connect_time: Duration,
    /// Threads that ask the system's resolver cannot be cancelled, so their number is bounded instead.
    threads: Arc<AtomicUsize>,
    threads_max: usize,
}

/// A connection to a checked address of an allowed destination.
#[derive(Debug)]
pub(super) struct Dialled {
    pub(super) stream: TcpStream,
    pub(super) address: SocketAddr,
}

/// Why there is no connection, and which address was to blame where one was.
#[derive(Debug)]
pub(super) struct DialError {
    pub(super) reason: Reason,
    pub(super) address: Option<SocketAddr>,
}

impl Dialler {
    pub(super) fn new(resolver: Arc<dyn Resolver>, loopback_ports: BTreeSet<Port>, limits: &Limits) -> Self {
        Self {
            resolver,
            loopback_ports,
            resolve_time: limits.resolve_time,
            connect_time: limits.connect_time,
            threads: Arc::default(),
            threads_max: limits.concurrent_max.saturating_mul(2),
        }
    }

    /// Consumes the permission to ask, and gives a socket or the reason why not. `stopped` is looked at while the
    /// system's resolver, which cannot be interrupted, makes up its mind.
    pub(super) fn dial(&self, to: Destination, stopped: &dyn Fn() -> bool) -> Result<Dialled, DialError> {
        let port = to.port();
        let addresses = self.resolve(to, stopped)?;
        let checked = self.check(&addresses, port)?;
        self.connect(checked, stopped)
    }

    fn resolve(&self, to: Destination, stopped: &dyn Fn() -> bool) -> Result<Vec<IpAddr>, DialError> {
        let ticket = ThreadTicket::take(&self.threads, self.threads_max).ok_or(bare(Reason::ResolverBusy))?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let resolver = Arc::clone(&self.resolver);
        thread::Builder::new()
            .name("allow-list-dns".to_owned())
            .stack_size(THREAD_STACK_BYTES)
            .spawn(move || {
                let answer = resolver.resolve(to.host());
                drop(ticket);
                // The asker may have given up; then the answer has no receiver.
                drop(sender.send(answer));
            })
            .map_err(|_| bare(Reason::ThreadUnavailable))?;
        let deadline = Deadline::after(self.resolve_time);
        loop {
            let Some(left) = deadline.left() else {
                return Err(bare(Reason::ResolveTimeout));
            };
            match receiver.recv_timeout(left.min(STOP_POLL)) {
                Ok(Ok(addresses)) if addresses.is_empty() => {
                    return Err(bare(Reason::ResolveFailed));
                }
                Ok(Ok(addresses)) => return Ok(addresses),
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(bare(Reason::ResolveFailed));
                }
                Err(RecvTimeoutError::Timeout) if stopped() => return Err(bare(Reason::Stopped)),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// One address that is not public refuses the whole answer: a name that points inside and outside at once is
    /// how rebinding looks, and picking the good half would let the attacker choose the moment.
    fn check(&self, addresses: &[IpAddr], port: Port) -> Result<Vec<CheckedAddress>, DialError> {
        let mut checked = Vec::new();
        for address in addresses {
            let target = SocketAddr::new(*address, port.get());
            match classify(*address) {
                AddressClass::Public => checked.push(CheckedAddress { target, own: OwnAddress::Refused }),
                AddressClass::Loopback if self.loopback_ports.contains(&port) && is_canonical_loopback(*address) => {
                    checked.push(CheckedAddress { target, own: OwnAddress::Expected });
                }
                class @ (AddressClass::Loopback
                | AddressClass::Private
                | AddressClass::LinkLocal
                | AddressClass::Metadata
                | AddressClass::SharedSpace
                | AddressClass::Multicast
                | AddressClass::Unspecified
                | AddressClass::Embedded
                | AddressClass::Reserved) => {
                    return Err(DialError { reason: Reason::Address(class), address: Some(target) });
                }
            }
        }
        Ok(checked)
    }

    fn connect(&self, checked: Vec<CheckedAddress>, stopped: &dyn Fn() -> bool) -> Result<Dialled, DialError> {
        let deadline = Deadline::after(self.connect_time);
        let tries = checked.len().clamp(1, ADDRESSES_TRIED_MAX);
        let mut last = bare(Reason::ConnectFailed);
        for (index, candidate) in checked.into_iter().take(ADDRESSES_TRIED_MAX).enumerate() {
            let address = Some(candidate.target);
            // What is left is shared by the addresses still to try, so that one silent address cannot eat it all.
            let share = u32::try_from(tries - index).unwrap_or(1);
            let Some(left) = deadline.left() else {
                return Err(DialError { reason: Reason::ConnectTimeout, address });
            };
            match connect_one(candidate, left / share, stopped) {
                Ok(dialled) => return Ok(dialled),
                Err(ConnectError::Final(reason)) => return Err(DialError { reason, address }),
                Err(ConnectError::TryNext(reason)) => last = DialError { reason, address },
            }
        }
        Err(last)
    }
}

/// An address that passed the check. Connecting consumes it; nothing else can be connected to.
struct CheckedAddress {
    target: SocketAddr,
    own: OwnAddress,
}

/// Whether the far end may be this machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnAddress {
    Refused,
    Expected,
}

/// Whether another address of the same name is worth a try.
#[derive(Debug, PartialEq, Eq)]
enum ConnectError {
    TryNext(Reason),
    Final(Reason),
}

fn connect_one(to: CheckedAddress, time: Duration, stopped: &dyn Fn() -> bool) -> Result<Dialled, ConnectError> {
    let deadline = Deadline::after(time);
    let (sender, receiver) = mpsc::sync_channel(1);
    let target = to.target;
    // A thread of its own, because a connect in progress cannot be woken when the proxy is stopped. It ends by its
    // own time limit.
    thread::Builder::new()
        .name("allow-list-dial".to_owned())
        .stack_size(THREAD_STACK_BYTES)
        .spawn(move || drop(sender.send(TcpStream::connect_timeout(&target, time.max(Duration::from_millis(1))))))
        .map_err(|_| ConnectError::Final(Reason::ThreadUnavailable))?;
    let stream = loop {
        let Some(left) = deadline.left() else {
            return Err(ConnectError::TryNext(Reason::ConnectTimeout));
        };
        match receiver.recv_timeout(left.min(STOP_POLL)) {
            Ok(Ok(stream)) => break stream,
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::TimedOut => {
                return Err(ConnectError::TryNext(Reason::ConnectTimeout));
            }
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                return Err(ConnectError::TryNext(Reason::ConnectFailed));
            }
            Err(RecvTimeoutError::Timeout) if stopped() => {
                return Err(ConnectError::Final(Reason::Stopped));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    let peer = stream.peer_addr().map_err(|_| ConnectError::TryNext(Reason::ConnectFailed))?;
    let local = stream.local_addr().map_err(|_| ConnectError::TryNext(Reason::ConnectFailed))?;
    // A machine with a public address of its own would be reached through it like through loopback.
    if to.own == OwnAddress::Refused && peer.ip() == local.ip() {
        return Err(ConnectError::Final(Reason::OwnAddress));
    }
    // Latency only; a tunnel works without it.
    drop(stream.set_nodelay(true));
    Ok(Dialled { stream, address: target })
}

fn is_canonical_loopback(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::LOCALHOST) || address == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

const fn bare(reason: Reason) -> DialError {
    DialError { reason, address: None }
}

/// A place among the resolver threads, given back when it is dropped.
struct ThreadTicket(Arc<AtomicUsize>);

impl ThreadTicket {
    fn take(count: &Arc<AtomicUsize>, max: usize) -> Option<Self> {
        let before = count.fetch_add(1, Ordering::AcqRel);
        let ticket = Self(Arc::clone(count));
        (before < max).then_some(ticket)
    }
}

impl Drop for ThreadTicket {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn running() -> bool {
        false
    }

    #[test]
    fn an_address_of_this_machine_is_refused_unless_it_was_expected() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        let time = Duration::from_secs(5);
        let public = CheckedAddress { target, own: OwnAddress::Refused };
        assert_eq!(connect_one(public, time, &running).unwrap_err(), ConnectError::Final(Reason::OwnAddress));
        let named = CheckedAddress { target, own: OwnAddress::Expected };
        assert_eq!(connect_one(named, time, &running).unwrap().address, target);
    }

    #[test]
    fn a_place_among_the_resolver_threads_is_given_back() {
        let count = Arc::new(AtomicUsize::new(0));
        let first = ThreadTicket::take(&count, 1);
        assert!(first.is_some());
        assert!(ThreadTicket::take(&count, 1).is_none());
        drop(first);
        assert!(ThreadTicket::take(&count, 1).is_some());
        assert_eq!(count.load(Ordering::Acquire), 0);
    }
}
