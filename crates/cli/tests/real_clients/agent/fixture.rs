//! A workspace, a real client with its model, and `tripwire agent` with that client as its engine.

use crate::support::clients::{Client, Kind, Run, User};
use crate::support::model::Model;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");
/// The longest that anything is waited for on a loaded machine.
const TIME_MAX: Duration = Duration::from_secs(240);

pub(crate) struct AgentFixture {
    folder: tempfile::TempDir,
    kind: Kind,
    client: Client,
    pub(crate) model: Model,
}

/// A run that has ended.
pub(crate) struct AgentEnd {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl AgentEnd {
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }
}

impl AgentFixture {
    /// A workspace with these files; nothing if the client is not installed.
    pub(crate) fn new(kind: Kind, model: Model, files: &[(&str, &str)]) -> Option<Self> {
        let client = Client::find(kind)?;
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work", "home", "temp"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        for (name, text) in files {
            fs::write(folder.path().join("work").join(name), text).expect("a file");
        }
        Some(Self { folder, kind, client, model })
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a cassette and gives the engine that plays it.
    pub(crate) fn cassette(&self, name: &str, answers: &[Value]) -> String {
        let lines: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
        fs::write(self.beside(name), format!("{{\"cassette\":1}}\n{lines}")).expect("a cassette");
        format!("scripted:{}", self.beside(name).display())
    }

    /// Starts the loop with the client as its engine.
    pub(crate) fn start(&self, flags: &[&str]) -> Child {
        let work = self.work();
        let run = Run { workspace: &work, hook: None, model: &self.model.url, user: User::Same };
        let home = self.beside("home");
        let plain = self.client.command(run, &home);
        let mut engine = plain.get_program().to_string_lossy().into_owned();
        // The scripted model asks for commands, which a client allows only if it is told to.
        match self.kind {
            Kind::Claude => engine += " --permission-mode bypassPermissions",
            Kind::Codex => engine += " -s danger-full-access",
            Kind::Gemini => {
                let script = plain.get_args().next().expect("its script").to_string_lossy().into_owned();
                engine += &format!(" {script} -m gemini-2.5-pro --approval-mode yolo");
            }
            Kind::Opencode | Kind::Qwen | Kind::Aider => panic!("{:?} is no worker of these tests", self.kind),
        }
        let mut command = self.verb(&["agent", "--objective", "make sum.sh add", "--engine", &engine]);
        command.args(flags);
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.spawn().expect("the loop starts")
    }

    /// A verb of ours.
    pub(crate) fn verb(&self, words: &[&str]) -> Command {
        let mut command = Command::new(TRIPWIRE);
        command.args(words).current_dir(self.work()).env_clear().env("HOME", self.beside("home"));
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TMPDIR", self.beside("temp"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, flags: &[&str]) -> AgentEnd {
        finish(self.start(flags))
    }

    /// Waits until the model was asked so often.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        let start = Instant::now();
        while self.model.asked().len() < count {
            assert!(start.elapsed() < TIME_MAX, "the model was not asked {count} times");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The transcript of the loop, which is the only one.
    pub(crate) fn transcript(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.transcript_path()).expect("a transcript");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn transcript_path(&self) -> PathBuf {
        let folder = self.work().join(".geometry/transcripts");
        let mut files = fs::read_dir(folder).expect("transcripts").map(|entry| entry.expect("an entry").path());
        files.next().expect("a transcript")
    }

    /// The session of the loop.
    pub(crate) fn session(&self) -> String {
        self.transcript_path().file_stem().expect("a name").to_string_lossy().into_owned()
    }

    /// The sessions of the workspace: the loop's, and one for each turn of a worker.
    pub(crate) fn sessions(&self) -> usize {
        fs::read_dir(self.work().join(".geometry/journal")).expect("journals").count()
    }
}

/// The lines of one kind.
pub(crate) fn of_kind<'a>(transcript: &'a [Value], kind: &str) -> Vec<&'a Value> {
    transcript.iter().filter(|line| line["kind"] == kind).collect()
}

/// Waits for a run to end.
pub(crate) fn finish(child: Child) -> AgentEnd {
    let (status, stdout, stderr) = tripwire_testing::wait(child, TIME_MAX);
    AgentEnd { code: status.code(), stdout, stderr }
}
