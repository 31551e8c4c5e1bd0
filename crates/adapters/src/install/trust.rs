//! Codex runs a hook only if its configuration holds the hook's hash: otherwise it skips it without a word. The client
//! itself tells the hashes; here they are written into `config.toml`, for our hooks and for no others. Beside them stands
//! the switch that keeps commands from getting an open terminal: what is typed into one reaches no hook.

use super::file;
use super::settings;
use super::{Change, InstallError, Kind, Scope};
use crate::codex_hooks::{Listed, NO_TERMINALS};
use crate::hooks::Client;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, value};

/// The configuration that belongs to a file of hooks.
#[must_use]
pub fn config_file(hooks_file: &Path) -> PathBuf {
    hooks_file.with_file_name("config.toml")
}

impl Change {
    /// Plans to mark our hooks in this file as trusted.
    ///
    /// # Errors
    /// When the client does not list them, or its configuration cannot be read.
    pub fn trust((hooks_file, scope): (&Path, &Scope), command: &str, listed: &[Listed]) -> Result<Self, InstallError> {
        let wanted = our_keys(hooks_file, scope)?;
        let mut marks = Vec::new();
        for key in &wanted {
            let hook = listed.iter().find(|hook| hook.key == *key && hook.command.as_deref() == Some(command));
            let hook = hook.ok_or_else(|| InstallError::NotListed { key: key.clone() })?;
            marks.push((key.clone(), hook.hash.clone()));
        }
        let path = config_file(hooks_file);
        let before = file::read(&path, scope)?;
        let text = before.as_deref().unwrap_or_default();
        let after = with_marks(text, &marks).map_err(wrong(&path))?;
        let kind =
            if self::marks(text, &wanted).is_ok_and(|there| there.is_empty()) { Kind::Install } else { Kind::Renew };
        Ok(Self { path, before, after: Some(after), kind, scope: scope.clone() })
    }

    /// Plans to take the marks of our hooks away; to be made before the hooks themselves go.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn distrust((hooks_file, scope): (&Path, &Scope)) -> Result<Self, InstallError> {
        let keys = our_keys(hooks_file, scope)?;
        let path = config_file(hooks_file);
        let before = file::read(&path, scope)?;
        let mut after = before.clone();
        if let Some(text) = &before {
            let marks = marks(text, &keys).map_err(wrong(&path))?;
            if !marks.is_empty() {
                let kept = file::read_backup(&path)?;
                let made = with_marks(kept.as_deref().unwrap_or_default(), &marks);
                let own = || without_marks(text, &keys).map(Some).map_err(wrong(&path));
                after = if made.is_ok_and(|made| made == *text) { kept } else { own()? };
            }
        }
        Ok(Self { path, before, after, kind: Kind::Remove, scope: scope.clone() })
    }
}

/// The keys by which the client knows our hooks: the file, the event, and the place in its lists.
fn our_keys(hooks_file: &Path, scope: &Scope) -> Result<Vec<String>, InstallError> {
    let text = file::read(hooks_file, scope)?.unwrap_or_default();
    let places = settings::places(&text, Client::Codex).map_err(super::at(hooks_file))?;
    let real = hooks_file.canonicalize().unwrap_or_else(|_| hooks_file.to_owned());
    Ok(places.iter().map(|(event, place)| format!("{}:{}:{place}:0", real.display(), snake(event))).collect())
}

/// `PreToolUse` as the client writes it in keys.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn with_marks(text: &str, marks: &[(String, String)]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let hooks = silent_table(document.as_table_mut(), "hooks")?;
    let state = silent_table(hooks, "state")?;
    for (key, hash) in marks {
        silent_table(state, key)?.insert("trusted_hash", value(hash));
    }
    for (key, _) in marks {
        // A table that holds something is written with its own line.
        if let Some(table) = state.get_mut(key).and_then(Item::as_table_mut) {
            table.set_implicit(false);
        }
    }
    let (section, switch) = switch();
    let features = document.entry(section).or_insert_with(|| Item::Table(Table::new()));
    let features = features.as_table_like_mut().ok_or_else(|| format!("`{section}` is not a table"))?;
    if features.get(switch).and_then(Item::as_bool) != Some(false) {
        features.insert(switch, value(false));
    }
    Ok(document.to_string())
}

/// The section and the name of the switch for open terminals.
fn switch() -> (&'static str, &'static str) {
    NO_TERMINALS.split_once('.').unwrap_or((NO_TERMINALS, ""))
}

/// A table, made if there is none, that gets no line of its own while it only holds tables.
fn silent_table<'a>(within: &'a mut Table, name: &str) -> Result<&'a mut Table, String> {
    let item = within.entry(name).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    item.as_table_mut().ok_or_else(|| format!("`{name}` is not a table"))
}

fn marks(text: &str, keys: &[String]) -> Result<Vec<(String, String)>, String> {
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let state = document.get("hooks").and_then(|hooks| hooks.get("state"));
    let hash = |key: &String| state?.get(key)?.get("trusted_hash")?.as_str().map(str::to_owned);
    Ok(keys.iter().filter_map(|key| Some((key.clone(), hash(key)?))).collect())
}

