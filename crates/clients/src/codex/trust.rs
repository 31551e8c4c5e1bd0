//! Codex runs a hook only if the person's own configuration holds the hook's hash: otherwise it skips it without a message,
//! and marks in a project's configuration count for nothing. The client itself tells the hashes; here they are written into
//! `config.toml`, for our hooks and for no others. Beside them stands the switch that keeps commands from getting an open
//! terminal: what is typed into one reaches no hook.

use super::app_server::{self, ListedHook};
use super::settings::FORM;
use super::trusted_config::{self, TerminalSwitch, marks, with_marks, without_marks};
use crate::check_result::CheckResult;
use crate::homes::Homes;
use crate::install::change::{self, Change, ChangeKind, InstallError, SettingsFile};
use crate::install::file::{self, Scope};
use crate::install::settings;
use crate::install::trust::{HookTrust, TrustCheck, TrustPlace, TrustPlan};
use crate::tool_servers::server_form::ServerForm;
use crate::tool_servers::texts::restored_or_same;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tripwire_fs::links::followed;

const CONFIG: &str = "config.toml";

/// How Codex comes to trust our hooks.
pub(super) struct CodexTrust;

impl HookTrust for CodexTrust {
    fn plan_install(&self, place: &TrustPlace<'_>, hooks: &Change, command: &str) -> Result<TrustPlan, InstallError> {
        let files = CodexFiles::find(place.scope, place.homes)?;
        files.check_config()?;
        let mut plan = TrustPlan::default();
        match plan_trust(&files, place, hooks, command) {
            Ok(trust) => plan.changes.push(trust),
            Err(why) => {
                plan.notes.push(format!("NOT YET     {why}: codex skips hooks until they are trusted"));
                plan.notes.push("next        start codex and type `/hooks`".to_owned());
            }
        }
        Ok(plan)
    }

