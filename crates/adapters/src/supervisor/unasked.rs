//! A client that ended before its hook was ever called: it refused its own command line, only printed something, or worked
//! past its guard. What it left behind tells which; where that cannot be told, the guard is taken for broken.

use super::program::Program;
use super::records::{Entry, Record};
use super::watch::Over;
use crate::hooks::Client;
use crate::hooks::protected::Homes;
use crate::transcripts::{self, Place};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tripwire_host::geometry::wall_clock::WallClock;
use tripwire_host::tree::TreeExit;

/// How many files and folders of a workspace are looked at; in a larger one nobody can say that nothing was done.
const ENTRIES_MAX: usize = 1_000_000;

/// What a command line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A task: such a client calls its hook before anything else.
    Task,
    /// To print something, to manage the client, or to wait for what a person types.
    NoTask,
}

/// What is needed to tell what such a client did.
#[derive(Debug)]
pub(crate) struct Unasked {
    client: Client,
    purpose: Purpose,
    /// When it was started.
    since: WallClock,
    /// The workspace, where a change in it says something.
    root: Option<PathBuf>,
    /// Where it keeps its transcripts.
    transcripts: Vec<Place>,
}

impl Unasked {
    /// Notes what a client is started for, at this moment.
    pub(super) fn note(
        program: Program,
        command: &[OsString],
        (root, homes): (&Path, &Homes),
        since: WallClock,
    ) -> Self {
        let own = command.get(program.arguments..).unwrap_or_default();
        // Every program writes to the home, the client first of all: a change there says nothing.
        let says = homes.home.as_ref().is_none_or(|home| !home.starts_with(root));
        Self {
            client: program.client,
            purpose: purpose(program.client, own),
            since,
            root: says.then(|| root.to_owned()),
            transcripts: transcripts::places(homes)
                .into_iter()
                .filter(|place| place.client == program.client)
                .collect(),
        }
    }

    /// Why the time of a client that ended so is over.
    pub(super) fn over(&self, exit: TreeExit) -> Over {
        if let Some(work) = self.work() {
            return Over::Broken(format!("the client never called its hook and worked all the same: {work}"));
        }
        match (exit, self.purpose) {
            (TreeExit::Exited(0), Purpose::Task) => {
                Over::Broken("the client ended and never called its hook".to_owned())
            }
            (TreeExit::Exited(0), Purpose::NoTask) | (TreeExit::Exited(_) | TreeExit::Signaled(_), _) => {
                Over::ByItself(exit)
            }
        }
    }

    /// What shows that it worked.
    fn work(&self) -> Option<String> {
        for path in self.transcripts.iter().flat_map(|place| place.files().paths) {
            if self.is_new(&path) && self.holds_calls(&path) {
                return Some(format!("calls stand in `{}`", path.display()));
            }
        }
        let root = self.root.as_ref()?;
        match self.changed(root, &mut 0) {
            Ok(changed) => changed.map(|path| format!("`{}` changed while it ran", path.display())),
            Err(TooLarge) => Some(format!("`{}` is too large to see that nothing changed in it", root.display())),
        }
    }

    fn holds_calls(&self, path: &Path) -> bool {
        // A record that cannot be read may hold anything.
        let entries = Record::follow(self.client, path, 0).news();
        entries.is_err()
            || entries.is_ok_and(|entries| {
                entries.iter().any(|entry| match entry {
                    Entry::Asked { .. } | Entry::Polled { .. } | Entry::Answered { .. } => true,
                    Entry::ProviderError { .. } => false,
                })
            })
    }

    /// The first file or folder that changed since the start; our own folder apart.
    fn changed(&self, path: &Path, seen: &mut usize) -> Result<Option<PathBuf>, TooLarge> {
        *seen += 1;
        if *seen > ENTRIES_MAX {
            return Err(TooLarge);
        }
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            for entry in std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
                if entry.file_name() == ".geometry" {
                    continue;
                }
                if let Some(found) = self.changed(&entry.path(), seen)? {
                    return Ok(Some(found));
                }
            }
        }
        // A folder changes when a name in it comes or goes: what is gone is seen there.
        Ok(self.is_new(path).then(|| path.to_owned()))
    }

    /// Whether a file changed since the start. Its time of change is the kernel's own and not the client's to choose; it
    /// may lag by a tick, in which no client has come further than its own start.
    fn is_new(&self, path: &Path) -> bool {
        let Ok(metadata) = path.symlink_metadata() else { return false };
        let changed_ms = metadata.ctime().saturating_mul(1_000).saturating_add(metadata.ctime_nsec() / 1_000_000);
        u64::try_from(changed_ms).is_ok_and(|changed_ms| changed_ms >= self.since.epoch_ms())
    }
}

