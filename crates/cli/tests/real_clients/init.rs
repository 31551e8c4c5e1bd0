//! `tripwire init` beside the real Codex, which alone decides which hooks it trusts.

use crate::support::clients::{Client, Kind};
use crate::support::person::Person;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A person with the real client; none if it is not installed.
fn with_codex() -> Option<Person> {
    let codex = Client::find(Kind::Codex)?;
    let person = Person::new();
    std::os::unix::fs::symlink(codex.program(), person.path("bin/codex")).unwrap();
    fs::create_dir_all(person.home(".codex")).unwrap();
    Some(person)
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The real client lists hooks and takes the marks that `init` writes.
#[test]
#[ignore = "needs the real clients: just test-clients"]
fn codex_trusts_what_init_wrote() {
    let Some(person) = with_codex() else { return };
    let config = "model = \"m\" # mine\n";
    fs::write(person.home(".codex/config.toml"), config).unwrap();
    let shown = person.done(&["init", "--print"]);
    assert_eq!(text(&person.home(".codex/config.toml")).as_deref(), Some(config));
    let said = person.done(&["init", "--yes"]);
    assert_eq!(shown.matches("+trusted_hash = \"sha256:").count(), 10, "{shown}");
    assert!(shown.contains("+unified_exec_tty = false") && shown.contains("features.unified_exec_tty"), "{shown}");
    assert!(!said.contains("NOT YET"), "{said}");
    let marked = text(&person.home(".codex/config.toml")).unwrap();
    assert!(marked.starts_with(config) && marked.matches("trusted_hash = \"sha256:").count() == 10, "{marked}");
    let again = person.done(&["init", "--yes"]);
    assert!(again.contains("nothing to do") && !again.contains("NOT YET"), "{again}");
    assert_eq!(text(&person.home(".codex/config.toml")).unwrap(), marked);
    person.done(&["init", "--remove", "--yes"]);
    assert_eq!(text(&person.home(".codex/config.toml")).as_deref(), Some(config));
    assert!(!person.home(".codex/hooks.json").exists());
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn codex_trusts_the_hooks_of_a_project_in_the_persons_configuration_or_it_is_said() {
    let Some(person) = with_codex() else { return };
    let root = person.work().canonicalize().unwrap();
    let trusting = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", root.display());
    for (config, trusts) in [("model = \"m\"\n", false), (trusting.as_str(), true)] {
        fs::write(person.home(".codex/config.toml"), config).unwrap();
        let said = person.done(&["init", "--project", "--client", "codex", "--yes"]);
        assert_eq!(said.contains("NOT YET     codex does not trust these hooks"), !trusts, "{said}");
        assert!(!person.work().join(".codex/config.toml").exists(), "codex reads no trust there");
        let marked = text(&person.home(".codex/config.toml")).unwrap();
        assert_eq!(marked.matches("trusted_hash = \"sha256:").count(), 10, "{marked}");
        let report: Value = serde_json::from_slice(&person.run(&["doctor", "--json"]).stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let trust = checks.iter().find(|check| check["id"] == "codex.hooks.project.trust").unwrap();
        assert_eq!(trust["status"], if trusts { "ok" } else { "broken" }, "{trust}");
        person.done(&["init", "--project", "--remove", "--yes"]);
        assert_eq!(text(&person.home(".codex/config.toml")).as_deref(), Some(config));
        assert!(!person.work().join(".codex/hooks.json").exists());
    }
}
