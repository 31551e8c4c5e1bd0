//! Real agent programs, started with an empty environment, a throw-away home and made-up keys.

use crate::support::model::Turn;
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The longest a client may take on a loaded machine.
const TIME_MAX: Duration = Duration::from_secs(90);
/// What every client is asked to do.
pub(crate) const PROMPT: &str = "Do the task.";
/// An ordinary user's number, which no account needs to have.
pub(crate) const SOMEONE: u32 = 65_534;

/// A client that is installed.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    kind: Kind,
    /// The program and the words before its own.
    program: Vec<OsString>,
}

/// Which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Qwen,
    Aider,
}

impl Kind {
    /// A command line, by the client's own tool.
    pub(crate) fn shell(self, line: &str) -> Turn {
        match self {
            // It speaks the wire of opencode and has tools of its own.
            Self::Qwen => {
                let input = json!({"command": line, "description": "x", "is_background": false});
                Turn::Call("run_shell_command".to_owned(), input.to_string())
            }
            Self::Claude | Self::Codex | Self::Gemini | Self::Opencode | Self::Aider => Turn::Shell(line.to_owned()),
        }
    }
}

/// How a client is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) workspace: &'a Path,
    /// The command that answers its hooks; none runs it unguarded.
    pub(crate) hook: Option<&'a str>,
    /// Where the model is.
    pub(crate) model: &'a str,
    /// Whether it runs as an ordinary user; the workspace is given to that user then.
    pub(crate) user: User,
}

/// Who runs the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// The user who runs the tests.
    Same,
    /// An ordinary user, where the tests run as root.
    Ordinary,
}

/// Where `.ci/run` puts the clients.
pub(crate) fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    variable("TRIPWIRE_CLIENTS")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("tripwire-clients")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/tripwire-clients")))
}

fn children(path: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(path).into_iter().flatten();
    listed.filter_map(Result::ok).map(|entry| entry.path()).collect()
}

impl Client {
    /// The client, if it is installed; says loudly if not.
    pub(crate) fn find(kind: Kind) -> Option<Self> {
        let folder = folder()?;
        let program = match kind {
            Kind::Claude => children(&folder.join("claude/node_modules/@anthropic-ai"))
                .into_iter()
                .map(|package| package.join("claude"))
                .find(|program| program.is_file())
                .map(|program| vec![program.into_os_string()]),
            Kind::Codex => children(&folder.join("codex/node_modules/@openai"))
                .iter()
                .flat_map(|package| children(&package.join("vendor")))
                .map(|platform| platform.join("bin/codex"))
                .find(|program| program.is_file())
                .map(|program| vec![program.into_os_string()]),
            Kind::Gemini => {
                let script = folder.join("gemini/node_modules/@google/gemini-cli/bundle/gemini.js");
                script.is_file().then(|| vec![OsString::from("node"), script.into_os_string()])
            }
            Kind::Opencode => children(&folder.join("opencode/node_modules"))
                .into_iter()
                .filter(|package| {
                    !package.to_string_lossy().ends_with("-musl") && !package.to_string_lossy().contains("-baseline")
                })
                .map(|package| package.join("bin/opencode"))
                .find(|program| program.is_file() && !program.to_string_lossy().contains("/opencode-ai/"))
                .map(|program| vec![program.into_os_string()]),
            Kind::Qwen => {
                let script = folder.join("qwen/node_modules/@qwen-code/qwen-code/cli.js");
                script.is_file().then(|| vec![OsString::from("node"), script.into_os_string()])
            }
            Kind::Aider => {
                let program = folder.join("aider/venv/bin/aider");
                program.is_file().then(|| vec![program.into_os_string()])
            }
        };
        if program.is_none() {
            eprintln!("SKIPPED, NOT TESTED: {kind:?} is not in `{}`; `.ci/run` installs it", folder.display());
        }
        program.map(|program| Self { kind, program })
    }

    /// Whether an ordinary user can be tested here: only root can become one, and the programs must be within reach.
    pub(crate) fn serves_ordinary_users(&self, hook: &str) -> bool {
        let program = self.program();
        let mut test = Command::new("test");
        test.arg("-r").arg(&program).arg("-a").arg("-x").arg(hook).uid(SOMEONE).gid(SOMEONE);
        let serves = test.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        if !serves {
            eprintln!(
                "SKIPPED, NOT TESTED: {:?} as an ordinary user, who cannot reach `{}`",
                self.kind,
                program.display()
            );
        }
        serves
    }