/// A workspace in which nobody can look everywhere.
struct TooLarge;

/// What a command line is for. A word that is not known is a task.
fn purpose(client: Client, own: &[OsString]) -> Purpose {
    let (tells, manages): (&[&str], &[&str]) = match client {
        Client::Claude => (
            &["-v", "--version", "-h", "--help"],
            &["agents", "auth", "doctor", "install", "mcp", "plugin", "plugins", "setup-token", "update", "upgrade"],
        ),
        Client::Codex => {
            (&["-V", "--version", "-h", "--help"], &["completion", "features", "help", "login", "logout", "mcp"])
        }
        Client::Gemini => (
            &["-v", "--version", "-h", "--help", "-l", "--list-extensions", "--list-sessions"],
            &["extension", "extensions", "hook", "hooks", "mcp", "skill", "skills"],
        ),
    };
    let is_one = |list: &[&str], word: &OsString| list.iter().any(|one| word == one);
    let before_dashes = own.iter().take_while(|word| *word != "--");
    let no_task = own.is_empty() || before_dashes.clone().any(|word| is_one(tells, word)) || is_one(manages, &own[0]);
    if no_task { Purpose::NoTask } else { Purpose::Task }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_host::clock;

    fn purpose_of(line: &str) -> Purpose {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let program = Program::find(&command).unwrap();
        purpose(program.client, &command[program.arguments..])
    }

    #[test]
    fn what_only_prints_or_manages_is_no_task_and_every_other_word_is_one() {
        for line in [
            "claude",
            "claude --version",
            "claude mcp list",
            "npx @openai/codex --help",
            "codex exec -h",
            "codex login status",
            "gemini -v",
            "gemini extensions list",
        ] {
            assert_eq!(purpose_of(line), Purpose::NoTask, "{line}");
        }
        for line in
            ["claude -p x", "claude fix-it", "claude -p -- --version", "codex exec x", "codex -V1", "gemini -p x"]
        {
            assert_eq!(purpose_of(line), Purpose::Task, "{line}");
        }
    }

    #[test]
    fn const_5_calls_in_a_transcript_and_changes_in_the_workspace_are_work() {
        let (root, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(root.path().join(".geometry")).unwrap();
        std::fs::create_dir_all(home.path().join(".claude/projects/w")).unwrap();
        let old = home.path().join(".claude/projects/w/old.jsonl");
        let call = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"x\"}]}}\n";
        std::fs::write(&old, call).unwrap();
        let tick = || std::thread::sleep(std::time::Duration::from_millis(50));
        tick();
        let homes = Homes { home: Some(home.path().to_owned()), ..Homes::default() };
        let command = ["claude", "--version"].map(OsString::from);
        let program = Program::find(&command).unwrap();
        let unasked = Unasked::note(program, &command, (root.path(), &homes), clock::now());
        let done = TreeExit::Exited(0);
        tick();
        assert_eq!(unasked.over(done), Over::ByItself(done), "what is older says nothing");
        std::fs::write(root.path().join(".geometry/x"), "ours").unwrap();
        std::fs::write(home.path().join(".claude/projects/w/new.jsonl"), "{\"type\":\"summary\"}\n").unwrap();
        assert_eq!(unasked.over(done), Over::ByItself(done), "our own folder and a transcript without calls");
        std::fs::create_dir(root.path().join("sub")).unwrap();
        assert!(matches!(unasked.over(TreeExit::Exited(1)), Over::Broken(_)), "a change, whatever the exit code");
        let elsewhere = Unasked { root: None, ..unasked };
        assert_eq!(elsewhere.over(done), Over::ByItself(done));
        std::fs::write(home.path().join(".claude/projects/w/new.jsonl"), call).unwrap();
        assert!(matches!(elsewhere.over(done), Over::Broken(_)));
    }
}
