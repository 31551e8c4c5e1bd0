//! Layer 9: the first process of the sandbox. It builds the root, starts the command behind the remaining layers, reaps every
//! orphan, and takes the whole namespace with it when the command or the launcher ends.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};

use super::l03_reexec::status_pipe;
use super::{l02_namespaces, l04_rootfs, l05_limits, l06_privileges, l07_landlock, l08_seccomp};
use crate::bridge::{self, Bridge, Listening};
use crate::children::{self, Reaped};
use crate::control::{Channel, TAG_EXITED, TAG_READY};
use crate::cpu;
use crate::layer::LayerError;
use crate::outcome::Layer;
use crate::plan::{CommandPlan, SandboxPlan};
use crate::sys::{self, CArgs};

/// The host name inside, for everybody.
const HOST_NAME: &str = "sandbox";
const LANDLOCK_MISSING: &str = "missing";
/// Exit code of a child that was never executed.
const EXIT_NOT_EXECUTED: i32 = 127;

/// Puts on layers 4 to 9 and stays until the command ends.
pub(crate) fn run(plan: &SandboxPlan, channel: &Channel) -> Result<u8, LayerError> {
    let bridge = put_on(plan, channel)?;
    let children =
        sys::child_signals().map_err(|error| pid1(error.raw_os_error().unwrap_or(0), "watch for children"))?;
    let command = start_beside(plan, bridge)?;
    let ended = wait_for(command, channel, &children)?;
    let others = match ended.company {
        Company::Alone => 0,
        // Seen to be there, even if it is gone by now: never the number that says "alone".
        Company::Others => count_others().max(1),
    };
    let mut news = vec![ended.code, ended.signal];
    news.extend_from_slice(&others.to_le_bytes());
    // A launcher that is gone cannot be told; leaving ends the namespace all the same.
    drop(channel.send(TAG_EXITED, &news));
    // The kernel takes everybody else with this process.
    sys::exit_now(0)
}

/// Puts on layers 4 to 9 around the first process of a tree, which the caller keeps.
pub(crate) fn begin(plan: &SandboxPlan, channel: &Channel) -> Result<rustix::process::Pid, LayerError> {
    let bridge = put_on(plan, channel)?;
    start_beside(plan, bridge)
}

/// Layers 4 to 6 and what is beside them: the way to allowed hosts, and the ports on which the launcher listens.
fn put_on(plan: &SandboxPlan, channel: &Channel) -> Result<Option<Listening>, LayerError> {
    // Only root may; an ordinary user's groups stay, but name nothing that is mounted inside.
    sys::best_effort(rustix::thread::set_thread_groups(&[]));
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let bridge = plan.bridge.as_ref().map(|(socket, port)| Bridge::open(socket, *port)).transpose()?;
    let network = l02_namespaces::new_network()?;
    let root = l04_rootfs::build(plan)?;
    rustix::system::sethostname(HOST_NAME.as_bytes())
        .map_err(|errno| LayerError::new(Layer::Namespaces, errno.raw_os_error(), "set the host name".to_owned()))?;
    l02_namespaces::enter_network(network)?;
    let bridge = bridge.map(Bridge::listen).transpose()?;
    let landlock = match sys::landlock_abi() {
        Ok(abi) => format!("interface {abi}"),
        Err(_) => LANDLOCK_MISSING.to_owned(),
    };
    let ports = plan.ports.iter().map(|port| bridge::listen(*port)).collect::<Result<Vec<_>, _>>()?;
    let handles: Vec<BorrowedFd<'_>> =
        [root.scratch.as_fd(), root.proc.as_fd()].into_iter().chain(ports.iter().map(AsFd::as_fd)).collect();
    channel
        .send_with(TAG_READY, landlock.as_bytes(), &handles)
        .map_err(|error| pid1(error.raw_os_error().unwrap_or(0), "report the new root"))?;
    drop(root);
    l05_limits::apply(&plan.limits)?;
    cpu::pin(&plan.processors).map_err(|error| {
        LayerError::new(Layer::Limits, error.raw_os_error().unwrap_or(0), "pin the tree to its processors".to_owned())
    })?;
    l06_privileges::drop_all()?;
    Ok(bridge)
}

