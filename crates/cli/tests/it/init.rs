//! `tripwire init`, `arm` and `disarm`: through the binary, in a throw-away home.

mod servers;

use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tripwire_testing::write_program;

const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");
const OWN: &str = "{\n  \"model\": \"m\",\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}\n}\n";

/// A person with a home and a workspace, and programs by the clients' names that do nothing.
struct Person(tempfile::TempDir);

impl Person {
    fn new() -> Self {
        let folder = tripwire_testing::folder();
        for name in ["home", "work/.git", "bin"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    fn with_client(self, name: &str) -> Self {
        let program = self.0.path().join("bin").join(name);
        write_program(&program, "#!/bin/sh\nexit 0\n").unwrap();
        self
    }

    fn home(&self, name: &str) -> PathBuf {
        self.0.path().join("home").join(name)
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(TRIPWIRE);
        command.args(arguments).current_dir(self.work()).env_clear();
        command.env("HOME", self.home("")).env("PATH", self.0.path().join("bin")).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a verb that must succeed.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// One call of a client, as its hook sees it.
    fn hook(&self, command: &str) -> Output {
        let input = json!({
            "session_id": "s1", "cwd": self.work(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_use_id": "t",
        });
        let mut child = self.command(&["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[test]
fn init_merges_shows_the_diff_keeps_a_copy_and_is_undone_byte_for_byte() {
    let person = Person::new().with_client("claude").with_client("gemini");
    let (claude, gemini) = (person.home(".claude/settings.json"), person.home(".gemini/settings.json"));
    fs::create_dir_all(claude.parent().unwrap()).unwrap();
    fs::write(&claude, OWN).unwrap();
    let shown = person.done(&["init", "--user", "--print"]);
    assert!(shown.contains("+") && shown.contains("PreToolUse"), "{shown}");
    let said = person.done(&["init", "--user", "--yes"]);
    assert!(said.contains("wrote ") && said.contains("mode        observe"), "{said}");
    let merged = text(&claude).unwrap();
    assert!(merged.starts_with("{\n  \"model\": \"m\",") && merged.contains("\"command\": \"true\""), "{merged}");
    assert!(merged.contains(TRIPWIRE) && merged.contains("\"onFailure\": \"block\""), "{merged}");
    assert_eq!(text(&person.home(".claude/settings.json.before-tripwire")).as_deref(), Some(OWN));
    assert!(text(&gemini).unwrap().contains("BeforeTool"));
    assert!(!person.home(".codex").exists(), "codex is not here");
    let again = person.done(&["init", "--yes"]);
    assert!(again.contains("nothing to do"), "{again}");
    assert_eq!(text(&claude).unwrap(), merged);
    person.done(&["init", "--remove", "--yes"]);
    assert_eq!(text(&claude).as_deref(), Some(OWN));
    assert!(!gemini.exists() && !person.home(".claude/settings.json.before-tripwire").exists());
    assert!(person.done(&["init", "--remove", "--yes"]).contains("nothing to remove"));
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_written_or_removed() {
    let person = Person::new().with_client("claude");
    let settings = person.home(".claude/settings.json");
    let answered = |arguments: &[&str], answer: &str| {
        let mut child = person
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(answer.as_bytes()).ok();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("`--yes`"), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for answer in ["n\n", "", "y\n"] {
        assert!(answered(&["init"], answer).contains("PreToolUse"), "the change is shown");
        let told: Value = serde_json::from_str(&answered(&["init", "--json"], answer)).unwrap();
        assert_eq!(told["changes"][0]["written"], false, "{told}");
        assert!(!settings.exists() && !person.home(".local").exists(), "{answer:?}");
    }
    let told: Value = serde_json::from_str(&person.done(&["init", "--yes", "--json"])).unwrap();
    assert_eq!(told["changes"][0]["written"], true, "{told}");
    let written = text(&settings).unwrap();
    answered(&["init", "--remove"], "n\n");
    assert_eq!(text(&settings), Some(written), "what is installed stays");
}

#[test]
fn whoever_removes_all_hooks_begins_anew_with_watching() {
    let person = Person::new().with_client("claude").with_client("gemini");
    let mode = |told: &str| told.lines().find(|line| line.starts_with("mode ")).map(str::to_owned);
    for scope in [&[][..], &["--project"]] {
        let with = |arguments: &[&'static str]| [arguments, scope].concat();
        person.done(&with(&["init", "--yes"]));
        person.done(&with(&["arm"]));
        let told = person.done(&with(&["init", "--remove", "--yes", "--client", "gemini"]));
        assert_eq!(mode(&told), None, "the hooks of another client are still there: {told}");
        assert!(
            mode(&person.done(&with(&["init", "--yes"]))).unwrap().contains("armed"),
            "a choice that stands is kept"
        );
        let told = person.done(&with(&["init", "--remove", "--yes"]));
        assert!(mode(&told).unwrap().contains("forgotten"), "{told}");
        assert!(mode(&person.done(&with(&["init", "--yes"]))).unwrap().contains("observe"), "as at the first time");
        person.done(&with(&["init", "--remove", "--yes"]));
    }
}

#[test]
fn remove_says_what_is_left_and_purge_deletes_it_after_it_was_shown() {
    let person = Person::new().with_client("claude");
    person.done(&["init", "--yes"]);
    person.hook("true");
    let geometry = person.work().join(".geometry");
    assert!(geometry.is_dir());
    let told = person.done(&["init", "--remove", "--yes"]);
    assert!(told.contains("left") && told.contains("--purge"), "{told}");
    assert!(geometry.is_dir() && person.home(".local/state/tripwire").is_dir(), "nothing is deleted without the word");
    for words in [&["init", "--remove", "--purge"][..], &["init", "--remove", "--purge", "--print", "--yes"]] {
        let output = person.run(words);
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains(&format!("delete      `{}`", geometry.display())), "{told}");
        assert!(geometry.is_dir(), "{words:?}: only shown");
    }
    let own = person.work().join("mine.txt");
    fs::write(&own, "mine").unwrap();
    let told = person.done(&["init", "--remove", "--purge", "--yes"]);
    assert!(told.contains("deleted") && told.contains("1 session "), "{told}");
    assert!(!geometry.exists() && !person.home(".local/state/tripwire").exists() && own.exists());
    assert!(person.done(&["init", "--remove", "--purge", "--yes"]).contains("nothing to remove"));
    assert_eq!(person.run(&["init", "--purge"]).status.code(), Some(2), "it belongs to --remove");
}

#[test]
fn purge_of_a_project_leaves_other_workspaces_and_a_link_alone() {
    let person = Person::new().with_client("claude");
    person.done(&["init", "--project", "--yes"]);
    person.hook("true");
    let other = person.work().join("../other");
    fs::create_dir_all(other.join(".git")).unwrap();
    person.done(&["init", "--project", "--yes", "--workspace", other.to_str().unwrap()]);
    person.done(&["init", "--remove", "--purge", "--project", "--yes"]);
    assert!(!person.work().join(".geometry").exists() && other.join(".geometry").is_dir());
    assert!(person.home(".local/state/tripwire").is_dir(), "the person's own state is not the project's");
}

#[test]
fn what_hooks_alone_cannot_do_is_told() {
    let person = Person::new();
    let told = person.done(&["init", "--client", "codex", "--yes"]);
    assert!(told.contains("can end a turn") && told.contains("`tripwire run codex`"), "{told}");
    let doctor = String::from_utf8(person.run(&["doctor"]).stdout).unwrap();
    let limit =
        doctor.lines().find(|line| line.starts_with("codex.hooks.user.limit")).unwrap_or_else(|| panic!("{doctor}"));
    assert!(limit.contains(" off ") && limit.contains("can end a turn"), "{limit}");
    assert!(!doctor.contains("claude.hooks.user.limit"), "{doctor}");
    assert!(!person.done(&["init", "--client", "claude", "--yes"]).contains("end a turn"));
    assert!(!person.done(&["init", "--remove", "--yes"]).contains("end a turn"));
}

#[test]
fn print_changes_nothing_and_project_stays_in_the_workspace() {
    let person = Person::new().with_client("claude");
    let shown: Value = serde_json::from_str(&person.done(&["init", "--print", "--json"])).unwrap();
    assert_eq!((&shown["changes"][0]["changes"], &shown["changes"][0]["written"]), (&json!(true), &json!(false)));
    assert!(shown["changes"][0]["diff"].as_str().unwrap().contains("+"));
    assert!(!person.home(".claude").exists() && !person.home(".local").exists());
    person.done(&["init", "--project", "--client", "claude", "--yes"]);
    assert!(person.work().join(".claude/settings.json").exists() && !person.home(".claude").exists());
    person.done(&["init", "--project", "--remove", "--yes"]);
    assert!(!person.work().join(".claude/settings.json").exists());
}

#[test]
fn broken_settings_and_missing_clients_are_refused_and_nothing_is_written() {
    let person = Person::new();
    let none = person.run(&["init", "--yes"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("hint: name one with `tripwire init --client NAME`"));
    let person = person.with_client("claude").with_client("gemini");
    let broken = person.home(".gemini/settings.json");
    fs::create_dir_all(broken.parent().unwrap()).unwrap();
    fs::write(&broken, "{\n\n  oops: }\n").unwrap();
    let output = person.run(&["init", "--yes"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told.contains("line 3") && told.contains("settings.json") && told.contains("nothing was changed"),
        "{told}"
    );
    assert!(!person.home(".claude").exists(), "one bad file leaves the others alone too");
    assert_eq!(text(&broken).as_deref(), Some("{\n\n  oops: }\n"));
    assert_eq!(person.run(&["init", "--client", "vim", "--yes"]).status.code(), Some(2));
}

#[test]
fn what_a_client_would_ignore_is_refused_with_file_line_and_cause_and_nothing_is_written() {
    let person = Person::new();
    for (client, file, content, words) in [
        (
            "claude",
            ".claude/settings.json",
            "{\n  // mine\n  \"model\": \"m\"\n}\n",
            "line 2: Claude Code ignores settings",
        ),
        ("claude", ".claude/settings.json", "{\n  \"model\": \"m\",\n}\n", "line 2: Claude Code ignores settings"),
        ("codex", ".codex/hooks.json", "{\n  // mine\n  \"hooks\": {}\n}\n", "line 2: Codex ignores hooks"),
        ("codex", ".codex/config.toml", "model = \n", "line 1"),
    ] {
        let path = person.home(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        for more in [&[][..], &["--print"], &["--yes"]] {
            let output = person.run(&[&["init", "--client", client][..], more].concat());
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{told}");
            for words in [words, file, "hint: ", "nothing was changed"] {
                assert!(told.contains(words), "{words}: {told}");
            }
            assert!(!told.contains("/hooks`"), "{told}");
        }
        assert_eq!(text(&path).as_deref(), Some(content));
        let beside = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(beside, 1, "nothing is written beside it");
        fs::remove_file(&path).unwrap();
    }
    let gemini = person.home(".gemini/settings.json");
    fs::create_dir_all(gemini.parent().unwrap()).unwrap();
    fs::write(&gemini, "{\n  // mine\n}\n").unwrap();
    person.done(&["init", "--client", "gemini", "--yes"]);
    assert!(text(&gemini).unwrap().starts_with("{\n  // mine\n"), "Gemini CLI reads comments");
}

#[test]
fn a_configuration_that_the_person_broke_keeps_no_hook_where_it_is() {
    let person = Person::new();
    person.done(&["init", "--client", "codex", "--yes"]);
    assert!(person.home(".codex/hooks.json").exists());
    fs::write(person.home(".codex/config.toml"), "model = \n").unwrap();
    let output = person.run(&["init", "--client", "codex", "--remove", "--yes"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("NOT DONE") && told.contains("config.toml") && told.contains("unified_exec_tty"), "{told}");
    assert!(!person.home(".codex/hooks.json").exists(), "{told}");
    assert_eq!(text(&person.home(".codex/config.toml")).as_deref(), Some("model = \n"));
    let again = person.done(&["init", "--client", "codex", "--remove", "--yes"]);
    assert!(again.contains("nothing to remove"), "{again}");
}

#[test]
fn a_persons_own_hook_in_our_group_survives_the_removal_and_so_does_the_kept_file() {
    let person = Person::new().with_client("claude");
    let file = person.home(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\n  \"a\": 1\n}\n").unwrap();
    person.done(&["init", "--yes"]);
    let mut settings: Value = serde_json::from_str(&text(&file).unwrap()).unwrap();
    let mine = json!({"type": "command", "command": "my-audit.sh"});
    settings["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap().push(mine.clone());
    fs::write(&file, settings.to_string()).unwrap();
    let told = person.done(&["init", "--remove", "--yes"]);
    let left: Value = serde_json::from_str(&text(&file).unwrap()).unwrap();
    assert_eq!(left, json!({"a": 1, "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [mine]}]}}));
    let kept = person.home(".claude/settings.json.before-tripwire");
    assert_eq!(text(&kept).as_deref(), Some("{\n  \"a\": 1\n}\n"));
    assert!(told.contains("settings.json.before-tripwire` stays"), "{told}");
}

#[test]
fn a_workspace_that_is_touched_keeps_its_geometry_out_of_commits() {
    for (verb, code) in [
        (&["init", "--project", "--client", "claude", "--yes"][..], 0),
        (&["stop"], 0),
        (&["pause"], 0),
        (&["resume"], 0),
        (&["ack"], 0),
        (&["arm", "--project"], 0),
        (&["memory", "put", "note"], 0),
        (&["review", "propose"], 2),
        (&["identity", "sign"], 0),
        (&["step"], 0),
        (&["run", "no-such-client"], 2),
    ] {
        let person = Person::new();
        fs::write(person.work().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(person.work().join("note"), "private\n").unwrap();
        let output = person.run(verb);
        assert_eq!(output.status.code(), Some(code), "{verb:?}: {output:?}");
        assert!(person.work().join(".geometry").is_dir(), "{verb:?}");
        let excluded = text(&person.work().join(".git/info/exclude")).unwrap_or_default();
        assert!(excluded.contains(".geometry/"), "{verb:?}: {excluded}");
    }
    let person = Person::new().with_client("claude");
    fs::write(person.work().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    person.done(&["init", "--user", "--yes"]);
    assert!(!person.work().join(".git/info/exclude").exists(), "nothing of this workspace is touched");
}

#[test]
fn settings_that_switch_hooks_off_are_told() {
    let person = Person::new().with_client("claude");
    fs::create_dir_all(person.home(".claude")).unwrap();
    fs::write(person.home(".claude/settings.json"), "{\"disableAllHooks\": true}").unwrap();
    assert!(person.done(&["init", "--print"]).contains("warning     `disableAllHooks`"));
    fs::write(person.home(".claude/settings.json"), "{\"disableAllHooks\": false}").unwrap();
    assert!(!person.done(&["init", "--print"]).contains("warning"));
}

/// Loops on one call until it is refused, and says after how many.
fn refused_after(person: &Person) -> Option<usize> {
    (0..14).position(|_| {
        let denied = String::from_utf8(person.hook("make test").stdout).unwrap().contains("deny");
        let done = json!({
            "session_id": "s1", "cwd": person.work(), "hook_event_name": "PostToolUse", "tool_name": "Bash",
            "tool_input": {"command": "make test"}, "tool_use_id": "t", "tool_response": {"stdout": "same", "stderr": ""},
        });
        let mut child = person.command(&["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(done.to_string().as_bytes()).unwrap();
        child.wait_with_output().unwrap();
        denied
    })
}

#[test]
fn after_init_the_hooks_only_watch_until_they_are_armed() {
    let person = Person::new().with_client("claude");
    person.done(&["init", "--yes"]);
    assert_eq!(refused_after(&person), None, "observe: nothing is refused");
    assert!(person.done(&["status", "--json"]).contains("\"guard\":\"observe\""));
    let told = person.done(&["arm"]);
    assert!(told.contains("mode        armed") && told.contains("journaled   in auto-"), "{told}");
    assert!(refused_after(&person).is_some(), "armed: the loop is refused");
    let off: Value = serde_json::from_str(&person.done(&["disarm", "--project", "--json"])).unwrap();
    assert_eq!(off["mode"], "observe");
    assert_eq!(person.done(&["init", "--yes"]).matches("mode        armed").count(), 1, "a choice that stands is kept");
}

#[test]
fn in_observe_people_are_still_obeyed() {
    let person = Person::new().with_client("claude");
    person.done(&["init", "--yes"]);
    assert!(person.hook("ls").stdout.is_empty());
    fs::write(person.work().join(".geometry/STOP"), "").unwrap();
    assert!(String::from_utf8(person.hook("ls").stdout).unwrap().contains("deny"));
}

#[test]
fn arm_without_a_home_and_with_a_bad_flag_is_told() {
    let person = Person::new();
    let homeless = person.command(&["arm"]).env_remove("HOME").output().unwrap();
    assert_eq!(homeless.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&homeless.stderr).contains("`HOME` is not set"));
    assert_eq!(person.run(&["disarm", "--never"]).status.code(), Some(2));
}

#[test]
fn the_status_line_is_offered_comes_with_a_flag_and_goes_with_the_hooks() {
    let person = Person::new().with_client("claude");
    let settings = person.home(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, OWN).unwrap();
    let offered = person.run(&["init", "--yes"]);
    assert!(String::from_utf8_lossy(&offered.stderr).contains("`--statusline`"), "{offered:?}");
    assert!(!fs::read_to_string(&settings).unwrap().contains("statusLine"), "only offered");
    person.done(&["init", "--yes", "--statusline"]);
    let value: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert!(value["statusLine"]["command"].as_str().unwrap().ends_with(" statusline"), "{value}");
    assert_eq!(value["model"], "m");
    assert!(person.done(&["init", "--yes", "--statusline"]).contains("nothing to do"), "a second time changes nothing");
    person.done(&["init", "--remove", "--yes"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), OWN, "byte for byte");
}

#[test]
fn a_persons_own_status_line_stays_and_settings_that_cannot_be_read_are_refused() {
    let person = Person::new().with_client("claude");
    let settings = person.home(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let own = "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine.sh\"}}\n";
    fs::write(&settings, own).unwrap();
    let said = person.run(&["init", "--yes", "--statusline"]);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    let value: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(value["statusLine"]["command"], "mine.sh");
    person.done(&["init", "--remove", "--yes"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), own);
    fs::write(&settings, "{\"statusLine\": [").unwrap();
    assert_eq!(person.run(&["init", "--yes", "--statusline"]).status.code(), Some(2));
    assert_eq!(person.run(&["init", "--remove", "--statusline"]).status.code(), Some(2), "one or the other");
}