    /// Its name on our command line.
    pub(crate) const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Claude => "claude",
            Kind::Codex => "codex",
            Kind::Gemini => "gemini",
            Kind::Opencode => "opencode",
            Kind::Qwen => "qwen",
            Kind::Aider => "aider",
        }
    }

    /// The file that is the client: its program, or the script that its interpreter runs.
    pub(crate) fn program(&self) -> PathBuf {
        PathBuf::from(self.program.last().expect("a program"))
    }

    /// A script that starts it.
    pub(crate) fn launcher(&self) -> String {
        let words: Vec<String> = self.program.iter().map(|word| format!("'{}'", word.to_string_lossy())).collect();
        format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "))
    }

    /// Runs the client headless against a model on loopback.
    pub(crate) fn run(&self, run: Run<'_>) -> Output {
        let home = tempfile::tempdir().expect("a throw-away home");
        wait(self.command(run, home.path()))
    }

    /// The command that runs the client headless against a model on loopback, with this throw-away home.
    pub(crate) fn command(&self, run: Run<'_>, home: &Path) -> Command {
        let mut command = Command::new(self.program.first().expect("a program"));
        command.args(self.program.iter().skip(1)).current_dir(run.workspace).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8").env("HOME", home);
        command.env("DO_NOT_TRACK", "1").env("NO_COLOR", "1").env("TERM", "dumb");
        match self.kind {
            Kind::Claude => claude(&mut command, run, home),
            Kind::Codex => codex(&mut command, run, home),
            Kind::Gemini => gemini(&mut command, run, home),
            Kind::Opencode => opencode(&mut command, run, home),
            Kind::Qwen => qwen(&mut command, run, home),
            Kind::Aider => aider(&mut command, run),
        }
        if run.user == User::Ordinary {
            give(home);
            give(run.workspace);
            command.uid(SOMEONE).gid(SOMEONE);
        }
        command
    }
}

/// Gives a folder with all that is in it to the ordinary user.
fn give(path: &Path) {
    chown(path, Some(SOMEONE), Some(SOMEONE)).expect("root may give files away");
    for child in children(path) {
        if child.is_dir() && !child.is_symlink() {
            give(&child);
        } else {
            std::os::unix::fs::lchown(&child, Some(SOMEONE), Some(SOMEONE)).expect("root may give files away");
        }
    }
}

/// The command in the form that closes when the hook itself is missing.
fn closing(hook: &str) -> String {
    format!("{hook} || {{ echo 'tripwire: guard failed' >&2; exit 2; }}")
}

