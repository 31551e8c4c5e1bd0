//! `tripwire doctor`: through the binary, in a throw-away home.

use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tripwire_testing::write_program;

const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");

/// A person with a home, a workspace, and clients that only tell their version.
struct DoctorFixture(tempfile::TempDir);

impl DoctorFixture {
    fn new() -> Self {
        let folder = tripwire_testing::folder();
        for name in ["home", "work/.git", "bin"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("work/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for name in ["claude", "gemini"] {
            let program = folder.path().join("bin").join(name);
            write_program(&program, &format!("#!/bin/sh\necho 1.2.3 of {name}\n")).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(TRIPWIRE);
        command.args(arguments).current_dir(self.path("work")).env_clear();
        command.env("HOME", self.path("home")).env("PATH", self.path("bin")).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// A session in the workspace, begun by a hook.
    fn session(&self) {
        let input = json!({
            "session_id": "s1", "cwd": self.path("work"), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "true"}, "tool_use_id": "t",
        });
        let mut child = self.command(&["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        assert!(child.wait_with_output().unwrap().status.success());
    }

    /// The checks, without those of the sandbox: these are the machine's and have tests of their own.
    fn checks(&self) -> (Option<i32>, Vec<Value>) {
        let output = self.run(&["doctor", "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        let broken = checks.iter().any(|check| check["status"] == "broken");
        assert_eq!(report["holds"], !broken, "{report}");
        assert_eq!(output.status.code(), Some(i32::from(broken)), "{report}");
        let own = |check: &Value| !check["id"].as_str().unwrap().starts_with("sandbox");
        (output.status.code(), checks.into_iter().filter(own).collect())
    }

    fn check(&self, id: &str) -> Value {
        let (_, checks) = self.checks();
        checks.iter().find(|check| check["id"] == id).cloned().unwrap_or_else(|| json!({"missing": checks}))
    }
}

#[test]
fn after_init_every_promise_about_clients_and_workspace_holds() {
    let fixture = DoctorFixture::new();
    fixture.done(&["init", "--yes"]);
    fixture.done(&["arm"]);
    fixture.session();
    let (_, checks) = fixture.checks();
    for (id, words) in [
        ("claude", "1.2.3 of claude"),
        ("claude.hooks.user", "calls this program"),
        ("gemini.hooks.user", "calls this program"),
        ("mode", "armed"),
        ("policy", "balanced"),
        ("permissions", ""),
        ("journal", "records verify"),
        ("key", "outside of the workspace"),
        ("git", "excluded"),
    ] {
        let check = checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("{id} in {checks:?}"));
        assert_eq!(check["status"], "ok", "{check}");
        assert!(check["summary"].as_str().unwrap().contains(words), "{check}");
    }
    let confined = checks.iter().find(|check| check["id"] == "claude.sandbox").unwrap();
    assert_eq!(
        (&confined["status"], &confined["remediation"]),
        (&json!("off"), &json!("tripwire run --sandbox -- claude"))
    );
    assert!(confined["summary"].as_str().unwrap().contains("`--allow-host`"), "{confined}");
    write_program(&fixture.path("bin/aider"), "#!/bin/sh\n").unwrap();
    let aider = fixture.check("aider.sandbox");
    assert!(aider["summary"].as_str().unwrap().contains("not measured"), "{aider}");
    assert_eq!(fixture.check("opencode.sandbox")["id"], Value::Null, "nothing is said of a client that is not there");
    let codex = checks.iter().find(|check| check["id"] == "codex").unwrap();
    assert_eq!(codex["status"], "off", "{codex}");
    let approvals = checks.iter().find(|check| check["id"] == "approvals").unwrap();
    assert!(approvals["summary"].as_str().unwrap().contains("not agent-proof"), "{approvals}");
    let text = String::from_utf8(fixture.run(&["doctor"]).stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("claude ") && line.contains("1.2.3")), "{text}");
    assert!(!text.contains("not guarded"), "{text}");
}

#[test]
fn without_anything_nothing_is_promised_and_nothing_is_written() {
    let fixture = DoctorFixture::new();
    for id in ["claude.hooks", "gemini.hooks", "journal", "key", "git"] {
        assert_eq!(fixture.check(id)["status"], "off", "{id}: {}", fixture.check(id));
    }
    let text = String::from_utf8(fixture.run(&["doctor"]).stdout).unwrap();
    let last = text.lines().last().unwrap();
    assert!(
        last.contains("not guarded") && last.contains("`tripwire init`") && last.contains("`tripwire run"),
        "{text}"
    );
    assert!(!text.contains("every check passed"), "{text}");
    assert!(!fixture.path("work/.geometry").exists(), "a look makes nothing");
    assert_eq!(fs::read_dir(fixture.path("home")).unwrap().count(), 0, "a look makes nothing");
}

#[test]
fn a_promise_that_is_not_kept_ends_with_1_and_names_the_fix() {
    let fixture = DoctorFixture::new();
    fixture.done(&["init", "--yes"]);
    fixture.session();
    let settings = fixture.path("home/.claude/settings.json");
    let right = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, right.replace(TRIPWIRE, "/old/tripwire")).unwrap();
    let check = fixture.check("claude.hooks.user");
    assert_eq!(check["status"], "broken", "{check}");
    assert!(check["remediation"].as_str().unwrap().contains("tripwire init --client claude"), "{check}");
    let output = fixture.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("BROKEN") && text.contains("failed"), "{text}");
    fs::write(&settings, "{ nonsense").unwrap();
    assert_eq!(fixture.check("claude.hooks.user")["status"], "broken");
    fs::write(&settings, right).unwrap();
    assert_eq!(fixture.check("claude.hooks.user")["status"], "ok");
}

#[test]
fn a_damaged_journal_policy_permission_and_exclude_file_are_seen() {
    let fixture = DoctorFixture::new();
    fixture.session();
    assert_eq!(fixture.check("journal")["status"], "ok");
    fs::write(fixture.path("work/.git/info/exclude"), "").unwrap();
    fs::write(fixture.path("work/.geometry/policy.cedar"), "permit nonsense").unwrap();
    let journal = fixture.path("work/.geometry/journal");
    let session = fs::read_dir(journal).unwrap().next().unwrap().unwrap().path();
    let segment = session.join("00000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("\"i\":1", "\"i\":7", 1)).unwrap();
    for id in ["journal", "permissions", "git"] {
        let check = fixture.check(id);
        assert_eq!(check["status"], "broken", "{check}");
        assert!(!check["remediation"].as_str().unwrap().is_empty(), "{check}");
    }
    fs::write(fixture.path("work/.geometry/MANIFEST.yaml"), "safety: [").unwrap();
    assert_eq!(fixture.check("policy")["status"], "broken", "{}", fixture.check("policy"));
}

#[test]
fn a_key_inside_the_workspace_is_seen() {
    let fixture = DoctorFixture::new();
    let output =
        fixture.command(&["doctor", "--json"]).env("XDG_STATE_HOME", fixture.path("work/state")).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["id"] == "key").unwrap().clone();
    assert_eq!((output.status.code(), &check["status"]), (Some(1), &json!("broken")), "{check}");
}

