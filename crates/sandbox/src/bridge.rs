//! The way out for a sandbox with allowed hosts: connections to a loopback port inside are carried, byte for byte, to a
//! listening unix socket on the host. Who may be reached is decided there; this file knows no protocol.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::layer::LayerError;
use crate::outcome::Layer;

/// Connections carried at once; more are closed at once.
const CONNECTIONS_MAX: usize = 32;
const BUFFER_BYTES: usize = 16 * 1024;

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
        let listener = TcpListener::bind(("127.0.0.1", self.port))
            .map_err(|error| failure(error.raw_os_error().unwrap_or(0), "listen on the loopback port"))?;
        Ok(Listening { socket: self.socket, listener })
    }
}

impl Listening {
    /// Carries connections from now on, in threads of pid 1, which nothing inside can end.
    pub(crate) fn serve(self) -> Result<(), LayerError> {
        // A socket is connected by its descriptor's name: the path of the host does not exist in the new root.
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.socket.as_raw_fd()));
        let serve = move || {
            let _kept_open = self.socket;
            let open = Arc::new(AtomicUsize::new(0));
            for inside in self.listener.incoming().flatten() {
                if open.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS_MAX {
                    open.fetch_sub(1, Ordering::SeqCst);
                    continue;
                }
                let (path, count) = (path.clone(), Arc::clone(&open));
                let carried = thread::Builder::new().spawn(move || {
                    // A connection that fails is closed; the command sees that, and nobody else is concerned.
                    drop(carry(inside, &path));
                    count.fetch_sub(1, Ordering::SeqCst);
                });
                if carried.is_err() {
                    open.fetch_sub(1, Ordering::SeqCst);
                }
            }
        };
        let failure = |error: io::Error| failure(error.raw_os_error().unwrap_or(0), "start the bridge");
        thread::Builder::new().spawn(serve).map(drop).map_err(failure)
    }
}

fn carry(inside: TcpStream, path: &Path) -> io::Result<()> {
    let outside = UnixStream::connect(path)?;
    let (mut up_from, mut up_to) = (inside.try_clone()?, outside.try_clone()?);
    let up = thread::Builder::new().spawn(move || {
        copy(&mut up_from, &mut up_to);
        // The other side may be gone already.
        drop(up_to.shutdown(Shutdown::Write));
    })?;
    let (mut down_from, mut down_to) = (outside, inside);
    copy(&mut down_from, &mut down_to);
    drop(down_to.shutdown(Shutdown::Both));
    drop(up.join());
    Ok(())
}

fn copy(from: &mut impl io::Read, to: &mut impl io::Write) {
    let mut buffer = [0_u8; BUFFER_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(buffer.get(..count).unwrap_or_default()).is_err() {
            return;
        }
    }
}

fn failure(errno: i32, what: &str) -> LayerError {
    LayerError::new(Layer::Network, errno, what.to_owned())
}
