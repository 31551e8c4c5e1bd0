//! What the sandbox costs, beside `bwrap` with a comparable profile and beside no sandbox at all, in turns and in one run, as
//! root and as an ordinary user: `cargo bench -p tripwire-sandbox --bench cost`. The binary is taken from `$TRIPWIRE`, else
//! `target/release/tripwire`; `-- --start` and `-- --work` measure one half only.
//!
//! First the cost of starting: one confined `bash -c true`. `bwrap` gets the same namespaces, the same environment, the same
//! folders and a read-only wall at every protected name; it has no filter, no Landlock, no budgets and no captured output, and
//! it does not wait until its namespaces are gone. `bwrap-` is the same without the walls at protected names. Then the cost
//! of working: the same work inside and outside.
#![expect(clippy::expect_used, reason = "a broken premise must end the measurement")]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::process::CommandExt as _;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use tripwire_sandbox::PROTECTED_NAMES;

    const START_ROUNDS: usize = 100;
    const WORK_ROUNDS: usize = 9;
    const SPARE_UID: u32 = 61_237;
    const START: &str = "true";
    /// What a long run is made of: arithmetic, starting programs, and reading and writing many small files.
    const WORK: [(&str, &str); 3] = [
        ("processor", "awk 'BEGIN { for (i = 0; i < 6000000; i++) x += i % 7; print x }'"),
        ("programs", "for i in $(seq 300); do /bin/true; done"),
        (
            "files",
            "mkdir d && for i in $(seq 2000); do echo $i > d/$i; done && cat d/* | wc -c && ls -l d | wc -l && rm -r d",
        ),
    ];

    /// One way to run a script.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Way {
        Bare,
        Tripwire,
        Bwrap,
        BwrapOpen,
    }

    /// Where everything is for one user.
    struct Place {
        top: PathBuf,
        uid: Option<u32>,
    }

    pub(super) fn main() {
        let given = std::env::var_os("TRIPWIRE").map(PathBuf::from);
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/tripwire");
        let binary = given.unwrap_or(built);
        if !binary.exists() {
            say("NOT MEASURED: no binary; build it with `cargo build --release` or name it in $TRIPWIRE");
            return;
        }
        let asked: Vec<String> = std::env::args().collect();
        let wanted =
            |flag: &str, other: &str| asked.iter().any(|arg| arg == flag) || !asked.iter().any(|arg| arg == other);
        // SAFETY: the call has no preconditions.
        let root = unsafe { libc::geteuid() == 0 };
        let everybody: &[&str] = if root { &["root", "ordinary user"] } else { &["ordinary user"] };
        for who in everybody {
            let place = Place::new(&binary, (root && *who != "root").then_some(SPARE_UID));
            if wanted("--start", "--work") {
                place.measure_start(who);
            }
            if wanted("--work", "--start") {
                place.measure_work(who);
            }
        }
        if !root {
            say("root: not measured");
        }
        say(&format!("load: {}", fs::read_to_string("/proc/loadavg").expect("the load").trim()));
    }

    fn say(text: &str) {
        std::io::stdout().lock().write_all(format!("{text}\n").as_bytes()).expect("stdout");
    }

    impl Place {
        fn new(binary: &Path, uid: Option<u32>) -> Self {
            let top = std::env::temp_dir().join(format!("tw-cost-{}-{}", std::process::id(), uid.unwrap_or(0)));
            for dir in ["tripwire-ws", "bwrap-ws", "bare-ws", "run"] {
                fs::create_dir_all(top.join(dir)).expect("a folder");
            }
            fs::copy(binary, top.join("tripwire")).expect("copy the binary");
            if let Some(uid) = uid {
                let owner = format!("{uid}:{uid}");
                assert!(Command::new("chown").args(["-R", &owner]).arg(&top).status().expect("chown").success());
            }
            Self { top, uid }
        }

        fn measure_start(&self, who: &str) {
            let mut ways = vec![Way::Bare, Way::Tripwire];
            if Path::new("/usr/bin/bwrap").exists() {
                ways.extend([Way::Bwrap, Way::BwrapOpen]);
            }
            let times = self.in_turns(&ways, START, START_ROUNDS);
            let [bare, ours, theirs @ ..] = times.as_slice() else { return };
            say(&format!("{who}, start: bare {bare:.2} ms, tripwire {ours:.2} ms, added {:.2} ms", ours - bare));
            match theirs {
                [walls, open] => say(&format!(
                    "{who}, start: bwrap {walls:.2} ms, added {:.2} ms, tripwire/bwrap {:.2}; bwrap- {open:.2} ms, tripwire/bwrap- {:.2}",
                    walls - bare,
                    ours / walls,
                    ours / open
                )),
                _ => say(&format!("{who}, start: bwrap not measured: not installed")),
            }
        }

        fn measure_work(&self, who: &str) {
            for (name, script) in WORK {
                let times = self.in_turns(&[Way::Bare, Way::Tripwire], script, WORK_ROUNDS);
                let [bare, ours] = times.as_slice() else { return };
                say(&format!("{who}, {name}: bare {bare:.0} ms, tripwire {ours:.0} ms, ratio {:.2}", ours / bare));
            }
        }

        /// The median of each way in milliseconds; the ways take turns, and every other round goes backwards.
        fn in_turns(&self, ways: &[Way], script: &str, rounds: usize) -> Vec<f64> {
            let mut times: Vec<Vec<Duration>> = ways.iter().map(|_| Vec::new()).collect();
            for round in 0..rounds {
                let mut order: Vec<usize> = (0..ways.len()).collect();
                if round % 2 == 1 {
                    order.reverse();
                }
                for at in order {
                    let mut command = self.command(ways[at], script);
                    let start = Instant::now();
                    let status = command.status().expect("starts");
                    times[at].push(start.elapsed());
                    assert!(status.success(), "{command:?}");
                }
            }
            times.into_iter().map(median).collect()
        }

        fn command(&self, way: Way, script: &str) -> Command {
            let mut command = match way {
                Way::Bare => {
                    let mut command = Command::new("bash");
                    command.args(["-c", script]).current_dir(self.top.join("bare-ws"));
                    command
                }
                Way::Tripwire => {
                    let mut command = Command::new(self.top.join("tripwire"));
                    command.args(["sandbox", "exec", "--json", "--workspace"]).arg(self.top.join("tripwire-ws"));
                    command.args(["--", "bash", "-c", script]);
                    command
                }
                Way::Bwrap | Way::BwrapOpen => self.bwrap(way, script),
            };
            command
                .env_clear()
                .envs([("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8")])
                .env("HOME", &self.top)
                .env("XDG_RUNTIME_DIR", self.top.join("run"));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if let Some(uid) = self.uid {
                command.uid(uid).gid(uid);
            }
            command
        }

        fn bwrap(&self, way: Way, script: &str) -> Command {
            let workspace = self.top.join("bwrap-ws");
            let mut command = Command::new("/usr/bin/bwrap");
            let options = "--unshare-all --unshare-user --disable-userns --uid 1000 --gid 1000 --die-with-parent --new-session \
                           --cap-drop ALL --clearenv --setenv PATH /usr/bin:/bin --setenv HOME /home/agent --setenv LANG C.UTF-8 \
                           --setenv TZ UTC --ro-bind /usr /usr \
                           --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin \
                           --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/alternatives /etc/alternatives \
                           --ro-bind-try /etc/ssl/certs /etc/ssl/certs --proc /proc --dev /dev --tmpfs /tmp --tmpfs /run --tmpfs /home";
            command.args(options.split_whitespace()).arg("--bind").args([&workspace, &workspace]);
            if way == Way::Bwrap {
                for name in PROTECTED_NAMES {
                    command.arg("--tmpfs").arg(workspace.join(name)).arg("--remount-ro").arg(workspace.join(name));
                }
            }
            command.arg("--chdir").arg(&workspace).args(["--", "bash", "-c", script]);
            command
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            drop(Command::new("rm").arg("-rf").arg(&self.top).status());
        }
    }

    fn median(mut times: Vec<Duration>) -> f64 {
        times.sort();
        times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    }
}
