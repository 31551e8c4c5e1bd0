//! What one confined `bash -c true` costs beside `bwrap` with a comparable profile and beside no sandbox at all, in turns and
//! in one run, as root and as an ordinary user: `cargo bench -p tripwire-sandbox --bench cost`. The binary is taken from
//! `$TRIPWIRE`, else `target/release/tripwire`.
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

    const ROUNDS: usize = 100;
    const SPARE_UID: u32 = 61_237;

    pub(super) fn main() {
        let given = std::env::var_os("TRIPWIRE").map(PathBuf::from);
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/tripwire");
        let binary = given.unwrap_or(built);
        if !binary.exists() {
            say("NOT MEASURED: no binary; build it with `cargo build --release` or name it in $TRIPWIRE");
            return;
        }
        // SAFETY: the call has no preconditions.
        let root = unsafe { libc::geteuid() == 0 };
        let everybody: &[&str] = if root { &["root", "ordinary user"] } else { &["ordinary user"] };
        say(&format!(
            "{:<15} {:>9} {:>9} {:>9} {:>12} {:>12} {:>8}",
            "median ms", "bare", "tripwire", "bwrap", "tw added", "bwrap added", "tw/bwrap"
        ));
        for who in everybody {
            let spare = (root && *who != "root").then_some(SPARE_UID);
            measure(who, &binary, spare);
        }
        if !root {
            say("root            not measured");
        }
    }

    fn say(text: &str) {
        std::io::stdout().lock().write_all(format!("{text}\n").as_bytes()).expect("stdout");
    }

    fn measure(who: &str, binary: &Path, uid: Option<u32>) {
        let top = std::env::temp_dir().join(format!("tw-cost-{}", std::process::id()));
        for dir in ["tripwire-ws", "bwrap-ws", "run"] {
            fs::create_dir_all(top.join(dir)).expect("a folder");
        }
        let copy = top.join("tripwire");
        fs::copy(binary, &copy).expect("copy the binary");
        if let Some(uid) = uid {
            let owner = format!("{uid}:{uid}");
            assert!(Command::new("chown").args(["-R", &owner]).arg(&top).status().expect("chown").success());
        }
        let bwrap = Path::new("/usr/bin/bwrap").exists();
        let mut times: [Vec<Duration>; 3] = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (kind, times) in times.iter_mut().enumerate() {
                if kind == 2 && !bwrap {
                    continue;
                }
                let mut command = command(kind, &top, &copy);
                command
                    .env_clear()
                    .env("PATH", "/usr/bin:/bin")
                    .env("HOME", &top)
                    .env("XDG_RUNTIME_DIR", top.join("run"));
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                if let Some(uid) = uid {
                    command.uid(uid).gid(uid);
                }
                let start = Instant::now();
                let status = command.status().expect("starts");
                times.push(start.elapsed());
                assert!(status.success(), "{command:?}");
            }
        }
        drop(Command::new("rm").arg("-rf").arg(&top).status());
        let [bare, ours, theirs] = times.map(median);
        let added = |time: f64| time - bare;
        if bwrap {
            say(&format!(
                "{who:<15} {bare:>9.2} {ours:>9.2} {theirs:>9.2} {:>12.2} {:>12.2} {:>8.2}",
                added(ours),
                added(theirs),
                ours / theirs
            ));
        } else {
            say(&format!(
                "{who:<15} {bare:>9.2} {ours:>9.2} {:>9} {:>12.2}  bwrap not measured: not installed",
                "-",
                added(ours)
            ));
        }
    }

    fn median(mut times: Vec<Duration>) -> f64 {
        times.sort();
        times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    }

    fn command(kind: usize, top: &Path, binary: &Path) -> Command {
        let inside = ["bash", "-c", "true"];
        match kind {
            0 => {
                let mut command = Command::new("bash");
                command.args(["-c", "true"]);
                command
            }
            1 => {
                let mut command = Command::new(binary);
                command
                    .args(["sandbox", "exec", "--json", "--workspace"])
                    .arg(top.join("tripwire-ws"))
                    .arg("--")
                    .args(inside);
                command
            }
            _ => {
                let workspace = top.join("bwrap-ws");
                let mut command = Command::new("/usr/bin/bwrap");
                let options = "--unshare-all --unshare-user --disable-userns --uid 1000 --gid 1000 --die-with-parent --new-session \
                               --cap-drop ALL --clearenv --setenv PATH /usr/bin:/bin --setenv HOME /tmp --setenv TZ UTC --ro-bind /usr /usr \
                               --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin \
                               --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/alternatives /etc/alternatives \
                               --ro-bind-try /etc/ssl/certs /etc/ssl/certs --proc /proc --dev /dev --tmpfs /tmp --tmpfs /run --tmpfs /home";
                command.args(options.split_whitespace()).arg("--bind").args([&workspace, &workspace]);
                for name in PROTECTED_NAMES {
                    command.arg("--tmpfs").arg(workspace.join(name)).arg("--remount-ro").arg(workspace.join(name));
                }
                command.arg("--chdir").arg(&workspace).arg("--").args(inside);
                command
            }
        }
    }
}
