//! The way out for a sandbox with allowed hosts: connections to a loopback port inside are carried, byte for byte, to a
//! listening unix socket on the host. Who may be reached is decided there; this file knows no protocol.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::layer::LayerError;
use crate::outcome::Layer;

/// Connections carried at once; more are closed at once.
const CONNECTIONS_MAX: usize = 32;
const BUFFER_BYTES: usize = 16 * 1024;
/// How much and how long the command may go on after the end of its answer.
const LATE_BYTES_MAX: u64 = 64 * 1024;
const LATE_TIME_MAX: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The host's socket, found while the old root is still there.
#[derive(Debug)]
pub(crate) struct Bridge {
    socket: OwnedFd,
    port: u16,
}

/// A bridge that listens.
#[derive(Debug)]
pub(crate) struct Listening {
    socket: OwnedFd,
    listener: TcpListener,
}

impl Bridge {
    pub(crate) fn open(socket: &Path, port: u64) -> Result<Self, LayerError> {
        let socket = openat(CWD, socket, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| failure(errno.raw_os_error(), "find the allow-list socket"))?;
        let port = u16::try_from(port).map_err(|_| failure(libc::EINVAL, "use the port"))?;
        Ok(Self { socket, port })
    }

    /// Listens on the loopback interface of the new network namespace.
    pub(crate) fn listen(self) -> Result<Listening, LayerError> {
        Ok(Listening { socket: self.socket, listener: listen(u64::from(self.port))? })
    }
}

/// A listener on the loopback interface of the new network namespace.
pub(crate) fn listen(port: u64) -> Result<TcpListener, LayerError> {
    let port = u16::try_from(port).map_err(|_| failure(libc::EINVAL, "use the port"))?;
    TcpListener::bind(("127.0.0.1", port))
        .map_err(|error| failure(error.raw_os_error().unwrap_or(0), "listen on the loopback port"))
}

impl Listening {
    /// Carries connections from now on, in threads of pid 1, which nothing inside can end.
    pub(crate) fn serve(self) -> Result<(), LayerError> {
        // A socket is connected by its descriptor's name: the path of the host does not exist in the new root.
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.socket.as_raw_fd()));
        let serve = move || {
            let _kept_open = self.socket;
            let carried = Arc::new(Mutex::new(BTreeMap::new()));
            for (number, inside) in self.listener.incoming().flatten().enumerate() {
                let Some(seat) = Seat::take(&carried, number, &inside) else { continue };
                let path = path.clone();
                // A connection that fails is closed; the command sees that, and nobody else is concerned.
                drop(thread::Builder::new().spawn(move || drop(carry(inside, &path, &seat))));
            }
        };
        let failure = |error: io::Error| failure(error.raw_os_error().unwrap_or(0), "start the bridge");
        thread::Builder::new().spawn(serve).map(drop).map_err(failure)
    }
}

/// The connections that are carried, oldest first: one that was never answered may have to go.
type Carried = Arc<Mutex<BTreeMap<usize, (TcpStream, Answered)>>>;

/// Whether a byte came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answered {
    Yes,
    No,
}

/// A place among the connections that are carried; dropped, it is free.
struct Seat {
    carried: Carried,
    number: usize,
}

impl Seat {
    /// A place for a connection. Where there is none, the oldest connection that has had no answer makes room: those that say
    /// nothing must not keep out one that does.
    fn take(carried: &Carried, number: usize, inside: &TcpStream) -> Option<Self> {
        let kept = inside.try_clone().ok()?;
        let mut open = carried.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= CONNECTIONS_MAX {
            let oldest = open.iter().find(|(_, (_, answered))| *answered == Answered::No).map(|(number, _)| *number)?;
            if let Some((stream, _)) = open.remove(&oldest) {
                // Its thread sees the end and goes.
                drop(stream.shutdown(Shutdown::Both));
            }
        }
        open.insert(number, (kept, Answered::No));
        Some(Self { carried: Arc::clone(carried), number })
    }

    fn answered(&self) {
        let mut open = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answered)) = open.get_mut(&self.number) {
            *answered = Answered::Yes;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

fn carry(inside: TcpStream, path: &Path, seat: &Seat) -> io::Result<()> {
    let outside = UnixStream::connect(path)?;
    let (mut up_from, mut up_to) = (inside.try_clone()?, outside.try_clone()?);
    let up = thread::Builder::new().spawn(move || {
        copy(&mut up_from, &mut up_to, || {});
        // The other side may be gone already.
        drop(up_to.shutdown(Shutdown::Write));
        drop(io::copy(&mut up_from.take(LATE_BYTES_MAX), &mut io::sink()));
    })?;
    let (mut down_from, mut down_to) = (outside, inside);
    copy(&mut down_from, &mut down_to, || seat.answered());
    // What the command says after its answer is read for a moment: closing a socket with unread bytes in it can take the answer back.
    drop(down_to.shutdown(Shutdown::Write));
    let until = Instant::now() + LATE_TIME_MAX;
    while !up.is_finished() && Instant::now() < until {
        thread::sleep(LOOK_EVERY);
    }
    drop(down_to.shutdown(Shutdown::Both));
    drop(up.join());
    Ok(())
}

/// Copies to the end; `first` is called when the first bytes have come.
fn copy(from: &mut impl io::Read, to: &mut impl io::Write, first: impl FnOnce()) {
    let mut buffer = [0_u8; BUFFER_BYTES];
    let mut first = Some(first);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if let Some(first) = first.take() {
            first();
        }
        if to.write_all(buffer.get(..count).unwrap_or_default()).is_err() {
            return;
        }
    }
}

fn failure(errno: i32, what: &str) -> LayerError {
    LayerError::new(Layer::Network, errno, what.to_owned())
}
