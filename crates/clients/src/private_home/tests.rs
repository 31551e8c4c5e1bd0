//! What is copied, what stays, and what comes back.

use super::*;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

const OLD: &str =
    r#"{"claudeAiOauth":{"accessToken":"a1","refreshToken":"r1","expiresAt":1,"scopes":["s"]},"mcpOAuth":{"x":1}}"#;

struct Place {
    top: tempfile::TempDir,
    homes: Homes,
}

impl Place {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("home");
        fs::create_dir_all(home.join(".claude/agents")).unwrap();
        for (name, text) in [
            (".claude/.credentials.json", OLD),
            (".claude/settings.json", r#"{"hooks":{}}"#),
            (".claude/agents/a.md", "an agent"),
            (".claude/history.jsonl", "private"),
            (".claude.json", r#"{"mcpServers":{}}"#),
        ] {
            fs::write(home.join(name), text).unwrap();
        }
        fs::set_permissions(home.join(".claude/.credentials.json"), fs::Permissions::from_mode(0o640)).unwrap();
        Self { top, homes: Homes { home: Some(home), ..Homes::default() } }
    }

    fn make(&self) -> PrivateHome {
        PrivateHome::make(Client::Claude, &self.homes, &self.top.path().join("private")).unwrap().unwrap()
    }

    fn own(&self) -> PathBuf {
        self.top.path().join("home/.claude/.credentials.json")
    }

    fn own_value(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.own()).unwrap()).unwrap()
    }
}

fn set(private: &PrivateHome, change: impl Fn(&mut Value)) {
    let file = private.folders()[0].join(".credentials.json");
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    change(&mut value);
    fs::write(file, value.to_string()).unwrap();
}

fn renewed(value: &mut Value) {
    value["claudeAiOauth"]["accessToken"] = json!("a2");
    value["claudeAiOauth"]["expiresAt"] = json!(2);
}

const RENEWS: &dyn Fn(&str) -> bool = &|host| host == "console.anthropic.com";
const NOBODY: &dyn Fn(&str) -> bool = &|_| false;

