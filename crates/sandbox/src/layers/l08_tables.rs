//! The reviewed system calls of layer 8, each group with the reason for its answer.
//!
//! Numbers come from the C library's table of the machine that is built for; calls that only the older machine has are in
//! lists of their own.

/// Which choices the filter makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choices(u64);

impl Choices {
    /// The strict filter.
    pub(crate) const STRICT: Self = Self(0);
    const UNIX_SOCKETS: u64 = 1;
    const DEBUGGERS: u64 = 2;
    const NO_UNSEEN_MEMORY: u64 = 4;
    const PINNED: u64 = 8;

    /// Unix sockets and debuggers work; profile `compat`.
    pub(crate) fn with_compat(self) -> Self {
        Self(self.0 | Self::UNIX_SOCKETS | Self::DEBUGGERS)
    }

    /// Unix sockets work.
    pub(crate) fn with_unix_sockets(self) -> Self {
        Self(self.0 | Self::UNIX_SOCKETS)
    }

    /// Memory that belongs to no process is refused: without a memory cgroup no sampling would see it.
    pub(crate) fn without_unseen_memory(self) -> Self {
        Self(self.0 | Self::NO_UNSEEN_MEMORY)
    }

    /// The processors stay those that the tree was pinned to.
    pub(crate) fn with_pinned_processors(self) -> Self {
        Self(self.0 | Self::PINNED)
    }

    pub(crate) fn processors_change(self) -> bool {
        self.0 & Self::PINNED == 0
    }

    pub(crate) fn unix_sockets(self) -> bool {
        self.0 & Self::UNIX_SOCKETS != 0
    }

    pub(crate) fn debuggers(self) -> bool {
        self.0 & Self::DEBUGGERS != 0
    }

    pub(crate) fn unseen_memory(self) -> bool {
        self.0 & Self::NO_UNSEEN_MEMORY == 0
    }
}

/// The filter's answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    Refuse(i32),
}

/// A question about an argument, mostly its low 32 bits: what the kernel itself looks at for all calls that are guarded here.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// Any bit of the mask is set.
    AnyBit { arg: u8, mask: u32 },
    /// Any bit of the high half is set; with [`Test::AnyBit`] it tells a pointer from null.
    AnyHighBit { arg: u8 },
    /// The masked argument has this value.
    Masked { arg: u8, mask: u32, value: u32 },
}

/// All tests hold: this verdict.
#[derive(Debug, Clone)]
pub(crate) struct Arm {
    pub(crate) tests: Vec<Test>,
    pub(crate) verdict: Verdict,
}

/// A call whose arguments decide.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) number: i64,
    pub(crate) arms: Vec<Arm>,
    pub(crate) otherwise: Verdict,
}

/// Calls that get the same answer for the same reason.
#[derive(Debug)]
pub(crate) struct CallGroup {
    /// Why; read by people and by the test that no group goes without.
    #[cfg_attr(not(test), expect(dead_code, reason = "documentation that a test checks"))]
    pub(crate) why: &'static str,
    /// The calls.
    pub(crate) calls: &'static [i64],
}

/// Numbers that the C library's table does not name yet.
mod newer {
    pub(super) const CACHESTAT: i64 = 451;
    pub(super) const MAP_SHADOW_STACK: i64 = 453;
    pub(super) const FUTEX_WAKE: i64 = 454;
    pub(super) const FUTEX_WAIT: i64 = 455;
    pub(super) const FUTEX_REQUEUE: i64 = 456;
    pub(super) const MSEAL: i64 = 462;
}

