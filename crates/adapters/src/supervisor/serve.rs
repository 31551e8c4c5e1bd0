//! The socket on which hooks hand over what the client told them: one thread for each, all of them at one guard.

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
pub(crate) fn listen(path: &Path, program: &Path, guard: Arc<Guard>) -> io::Result<()> {
    let program: Arc<Path> = program.into();
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
            let (guard, program, counted) = (Arc::clone(&guard), Arc::clone(&program), Arc::clone(&served));
            let started = std::thread::Builder::new().name("hook".to_owned()).spawn(move || {
                // A hook that cannot be served sees its connection close, and refuses.
                drop(serve(stream, &program, &guard));
                counted.fetch_sub(1, Ordering::SeqCst);
            });
            if started.is_err() {
                served.fetch_sub(1, Ordering::SeqCst);
            }
        }
    })?;
    Ok(())
}

fn serve(mut stream: UnixStream, program: &Path, guard: &Guard) -> Result<(), SocketError> {
    stream.set_read_timeout(Some(QUESTION_WITHIN))?;
    let question = Question::read(&mut stream)?;
    let reply = match caller(&stream, program) {
        Caller::RunsOwnHook => guard.answer(&question),
        Caller::Other => guard.answer_other(&question),
    };
    reply.write(&mut stream)
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// A hook that was arranged for this run.
    RunsOwnHook,
    /// Anybody else: a hook that the person has installed for all runs, called by this client or by one that the agent
    /// started, or a program of the agent's. Nothing of it is taken in, or everything would count twice; what it asks for
    /// is judged all the same, because nobody else may be asked about it.
    Other,
}

/// Hooks of this run are known by the program that they run, which lies in the run's own folder. A caller that cannot be
/// looked at is somebody else.
fn caller(stream: &UnixStream, program: &Path) -> Caller {
    let exe = rustix::net::sockopt::socket_peercred(stream)
        .map_err(io::Error::from)
        .and_then(|peer| std::fs::read_link(format!("/proc/{}/exe", peer.pid.as_raw_nonzero())));
    if exe.is_ok_and(|exe| exe == program) { Caller::RunsOwnHook } else { Caller::Other }
}
