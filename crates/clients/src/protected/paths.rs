//! The files and folders that an agent must not write.

use crate::client::Client;
use crate::homes::{Homes, ProtectedPart};
use crate::install::file::Scope;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tripwire_fs::links::{followed, followed_below};
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::layout::FOLDER;

/// The usual names of a client's settings in its folder.
pub(super) const SETTINGS_FILES: [&str; 2] = ["settings.json", "settings.local.json"];

/// What an agent must not write. The list is made when it is first needed, because most calls only read; copies share it.
#[derive(Debug, Clone)]
pub struct ProtectedPaths(Arc<ProtectedPlaces>);

/// The folders that the list is made from.
#[derive(Debug)]
struct ProtectedPlaces {
    workspace: Workspace,
    homes: Homes,
    list: OnceLock<ProtectedList>,
}

impl ProtectedPaths {
    /// What is protected in a workspace and in the person's folders.
    #[must_use]
    pub fn new(workspace: &Workspace, homes: &Homes) -> Self {
        let (workspace, homes) = (workspace.clone(), homes.clone());
        Self(Arc::new(ProtectedPlaces { workspace, homes, list: OnceLock::new() }))
    }

    /// The list.
    pub(super) fn list(&self) -> &ProtectedList {
        let ProtectedPlaces { workspace, homes, list } = &*self.0;
        list.get_or_init(|| ProtectedList::new(workspace, homes))
    }
}

/// The files and folders that are protected.
#[derive(Debug)]
pub(super) struct ProtectedList {
    pub(super) entries: Vec<Entry>,
    pub(super) home: Option<PathBuf>,
    /// Names of folders that hold something protected.
    pub(super) folder_names: Vec<&'static str>,
}

/// One thing that is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A folder with all that is in it.
    Folder(PathBuf),
    /// One file.
    File(PathBuf),
    /// `settings*.json` in a folder.
    Settings(PathBuf),
}

impl ProtectedList {
    fn new(workspace: &Workspace, homes: &Homes) -> Self {
        let root = workspace.root();
        let mut entries = vec![Entry::Folder(workspace.layout().folder().to_owned()), Entry::Folder(root.join(FOLDER))];
        let mut folder_names = vec![FOLDER];
        for client in Client::ALL {
            let home = client.home();
            folder_names.push(home.folder);
            entries.extend(parts(home.in_workspace, root.join(home.folder)));
            entries.extend(homes.folder(home).into_iter().flat_map(|folder| parts(home.in_home, folder)));
        }
        entries.extend(server_files(root, homes).into_iter().map(Entry::File));
        let own = std::env::current_exe().ok();
        entries.extend(own.iter().filter_map(|path| path.canonicalize().ok()).chain(own.clone()).map(Entry::File));
        entries.extend(homes.own_state().into_iter().chain(homes.own_settings()).map(Entry::Folder));
        let bases = RealBases::new([Some(root), homes.home.as_deref()]);
        let elsewhere: Vec<Entry> = entries.iter().flat_map(|entry| entry.elsewhere(&bases)).collect();
        entries.extend(elsewhere);
        // What git runs later, nobody judges then. Hooks that a repository keeps among its files are edited like any other file, also
        // where this folder is a link to them.
        entries.push(Entry::Folder(root.join(".git/hooks")));
        Self { entries, home: homes.home.clone(), folder_names }
    }

    /// Whether a path is protected, as it is written or where it leads.
    pub(super) fn is_reached_by(&self, path: &Path) -> bool {
        let plain = plain(path);
        let reaches = |path: &Path| followed(path).is_some_and(|path| self.holds(&path));
        // `..` behind a link leads elsewhere than the text says; a program may go either way.
        self.holds(&plain) || reaches(&plain) || (plain != path && reaches(path))
    }

