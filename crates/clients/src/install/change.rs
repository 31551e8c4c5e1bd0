//! A change of one settings file: planned, shown, carried out.

use super::file::{self, FileProblem, Scope, TextChange};
use super::form::HookSettings;
use super::settings::{self, SettingsError};
use super::status_line::{self, StatusLine};
use crate::homes::Homes;
use crate::tool_servers::texts::restored_or_same;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tripwire_core::explain::Explain;
use tripwire_workspace::text_diff::{NamedText, unified};

/// Lines around a change in a diff.
const DIFF_CONTEXT_LINES: usize = 2;

/// Why a client's settings cannot be changed. Then they are not changed at all.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The settings have no place.
    #[error("`HOME` is not set, so there is no place for the settings of {client}")]
    NoHome {
        /// The client.
        client: &'static str,
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
    /// Our program would not be known again in a command line.
    #[error("this program is called `{name}`, and a guard is known again only by the name `tripwire`")]
    ProgramName {
        /// Its name.
        name: String,
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

impl Explain for InstallError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NoHome { .. } => "set HOME, or use `tripwire init --project` inside a workspace".into(),
            Self::NotListed { .. } => {
                "trust the hooks by hand: start codex and type `/hooks`; until then they are skipped".into()
            }
            Self::ProgramName { .. } => {
                "run it as `tripwire`, by a link of that name or a copy; nothing was changed".into()
            }
            Self::Settings { error, .. } => error.hint(),
            Self::Config { path, .. } => {
                format!("fix `{}` first, then `tripwire init`; nothing was changed", path.display()).into()
            }
            Self::File(problem) => problem.hint(),
        }
    }
}

/// A settings file, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// The file, as the client names it.
    pub path: PathBuf,
    /// Whose sessions it guards.
    pub scope: Scope,
}

impl SettingsFile {
    /// The file that holds a client's hooks.
    ///
    /// # Errors
    /// When the person has no home.
    pub fn find(client: &HookSettings, scope: &Scope, homes: &Homes) -> Result<Self, InstallError> {
        let folder = match scope {
            Scope::Project(root) => root.join(client.home.folder),
            Scope::User => homes.folder(client.home).ok_or(InstallError::NoHome { client: client.client })?,
        };
        Ok(Self { path: folder.join(client.file), scope: scope.clone() })
    }
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
    pub(crate) kind: ChangeKind,
    /// Whose the file is.
    pub(crate) scope: Scope,
    /// Where the file as it was is kept, or is to be; nothing where none is.
    pub(crate) backup: Option<PathBuf>,
}

