//! A client that ended before its hook was ever called: it refused its own command line, only printed something, or worked
//! past its guard. What it left behind tells which; where that cannot be told, the guard is taken for broken.

use crate::ending::WorkerEnd;
use crate::output_tap::OutputTap;
use crate::transcript_audit::shows_calls;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tripwire_clients::install::read_settings;
use tripwire_clients::launch::{Program, Purpose};
use tripwire_clients::transcript_files::{self, TranscriptFolder};
use tripwire_clients::{Client, Homes};
use tripwire_sandbox::TreeExit;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// How many files and folders of a workspace are looked at; in a larger one it cannot be said that nothing was done.
const ENTRIES_MAX: usize = 1_000_000;

/// How often transcripts are looked for while no hook was called yet.
const TRANSCRIPTS_EVERY: Duration = Duration::from_secs(1);
/// How long a first hook may be on its way while a transcript tells of work already.
const ON_ITS_WAY_WITHIN: Duration = Duration::from_secs(4);

/// What is needed to tell what such a client did.
#[derive(Debug)]
pub(crate) struct NoHookDiagnosis {
    client: Client,
    purpose: Purpose,
    /// When it was started.
    since: WallClock,
    /// The same moment on the clock of file times, which lags by up to a tick: a client may write its first transcript
    /// within that tick.
    transcripts_since: WallClock,
    /// The workspace, where a change in it says something.
    root: Option<PathBuf>,
    /// Where it keeps its transcripts.
    transcripts: Vec<TranscriptFolder>,
    /// The workspace, as transcripts name it.
    workspace: String,
    /// Whether its output tells of work, where it is read.
    heard: Option<Arc<AtomicBool>>,
    /// When the transcripts are looked at next, and since when one of them tells of work.
    next: Duration,
    seen: Option<Duration>,
}

impl NoHookDiagnosis {
    /// Notes what a client is started for, at this moment.
    pub(crate) fn note(program: Program, command: &[OsString], root: &Path, homes: &Homes, since: WallClock) -> Self {
        let own = command.get(program.arguments..).unwrap_or_default();
        // Every program writes to the home, the client first of all: a change there says nothing.
        let says = homes.home.as_ref().is_none_or(|home| !home.starts_with(root));
        Self {
            client: program.client,
            purpose: program.client.adapter().launch.command_line.purpose(own),
            since,
            transcripts_since: since.min(clock::now_of_files()),
            root: says.then(|| root.to_owned()),
            transcripts: transcript_files::places(homes)
                .into_iter()
                .filter(|place| place.client == program.client)
                .collect(),
            workspace: serde_json::Value::from(root.to_string_lossy()).to_string().trim_end_matches('"').to_owned(),
            heard: None,
            next: Duration::ZERO,
            seen: None,
        }
    }

    /// Whether the client has no hooks to wait for.
    pub(crate) fn is_at_gateway(&self) -> bool {
        self.client.is_at_gateway()
    }

    /// Listens also to the client's output, where it is read.
    pub(crate) fn hearing(self, tap: Option<&OutputTap>) -> Self {
        Self { heard: tap.map(OutputTap::worked), ..self }
    }

    /// What shows that a client worked that runs and never called its hook, at this time of a clock that stands still while
    /// the client is frozen. Its output is its own. A new transcript in this workspace may be another client's, which was
    /// started at the same time: then the first hook of this one is on its way.
    pub(crate) fn look(&mut self, now: Duration) -> Option<String> {
        if self.heard.as_ref().is_some_and(|heard| heard.load(Ordering::Relaxed)) {
            return Some(worked("its output shows it"));
        }
        if now < self.next {
            return None;
        }
        self.next = now + TRANSCRIPTS_EVERY;
        let mut paths = self.transcripts.iter().flat_map(|place| place.files().paths);
        let path = paths.find(|path| self.is_made_here(path) && shows_calls(self.client, path))?;
        let since = *self.seen.get_or_insert(now);
        let is_late = now.saturating_sub(since) >= ON_ITS_WAY_WITHIN;
        is_late.then(|| worked(&format!("calls are in `{}`", path.display())))
    }

    /// Whether a transcript was begun since the start, in this workspace, as far as it tells.
    fn is_made_here(&self, path: &Path) -> bool {
        let made = path.symlink_metadata().and_then(|metadata| metadata.created()).ok();
        let made = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
        let is_new = made.is_some_and(|made| made.as_millis() >= u128::from(self.transcripts_since.epoch_ms()));
        is_new
            && (!self.client.adapter().transcript.names_workspace
                || read_settings(path).is_some_and(|text| text.contains(&self.workspace)))
    }

    /// Why the time of a client that ended so is over.
    pub(crate) fn over(&self, exit: TreeExit) -> WorkerEnd {
        if let Some(work) = self.work() {
            return WorkerEnd::Broken(worked(&work));
        }
        match (exit, self.purpose) {
            (TreeExit::Exited(0), Purpose::Task) => {
                WorkerEnd::Broken("the client ended and never called its hook".to_owned())
            }
            (TreeExit::Exited(0), Purpose::NoTask) | (TreeExit::Exited(_) | TreeExit::Signaled(_), _) => {
                WorkerEnd::ByItself(exit)
            }
        }
    }

