//! What the sandbox tests share: a throw-away host, the binary as root and as an ordinary user, and its JSON answer.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use tripwire_testing::copy_program;

/// Who runs the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The user who runs the tests, if that is root.
    Root,
    /// An ordinary user; if root runs the tests, a uid that nobody else has.
    User,
}

/// Everybody the tests can be on this machine; says loudly who is left out.
pub(crate) fn everybody() -> Vec<Who> {
    if is_root() {
        vec![Who::Root, Who::User]
    } else {
        say(
            "NOT RUN AS ROOT: these tests were started by an ordinary user, so root's half of every case is not measured",
        );
        vec![Who::User]
    }
}

/// A line that is seen even when the test passes and its output is captured.
pub(crate) fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(format!("{text}\n").as_bytes()).expect("stderr");
}

pub(crate) fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find(|line| line.starts_with("Uid:")).expect("a uid");
    line.split_whitespace().nth(2) == Some("0")
}

/// A uid without an account; high enough that no distribution hands it out.
const SPARE_UID: u32 = 61_234;

/// A throw-away host: a workspace, a neighbour folder and a home with secrets, all owned by the one who runs the binary.
pub(crate) struct Host {
    pub(crate) who: Who,
    pub(crate) top: PathBuf,
    binary: PathBuf,
}

impl Host {
    pub(crate) fn new(who: Who) -> Self {
        // On a disk, wherever temporary folders are: files in memory would count against the memory of the sandbox.
        Self::below(Path::new("/var/tmp"), who)
    }

    pub(crate) fn below(folder: &Path, who: Who) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let top = folder.join(format!("tw-test-{}-{count}", std::process::id()));
        for dir in ["ws/src/deep", "outside", "home/.ssh", "run"] {
            fs::create_dir_all(top.join(dir)).expect("a folder");
        }
        fs::write(top.join("ws/.env"), "PWNED-top\n").expect("write");
        fs::write(top.join("ws/src/deep/.env"), "PWNED-deep\n").expect("write");
        fs::create_dir_all(top.join("ws/.geometry")).expect("a folder");
        fs::write(top.join("ws/.geometry/MANIFEST.yaml"), "safety:\n  max_iterations: 7\n").expect("write");
        fs::write(top.join("ws/AGENTS.md"), "be good\n").expect("write");
        fs::write(top.join("outside/victim"), "original\n").expect("write");
        fs::write(top.join("home/.ssh/key"), "PWNED-key\n").expect("write");
        fs::write(top.join("outside/startup.sh"), "echo PWNED-startup\n").expect("write");
        // The build folder may be out of the ordinary user's reach. A copy of a debug build is large, a link costs nothing.
        let (built, binary) = (Path::new(env!("CARGO_BIN_EXE_tripwire")), top.join("tripwire"));
        if fs::hard_link(built, &binary).is_err() {
            copy_program(built, &binary).expect("copy the binary");
            fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).expect("mode");
        }
        let host = Self { who, top, binary };
        host.shell_on_host(
            "cd ws && git init -q . && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m start",
        );
        if who == Who::User && is_root() {
            // Everything but the program, which may be a link to the one that was built.
            let mut chown = Command::new("chown");
            chown.arg("-R").arg(format!("{SPARE_UID}:{SPARE_UID}"));
            chown.args(["ws", "outside", "home", "run"].map(|name| host.top.join(name)));
            assert!(chown.status().expect("chown").success());
            std::os::unix::fs::chown(&host.top, Some(SPARE_UID), Some(SPARE_UID)).expect("chown");
        }
        host
    }

    pub(crate) fn ws(&self) -> PathBuf {
        self.top.join("ws")
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// A command as the host's user.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.top)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.top.join("home"))
            .env("XDG_RUNTIME_DIR", self.top.join("run"))
            .env("TMPDIR", &self.top)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        if self.who == Who::User && is_root() {
            command.uid(SPARE_UID).gid(SPARE_UID);
        }
        command
    }

    /// Runs a script outside the sandbox, before ownership is handed over.
    fn shell_on_host(&self, script: &str) {
        let mut command = Command::new("bash");
        let status = command
            .args(["-c", script])
            .current_dir(&self.top)
            .env("HOME", self.top.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status();
        assert!(status.expect("bash").success(), "{script}");
    }

    /// `sandbox exec` with more options; started by a careless caller, who leaks descriptors, variables and a start-up file.
    pub(crate) fn exec_with(&self, options: &[&str], script: &str) -> Value {
        let mut command = self.command("bash");
        command
            .args([
                "-c",
                "export BASH_ENV=$PWD/outside/startup.sh; exec 9<outside/victim 8<home; exec \"$@\"",
                "careless",
            ])
            .arg(&self.binary)
            .args(["sandbox", "exec", "--json", "--workspace"])
            .arg(self.ws())
            .args(options)
            .args(["--", "bash", "-c", script])
            .env("SECRET_TOKEN", "PWNED-token");
        let output = command.output().expect("bash");
        parse(&output)
    }

    pub(crate) fn exec(&self, script: &str) -> Value {
        self.exec_with(&["--timeout", "30"], script)
    }

    /// Another verb of the binary.
    pub(crate) fn verb(&self, args: &[&str]) -> Output {
        self.command(&self.binary).args(args).output().expect("the binary")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The overlay's work folder is closed; root may remove it anyway, others leave it in the temporary folder.
        drop(Command::new("chmod").args(["-R", "u+rwx"]).arg(&self.top).stderr(Stdio::null()).status());
        drop(fs::remove_dir_all(&self.top));
    }
}

pub(crate) fn parse(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let short: String = text.chars().take(500).collect();
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("no JSON ({error}): {short} {}", String::from_utf8_lossy(&output.stderr)))
}

/// Living processes whose command line holds the marker.
pub(crate) fn marked(marker: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc");
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|entry| entry.file_name().to_string_lossy() != std::process::id().to_string())
        .filter_map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains(marker).then(|| format!("{} {line}", entry.file_name().to_string_lossy()))
        })
        .collect()
}

pub(crate) fn has(program: &str) -> bool {
    let found = ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists());
    if !found {
        say(&format!("NOT RUN: `{program}` is not installed here, so what needs it is not measured"));
    }
    found
}