/// Starts the command, and then what serves it.
fn start_beside(plan: &SandboxPlan, bridge: Option<Listening>) -> Result<rustix::process::Pid, LayerError> {
    let command = start(plan)?;
    leave_output()?;
    // This process reads nothing that the command writes, has no capability and cannot be traced; the filter is for the
    // command. With a bridge it must also reach the host's unix socket.
    if let Some(bridge) = bridge {
        bridge.serve()?;
    }
    Ok(command)
}

/// Starts the command, which puts on the last layers itself and says on a pipe why it could not be executed.
fn start(plan: &SandboxPlan) -> Result<rustix::process::Pid, LayerError> {
    let (status, status_in) = status_pipe().map_err(|_| pid1(0, "make a pipe"))?;
    // The child makes its arguments and its rules itself, so it allocates; the thread that made the network has ended.
    let pid = children::start_sharing_memory_alone(&mut || run_child(plan, &status_in))
        .map_err(|error| pid1(error.raw_os_error().unwrap_or(0), "start the command"))?;
    drop(status_in);
    let mut report = Vec::new();
    let mut buffer = [0_u8; 4096];
    while let Ok(count @ 1..) = sys::read_some(&status, &mut buffer) {
        report.extend_from_slice(buffer.get(..count).unwrap_or_default());
    }
    match report.as_slice() {
        [] => Ok(pid),
        [layer, a, b, c, d, what @ ..] => Err(LayerError::new(
            Layer::from_code(*layer).unwrap_or(Layer::Pid1),
            i32::from_le_bytes([*a, *b, *c, *d]),
            String::from_utf8_lossy(what).into_owned(),
        )),
        [..] => Err(pid1(0, "start the command")),
    }
}

/// The output pipes are the command's alone from now on: they end with its tree and not with this process.
fn leave_output() -> Result<(), LayerError> {
    for stream in [1, 2] {
        sys::place_fd(sys::stdio(0), stream)
            .map_err(|error| pid1(error.raw_os_error().unwrap_or(0), "leave the output to the command"))?;
    }
    Ok(())
}

/// In the child: puts on the last layers and becomes the command, or says why not.
fn run_child(plan: &SandboxPlan, status: &OwnedFd) -> ! {
    let failure = become_command(plan);
    let mut report = vec![failure.layer.code()];
    report.extend_from_slice(&failure.errno.to_le_bytes());
    report.extend_from_slice(failure.what.as_bytes());
    // If this cannot be written the exit code still tells that nothing was executed.
    sys::best_effort(rustix::io::write(status, &report));
    sys::exit_now(EXIT_NOT_EXECUTED)
}

/// Layers 7 and 8 and then the command. Returns only on failure.
fn become_command(plan: &SandboxPlan) -> LayerError {
    let prepared = prepare(plan);
    match prepared {
        Ok(()) => exec_command(&plan.command),
        Err(failure) => failure,
    }
}

fn prepare(plan: &SandboxPlan) -> Result<(), LayerError> {
    rustix::process::chdir(&plan.command.cwd)
        .map_err(|errno| LayerError::new(Layer::Rootfs, errno.raw_os_error(), "enter the workspace".to_owned()))?;
    // A tree has the streams and the terminal of the person who started it; the filter keeps it from typing there.
    if plan.held == 0 {
        leave_terminal()?;
    }
    match l07_landlock::apply(&plan.rules) {
        Err(failure) if plan.landlock_required == 1 => return Err(failure),
        Ok(()) | Err(_) => {}
    }
    sys::unblock_signals();
    l08_seccomp::apply(&plan.filter)
}

/// A session of its own, with no controlling terminal, no shared process group with pid 1 and nothing to read.
fn leave_terminal() -> Result<(), LayerError> {
    rustix::process::setsid().map_err(|errno| pid1(errno.raw_os_error(), "start a session"))?;
    let null = fs::File::open("/dev/null").map_err(|error| {
        LayerError::new(Layer::Rootfs, error.raw_os_error().unwrap_or(0), "open `/dev/null`".to_owned())
    })?;
    sys::place_fd(null.as_fd(), 0).map_err(|error| pid1(error.raw_os_error().unwrap_or(0), "close stdin"))
}

