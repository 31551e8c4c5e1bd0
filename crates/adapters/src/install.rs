//! Putting our hooks into a client's own settings, and taking them out again.
//!
//! A change is planned first, shown as a diff, and carried out only then. The file as it was is kept beside it; taking the
//! hooks out gives those very bytes back, unless the person has edited the file since: then only our part goes.

mod file;
pub mod settings;
mod trust;

use crate::hooks::protected::Homes;
use crate::hooks::{Client, SECONDS_RECOMMENDED, SECONDS_VARIABLE};
pub use file::FileProblem;
use settings::SettingsError;
use similar::TextDiff;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
pub use trust::config_file;

/// What the hooks print when our program cannot even be started; the exit code behind it blocks on every client.
const GUARD_FAILED: &str = "tripwire: guard failed";
/// Lines around a change in a diff.
const DIFF_CONTEXT_LINES: usize = 2;

/// Whose sessions are guarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All of this person's.
    User,
    /// Those in one workspace.
    Project(PathBuf),
}

/// Why a client's settings cannot be changed. Then they are not changed at all.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The settings have no place.
    #[error("`HOME` is not set, so there is no place for the settings of {}", client.name())]
    NoHome {
        /// The client.
        client: Client,
    },
    /// The file is not what the client reads.
    #[error("`{}`: {error}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: SettingsError,
    },
    /// Codex's configuration is not TOML.
    #[error("`{}`: {problem}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Codex does not list one of our hooks, so it cannot be trusted.
    #[error("codex does not list the hook `{key}`")]
    NotListed {
        /// The hook, as the client would know it.
        key: String,
    },
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileProblem),
}

impl InstallError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoHome { .. } => "set HOME, or use `tripwire init --project` inside a workspace".to_owned(),
            Self::NotListed { .. } => {
                "trust the hooks by hand: start codex and type `/hooks`; until then they are skipped".to_owned()
            }
            Self::Settings { path, .. } | Self::Config { path, .. } => {
                format!("mend `{}` first, then `tripwire init`; nothing was changed", path.display())
            }
            Self::File(problem) => problem.hint(),
        }
    }
}

/// The part of the command by which our hooks are known again, whatever the program's path is.
fn call(client: Client) -> String {
    format!(" hook {} || {{ echo '{GUARD_FAILED}' >&2; exit 2; }}", client.name())
}

/// The command that a client runs for each event. It refuses also when our program is missing, crashes or is killed.
#[must_use]
pub fn command(program: &Path, client: Client) -> String {
    let quoted = program.to_string_lossy().replace('\'', "'\\''");
    format!("{SECONDS_VARIABLE}={SECONDS_RECOMMENDED} '{quoted}'{}", call(client))
}

/// The file that holds a client's hooks.
///
/// # Errors
/// When the person has no home.
pub fn settings_file(client: Client, scope: &Scope, homes: &Homes) -> Result<PathBuf, InstallError> {
    let (own, folder, name) = match client {
        Client::Claude => (homes.claude.clone(), ".claude", "settings.json"),
        Client::Codex => (homes.codex.clone(), ".codex", "hooks.json"),
        Client::Gemini => (homes.gemini.as_ref().map(|home| home.join(".gemini")), ".gemini", "settings.json"),
    };
    let folder = match scope {
        Scope::Project(root) => root.join(folder),
        Scope::User => match (own, &homes.home) {
            (Some(own), _) => own,
            (None, Some(home)) => home.join(folder),
            (None, None) => return Err(InstallError::NoHome { client }),
        },
    };
    Ok(folder.join(name))
}

/// What would become of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file, as the client names it.
    pub path: PathBuf,
    /// What is in it now; nothing if there is none.
    pub before: Option<String>,
    /// What would be in it; nothing if it would go.
    pub after: Option<String>,
    /// Whether the hooks come or go.
    kind: Kind,
    /// Whose the file is.
    scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The hooks come into a file without them.
    Install,
    /// The file has hooks of ours already: what is kept is the file before the first of them.
    Renew,
    Remove,
}

impl Change {
    /// Plans to put our hooks in.
    ///
    /// # Errors
    /// When the file cannot be read or is not what the client reads.
    pub fn install(client: Client, (path, scope): (&Path, &Scope), command: &str) -> Result<Self, InstallError> {
        let before = file::read(path, scope)?;
        let text = before.as_deref().unwrap_or_default();
        let after = settings::with_hooks(text, client, command).map_err(at(path))?;
        let kind = if is_clean(text, client) { Kind::Install } else { Kind::Renew };
        Ok(Self { path: path.to_owned(), before, after: Some(after), kind, scope: scope.clone() })
    }