    /// What shows that it worked.
    fn work(&self) -> Option<String> {
        for path in self.transcripts.iter().flat_map(|place| place.files().paths) {
            if changed_since(&path, self.transcripts_since) && shows_calls(self.client, &path) {
                return Some(format!("calls are in `{}`", path.display()));
            }
        }
        let root = self.root.as_ref()?;
        match self.changed(root, &mut 0) {
            Ok(changed) => changed.map(|path| format!("`{}` changed while it ran", path.display())),
            Err(TooLarge) => Some(format!("`{}` is too large to see that nothing changed in it", root.display())),
        }
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
        // The exact start is compared here: what the run itself wrote just before it is not the client's.
        Ok(changed_since(path, self.since).then(|| path.to_owned()))
    }
}

/// Whether a file changed since then. Its time of change is the kernel's own and not the client's to choose.
fn changed_since(path: &Path, since: WallClock) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    let changed_ms = metadata.ctime().saturating_mul(1_000).saturating_add(metadata.ctime_nsec() / 1_000_000);
    u64::try_from(changed_ms).is_ok_and(|changed_ms| changed_ms >= since.epoch_ms())
}

fn worked(how: &str) -> String {
    format!("the client never called its hook and worked all the same: {how}")
}

/// A workspace that is too large to look everywhere.
struct TooLarge;

#[cfg(test)]
mod tests {
    use super::*;

    fn purpose_of(line: &str) -> Purpose {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let program = Program::find(&command).unwrap();
        program.client.adapter().launch.command_line.purpose(&command[program.arguments..])
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
        let diagnosis = NoHookDiagnosis::note(program, &command, root.path(), &homes, clock::now());
        let done = TreeExit::Exited(0);
        tick();
        assert_eq!(diagnosis.over(done), WorkerEnd::ByItself(done), "what is older says nothing");
        std::fs::write(root.path().join(".geometry/x"), "ours").unwrap();
        std::fs::write(home.path().join(".claude/projects/w/new.jsonl"), "{\"type\":\"summary\"}\n").unwrap();
        assert_eq!(diagnosis.over(done), WorkerEnd::ByItself(done), "our own folder and a transcript without calls");
        std::fs::create_dir(root.path().join("sub")).unwrap();
        assert!(
            matches!(diagnosis.over(TreeExit::Exited(1)), WorkerEnd::Broken(_)),
            "a change, whatever the exit code"
        );
        let elsewhere = NoHookDiagnosis { root: None, ..diagnosis };
        assert_eq!(elsewhere.over(done), WorkerEnd::ByItself(done));
        std::fs::write(home.path().join(".claude/projects/w/new.jsonl"), call).unwrap();
        assert!(matches!(elsewhere.over(done), WorkerEnd::Broken(_)));
    }
    #[test]
    fn const_5_work_shows_while_the_client_runs_at_once_in_its_output_and_soon_in_a_new_transcript() {
        let (root, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = home.path().join(".claude/projects/w");
        std::fs::create_dir_all(&folder).unwrap();
        let homes = Homes { home: Some(home.path().to_owned()), ..Homes::default() };
        let command = ["claude", "-p", "x"].map(OsString::from);
        let program = Program::find(&command).unwrap();
        let since = WallClock::from_epoch_ms(0);
        let note = || NoHookDiagnosis::note(program, &command, root.path(), &homes, since);
        let call = |cwd: &Path| {
            let cwd = cwd.display();
            format!(
                "{{\"cwd\":\"{cwd}\",\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"x\"}}]}}}}\n"
            )
        };
        let late = ON_ITS_WAY_WITHIN + TRANSCRIPTS_EVERY;
        let mut diagnosis = note();
        std::fs::write(folder.join("elsewhere.jsonl"), call(Path::new("/elsewhere"))).unwrap();
        assert_eq!((diagnosis.look(Duration::ZERO), diagnosis.look(late)), (None, None), "of another folder");
        std::fs::write(folder.join("here.jsonl"), call(root.path())).unwrap();
        let mut diagnosis = note();
        assert_eq!(diagnosis.look(Duration::ZERO), None, "a hook may be on its way");
        assert!(diagnosis.look(late).unwrap().contains("here.jsonl"));
        let future = WallClock::from_epoch_ms(u64::MAX / 2);
        let mut older = NoHookDiagnosis { transcripts_since: future, ..note() };
        assert_eq!((older.look(Duration::ZERO), older.look(late)), (None, None), "what was there before says nothing");
        let mut heard = NoHookDiagnosis { heard: Some(Arc::new(AtomicBool::new(true))), ..note() };
        assert!(heard.look(Duration::ZERO).unwrap().contains("its output"));
    }
}
