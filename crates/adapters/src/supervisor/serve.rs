//! The socket on which hooks hand over what the client told them: one thread for each, all of them at one guard.

use super::folder::FileIdentity;
use super::guard::Guard;
use crate::socket::{Question, SocketError};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Hooks that are served at the same time; clients call a handful at once.
const SERVED_MAX: usize = 256;
/// How long a hook may take to hand over its question.
const QUESTION_WITHIN: Duration = Duration::from_secs(20);

/// Listens from now on.
pub(crate) fn listen(path: &Path, program: FileIdentity, guard: Arc<Guard>) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    let served = Arc::new(AtomicUsize::new(0));
    std::thread::Builder::new().name("socket".to_owned()).spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if served.fetch_add(1, Ordering::SeqCst) >= SERVED_MAX {
                // Nobody is served: the hook sees a closed connection and refuses.
                served.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (guard, counted) = (Arc::clone(&guard), Arc::clone(&served));
            let started = std::thread::Builder::new().name("hook".to_owned()).spawn(move || {
                // A hook that cannot be served sees its connection close, and refuses.
                drop(serve(stream, program, &guard));
                counted.fetch_sub(1, Ordering::SeqCst);
            });
            if started.is_err() {
                served.fetch_sub(1, Ordering::SeqCst);
            }
        }
    })?;
    Ok(())
}

fn serve(mut stream: UnixStream, program: FileIdentity, guard: &Guard) -> Result<(), SocketError> {
    if !is_ours(&stream, program) {
        return Err(SocketError::Frame("the words of a program that is not ours"));
    }
    stream.set_read_timeout(Some(QUESTION_WITHIN))?;
    let question = Question::read(&mut stream)?;
    guard.answer(&question).write(&mut stream)
}

/// Whether the other side is a process of our own program. An agent's script that speaks to the socket is not.
fn is_ours(stream: &UnixStream, program: FileIdentity) -> bool {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return false };
    let exe = format!("/proc/{}/exe", peer.pid.as_raw_nonzero());
    FileIdentity::of(Path::new(&exe)).is_ok_and(|identity| identity == program)
}
