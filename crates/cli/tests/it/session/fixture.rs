//! A workspace with a person's home beside it, and the binary run in it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A fresh workspace; the home with the signing key lies outside of it.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Ends the test unless the command ended so.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Ends the test unless the output holds these words.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.out.contains(words), "`{words}` is not in:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Ends the test unless it failed with these words, and with a hint.
    #[track_caller]
    pub(crate) fn complains(self, words: &str) -> Self {
        assert!(self.err.contains(words), "`{words}` is not in:\n{}\nstdout:\n{}", self.err, self.out);
        assert!(self.err.contains("hint: "), "no hint in:\n{}", self.err);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.out.trim()).unwrap_or_else(|error| panic!("{error} in:\n{}\n{}", self.out, self.err))
    }

    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A state file as a tripwire of another version would have written it, with the checksum of any.
pub(crate) fn of_version(version: u8, state: &[u8]) -> Vec<u8> {
    let mut bytes = state[..state.len() - 8].to_vec();
    bytes[0] = version;
    let checksum = twox_hash::XxHash64::oneshot(0, &bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

impl Place {
    /// The state file of the one session.
    pub(crate) fn state_file(&self) -> PathBuf {
        self.geometry(&format!("state/{}.state", self.session()))
    }

    pub(crate) fn new() -> Self {
        let place = Self { dir: tripwire_testing::folder() };
        for folder in ["work", "home", "state"] {
            fs::create_dir(place.dir.path().join(folder)).unwrap();
        }
        place
    }

    /// Another place with the same workspace and home; what the machine noted about the first one stays there.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self { dir: tripwire_testing::folder() };
        fs::create_dir(copy.dir.path().join("state")).unwrap();
        let (work, home) = (self.work(), self.dir.path().join("home"));
        assert!(Command::new("cp").arg("-a").args([work, home]).arg(copy.dir.path()).status().unwrap().success());
        copy
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn geometry(&self, name: &str) -> PathBuf {
        self.work().join(".geometry").join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The binary, with this place's home and workspace.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tripwire"));
        command
            .args(args)
            .current_dir(self.work())
            .env("HOME", self.dir.path().join("home"))
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .env("XDG_CONFIG_HOME", self.dir.path().join("config"))
            .env("USER", "ada")
            // An agent may run the tests; the person in them is none.
            .env_remove("CLAUDECODE")
            .env_remove("GEMINI_CLI")
            .env_remove("CODEX_CI")
            .env_remove("CODEX_THREAD_ID")
            .env_remove("CODEX_SANDBOX")
            .env_remove("CODEX_SANDBOX_NETWORK_DISABLED")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    /// Runs with a text as standard input.
    pub(crate) fn feed(&self, args: &[&str], text: &str) -> Said {
        Said::of(feed(self.command(args), text.as_bytes()))
    }

    /// Takes these lines into the newest session.
    pub(crate) fn step(&self, lines: &str) -> Said {
        self.feed(&["step", "-"], lines)
    }

    /// The only session, or the newest.
    pub(crate) fn session(&self) -> String {
        let mut names: Vec<String> = fs::read_dir(self.geometry("journal"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names.pop().unwrap()
    }

    /// A file of the newest session's journal.
    pub(crate) fn journal(&self, name: &str) -> PathBuf {
        self.geometry("journal").join(self.session()).join(name)
    }

    pub(crate) fn manifest(&self, text: &str) {
        fs::create_dir_all(self.geometry("")).unwrap();
        fs::write(self.geometry("MANIFEST.yaml"), text).unwrap();
    }
}

/// Runs a command with these bytes as its standard input.
pub(crate) fn feed(mut command: Command, bytes: &[u8]) -> Output {
    let mut child: Child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that refuses early closes its input; that is its right.
    child.stdin.take().unwrap().write_all(bytes).ok();
    child.wait_with_output().unwrap()
}

/// A call with this command and this output.
pub(crate) fn call(command: &str, output: &str) -> String {
    format!("{{\"timestamp\":0,\"tool\":\"Bash\",\"args\":{{\"command\":\"{command}\"}},\"output\":\"{output}\"}}\n")
}

/// Calls that are all different.
pub(crate) fn calls(count: usize) -> String {
    (0..count).map(|n| call(&format!("work {n}"), &format!("done {n}"))).collect()
}

/// Says loudly that something was not tested.
pub(crate) fn skip(why: &str) {
    eprintln!("NOT TESTED: {why}");
}