/// Executes the command, searching the fixed `PATH` for a bare name. Returns only on failure.
pub(crate) fn exec_command(command: &CommandPlan) -> LayerError {
    let Some(program) = command.argv.first() else {
        return not_started(libc::ENOENT, "nothing");
    };
    let shown = program.to_string_lossy().into_owned();
    let c_strings = |items: &[std::ffi::OsString]| {
        items.iter().map(|item| CString::new(item.clone().into_vec())).collect::<Result<Vec<_>, _>>()
    };
    let (Ok(argv), Ok(envp)) = (c_strings(&command.argv), c_strings(&command.env)) else {
        return not_started(libc::EINVAL, &shown);
    };
    let (argv, envp) = (CArgs::new(argv), CArgs::new(envp));
    let mut errno = libc::ENOENT;
    for path in candidates(command) {
        let Ok(path) = CString::new(path) else {
            continue;
        };
        let error = sys::exec_path(&path, &argv, &envp).raw_os_error().unwrap_or(0);
        if error != libc::ENOENT && error != libc::ENOTDIR {
            errno = error;
        }
    }
    not_started(errno, &shown)
}

/// The paths that a program's name may stand for.
fn candidates(command: &CommandPlan) -> Vec<Vec<u8>> {
    let name = command.argv.first().map(|name| name.as_bytes().to_vec()).unwrap_or_default();
    if name.contains(&b'/') {
        return vec![name];
    }
    let path = command.env.iter().find_map(|entry| entry.as_bytes().strip_prefix(b"PATH=")).unwrap_or_default();
    path.split(|byte| *byte == b':')
        .filter(|dir| !dir.is_empty())
        .map(|dir| [dir, b"/", name.as_slice()].concat())
        .collect()
}

fn not_started(errno: i32, program: &str) -> LayerError {
    LayerError::new(Layer::Command, errno, format!("run `{program}`"))
}

/// How the command ended.
struct CommandEnd {
    code: u8,
    signal: u8,
    company: Company,
}

/// Whether anybody but this process was left when the command had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    /// Proven: no child is left, and every orphan of the namespace is our child.
    Alone,
    /// Somebody lives.
    Others,
}

/// Reaps everything until the command itself has ended. When the launcher goes, this process goes, and with it the
/// namespace: the death signal alone would miss a launcher that died before it was set.
fn wait_for(command: rustix::process::Pid, channel: &Channel, children: &OwnedFd) -> Result<CommandEnd, LayerError> {
    loop {
        if let Some(ended) = reap(command)? {
            return Ok(ended);
        }
        let mut fds = [
            PollFd::from_borrowed_fd(children.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(pid1(errno.raw_os_error(), "wait for the command")),
        }
        let [child, launcher] = &fds;
        // The launcher never speaks after the plan: whatever is here is its end.
        if !launcher.revents().is_empty() {
            sys::exit_now(1);
        }
        if !child.revents().is_empty() {
            sys::drain_signals(children.as_fd());
        }
    }
}

/// Reaps the processes that have ended; says how the command ended if it is among them.
fn reap(command: rustix::process::Pid) -> Result<Option<CommandEnd>, LayerError> {
    let mut found = None;
    let company = loop {
        match children::reap_one().map_err(|error| pid1(error.raw_os_error().unwrap_or(0), "wait for the command"))? {
            Reaped::Ended { pid, code, signal } if pid == command.as_raw_nonzero().get() => {
                found = Some((code, signal));
            }
            Reaped::Ended { .. } => {}
            Reaped::AllAlive => break Company::Others,
            Reaped::Alone => break Company::Alone,
        }
    };
    Ok(found.map(|(code, signal)| CommandEnd { code, signal, company }))
}

/// Processes beside this one, as its own `/proc` shows them.
fn count_others() -> u32 {
    let Ok(entries) = fs::read_dir(Path::new("/proc")) else {
        return 0;
    };
    let numbers = entries.flatten().filter(|entry| entry.file_name().as_bytes().iter().all(u8::is_ascii_digit));
    u32::try_from(numbers.count().saturating_sub(1)).unwrap_or(u32::MAX)
}

fn pid1(errno: i32, what: &str) -> LayerError {
    LayerError::new(Layer::Pid1, errno, what.to_owned())
}
