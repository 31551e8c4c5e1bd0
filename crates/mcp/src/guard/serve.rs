//! One server behind the guard, from its start to its end.

use super::conversation::{Conversation, Resumption};
use super::door::Door;
use super::lines::{LINE_BYTES_MAX, Line, Lines};
use super::pin_store::PinStore;
use super::relay::Relay;
use super::server_name::ServerName;
use super::tool_gate::{GateParts, ToolGate};
use super::wires::Wires;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_sandbox::{Tree, TreeError, TreeExit, TreeSpec, TreeStdio, interrupts};
use tripwire_supervisor::Notifier;

/// How long a server may go on after its client has closed.
const CLOSING_WITHIN: Duration = Duration::from_secs(2);
/// How often it is looked how things stand.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the client's last bytes may take to reach a server that does not read.
const STUCK_WITHIN: Duration = Duration::from_secs(5);

/// A server that is to be guarded.
pub struct GuardOptions {
    /// Its name.
    pub name: ServerName,
    /// Its command line.
    pub command: Vec<OsString>,
    /// Its address, where the command only carries messages to that: what its pins belong to.
    pub address: Option<String>,
    /// A variable that it gets beside ours.
    pub variable: Option<(OsString, OsString)>,
    /// Where it is started.
    pub cwd: PathBuf,
    /// Who is asked about its calls.
    pub door: Door,
    /// Where pins are kept.
    pub pins: PinStore,
}

/// Why a server was not guarded to its end.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] TreeError),
    /// A pipe or a thread could not be made.
    #[error("cannot {what}: {error}")]
    Setup {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        error: io::Error,
    },
}

impl Explain for GuardError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Start(error) => error.hint(),
            Self::Setup { .. } => "free some memory or processes, then start it again".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Start(error) => error.exit_class(),
            Self::Setup { .. } => ExitClass::Internal,
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardEnd {
    /// The client closed, and the server's whole tree is gone.
    ClientClosed,
    /// The server ended by itself.
    ServerEnded(Option<TreeExit>),
}

/// Starts the server and stands between it and the client on our standard streams until one of them ends.
///
/// # Errors
/// When it cannot be started.
pub fn serve(options: GuardOptions, notifier: Arc<dyn Notifier>) -> Result<GuardEnd, GuardError> {
    let setup = |what| move |error| GuardError::Setup { what, error };
    let (server_reads, to_server) = io::pipe().map_err(setup("make a pipe"))?;
    let (from_server, server_writes) = io::pipe().map_err(setup("make a pipe"))?;
    interrupts::watch().map_err(setup("watch for interrupts"))?;
    let spec = TreeSpec::new(&options.command).cwd(&options.cwd).stdio(
        TreeStdio::Fd(server_reads.into()),
        TreeStdio::Fd(server_writes.into()),
        TreeStdio::Inherit,
    );
    let spec = match &options.variable {
        Some(more) => {
            let all: Vec<(OsString, OsString)> = std::env::vars_os().chain([more.clone()]).collect();
            spec.env(all.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())))
        }
        None => spec,
    };
    let tree = spec.start()?;
    let GuardOptions { name, command, address, door, pins, .. } = options;
    let whose = address.map_or(command, |address| vec![OsString::from(address)]);
    let gate = Arc::new(ToolGate::new(GateParts { name, whose: &whose, door, pins, notifier }));
    let wires = Wires::new(Box::new(io::stdout()), Box::new(to_server));
    let relay = Arc::new(Relay::new(Conversation::new(gate, Resumption::Never), wires));
    let ends = Arc::new(Ends::default());
    let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
        std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop).map_err(setup("start a thread"))
    };
    let (to, end) = (Arc::clone(&relay), Arc::clone(&ends));
    spawn(
        "from server",
        Box::new(move || {
            read_server(&to, from_server);
            end.server.store(true, Ordering::SeqCst);
        }),
    )?;
    let (to, end) = (Arc::clone(&relay), Arc::clone(&ends));
    spawn(
        "from client",
        Box::new(move || {
            read_client(&to);
            end.client.store(true, Ordering::SeqCst);
        }),
    )?;
    Ok(Watch { relay, tree, ends }.until_the_end())
}

