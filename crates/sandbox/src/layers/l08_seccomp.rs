//! Layer 8: the system-call filter.
//!
//! Three answers. A reviewed call is allowed, some of them only with certain arguments; a call that is dangerous here answers
//! `EPERM`; a number that nobody reviewed answers `ENOSYS`, as on an older kernel, so that programs fall back. The 32-bit entry
//! kills: its numbers mean other calls. The tables with their reasons are in `l08_tables.rs`.

use crate::outcome::Layer;
use crate::sys;

use super::l08_tables::{ALLOWED, Choices, DENIED, Guard, Test, Verdict, guards};
use crate::layer::LayerError;

#[cfg(target_arch = "x86_64")]
pub(crate) const ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
pub(crate) const ARCH: u32 = 0xC000_00B7;

/// The filter as the bytes that the kernel reads, made by the launcher while the inner stage starts.
pub(crate) fn program(choices: Choices) -> Result<Vec<u8>, LayerError> {
    let steps = assemble(choices).ok_or_else(|| failure(libc::E2BIG, "assemble the filter"))?;
    Ok(steps.iter().flat_map(step_bytes).collect())
}

/// The strict filter in the form that the kernel reads and that `bwrap --seccomp` takes, for comparisons.
///
/// # Errors
/// If the tables do not fit a filter.
pub fn strict_filter() -> std::io::Result<Vec<u8>> {
    program(Choices::STRICT).map_err(|failure| std::io::Error::from_raw_os_error(failure.errno))
}

/// Installs the filter on this process for good.
pub(crate) fn apply(program: &[u8]) -> Result<(), LayerError> {
    let (steps, rest) = program.as_chunks();
    if steps.is_empty() || !rest.is_empty() {
        return Err(failure(libc::EINVAL, "read the filter"));
    }
    let steps: Vec<libc::sock_filter> = steps.iter().map(step_of).collect();
    sys::seccomp_install(&steps).map_err(|error| failure(error.raw_os_error().unwrap_or(0), "install the filter"))
}

fn failure(errno: i32, what: &str) -> LayerError {
    LayerError::new(Layer::Seccomp, errno, what.to_owned())
}

/// Both supported machines are little-endian.
fn step_bytes(step: &libc::sock_filter) -> [u8; 8] {
    let ([c0, c1], [k0, k1, k2, k3]) = (step.code.to_le_bytes(), step.k.to_le_bytes());
    [c0, c1, step.jt, step.jf, k0, k1, k2, k3]
}

fn step_of([c0, c1, jt, jf, k0, k1, k2, k3]: &[u8; 8]) -> libc::sock_filter {
    let (code, k) = (u16::from_le_bytes([*c0, *c1]), u32::from_le_bytes([*k0, *k1, *k2, *k3]));
    libc::sock_filter { code, jt: *jt, jf: *jf, k }
}

/// Whether the kernel has what the filter needs.
pub(crate) fn probe() -> std::io::Result<()> {
    sys::seccomp_has_action(libc::SECCOMP_RET_KILL_PROCESS)?;
    sys::seccomp_has_action(libc::SECCOMP_RET_ERRNO)
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const GO: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCH: u32 = 4;
const HIGH_HALF: u32 = 4;

/// The offset of the low half of an argument; both supported machines are little-endian.
fn offset_argument(arg: u8) -> u32 {
    16 + 8 * u32::from(arg)
}

fn instruction(code: u16, value: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: 0, k: value }
}

fn jump(code: u16, value: u32, yes: u8, no: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: yes, jf: no, k: value }
}

fn answer(verdict: Verdict) -> libc::sock_filter {
    match verdict {
        Verdict::Allow => instruction(RETURN, libc::SECCOMP_RET_ALLOW),
        Verdict::Refuse(errno) => {
            let errno = errno.cast_unsigned() & libc::SECCOMP_RET_DATA;
            instruction(RETURN, libc::SECCOMP_RET_ERRNO | errno)
        }
    }
}

/// The whole program; `None` if a jump would be too long.
///
/// The numbers are searched by halves: the kernel translates the program and asks it about every number when it is installed,
/// so a short one with few steps per question is what makes a short run cheap.
fn assemble(choices: Choices) -> Option<Vec<libc::sock_filter>> {
    let mut program = vec![
        instruction(LOAD, OFFSET_ARCH),
        jump(EQUAL, ARCH, 1, 0),
        instruction(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(LOAD, OFFSET_NUMBER),
    ];
    let guards = guards(choices);
    program.extend(search(&ranges(&guards)?, &guards)?);
    Some(program)
}

/// What a number leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    To(Verdict),
    /// The guard at this place of the list.
    ToGuard(usize),
}

/// Numbers from `first` up to the next range's first.
#[derive(Debug, Clone, Copy)]
struct Range {
    first: u32,
    leads: Leads,
}