fn claude(command: &mut Command, run: Run<'_>, home: &Path) {
    let events = [
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "Stop",
        "SessionStart",
        "SessionEnd",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
    ];
    let mut settings = json!({"hooks": {}});
    for event in events.iter().filter(|_| run.hook.is_some()) {
        let command = closing(run.hook.unwrap_or_default());
        let hook = json!({"type": "command", "command": command, "timeout": 30, "onFailure": "block"});
        settings["hooks"][event] = json!([{"matcher": "*", "hooks": [hook]}]);
    }
    let file = home.join("hooks.json");
    fs::write(&file, settings.to_string()).expect("the settings");
    command
        .args(["-p", PROMPT, "--output-format", "stream-json", "--verbose"])
        .args(["--permission-mode", "bypassPermissions", "--settings"])
        .arg(file)
        .envs([
            ("ANTHROPIC_BASE_URL", run.model),
            ("ANTHROPIC_API_KEY", "sk-ant-made-up"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("IS_SANDBOX", "1"),
        ]);
}

fn codex(command: &mut Command, run: Run<'_>, home: &Path) {
    let folder = home.join(".codex");
    fs::create_dir_all(&folder).expect("a folder for the settings");
    let mut config = format!(
        "model = \"gpt-5-codex\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n\
         [projects.{:?}]\ntrust_level = \"trusted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"{}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 1\n\
         stream_max_retries = 1\n",
        run.workspace.canonicalize().expect("the workspace").display().to_string(),
        run.model
    );
    let events = [
        "PreToolUse",
        "PostToolUse",
        "UserPromptSubmit",
        "Stop",
        "SessionStart",
        "SessionEnd",
        "PreCompact",
        "PostCompact",
    ];
    for event in events.iter().filter(|_| run.hook.is_some()) {
        let command = closing(run.hook.unwrap_or_default());
        config.push_str(&format!(
            "[[hooks.{event}]]\n[[hooks.{event}.hooks]]\ntype = \"command\"\ncommand = {command:?}\ntimeout = 30\n"
        ));
    }
    fs::write(folder.join("config.toml"), config).expect("the settings");
    command.args(["exec", "--json", "--skip-git-repo-check"]);
    if run.hook.is_some() {
        // The hooks are ours and the home is thrown away: nothing else could be trusted by this.
        command.arg("--dangerously-bypass-hook-trust");
    }
    command.arg(PROMPT).env("CODEX_HOME", folder).env("SCRIPTED_KEY", "sk-made-up");
}

fn gemini(command: &mut Command, run: Run<'_>, home: &Path) {
    let folder = home.join(".gemini");
    fs::create_dir_all(&folder).expect("a folder for the settings");
    let mut settings = json!({
        "hooksConfig": {"enabled": true}, "telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "disableAutoUpdate": true},
        // Its own loop guard would hide ours.
        "model": {"disableLoopDetection": true},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}, "hooks": {},
    });
    let events = [
        "BeforeTool",
        "AfterTool",
        "BeforeAgent",
        "AfterAgent",
        "BeforeModel",
        "SessionStart",
        "SessionEnd",
        "PreCompress",
    ];
    for event in events.iter().filter(|_| run.hook.is_some()) {
        let command = closing(run.hook.unwrap_or_default());
        let hook = json!({"type": "command", "name": event, "command": command, "timeout": 30_000});
        settings["hooks"][event] = json!([{"matcher": "*", "hooks": [hook]}]);
    }
    fs::write(folder.join("settings.json"), settings.to_string()).expect("the settings");
    command
        .args(["-p", PROMPT, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--output-format", "stream-json"])
        .envs([
            ("GEMINI_API_KEY", "made-up"),
            ("GOOGLE_GEMINI_BASE_URL", run.model),
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
            ("GEMINI_SANDBOX", "false"),
            ("NO_BROWSER", "1"),
        ]);
}

fn opencode(command: &mut Command, run: Run<'_>, home: &Path) {
    let config = json!({
        "autoupdate": false, "share": "disabled", "model": "scripted/gpt-5-codex", "small_model": "scripted/gpt-5-codex",
        "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
            "options": {"baseURL": format!("{}/v1", run.model), "apiKey": "made-up"},
            "models": {"gpt-5-codex": {"name": "scripted", "limit": {"context": 200_000, "output": 4_096}}}}},
        "permission": {"bash": "allow", "edit": "allow"},
    });
    let file = home.join("opencode.json");
    fs::write(&file, config.to_string()).expect("the settings");
    command.args(["run", "--format", "json", PROMPT]).env("OPENCODE_CONFIG", file).envs([
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ]);
}

fn qwen(command: &mut Command, run: Run<'_>, home: &Path) {
    let folder = home.join(".qwen");
    fs::create_dir_all(&folder).expect("a folder for the settings");
    let settings = json!({
        "telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
        "model": {"skipLoopDetection": true}, "security": {"auth": {"selectedType": "openai"}},
    });
    fs::write(folder.join("settings.json"), settings.to_string()).expect("the settings");
    command.args(["-p", PROMPT, "--approval-mode", "yolo"]).envs([
        ("OPENAI_BASE_URL", format!("{}/v1", run.model).as_str()),
        ("OPENAI_API_KEY", "sk-made-up"),
        ("OPENAI_MODEL", "gpt-5-codex"),
    ]);
}

fn aider(command: &mut Command, run: Run<'_>) {
    command
        .args(["--yes-always", "--no-check-update", "--no-show-model-warnings", "--analytics-disable", "--no-git"])
        .args(["--model", "openai/gpt-5-codex", "--message", PROMPT])
        .envs([("OPENAI_API_BASE", format!("{}/v1", run.model).as_str()), ("OPENAI_API_KEY", "sk-made-up")]);
}

/// Waits for a command that must end, and takes what it said.
fn wait(mut command: Command) -> Output {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the client starts");
    // The pipes are read while it runs: a full one would stop it.
    let take = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            bytes
        })
    };
    let stdout = take(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = take(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the client can be waited for") {
            break status;
        }
        if started.elapsed() > TIME_MAX {
            child.kill().expect("the client can be ended");
            panic!("the client did not end within {TIME_MAX:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    Output { status, stdout: stdout.join().expect("its output"), stderr: stderr.join().expect("its output") }
}