/// Which side has ended.
#[derive(Debug, Default)]
struct Ends {
    client: AtomicBool,
    server: AtomicBool,
}

/// Who watches over both sides.
struct Watch {
    relay: Arc<Relay>,
    tree: Tree,
    ends: Arc<Ends>,
}

impl Watch {
    fn until_the_end(mut self) -> GuardEnd {
        let mut hung_up: Option<Instant> = None;
        loop {
            // The output ends with the last process that holds it, and the command may end before: whichever is first.
            let exit = self.tree.wait(LOOK_EVERY).ok().flatten();
            if exit.is_some() || self.ends.server.load(Ordering::SeqCst) {
                return self.server_ended(exit);
            }
            if self.ends.client.load(Ordering::SeqCst) || interrupts::asked().is_some() {
                return self.client_closed();
            }
            // A server that does not read keeps us from the client's last bytes, and from seeing that they are the last.
            hung_up = if is_hung_up() { hung_up.or_else(|| Some(Instant::now())) } else { None };
            if hung_up.is_some_and(|since| since.elapsed() > STUCK_WITHIN) {
                return self.client_closed();
            }
        }
    }

    fn client_closed(mut self) -> GuardEnd {
        self.relay.client_closed();
        let until = Instant::now() + CLOSING_WITHIN;
        while Instant::now() < until && self.tree.wait(LOOK_EVERY).is_ok_and(|exit| exit.is_none()) {}
        self.drain();
        self.tree.kill();
        self.relay.end();
        GuardEnd::ClientClosed
    }

    fn server_ended(mut self, exit: Option<TreeExit>) -> GuardEnd {
        self.drain();
        let exit = exit.or_else(|| self.tree.wait(CLOSING_WITHIN).ok().flatten());
        let how = match exit {
            Some(TreeExit::Exited(code)) => format!("the server ended with exit code {code}"),
            Some(TreeExit::Signaled(signal)) => format!("the server was ended by signal {signal}"),
            None => "the server has closed its output".to_owned(),
        };
        self.relay.server_gone(&how);
        self.tree.kill();
        self.relay.end();
        GuardEnd::ServerEnded(exit)
    }

    /// Lets what the server said before its end reach the client.
    fn drain(&self) {
        let until = Instant::now() + DRAIN_WITHIN;
        while Instant::now() < until && !self.ends.server.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// How long the last lines of a server that ended may take.
const DRAIN_WITHIN: Duration = Duration::from_millis(300);

fn read_client(relay: &Arc<Relay>) {
    let mut lines = Lines::of(io::stdin(), LINE_BYTES_MAX);
    loop {
        match lines.next() {
            Ok(Line::Whole(line)) => relay.take_from_client(&line),
            Ok(Line::TooLong(beginning)) => relay.too_long_from_client(&beginning),
            Ok(Line::End) | Err(_) => return,
        }
    }
}

fn read_server(relay: &Relay, pipe: io::PipeReader) {
    let mut lines = Lines::of(pipe, LINE_BYTES_MAX);
    loop {
        match lines.next() {
            Ok(Line::Whole(line)) => relay.take_from_server(&line),
            Ok(Line::TooLong(beginning)) => {
                relay.too_long_from_server(&beginning);
                // Nobody can know which request such an answer was for: the server is taken for broken.
                return;
            }
            Ok(Line::End) | Err(_) => return,
        }
    }
}

/// Whether the other end of our standard input is closed.
fn is_hung_up() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut fds, Some(&now)), Ok(1..)) && fds[0].revents().contains(PollFlags::HUP)
}
