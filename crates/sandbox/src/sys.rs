//! The system calls that no safe wrapper covers, each as one small safe function.
//!
//! Everything else goes through `rustix`. All unsafe code of the project is in this file, in `children.rs`, in
//! `early.rs`, in `inner.rs`, in `interrupts.rs`, in `last_word.rs` and in `memory.rs`.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Signals are reset up to this number before a program is executed.
const SIGNAL_MAX: i32 = 64;

/// Null-terminated arguments, built before a fork so that the child need not allocate.
#[derive(Debug)]
pub(crate) struct CArgs {
    _owned: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl CArgs {
    pub(crate) fn new(owned: Vec<CString>) -> Self {
        let mut pointers: Vec<*const libc::c_char> = owned.iter().map(|arg| arg.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { _owned: owned, pointers }
    }
}

/// Executes an open file. Returns only on failure.
pub(crate) fn exec_fd(exe: BorrowedFd<'_>, argv: &CArgs, envp: &CArgs) -> io::Error {
    // SAFETY: both arrays end in a null pointer and own their strings; the empty path with AT_EMPTY_PATH names the descriptor.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            exe.as_raw_fd(),
            c"".as_ptr(),
            argv.pointers.as_ptr(),
            envp.pointers.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    io::Error::last_os_error()
}

/// Executes a path. Returns only on failure.
pub(crate) fn exec_path(path: &CStr, argv: &CArgs, envp: &CArgs) -> io::Error {
    // SAFETY: both arrays end in a null pointer and own their strings, and the path is a C string.
    unsafe { libc::execve(path.as_ptr(), argv.pointers.as_ptr(), envp.pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends the process at once, without running anything of the parent's.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: the call has no preconditions and does not return.
    unsafe { libc::_exit(code) }
}

/// Puts `from` at the fixed descriptor number `to`.
pub(crate) fn place_fd(from: BorrowedFd<'_>, to: RawFd) -> io::Result<()> {
    // SAFETY: descriptors 0 to 3 are ours to replace in a child that is about to execute.
    let result = unsafe { libc::dup2(from.as_raw_fd(), to) };
    check(result).map(drop)
}

/// A copy of the descriptor with a number of at least `least`, closed on exec.
pub(crate) fn dup_above(fd: BorrowedFd<'_>, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call only makes a new descriptor.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    let raw = check(result)?;
    // SAFETY: the number was just returned by the kernel and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// What happens to inherited descriptors.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Inherited {
    /// Closed now.
    Close,
    /// Closed when a program is executed.
    CloseOnExec,
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: u32, how: Inherited) -> io::Result<()> {
    let flags: libc::c_uint = match how {
        Inherited::Close => 0,
        Inherited::CloseOnExec => libc::CLOSE_RANGE_CLOEXEC,
    };
    // SAFETY: the caller owns no descriptor in the range that it will use again (or keeps it until exec).
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    check_long(result).map(drop)
}

/// Takes over descriptor 3, the control channel of an inner stage.
pub(crate) fn take_fd(raw: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call only reads the descriptor's flags, and fails if it is not open.
    let result = unsafe { libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC) };
    check(result)?;
    // SAFETY: the descriptor is open and the inner stage is its only user.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Every signal back to its default action and none blocked, so that a command starts the same from every caller.
pub(crate) fn reset_signals() {
    for signal in 1..=SIGNAL_MAX {
        // SAFETY: SIG_DFL is a valid disposition; signals that cannot be changed report an error, which is of no interest.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    unblock_signals();
}

/// No signal held back.
pub(crate) fn unblock_signals() {
    let mut empty = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is valid for a write of the whole set.
    unsafe { libc::sigemptyset(empty.as_mut_ptr()) };
    // SAFETY: the set was initialised by the call above; no old set is asked for.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, empty.as_ptr(), std::ptr::null_mut()) };
}

/// A descriptor that becomes readable when a child ends; the signal itself is held back from now on.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is valid for a write of the whole set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the set was initialised by the call above.
    unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD) };
    // SAFETY: the set is initialised; no old set is asked for.
    check(unsafe { libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) })?;
    // SAFETY: the set is initialised; -1 asks for a new descriptor.
    let raw = check(unsafe { libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
    // SAFETY: the number was just returned by the kernel and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Takes what [`child_signals`] has to tell; the children themselves are asked for elsewhere.
pub(crate) fn drain_signals(fd: BorrowedFd<'_>) {
    let mut buffer = [0_u8; 1024];
    while matches!(rustix::io::read(fd, &mut buffer), Ok(1..)) {}
}

/// What a terminal or a hang-up sends must not end a keeper; the command decides for itself.
pub(crate) fn ignore_terminal_signals() {
    for signal in
        [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGHUP, libc::SIGTERM]
    {
        // SAFETY: SIG_IGN is a valid disposition for each of these signals.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// A write to a pipe that nobody reads is an error of the write and ends nothing.
pub(crate) fn ignore_broken_pipes() {
    // SAFETY: SIG_IGN is a valid disposition for this signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Attributes of a mount, as for `mount_setattr`.
pub(crate) const ATTR_RDONLY: u64 = 0x1;
/// See [`ATTR_RDONLY`].
pub(crate) const ATTR_NOSUID: u64 = 0x2;
/// See [`ATTR_RDONLY`].
pub(crate) const ATTR_NODEV: u64 = 0x4;
/// See [`ATTR_RDONLY`].
pub(crate) const ATTR_NOEXEC: u64 = 0x8;

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

/// Sets attributes on the mount that `fd` stands for, and on all mounts below it.
pub(crate) fn mount_set(fd: BorrowedFd<'_>, set: u64) -> io::Result<()> {
    mount_setattr(fd, libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, set)
}

/// Sets attributes on the mount that `fd` stands for alone.
pub(crate) fn mount_set_one(fd: BorrowedFd<'_>, set: u64) -> io::Result<()> {
    mount_setattr(fd, libc::AT_EMPTY_PATH, set)
}

fn mount_setattr(fd: BorrowedFd<'_>, flags: libc::c_int, set: u64) -> io::Result<()> {
    let attr = MountAttr { set, clear: 0, propagation: 0, userns: 0 };
    // SAFETY: the structure lives across the call and its size is passed; the empty path names the descriptor.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    check_long(result).map(drop)
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all bytes zero is a valid value of this plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads one ifreq, which lives across the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    check(result).map(drop)
}

/// A handle on the network namespace that a socket was made in.
pub(crate) fn network_of(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const SIOCGSKNS: libc::c_ulong = 0x894C;
    // SAFETY: SIOCGSKNS takes no argument and answers a new descriptor.
    let raw = check(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSKNS as _) })?;
    // SAFETY: the number was just returned by the kernel and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// The newest Landlock interface of this kernel.
pub(crate) fn landlock_abi() -> io::Result<i64> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with a null attribute and size 0 the call only answers a number.
    let result = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    check_long(result)
}

/// The attributes of a Landlock rule set (interface 6; older kernels get a shorter prefix).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LandlockAttr {
    /// File rights that are denied unless a rule grants them.
    pub(crate) access_fs: u64,
    /// Network rights, unused: the network namespace covers them.
    pub(crate) access_net: u64,
    /// Scopes: signals and abstract sockets.
    pub(crate) scoped: u64,
}

/// A new rule set; `size` is the prefix of the attributes that the kernel knows.
pub(crate) fn landlock_create(attr: &LandlockAttr, size: usize) -> io::Result<OwnedFd> {
    let size = size.min(size_of::<LandlockAttr>());
    // SAFETY: the attributes live across the call and `size` is at most their size.
    let result = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::from_ref(attr), size, 0_u32) };
    let raw = i32::try_from(check_long(result)?).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: the number was just returned by the kernel and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

#[repr(C, packed)]
struct LandlockPath {
    allowed: u64,
    parent: i32,
}

/// Grants rights below a path.
pub(crate) fn landlock_allow(rules: BorrowedFd<'_>, parent: BorrowedFd<'_>, allowed: u64) -> io::Result<()> {
    const PATH_BENEATH: libc::c_uint = 1;
    let attr = LandlockPath { allowed, parent: parent.as_raw_fd() };
    // SAFETY: the structure has the layout of landlock_path_beneath_attr and lives across the call.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), PATH_BENEATH, &raw const attr, 0_u32) };
    check_long(result).map(drop)
}

/// Confines this thread by the rule set for good.
pub(crate) fn landlock_restrict(rules: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes two numbers.
    let result = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0_u32) };
    check_long(result).map(drop)
}

/// Moves this thread into new namespaces.
pub(crate) fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: only namespace flags are passed by this crate, which change no memory or descriptor of the process.
    let result = unsafe { libc::unshare(flags) };
    check(result).map(drop)
}

pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn check_long(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets a per-process limit, soft and hard, by its kernel number.
pub(crate) fn set_limit(resource: u32, value: u64) -> io::Result<()> {
    let limit = libc::rlimit64 { rlim_cur: value, rlim_max: value };
    // SAFETY: the structure lives across the call; no old value is asked for; pid 0 is this process.
    let result = unsafe {
        libc::syscall(libc::SYS_prlimit64, 0, resource, &raw const limit, std::ptr::null_mut::<libc::rlimit64>())
    };
    check_long(result).map(drop)
}

/// Installs a seccomp program for this thread.
pub(crate) fn seccomp_install(program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?;
    let filter = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: the program lives across the call, the kernel copies and checks it and does not write to it.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0_u32, &raw const filter) };
    check_long(result).map(drop)
}

/// Has the child do something between its start and the program; if that fails, the program is not run.
pub(crate) fn before_exec(
    command: &mut std::process::Command,
    act: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: what this crate hands in makes system calls only: it neither allocates nor takes a lock after the fork.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, act) };
}

/// Whether the kernel knows a seccomp action.
pub(crate) fn seccomp_has_action(action: u32) -> io::Result<()> {
    // SAFETY: the kernel reads one u32, which lives across the call.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0_u32, &raw const action) };
    check_long(result).map(drop)
}

/// Marks this process as the one that orphans of its descendants come back to.
pub(crate) fn become_subreaper() -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    let result = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    check(result).map(drop)
}

/// A descriptor's borrow for the length of the process: the standard streams.
pub(crate) fn stdio(raw: RawFd) -> BorrowedFd<'static> {
    // SAFETY: descriptors 0 to 2 are never closed by this crate, only replaced.
    unsafe { BorrowedFd::borrow_raw(raw) }
}

/// The result of a step whose failure changes nothing; the comment at the call says why.
pub(crate) fn best_effort<T>(_result: T) {}

/// One read behind what the buffer holds, into room that nobody needs to clear first.
pub(crate) fn append_some(fd: impl AsFd, buffer: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        match rustix::io::read(fd.as_fd(), rustix::buffer::spare_capacity(buffer)) {
            Ok(count) => return Ok(count),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// One read from a descriptor whose owner is elsewhere.
pub(crate) fn read_some(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::io::read(fd.as_fd(), &mut *buffer) {
            Ok(count) => return Ok(count),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