#[test]
fn box_1_what_a_client_obeys_is_copied_and_its_history_is_not() {
    let place = Place::new();
    let private = place.make();
    let folder = &private.folders()[0];
    for name in [".credentials.json", "settings.json", "agents/a.md", ".claude.json"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    assert!(!folder.join("history.jsonl").exists());
    assert_eq!(private.variables(), [("CLAUDE_CONFIG_DIR", folder.clone())]);
    assert!(private.left_out().is_empty());
}

#[test]
fn box_1_nothing_that_an_agent_wrote_lives_on_but_the_history_of_sessions() {
    let place = Place::new();
    let folder = place.make().folders()[0].clone();
    fs::write(folder.join("settings.json"), r#"{"hooks":{"PreToolUse":"evil"}}"#).unwrap();
    fs::write(folder.join("agents/evil.md"), "evil").unwrap();
    fs::write(folder.join("evil.json"), "evil").unwrap();
    fs::create_dir_all(folder.join("projects/p")).unwrap();
    fs::write(folder.join("projects/p/s.jsonl"), "a session").unwrap();
    std::os::unix::fs::symlink(place.top.path(), folder.join("todos")).unwrap();
    place.make();
    assert_eq!(fs::read_to_string(folder.join("settings.json")).unwrap(), r#"{"hooks":{}}"#);
    assert!(!folder.join("agents/evil.md").exists() && !folder.join("evil.json").exists());
    assert!(fs::symlink_metadata(folder.join("todos")).is_err(), "a link is not kept");
    assert!(folder.join("projects/p/s.jsonl").exists());
}

#[test]
fn box_5_a_renewed_credential_comes_back_with_its_mode_and_nothing_else_does() {
    let place = Place::new();
    let private = place.make();
    assert_eq!(private.write_back(RENEWS), WriteBack::Unchanged);
    set(&private, renewed);
    let written = vec!["claudeAiOauth.accessToken".to_owned(), "claudeAiOauth.expiresAt".to_owned()];
    assert_eq!(private.write_back(RENEWS), WriteBack::Written(written));
    assert_eq!(place.own_value()["claudeAiOauth"]["accessToken"], "a2");
    assert_eq!(place.own_value()["mcpOAuth"], json!({"x": 1}), "what is not known stays");
    assert_eq!(fs::metadata(place.own()).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn box_1_fields_that_no_renewal_changes_stay_the_persons() {
    let place = Place::new();
    let private = place.make();
    set(&private, |value| {
        renewed(value);
        value["mcpOAuth"] = json!({"evil": "x"});
        value["claudeAiOauth"]["scopes"] = json!(["all"]);
        value["claudeAiOauth"]["refreshToken"] = json!({"not": "text"});
        value["apiKeyHelper"] = json!("evil");
    });
    let WriteBack::Refused { why, written } = private.write_back(RENEWS) else { panic!("refused in part") };
    assert!(why.contains("no renewal changes"), "{why}");
    assert_eq!(written, ["claudeAiOauth.accessToken", "claudeAiOauth.expiresAt"]);
    let mut expected: Value = serde_json::from_str(OLD).unwrap();
    renewed(&mut expected);
    assert_eq!(place.own_value(), expected);
}

#[test]
fn box_1_a_change_that_no_host_can_have_made_is_refused() {
    let place = Place::new();
    let private = place.make();
    set(&private, renewed);
    let refused = |found: WriteBack| matches!(found, WriteBack::Refused { written, .. } if written.is_empty());
    assert!(refused(private.write_back(NOBODY)));
    fs::write(place.own(), r#"{"claudeAiOauth":{"accessToken":"mine"}}"#).unwrap();
    assert!(refused(private.write_back(RENEWS)), "the person logged in meanwhile");
    let file = private.folders()[0].join(".credentials.json");
    for broken in ["", "[]", "{"] {
        fs::write(&file, broken).unwrap();
        assert!(refused(private.write_back(RENEWS)), "{broken}");
    }
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
    assert!(refused(private.write_back(RENEWS)));
    assert_eq!(place.own_value()["claudeAiOauth"]["accessToken"], "mine");
}

#[test]
fn box_1_each_clients_fields_are_known_and_a_client_without_files_has_no_copy() {
    for client in [Client::Claude, Client::Codex, Client::Gemini, Client::Opencode] {
        let files = client.adapter().private.unwrap();
        let credential = files.credential.as_ref().unwrap();
        assert!(files.roots.iter().any(|root| root.copied.contains(&credential.name)), "{}", client.name());
        assert!(!credential.fields.is_empty() && !credential.hosts.is_empty());
        let kept = files.roots.iter().flat_map(|root| root.kept);
        assert!(kept.clone().all(|kept| files.roots.iter().all(|root| !root.copied.contains(kept))));
    }
    let place = Place::new();
    assert!(PrivateHome::make(Client::Aider, &place.homes, place.top.path()).unwrap().is_none());
}

#[test]
fn box_1_any_provider_of_opencode_is_renewed_where_it_was_before() {
    let place = Place::new();
    let own = place.top.path().join("home/.local/share/opencode/auth.json");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, r#"{"anthropic":{"type":"oauth","access":"1","refresh":"2","expires":3}}"#).unwrap();
    let private =
        PrivateHome::make(Client::Opencode, &place.homes, &place.top.path().join("private")).unwrap().unwrap();
    let copy = private.folders().iter().map(|folder| folder.join("auth.json")).find(|file| file.exists()).unwrap();
    let other = r#"{"anthropic":{"type":"api","access":"9","refresh":"2","expires":4},"evil":{"access":"1"}}"#;
    fs::write(copy, other).unwrap();
    let WriteBack::Refused { written, .. } = private.write_back(RENEWS) else { panic!("in part") };
    assert_eq!(written, ["anthropic.access", "anthropic.expires"]);
    let value: Value = serde_json::from_str(&fs::read_to_string(own).unwrap()).unwrap();
    assert_eq!(value["anthropic"], json!({"type": "oauth", "access": "9", "refresh": "2", "expires": 4}));
    assert!(value.get("evil").is_none());
}