/// Calls that every program may make.
#[rustfmt::skip] // One call per line would hide the groups.
pub(crate) const ALLOWED: &[CallGroup] = &[
    CallGroup {
        why: "reading and writing what is already open; opening is governed by the root, Landlock and the guards",
        calls: &[
            libc::SYS_read, libc::SYS_write, libc::SYS_close, libc::SYS_close_range, libc::SYS_lseek, libc::SYS_pread64,
            libc::SYS_pwrite64, libc::SYS_readv, libc::SYS_writev, libc::SYS_preadv, libc::SYS_pwritev,
            libc::SYS_preadv2, libc::SYS_pwritev2, libc::SYS_sendfile, libc::SYS_copy_file_range, libc::SYS_splice,
            libc::SYS_tee, libc::SYS_vmsplice, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync,
            libc::SYS_sync_file_range, libc::SYS_syncfs, libc::SYS_ftruncate, libc::SYS_truncate,
            libc::SYS_flock, libc::SYS_fcntl, libc::SYS_dup, libc::SYS_dup3, libc::SYS_pipe2, libc::SYS_fadvise64,
            libc::SYS_readahead, newer::CACHESTAT,
        ],
    },
    CallGroup {
        why: "names and metadata of files; the root shows only what is allowed, and a mount decides over writing",
        calls: &[
            libc::SYS_newfstatat, libc::SYS_fstat, libc::SYS_statx, libc::SYS_statfs, libc::SYS_fstatfs,
            libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_readlinkat,
            libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_mkdirat, libc::SYS_unlinkat, libc::SYS_symlinkat,
            libc::SYS_linkat, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_utimensat, libc::SYS_umask,
            libc::SYS_fchownat, libc::SYS_fchown, libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr,
            libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_fgetxattr, libc::SYS_listxattr, libc::SYS_llistxattr,
            libc::SYS_flistxattr, libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr,
        ],
    },
    CallGroup {
        why: "memory of the own process, counted against the budget",
        calls: &[
            libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_brk,
            libc::SYS_msync, libc::SYS_mincore, libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_munlock,
            libc::SYS_mlockall, libc::SYS_munlockall, libc::SYS_membarrier, libc::SYS_pkey_alloc, libc::SYS_pkey_free,
            libc::SYS_pkey_mprotect, libc::SYS_get_mempolicy, libc::SYS_set_mempolicy, libc::SYS_mbind,
            libc::SYS_process_madvise, newer::MAP_SHADOW_STACK, newer::MSEAL,
        ],
    },
    CallGroup {
        why: "processes and threads inside the pid namespace; new namespaces are refused by the guard on clone",
        calls: &[
            libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_wait4,
            libc::SYS_waitid, libc::SYS_getpid, libc::SYS_getppid, libc::SYS_gettid, libc::SYS_getpgid,
            libc::SYS_setpgid, libc::SYS_getsid, libc::SYS_setsid, libc::SYS_set_tid_address,
            libc::SYS_set_robust_list, libc::SYS_get_robust_list, libc::SYS_rseq, libc::SYS_prctl,
            libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal, libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill,
            libc::SYS_getrusage, libc::SYS_times, libc::SYS_getrlimit,
            libc::SYS_getpriority, libc::SYS_setpriority, libc::SYS_ioprio_get, libc::SYS_ioprio_set,
        ],
    },
    CallGroup {
        why: "identity: only one uid and gid exist inside, and no capability is left to change them",
        calls: &[
            libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getresuid,
            libc::SYS_getresgid, libc::SYS_getgroups, libc::SYS_setuid, libc::SYS_setgid, libc::SYS_setreuid,
            libc::SYS_setregid, libc::SYS_setresuid, libc::SYS_setresgid, libc::SYS_setgroups, libc::SYS_setfsuid,
            libc::SYS_setfsgid, libc::SYS_capget, libc::SYS_capset,
        ],
    },
    CallGroup {
        why: "signals and waiting among the own processes",
        calls: &[
            libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_rt_sigpending,
            libc::SYS_rt_sigsuspend, libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo, libc::SYS_sigaltstack, libc::SYS_signalfd4, libc::SYS_restart_syscall,
            libc::SYS_futex, libc::SYS_futex_waitv, newer::FUTEX_WAKE, newer::FUTEX_WAIT, newer::FUTEX_REQUEUE,
            libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2, libc::SYS_eventfd2, libc::SYS_inotify_init1, libc::SYS_inotify_add_watch,
            libc::SYS_inotify_rm_watch,
        ],
    },
    CallGroup {
        why: "time: read and wait, never set",
        calls: &[
            libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_clock_nanosleep, libc::SYS_nanosleep,
            libc::SYS_gettimeofday, libc::SYS_timer_create, libc::SYS_timer_settime, libc::SYS_timer_gettime,
            libc::SYS_timer_getoverrun, libc::SYS_timer_delete, libc::SYS_timerfd_create, libc::SYS_timerfd_settime,
            libc::SYS_timerfd_gettime, libc::SYS_setitimer, libc::SYS_getitimer,
        ],
    },
    CallGroup {
        why: "sockets that the guards let be made; the network namespace has nothing but loopback",
        calls: &[
            libc::SYS_bind, libc::SYS_connect, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4,
            libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_setsockopt, libc::SYS_getsockopt,
            libc::SYS_shutdown, libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_recvmsg,
            libc::SYS_sendmmsg, libc::SYS_recvmmsg,
        ],
    },
    CallGroup {
        why: "facts about the machine that build tools size themselves by",
        calls: &[
            libc::SYS_uname, libc::SYS_sysinfo, libc::SYS_getrandom, libc::SYS_getcpu, libc::SYS_sched_yield,
            libc::SYS_sched_getaffinity, libc::SYS_sched_getparam,
            libc::SYS_sched_getscheduler, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam,
            libc::SYS_sched_get_priority_max, libc::SYS_sched_get_priority_min, libc::SYS_sched_rr_get_interval,
            libc::SYS_sched_getattr, libc::SYS_sched_setattr,
        ],
    },
    CallGroup {
        why: "IPC in a namespace of its own: nothing of the host is there, and what is made ends with it",
        calls: &[
            libc::SYS_shmat, libc::SYS_shmdt, libc::SYS_shmctl, libc::SYS_semop, libc::SYS_semctl,
            libc::SYS_semtimedop, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_msgctl,
            libc::SYS_mq_open, libc::SYS_mq_unlink, libc::SYS_mq_timedsend, libc::SYS_mq_timedreceive,
            libc::SYS_mq_notify, libc::SYS_mq_getsetattr,
        ],
    },
    CallGroup {
        why: "confining oneself further is always allowed",
        calls: &[
            libc::SYS_seccomp, libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule,
            libc::SYS_landlock_restrict_self,
        ],
    },
    #[cfg(target_arch = "x86_64")]
    CallGroup {
        why: "older spellings of calls above, which this machine still has",
        calls: &[
            libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_readlink, libc::SYS_getdents, libc::SYS_mkdir,
            libc::SYS_rmdir, libc::SYS_unlink, libc::SYS_symlink, libc::SYS_link, libc::SYS_rename, libc::SYS_chown,
            libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat, libc::SYS_dup2, libc::SYS_pipe,
            libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_create, libc::SYS_epoll_wait, libc::SYS_eventfd,
            libc::SYS_signalfd, libc::SYS_inotify_init, libc::SYS_fork, libc::SYS_vfork, libc::SYS_getpgrp,
            libc::SYS_alarm, libc::SYS_pause, libc::SYS_time, libc::SYS_arch_prctl,
        ],
    },
];

