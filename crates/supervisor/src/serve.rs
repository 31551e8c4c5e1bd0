//! The socket on which hooks hand over what the client sent them: one thread for each, all of them at one guard.

use crate::guard::Guard;
use crate::socket::{self, INPUT_BYTES_MAX, Question, SocketError};
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tripwire_clients::Client;

/// Hooks that are served at the same time; clients call a handful at once.
const SERVED_MAX: usize = 256;
/// How long a hook may take to hand over its whole question; time in which its tree is frozen does not count.
const QUESTION_WITHIN: Duration = Duration::from_secs(20);
/// How often it is looked whether the tree is frozen.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Bytes of questions that are held at the same time: whatever runs in the client's tree may connect and send.
const HELD_BYTES_MAX: usize = 4 * INPUT_BYTES_MAX;

/// Listens from now on.
pub(crate) fn listen(path: &Path, program: &Path, guard: Arc<Guard>) -> io::Result<()> {
    let program: Arc<Path> = program.into();
    let listener = UnixListener::bind(path)?;
    let (served, held) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    std::thread::Builder::new().name("socket".to_owned()).spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if served.fetch_add(1, Ordering::SeqCst) >= SERVED_MAX {
                // It is not served: the hook sees a closed connection and refuses.
                served.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (guard, program, counted) = (Arc::clone(&guard), Arc::clone(&program), Arc::clone(&served));
            let held = Arc::clone(&held);
            let started = std::thread::Builder::new().name("hook".to_owned()).spawn(move || {
                // A hook that cannot be served sees its connection close, and refuses.
                drop(serve(stream, &program, &guard, &held));
                counted.fetch_sub(1, Ordering::SeqCst);
            });
            if started.is_err() {
                served.fetch_sub(1, Ordering::SeqCst);
            }
        }
    })?;
    Ok(())
}

fn serve(mut stream: UnixStream, program: &Path, guard: &Guard, held: &AtomicUsize) -> Result<(), SocketError> {
    // Counted until the answer is given: so long the question is in memory.
    let is_frozen = || guard.pulse().held().is_some();
    let until = Instant::now() + QUESTION_WITHIN;
    let mut asked = BoundedQuestion { stream: stream.try_clone()?, until, held, bytes: 0, is_frozen: &is_frozen };
    let question = Question::read(&mut asked)?;
    let reply = match caller(&stream, program) {
        // The guard before a tool server may be the run's own program: what it asks may have been announced by a hook.
        Caller::RunsOwnHook | Caller::Other if question.client == Client::Mcp => guard.answer_tool_server(&question),
        Caller::RunsOwnHook => guard.answer(&question),
        Caller::Other => guard.answer_other(&question),
    };
    socket::write_reply(&reply, &mut stream)
}

/// A question on its way: all of it comes in time, and together with all others it stays within the bound.
struct BoundedQuestion<'a> {
    stream: UnixStream,
    until: Instant,
    held: &'a AtomicUsize,
    bytes: usize,
    is_frozen: &'a dyn Fn() -> bool,
}

impl Read for BoundedQuestion<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = loop {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let wait = left.min(LOOK_EVERY);
            self.stream.set_read_timeout(Some(wait))?;
            match self.stream.read(buffer) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    // A hook that a pause caught in the middle goes on when the person lets it.
                    if (self.is_frozen)() {
                        self.until = Instant::now() + QUESTION_WITHIN;
                    }
                }
                read => break read?,
            }
        };
        self.bytes = self.bytes.saturating_add(count);
        if self.held.fetch_add(count, Ordering::SeqCst).saturating_add(count) > HELD_BYTES_MAX {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(count)
    }
}

impl Drop for BoundedQuestion<'_> {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// A hook that was arranged for this run.
    RunsOwnHook,
    /// Any other: a hook that the person has installed for all runs, called by this client or by one that the agent
    /// started, or a program of the agent's. Nothing of it is taken in, or everything would count twice; what it asks for
    /// is judged all the same, because no other guard may be asked about it.
    Other,
}

/// Hooks of this run are known by the program that they run, which lies in the run's own folder. A caller that cannot be
/// looked at is another.
fn caller(stream: &UnixStream, program: &Path) -> Caller {
    let exe = rustix::net::sockopt::socket_peercred(stream)
        .map_err(io::Error::from)
        .and_then(|peer| std::fs::read_link(format!("/proc/{}/exe", peer.pid.as_raw_nonzero())));
    if exe.is_ok_and(|exe| exe == program) { Caller::RunsOwnHook } else { Caller::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(held: &AtomicUsize, until: Instant) -> Result<Question, SocketError> {
        let (mut hook, stream) = UnixStream::pair().unwrap();
        Question { client: Client::Claude, input: b"{}".to_vec() }.write(&mut hook).unwrap();
        let mut asked = BoundedQuestion { stream, until, held, bytes: 0, is_frozen: &|| false };
        Question::read(&mut asked)
    }

    #[test]
    fn ctrl_1_a_question_that_a_pause_caught_is_read_afterwards_and_a_silent_one_is_not_waited_for() {
        for frozen in [true, false] {
            let (hook, stream) = UnixStream::pair().unwrap();
            let held = AtomicUsize::new(0);
            let looks = AtomicUsize::new(0);
            let is_frozen = || {
                // It goes on at the third look.
                if looks.fetch_add(1, Ordering::SeqCst) == 2 {
                    Question { client: Client::Gemini, input: b"{}".to_vec() }.write(&mut &hook).unwrap();
                }
                frozen
            };
            let until = Instant::now() + LOOK_EVERY + Duration::from_millis(50);
            let mut asked = BoundedQuestion { stream, until, held: &held, bytes: 0, is_frozen: &is_frozen };
            assert_eq!(Question::read(&mut asked).is_ok(), frozen);
            drop(asked);
        }
    }

    #[test]
    fn a_question_is_read_and_its_bytes_are_given_back() {
        let held = AtomicUsize::new(0);
        assert_eq!(ask(&held, Instant::now() + QUESTION_WITHIN).unwrap().input, b"{}");
        assert_eq!(held.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_question_that_comes_too_late_or_is_too_much_is_not_read() {
        let held = AtomicUsize::new(0);
        let late = ask(&held, Instant::now()).unwrap_err();
        assert!(matches!(late, SocketError::Io(error) if error.kind() == io::ErrorKind::TimedOut));
        held.store(HELD_BYTES_MAX, Ordering::SeqCst);
        let much = ask(&held, Instant::now() + QUESTION_WITHIN).unwrap_err();
        assert!(matches!(much, SocketError::Io(error) if error.kind() == io::ErrorKind::OutOfMemory));
        assert_eq!(held.load(Ordering::SeqCst), HELD_BYTES_MAX, "what it took is given back");
    }
}
