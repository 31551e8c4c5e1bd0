//! Children of this process: how they are started, with or without a copy of our memory, and how they are reaped.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::sys::{self, check, exit_now};

/// What [`clone_process`] needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CloneSpec<'a> {
    /// `CLONE_NEW*` flags.
    pub(crate) flags: i32,
    /// A cgroup (v2) folder that the child starts in.
    pub(crate) cgroup: Option<BorrowedFd<'a>>,
}

/// The two sides of a fork.
#[derive(Debug)]
pub(crate) enum Forked {
    /// In the parent: the child's pid.
    Parent(Pid),
    /// In the child.
    Child,
}

#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Forks into new namespaces. In a process with threads the child may only make system calls until it executes or exits.
pub(crate) fn clone_process(spec: CloneSpec<'_>) -> io::Result<Forked> {
    let flags = u64::from(spec.flags.cast_unsigned());
    let signal = u64::from(libc::SIGCHLD.cast_unsigned());
    let result = if let Some(cgroup) = spec.cgroup {
        let mut args = CloneArgs { flags: flags | CLONE_INTO_CGROUP, exit_signal: signal, ..CloneArgs::default() };
        args.cgroup = u64::from(cgroup.as_raw_fd().cast_unsigned());
        // SAFETY: the arguments live across the call and their size is passed; no stack and no shared memory are asked for,
        // so the call behaves like fork.
        unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) }
    } else {
        // SAFETY: without a stack and without CLONE_VM the call behaves like fork; the pointers are unused and null.
        unsafe { libc::syscall(libc::SYS_clone, flags | signal, 0_usize, 0_usize, 0_usize, 0_usize) }
    };
    match result {
        0 => Ok(Forked::Child),
        pid if pid > 0 => {
            let raw = i32::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
            let pid = Pid::from_raw(raw).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
            Ok(Forked::Parent(pid))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Room for what a child does before it executes; pages that it does not touch cost nothing.
const SHARED_STACK_BYTES: usize = 512 * 1024;
const STACK_ALIGN: usize = 16;

/// How long the end of a thread that was joined may take to show.
const ALONE_TIME_MAX: Duration = Duration::from_secs(1);
const ALONE_POLL: Duration = Duration::from_micros(50);

/// Starts a child that runs `task` in this process's memory, as [`start_sharing_memory`] does, for a task that allocates: only
/// the one thread of a process can do that, and whether it is one is asked.
pub(crate) fn start_sharing_memory_alone(task: &mut dyn FnMut()) -> io::Result<Pid> {
    let start = Instant::now();
    // A thread that was joined is out of our memory a moment before the kernel has forgotten it.
    while !is_alone() {
        if start.elapsed() > ALONE_TIME_MAX {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        std::thread::sleep(ALONE_POLL);
    }
    // SAFETY: the calling thread is the only one in this memory, and it stands still while the task runs: whatever the task
    // locks was free, and nobody else asks for it.
    unsafe { start_sharing_memory(0, task) }
}

/// Whether the calling thread is the only one of its process and nobody shares its memory: only then does the kernel agree to
/// separate it from the others, and there is nothing to do.
fn is_alone() -> bool {
    sys::unshare(libc::CLONE_THREAD).is_ok()
}

/// Starts a child that runs `task` in this process's own memory, on a stack of its own, while the calling thread stands still
/// until the child executes a program or exits: nothing is copied for a child that is about to throw it away. Descriptors,
/// working folder, credentials and signal actions are the child's own, and so are the namespaces that `flags` ask for.
///
/// # Safety
/// Other threads of this process run on, in the same memory. If there are any, the task may only make system calls: it must
/// not allocate, free or take a lock, because a lock that one of them holds, or that it takes itself, may never be free again.
pub(crate) unsafe fn start_sharing_memory(flags: i32, task: &mut dyn FnMut()) -> io::Result<Pid> {
    extern "C" fn enter(argument: *mut libc::c_void) -> libc::c_int {
        let task = argument.cast::<&mut dyn FnMut()>();
        // SAFETY: the pointer is to the reference below, which lives as long as the calling thread stands still, and that
        // thread does not use it meanwhile.
        let task = unsafe { &mut *task };
        task();
        exit_now(EXIT_SHARED)
    }
    let mut stack: Vec<std::mem::MaybeUninit<u8>> = Vec::with_capacity(SHARED_STACK_BYTES);
    let start = stack.as_mut_ptr();
    let unaligned = start.addr().wrapping_add(SHARED_STACK_BYTES) % STACK_ALIGN;
    // SAFETY: the offset is within the allocation, whose size is larger than the alignment.
    let top = unsafe { start.add(SHARED_STACK_BYTES - unaligned) };
    let mut task = task;
    let argument = (&raw mut task).cast::<libc::c_void>();
    let flags = flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from its aligned end and is freed after the child has left this memory, because CLONE_VFORK
    // holds the calling thread, and it alone, until then; the function never returns into this frame; what the task may do
    // beside other threads is our caller's promise.
    let pid = check(unsafe { libc::clone(enter, top.cast(), flags, argument) })?;
    drop(stack);
    Pid::from_raw(pid).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Exit code of a sharing child whose task came back.
const EXIT_SHARED: i32 = 127;

/// What a look for ended children found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaped {
    /// This child ended; its code or its signal is set.
    Ended { pid: i32, code: u8, signal: u8 },
    /// Children are there, and all of them live.
    AllAlive,
    /// There is no child: for pid 1 of a namespace the proof that it is alone, since every orphan becomes its child.
    Alone,
}

/// Takes the end of one child of any kind, without waiting.
pub(crate) fn reap_one() -> io::Result<Reaped> {
    loop {
        let mut status: libc::c_int = 0;
        // SAFETY: the pointer is valid for the write of one number.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) };
        match check(pid) {
            Ok(0) => return Ok(Reaped::AllAlive),
            Ok(pid) => {
                let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 0 };
                let signal = if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 };
                let byte = |number: libc::c_int| u8::try_from(number).unwrap_or(u8::MAX);
                return Ok(Reaped::Ended { pid, code: byte(code), signal: byte(signal) });
            }
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(Reaped::Alone),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_alone_and_a_forked_one_is() {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || held.recv().ok());
        assert!(!is_alone());
        let child = match clone_process(CloneSpec { flags: 0, cgroup: None }).expect("forks") {
            Forked::Parent(pid) => pid,
            // Only system calls are made here.
            Forked::Child => exit_now(i32::from(!is_alone())),
        };
        let (_, status) = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())
            .expect("waits")
            .expect("ended");
        assert_eq!(status.exit_status(), Some(0));
        drop(hold);
        thread.join().expect("the thread ends");
    }

    #[test]
    fn a_task_that_allocates_is_not_started_beside_other_threads() {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || held.recv().ok());
        let refused = start_sharing_memory_alone(&mut || exit_now(0)).expect_err("refused");
        assert_eq!(refused.raw_os_error(), Some(libc::EBUSY));
        drop(hold);
        thread.join().expect("the thread ends");
    }
}