/// Whether a person wants our status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusLineWish {
    /// They said so.
    Wanted,
    /// They said nothing.
    NotAsked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
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
    pub fn install(client: &HookSettings, file: &SettingsFile, command: &str) -> Result<Self, InstallError> {
        let SettingsFile { path, scope } = file;
        let before = file::read(path, scope)?;
        let text = before.as_deref().unwrap_or_default();
        let after = settings::with_hooks(text, client, command).map_err(at(path))?;
        let (kind, backup) = match (is_clean(text, client), &before) {
            (true, Some(_)) => (ChangeKind::Install, Some(file::free_backup(path)?)),
            (true, None) => (ChangeKind::Install, None),
            (false, _) => (ChangeKind::Renew, kept(path, text, client).map(|(backup, _)| backup)),
        };
        Ok(Self { path: path.to_owned(), before, after: Some(after), kind, scope: scope.clone(), backup })
    }

    /// A change of a whole text, of which nothing has to be kept: what it does can be read back from the text itself.
    pub(crate) fn of_texts(path: PathBuf, scope: &Scope, before: String, after: String) -> Self {
        let (before, after) = (Some(before), Some(after));
        Self { path, before, after, kind: ChangeKind::Renew, scope: scope.clone(), backup: None }
    }

    /// The same with our status line, unless the person has one; without being asked only one of ours is kept up to date.
    ///
    /// # Errors
    /// When the text is not what the client reads.
    pub fn with_status_line(
        mut self,
        client: &HookSettings,
        command: &str,
        wish: StatusLineWish,
    ) -> Result<Self, InstallError> {
        let Some(text) = &self.after else { return Ok(self) };
        let wanted = match (wish, status_line::look(text, client)) {
            (StatusLineWish::Wanted, StatusLine::Absent) | (_, StatusLine::Ours(_)) => true,
            (StatusLineWish::NotAsked, StatusLine::Absent) | (_, StatusLine::Theirs) => false,
        };
        if wanted {
            self.after = Some(status_line::with(text, client, command).map_err(at(&self.path))?);
        }
        Ok(self)
    }

    /// Plans to take our hooks out. If the file is just what we made of the one before, that one comes back.
    ///
    /// # Errors
    /// When the file cannot be read or is not JSON.
    pub fn remove(client: &HookSettings, file: &SettingsFile) -> Result<Self, InstallError> {
        let SettingsFile { path, scope } = file;
        let before = file::read(path, scope)?;
        // The guard before tool servers in the same file goes first: what is left is what the hooks were put into.
        let open = before.as_deref().map(|text| restored_or_same(text, client.servers));
        let (mut after, mut backup) = (open.clone(), None);
        let line = open.as_deref().map_or(StatusLine::Absent, |text| status_line::look(text, client));
        if let Some(text) = &open
            && (!settings::commands(text, client).map_err(at(path))?.is_empty() || matches!(line, StatusLine::Ours(_)))
        {
            (after, backup) = match kept(path, text, client) {
                Some((backup, was)) => (Some(was), Some(backup)),
                None if makes("", text, client) => (None, None),
                None => {
                    let text = status_line::without(text, client).map_err(at(path))?;
                    (Some(settings::without_hooks(&text, client).map_err(at(path))?), None)
                }
            };
        }
        Ok(Self { path: path.to_owned(), before, after, kind: ChangeKind::Remove, scope: scope.clone(), backup })
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
        let (old, new) = (side(&self.before), side(&self.after));
        unified(NamedText { name: &old, text: before }, NamedText { name: &new, text: after }, DIFF_CONTEXT_LINES)
    }

    /// Carries it out: the file as it was is kept beside it at the first installation, and goes when it came back.
    ///
    /// # Errors
    /// When a file cannot be written, or it changed since the plan was made: then it is left as it is.
    pub fn carry_out(&self) -> Result<(), InstallError> {
        match self.kind {
            ChangeKind::Install => {
                file::refuse_links(&self.path, &self.scope)?;
                if let (Some(before), Some(backup)) = (&self.before, &self.backup) {
                    file::keep(backup, before)?;
                }
                self.exchange()?;
            }
            ChangeKind::Renew => self.exchange()?,
            ChangeKind::Remove => {
                self.exchange()?;
                if let Some(backup) = &self.backup {
                    file::remove(backup)?;
                }
            }
        }
        Ok(())
    }

    fn exchange(&self) -> Result<(), FileProblem> {
        let change = TextChange { before: self.before.as_deref(), after: self.after.as_deref() };
        file::exchange(&self.path, &self.scope, &change)
    }

    /// The setting by which the person switched all hooks off, if the file has it.
    #[must_use]
    pub fn switched_off(&self, client: &HookSettings) -> Option<&'static str> {
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
            ChangeKind::Install | ChangeKind::Renew => Vec::new(),
            ChangeKind::Remove => file::backups(&self.path).into_iter().map(|(place, _)| place).collect(),
        }
    }
}

/// The file as it was before our hooks came, and where it is kept: the one of which they make just this text.
fn kept(path: &Path, text: &str, client: &HookSettings) -> Option<(PathBuf, String)> {
    // An older program may have kept a file that had our hooks already.
    let is_it = |was: &str| is_clean(was, client) && makes(was, text, client);
    let kept = file::backups(path).into_iter();
    // What was kept may have our guard before its tool servers.
    let open = kept.map(|(place, was)| (place, restored_or_same(&was, client.servers)));
    open.into_iter().find(|(_, was)| is_it(was))
}

/// Whether our hooks, and our status line where a text has it, make just this text of another.
fn makes(was: &str, text: &str, client: &HookSettings) -> bool {
    let Some(command) = settings::commands(text, client).ok().and_then(|commands| commands.into_iter().next()) else {
        return false;
    };
    let Ok(made) = settings::edited(was, client, &command) else { return false };
    match status_line::look(text, client) {
        StatusLine::Ours(command) => status_line::with(&made, client, &command).as_deref() == Ok(text),
        StatusLine::Absent | StatusLine::Theirs => made == text,
    }
}

/// Whether a text has no hooks of ours.
fn is_clean(text: &str, client: &HookSettings) -> bool {
    settings::commands(text, client).is_ok_and(|commands| commands.is_empty())
}

pub(crate) fn at(path: &Path) -> impl Fn(SettingsError) -> InstallError {
    move |error| InstallError::Settings { path: path.to_owned(), error }
}