/// What nobody reviewed does not exist; the x32 entry, above all other numbers, is part of that.
const UNKNOWN: Leads = Leads::To(Verdict::Refuse(libc::ENOSYS));

/// All numbers in order, neighbours with the same answer joined.
fn ranges(guards: &[Guard]) -> Option<Vec<Range>> {
    let mut calls: Vec<(i64, Leads)> = Vec::new();
    for (groups, verdict) in [(ALLOWED, Verdict::Allow), (DENIED, Verdict::Refuse(libc::EPERM))] {
        calls.extend(groups.iter().flat_map(|group| group.calls).map(|call| (*call, Leads::To(verdict))));
    }
    for (place, guard) in guards.iter().enumerate() {
        let leads = if guard.arms.is_empty() { Leads::To(guard.otherwise) } else { Leads::ToGuard(place) };
        calls.push((guard.number, leads));
    }
    calls.sort_unstable_by_key(|(call, _)| *call);
    let mut ranges = vec![Range { first: 0, leads: UNKNOWN }];
    let mut next = 0;
    for (call, leads) in calls {
        let call = number(call)?;
        if call > next {
            join(&mut ranges, Range { first: next, leads: UNKNOWN });
        }
        join(&mut ranges, Range { first: call, leads });
        next = call + 1;
    }
    join(&mut ranges, Range { first: next, leads: UNKNOWN });
    Some(ranges)
}

fn join(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.first == range.first => *last = range,
        Some(last) if last.leads == range.leads => {}
        Some(_) | None => ranges.push(range),
    }
}

