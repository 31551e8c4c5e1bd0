//! A program that can start no other: for trusted programs that read what an agent wrote.
//!
//! git runs whatever a repository's configuration names (filters, monitors, helpers), and an agent can write that
//! configuration between any look at it and its use. So nothing is looked for: the program's process may have threads,
//! and the kernel refuses it every child.

use crate::layers::l08_seccomp::ARCH;
use crate::sys;
use std::process::Command;

/// Makes a command that runs without ever being able to start another program. A kernel that cannot refuse children
/// does not start the command at all.
pub fn childless(command: &mut Command) {
    let filter = filter();
    sys::before_exec(command, move || {
        // Nobody waits for its answer any more when the thread that asked is gone.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        rustix::thread::set_no_new_privs(true)?;
        sys::seccomp_install(&filter)
    });
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// Where the kernel puts the number of a call, its machine, and the low half of its first argument.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
/// From here on, a 64-bit machine counts the calls of another way in, which no program of ours takes.
const X32_FIRST: u32 = 0x4000_0000;

/// Every call passes but those that make a process: `fork`, `vfork`, and `clone` unless it makes a thread. `clone3` hides
/// its flags from any filter and is answered as by a kernel without it, so that the C library makes threads with `clone`.
fn filter() -> Vec<libc::sock_filter> {
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let refuse = |errno: i32| step(RETURN, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned(), 0, 0);
    let mut steps = vec![
        step(LOAD, MACHINE, 0, 0),
        step(EQUAL, ARCH, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0),
        step(LOAD, NUMBER, 0, 0),
        step(AT_LEAST, X32_FIRST, 0, 1),
        refuse(libc::ENOSYS),
    ];
    for (number, errno) in MAKES_A_PROCESS {
        steps.extend([step(EQUAL, number, 0, 1), refuse(errno)]);
    }
    steps.extend([
        step(EQUAL, number(libc::SYS_clone), 1, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(LOAD, FIRST_ARGUMENT, 0, 0),
        step(ANY_BIT, libc::CLONE_THREAD.cast_unsigned(), 0, 1),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        refuse(libc::EPERM),
    ]);
    steps
}

#[cfg(target_arch = "x86_64")]
const MAKES_A_PROCESS: [(u32, i32); 3] = [
    (number(libc::SYS_clone3), libc::ENOSYS),
    (number(libc::SYS_fork), libc::EPERM),
    (number(libc::SYS_vfork), libc::EPERM),
];
#[cfg(not(target_arch = "x86_64"))]
const MAKES_A_PROCESS: [(u32, i32); 1] = [(number(libc::SYS_clone3), libc::ENOSYS)];

/// The kernel's numbers are below 1,000 on both machines.
const fn number(call: libc::c_long) -> u32 {
    call as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn said(mut command: Command) -> String {
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_childless_program_works_and_starts_no_other() {
        let confined = |script: &str| {
            let mut command = shell(script);
            childless(&mut command);
            said(command)
        };
        assert_eq!(confined("echo one"), "one\n");
        for script in ["/bin/echo two; true", "(echo two); true", "echo $(echo two)", "echo two | cat; true"] {
            assert_eq!(said(shell(script)), "two\n", "{script}");
            assert!(!confined(script).contains("two"), "{script}");
        }
    }

    #[test]
    fn threads_still_work() {
        // Any caller gets a thread: the filter looks at the flag and not at the name of the call. The name in `PATH`
        // may be a script that starts programs to find its python.
        let mut python = Command::new("/usr/bin/python3");
        python
            .args(["-c", "import threading; t=threading.Thread(target=lambda: print('thread')); t.start(); t.join()"]);
        childless(&mut python);
        if let Ok(output) = python.output() {
            assert_eq!(String::from_utf8_lossy(&output.stdout), "thread\n");
        }
    }
}
