//! What the sandbox costs, beside `bwrap` with a comparable profile and beside no sandbox at all, in turns and in one run, as
//! root and as an ordinary user: `just bench-sandbox`. The binaries are the one in `$TRIPWIRE`, else `target/dist/tripwire`
//! and, if it was built, the static one below `target/TRIPLE/dist`; `-- --start` and `-- --work` measure one half only.
//!
//! First the cost of starting: one confined `bash -c true`. `bwrap` gets the same namespaces, environment, system folders,
//! devices, private folders and filter, and a read-only wall at every name where tripwire puts one. It does less otherwise:
//! no `/etc` tables, no Landlock, no budgets, no captured output, no look at the workspace afterwards, and it leaves without
//! waiting for the end of its namespaces. Two more rows leave the filter, and the filter and the walls, out of it. Then the
//! cost of working: the same work inside and outside.
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

    const START_ROUNDS: usize = 100;
    const WORK_ROUNDS: usize = 9;
    const SPARE_UID: u32 = 61_237;
    /// Other processes of the machine must not be what is measured; all ways run at this real-time priority where allowed.
    const PRIORITY: i32 = 20;
    const START: &str = "true";
    /// Where tripwire puts walls in an empty workspace: below a missing `.git` there is nothing more to protect.
    const WALLS: [&str; 8] = [".git", ".geometry", ".claude", ".codex", ".gemini", ".mcp.json", ".vscode", "AGENTS.md"];
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
        /// The binary at this place of the list.
        Tripwire(usize),
        /// With walls and filter.
        Bwrap,
        /// With walls, without filter.
        BwrapUnfiltered,
        /// With neither.
        BwrapOpen,
    }

    impl Way {
        fn name(self, binaries: &[Binary]) -> String {
            match self {
                Self::Bare => "bare".to_owned(),
                Self::Tripwire(at) => binaries.get(at).map_or_else(String::new, |binary| binary.name.clone()),
                Self::Bwrap => "bwrap".to_owned(),
                Self::BwrapUnfiltered => "bwrap without filter".to_owned(),
                Self::BwrapOpen => "bwrap without filter and walls".to_owned(),
            }
        }
    }

    /// A build of tripwire.
    struct Binary {
        name: String,
        path: PathBuf,
    }

    /// Where everything is for one user.
    struct Place {
        top: PathBuf,
        uid: Option<u32>,
        binaries: Vec<Binary>,
    }

    pub(super) fn main() {
        let binaries = built();
        if binaries.is_empty() {
            say("NOT MEASURED: no binary; build it with `cargo build --profile dist` or name it in $TRIPWIRE");
            return;
        }
        let asked: Vec<String> = std::env::args().collect();
        let wanted =
            |flag: &str, other: &str| asked.iter().any(|arg| arg == flag) || !asked.iter().any(|arg| arg == other);
        // SAFETY: the call has no preconditions.
        let root = unsafe { libc::geteuid() == 0 };
        say(if raise_priority() { "at real-time priority" } else { "at ordinary priority: other processes disturb" });
        let everybody: &[&str] = if root { &["root", "ordinary user"] } else { &["ordinary user"] };
        for who in everybody {
            let place = Place::new(&binaries, (root && *who != "root").then_some(SPARE_UID));
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

    /// The builds to measure, the ordinary one first.
    fn built() -> Vec<Binary> {
        if let Some(given) = std::env::var_os("TRIPWIRE") {
            return vec![Binary { name: "tripwire".to_owned(), path: given.into() }];
        }
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        let mut found = vec![Binary { name: "tripwire".to_owned(), path: target.join("dist/tripwire") }];
        for entry in fs::read_dir(&target).into_iter().flatten().flatten() {
            let path = entry.path().join("dist/tripwire");
            found.push(Binary { name: "tripwire, static".to_owned(), path });
        }
        found.retain(|binary| binary.path.is_file());
        found
    }

    fn raise_priority() -> bool {
        let wish = libc::sched_param { sched_priority: PRIORITY };
        // SAFETY: the structure lives across the call; 0 is this process.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wish) == 0 }
    }

    fn say(text: &str) {
        std::io::stdout().lock().write_all(format!("{text}\n").as_bytes()).expect("stdout");
    }

    impl Place {
        fn new(binaries: &[Binary], uid: Option<u32>) -> Self {
            let top = std::env::temp_dir().join(format!("tw-cost-{}-{}", std::process::id(), uid.unwrap_or(0)));
            for dir in ["tripwire-ws", "bare-ws", "run"] {
                fs::create_dir_all(top.join(dir)).expect("a folder");
            }
            for wall in WALLS {
                fs::create_dir_all(top.join("bwrap-ws").join(wall)).expect("a folder");
            }
            let filter = tripwire_sandbox::strict_filter().expect("a filter");
            fs::write(top.join("filter"), filter).expect("a file");
            let copy = |(at, binary): (usize, &Binary)| {
                let path = top.join(format!("tripwire-{at}"));
                fs::copy(&binary.path, &path).expect("copy the binary");
                Binary { name: binary.name.clone(), path }
            };
            let binaries = binaries.iter().enumerate().map(copy).collect();
            if let Some(uid) = uid {
                let owner = format!("{uid}:{uid}");
                assert!(Command::new("chown").args(["-R", &owner]).arg(&top).status().expect("chown").success());
            }
            Self { top, uid, binaries }
        }

        fn measure_start(&self, who: &str) {
            let ours: Vec<Way> = (0..self.binaries.len()).map(Way::Tripwire).collect();
            let mut theirs = Vec::new();
            if Path::new("/usr/bin/bwrap").exists() {
                theirs.extend([Way::Bwrap, Way::BwrapUnfiltered, Way::BwrapOpen]);
            } else {
                say(&format!("{who}, start: bwrap not measured: not installed"));
            }
            let ways: Vec<Way> = [Way::Bare].into_iter().chain(ours.iter().chain(&theirs).copied()).collect();
            let times = self.in_turns(&ways, START, START_ROUNDS);
            let median_of = |way: Way| ways.iter().position(|known| *known == way).map_or(0.0, |at| median(&times[at]));
            let bare = median_of(Way::Bare);
            say(&format!("{who}, start: bare {bare:.2} ms"));
            for way in theirs.iter().chain(&ours) {
                let time = median_of(*way);
                let name = way.name(&self.binaries);
                say(&format!("{who}, start: {name} {time:.2} ms, added {:.2} ms", time - bare));
            }
            for own in &ours {
                let name = own.name(&self.binaries);
                for other in &theirs {
                    let ratio = median_of(*own) / median_of(*other);
                    say(&format!("{who}, start: {name} / {}: {ratio:.2}", other.name(&self.binaries)));
                }
            }
        }

        fn measure_work(&self, who: &str) {
            for (name, script) in WORK {
                let times = self.in_turns(&[Way::Bare, Way::Tripwire(0)], script, WORK_ROUNDS);
                let [bare, ours] = times.as_slice() else { return };
                let (inside, outside) = (median(ours), median(bare));
                say(&format!(
                    "{who}, {name}: bare {outside:.0} ms, tripwire {inside:.0} ms, ratio of medians {:.2}, of the best {:.2}",
                    inside / outside,
                    best(ours) / best(bare)
                ));
            }
        }

        /// The times of each way; the ways take turns, and every other round goes backwards.
        fn in_turns(&self, ways: &[Way], script: &str, rounds: usize) -> Vec<Vec<Duration>> {
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
            times
        }

        fn command(&self, way: Way, script: &str) -> Command {
            let mut command = match way {
                Way::Bare => {
                    let mut command = Command::new("/usr/bin/bash");
                    command.args(["-c", script]).current_dir(self.top.join("bare-ws"));
                    command
                }
                Way::Tripwire(at) => {
                    let mut command = Command::new(&self.binaries[at].path);
                    command.args(["sandbox", "exec", "--json", "--workspace"]).arg(self.top.join("tripwire-ws"));
                    command.args(["--", "bash", "-c", script]);
                    command
                }
                Way::Bwrap | Way::BwrapUnfiltered | Way::BwrapOpen => self.bwrap(way, script),
            };
            let filter = fs::File::open(self.top.join("filter")).expect("the filter");
            let stdin = if way == Way::Bwrap { Stdio::from(filter) } else { Stdio::null() };
            command
                .env_clear()
                .envs([("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8")])
                .env("HOME", &self.top)
                .env("XDG_RUNTIME_DIR", self.top.join("run"));
            command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
            if let Some(uid) = self.uid {
                command.uid(uid).gid(uid);
            }
            command
        }

        fn bwrap(&self, way: Way, script: &str) -> Command {
            let workspace = self.top.join("bwrap-ws");
            let mut command = Command::new("/usr/bin/bwrap");
            let options = "--unshare-all --unshare-user --uid 1000 --gid 1000 --hostname sandbox --die-with-parent --new-session \
                           --cap-drop ALL --clearenv --setenv PATH /usr/bin:/bin --setenv HOME /home/agent --setenv LANG C.UTF-8 \
                           --setenv TZ UTC --ro-bind /usr /usr \
                           --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin \
                           --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/alternatives /etc/alternatives \
                           --ro-bind-try /etc/ssl/certs /etc/ssl/certs --proc /proc \
                           --dev-bind /dev/null /dev/null --dev-bind /dev/zero /dev/zero --dev-bind /dev/full /dev/full \
                           --dev-bind /dev/random /dev/random --dev-bind /dev/urandom /dev/urandom \
                           --symlink /proc/self/fd /dev/fd --symlink /proc/self/fd/0 /dev/stdin \
                           --symlink /proc/self/fd/1 /dev/stdout --symlink /proc/self/fd/2 /dev/stderr \
                           --tmpfs /tmp --tmpfs /var/tmp --tmpfs /dev/shm --tmpfs /home/agent --dir /run";
            command.args(options.split_whitespace()).arg("--bind").args([&workspace, &workspace]);
            for wall in WALLS.iter().filter(|_| way != Way::BwrapOpen).map(|wall| workspace.join(wall)) {
                command.arg("--ro-bind").args([&wall, &wall]);
            }
            if way == Way::Bwrap {
                // The filter comes on stdin, which the script does not read.
                command.args(["--seccomp", "0"]);
            }
            command.args(["--remount-ro", "/", "--chdir"]).arg(&workspace).args(["--", "bash", "-c", script]);
            command
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            drop(Command::new("rm").arg("-rf").arg(&self.top).status());
        }
    }

    fn millis(time: Duration) -> f64 {
        time.as_secs_f64() * 1000.0
    }

    fn median(times: &[Duration]) -> f64 {
        let mut sorted = times.to_vec();
        sorted.sort();
        sorted.get(sorted.len() / 2).map_or(0.0, |time| millis(*time))
    }

    fn best(times: &[Duration]) -> f64 {
        times.iter().min().map_or(0.0, |time| millis(*time))
    }
}