/// The steps that find a number among the ranges.
fn search(ranges: &[Range], guards: &[Guard]) -> Option<Vec<libc::sock_filter>> {
    if let [only] = ranges {
        return match only.leads {
            Leads::To(verdict) => Some(vec![answer(verdict)]),
            Leads::ToGuard(place) => guard_body(guards.get(place)?),
        };
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let first = high.first()?.first;
    let (low, high) = (search(low, guards)?, search(high, guards)?);
    let mut steps = match u8::try_from(low.len()) {
        Ok(near) => vec![jump(AT_LEAST, first, near, 0)],
        Err(_) => vec![jump(AT_LEAST, first, 0, 1), instruction(GO, u32::try_from(low.len()).ok()?)],
    };
    steps.extend(low);
    steps.extend(high);
    Some(steps)
}

fn guard_body(guard: &Guard) -> Option<Vec<libc::sock_filter>> {
    let mut body = Vec::new();
    for arm in &guard.arms {
        // Each failed test jumps behind this arm's verdict.
        let mut length: usize = arm.tests.iter().map(test_length).sum::<usize>() + 1;
        for test in &arm.tests {
            length -= test_length(test);
            let skip = u8::try_from(length).ok()?;
            match *test {
                Test::AnyBit { arg, mask } => {
                    body.push(instruction(LOAD, offset_argument(arg)));
                    body.push(jump(ANY_BIT, mask, 0, skip));
                }
                Test::AnyHighBit { arg } => {
                    body.push(instruction(LOAD, offset_argument(arg) + HIGH_HALF));
                    body.push(jump(ANY_BIT, u32::MAX, 0, skip));
                }
                Test::Masked { arg, mask, value } => {
                    body.push(instruction(LOAD, offset_argument(arg)));
                    body.push(instruction(AND, mask));
                    body.push(jump(EQUAL, value, 0, skip));
                }
            }
        }
        body.push(answer(arm.verdict));
    }
    body.push(answer(guard.otherwise));
    Some(body)
}

fn test_length(test: &Test) -> usize {
    match test {
        Test::AnyBit { .. } | Test::AnyHighBit { .. } => 2,
        Test::Masked { .. } => 3,
    }
}

fn number(call: i64) -> Option<u32> {
    u32::try_from(call).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program on one call, as the kernel would.
    fn ask(program: &[libc::sock_filter], arch: u32, number: u32, args: [u64; 6]) -> u32 {
        let (mut at, mut acc) = (0_usize, 0_u32);
        loop {
            let step = program[at];
            at += 1;
            match step.code {
                LOAD => {
                    acc = match step.k {
                        OFFSET_NUMBER => number,
                        OFFSET_ARCH => arch,
                        offset if offset % 8 == HIGH_HALF => (args[(offset as usize - 16) / 8] >> 32) as u32,
                        offset => args[(offset as usize - 16) / 8] as u32,
                    }
                }
                AND => acc &= step.k,
                EQUAL => at += usize::from(if acc == step.k { step.jt } else { step.jf }),
                AT_LEAST => at += usize::from(if acc >= step.k { step.jt } else { step.jf }),
                GO => at += step.k as usize,
                ANY_BIT => at += usize::from(if acc & step.k != 0 { step.jt } else { step.jf }),
                RETURN => return step.k,
                other => panic!("unknown instruction {other}"),
            }
        }
    }

    fn verdict(choices: Choices, call: i64, args: [u64; 6]) -> u32 {
        ask(&assemble(choices).expect("assembles"), ARCH, call as u32, args)
    }

    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
    /// x86-64 numbers with this bit are the x32 entry: other structures, unreviewed.
    #[cfg(target_arch = "x86_64")]
    const X32_BIT: u32 = 0x4000_0000;

    fn refused(errno: i32) -> u32 {
        libc::SECCOMP_RET_ERRNO | errno as u32
    }

    #[test]
    fn box_1_ordinary_calls_pass_and_unknown_numbers_do_not_exist() {
        for call in [libc::SYS_read, libc::SYS_write, libc::SYS_futex, libc::SYS_execve, libc::SYS_exit_group] {
            assert_eq!(verdict(Choices::STRICT, call, [0; 6]), ALLOW, "{call}");
        }
        for call in [libc::SYS_clone3, libc::SYS_openat2, 461, 467, 999] {
            assert_eq!(verdict(Choices::STRICT, call, [0; 6]), refused(libc::ENOSYS), "{call}");
        }
    }

    #[test]
    fn box_1_dangerous_calls_are_refused() {
        let calls =
            [libc::SYS_mount, libc::SYS_bpf, libc::SYS_ptrace, libc::SYS_setns, libc::SYS_unshare, libc::SYS_keyctl];
        for call in calls {
            assert_eq!(verdict(Choices::STRICT, call, [0; 6]), refused(libc::EPERM), "{call}");
        }
    }

    #[test]
    fn box_1_set_id_bits_are_refused_by_chmod_and_at_creation_and_plain_modes_pass() {
        let create = (libc::O_CREAT | libc::O_WRONLY) as u64;
        for (mode, want) in
            [(0o4755, refused(libc::EPERM)), (0o2755, refused(libc::EPERM)), (0o755, ALLOW), (0o1777, ALLOW)]
        {
            assert_eq!(verdict(Choices::STRICT, libc::SYS_fchmodat, [0, 0, mode, 0, 0, 0]), want, "{mode:o}");
            assert_eq!(verdict(Choices::STRICT, libc::SYS_openat, [0, 0, create, mode, 0, 0]), want, "{mode:o}");
        }
        // Without O_CREAT the mode argument is whatever was in the register.
        assert_eq!(verdict(Choices::STRICT, libc::SYS_openat, [0, 0, 0, 0o4755, 0, 0]), ALLOW);
        let unnamed = (libc::O_TMPFILE | libc::O_WRONLY) as u64;
        assert_eq!(verdict(Choices::STRICT, libc::SYS_openat, [0, 0, unnamed, 0o4700, 0, 0]), refused(libc::EPERM));
    }

    #[test]
    fn box_1_sockets_are_tcp_udp_and_unix_pairs_only() {
        let socket = |domain: i32, kind: i32, protocol: i32| {
            verdict(Choices::STRICT, libc::SYS_socket, [domain as u64, kind as u64, protocol as u64, 0, 0, 0])
        };
        assert_eq!(socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0), ALLOW);
        assert_eq!(socket(libc::AF_INET6, libc::SOCK_DGRAM, libc::IPPROTO_UDP), ALLOW);
        assert_ne!(socket(libc::AF_INET, libc::SOCK_RAW, 1), ALLOW);
        assert_ne!(socket(libc::AF_INET, libc::SOCK_DGRAM, 1), ALLOW);
        for domain in [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_VSOCK, libc::AF_ALG, libc::AF_PACKET] {
            assert_ne!(socket(domain, libc::SOCK_STREAM, 0), ALLOW, "{domain}");
        }
        let pair = |choices, kind: i32| verdict(choices, libc::SYS_socketpair, [1, kind as u64, 0, 0, 0, 0]);
        assert_eq!(pair(Choices::STRICT, libc::SOCK_STREAM | libc::SOCK_NONBLOCK), ALLOW);
        assert_eq!(pair(Choices::STRICT, libc::SOCK_SEQPACKET), ALLOW);
        // The kernel takes a raw pair for a datagram pair.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC] {
            assert_eq!(pair(Choices::STRICT, kind), refused(libc::EACCES));
            assert_eq!(pair(Choices::STRICT.with_compat(), kind), ALLOW);
        }
        assert_eq!(verdict(Choices::STRICT.with_compat(), libc::SYS_socket, [1, 1, 0, 0, 0, 0]), ALLOW);
    }

    #[test]
    fn box_1_tiocsti_is_refused_with_dirty_high_bits_too() {
        for command in [0x5412_u64, 0x1_0000_5412, 0xffff_ffff_0000_5412] {
            assert_eq!(verdict(Choices::STRICT, libc::SYS_ioctl, [0, command, 0, 0, 0, 0]), refused(libc::EPERM));
        }
        assert_eq!(verdict(Choices::STRICT, libc::SYS_ioctl, [0, 0x5401, 0, 0, 0, 0]), ALLOW);
    }

    #[test]
    fn box_1_threads_may_be_made_and_namespaces_may_not() {
        let thread = (libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND) as u64;
        assert_eq!(verdict(Choices::STRICT, libc::SYS_clone, [thread, 0, 0, 0, 0, 0]), ALLOW);
        for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET, libc::CLONE_NEWPID] {
            assert_eq!(verdict(Choices::STRICT, libc::SYS_clone, [flag as u64, 0, 0, 0, 0, 0]), refused(libc::EPERM));
        }
    }

    #[test]
    fn box_1_another_machine_entry_kills_and_x32_does_not_exist() {
        let program = assemble(Choices::STRICT).expect("assembles");
        assert_eq!(ask(&program, 0x4000_0003, 1, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(ask(&program, ARCH, X32_BIT + 39, [0; 6]), refused(libc::ENOSYS));
    }

    #[test]
    fn box_1_the_core_limit_is_read_but_never_set_and_other_limits_are() {
        let (core, files) = (u64::from(super::super::l08_tables::CORE_LIMIT), 7);
        let ask = |resource: u64, new: u64| verdict(Choices::STRICT, libc::SYS_prlimit64, [0, resource, new, 0, 0, 0]);
        assert_eq!((ask(core, 0), ask(files, 0x7fff_0000)), (ALLOW, ALLOW));
        // Pretended, not refused: a script that forbids cores for itself gets what it wants.
        for pointer in [0x7fff_1234_5678, 0x1000, 0x7f00_0000_0000] {
            assert_eq!(ask(core, pointer), refused(0), "{pointer:x}");
        }
    }

    #[test]
    fn box_4_room_for_a_file_cannot_be_taken_without_writing_it() {
        assert_eq!(verdict(Choices::STRICT, libc::SYS_fallocate, [0; 6]), refused(libc::EOPNOTSUPP));
        assert_eq!(verdict(Choices::STRICT, libc::SYS_ftruncate, [0; 6]), ALLOW);
    }

    #[test]
    fn box_4_unseen_memory_is_refused_where_nothing_counts_it() {
        let sampled = Choices::STRICT.without_unseen_memory();
        for call in [libc::SYS_memfd_create, libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget] {
            assert_eq!(verdict(sampled, call, [0; 6]), refused(libc::ENOSYS));
            assert_eq!(verdict(Choices::STRICT, call, [0; 6]), ALLOW);
        }
    }

    #[test]
    fn box_1_every_listed_number_gets_its_own_answer_and_every_other_does_not_exist() {
        let guarded: Vec<i64> = guards(Choices::STRICT).iter().map(|guard| guard.number).collect();
        let listed = |groups: &[super::super::l08_tables::CallGroup], call: i64| {
            groups.iter().any(|group| group.calls.contains(&call))
        };
        let program = assemble(Choices::STRICT).expect("assembles");
        assert!(program.len() < 500, "{} steps", program.len());
        for call in (0..1_200).filter(|call| !guarded.contains(call)) {
            let want = match (listed(ALLOWED, call), listed(DENIED, call)) {
                (true, _) => ALLOW,
                (false, true) => refused(libc::EPERM),
                (false, false) => refused(libc::ENOSYS),
            };
            assert_eq!(ask(&program, ARCH, call as u32, [0; 6]), want, "{call}");
        }
    }

    #[test]
    fn the_filter_survives_the_way_to_the_inner_stage() {
        let steps = assemble(Choices::STRICT).expect("assembles");
        let bytes = strict_filter().expect("a program");
        let back: Vec<_> = bytes.as_chunks().0.iter().map(step_of).collect();
        let plain = |step: &libc::sock_filter| (step.code, step.jt, step.jf, step.k);
        assert!(steps.iter().map(plain).eq(back.iter().map(plain)));
        assert!(
            apply(&bytes[1..]).is_err() && apply(&[]).is_err(),
            "a damaged filter is refused before the kernel sees it"
        );
    }

    #[test]
    fn every_group_says_why() {
        assert!(ALLOWED.iter().chain(DENIED).all(|group| group.why.len() > 20));
    }

    #[test]
    fn no_number_has_two_answers() {
        let mut seen = std::collections::BTreeSet::new();
        let listed = ALLOWED.iter().chain(DENIED).flat_map(|group| group.calls.iter().copied());
        for call in listed.chain(guards(Choices::STRICT).iter().map(|guard| guard.number)) {
            assert!(seen.insert(call), "{call} is listed twice");
        }
    }
}
