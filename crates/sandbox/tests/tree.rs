//! The process tree: frozen, thawed, ended with every descendant and proven to be gone; by pid namespace and by subreaper, as
//! root and as an ordinary user. A main of its own, because this binary is its own keeper.
#![expect(clippy::expect_used, reason = "a broken premise must end the test")]

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
    use std::io::{Read as _, Write as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use tripwire_sandbox::{Containment, Receipt, Shield, Tree, TreeError, TreeExit, TreeSpec, TreeStdio};

    const SPARE_UID: u32 = 61_236;
    /// Two hundred processes: plain children, children of a session of their own, and double-forked daemons.
    const CROWD: &str = "for i in $(seq 50); do sleep MARK & setsid sleep MARK & (sleep MARK &) ; (setsid bash -c 'trap \"\" TERM HUP; sleep MARK & wait' &) ; done; exec sleep MARK";

    pub(super) fn main() {
        let args: Vec<String> = std::env::args().collect();
        if args.iter().any(|arg| arg == "--list") {
            return;
        }
        if let Some(at) = args.iter().position(|arg| arg == "--child") {
            return match args.get(at + 1).map(String::as_str) {
                Some("doomed") => doomed(&args[at + 2]),
                Some(_) | None => all(),
            };
        }
        // SAFETY: the call has no preconditions.
        if unsafe { libc::geteuid() != 0 } {
            say("NOT RUN AS ROOT: started by an ordinary user, so root's half is not measured");
            return all();
        }
        // Both halves at once, because each waits most of the time; the copy comes before anything else is started, because a
        // program that is open for writing in any process cannot be executed.
        let dir = std::env::temp_dir().join(format!("tw-tree-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        let exe = dir.join("exe");
        fs::copy("/proc/self/exe", &exe).expect("copy");
        let mut ordinary = Command::new(&exe);
        ordinary.args(["--child", "all"]).current_dir("/").uid(SPARE_UID).gid(SPARE_UID).stderr(Stdio::piped());
        let ordinary = ordinary.spawn().expect("the child");
        say("as root:");
        all();
        let output = ordinary.wait_with_output().expect("the child");
        fs::remove_dir_all(&dir).expect("clean");
        say(&format!("as an ordinary user:\n{}", String::from_utf8_lossy(&output.stderr)));
        assert!(output.status.success());
    }

    fn all() {
        for most in [Containment::PidNamespace, Containment::Subreaper] {
            exit_is_told(most);
            a_missing_program_is_an_error(most);
            a_folder_that_cannot_be_entered_is_told_as_one(most);
            frozen_means_still(most);
            a_crowd_ends(most);
            a_fork_bomb_ends(most);
            a_killed_launcher_leaves_nobody(most);
        }
        a_shield_holds();
        an_interrupt_reaches_the_tree();
        let empty = TreeSpec::new(Vec::<&str>::new()).start();
        assert!(matches!(empty, Err(TreeError::NoCommand)));
    }

    fn say(text: &str) {
        std::io::stderr().lock().write_all(format!("{text}\n").as_bytes()).expect("stderr");
    }

    fn start(most: Containment, script: &str) -> Tree {
        let spec = TreeSpec::new(["bash", "-c", script]).at_most(most);
        let tree = spec.stdio(TreeStdio::Null, TreeStdio::Null, TreeStdio::Null).start().expect("a tree");
        if tree.containment() != most {
            say(&format!(
                "NOT MEASURED: {} is not available here, {} was used",
                most.name(),
                tree.containment().name()
            ));
        }
        tree
    }

    /// What is shielded can be read or not even that, and neither a rename, a mount nor an inner namespace changes it.
    fn a_shield_holds() {
        let dir = std::env::temp_dir().join(format!("tw-shield-{}", std::process::id()));
        let (kept, secret) = (dir.join("kept"), dir.join("secret"));
        fs::create_dir_all(&kept).expect("a folder");
        fs::create_dir_all(&secret).expect("a folder");
        let real = dir.canonicalize().expect("its real path");
        fs::write(kept.join("file"), "old").expect("a file");
        fs::write(secret.join("key"), "k").expect("a file");
        let script = "cd DIR; cat kept/file >&2 || exit 90; echo new > free || exit 91
            echo new > kept/file; echo new > kept/more; rm -f kept/file; mv kept gone; ln -f kept/file hard && echo new > hard
            umount kept; mount -o remount,bind,rw kept; umount -l secret; cat secret/key > leaked
            unshare -Urm sh -c 'umount kept; umount secret; mount -o remount,bind,rw kept; echo new > kept/file; cat secret/key > leaked'
            nsenter -t 1 -m sh -c 'umount DIR/kept; echo new > DIR/kept/file'; exit 0";
        let script = script.replace("DIR", &real.display().to_string());
        let spec =
            TreeSpec::new(["bash", "-c", script.as_str()]).read_only(&real.join("kept")).hidden(&real.join("secret"));
        let mut tree = spec.stdio(TreeStdio::Null, TreeStdio::Null, TreeStdio::Null).start().expect("a tree");
        let shield = tree.shield();
        assert_eq!(tree.wait(Duration::from_secs(60)).expect("waits"), Some(TreeExit::Exited(0)));
        tree.kill();
        let (file, leaked) = (fs::read_to_string(kept.join("file")), fs::read_to_string(dir.join("leaked")));
        let free = fs::read_to_string(dir.join("free"));
        let more = kept.join("more").exists();
        fs::remove_dir_all(&dir).expect("clean");
        if shield == Shield::Down {
            say("NOT MEASURED: no mount namespace here, so nothing is shielded");
            return;
        }
        assert_eq!(free.expect("what is not shielded can be written"), "new\n");
        assert_eq!(file.expect("still there"), "old");
        assert!(!more && leaked.unwrap_or_default().is_empty());
    }

    fn an_interrupt_reaches_the_tree() {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let spec = TreeSpec::new(["bash", "-c", "trap 'exit 33' INT; echo x; while :; do sleep 0.05; done"]);
        let mut tree =
            spec.stdio(TreeStdio::Null, TreeStdio::Fd(writer.into()), TreeStdio::Null).start().expect("a tree");
        reader.read_exact(&mut [0_u8; 1]).expect("it runs");
        tree.interrupt();
        assert_eq!(tree.wait(Duration::from_secs(20)).expect("waits"), Some(TreeExit::Exited(33)));
    }

    fn exit_is_told(most: Containment) {
        let wait = Duration::from_secs(20);
        assert_eq!(start(most, "exit 7").wait(wait).expect("waits"), Some(TreeExit::Exited(7)));
        assert_eq!(start(most, "kill -9 $$").wait(wait).expect("waits"), Some(TreeExit::Signaled(9)));
        let mut slow = start(most, "sleep 60");
        assert_eq!(slow.wait(Duration::from_millis(50)).expect("waits"), None);
        let receipt = slow.kill();
        assert!(receipt.ended >= 1 && receipt.survivors == 0, "{receipt:?}");
        assert_eq!(slow.kill(), Receipt::default(), "a second end has nothing to do");
    }

    fn a_missing_program_is_an_error(most: Containment) {
        let missing = TreeSpec::new(["/no/such/program"]).at_most(most).start();
        assert!(matches!(missing, Err(TreeError::Command { .. })), "{missing:?}");
        // The name is told as it was given, whatever it looks like.
        let odd = TreeSpec::new(["run `odd`"]).at_most(most).start().expect_err("no such program");
        assert!(matches!(&odd, TreeError::Command { program, .. } if program == "run `odd`"), "{odd:?}");
    }

    fn a_folder_that_cannot_be_entered_is_told_as_one(most: Containment) {
        let refused = TreeSpec::new(["true"]).at_most(most).cwd(std::path::Path::new("/no/such/folder")).start();
        let error = refused.expect_err("no such folder");
        assert!(matches!(error, TreeError::Folder { .. }), "{error:?}");
        assert!(error.to_string().starts_with("cannot enter the folder `/no/such/folder`: "), "{error}");
    }

    /// A counter that a tree keeps writing stands still while it is frozen, and goes on after.
    fn frozen_means_still(most: Containment) {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let spec = TreeSpec::new(["bash", "-c", "while :; do echo x; sleep 0.005; done"]).at_most(most);
        let tree = spec.stdio(TreeStdio::Null, TreeStdio::Fd(writer.into()), TreeStdio::Null).start().expect("a tree");
        let (count, counted) = std::sync::mpsc::channel();
        let reading = std::thread::spawn(move || {
            let mut byte = [0_u8; 64];
            while let Ok(1..) = reader.read(&mut byte) {
                if count.send(()).is_err() {
                    return;
                }
            }
        });
        counted.recv_timeout(Duration::from_secs(20)).expect("it runs");
        tree.freeze().expect("freezes");
        std::thread::sleep(Duration::from_millis(30));
        while counted.try_recv().is_ok() {}
        let still = counted.recv_timeout(Duration::from_millis(300));
        assert!(still.is_err(), "a frozen tree wrote");
        tree.thaw().expect("thaws");
        counted.recv_timeout(Duration::from_secs(20)).expect("it goes on");
        tree.freeze().expect("freezes again");
        let mut tree = tree;
        let receipt = tree.kill();
        assert!(receipt.survivors == 0 && receipt.ended >= 1, "{receipt:?}");
        drop(counted);
        reading.join().expect("the reader ends with the tree");
    }

    fn marked(marker: &str) -> usize {
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
    }

    fn wait_for_crowd(tree: &Tree, least: usize) {
        let start = Instant::now();
        while tree.count() < least && start.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn a_crowd_ends(most: Containment) {
        let marker = format!("9{:06}{}", std::process::id(), most.name().len());
        let mut tree = start(most, &CROWD.replace("MARK", &marker));
        wait_for_crowd(&tree, 200);
        let receipt = tree.kill();
        say(&format!(
            "  {}: crowd: ended {} survivors {} took {} ms",
            most.name(),
            receipt.ended,
            receipt.survivors,
            receipt.took.as_millis(),
        ));
        assert!(receipt.ended >= 200 && receipt.survivors == 0, "{receipt:?}");
        assert_eq!(marked(&marker), 0);
    }

    /// A bomb of bounded depth: the kernel ignores root's process limit, and the machine must survive the test.
    fn a_fork_bomb_ends(most: Containment) {
        let marker = format!("8{:06}{}", std::process::id(), most.name().len());
        let bomb = format!(
            "b() {{ sleep {marker} & [ $1 -gt 0 ] && {{ b $(($1-1)) & (setsid b $(($1-1)) &) ; b $(($1-1)) & }}; wait; }}; b 6 & exec sleep {marker}"
        );
        let mut tree = start(most, &bomb);
        wait_for_crowd(&tree, 120);
        let receipt = tree.kill();
        say(&format!(
            "  {}: fork bomb: ended {} survivors {} took {} ms",
            most.name(),
            receipt.ended,
            receipt.survivors,
            receipt.took.as_millis()
        ));
        assert!(receipt.survivors == 0, "{receipt:?}");
        assert_eq!(marked(&marker), 0);
    }

    /// SIGKILL of the launcher itself.
    fn a_killed_launcher_leaves_nobody(most: Containment) {
        let marker = format!("6{:06}{}", std::process::id(), most.name().len());
        let mode = format!("{}:{marker}", most.name());
        let exe = fs::read_link("/proc/self/exe").expect("our path");
        let mut child =
            Command::new(exe).args(["--child", "doomed", &mode]).stdout(Stdio::piped()).spawn().expect("a launcher");
        let mut ready = [0_u8; 1];
        child.stdout.take().expect("a pipe").read_exact(&mut ready).expect("it says when");
        assert!(marked(&marker) > 3);
        child.kill().expect("SIGKILL");
        let start = Instant::now();
        child.wait().expect("reaped");
        while marked(&marker) > 0 && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        say(&format!(
            "  {}: launcher killed: {} survivors after {} ms",
            most.name(),
            marked(&marker),
            start.elapsed().as_millis()
        ));
        assert_eq!(marked(&marker), 0);
    }

    /// A launcher that waits to be killed.
    fn doomed(mode: &str) {
        let (most, marker) = mode.split_once(':').expect("a mode");
        let most =
            if most == Containment::Subreaper.name() { Containment::Subreaper } else { Containment::PidNamespace };
        let script =
            "sleep MARK & setsid sleep MARK & (setsid bash -c 'trap \"\" TERM HUP; sleep MARK & wait' &) ; sleep MARK";
        let tree = start(most, &script.replace("MARK", marker));
        wait_for_crowd(&tree, 5);
        std::io::stdout().lock().write_all(b"r").expect("stdout");
        std::io::stdout().lock().flush().expect("stdout");
        std::thread::sleep(Duration::from_secs(60));
    }
}