/// Calls that answer `EPERM`.
#[rustfmt::skip] // One call per line would hide the groups.
pub(crate) const DENIED: &[CallGroup] = &[
    CallGroup {
        why: "mounts are how the root is held together",
        calls: &[
            libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_open_tree,
            libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick,
            libc::SYS_mount_setattr,
        ],
    },
    CallGroup { why: "new namespaces bring new capabilities", calls: &[libc::SYS_unshare, libc::SYS_setns] },
    CallGroup {
        why: "reaching into other processes",
        calls: &[libc::SYS_kcmp, libc::SYS_pidfd_getfd, libc::SYS_process_mrelease, libc::SYS_migrate_pages, libc::SYS_move_pages],
    },
    CallGroup {
        why: "files by number instead of by path, past every path rule",
        calls: &[libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at],
    },
    CallGroup {
        why: "large kernel interfaces that no tool chain needs and that past escapes came through",
        calls: &[
            libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_io_setup, libc::SYS_io_submit,
            libc::SYS_io_getevents, libc::SYS_io_cancel, libc::SYS_io_destroy, libc::SYS_fanotify_init,
            libc::SYS_fanotify_mark, libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key,
            libc::SYS_memfd_secret, libc::SYS_remap_file_pages, libc::SYS_vhangup,
        ],
    },
    CallGroup {
        why: "the machine itself: modules, clock, names, accounting, power, swap",
        calls: &[
            libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_kexec_load,
            libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct, libc::SYS_quotactl,
            libc::SYS_quotactl_fd, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_adjtimex,
            libc::SYS_clock_adjtime, libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_syslog,
        ],
    },
    #[cfg(target_arch = "x86_64")]
    CallGroup {
        why: "hardware ports, segments and old interfaces of this machine",
        calls: &[
            libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_ustat,
            libc::SYS__sysctl, libc::SYS_kexec_file_load,
        ],
    },
];

