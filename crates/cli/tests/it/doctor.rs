//! `tripwire doctor`: through the binary, in a throw-away home.
#![expect(clippy::unwrap_used, reason = "a broken premise must end the test")]
#![expect(clippy::print_stderr, reason = "a test that cannot run must say so")]

#[path = "support/programs.rs"]
mod programs;

use programs::write_program;
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");

/// A person with a home, a workspace, and clients that only tell their version.
struct Person(tempfile::TempDir);

impl Person {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
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
    let person = Person::new();
    person.done(&["init", "--yes"]);
    person.done(&["arm"]);
    person.session();
    let (_, checks) = person.checks();
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
    let codex = checks.iter().find(|check| check["id"] == "codex").unwrap();
    assert_eq!(codex["status"], "off", "{codex}");
    let text = String::from_utf8(person.run(&["doctor"]).stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("claude ") && line.contains("1.2.3")), "{text}");
}

#[test]
fn without_anything_nothing_is_promised_and_nothing_is_written() {
    let person = Person::new();
    for id in ["claude.hooks", "gemini.hooks", "journal", "key", "git"] {
        assert_eq!(person.check(id)["status"], "off", "{id}: {}", person.check(id));
    }
    assert!(!person.path("work/.geometry").exists(), "a look makes nothing");
    assert_eq!(fs::read_dir(person.path("home")).unwrap().count(), 0, "a look makes nothing");
}

#[test]
fn a_promise_that_is_not_kept_ends_with_1_and_names_the_fix() {
    let person = Person::new();
    person.done(&["init", "--yes"]);
    person.session();
    let settings = person.path("home/.claude/settings.json");
    let right = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, right.replace(TRIPWIRE, "/old/tripwire")).unwrap();
    let check = person.check("claude.hooks.user");
    assert_eq!(check["status"], "broken", "{check}");
    assert!(check["remediation"].as_str().unwrap().contains("tripwire init --client claude"), "{check}");
    let output = person.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("BROKEN") && text.contains("not kept"), "{text}");
    fs::write(&settings, "{ nonsense").unwrap();
    assert_eq!(person.check("claude.hooks.user")["status"], "broken");
    fs::write(&settings, right).unwrap();
    assert_eq!(person.check("claude.hooks.user")["status"], "ok");
}

#[test]
fn a_damaged_journal_policy_permission_and_exclude_file_are_seen() {
    let person = Person::new();
    person.session();
    assert_eq!(person.check("journal")["status"], "ok");
    fs::write(person.path("work/.git/info/exclude"), "").unwrap();
    fs::write(person.path("work/.geometry/policy.cedar"), "permit nonsense").unwrap();
    let journal = person.path("work/.geometry/journal");
    let session = fs::read_dir(journal).unwrap().next().unwrap().unwrap().path();
    let segment = session.join("00000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("\"i\":1", "\"i\":7", 1)).unwrap();
    for id in ["journal", "permissions", "git"] {
        let check = person.check(id);
        assert_eq!(check["status"], "broken", "{check}");
        assert!(!check["remediation"].as_str().unwrap().is_empty(), "{check}");
    }
    fs::write(person.path("work/.geometry/MANIFEST.yaml"), "safety: [").unwrap();
    assert_eq!(person.check("policy")["status"], "broken", "{}", person.check("policy"));
}

#[test]
fn a_key_inside_the_workspace_is_seen() {
    let person = Person::new();
    let output =
        person.command(&["doctor", "--json"]).env("XDG_STATE_HOME", person.path("work/state")).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["id"] == "key").unwrap().clone();
    assert_eq!((output.status.code(), &check["status"]), (Some(1), &json!("broken")), "{check}");
}

#[test]
fn bad_usage_is_refused() {
    let person = Person::new();
    for (arguments, code) in [
        (&["doctor", "--nonsense"][..], 2),
        (&["doctor", "teeth"], 2),
        (&["doctor", "--workspace", "/nowhere/at/all"], 2),
    ] {
        let output = person.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(!output.stderr.is_empty());
    }
}