    /// Plans to take our hooks out. If the file is just what we made of the one before, that one comes back.
    ///
    /// # Errors
    /// When the file cannot be read or is not what the client reads.
    pub fn remove(client: Client, (path, scope): (&Path, &Scope)) -> Result<Self, InstallError> {
        let before = file::read(path, scope)?;
        let mut after = before.clone();
        if let Some(text) = &before {
            let commands = settings::commands(text, client).map_err(at(path))?;
            if let Some(command) = commands.first() {
                // An older program may have kept a file that had our hooks already.
                let kept = file::read_backup(path)?.filter(|kept| is_clean(kept, client));
                let made = settings::with_hooks(kept.as_deref().unwrap_or_default(), client, command);
                after = if made.is_ok_and(|made| made == *text) {
                    kept
                } else {
                    Some(settings::without_hooks(text, client).map_err(at(path))?)
                };
            }
        }
        Ok(Self { path: path.to_owned(), before, after, kind: Kind::Remove, scope: scope.clone() })
    }

    /// Whether nothing would change.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.before == self.after
    }

    /// The change in the usual form.
    #[must_use]
    pub fn diff(&self) -> String {
        let name = self.path.display().to_string();
        let side = |text: &Option<String>| if text.is_some() { name.clone() } else { "/dev/null".to_owned() };
        let (before, after) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let diff = TextDiff::from_lines(before, after);
        diff.unified_diff()
            .context_radius(DIFF_CONTEXT_LINES)
            .header(&side(&self.before), &side(&self.after))
            .to_string()
    }

    /// Carries it out: the file as it was is kept beside it at the first installation, and goes at a removal.
    ///
    /// # Errors
    /// When a file cannot be written, or somebody changed it since the plan was made: then it is left as it is.
    pub fn carry_out(&self) -> Result<(), InstallError> {
        match self.kind {
            Kind::Install => {
                file::refuse_links(&self.path, &self.scope)?;
                if let Some(before) = &self.before {
                    file::keep(&self.path, before)?;
                }
                file::exchange(self)?;
            }
            Kind::Renew => file::exchange(self)?,
            Kind::Remove => {
                file::exchange(self)?;
                file::remove(&file::backup(&self.path))?;
            }
        }
        Ok(())
    }

    /// The setting by which the person switched all hooks off, if the file has it.
    #[must_use]
    pub fn switched_off(&self, client: Client) -> Option<&'static str> {
        settings::switched_off(self.after.as_deref()?, client)
    }

    /// Where the file as it was is kept.
    #[must_use]
    pub fn backup(&self) -> PathBuf {
        file::backup(&self.path)
    }
}

/// Whether a text has no hooks of ours.
fn is_clean(text: &str, client: Client) -> bool {
    settings::commands(text, client).is_ok_and(|commands| commands.is_empty())
}

fn at(path: &Path) -> impl Fn(SettingsError) -> InstallError {
    move |error| InstallError::Settings { path: path.to_owned(), error }
}

/// A client that is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The client.
    pub client: Client,
    /// Its program.
    pub program: PathBuf,
}

