//! The process that waits above the view: whatever ends the view, SIGKILL included, the terminal is as it was.

use super::terminal::reset_modes;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::borrow::Cow;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use tripwire_core::explain::{ExitClass, Explain};

/// Why a view cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The system refused.
    #[error("the view cannot be started: {0}")]
    Start(#[from] io::Error),
    /// The view was ended by a signal that it could not answer.
    #[error("the view was ended by signal {signal}; the terminal is as it was")]
    Killed {
        /// The number of the signal.
        signal: i32,
    },
}

impl Explain for KeeperError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Start(_) => "use `tripwire status` and `tripwire log` meanwhile".into(),
            Self::Killed { .. } => "start it again with `tripwire watch`; agents are not affected".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Internal
    }
}

/// Runs the view as a process of its own and waits for its end. Signals to this process are handed on to it.
///
/// # Errors
/// When it cannot be started, or a signal ended it; then the terminal was restored here.
pub fn keep(view: &mut Command) -> Result<ExitStatus, KeeperError> {
    let before = terminal_modes();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let mut child = view.spawn()?;
    let handle = signals.handle();
    let child_id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let forwarder = std::thread::spawn(move || {
        for signal in &mut signals {
            if let (Some(child), Some(signal)) = (child_id, Signal::from_named_raw(signal)) {
                // One that has just ended needs no signal.
                kill_process(child, signal).ok();
            }
        }
    });
    let status = child.wait()?;
    handle.close();
    drop(forwarder.join());
    let Some(signal) = status.signal() else { return Ok(status) };
    drop(reset_modes(&mut io::stdout()));
    if let Some(modes) = before {
        // A terminal that is gone has nothing to restore.
        tcsetattr(io::stdin(), OptionalActions::Flush, &modes).ok();
    }
    Err(KeeperError::Killed { signal })
}

fn terminal_modes() -> Option<Termios> {
    tcgetattr(io::stdin()).ok()
}