const SET_ID: u32 = 0o6000;
const NODE_KIND: u32 = libc::S_IFMT;
const NEW_NAMESPACE: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned();
/// `O_CREAT`, and the bit of `O_TMPFILE` that is not `O_DIRECTORY`.
const CREATES: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)).cast_unsigned();
const SOCKET_KIND: u32 = 0xf;
/// `RLIMIT_CORE` on every Linux machine; C libraries give it different types.
pub(crate) const CORE_LIMIT: u32 = 4;
const WHOLE: u32 = u32::MAX;
/// Push a byte into the terminal's input; paste from a console; take the console over.
const TERMINAL_INJECTION: [u32; 3] = [0x5412, 0x541c, 0x541d];

const DENY: Verdict = Verdict::Refuse(libc::EPERM);

/// Calls whose arguments decide.
pub(crate) fn guards(choices: Choices) -> Vec<Guard> {
    let mut all = vec![
        creating(libc::SYS_openat, 2, 3),
        no_set_id(libc::SYS_fchmod, 1),
        no_set_id(libc::SYS_fchmodat, 2),
        making_nodes(libc::SYS_mknodat, 2),
        sockets(choices),
        socket_pairs(choices),
        Guard {
            number: libc::SYS_ioctl,
            arms: TERMINAL_INJECTION.iter().map(|command| arm(&[equal(1, *command)], DENY)).collect(),
            otherwise: Verdict::Allow,
        },
        // Legacy clone has no room for the time namespace; its bit there is part of the exit signal.
        Guard {
            number: libc::SYS_clone,
            arms: vec![arm(&[Test::AnyBit { arg: 0, mask: NEW_NAMESPACE }], DENY)],
            otherwise: Verdict::Allow,
        },
        // Gigabytes could be taken in the time between two looks of the watchdog; everybody can write zeros instead.
        Guard { number: libc::SYS_fallocate, arms: Vec::new(), otherwise: Verdict::Refuse(libc::EOPNOTSUPP) },
        core_limit_stays(libc::SYS_prlimit64, 1, &[Test::AnyBit { arg: 2, mask: WHOLE }, Test::AnyHighBit { arg: 2 }]),
        core_limit_stays(libc::SYS_setrlimit, 0, &[]),
        // Asking, and the plain personality; switching off address randomisation is refused.
        equal_only(libc::SYS_personality, &[0, WHOLE], libc::EPERM),
    ];
    let debugging = if choices.debuggers() { Verdict::Allow } else { DENY };
    for number in [libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev] {
        all.push(Guard { number, arms: Vec::new(), otherwise: debugging });
    }
    // Where pinning holds the limit of processor time, nobody leaves the processors.
    let moving = if choices.processors_change() { Verdict::Allow } else { DENY };
    all.push(Guard { number: libc::SYS_sched_setaffinity, arms: Vec::new(), otherwise: moving });
    let unseen = if choices.unseen_memory() { Verdict::Allow } else { Verdict::Refuse(libc::ENOSYS) };
    // Semaphores and queues of the old kind are kernel memory that belongs to no process; the new kind are files.
    for number in [libc::SYS_memfd_create, libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget] {
        all.push(Guard { number, arms: Vec::new(), otherwise: unseen });
    }
    #[cfg(target_arch = "x86_64")]
    all.extend([
        creating(libc::SYS_open, 1, 2),
        no_set_id(libc::SYS_creat, 1),
        no_set_id(libc::SYS_chmod, 1),
        making_nodes(libc::SYS_mknod, 1),
    ]);
    all
}

fn arm(tests: &[Test], verdict: Verdict) -> Arm {
    Arm { tests: tests.to_vec(), verdict }
}