/// The clients that a search path leads to.
#[must_use]
pub fn detect(search_path: Option<OsString>) -> Vec<Found> {
    let folders: Vec<PathBuf> = search_path.map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let find = |client: Client| {
        let program = folders.iter().map(|folder| folder.join(client.name())).find(|file| file::is_program(file))?;
        Some(Found { client, program })
    };
    Client::ALL.into_iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "{\n  \"model\": \"m\",\n  \"permissions\": {\"deny\": [\"WebFetch\"]}\n}\n";

    fn installed(path: &Path) -> Change {
        let change =
            Change::install(Client::Claude, (path, &Scope::User), &command(Path::new("/opt/tripwire"), Client::Claude))
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
                    Client::Claude,
                    (&path, &Scope::User),
                    &command(Path::new("/opt/tripwire"), Client::Claude)
                )
                .unwrap()
                .is_nothing()
            );
            let removal = Change::remove(Client::Claude, (&path, &Scope::User)).unwrap();
            removal.carry_out().unwrap();
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), before);
            assert!(!removal.backup().exists());
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
            let second = Change::install(Client::Claude, (&path, &Scope::User), &moved).unwrap();
            assert!(!second.is_nothing());
            second.carry_out().unwrap();
            assert_eq!(std::fs::read_to_string(second.backup()).ok().as_deref(), before);
            Change::remove(Client::Claude, (&path, &Scope::User)).unwrap().carry_out().unwrap();
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
        let second = Change::install(Client::Claude, (&path, &Scope::User), &moved).unwrap();
        second.carry_out().unwrap();
        std::fs::write(second.backup(), old).unwrap();
        Change::remove(Client::Claude, (&path, &Scope::User)).unwrap().carry_out().unwrap();
        let left = std::fs::read_to_string(&path).unwrap();
        assert!(settings::commands(&left, Client::Claude).unwrap().is_empty(), "{left}");
    }

    #[test]
    fn an_edit_of_the_persons_survives_the_removal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, OWN).unwrap();
        installed(&path);
        let edited = std::fs::read_to_string(&path).unwrap().replace("\"m\"", "\"other\"");
        std::fs::write(&path, edited).unwrap();
        Change::remove(Client::Claude, (&path, &Scope::User)).unwrap().carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), OWN.replace("\"m\"", "\"other\""));
    }

    #[test]
    fn a_file_that_changed_since_the_plan_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, OWN).unwrap();
        let change = Change::install(Client::Claude, (&path, &Scope::User), "x hook claude").unwrap();
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

    /// A checkout with a file of settings, and a file outside that nobody may write.
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
        refused(Change::install(Client::Claude, (&path, &scope), "x hook claude"), &path);
        refused(Change::remove(Client::Claude, (&path, &scope)), &path);
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "{}");
        let (folder, elsewhere) = (path.parent().unwrap(), dir.path().join("elsewhere"));
        std::fs::rename(folder, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder).unwrap();
        refused(Change::install(Client::Claude, (&path, &scope), "x hook claude"), folder);
    }

    #[test]
    fn links_beside_the_settings_are_replaced_and_never_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (scope, path, outside) = checkout(dir.path());
        std::fs::write(&path, OWN).unwrap();
        for suffix in [".before-tripwire", ".tripwire-draft", ".before-tripwire.tripwire-draft"] {
            std::os::unix::fs::symlink(&outside, format!("{}{suffix}", path.display())).unwrap();
        }
        let change = Change::install(Client::Claude, (&path, &scope), "x hook claude").unwrap();
        change.carry_out().unwrap();
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "{}");
        assert!(!change.backup().is_symlink());
        assert_eq!(std::fs::read_to_string(change.backup()).unwrap(), OWN);
        assert!(!path.is_symlink() && std::fs::read_to_string(&path).unwrap().contains("x hook claude"));
        let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 2, "no draft stays");
    }

    #[test]
    fn a_workspace_behind_a_link_of_the_persons_own_is_served() {
        let dir = tempfile::tempdir().unwrap();
        let (_, path, _) = checkout(dir.path());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("checkout"), &link).unwrap();
        let behind = link.join(".claude/settings.json");
        let change = Change::install(Client::Claude, (&behind, &Scope::Project(link)), "x hook claude").unwrap();
        change.carry_out().unwrap();
        assert!(path.is_file());
    }

    #[test]
    fn places_follow_the_clients_own_variables() {
        let homes =
            Homes { home: Some("/h".into()), codex: Some("/c".into()), gemini: Some("/g".into()), ..Homes::default() };
        let file = |client, scope: &Scope| settings_file(client, scope, &homes).unwrap();
        assert_eq!(file(Client::Claude, &Scope::User), Path::new("/h/.claude/settings.json"));
        assert_eq!(file(Client::Codex, &Scope::User), Path::new("/c/hooks.json"));
        assert_eq!(file(Client::Gemini, &Scope::User), Path::new("/g/.gemini/settings.json"));
        assert_eq!(file(Client::Codex, &Scope::Project("/p".into())), Path::new("/p/.codex/hooks.json"));
        let nowhere = settings_file(Client::Claude, &Scope::User, &Homes::default());
        assert!(matches!(nowhere, Err(InstallError::NoHome { .. })));
    }

    #[test]
    fn the_command_survives_a_shell() {
        assert!(command(Path::new("/a b/it's"), Client::Codex).contains(r" '/a b/it'\''s' hook codex || { "));
    }
}