#[test]
fn bad_usage_is_refused() {
    let fixture = DoctorFixture::new();
    for (arguments, code) in [
        (&["doctor", "--nonsense"][..], 2),
        (&["doctor", "teeth"], 2),
        (&["doctor", "--workspace", "/nowhere/at/all"], 2),
    ] {
        let output = fixture.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_client_is_asked_for_its_version_in_an_empty_environment_and_a_home_of_its_own() {
    let fixture = DoctorFixture::new();
    let script = "#!/bin/sh\ntouch \"$HOME/made-here\"\necho \"1.2.3 secret=$SECRET\"\n";
    write_program(&fixture.path("bin/claude"), script).unwrap();
    let path = format!("{}:/usr/bin:/bin", fixture.path("bin").display());
    let output = fixture.command(&["doctor", "--json"]).env("PATH", path).env("SECRET", "hunter2").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let claude = report["checks"].as_array().unwrap().iter().find(|check| check["id"] == "claude").unwrap();
    assert!(claude["summary"].as_str().unwrap().starts_with("1.2.3 secret= at"), "{claude}");
    assert_eq!(fs::read_dir(fixture.path("home")).unwrap().count(), 0, "nothing is made in the person's home");
}

#[test]
fn live_without_clients_or_with_bad_words_says_so() {
    let fixture = DoctorFixture::new();
    for name in ["claude", "gemini"] {
        fs::remove_file(fixture.path("bin").join(name)).unwrap();
    }
    let output = fixture.run(&["doctor", "--live"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for client in ["claude", "codex", "gemini"] {
        let line =
            text.lines().find(|line| line.starts_with(&format!("{client}.live "))).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains(" off ") && line.contains("not on the search path"), "{line}");
    }
    for words in [&["doctor", "--live", "sandbox"][..], &["doctor", "--live=yes"], &["doctor", "--live", "claude"]] {
        assert_eq!(fixture.run(words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn a_client_that_does_nothing_proves_nothing() {
    let fixture = DoctorFixture::new();
    fs::remove_file(fixture.path("bin/gemini")).unwrap();
    let path = format!("{}:/usr/bin:/bin", fixture.path("bin").display());
    let output = fixture.command(&["doctor", "--live", "--json"]).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let check = |id: &str| report["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).cloned();
    for id in ["claude.live.shell", "claude.live.edit", "claude.live.stop"] {
        assert_eq!(check(id).unwrap()["status"], "broken", "{report}");
    }
    assert_eq!(check("gemini.live").unwrap()["status"], "off", "{report}");
    assert_eq!(check("claude.live-hooks").unwrap()["summary"], "not sent: no hooks are installed", "{report}");
}

#[test]
fn live_sends_nothing_through_installed_hooks_that_are_not_sound() {
    let fixture = DoctorFixture::new();
    fs::remove_file(fixture.path("bin/gemini")).unwrap();
    let path = format!("{}:/usr/bin:/bin", fixture.path("bin").display());
    let run = |words: &[&str]| fixture.command(words).env("PATH", &path).output().unwrap();
    assert!(run(&["init", "--client", "claude", "--yes"]).status.success());
    let live = || {
        let report: Value = serde_json::from_slice(&run(&["doctor", "--live", "--json"]).stdout).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        move |id: &str| checks.iter().find(|check| check["id"] == id).cloned().unwrap_or_default()
    };
    let check = live();
    assert_eq!(check("claude.live-hooks.shell")["status"], "broken", "the fake client does nothing at all");
    let settings = fixture.path("home/.claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("PreToolUse", "NoSuchEvent")).unwrap();
    let check = live();
    assert_eq!(check("claude.live-hooks")["summary"], "not sent: see `claude.hooks.user`");
    assert_eq!(check("claude.hooks.user")["status"], "broken");
}

#[test]
fn log_4_a_key_that_is_none_or_that_others_can_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = DoctorFixture::new();
    fixture.session();
    let line = || {
        let said = String::from_utf8(fixture.run(&["doctor"]).stdout).unwrap();
        said.lines().find(|line| line.starts_with("key ")).unwrap().to_owned()
    };
    assert!(line().contains(" ok "), "{}", line());
    let key = fixture.path("home/.local/state/tripwire/keys/journal.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(line().contains("BROKEN") && line().contains("others than its owner can read it"), "{}", line());
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, "garbage\n").unwrap();
    assert!(line().contains("BROKEN") && line().contains("it is not a signing key"), "{}", line());
}