fn equal(arg: u8, value: u32) -> Test {
    Test::Masked { arg, mask: WHOLE, value }
}

/// A file may be created, but not with a set-id bit.
fn creating(number: i64, flags: u8, mode: u8) -> Guard {
    let tests = [Test::AnyBit { arg: flags, mask: CREATES }, Test::AnyBit { arg: mode, mask: SET_ID }];
    Guard { number, arms: vec![arm(&tests, DENY)], otherwise: Verdict::Allow }
}

fn no_set_id(number: i64, mode: u8) -> Guard {
    Guard { number, arms: vec![arm(&[Test::AnyBit { arg: mode, mask: SET_ID }], DENY)], otherwise: Verdict::Allow }
}

/// Setting the limit on cores is pretended: it stays at the one byte that keeps the host's crash handler out. `new` tells
/// whether a limit is set at all; without tests it always is.
fn core_limit_stays(number: i64, resource: u8, new: &[Test]) -> Guard {
    let core = equal(resource, CORE_LIMIT);
    let pretend = Verdict::Refuse(0);
    let arms = match new {
        [] => vec![arm(&[core], pretend)],
        tests => tests.iter().map(|test| arm(&[core, *test], pretend)).collect(),
    };
    Guard { number, arms, otherwise: Verdict::Allow }
}

/// Plain files and named pipes only, and no set-id bit.
fn making_nodes(number: i64, mode: u8) -> Guard {
    let kind = |value| arm(&[Test::Masked { arg: mode, mask: NODE_KIND, value }], Verdict::Allow);
    let arms =
        vec![arm(&[Test::AnyBit { arg: mode, mask: SET_ID }], DENY), kind(0), kind(libc::S_IFREG), kind(libc::S_IFIFO)];
    Guard { number, arms, otherwise: DENY }
}

fn equal_only(number: i64, values: &[u32], errno: i32) -> Guard {
    let arms = values.iter().map(|value| arm(&[equal(0, *value)], Verdict::Allow)).collect();
    Guard { number, arms, otherwise: Verdict::Refuse(errno) }
}

/// Pairs that stay pairs: one end of a datagram pair can be turned to any socket that the host left in the workspace.
fn socket_pairs(choices: Choices) -> Guard {
    let unix = equal(0, libc::AF_UNIX.cast_unsigned());
    let kind = |kind: i32| Test::Masked { arg: 1, mask: SOCKET_KIND, value: kind.cast_unsigned() };
    let other = if choices.unix_sockets() { Verdict::Allow } else { Verdict::Refuse(libc::EACCES) };
    let arms = vec![
        arm(&[unix, kind(libc::SOCK_STREAM)], Verdict::Allow),
        arm(&[unix, kind(libc::SOCK_SEQPACKET)], Verdict::Allow),
        arm(&[unix], other),
    ];
    Guard { number: libc::SYS_socketpair, arms, otherwise: Verdict::Refuse(libc::EAFNOSUPPORT) }
}

/// TCP and UDP, which reach nothing but the sandbox's own loopback; unix sockets could reach a server of the host that left
/// its socket in the workspace, so they exist only as pairs, unless the profile says otherwise.
fn sockets(choices: Choices) -> Guard {
    let unix = if choices.unix_sockets() { Verdict::Allow } else { Verdict::Refuse(libc::EACCES) };
    let mut arms = vec![arm(&[equal(0, libc::AF_UNIX.cast_unsigned())], unix)];
    for domain in [libc::AF_INET, libc::AF_INET6] {
        let domain = equal(0, domain.cast_unsigned());
        let kinds = [(libc::SOCK_STREAM, libc::IPPROTO_TCP), (libc::SOCK_DGRAM, libc::IPPROTO_UDP)];
        for (kind, protocol) in kinds {
            let kind = Test::Masked { arg: 1, mask: SOCKET_KIND, value: kind.cast_unsigned() };
            for number in [0, protocol.cast_unsigned()] {
                arms.push(arm(&[domain, kind, equal(2, number)], Verdict::Allow));
            }
        }
        arms.push(arm(&[domain], Verdict::Refuse(libc::EPROTONOSUPPORT)));
    }
    Guard { number: libc::SYS_socket, arms, otherwise: Verdict::Refuse(libc::EAFNOSUPPORT) }
}