    /// Whether a plain absolute path is protected.
    pub(super) fn holds(&self, path: &Path) -> bool {
        // A `.geometry` anywhere: one that an agent makes in a folder of its own would be a workspace of its own.
        let guarded = path.components().any(|part| part.as_os_str() == FOLDER);
        guarded
            || self.entries.iter().any(|entry| match entry {
                Entry::Folder(folder) => path.starts_with(folder),
                Entry::File(file) => path == file,
                Entry::Settings(folder) => path.parent() == Some(folder) && is_settings(path),
            })
    }

    /// Whether a plain absolute path holds something protected: moving it away would take that along.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Folder(inner) | Entry::File(inner) => inner.starts_with(path),
            Entry::Settings(folder) => folder.starts_with(path),
        })
    }
}

impl Entry {
    /// The same under the name to which its links lead, if that is another: people keep settings in a folder of their own and link
    /// them to where a client looks for them.
    fn elsewhere(&self, bases: &RealBases) -> Vec<Self> {
        // A device is nobody's settings: `settings.json` that leads to `/dev/null` protects nothing there.
        let keeps = |real: &Path| real.metadata().map_or(true, |found| found.is_file() || found.is_dir());
        let real = |path: &Path| bases.real(path).filter(|real| real != path && keeps(real));
        match self {
            Self::Folder(folder) => real(folder).map(Self::Folder).into_iter().collect(),
            Self::File(file) => real(file).map(Self::File).into_iter().collect(),
            Self::Settings(folder) if folder.symlink_metadata().is_err() => Vec::new(),
            Self::Settings(folder) => {
                let files = SETTINGS_FILES.iter().filter_map(|name| real(&folder.join(name)));
                real(folder).map(Self::Settings).into_iter().chain(files.map(Self::File)).collect()
            }
        }
    }
}

/// Folders under which almost everything protected lies, each with where it leads, so that this is looked up once.
struct RealBases(Vec<(PathBuf, PathBuf)>);

impl RealBases {
    fn new(folders: [Option<&Path>; 2]) -> Self {
        let folders = folders.into_iter().flatten();
        Self(folders.filter_map(|folder| Some((folder.to_owned(), followed(folder)?))).collect())
    }

    /// Where a path leads.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let base = self.0.iter().find_map(|(folder, real)| Some((path.strip_prefix(folder).ok()?, real)));
        base.map_or_else(|| followed(path), |(rest, real)| followed_below(real, rest))
    }
}

/// The files that name tool servers to the clients: a server in them is a program that a client starts without a call. Among them is
/// the person's `~/.claude.json`, which only its client has to write.
fn server_files(root: &Path, homes: &Homes) -> Vec<PathBuf> {
    let scopes = [Scope::User, Scope::Project(root.to_owned())];
    let settings = Client::every().filter_map(|client| client.adapter().servers);
    let files = settings.flat_map(|settings| scopes.iter().flat_map(|scope| (settings.files)(scope, homes)));
    // A plain file of the workspace's own folder (`opencode.json`, `config.json`) is left out: `rm *` is everyday work.
    files.filter(|file| file.parent() != Some(root) || is_hidden(file)).collect()
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn parts(part: ProtectedPart, folder: PathBuf) -> Vec<Entry> {
    match part {
        ProtectedPart::WholeFolder => vec![Entry::Folder(folder)],
        ProtectedPart::SettingsFiles => vec![Entry::Settings(folder)],
        ProtectedPart::Files(names) => names.iter().map(|name| Entry::File(folder.join(name))).collect(),
    }
}

fn is_settings(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
        name.starts_with("settings") && Path::new(name).extension().is_some_and(|extension| extension == "json")
    })
}

/// Whether a path leads to something protected, as it is written or through symbolic links.
pub(super) fn is_forbidden(protected: &ProtectedList, path: &str, cwd: &Path) -> bool {
    protected.is_reached_by(&cwd.join(with_home(protected, path)))
}

/// A path in which `~` stands for the person's home.
pub(super) fn with_home(protected: &ProtectedList, path: &str) -> PathBuf {
    match (path.strip_prefix("~/").or_else(|| path.strip_prefix("$HOME/")), &protected.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_) | None, _) => PathBuf::from(path),
    }
}

/// The path without `.` and `..`.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}
