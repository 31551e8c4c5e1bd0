//! What is put into a file of settings and taken out again, and what is left alone.

use super::*;
use crate::homes::Homes;
use std::path::Path;
use tripwire_core::explain::Explain as _;

fn form(client: Client) -> &'static HookSettings {
    client.adapter().settings
}

fn in_scope(path: &Path, scope: &Scope) -> SettingsFile {
    SettingsFile { path: path.to_owned(), scope: scope.clone() }
}

const OWN: &str = "{\n  \"model\": \"m\",\n  \"permissions\": {\"deny\": [\"WebFetch\"]}\n}\n";

fn installed(path: &Path) -> Change {
    let change = Change::install(
        form(Client::Claude),
        &in_scope(path, &Scope::User),
        &command(Path::new("/opt/tripwire"), Client::Claude),
    )
    .unwrap();
    change.carry_out().unwrap();
    change
}

#[test]
fn what_was_put_in_comes_out_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    for before in [Some(OWN), Some("{\"hooks\":{\"Stop\":[]}}"), Some(""), None] {
        let path = dir.path().join("deep/settings.json");
        if let Some(text) = before {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        assert!(!installed(&path).is_nothing());
        assert!(
            Change::install(
                form(Client::Claude),
                &in_scope(&path, &Scope::User),
                &command(Path::new("/opt/tripwire"), Client::Claude)
            )
            .unwrap()
            .is_nothing()
        );
        let removal = Change::remove(form(Client::Claude), &in_scope(&path, &Scope::User)).unwrap();
        removal.carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), before);
        assert!(removal.backup().is_some() == before.is_some() && removal.left().is_empty());
        drop(std::fs::remove_file(&path));
    }
}

#[test]
fn a_second_installation_from_another_place_keeps_the_persons_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    for before in [Some(OWN), None] {
        drop(std::fs::remove_file(&path));
        if let Some(text) = before {
            std::fs::write(&path, text).unwrap();
        }
        installed(&path);
        let moved = command(Path::new("/usr/bin/tripwire"), Client::Claude);
        let second = Change::install(form(Client::Claude), &in_scope(&path, &Scope::User), &moved).unwrap();
        assert!(!second.is_nothing());
        second.carry_out().unwrap();
        assert_eq!(second.backup().and_then(|kept| std::fs::read_to_string(kept).ok()).as_deref(), before);
        Change::remove(form(Client::Claude), &in_scope(&path, &Scope::User)).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), before);
    }
}

#[test]
fn a_kept_file_with_hooks_of_ours_does_not_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    std::fs::write(&path, OWN).unwrap();
    let old = installed(&path).after.unwrap();
    let moved = command(Path::new("/usr/bin/tripwire"), Client::Claude);
    let second = Change::install(form(Client::Claude), &in_scope(&path, &Scope::User), &moved).unwrap();
    second.carry_out().unwrap();
    std::fs::write(second.backup().unwrap(), old).unwrap();
    Change::remove(form(Client::Claude), &in_scope(&path, &Scope::User)).unwrap().carry_out().unwrap();
    let left = std::fs::read_to_string(&path).unwrap();
    assert!(settings::commands(&left, form(Client::Claude)).unwrap().is_empty(), "{left}");
}

#[test]
fn an_edit_of_the_persons_survives_the_removal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    std::fs::write(&path, OWN).unwrap();
    installed(&path);
    let edited = std::fs::read_to_string(&path).unwrap().replace("\"m\"", "\"other\"");
    std::fs::write(&path, edited).unwrap();
    Change::remove(form(Client::Claude), &in_scope(&path, &Scope::User)).unwrap().carry_out().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), OWN.replace("\"m\"", "\"other\""));
}