fn without_marks(text: &str, keys: &[String]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_mut) else { return Ok(text.to_owned()) };
    if let Some(state) = hooks.get_mut("state").and_then(Item::as_table_like_mut) {
        for key in keys {
            state.remove(key);
        }
    }
    let (section, switch) = switch();
    if let Some(features) = document.get_mut(section).and_then(Item::as_table_like_mut) {
        features.remove(switch);
        if features.is_empty() {
            document.remove(section);
        }
    }
    Ok(document.to_string())
}

fn wrong(path: &Path) -> impl Fn(String) -> InstallError {
    let path = path.to_owned();
    move |problem| InstallError::Config { path: path.clone(), problem: problem.replace('\n', " ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "model = \"m\" # mine\n\n[hooks.state.\"/other:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n";

    fn placed(folder: &Path) -> (PathBuf, String, Vec<Listed>) {
        let file = folder.join("hooks.json");
        let command = super::super::command(Path::new("/opt/tripwire"), Client::Codex);
        std::fs::write(&file, r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#).unwrap();
        Change::install(Client::Codex, (&file, &Scope::User), &command).unwrap().carry_out().unwrap();
        let keys = our_keys(&file, &Scope::User).unwrap();
        let hook = |key: &String| Listed {
            key: key.clone(),
            command: Some(command.clone()),
            source: "user".to_owned(),
            hash: "sha256:2".to_owned(),
        };
        let listed = keys.iter().map(hook).collect();
        (file, command, listed)
    }

    #[test]
    fn our_hooks_are_marked_at_their_places_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let (file, command, listed) = placed(dir.path());
        std::fs::write(config_file(&file), OWN).unwrap();
        let change = Change::trust((&file, &Scope::User), &command, &listed).unwrap();
        let after = change.after.clone().unwrap();
        assert!(after.starts_with(OWN), "{after}");
        assert!(after.contains("hooks.json:stop:1:0\"]\ntrusted_hash = \"sha256:2\""), "{after}");
        assert!(after.contains(":pre_tool_use:0:0\"]") && !after.contains(":stop:0:0\"]\ntrusted_hash = \"sha256:2\""));
        change.carry_out().unwrap();
        assert!(Change::trust((&file, &Scope::User), &command, &listed).unwrap().is_nothing());
        Change::distrust((&file, &Scope::User)).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(config_file(&file)).unwrap(), OWN);
    }

    #[test]
    fn hooks_that_are_trusted_again_leave_what_was_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (file, command, mut listed) = placed(dir.path());
        std::fs::write(config_file(&file), OWN).unwrap();
        Change::trust((&file, &Scope::User), &command, &listed).unwrap().carry_out().unwrap();
        for hook in &mut listed {
            hook.hash = "sha256:3".to_owned();
        }
        let again = Change::trust((&file, &Scope::User), &command, &listed).unwrap();
        assert!(!again.is_nothing());
        again.carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(again.backup()).unwrap(), OWN);
        Change::distrust((&file, &Scope::User)).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(config_file(&file)).unwrap(), OWN);
    }

    #[test]
    fn marks_go_also_when_the_person_edited_the_file_and_a_new_file_goes_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (file, command, listed) = placed(dir.path());
        Change::trust((&file, &Scope::User), &command, &listed).unwrap().carry_out().unwrap();
        Change::distrust((&file, &Scope::User)).unwrap().carry_out().unwrap();
        assert!(!config_file(&file).exists(), "there was none before");
        std::fs::write(config_file(&file), OWN).unwrap();
        Change::trust((&file, &Scope::User), &command, &listed).unwrap().carry_out().unwrap();
        let text = std::fs::read_to_string(config_file(&file)).unwrap();
        std::fs::write(config_file(&file), text.replace("\"m\"", "\"n\"")).unwrap();
        Change::distrust((&file, &Scope::User)).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(config_file(&file)).unwrap(), OWN.replace("\"m\"", "\"n\""));
    }

    #[test]
    fn terminals_behind_the_hooks_are_switched_off_with_them() {
        let dir = tempfile::tempdir().unwrap();
        let (file, command, listed) = placed(dir.path());
        for own in
            ["", "[features]\nhooks = true # mine\n", "[features]\nunified_exec_tty = true\n", "features.x = 1\n"]
        {
            std::fs::write(config_file(&file), own).unwrap();
            let change = Change::trust((&file, &Scope::User), &command, &listed).unwrap();
            let after: DocumentMut = change.after.clone().unwrap().parse().unwrap();
            assert_eq!(after["features"]["unified_exec_tty"].as_bool(), Some(false), "{after}");
            change.carry_out().unwrap();
            assert!(Change::trust((&file, &Scope::User), &command, &listed).unwrap().is_nothing());
            Change::distrust((&file, &Scope::User)).unwrap().carry_out().unwrap();
            assert_eq!(std::fs::read_to_string(config_file(&file)).unwrap(), own);
        }
        std::fs::write(config_file(&file), "features = 1\n").unwrap();
        assert!(matches!(Change::trust((&file, &Scope::User), &command, &listed), Err(InstallError::Config { .. })));
    }

    #[test]
    fn a_hook_that_the_client_does_not_list_and_a_broken_file_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let (file, command, mut listed) = placed(dir.path());
        std::fs::write(config_file(&file), "model = ").unwrap();
        assert!(matches!(Change::trust((&file, &Scope::User), &command, &listed), Err(InstallError::Config { .. })));
        listed.pop();
        assert!(matches!(Change::trust((&file, &Scope::User), &command, &listed), Err(InstallError::NotListed { .. })));
    }
}
