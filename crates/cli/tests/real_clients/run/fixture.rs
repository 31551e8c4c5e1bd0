//! A real client under the supervisor: started, perhaps disturbed, and read at its end.

use crate::support::clients::{Client, Kind, PROMPT, Run, SOMEONE, User};
use crate::support::model::Model;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tripwire_supervisor::WatchLimits;
use tripwire_testing::write_program;

const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");
/// The longest that a run may take on a loaded machine.
const TIME_MAX: Duration = Duration::from_secs(300);

/// A workspace with a client and its model.
pub(crate) struct RunFixture {
    pub(crate) place: tempfile::TempDir,
    home: tempfile::TempDir,
    temporary: tempfile::TempDir,
    client: Client,
    user: User,
    pub(crate) model: Model,
}

/// A run that has ended.
pub(crate) struct RunEnd {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) report: Value,
}

impl RunEnd {
    /// The run ended with this code, and its receipt says that nobody is left.
    pub(crate) fn ended(&self, code: i32) {
        assert_eq!((self.code, &self.report["exit"]), (Some(code), &code.into()), "{}", self.stderr);
        assert_eq!(self.report["receipt"]["survivors"], 0, "{}", self.stderr);
    }

    /// Whether anything went up to a hold or a stop.
    pub(crate) fn held(&self) -> bool {
        let findings = self.report["findings"].as_array().cloned().unwrap_or_default();
        findings.iter().any(|found| found["level"] == "hold" || found["level"] == "stop")
    }
}

impl RunFixture {
    /// A workspace with these files.
    pub(crate) fn new(client: &Client, user: User, model: Model, files: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().expect("a workspace");
        for (path, text) in files {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
            if text.starts_with("#!") {
                write_program(&path, text).expect("a program");
            } else {
                fs::write(&path, text).expect("a file");
            }
        }
        let home = tempfile::tempdir().expect("a throw-away home");
        let temporary = tempfile::tempdir().expect("a folder for temporary files");
        if user == User::Ordinary {
            std::os::unix::fs::chown(temporary.path(), Some(SOMEONE), Some(SOMEONE)).expect("root may give it away");
        }
        Self { place, home, temporary, client: client.clone(), user, model }
    }

    /// The throw-away home.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Hands a folder with all that is in it to the one who runs the client.
    pub(crate) fn give_away(&self, folder: &Path) {
        if self.user == User::Ordinary {
            let owner = format!("{SOMEONE}:{SOMEONE}");
            let given = Command::new("chown").args(["-R", &owner]).arg(folder).status();
            assert!(given.is_ok_and(|status| status.success()), "root may give it away");
        }
    }

    fn plain(&self) -> Command {
        let run = Run { workspace: self.place.path(), hook: None, model: &self.model.url, user: self.user };
        self.client.command(run, self.home.path())
    }

    /// Starts the client under the guard.
    pub(crate) fn start(&self, flags: &[&str]) -> Child {
        self.run_command(flags).spawn().expect("the supervisor starts")
    }

    /// The same with a supervisor that waits for signs of life for so many seconds at most.
    pub(crate) fn start_watched(&self, flags: &[&str], seconds: u64) -> Child {
        let mut command = self.run_command(flags);
        command.env(WatchLimits::SECONDS_VARIABLE, seconds.to_string());
        command.spawn().expect("the supervisor starts")
    }

    /// The client under the guard, ready to be started.
    pub(crate) fn run_command(&self, flags: &[&str]) -> Command {
        let plain = self.plain();
        let mut command = self.verb(&["run", "--json"]);
        // The whole suite can be run with more flags, such as `--sandbox`.
        let more = std::env::var("TRIPWIRE_RUN_FLAGS").unwrap_or_default();
        command.args(more.split_whitespace()).args(flags).arg("--").arg(plain.get_program()).args(plain.get_args());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TMPDIR", self.temporary.path());
        command
    }

    /// Runs the client once more, with words that have it go on with its last session.
    pub(crate) fn run_resumed(&self, flags: &[&str], words: &[&str]) -> RunEnd {
        let mut command = self.run_command(flags);
        let mut all: Vec<OsString> = command.get_args().map(OsStr::to_owned).collect();
        // Before the prompt where that is a word of its own, and anywhere else where it stands behind a flag.
        let prompt = all.iter().rposition(|word| word == PROMPT).expect("a prompt");
        let at = if all.get(prompt.saturating_sub(1)).is_some_and(|word| word == "-p") { all.len() } else { prompt };
        all.splice(at..at, words.iter().map(OsString::from));
        let envs: Vec<_> =
            command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        command = self.verb(&[]);
        command.args(all).envs(envs);
        finish(command.spawn().expect("the supervisor starts"))
    }

