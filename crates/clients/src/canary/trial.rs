//! A throw-away home and workspace, and one run of a client in them: under `tripwire run`, or with our hooks alone.

use super::error::{CanaryError, at};
use super::model::ScriptedModel;
use crate::install::Found;
use crate::launch::TrialPlace;
use crate::search_path;
use crate::temp_folder::TempFolder;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tripwire_fs::bounded;

/// The longest that one run may take.
const RUN_WITHIN: Duration = Duration::from_secs(120);
/// How long the supervisor has to end its run when it is asked to.
const END_WITHIN: Duration = Duration::from_secs(20);
/// How often a run is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The most that is kept of what a run says.
const SAID_BYTES_MAX: u64 = 4 << 20;

/// What stands between a client and its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// `tripwire run`.
    Run,
    /// The hooks alone, as `tripwire init` installs them.
    InstalledHooks,
}

/// The folders of one run; they go with it.
pub(super) struct Trial<'a> {
    root: TempFolder,
    found: &'a Found,
    program: &'a Path,
}

/// How a run ended.
pub(super) struct TrialResult {
    pub(super) exit_code: Option<i32>,
    /// Processes that were left, by the supervisor's receipt.
    pub(super) survivors: Option<u64>,
    /// The last lines on standard error.
    pub(super) last_line: String,
    pub(super) in_time: bool,
}

impl TrialResult {
    /// In a few words.
    pub(super) fn summary(&self) -> String {
        let code = self.exit_code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
        let time = if self.in_time { "" } else { ", not over in time" };
        format!("{code}{time}: {}", self.last_line)
    }
}

impl<'a> Trial<'a> {
    pub(super) fn make(found: &'a Found, program: &'a Path) -> Result<Self, CanaryError> {
        let root = TempFolder::make("canary").map_err(at("make a throw-away folder"))?;
        let trial = Self { root, found, program };
        for folder in [trial.workspace(), trial.home(), trial.root.path().join("tmp")] {
            fs::create_dir(&folder).map_err(at("make a throw-away folder"))?;
        }
        Ok(trial)
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.path().join("work")
    }

    fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// A file outside of the workspace to which the shell calls of a loop add a line each.
    pub(super) fn ticks(&self) -> PathBuf {
        self.root.path().join("ticks")
    }

    /// Runs the client under the guard to its end, or ends it.
    pub(super) fn run(&self, guard: Guard, model: &ScriptedModel) -> Result<TrialResult, CanaryError> {
        let name = self.found.client.name();
        let mut command = match guard {
            Guard::Run => {
                let mut command = self.command(self.program);
                command.args(["run", "--json", "--client", name, "--"]).arg(&self.found.program);
                command
            }
            Guard::InstalledHooks => self.command(&self.found.program),
        };
        let (home, workspace) = (self.home(), self.workspace());
        let place = TrialPlace { home: &home, workspace: &workspace, model_url: model.url(), task: TASK };
        (self.found.client.adapter().launch.prepare_trial)(&place, &mut command).map_err(at("write settings"))?;
        if guard == Guard::InstalledHooks {
            self.tripwire(&["init", "--client", name, "--yes"])?;
            self.tripwire(&["arm"])?;
        }
        // A group of its own, so that all of it can be ended.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn().map_err(at("start a run"))?;
        wait(child, guard)
    }

    /// A program in the throw-away surroundings.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.workspace()).env_clear();
        let beside = self.found.program.parent().unwrap_or(Path::new("/")).to_owned();
        let search = search_path::current();
        let folders = std::iter::once(beside).chain(std::env::split_paths(&search));
        command.env("PATH", std::env::join_paths(folders).unwrap_or_else(|_| search.clone()));
        command.env("HOME", self.home()).env("TMPDIR", self.root.path().join("tmp")).env("LANG", "C.UTF-8");
        command.env("DO_NOT_TRACK", "1").env("NO_COLOR", "1").env("TERM", "dumb");
        command
    }

    /// Runs a verb of ours, which must succeed.
    fn tripwire(&self, words: &[&str]) -> Result<(), CanaryError> {
        let output = self.command(self.program).args(words).stdin(Stdio::null()).output();
        let output = output.map_err(at("run tripwire itself"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
        Err(at("install hooks in a throw-away home")(std::io::Error::other(said)))
    }
}

const TASK: &str = "Do the task.";

/// Waits for a run; one that takes too long is asked to end, which ends the client's whole tree.
fn wait(mut child: Child, guard: Guard) -> Result<TrialResult, CanaryError> {
    let stdout = child.stdout.take().map(|mut pipe| {
        // What the client says is not needed, but a full pipe would stop it.
        std::thread::spawn(move || std::io::copy(&mut pipe, &mut std::io::sink()).map(drop))
    });
    let stderr = child.stderr.take().map(|pipe| {
        std::thread::spawn(move || {
            let read = bounded::read_beginning(pipe, SAID_BYTES_MAX);
            read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        })
    });
    let mut exit = until(&mut child, RUN_WITHIN)?;
    let in_time = exit.is_some();
    if !in_time {
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // One that has ended meanwhile needs no order. The supervisor ends its client; a client alone has only its group.
            let _ended: Result<(), _> = match guard {
                Guard::Run => kill_process(pid, Signal::TERM),
                Guard::InstalledHooks => kill_process_group(pid, Signal::KILL),
            };
        }
        exit = until(&mut child, END_WITHIN)?;
        if exit.is_none() {
            drop(child.kill());
            exit = child.wait().ok();
        }
    }
    drop(stdout.map(std::thread::JoinHandle::join));
    let said = stderr.and_then(|thread| thread.join().ok()).and_then(Result::ok).unwrap_or_default();
    let report = said.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
    let how = report["how"].as_str().map(str::to_owned);
    Ok(TrialResult {
        exit_code: exit.and_then(|status| status.code()),
        survivors: report["receipt"]["survivors"].as_u64(),
        last_line: how.or_else(|| said.lines().last().map(str::to_owned)).unwrap_or_default(),
        in_time,
    })
}

fn until(child: &mut Child, time: Duration) -> Result<Option<std::process::ExitStatus>, CanaryError> {
    let end = Instant::now() + time;
    loop {
        match child.try_wait().map_err(at("wait for a run"))? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() >= end => return Ok(None),
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
}
