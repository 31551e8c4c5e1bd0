//! `shell` in the real sandbox: errors word for word, deadlines that hold, nothing without its layers.
//!
//! A main of its own, because this binary is its own inner stage.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test without the usual harness says itself what it does, and a broken premise must end it"
)]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if let Some(code) = tripwire_sandbox::inner_main() {
        return std::process::ExitCode::from(code);
    }
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use serde_json::{Value, json};
    use std::path::PathBuf;
    use std::process::ExitCode;
    use std::time::{Duration, Instant};
    use tripwire_agent::tools::{Limits, Ran, Registry, World, decode, run};
    use tripwire_core::chain::Chain;
    use tripwire_core::chain::event::{AgentEvent, ErrorClass, Flag, Status, TestResult};
    use tripwire_core::chain::feedback::ExecutionStatus;
    use tripwire_core::input::{Authority, Grant, Input, Permission, Request, What};
    use tripwire_core::label::Label;
    use tripwire_core::policy::Policy;
    use tripwire_core::run::record::Call;
    use tripwire_core::units::RunMillis;
    use tripwire_observe::Observer;
    use tripwire_secrets::Redactor;
    use tripwire_session::execution::sandboxed::{Confinement, Interrupt, SandboxedExecutor, Writes};
    use tripwire_session::files::Files;
    use tripwire_session::memory::MemoryStore;
    use tripwire_session::staging::Staging;

    /// More than a loaded machine needs to end a command, and less than any command here would take by itself.
    const SLACK: Duration = Duration::from_secs(10);

    type Test = fn();

    const TESTS: [(&str, Test); 12] = [
        ("run_2_a_failing_command_is_told_word_for_word", a_failing_command_is_told_word_for_word),
        ("run_2_a_working_command_is_no_error", a_working_command_is_no_error),
        ("box_1_files_outside_and_the_guard_are_out_of_reach", files_outside_and_the_guard_are_out_of_reach),
        ("tool_1_paths_are_relative_and_the_bytes_are_kept", paths_are_relative_and_the_bytes_are_kept),
        ("tool_1_long_output_is_cut_and_kept_whole", long_output_is_cut_and_kept_whole),
        ("term_1_a_hanging_command_is_cut", a_hanging_command_is_cut),
        ("term_1_a_hanging_sandbox_start_is_cut", a_hanging_sandbox_start_is_cut),
        ("ctrl_1_a_running_command_can_be_interrupted", a_running_command_can_be_interrupted),
        ("box_2_a_missing_layer_means_that_nothing_ran", a_missing_layer_means_that_nothing_ran),
        ("perm_1_a_role_that_may_only_read_cannot_write", a_role_that_may_only_read_cannot_write),
        ("review_1_staged_commands_and_tools_see_one_tree", staged_commands_and_tools_see_one_tree),
        ("run_1_the_same_command_gives_the_same_bytes", the_same_command_gives_the_same_bytes),
    ];

    pub(super) fn main() -> ExitCode {
        let words: Vec<String> = std::env::args().skip(1).collect();
        if words.iter().any(|word| word == "--list") {
            TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
            return ExitCode::SUCCESS;
        }
        let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
        let mut failed = 0_u32;
        for (name, test) in TESTS {
            if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter.as_str())) {
                continue;
            }
            let begun = Instant::now();
            let passed = std::panic::catch_unwind(test).is_ok();
            println!("test {name} ... {} ({} ms)", if passed { "ok" } else { "FAILED" }, begun.elapsed().as_millis());
            failed += u32::from(!passed);
        }
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    struct Bed {
        top: tempfile::TempDir,
        root: PathBuf,
        files: Files,
        memory: MemoryStore,
        registry: Registry,
        executor: SandboxedExecutor,
        limits: Limits,
    }

    fn bed() -> Bed {
        confined(|_| {})
    }

    fn confined(change: impl FnOnce(&mut Confinement)) -> Bed {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(root.join(".geometry")).unwrap();
        let mut confinement = Confinement::of(root.clone());
        confinement.budgets = tripwire_session::execution::sandboxed::budgets(&Policy::default());
        change(&mut confinement);
        Bed {
            files: Files::of(&root, &root.join(".geometry")).unwrap(),
            memory: MemoryStore::at(&root.join(".geometry/memory")),
            registry: Registry::new().unwrap(),
            executor: SandboxedExecutor::new(confinement),
            limits: Limits::of(&Policy::default()),
            root,
            top,
        }
    }

    impl Bed {
        fn run(&mut self, tool: &str, arguments: &Value) -> (Ran, AgentEvent) {
            let call = Call { id: "1".into(), tool: tool.into(), arguments: arguments.to_string().into() };
            let decoded = decode(&call, self.registry.entries()).unwrap();
            let authority = Authority {
                grant: Grant::Granted,
                identity: None,
                permission: Permission::CanExecuteTasks,
                role: Label::cut("developer"),
            };
            let action = decoded.action(&self.files);
            let request = Request {
                action,
                authority: Some(authority),
                floor: None,
                proposal: None,
                reserve_micro_usd: None,
                agent_id: None,
                starts_agent: None,
                running: None,
            };
            let input = Input { at: RunMillis::ZERO, what: What::Request(request) };
            let permit = Chain::new(Policy::default()).unwrap().step(&input).permit.unwrap();
            let mut world = World::new(&self.files, &self.memory, &mut self.executor, self.limits);
            let ran = run(permit, &decoded, &mut world);
            let event = ran.event(&decoded, &self.files, &mut Observer::default(), &Redactor::default());
            (ran, event)
        }

        fn shell(&mut self, command: &str) -> (Ran, Value) {
            let (ran, _) = self.run("shell", &json!({"command": command}));
            let value = serde_json::from_str(&ran.text).unwrap_or_else(|_| panic!("{}", ran.text));
            (ran, value)
        }
    }

    fn a_failing_command_is_told_word_for_word() {
        let mut bed = bed();
        let (ran, told) = bed.shell("echo partly; echo 'error: no such thing \"x\"' >&2; exit 3");
        assert!(ran.is_error);
        assert_eq!(
            (&told["exit_code"], &told["end"], &told["timed_out"]),
            (&json!(3), &json!("exited"), &json!(false))
        );
        assert_eq!(told["stdout"], "partly\n");
        assert_eq!(told["stderr"], "error: no such thing \"x\"\n");
        let (ran, event) = bed.run("shell", &json!({"command": "echo boom >&2; exit 3"}));
        let outcome = event.outcome.unwrap();
        assert_eq!((outcome.status, outcome.exit_code), (Status::Error, Some(3)));
        assert_eq!(outcome.error_class, Some(ErrorClass::NonZeroExit));
        assert_eq!(ran.result.status, ExecutionStatus::Success, "it ran; failing is the agent's business");
        let (_, killed) = bed.shell("kill -9 $$");
        assert_eq!((&killed["end"], &killed["notes"]), (&json!("signaled"), &json!(["ended by signal 9"])));
    }

    fn a_working_command_is_no_error() {
        let mut bed = bed();
        let (ran, told) = bed.shell("pwd > where; echo \"$HOME $TZ $TERM\"; cat; echo end");
        assert!(!ran.is_error, "{told}");
        assert_eq!((&told["exit_code"], &told["stdout"]), (&json!(0), &json!("/home/agent UTC dumb\nend\n")));
        let (ran, _) = bed.run(
            "shell",
            &json!({
                "command": "printf '#!/bin/sh\necho 3 passed\n' > run_tests.sh && chmod +x run_tests.sh",
            }),
        );
        assert!(!ran.is_error, "{}", ran.text);
        let (_, event) = bed.run("shell", &json!({"command": "./run_tests.sh"}));
        assert!(event.flags.has(Flag::Test), "{event:?}");
        assert_eq!(event.outcome.unwrap().test, Some(TestResult::Passed));
        let (_, event) = bed.run("shell", &json!({"command": "grep -r nothing_like_it where"}));
        assert_eq!(event.outcome.unwrap().status, Status::Ok, "no match is an answer");
    }

    fn files_outside_and_the_guard_are_out_of_reach() {
        let mut bed = bed();
        let outside = bed.top.path().join("outside");
        std::fs::write(&outside, "secret").unwrap();
        std::fs::write(bed.root.join(".env"), "KEY=secret").unwrap();
        std::fs::create_dir_all(bed.root.join(".git/hooks")).unwrap();
        std::fs::write(bed.root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for command in [
            format!("cat {}", outside.display()),
            "cat .env".to_owned(),
            "cat /etc/shadow".to_owned(),
            "touch .geometry/STOP".to_owned(),
            "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit".to_owned(),
            "exec 3<>/dev/tcp/127.0.0.1/9".to_owned(),
        ] {
            let (ran, told) = bed.shell(&command);
            assert!(ran.is_error, "{command}: {told}");
            assert!(!told.to_string().contains("secret"), "{command}: {told}");
        }
        assert!(!bed.root.join(".geometry/STOP").exists());
    }

    fn paths_are_relative_and_the_bytes_are_kept() {
        let mut bed = bed();
        let (ran, told) = bed.shell("echo \"in $PWD/src/a.rs\"; printf 'caf\\351\\n' >&2");
        assert_eq!(told["stdout"], "in src/a.rs\n");
        assert!(!ran.text.contains(bed.root.to_str().unwrap()), "{}", ran.text);
        let kept: Vec<(&str, Vec<u8>)> = ran
            .verbatim
            .iter()
            .map(|part| (part.name, bed.memory.get(part.pointer.as_ref().unwrap()).unwrap()))
            .collect();
        let bytes = format!("in {}/src/a.rs\n", bed.root.display()).into_bytes();
        assert_eq!(kept, [("stdout", bytes), ("stderr", b"caf\xe9\n".to_vec())]);
        let (plain, _) = bed.shell("echo nothing to rewrite");
        assert!(plain.verbatim.is_empty());
    }

    fn long_output_is_cut_and_kept_whole() {
        let mut bed = bed();
        let (ran, told) = bed.shell("seq 1 60000; echo the end");
        assert!(ran.text.len() <= tripwire_agent::tools::RESULT_BYTES_MAX);
        let shown = told["stdout"].as_str().unwrap();
        assert!(shown.starts_with("1\n2\n") && shown.ends_with("60000\nthe end\n"), "both ends are shown");
        let pointer = told["stdout_pointer"].as_str().unwrap();
        let whole = bed.memory.get(&bed.memory.resolve(pointer).unwrap()).unwrap();
        let expected: String = (1..=60_000).map(|n| format!("{n}\n")).chain(["the end\n".to_owned()]).collect();
        assert_eq!(whole, expected.as_bytes());
        assert_eq!(told["stdout_bytes"], expected.len());
    }

    fn a_hanging_command_is_cut() {
        let mut bed = bed();
        let begun = Instant::now();
        let (ran, event) =
            bed.run("shell", &json!({"command": "echo begun; (sleep 60 &) ; sleep 60", "timeout_ms": 700}));
        let took = begun.elapsed();
        println!("  cut {} ms after its limit of 700 ms", took.saturating_sub(Duration::from_millis(700)).as_millis());
        assert!(took < SLACK, "{took:?}");
        let told: Value = serde_json::from_str(&ran.text).unwrap();
        assert_eq!((&told["timed_out"], &told["exit_code"]), (&json!(true), &Value::Null));
        assert_eq!(told["stdout"], "begun\n");
        assert_eq!(event.outcome.unwrap().error_class, Some(ErrorClass::Timeout));
        assert_eq!(ran.result.status, ExecutionStatus::Failed);
    }

    fn a_hanging_sandbox_start_is_cut() {
        // It never ends, never listens, and does nothing but write: an inner stage that hangs.
        let hangs = PathBuf::from("/usr/bin/yes");
        if !hangs.exists() {
            println!("  SKIPPED: there is no /usr/bin/yes on this machine");
            return;
        }
        let mut bed = confined(|confinement| confinement.inner_program = Some(hangs));
        let begun = Instant::now();
        let (ran, event) = bed.run("shell", &json!({"command": "touch ran", "timeout_ms": 700}));
        let took = begun.elapsed();
        println!(
            "  given up {} ms after its limit of 700 ms",
            took.saturating_sub(Duration::from_millis(700)).as_millis()
        );
        assert!(took < SLACK, "{took:?}");
        assert!(ran.text.contains("not run: the sandbox did not start within 700 ms"), "{}", ran.text);
        assert_eq!((ran.result.executed, event.outcome.unwrap().error_class), (false, Some(ErrorClass::Timeout)));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!bed.root.join("ran").exists());
    }

    fn a_running_command_can_be_interrupted() {
        let mut bed = bed();
        let interrupt: Interrupt = bed.executor.interrupt();
        let waker = interrupt.clone();
        let waiting = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(700));
            waker.raise();
        });
        let begun = Instant::now();
        let (ran, told) = bed.shell("sleep 60");
        waiting.join().unwrap();
        assert!(begun.elapsed() < SLACK);
        assert!(ran.is_error && told["end"] == "interrupted", "{told}");
        let (refused, _) = bed.run("shell", &json!({"command": "touch ran"}));
        assert!(refused.text.contains("not run"), "nothing begins until it is cleared: {}", refused.text);
        interrupt.clear();
        assert_eq!(bed.shell("echo on").1["stdout"], "on\n");
        assert!(!bed.root.join("ran").exists());
    }

    fn a_missing_layer_means_that_nothing_ran() {
        let mut bed = confined(|confinement| confinement.inner_program = Some(PathBuf::from("/bin/true")));
        let (ran, event) = bed.run("shell", &json!({"command": "touch ran"}));
        assert!(ran.text.contains("not run: the layer `reexec` is missing"), "{}", ran.text);
        assert!(ran.text.contains("tripwire doctor sandbox"));
        assert_eq!((ran.result.executed, ran.result.status), (false, ExecutionStatus::Failed));
        assert_eq!(event.outcome.unwrap().error_class, Some(ErrorClass::CouldNotRun));
        assert!(!bed.root.join("ran").exists());
    }

    fn a_role_that_may_only_read_cannot_write() {
        let mut bed = confined(|confinement| confinement.writes = Writes::Refused);
        std::fs::create_dir_all(bed.root.join("sub")).unwrap();
        std::fs::write(bed.root.join("sub/seen"), "seen\n").unwrap();
        let (_, told) =
            bed.shell("cat sub/seen; touch made; touch sub/made; rm sub/seen; echo tried > /tmp/x && cat /tmp/x");
        assert_eq!(told["stdout"], "seen\ntried\n");
        assert!(told["stderr"].as_str().unwrap().contains("Read-only file system"), "{told}");
        assert!(bed.root.join("sub/seen").exists());
        assert!(!bed.root.join("made").exists() && !bed.root.join("sub/made").exists());
    }

    fn staged_commands_and_tools_see_one_tree() {
        let mut bed = bed();
        std::fs::write(bed.root.join("a.txt"), "old\n").unwrap();
        let stage = bed.top.path().join("stage");
        let staging = Staging::open(&stage, &bed.root).unwrap();
        bed.files = staging.files(&bed.root.join(".geometry")).unwrap();
        let mut confinement = Confinement::of(bed.root.clone());
        confinement.writes = staging.writes();
        bed.executor = SandboxedExecutor::new(confinement);
        let (edited, _) = bed.run("edit", &json!({"path": "a.txt", "old": "old", "new": "new"}));
        assert!(!edited.is_error, "{}", edited.text);
        let (_, told) = bed.shell("cat a.txt && echo by command > b.txt && pwd");
        assert_eq!(told["stdout"], "new\n.\n", "the command sees the tool's write, at the workspace's own place");
        let (read, _) = bed.run("read_file", &json!({"path": "b.txt"}));
        assert!(read.text.contains("by command"), "{}", read.text);
        assert_eq!(std::fs::read_to_string(bed.root.join("a.txt")).unwrap(), "old\n");
        assert!(!bed.root.join("b.txt").exists());
        let changes = staging.changes().unwrap();
        let paths: Vec<_> = changes.changes().iter().map(|change| change.path().to_path_buf()).collect();
        assert_eq!(paths, [PathBuf::from("a.txt"), PathBuf::from("b.txt")]);
        staging.apply(&changes.digest()).unwrap();
        assert_eq!(std::fs::read_to_string(bed.root.join("a.txt")).unwrap(), "new\n");
    }

    fn the_same_command_gives_the_same_bytes() {
        let command = "ls -a; echo $PWD; env | sort; echo $$; seq 1 20000 | cksum; echo out; echo err >&2";
        let (first, second) = (bed().shell(command).0.text, bed().shell(command).0.text);
        assert_eq!(first, second, "two workspaces, one answer");
    }
}
