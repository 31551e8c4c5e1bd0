//! A throw-away home and workspace, and one run of a client in them under `tripwire run`.

use super::model::Model;
use super::{CanaryError, at};
use crate::checkup::USUAL_PATH;
use crate::hooks::Client;
use crate::install::Found;
use crate::throwaway::Throwaway;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that one run may take.
const RUN_WITHIN: Duration = Duration::from_secs(120);
/// How long the supervisor has to end its run when it is told to.
const END_WITHIN: Duration = Duration::from_secs(20);
/// How often a run is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The most that is kept of what a run says.
const SAID_BYTES_MAX: u64 = 4 << 20;

/// The folders of one run; they go with it.
pub(super) struct Bed<'a> {
    root: Throwaway,
    found: &'a Found,
    program: &'a Path,
}

/// How a run ended.
pub(super) struct Ran {
    pub(super) exit_code: Option<i32>,
    /// Processes that were left, by the supervisor's receipt.
    pub(super) survivors: Option<u64>,
    /// The last words on standard error.
    pub(super) last_line: String,
    pub(super) in_time: bool,
}

impl Ran {
    /// In a few words.
    pub(super) fn told(&self) -> String {
        let code = self.exit_code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
        let time = if self.in_time { "" } else { ", not over in time" };
        format!("{code}{time}: {}", self.last_line)
    }
}

impl<'a> Bed<'a> {
    pub(super) fn make(found: &'a Found, program: &'a Path) -> Result<Self, CanaryError> {
        let root = Throwaway::make("canary").map_err(at("make a throw-away folder"))?;
        let bed = Self { root, found, program };
        for folder in [bed.workspace(), bed.home(), bed.root.path().join("tmp")] {
            fs::create_dir(&folder).map_err(at("make a throw-away folder"))?;
        }
        Ok(bed)
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.path().join("work")
    }

    fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Runs the client under the guard to its end, or ends it.
    pub(super) fn run(&self, model: &Model) -> Result<Ran, CanaryError> {
        let mut command = Command::new(self.program);
        command.args(["run", "--json", "--client", self.found.client.name(), "--"]).arg(&self.found.program);
        command.current_dir(self.workspace()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into()));
        command.env("HOME", self.home()).env("TMPDIR", self.root.path().join("tmp")).env("LANG", "C.UTF-8");
        command.env("DO_NOT_TRACK", "1").env("NO_COLOR", "1").env("TERM", "dumb");
        match self.found.client {
            Client::Claude => claude(&mut command, model.url()),
            Client::Codex => codex(&mut command, model.url(), self).map_err(at("write settings"))?,
            Client::Gemini => gemini(&mut command, model.url(), self).map_err(at("write settings"))?,
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(at("start a run"))?;
        wait(child)
    }
}

const TASK: &str = "Do the task.";

fn claude(command: &mut Command, model: &str) {
    command
        .args(["-p", TASK, "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"])
        .envs([
            ("ANTHROPIC_BASE_URL", model),
            ("ANTHROPIC_API_KEY", "sk-ant-made-up"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // Without it the client refuses to skip its own questions as root; here everything is thrown away.
            ("IS_SANDBOX", "1"),
        ]);
}

fn codex(command: &mut Command, model: &str, bed: &Bed<'_>) -> std::io::Result<()> {
    let folder = bed.home().join(".codex");
    fs::create_dir(&folder)?;
    let workspace = Value::from(bed.workspace().display().to_string());
    let config = format!(
        "model = \"gpt-5-codex\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n\
         [projects.{workspace}]\ntrust_level = \"trusted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"{model}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 1\n\
         stream_max_retries = 1\n"
    );
    fs::write(folder.join("config.toml"), config)?;
    command.args(["exec", "--json", "--skip-git-repo-check", TASK]);
    command.env("CODEX_HOME", folder).env("SCRIPTED_KEY", "sk-made-up");
    Ok(())
}

fn gemini(command: &mut Command, model: &str, bed: &Bed<'_>) -> std::io::Result<()> {
    let folder = bed.home().join(".gemini");
    fs::create_dir(&folder)?;
    let settings = json!({
        "telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "disableAutoUpdate": true},
        // Its own loop guard would hide ours.
        "model": {"disableLoopDetection": true},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
    });
    fs::write(folder.join("settings.json"), settings.to_string())?;
    command
        .args(["-p", TASK, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--output-format", "stream-json"])
        .envs([
            ("GEMINI_API_KEY", "made-up"),
            ("GOOGLE_GEMINI_BASE_URL", model),
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
            ("GEMINI_SANDBOX", "false"),
            ("NO_BROWSER", "1"),
        ]);
    Ok(())
}

/// Waits for a run; one that takes too long is told to end, which ends the client's whole tree.
fn wait(mut child: Child) -> Result<Ran, CanaryError> {
    let stdout = child.stdout.take().map(|mut pipe| {
        // What the client says is not needed, but a full pipe would stop it.
        std::thread::spawn(move || std::io::copy(&mut pipe, &mut std::io::sink()).map(drop))
    });
    let stderr = child.stderr.take().map(|pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(SAID_BYTES_MAX).read_to_end(&mut bytes);
            read.map(|_| String::from_utf8_lossy(&bytes).into_owned())
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
    Ok(Ran {
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
