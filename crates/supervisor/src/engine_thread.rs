//! The engine thread: it keeps the guard awake. It looks at what people did and at the clock, and takes in what the
//! watch has to say, so that the watch itself never waits for a disk.

use crate::guard::Guard;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use tripwire_core::decision::Decision;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::What;

/// How often it looks: an order to stop takes effect within this time and a little more.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Looks between two readings of the journal while something holds the session.
const READ_EVERY: u32 = 5;

/// The thread, to which inputs are handed.
#[derive(Debug)]
pub(crate) struct EngineThread {
    jobs: Sender<Job>,
}

/// One piece of work, with the channel for what came of it.
enum Job {
    /// An input, for its decision.
    Take(Box<What>, Sender<Result<Decision, String>>),
    /// A look at everything that waits to be taken in.
    Look(Sender<Result<(), String>>),
}

/// Why an input was not taken in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineThreadError {
    /// The engine refused it.
    #[error("{0}")]
    Refused(String),
    /// The engine did not answer in time.
    #[error("the engine does not answer")]
    Late,
}

impl EngineThread {
    /// Starts it; it ends when its last handle is dropped.
    pub(crate) fn start(guard: Arc<Guard>) -> std::io::Result<Self> {
        let (jobs, received) = mpsc::channel();
        std::thread::Builder::new().name("engine".to_owned()).spawn(move || keep(&guard, &received))?;
        Ok(Self { jobs })
    }

    /// Hands an input over and waits for its decision, but not for ever.
    pub(crate) fn take(&self, what: What, within: Duration) -> Result<Decision, EngineThreadError> {
        let (done, decision) = mpsc::channel();
        self.jobs.send(Job::Take(Box::new(what), done)).map_err(|_| EngineThreadError::Late)?;
        wait(&decision, within)
    }

    /// Has it look now, and waits until it has, but not for ever: what people and the gateway told before is taken in then.
    pub(crate) fn look(&self, within: Duration) -> Result<(), EngineThreadError> {
        let (done, looked) = mpsc::channel();
        self.jobs.send(Job::Look(done)).map_err(|_| EngineThreadError::Late)?;
        wait(&looked, within)
    }
}

fn wait<T>(answer: &Receiver<Result<T, String>>, within: Duration) -> Result<T, EngineThreadError> {
    match answer.recv_timeout(within) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(EngineThreadError::Refused(error)),
        Err(_) => Err(EngineThreadError::Late),
    }
}

fn keep(guard: &Guard, jobs: &Receiver<Job>) {
    let mut looks = 0_u32;
    loop {
        let result = match jobs.recv_timeout(LOOK_EVERY) {
            Ok(Job::Look(done)) => {
                let looked = guard.look();
                // The caller may have given up by now.
                drop(done.send(looked.as_ref().err().map_or(Ok(()), |error| Err(error.to_string()))));
                looked
            }
            Ok(Job::Take(what, done)) => {
                let taken = guard.take(*what);
                let decision = taken.as_ref().map(|taken| taken.decision.clone()).map_err(ToString::to_string);
                // The caller may have given up by now.
                drop(done.send(decision));
                taken.map(drop)
            }
            Err(RecvTimeoutError::Timeout) => {
                looks = looks.wrapping_add(1);
                let pulse = guard.pulse();
                if pulse.over {
                    continue; // Only what is handed over counts from here on.
                }
                // What a person did in another process counts here too: it is held no more, or has another limit.
                if looks.is_multiple_of(READ_EVERY) {
                    guard.refresh().and_then(|()| guard.look())
                } else {
                    guard.look()
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Err(error) = result {
            guard.fault(&format!("{error}; {}", error.hint()));
        }
    }
}