    /// A verb of ours, as the one who runs the client.
    pub(crate) fn verb(&self, words: &[&str]) -> Command {
        let mut command = Command::new(TRIPWIRE);
        command.args(words).current_dir(self.place.path()).env_clear().env("HOME", self.home.path());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.user == User::Ordinary {
            command.uid(SOMEONE).gid(SOMEONE);
        }
        command
    }

    /// Puts `.geometry/` on a disk of this size, where the tests may mount one; says loudly if not.
    pub(crate) fn small_disk(&self, size: &str) -> Option<Disk> {
        let folder = self.place.path().join(".geometry");
        fs::create_dir(&folder).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=755"), "tmpfs"]).arg(&folder);
        if mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return Some(Disk(folder));
        }
        eprintln!("SKIPPED, NOT TESTED: a full disk, because no file system can be mounted here");
        None
    }

    /// Runs the client under the guard to its end.
    pub(crate) fn run(&self, flags: &[&str]) -> RunEnd {
        finish(self.start(flags))
    }

    /// Runs the client without us.
    pub(crate) fn run_alone(&self) -> Output {
        self.client.run(Run { workspace: self.place.path(), hook: None, model: &self.model.url, user: self.user })
    }

    /// Waits until the model was asked so often.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        let start = Instant::now();
        while self.model.asked().len() < count {
            assert!(start.elapsed() < TIME_MAX, "the model was not asked {count} times");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Our program in the folder of the run that is going on.
    pub(crate) fn guards_program(&self) -> PathBuf {
        let folders = fs::read_dir(self.temporary.path()).expect("the folder").filter_map(Result::ok);
        let mut programs = folders.map(|entry| entry.path().join("guard/tripwire"));
        programs.find(|program| program.exists()).expect("a run is going on")
    }

    /// Every file of the workspace but ours, with its contents.
    pub(crate) fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(self.place.path(), self.place.path(), &mut files);
        files
    }

    /// All that the journals of the workspace say.
    pub(crate) fn journals(&self) -> String {
        let mut found = String::new();
        let mut folders = vec![self.place.path().join(".geometry/journal")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if entry.path().extension().is_some_and(|ending| ending == "jsonl") {
                    found.push_str(&fs::read_to_string(entry.path()).expect("records"));
                }
            }
        }
        found
    }

    /// A file of `.geometry/`; empty if it is not there.
    pub(crate) fn geometry(&self, name: &str) -> String {
        fs::read_to_string(self.place.path().join(".geometry").join(name)).unwrap_or_default()
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
        let path = entry.path();
        if path.file_name().is_some_and(|name| name == ".geometry") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("it lies below").display().to_string();
            files.insert(name, fs::read(&path).expect("a file"));
        }
    }
}

/// Waits for a run to end.
pub(crate) fn finish(child: Child) -> RunEnd {
    let (status, stdout, stderr) = tripwire_testing::wait(child, TIME_MAX);
    let report = stderr.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    RunEnd { code: status.code(), stdout, stderr, report: report.unwrap_or_default() }
}

/// The client, as a user who may run it here.
pub(crate) fn users(kind: Kind) -> Vec<(Client, User)> {
    let Some(client) = Client::find(kind) else { return Vec::new() };
    let mut users = vec![(client.clone(), User::Same)];
    if client.serves_ordinary_users(TRIPWIRE) {
        users.push((client, User::Ordinary));
    }
    users
}

/// The same where one of them is enough for the suite; `TRIPWIRE_ALL_USERS` asks for all of them.
pub(crate) fn some_users(kind: Kind) -> Vec<(Client, User)> {
    let all = std::env::var_os("TRIPWIRE_ALL_USERS").is_some();
    users(kind).into_iter().filter(|(_, user)| all || *user == User::Same).collect()
}

/// A disk that goes with the test.
pub(crate) struct Disk(PathBuf);

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a process that still looks at it does not keep it.
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// The text that the client gave last.
pub(crate) fn last_text(stdout: &str) -> String {
    let said = |line: &str| -> Option<String> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = match line["type"].as_str()? {
            "result" => line["result"].as_str(),
            "item.completed" => line["item"]["text"].as_str(),
            "message" if line["role"] == "assistant" => line["content"].as_str(),
            _ => None,
        };
        text.map(str::to_owned)
    };
    stdout.lines().rev().find_map(said).unwrap_or_default()
}
