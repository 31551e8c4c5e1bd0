//! A throw-away home and workspace, and one run of a client in them under `tripwire run`.

use super::error::{CanaryError, at};
use super::model::ScriptedModel;
use crate::install::Found;
use crate::launch::TrialPlace;
use crate::search_path;
use crate::temp_folder::TempFolder;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
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
    /// The last words on standard error.
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

    /// Runs the client under the guard to its end, or ends it.
    pub(super) fn run(&self, model: &ScriptedModel) -> Result<TrialResult, CanaryError> {
        let mut command = Command::new(self.program);
        command.args(["run", "--json", "--client", self.found.client.name(), "--"]).arg(&self.found.program);
        command.current_dir(self.workspace()).env_clear();
        command.env("PATH", search_path::current());
        command.env("HOME", self.home()).env("TMPDIR", self.root.path().join("tmp")).env("LANG", "C.UTF-8");
        command.env("DO_NOT_TRACK", "1").env("NO_COLOR", "1").env("TERM", "dumb");
        let (home, workspace) = (self.home(), self.workspace());
        let place = TrialPlace { home: &home, workspace: &workspace, model_url: model.url(), task: TASK };
        (self.found.client.adapter().launch.prepare_trial)(&place, &mut command).map_err(at("write settings"))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(at("start a run"))?;
        wait(child)
    }
}

const TASK: &str = "Do the task.";

/// Waits for a run; one that takes too long is asked to end, which ends the client's whole tree.
fn wait(mut child: Child) -> Result<TrialResult, CanaryError> {
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
            // One that has ended meanwhile needs no order.
            let _ended: Result<(), _> = kill_process(pid, Signal::TERM);
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