    fn explanation(&self) -> &'static [&'static str] {
        &[
            "codex       `hooks.state` makes it run these hooks, which it skips otherwise;",
            "            `features.unified_exec_tty = false` closes terminals that hooks cannot observe",
        ]
    }

    /// A configuration that cannot be read keeps no hook where it is: what stays in it is reported.
    fn plan_remove(&self, place: &TrustPlace<'_>) -> Result<TrustPlan, InstallError> {
        let files = CodexFiles::find(place.scope, place.homes)?;
        let mut changes = vec![distrust(&files)];
        if matches!(place.scope, Scope::Project(_)) {
            let is_nothing = |change: &Result<Change, InstallError>| change.as_ref().is_ok_and(Change::is_nothing);
            changes.extend(Some(distrust_in_project(&files)).filter(|change| !is_nothing(change)));
        }
        let mut plan = TrustPlan::default();
        for change in changes {
            match change {
                Ok(change) => plan.changes.push(change),
                Err(error @ InstallError::Config { .. }) => {
                    plan.notes.push(format!("NOT DONE    {error}"));
                    plan.notes.push(format!(
                        "            the trust of `{}` and `features.unified_exec_tty` stay in it, where they are: fix it and take \
                         them out",
                        files.hooks.display()
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(plan)
    }

    /// Whether Codex trusts the hooks is for Codex to say: it reads none in a folder that the person has not trusted.
    fn left_to_do(&self, place: &TrustPlace<'_>) -> Result<Vec<String>, InstallError> {
        let Some(program) = place.program else { return Ok(Vec::new()) };
        let files = CodexFiles::find(place.scope, place.homes)?;
        let why = match files.listed(program) {
            Ok(listed) if files.is_trusted(&listed)? => return Ok(Vec::new()),
            Ok(_) => "codex does not trust these hooks and skips them".to_owned(),
            Err(why) => format!("codex does not list its hooks: {why}"),
        };
        let next = match place.scope {
            Scope::Project(_) => "next        start codex in this workspace, trust the folder, and type `/hooks`",
            Scope::User => "next        start codex and type `/hooks`",
        };
        Ok(vec![format!("NOT YET     {why}"), next.to_owned()])
    }

    fn check(&self, place: &TrustPlace<'_>, check: &TrustCheck<'_>) -> CheckResult {
        let fix = match place.scope {
            Scope::Project(_) => "start codex in this workspace, trust the folder, and type `/hooks`".to_owned(),
            Scope::User => format!("{}, or start codex and type `/hooks`", check.again),
        };
        let files = match CodexFiles::find(place.scope, place.homes) {
            Ok(files) => files,
            Err(error) => return CheckResult::broken(check.id, error.to_string(), fix),
        };
        let program = place.program.unwrap_or(Path::new("codex"));
        let listed = match files.listed(program) {
            Ok(listed) => listed,
            Err(why) => return CheckResult::broken(check.id, format!("codex does not list its hooks: {why}"), fix),
        };
        let looked = files
            .is_trusted(&listed)
            .and_then(|trusted| Ok((trusted, trust(&files, check.text, check.command, &listed)?.is_nothing())));
        match looked {
            Ok((true, true)) => {
                CheckResult::kept(check.id, "codex trusts the hooks and opens no terminals behind them")
            }
            Ok((false, _)) => CheckResult::broken(check.id, "codex does not trust the hooks and skips them", fix),
            Ok((true, false)) => CheckResult::broken(check.id, "codex opens terminals behind the hooks", check.again),
            Err(error) => CheckResult::broken(check.id, error.to_string(), fix),
        }
    }
}

/// Codex skips hooks that it does not trust: so they are trusted here, by the hashes that it tells.
fn plan_trust(files: &CodexFiles, place: &TrustPlace<'_>, hooks: &Change, command: &str) -> Result<Change, String> {
    let program = place.program.ok_or_else(|| "codex is not on the search path".to_owned())?;
    let listed = if hooks.is_nothing() { files.listed(program) } else { app_server::list_given(program, command) };
    let listed = listed.map_err(|why| format!("codex does not list its hooks: {why}"))?;
    let text = hooks.after.as_deref().unwrap_or_default();
    trust(files, text, command, &listed).map_err(|error| error.to_string())
}

/// The files of Codex that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CodexFiles {
    hooks: PathBuf,
    /// The configuration whose trust counts: always the person's own.
    config: PathBuf,
    scope: Scope,
}

impl CodexFiles {
    /// Finds them.
    ///
    /// # Errors
    /// When the person has no home.
    fn find(scope: &Scope, homes: &Homes) -> Result<Self, InstallError> {
        let hooks = SettingsFile::find(&FORM, scope, homes)?.path;
        // Without a home nothing is trusted, and the client says so; hooks of a project can go all the same.
        let own = SettingsFile::find(&FORM, &Scope::User, homes).map_or_else(|_| hooks.clone(), |own| own.path);
        Ok(Self { hooks, config: own.with_file_name(CONFIG), scope: scope.clone() })
    }

    /// Whether the configuration can be read: nothing is written beside one that cannot.
    ///
    /// # Errors
    /// When it cannot.
    fn check_config(&self) -> Result<(), InstallError> {
        let text = file::read(&self.config, &Scope::User)?.unwrap_or_default();
        trusted_config::parse(&text).map(|_| ()).map_err(wrong(&self.config))
    }

    /// Whether the client itself says that it trusts all our hooks of this file. One that does not tell is believed to go
    /// by the marks.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn is_trusted(&self, listed: &[ListedHook]) -> Result<bool, InstallError> {
        let text = file::read(&self.hooks, &self.scope)?.unwrap_or_default();
        let trusts = |hook: &ListedHook| hook.trust.as_deref().is_none_or(|word| word == "trusted");
        let keys = self.keys(&text)?;
        Ok(keys.iter().all(|(_, key)| listed.iter().any(|hook| hook.key == *key && trusts(hook))))
    }

    /// The hooks that Codex finds where ours are.
    fn listed(&self, program: &Path) -> Result<Vec<ListedHook>, String> {
        let folder = match &self.scope {
            Scope::Project(root) => root.clone(),
            Scope::User => self.hooks.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned),
        };
        app_server::list(Command::new(program), &folder)
    }

    /// The keys by which the client knows our hooks in a text: the file, the event, and the places in its lists.
    fn keys(&self, text: &str) -> Result<Vec<(String, String)>, InstallError> {
        let places = settings::places(text, &FORM).map_err(change::at(&self.hooks))?;
        let real = followed(&self.hooks).unwrap_or_else(|| self.hooks.clone());
        let key = |(event, entry, place)| {
            let event = snake(event);
            let key = format!("{}:{event}:{entry}:{place}", real.display());
            (event, key)
        };
        Ok(places.into_iter().map(key).collect())
    }
}

/// Plans to mark our hooks as trusted that stand in this text, which is or will be the file of hooks. Hooks that the
/// client lists as given on its command line tell the hashes of those that are not written yet.
///
/// # Errors
/// When the client does not list them, or its configuration cannot be read.
fn trust(files: &CodexFiles, text: &str, command: &str, listed: &[ListedHook]) -> Result<Change, InstallError> {
    let mut marks = Vec::new();
    for (event, key) in files.keys(text)? {
        let is_it = |hook: &&ListedHook| hook.key == key || hook.is_given_for(&event);
        let hook = listed.iter().find(|hook| is_it(hook) && hook.command.as_deref() == Some(command));
        let hash = hook.map(|hook| hook.hash.clone());
        marks.push((key.clone(), hash.ok_or(InstallError::NotListed { key })?));
    }
    let path = files.config.clone();
    let before = file::read(&path, &Scope::User)?;
    let text = before.as_deref().unwrap_or_default();
    let after = with_marks(text, &marks).map_err(wrong(&path))?;
    let keys: Vec<String> = marks.into_iter().map(|(key, _)| key).collect();
    let there = trusted_config::marks(text, &keys).map_err(wrong(&path))?;
    let is_first = there.is_empty() && !has_others(text, &keys).map_err(wrong(&path))?;
    let (kind, backup) = match (is_first, &before) {
        (true, Some(_)) => (ChangeKind::Install, Some(file::free_backup(&path)?)),
        (true, None) => (ChangeKind::Install, None),
        (false, _) => (ChangeKind::Renew, kept(&path, text, &there, None).map(|(backup, _)| backup)),
    };
    Ok(Change { path, before, after: Some(after), kind, scope: Scope::User, backup })
}

/// Plans to take the marks of our hooks away; to be made before the hooks themselves go.
///
/// # Errors
/// When a file cannot be read.
fn distrust(files: &CodexFiles) -> Result<Change, InstallError> {
    distrust_in(files, files.config.clone(), &Scope::User)
}

/// The same in the project's own configuration, where an older program put marks that never counted.
///
/// # Errors
/// When a file cannot be read.
fn distrust_in_project(files: &CodexFiles) -> Result<Change, InstallError> {
    distrust_in(files, files.hooks.with_file_name(CONFIG), &files.scope)
}

fn distrust_in(files: &CodexFiles, path: PathBuf, scope: &Scope) -> Result<Change, InstallError> {
    let hooks = file::read(&files.hooks, &files.scope)?.unwrap_or_default();
    let keys: Vec<String> = files.keys(&hooks)?.into_iter().map(|(_, key)| key).collect();
    let before = file::read(&path, scope)?;
    // The guard before tool servers goes with the hooks of the same scope, and first: what is left is what the marks came into.
    let form = (*scope == files.scope).then_some(ServerForm::TomlTables);
    let open = before.as_deref().map(|text| restored_or_same(text, form));
    let (mut after, mut backup) = (open.clone(), None);
    let marks = match &open {
        // Where there is no hook there is no mark, whatever the file is.
        Some(text) if !keys.is_empty() => marks(text, &keys).map_err(wrong(&path))?,
        Some(_) | None => Vec::new(),
    };
    if let (Some(text), false) = (&open, marks.is_empty()) {
        if has_others(text, &keys).map_err(wrong(&path))? {
            // Hooks of ours in another place need the switch, and what was kept is theirs to bring back.
            after = Some(without_marks(text, &keys, TerminalSwitch::Stays).map_err(wrong(&path))?);
        } else {
            let made_of_nothing = || with_marks("", &marks).is_ok_and(|made| made == *text);
            (after, backup) = match kept(&path, text, &marks, form) {
                Some((backup, was)) => (Some(was), Some(backup)),
                None if made_of_nothing() => (None, None),
                None => (Some(without_marks(text, &keys, TerminalSwitch::Goes).map_err(wrong(&path))?), None),
            };
        }
    }
    Ok(Change { path, before, after, kind: ChangeKind::Remove, scope: scope.clone(), backup })
}

/// The configuration as it was, and where it is kept: the one of which these marks make just this text.
fn kept(path: &Path, text: &str, marks: &[(String, String)], form: Option<ServerForm>) -> Option<(PathBuf, String)> {
    let is_it = |was: &str| !marks.is_empty() && with_marks(was, marks).as_deref() == Ok(text);
    let open = file::backups(path).into_iter().map(|(place, was)| (place, restored_or_same(&was, form)));
    open.into_iter().find(|(_, was)| was != text && is_it(was))
}

/// Whether a configuration trusts hooks of ours beside these: such as stand in a file of hooks elsewhere.
fn has_others(text: &str, keys: &[String]) -> Result<bool, String> {
    let own: BTreeSet<String> = keys.iter().filter_map(|key| trusted_config::file_of(key)).collect();
    let files = trusted_config::trusted_files(text)?;
    let is_ours = |path: &String| {
        let text = file::read(Path::new(path), &Scope::User).ok().flatten().unwrap_or_default();
        settings::commands(&text, &FORM).is_ok_and(|commands| !commands.is_empty())
    };
    Ok(files.difference(&own).any(is_ours))
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

fn wrong(path: &Path) -> impl Fn(String) -> InstallError {
    let path = path.to_owned();
    move |problem| InstallError::Config { path: path.clone(), problem: problem.replace('\n', " ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "model = \"m\" # mine\n\n[hooks.state.\"/other:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n";

    /// Hooks of ours behind one of the person's, and what the client lists.
    fn placed(folder: &Path) -> (CodexFiles, String, Vec<ListedHook>) {
        placed_in(folder, Scope::User)
    }

    fn placed_in(folder: &Path, scope: Scope) -> (CodexFiles, String, Vec<ListedHook>) {
        let homes = Homes::default().with(&super::super::settings::HOME, folder.to_owned());
        let files = CodexFiles::find(&scope, &homes).unwrap();
        let file = &files.hooks;
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let command = crate::hook_command::line(Path::new("/opt/tripwire"), "codex");
        std::fs::write(file, r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#).unwrap();
        Change::install(&FORM, &SettingsFile { path: file.clone(), scope: scope.clone() }, &command)
            .unwrap()
            .carry_out()
            .unwrap();
        let keys = files.keys(&std::fs::read_to_string(file).unwrap()).unwrap();
        let hook = |(_, key): &(String, String)| ListedHook {
            key: key.clone(),
            command: Some(command.clone()),
            source: "user".to_owned(),
            hash: "sha256:2".to_owned(),
            trust: Some("untrusted".to_owned()),
        };
        let listed = keys.iter().map(hook).collect();
        (files, command, listed)
    }

    fn trust(files: &CodexFiles, command: &str, listed: &[ListedHook]) -> Result<Change, InstallError> {
        super::trust(files, &std::fs::read_to_string(&files.hooks).unwrap(), command, listed)
    }

    #[test]
    fn our_hooks_are_marked_at_their_places_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let (files, command, listed) = placed(dir.path());
        std::fs::write(&files.config, OWN).unwrap();
        let change = trust(&files, &command, &listed).unwrap();
        let after = change.after.clone().unwrap();
        assert!(after.starts_with(OWN), "{after}");
        assert!(after.contains("hooks.json:stop:1:0\"]\ntrusted_hash = \"sha256:2\""), "{after}");
        assert!(after.contains(":pre_tool_use:0:0\"]") && !after.contains(":stop:0:0\"]\ntrusted_hash = \"sha256:2\""));
        change.carry_out().unwrap();
        assert!(trust(&files, &command, &listed).unwrap().is_nothing());
        distrust(&files).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&files.config).unwrap(), OWN);
    }

    #[test]
    fn hooks_that_are_trusted_again_leave_what_was_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (files, command, mut listed) = placed(dir.path());
        std::fs::write(&files.config, OWN).unwrap();
        trust(&files, &command, &listed).unwrap().carry_out().unwrap();
        for hook in &mut listed {
            hook.hash = "sha256:3".to_owned();
        }
        let again = trust(&files, &command, &listed).unwrap();
        assert!(!again.is_nothing());
        again.carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(again.backup().unwrap()).unwrap(), OWN);
        distrust(&files).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&files.config).unwrap(), OWN);
    }

    #[test]
    fn marks_go_also_when_the_person_edited_the_file_and_a_new_file_goes_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (files, command, listed) = placed(dir.path());
        trust(&files, &command, &listed).unwrap().carry_out().unwrap();
        distrust(&files).unwrap().carry_out().unwrap();
        assert!(!files.config.exists(), "there was none before");
        std::fs::write(&files.config, OWN).unwrap();
        trust(&files, &command, &listed).unwrap().carry_out().unwrap();
        let text = std::fs::read_to_string(&files.config).unwrap();
        std::fs::write(&files.config, text.replace("\"m\"", "\"n\"")).unwrap();
        distrust(&files).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&files.config).unwrap(), OWN.replace("\"m\"", "\"n\""));
    }

    #[test]
    fn terminals_behind_the_hooks_are_switched_off_with_them() {
        let dir = tempfile::tempdir().unwrap();
        let (files, command, listed) = placed(dir.path());
        for own in
            ["", "[features]\nhooks = true # mine\n", "[features]\nunified_exec_tty = true\n", "features.x = 1\n"]
        {
            std::fs::write(&files.config, own).unwrap();
            let change = trust(&files, &command, &listed).unwrap();
            let after: toml_edit::DocumentMut = change.after.clone().unwrap().parse().unwrap();
            assert_eq!(after["features"]["unified_exec_tty"].as_bool(), Some(false), "{after}");
            change.carry_out().unwrap();
            assert!(trust(&files, &command, &listed).unwrap().is_nothing());
            distrust(&files).unwrap().carry_out().unwrap();
            assert_eq!(std::fs::read_to_string(&files.config).unwrap(), own);
        }
        std::fs::write(&files.config, "features = 1\n").unwrap();
        assert!(matches!(trust(&files, &command, &listed), Err(InstallError::Config { .. })));
    }

    #[test]
    fn hooks_of_a_project_are_trusted_in_the_persons_own_configuration() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (files, command, mut listed) = placed_in(home.path(), Scope::Project(root.path().to_owned()));
        std::fs::write(&files.config, OWN).unwrap();
        trust(&files, &command, &listed).unwrap().carry_out().unwrap();
        let text = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
        assert!(text.contains("/.codex/hooks.json:pre_tool_use:0:0\"]"), "{text}");
        assert!(!root.path().join(".codex/config.toml").exists(), "marks count for nothing there");
        assert!(!files.is_trusted(&listed).unwrap(), "only the client's own word counts");
        listed.iter_mut().for_each(|hook| hook.trust = Some("trusted".to_owned()));
        assert!(files.is_trusted(&listed).unwrap() && !files.is_trusted(&listed[1..]).unwrap());
        distrust(&files).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&files.config).unwrap(), OWN);
    }

    #[test]
    fn a_persons_own_trusted_hook_in_the_same_file_does_not_keep_the_switch() {
        let dir = tempfile::tempdir().unwrap();
        let (files, command, listed) = placed(dir.path());
        let own = format!(
            "[hooks.state.\"{}:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n",
            followed(&files.hooks).unwrap().display()
        );
        std::fs::write(&files.config, &own).unwrap();
        trust(&files, &command, &listed).unwrap().carry_out().unwrap();
        let text = std::fs::read_to_string(&files.config).unwrap();
        std::fs::write(&files.config, format!("# mine\n{text}")).unwrap();
        distrust(&files).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&files.config).unwrap(), format!("# mine\n{own}"));
    }

    #[test]
    fn marks_of_two_places_go_one_by_one_and_the_switch_with_the_last() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = placed(home.path());
        let project = placed_in(home.path(), Scope::Project(root.path().to_owned()));
        for order in [[&own, &project], [&project, &own]] {
            std::fs::write(&own.0.config, OWN).unwrap();
            for (files, command, listed) in [&own, &project] {
                trust(files, command, listed).unwrap().carry_out().unwrap();
            }
            distrust(&order[0].0).unwrap().carry_out().unwrap();
            let text = std::fs::read_to_string(&own.0.config).unwrap();
            assert!(text.contains("unified_exec_tty = false"), "{text}");
            assert_eq!(text.matches("sha256:2").count(), order[1].2.len(), "{text}");
            // The hooks go with their marks.
            let hooks = std::fs::read_to_string(&order[0].0.hooks).unwrap();
            std::fs::write(&order[0].0.hooks, "{}").unwrap();
            let last = distrust(&order[1].0).unwrap();
            last.carry_out().unwrap();
            assert_eq!(std::fs::read_to_string(&own.0.config).unwrap(), OWN);
            assert!(last.left().is_empty());
            std::fs::write(&order[0].0.hooks, hooks).unwrap();
        }
    }

    #[test]
    fn hashes_of_hooks_that_are_given_stand_for_those_that_are_not_written_yet() {
        let dir = tempfile::tempdir().unwrap();
        let (files, command, mut listed) = placed(dir.path());
        let written = trust(&files, &command, &listed).unwrap();
        for hook in &mut listed {
            let event = hook.key.rsplit(':').nth(2).unwrap().to_owned();
            hook.key = format!("/<session-flags>/config.toml:{event}:0:0");
            hook.source = "sessionFlags".to_owned();
        }
        assert_eq!(trust(&files, &command, &listed).unwrap(), written);
        let planned = std::fs::read_to_string(&files.hooks).unwrap();
        std::fs::remove_file(&files.hooks).unwrap();
        assert_eq!(super::trust(&files, &planned, &command, &listed).unwrap(), written);
        assert!(super::trust(&files, &planned, "another", &listed).is_err());
    }

    #[test]
    fn a_configuration_that_cannot_be_read_is_told_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (files, ..) = placed(dir.path());
        assert!(files.check_config().is_ok(), "none is as good as an empty one");
        std::fs::write(&files.config, OWN).unwrap();
        assert!(files.check_config().is_ok());
        std::fs::write(&files.config, "model = \n").unwrap();
        let told = files.check_config().unwrap_err().to_string();
        assert!(told.contains("config.toml") && told.contains("line 1") && !told.contains('\n'), "{told}");
    }

    #[test]
    fn a_hook_that_the_client_does_not_list_and_a_broken_file_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let (files, command, mut listed) = placed(dir.path());
        std::fs::write(&files.config, "model = ").unwrap();
        assert!(matches!(trust(&files, &command, &listed), Err(InstallError::Config { .. })));
        listed.pop();
        assert!(matches!(trust(&files, &command, &listed), Err(InstallError::NotListed { .. })));
    }
}
