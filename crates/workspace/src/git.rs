//! git as a source of facts only: read-only commands, a clean environment, nothing that a repository could make it run.
//!
//! A repository's own configuration may name programs (filters, a file-system monitor, hooks, a pager). The agent can
//! write that configuration at any moment, and these commands run outside its sandbox. So git runs without being able to
//! start any program at all; that the known ones are switched off beside that lets it answer where one is required.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::bounded::{self, BoundedError};
use tripwire_fs::shell_word::shell_word;

/// The nearest ancestor that is a git work tree.
pub fn top_level(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|folder| common_folder(folder).is_some()).map(Path::to_owned)
}

/// The folder with what all work trees of a repository share, for a folder that has a `.git`.
pub fn common_folder(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    let own = if dot_git.is_dir() {
        dot_git
    } else {
        let pointer = short_text(&dot_git)?;
        top.join(pointer.strip_prefix("gitdir:")?.trim())
    };
    if !own.join("HEAD").symlink_metadata().is_ok_and(|head| head.is_file() || head.is_symlink()) {
        return None;
    }
    match short_text(&own.join("commondir")) {
        Some(common) => own.join(common.trim()).canonicalize().ok(),
        None => Some(own),
    }
}

/// The text of one of git's small pointer files; no pipe in its place keeps anybody waiting.
pub fn short_text(path: &Path) -> Option<String> {
    let bytes = tripwire_fs::file::read_bounded(path, 4_096).ok()?;
    String::from_utf8(bytes).ok()
}

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git` here.
    #[error("`git` is not installed")]
    NotInstalled,
    /// git could not be started.
    #[error("cannot run `git`: {cause}")]
    NotStarted {
        /// The system's reason.
        cause: io::Error,
    },
    /// git said no.
    #[error("`git {command}` failed in `{}`: {said}", root.display())]
    Failed {
        /// The command.
        command: &'static str,
        /// The work tree.
        root: PathBuf,
        /// The first line of its complaint.
        said: String,
    },
    /// git took too long or said too much.
    #[error("`git {command}` in `{}` went over {bound}", root.display())]
    Unbounded {
        /// The command.
        command: &'static str,
        /// The work tree.
        root: PathBuf,
        /// The bound it crossed.
        bound: &'static str,
    },
}

impl Explain for GitError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotInstalled | Self::NotStarted { .. } => "install git, or check the search path".into(),
            Self::Failed { root, .. } => {
                format!("check the repository: `git -C {0} status && git -C {0} fsck`", shell_word(root)).into()
            }
            Self::Unbounded { root, .. } => {
                format!("add build output to `.gitignore`; see `git -C {} status --short | wc -l`", shell_word(root))
                    .into()
            }
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

/// A work tree to ask.
pub struct Repository {
    root: PathBuf,
    /// Settings that override the repository's own, as names and values.
    overrides: Vec<(OsString, &'static str)>,
}

impl Repository {
    /// Prepares the overrides that keep a repository's own programs from running.
    pub fn open(root: &Path) -> Result<Self, GitError> {
        let mut repository = Self { root: root.to_owned(), overrides: Vec::new() };
        let names = repository.ask("config", &["config", "--list", "--name-only", "-z"])?;
        let mut drivers = BTreeSet::new();
        for name in names.split(|byte| *byte == 0).filter_map(|name| name.strip_prefix(b"filter.")) {
            drivers.extend(name.iter().rposition(|byte| *byte == b'.').and_then(|end| name.get(..end)));
        }
        for driver in drivers {
            for (program, value) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
                let key = [b"filter.", driver, b".", program.as_bytes()].concat();
                repository.overrides.push((OsString::from_vec(key), value));
            }
        }
        Ok(repository)
    }

    /// `git status` for machines: HEAD, changed and untracked paths.
    pub(super) fn status(&self) -> Result<Vec<u8>, GitError> {
        let arguments = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
        ];
        self.ask("status", &arguments)
    }

    /// Every entry of the index: mode, object, stage, path.
    pub(super) fn index(&self) -> Result<Vec<u8>, GitError> {
        self.ask("ls-files", &["ls-files", "--stage", "-z", "--full-name"])
    }

    /// Runs one read-only command.
    pub fn ask(&self, name: &'static str, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        let mut command = Command::new("git");
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(ENVIRONMENT)
            .arg("--no-pager")
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"])
            .args(["-c", "protocol.allow=never", "-c", "safe.directory=*", "-c", "core.quotePath=false"])
            .args(["-c", "submodule.recurse=false", "-c", "status.showUntrackedFiles=all"])
            .arg("--work-tree=.")
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Not as `-c name=value`: that ends a name at its first `=`, and a filter's name may hold one.
        command.env("GIT_CONFIG_COUNT", self.overrides.len().to_string());
        for (at, (name, value)) in self.overrides.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), name).env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        tripwire_sandbox::childless(&mut command);
        let child = command.spawn().map_err(|cause| {
            // A work tree that is gone gives the same error as a program that is missing.
            if cause.kind() == io::ErrorKind::NotFound && self.root.is_dir() {
                GitError::NotInstalled
            } else {
                GitError::NotStarted { cause }
            }
        })?;
        let unbounded = |bound| GitError::Unbounded { command: name, root: self.root.clone(), bound };
        let answer = collect(child).map_err(|problem| match problem {
            Trouble::Io(cause) => GitError::NotStarted { cause },
            Trouble::TooLong => unbounded("its time of 60 s"),
            Trouble::TooMuch => unbounded("its output of 256 MiB"),
        })?;
        if answer.success {
            return Ok(answer.stdout);
        }
        let said = String::from_utf8_lossy(&answer.stderr).lines().next().unwrap_or("no reason given").to_owned();
        Err(GitError::Failed { command: name, root: self.root.clone(), said })
    }
}

/// What a finished command left.
struct Answer {
    success: bool,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Why a command was ended.
enum Trouble {
    Io(io::Error),
    TooLong,
    TooMuch,
}

/// Reads both outputs at the same time, up to their bounds, and ends the command at its deadline.
fn collect(mut child: Child) -> Result<Answer, Trouble> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (sender, finished) = std::sync::mpsc::channel();
    let stderr =
        std::thread::spawn(move || err.map_or(Ok(Vec::new()), |err| bounded::read_beginning(err, COMPLAINT_BYTES_MAX)));
    // A receiver that gave up at its deadline no longer listens; then there is nothing to send.
    std::thread::spawn(move || {
        let stdout = out.map_or(Ok(Vec::new()), |out| bounded::read_whole(out, OUTPUT_BYTES_MAX));
        sender.send(stdout).ok()
    });
    let mut end = |trouble| {
        child.kill().and_then(|()| child.wait()).map_err(Trouble::Io)?;
        Err(trouble)
    };
    let stdout = match finished.recv_timeout(TIME_MAX) {
        Ok(Ok(stdout)) => stdout,
        Ok(Err(BoundedError::Io(cause))) => return Err(Trouble::Io(cause)),
        Ok(Err(BoundedError::TooBig { .. })) => return end(Trouble::TooMuch),
        Err(_) => return end(Trouble::TooLong),
    };
    let success = child.wait().map_err(Trouble::Io)?.success();
    let stderr = stderr.join().unwrap_or_else(|_| Ok(Vec::new())).map_err(Trouble::Io)?;
    Ok(Answer { success, stdout, stderr })
}

/// Settings that no file on this machine may change: no lock, no prompt, no network, no user or system configuration.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("LC_ALL", "C"),
    ("HOME", "/nonexistent"),
];
/// Longest time for one command.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Most output of one command.
const OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Most of a complaint that is kept.
const COMPLAINT_BYTES_MAX: u64 = 64 * 1024;

#[cfg(test)]
mod tests;