/// The clients that are installed for tests, as links on a search path; the ones that are not are said loudly.
fn with_real_clients(person: &Person) -> Vec<&'static str> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let folder = variable("TRIPWIRE_CLIENTS")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("tripwire-clients")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/tripwire-clients")))
        .unwrap_or_default();
    let children =
        |path: PathBuf| fs::read_dir(path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let claude = children(folder.join("claude/node_modules/@anthropic-ai")).map(|package| package.join("claude"));
    let codex = children(folder.join("codex/node_modules/@openai")).flat_map(|package| {
        children(package.join("vendor")).map(|platform| platform.join("bin/codex")).collect::<Vec<_>>()
    });
    let gemini = folder.join("gemini/node_modules/@google/gemini-cli/bundle/gemini.js");
    let mut found = Vec::new();
    let programs = [
        ("claude", claude.into_iter().find(|program| program.is_file())),
        ("codex", codex.into_iter().find(|program| program.is_file())),
        ("gemini", Some(gemini).filter(|script| script.is_file())),
    ];
    for (name, program) in programs {
        let link = person.path("bin").join(name);
        drop(fs::remove_file(&link));
        let Some(program) = program else {
            eprintln!("SKIPPED, NOT TESTED: {name} is not in `{}`; `.ci/run` installs it", folder.display());
            continue;
        };
        let script = if name == "gemini" {
            format!("#!/bin/sh\nexec node '{}' \"$@\"\n", program.display())
        } else {
            format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display())
        };
        write_program(&link, &script).unwrap();
        found.push(name);
    }
    found
}

#[test]
fn live_canaries_prove_deny_and_stop_on_the_real_clients_and_touch_nothing() {
    let person = Person::new();
    let clients = with_real_clients(&person);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", person.path("bin").display());
    let output = person.command(&["doctor", "--live", "--json"]).env("PATH", path).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    for client in clients {
        for canary in ["shell", "edit", "stop"] {
            let id = format!("{client}.live.{canary}");
            let check = checks.iter().find(|check| check["id"] == id.as_str());
            assert_eq!(check.map(|check| &check["status"]), Some(&json!("ok")), "{id}: {check:?}\n{report}");
        }
    }
    assert!(!person.path("work/.geometry").exists(), "the canaries have a workspace of their own");
    let made: Vec<_> = fs::read_dir(person.path("home")).unwrap().collect();
    assert!(made.is_empty(), "the canaries have a home of their own: {made:?}");
}

#[test]
fn a_client_is_asked_for_its_version_in_an_empty_environment_and_a_home_of_its_own() {
    let person = Person::new();
    let script = "#!/bin/sh\ntouch \"$HOME/made-here\"\necho \"1.2.3 secret=$SECRET\"\n";
    fs::write(person.path("bin/claude"), script).unwrap();
    let path = format!("{}:/usr/bin:/bin", person.path("bin").display());
    let output = person.command(&["doctor", "--json"]).env("PATH", path).env("SECRET", "hunter2").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let claude = report["checks"].as_array().unwrap().iter().find(|check| check["id"] == "claude").unwrap();
    assert!(claude["summary"].as_str().unwrap().starts_with("1.2.3 secret= at"), "{claude}");
    assert_eq!(fs::read_dir(person.path("home")).unwrap().count(), 0, "nothing is made in the person's home");
}

#[test]
fn live_without_clients_or_with_bad_words_says_so() {
    let person = Person::new();
    for name in ["claude", "gemini"] {
        fs::remove_file(person.path("bin").join(name)).unwrap();
    }
    let output = person.run(&["doctor", "--live"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for client in ["claude", "codex", "gemini"] {
        let line =
            text.lines().find(|line| line.starts_with(&format!("{client}.live "))).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains(" off ") && line.contains("not on the search path"), "{line}");
    }
    for words in [&["doctor", "--live", "sandbox"][..], &["doctor", "--live=yes"], &["doctor", "--live", "claude"]] {
        assert_eq!(person.run(words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn a_client_that_does_nothing_proves_nothing() {
    let person = Person::new();
    fs::remove_file(person.path("bin/gemini")).unwrap();
    let path = format!("{}:/usr/bin:/bin", person.path("bin").display());
    let output = person.command(&["doctor", "--live", "--json"]).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let check = |id: &str| report["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).cloned();
    for id in ["claude.live.shell", "claude.live.edit", "claude.live.stop"] {
        assert_eq!(check(id).unwrap()["status"], "broken", "{report}");
    }
    assert_eq!(check("gemini.live").unwrap()["status"], "off", "{report}");
}
