//! Putting our hooks into a client's own settings, and taking them out again.
//!
//! A change is planned first, shown as a diff, and carried out only then. The file as it was is kept beside it; taking the
//! hooks out gives those very bytes back, unless the person has edited the file since: then only our part goes.

mod called;
mod file;
pub mod settings;
mod trust;

use crate::hooks::protected::Homes;
use crate::hooks::{Client, SECONDS_RECOMMENDED, SECONDS_VARIABLE};
pub(crate) use called::{called, is_same};
pub use file::FileProblem;
use settings::SettingsError;
use similar::TextDiff;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
pub use trust::CodexFiles;

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
            Self::Settings { path, error: SettingsError::NotStrict { .. } } => {
                format!("take them out of `{}`, then `tripwire init`; nothing was changed", path.display())
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

/// The text of a person's settings, or a workspace's; nothing if there is none that can be read.
pub fn read_settings(path: &Path) -> Option<String> {
    file::read(path, &Scope::User).ok().flatten()
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
    /// Where the file as it was is kept, or is to be; nothing where none is.
    backup: Option<PathBuf>,
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
        let (kind, backup) = match (is_clean(text, client), &before) {
            (true, Some(_)) => (Kind::Install, Some(file::free_backup(path)?)),
            (true, None) => (Kind::Install, None),
            (false, _) => (Kind::Renew, kept(path, text, client).map(|(backup, _)| backup)),
        };
        Ok(Self { path: path.to_owned(), before, after: Some(after), kind, scope: scope.clone(), backup })
    }

    /// Plans to take our hooks out. If the file is just what we made of the one before, that one comes back.
    ///
    /// # Errors
    /// When the file cannot be read or is not JSON.
    pub fn remove(client: Client, (path, scope): (&Path, &Scope)) -> Result<Self, InstallError> {
        let before = file::read(path, scope)?;
        let (mut after, mut backup) = (before.clone(), None);
        if let Some(text) = &before
            && let Some(command) = settings::commands(text, client).map_err(at(path))?.first()
        {
            let made_of_nothing = || settings::edited("", client, command).is_ok_and(|made| made == *text);
            (after, backup) = match kept(path, text, client) {
                Some((backup, was)) => (Some(was), Some(backup)),
                None if made_of_nothing() => (None, None),
                None => (Some(settings::without_hooks(text, client).map_err(at(path))?), None),
            };
        }
        Ok(Self { path: path.to_owned(), before, after, kind: Kind::Remove, scope: scope.clone(), backup })
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

    /// Carries it out: the file as it was is kept beside it at the first installation, and goes when it came back.
    ///
    /// # Errors
    /// When a file cannot be written, or somebody changed it since the plan was made: then it is left as it is.
    pub fn carry_out(&self) -> Result<(), InstallError> {
        match self.kind {
            Kind::Install => {
                file::refuse_links(&self.path, &self.scope)?;
                if let (Some(before), Some(backup)) = (&self.before, &self.backup) {
                    file::keep(backup, before)?;
                }
                file::exchange(self)?;
            }
            Kind::Renew => file::exchange(self)?,
            Kind::Remove => {
                file::exchange(self)?;
                if let Some(backup) = &self.backup {
                    file::remove(backup)?;
                }
            }
        }
        Ok(())
    }

    /// The setting by which the person switched all hooks off, if the file has it.
    #[must_use]
    pub fn switched_off(&self, client: Client) -> Option<&'static str> {
        settings::switched_off(self.after.as_deref()?, client)
    }

    /// Where the file as it was is kept; nothing where none is, or none is known to be it.
    #[must_use]
    pub fn backup(&self) -> Option<&Path> {
        self.backup.as_deref()
    }

    /// Files beside this one that look like what we keep and stay, because they are not what came back.
    #[must_use]
    pub fn left(&self) -> Vec<PathBuf> {
        match self.kind {
            Kind::Install | Kind::Renew => Vec::new(),
            Kind::Remove => file::backups(&self.path).into_iter().map(|(place, _)| place).collect(),
        }
    }
}

/// The file as it was before our hooks came, and where it is kept: the one of which they make just this text.
fn kept(path: &Path, text: &str, client: Client) -> Option<(PathBuf, String)> {
    let command = settings::commands(text, client).ok()?.into_iter().next()?;
    // An older program may have kept a file that had our hooks already.
    let is_it = |was: &str| is_clean(was, client) && settings::edited(was, client, &command).as_deref() == Ok(text);
    file::backups(path).into_iter().find(|(_, was)| is_it(was))
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
mod tests;