#[test]
fn a_file_that_changed_since_the_plan_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    std::fs::write(&path, OWN).unwrap();
    let change = Change::install(form(Client::Claude), &in_scope(&path, &Scope::User), "x hook claude").unwrap();
    std::fs::write(&path, "{}").unwrap();
    assert!(matches!(change.carry_out(), Err(InstallError::File(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
}

#[test]
fn a_linked_file_is_written_through_its_link_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("dotfiles.json"), dir.path().join("settings.json"));
    std::fs::write(&real, OWN).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    installed(&link);
    assert!(link.is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("hook claude"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

/// A checkout with a file of settings, and a file outside that must not be written.
fn checkout(dir: &Path) -> (Scope, PathBuf, PathBuf) {
    let (root, outside) = (dir.join("checkout"), dir.join("outside"));
    std::fs::create_dir_all(root.join(".claude")).unwrap();
    std::fs::write(&outside, "{}").unwrap();
    (Scope::Project(root.clone()), root.join(".claude/settings.json"), outside)
}

#[test]
fn a_linked_file_or_folder_of_a_checkout_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (scope, path, outside) = checkout(dir.path());
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let refused = |change: Result<Change, InstallError>, link: &Path| {
        let Err(InstallError::File(FileProblem::Linked { link: told })) = change else { panic!("{change:?}") };
        assert_eq!(told, link);
    };
    refused(Change::install(form(Client::Claude), &in_scope(&path, &scope), "x hook claude"), &path);
    refused(Change::remove(form(Client::Claude), &in_scope(&path, &scope)), &path);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "{}");
    let (folder, elsewhere) = (path.parent().unwrap(), dir.path().join("elsewhere"));
    std::fs::rename(folder, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder).unwrap();
    refused(Change::install(form(Client::Claude), &in_scope(&path, &scope), "x hook claude"), folder);
}

#[test]
fn links_beside_the_settings_are_never_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let (scope, path, outside) = checkout(dir.path());
    std::fs::write(&path, OWN).unwrap();
    std::os::unix::fs::symlink(&outside, format!("{}.before-tripwire", path.display())).unwrap();
    let change = Change::install(form(Client::Claude), &in_scope(&path, &scope), "x hook claude").unwrap();
    change.carry_out().unwrap();
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "{}");
    let backup = change.backup().unwrap();
    assert!(backup.ends_with("settings.json.before-tripwire.1") && !backup.is_symlink());
    assert_eq!(std::fs::read_to_string(backup).unwrap(), OWN);
    assert!(!path.is_symlink() && std::fs::read_to_string(&path).unwrap().contains("x hook claude"));
    let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 3, "no draft stays");
}

#[test]
fn a_file_of_the_persons_with_the_name_of_a_copy_is_neither_overwritten_nor_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let (path, foreign) = (dir.path().join("settings.json"), dir.path().join("settings.json.before-tripwire"));
    std::fs::write(&path, OWN).unwrap();
    std::fs::write(&foreign, "{\"mine\": 1}").unwrap();
    installed(&path);
    let removal = Change::remove(form(Client::Claude), &in_scope(&path, &Scope::User)).unwrap();
    removal.carry_out().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), OWN);
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "{\"mine\": 1}");
    assert_eq!(removal.left(), [foreign], "our own copy is gone");
}

#[test]
fn a_copy_that_does_not_come_back_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    std::fs::write(&path, OWN).unwrap();
    let kept = installed(&path).backup().unwrap().to_owned();
    let edited = std::fs::read_to_string(&path).unwrap().replace("\"m\"", "\"other\"");
    std::fs::write(&path, edited).unwrap();
    Change::remove(form(Client::Claude), &in_scope(&path, &Scope::User)).unwrap().carry_out().unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), OWN);
}

#[test]
fn settings_that_the_client_ignores_are_refused_with_the_file_and_the_next_step() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    std::fs::write(&path, "{\n  // mine\n}\n").unwrap();
    let command = |client| command(Path::new("/opt/tripwire"), client);
    let refused =
        Change::install(form(Client::Claude), &in_scope(&path, &Scope::User), &command(Client::Claude)).unwrap_err();
    let told = format!("{refused}; {}", refused.hint());
    for words in ["settings.json`: line 2", "Claude Code ignores settings", "take them out", "nothing was changed"] {
        assert!(told.contains(words), "{told}");
    }
    assert!(Change::install(form(Client::Gemini), &in_scope(&path, &Scope::User), &command(Client::Gemini)).is_ok());
}

#[test]
fn a_workspace_behind_a_link_of_the_persons_own_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let (_, path, _) = checkout(dir.path());
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("checkout"), &link).unwrap();
    let behind = link.join(".claude/settings.json");
    let change =
        Change::install(form(Client::Claude), &in_scope(&behind, &Scope::Project(link)), "x hook claude").unwrap();
    change.carry_out().unwrap();
    assert!(path.is_file());
}

#[test]
fn places_follow_the_clients_own_variables() {
    let homes = Homes { home: Some("/h".into()), ..Homes::default() }
        .with(Client::Codex.home(), "/c".into())
        .with(Client::Gemini.home(), "/g".into());
    let file = |client, scope: &Scope| SettingsFile::find(form(client), scope, &homes).unwrap().path;
    assert_eq!(file(Client::Claude, &Scope::User), Path::new("/h/.claude/settings.json"));
    assert_eq!(file(Client::Codex, &Scope::User), Path::new("/c/hooks.json"));
    assert_eq!(file(Client::Gemini, &Scope::User), Path::new("/g/.gemini/settings.json"));
    assert_eq!(file(Client::Codex, &Scope::Project("/p".into())), Path::new("/p/.codex/hooks.json"));
    let nowhere = SettingsFile::find(form(Client::Claude), &Scope::User, &Homes::default());
    assert!(matches!(nowhere, Err(InstallError::NoHome { .. })));
}

#[test]
fn the_command_survives_a_shell() {
    assert!(command(Path::new("/a b/it's"), Client::Codex).contains(r" '/a b/it'\''s' hook codex || { "));
}
