//! Real agent programs, started with an empty environment, a throw-away home and made-up keys.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Where `.ci/run` puts the clients.
fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    variable("TRIPWIRE_CLIENTS")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("tripwire-clients")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/tripwire-clients")))
}

/// The native program of Claude Code, if it is installed; says loudly if not.
pub(crate) fn claude() -> Option<PathBuf> {
    let modules = folder()?.join("claude/node_modules/@anthropic-ai");
    let found = std::fs::read_dir(&modules).ok().and_then(|listed| {
        listed.filter_map(Result::ok).map(|entry| entry.path().join("claude")).find(|program| program.is_file())
    });
    if found.is_none() {
        eprintln!("SKIPPED, NOT TESTED: Claude Code is not in `{}`; `.ci/run` installs it", modules.display());
    }
    found
}

/// Runs Claude Code headless against a model on loopback, with these settings.
pub(crate) fn run_claude(program: &Path, workspace: &Path, settings: &Path, model: &str) -> Output {
    let home = tempfile::tempdir().expect("a throw-away home");
    let mut command = Command::new(program);
    command
        .args(["-p", "Do the task.", "--output-format", "stream-json", "--verbose"])
        .args(["--permission-mode", "bypassPermissions", "--settings"])
        .arg(settings)
        .current_dir(workspace)
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("ANTHROPIC_BASE_URL", model),
            ("ANTHROPIC_API_KEY", "sk-ant-made-up"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("IS_SANDBOX", "1"),
            ("LANG", "C.UTF-8"),
        ])
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the client starts");
    let started = Instant::now();
    while child.try_wait().expect("the client can be waited for").is_none() {
        if started.elapsed() > Duration::from_secs(90) {
            child.kill().expect("the client can be ended");
            panic!("the client did not end within 90 s");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.wait_with_output().expect("the client's output")
}
