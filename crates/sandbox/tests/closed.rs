//! Fail closed: each layer is made to fail by a filter that answers `ENOSYS`, and then nothing may run and the layer must be
//! named; as root and as an ordinary user. A main of its own, because this binary is its own inner stage.
#![expect(clippy::expect_used, clippy::panic, reason = "a broken premise must end the test")]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if let Some(code) = tripwire_sandbox::inner_main() {
        return std::process::ExitCode::from(code);
    }
    linux::main();
    std::process::ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::process::CommandExt as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use tripwire_sandbox::{Layer, LayerState, Outcome, Profile, Sandbox, StageDir};

    /// A uid without an account.
    const SPARE_UID: u32 = 61_235;

    /// What is refused, and which layer must be named for it.
    fn cases() -> Vec<(&'static str, Vec<i64>, Layer)> {
        vec![
            ("new namespaces", vec![libc::SYS_clone, libc::SYS_clone3], Layer::Namespaces),
            ("a handle on the process", vec![libc::SYS_pidfd_open], Layer::Namespaces),
            ("the second start", vec![libc::SYS_execveat], Layer::Reexec),
            ("closing descriptors", vec![libc::SYS_close_range], Layer::Reexec),
            ("finding paths without links", vec![libc::SYS_openat2], Layer::Rootfs),
            ("cloning mounts", vec![libc::SYS_open_tree], Layer::Rootfs),
            ("moving mounts", vec![libc::SYS_move_mount], Layer::Rootfs),
            ("read-only mounts", vec![libc::SYS_mount_setattr], Layer::Rootfs),
            ("mounting", vec![libc::SYS_mount], Layer::Rootfs),
            ("changing the root", vec![libc::SYS_pivot_root], Layer::Rootfs),
            ("letting go of the old root", vec![libc::SYS_umount2], Layer::Rootfs),
            ("the host name", vec![libc::SYS_sethostname], Layer::Namespaces),
            ("limits", vec![libc::SYS_prlimit64], Layer::Limits),
            ("dropping capabilities", vec![libc::SYS_capset], Layer::Reexec),
            ("asking for Landlock", vec![libc::SYS_landlock_create_ruleset], Layer::Landlock),
            ("Landlock rules", vec![libc::SYS_landlock_add_rule], Layer::Landlock),
            ("confining by Landlock", vec![libc::SYS_landlock_restrict_self], Layer::Landlock),
            ("the filter", vec![libc::SYS_seccomp], Layer::Seccomp),
        ]
    }

    pub(super) fn main() {
        let args: Vec<String> = std::env::args().collect();
        if let Some(at) = args.iter().position(|arg| arg == "--child") {
            return child(&args[at + 1..]);
        }
        if args.iter().any(|arg| arg == "--list") {
            return;
        }
        let root = is_root();
        if !root {
            say("NOT RUN AS ROOT: started by an ordinary user, so root's half is not measured");
        }
        // Copied before anything else is started: a program that is open for writing in any process cannot be executed.
        let folder = std::env::temp_dir().join(format!("tw-closed-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let exe = folder.join("exe");
        fs::copy("/proc/self/exe", &exe).expect("copy this binary");
        std::thread::scope(|scope| {
            for who in if root { vec!["root", "user"] } else { vec!["user"] } {
                let bed = Bed { who, exe: exe.clone(), top: folder.with_extension(who) };
                scope.spawn(move || all_fail_closed(&bed));
            }
        });
        fs::remove_dir_all(&folder).expect("clean");
    }

    /// Who runs the child, which program that is, and the folder of its workspace.
    struct Bed {
        who: &'static str,
        exe: PathBuf,
        top: PathBuf,
    }

    fn all_fail_closed(bed: &Bed) {
        let who = bed.who;
        nothing_fails_without_a_cause(bed);
        for (name, calls, layer) in cases() {
            let answer = run(bed, "strict", &calls);
            assert!(answer.starts_with(&format!("not run: {}", layer.name())), "{who}: {name}: {answer}");
        }
        let relaxed = run(bed, "compat", &[libc::SYS_landlock_create_ruleset]);
        assert!(relaxed.starts_with("ran: compat landlock=relaxed"), "{who}: {relaxed}");
        let copied = run(bed, "stage", &[libc::SYS_fsopen]);
        assert!(copied.starts_with("ran: strict stage=replaced"), "{who}: {copied}");
        say(&format!("fail closed as {who}: {} layers made to fail, each refused by name", cases().len()));
    }

    /// Without a filter the same child runs: the refusals are the filter's doing.
    fn nothing_fails_without_a_cause(bed: &Bed) {
        let who = bed.who;
        let answer = run(bed, "strict", &[]);
        assert!(answer.starts_with("ran: strict"), "{who}: {answer}");
        let staged = run(bed, "stage", &[]);
        assert!(staged.starts_with("ran: strict stage=on"), "{who}: {staged}");
    }

    fn say(text: &str) {
        std::io::stderr().lock().write_all(format!("{text}\n").as_bytes()).expect("stderr");
    }

    fn is_root() -> bool {
        // SAFETY: the call has no preconditions.
        unsafe { libc::geteuid() == 0 }
    }

    /// Starts this binary as the given user, with the calls refused, in a workspace of its own.
    fn run(Bed { who, exe, top }: &Bed, mode: &str, calls: &[i64]) -> String {
        fs::create_dir_all(top.join("ws")).expect("a workspace");
        let mut command = Command::new(exe);
        command.args(["--child", mode]).arg(top).args(calls.iter().map(i64::to_string)).env("XDG_RUNTIME_DIR", top);
        if *who == "user" && is_root() {
            let owner = format!("{SPARE_UID}:{SPARE_UID}");
            let owned = Command::new("chown").args(["-R", &owner]).arg(top).status().expect("chown");
            assert!(owned.success());
            command.uid(SPARE_UID).gid(SPARE_UID);
        }
        let output = command.output().expect("the child");
        assert!(!top.join("ws/ran").exists() || mode != "strict" || calls.is_empty(), "the command ran after all");
        drop(Command::new("chmod").args(["-R", "u+rwx"]).arg(top).status());
        fs::remove_dir_all(top).expect("clean");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.is_empty() { format!("{:?} {}", output.status, String::from_utf8_lossy(&output.stderr)) } else { text }
    }

    fn child(args: &[String]) {
        let [mode, top, calls @ ..] = args else { panic!("usage") };
        let top = Path::new(top);
        let calls: Vec<i64> = calls.iter().map(|call| call.parse().expect("a number")).collect();
        let mut spec = Sandbox::new(&top.join("ws"), ["touch", "ran"]).expect("a spec");
        match mode.as_str() {
            "compat" => spec = spec.profile(Profile::Compat),
            "stage" => spec = spec.stage(StageDir(top.join("stage"))),
            _ => {}
        }
        refuse(&calls);
        let text = match spec.run() {
            Outcome::NotRun(refused) => {
                format!("not run: {} {}", refused.layer.name(), refused.cause)
            }
            Outcome::Ran(report) => {
                let word = |layer: Layer| match report.layers.get(layer) {
                    Some(LayerState::On(_)) => "on",
                    Some(LayerState::Relaxed(_)) => "relaxed",
                    Some(LayerState::Replaced(_)) => "replaced",
                    Some(LayerState::Missing(_)) => "missing",
                    Some(LayerState::Off) | None => "off",
                };
                let layer = if mode == "stage" { Layer::Stage } else { Layer::Landlock };
                format!("ran: {} {}={}", report.profile.name(), layer.name(), word(layer))
            }
        };
        std::io::stdout().lock().write_all(text.as_bytes()).expect("stdout");
    }

    /// From now on these calls answer `ENOSYS` here and in every child. `clone` and `clone3` are refused only with a
    /// namespace flag, or this process could not start anything at all; `clone3` hides its flags, so it goes altogether.
    fn refuse(calls: &[i64]) {
        if calls.is_empty() {
            return;
        }
        let step = |code: u32, yes: u8, no: u8, value: u32| libc::sock_filter {
            code: u16::try_from(code).expect("a code"),
            jt: yes,
            jf: no,
            k: value,
        };
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let (equal, any) = (libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_JMP | libc::BPF_JSET);
        let refusal = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
        let mut program = vec![step(load, 0, 0, 0)];
        for call in calls {
            let number = u32::try_from(*call).expect("a number");
            if *call == libc::SYS_clone {
                program.push(step(equal, 0, 4, number));
                program.push(step(load, 0, 0, 16));
                program.push(step(any, 0, 1, libc::CLONE_NEWUSER.cast_unsigned()));
                program.push(step(libc::BPF_RET, 0, 0, refusal));
                program.push(step(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ALLOW));
            } else {
                program.push(step(equal, 0, 1, number));
                program.push(step(libc::BPF_RET, 0, 0, refusal));
            }
        }
        program.push(step(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ALLOW));
        let filter =
            libc::sock_fprog { len: u16::try_from(program.len()).expect("short"), filter: program.as_mut_ptr() };
        // SAFETY: the call takes numbers only.
        let privileges = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        // SAFETY: the program lives across the call, which copies it.
        let installed =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const filter) };
        assert_eq!((privileges, installed), (0, 0), "{}", std::io::Error::last_os_error());
    }
}
