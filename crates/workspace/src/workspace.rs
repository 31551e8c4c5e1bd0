//! Which folder a session is about, and where its `.geometry/` lives.
//!
//! The nearest ancestor with `.geometry/` wins, else the git top level, else the folder where the agent started. A
//! workspace that is not writable keeps its state under the user's state folder. A `.geometry` that is not a
//! plain, writable folder of ours is refused: everything else would let it be pointed somewhere else.

use crate::geometry::layout::{FOLDER, Layout};
use crate::git;
use rustix::fs::{Access, AtFlags, CWD};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{FileAction, FileError, make_folder};
use tripwire_fs::shell_word::shell_word;

/// A workspace whose `.geometry/` is there and may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    layout: Layout,
    state: StatePlace,
}

/// Where the state of a workspace lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatePlace {
    /// In its own `.geometry/`.
    InWorkspace,
    /// Under the user's state folder, because the workspace is not writable.
    InStateHome,
}

/// What the environment says about folders; the caller reads it once, at the edge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// `$XDG_STATE_HOME`.
    pub xdg_state_home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<PathBuf>,
    /// `$HOME`.
    pub home: Option<PathBuf>,
}

impl Places {
    /// Where state may live: `$XDG_STATE_HOME`, else `~/.local/state`; a relative path counts as not set.
    #[must_use]
    pub fn state_home(&self) -> Option<PathBuf> {
        absolute(&self.xdg_state_home).or_else(|| absolute(&self.home).map(|home| home.join(".local/state")))
    }

    /// The person's own settings, for all workspaces: in `$XDG_CONFIG_HOME`, else in `~/.config`.
    #[must_use]
    pub fn user_settings(&self) -> Option<PathBuf> {
        let home = absolute(&self.xdg_config_home).or_else(|| absolute(&self.home).map(|home| home.join(".config")));
        home.map(|home| home.join("tripwire").join("settings.yaml"))
    }
}

/// A path that is set; a relative one counts as not set.
fn absolute(path: &Option<PathBuf>) -> Option<PathBuf> {
    path.clone().filter(|path| path.is_absolute())
}

/// Why there is no workspace to work in.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// `.geometry` is a symbolic link, so that the one who set it decides where the records go.
    #[error("`{}` is a symbolic link", path.display())]
    Symlink {
        /// The link.
        path: PathBuf,
    },
    /// `.geometry` is no folder.
    #[error("`{}` is not a folder", path.display())]
    NotAFolder {
        /// What is there.
        path: PathBuf,
    },
    /// `.geometry` is there but may not be written: the guard could not keep its records.
    #[error("`{}` is not writable: {cause}", path.display())]
    NotWritable {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// `.geometry` belongs to another user, whose rules would govern this session.
    #[error("`{}` belongs to another user ({owner})", path.display())]
    ForeignOwner {
        /// The folder.
        path: PathBuf,
        /// The owner's number.
        owner: u32,
    },
    /// The folder that was named is not there, or is none.
    #[error("`{}` is no folder to work in: {cause}", path.display())]
    NoFolder {
        /// What was named.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// The workspace is not writable and the environment names no other place.
    #[error("`{}` is not writable, and neither `XDG_STATE_HOME` nor `HOME` names another place", root.display())]
    NoStateHome {
        /// The workspace.
        root: PathBuf,
    },
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for WorkspaceError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Symlink { path } => {
                format!("look where it points (`ls -l {0}`), then remove it: `rm {0}`", shell_word(path)).into()
            }
            Self::NotAFolder { path } => {
                let mut other = path.clone().into_os_string();
                other.push(".old");
                format!("move it away: `mv {} {}`", shell_word(path), shell_word(Path::new(&other))).into()
            }
            Self::NotWritable { path, .. } => {
                format!("give yourself write access: `chmod u+rwx {}`", shell_word(path)).into()
            }
            Self::ForeignOwner { path, .. } => format!(
                "work in a folder of your own (`mkdir {FOLDER}` there), or take it over: `chown -R \"$USER\" {}`",
                shell_word(path)
            )
            .into(),
            Self::NoFolder { path, cause } if cause.kind() == io::ErrorKind::NotFound => {
                format!("check the spelling (`ls -ld {0}`), or make it: `mkdir -p {0}`", shell_word(path)).into()
            }
            Self::NoFolder { path, .. } => {
                format!("name a folder that you may enter; see what this is: `ls -ld {}`", shell_word(path)).into()
            }
            Self::NoStateHome { .. } => "set `XDG_STATE_HOME` to a folder that you may write to".into(),
            Self::File(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            // A folder that was named and does not exist is the person's to correct.
            Self::NoFolder { .. } => ExitClass::BadInput,
            // One that cannot hold our records means that the guard cannot work.
            Self::Symlink { .. }
            | Self::NotAFolder { .. }
            | Self::NotWritable { .. }
            | Self::ForeignOwner { .. }
            | Self::NoStateHome { .. }
            | Self::File(_) => ExitClass::DoesNotHold,
        }
    }
}

impl Workspace {
    /// Finds the workspace of a folder without making anything: for commands that only look.
    pub fn locate(start: &Path, places: &Places) -> Result<Self, WorkspaceError> {
        Ok(Self::located(start, places)?.0)
    }

    /// The workspace of a folder, and whether its `.geometry/` is there.
    fn located(start: &Path, places: &Places) -> Result<(Self, FolderState), WorkspaceError> {
        let (root, found) = find_root(start)?;
        let settings = places.user_settings();
        let layout = Layout::at(&root.join(FOLDER)).with_user_settings(settings.clone());
        if found == FolderState::Missing && may_write(&root).is_err() {
            let layout = Layout::at(&outside(&root, places)?).with_user_settings(settings);
            let found = inspect(layout.folder())?;
            return Ok((Self { root, layout, state: StatePlace::InStateHome }, found));
        }
        Ok((Self { root, layout, state: StatePlace::InWorkspace }, found))
    }

    /// Finds the workspace of a folder and makes its `.geometry/` if it has none.
    pub fn open(start: &Path, places: &Places) -> Result<Self, WorkspaceError> {
        let (workspace, found) = Self::located(start, places)?;
        if found == FolderState::Missing {
            make_folder(workspace.layout.folder())?;
            // Looked at again, because another process may have put something else there meanwhile.
            inspect(workspace.layout.folder())?;
        }
        Ok(workspace)
    }

    /// The folder that the agent works in.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The names inside `.geometry/`.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where the state lives.
    #[must_use]
    pub const fn state(&self) -> StatePlace {
        self.state
    }
}

/// The nearest ancestor with `.geometry/`, else the git top level, else the folder itself; and whether a `.geometry/` is there.
fn find_root(start: &Path) -> Result<(PathBuf, FolderState), WorkspaceError> {
    let none = |cause| WorkspaceError::NoFolder { path: start.to_owned(), cause };
    let start = start.canonicalize().map_err(none)?;
    if !start.is_dir() {
        return Err(none(io::ErrorKind::NotADirectory.into()));
    }
    for folder in start.ancestors() {
        if inspect(&folder.join(FOLDER))? == FolderState::Folder {
            return Ok((folder.to_owned(), FolderState::Folder));
        }
    }
    let root = git::top_level(&start).unwrap_or(start);
    let found = inspect(&root.join(FOLDER))?;
    Ok((root, found))
}

/// Whether a `.geometry` is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderState {
    Missing,
    Folder,
}

/// Looks at a `.geometry` and refuses what is no plain, writable folder of this user.
fn inspect(path: &Path) -> Result<FolderState, WorkspaceError> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(FolderState::Missing);
        }
        Err(cause) => return Err(FileError::at(path, FileAction::Inspect)(cause).into()),
    };
    let path = || path.to_owned();
    if metadata.is_symlink() {
        return Err(WorkspaceError::Symlink { path: path() });
    }
    if !metadata.is_dir() {
        return Err(WorkspaceError::NotAFolder { path: path() });
    }
    let (user, owner) = (rustix::process::geteuid(), metadata.uid());
    if !user.is_root() && owner != user.as_raw() && owner != 0 {
        return Err(WorkspaceError::ForeignOwner { path: path(), owner });
    }
    may_write(&path()).map_err(|cause| WorkspaceError::NotWritable { path: path(), cause })?;
    Ok(FolderState::Folder)
}

/// Asks the system whether files may be made in a folder, without making one.
fn may_write(folder: &Path) -> io::Result<()> {
    let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(CWD, folder, wanted, AtFlags::EACCESS).map_err(io::Error::from)
}

/// The state folder of a workspace that is not writable.
fn outside(root: &Path, places: &Places) -> Result<PathBuf, WorkspaceError> {
    let state_home = places.state_home().ok_or_else(|| WorkspaceError::NoStateHome { root: root.to_owned() })?;
    Ok(state_home.join("tripwire").join(state_name(root)))
}

/// The name of a workspace among others in the person's state folder: readable, and unique by the digest of its path.
#[must_use]
pub fn state_name(root: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let digest = Sha256::digest(root.as_os_str().as_bytes());
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = root.file_name().map_or_else(|| "root".into(), std::ffi::OsStr::to_string_lossy);
    format!("{name}-{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use tripwire_testing::{TestDir, as_ordinary_user};

    fn open(start: &Path) -> Result<Workspace, WorkspaceError> {
        Workspace::open(start, &Places::default())
    }

    fn repository(folder: &Path) {
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn advised_commands_can_be_pasted_and_a_file_is_not_to_be_made_a_folder() {
        let dir = TestDir::new();
        let (file, gone) = (dir.path().join("a file"), dir.path().join("not here"));
        std::fs::write(&file, "").unwrap();
        let shown = |path: &Path| format!("'{}'", path.display());
        let hint = |path: &Path| open(path).unwrap_err().hint().into_owned();
        let (file_hint, gone_hint) = (hint(&file), hint(&gone));
        assert!(
            file_hint.contains(&format!("`ls -ld {}`", shown(&file))) && !file_hint.contains("mkdir"),
            "{file_hint}"
        );
        assert!(gone_hint.contains(&format!("`mkdir -p {}`", shown(&gone))), "{gone_hint}");
        let work = dir.path().join("q sp");
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join(FOLDER), "").unwrap();
        let (there, away) = (shown(&work.join(".geometry")), shown(&work.join(".geometry.old")));
        assert!(hint(&work).contains(&format!("`mv {there} {away}`")), "{}", hint(&work));
        std::fs::remove_file(work.join(FOLDER)).unwrap();
        std::os::unix::fs::symlink("/", work.join(FOLDER)).unwrap();
        assert!(hint(&work).contains(&format!("`rm {there}`")), "{}", hint(&work));
    }

    #[test]
    fn the_nearest_geometry_wins_over_git_and_git_over_the_start() {
        let dir = TestDir::new();
        let deep = dir.path().join("repo/sub/deep");
        std::fs::create_dir_all(&deep).unwrap();
        repository(&dir.path().join("repo"));
        assert_eq!(open(&deep).unwrap().root(), dir.path().join("repo"));
        std::fs::remove_dir(dir.path().join("repo/.geometry")).unwrap();
        std::fs::create_dir(dir.path().join("repo/sub/.geometry")).unwrap();
        assert_eq!(open(&deep).unwrap().root(), dir.path().join("repo/sub"));
        std::fs::remove_dir(dir.path().join("repo/sub/.geometry")).unwrap();
        std::fs::remove_dir_all(dir.path().join("repo/.git")).unwrap();
        let plain = open(&deep).unwrap();
        assert_eq!((plain.root(), plain.state()), (deep.as_path(), StatePlace::InWorkspace));
        assert!(deep.join(".geometry").is_dir());
    }

    #[test]
    fn looking_makes_nothing() {
        let dir = TestDir::new();
        Workspace::locate(dir.path(), &Places::default()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_geometry_that_is_a_link_or_a_file_is_refused_with_cause_and_fix() {
        let dir = TestDir::new();
        let geometry = dir.path().join(".geometry");
        for target in [dir.path().to_owned(), dir.path().join("nowhere")] {
            std::os::unix::fs::symlink(target, &geometry).unwrap();
            let error = open(dir.path()).unwrap_err();
            assert!(matches!(error, WorkspaceError::Symlink { .. }), "{error}");
            assert!(error.hint().contains("rm "), "{}", error.hint());
            std::fs::remove_file(&geometry).unwrap();
        }
        std::fs::write(&geometry, "").unwrap();
        let error = open(dir.path()).unwrap_err();
        assert!(error.to_string().ends_with(".geometry` is not a folder"), "{error}");
        assert!(error.hint().contains("mv "), "{}", error.hint());
        std::fs::remove_file(&geometry).unwrap();
        open(dir.path()).unwrap();
    }

    #[test]
    fn a_start_that_does_not_exist_is_refused() {
        let error = open(Path::new("/nonexistent/folder")).unwrap_err();
        assert!(matches!(error, WorkspaceError::NoFolder { .. }), "{error}");
    }

    #[test]
    fn a_geometry_that_is_not_writable_is_refused() {
        as_ordinary_user("workspace::tests::a_geometry_that_is_not_writable_is_refused", || {
            let dir = TestDir::new();
            let geometry = dir.path().join(".geometry");
            std::fs::create_dir(&geometry).unwrap();
            std::fs::set_permissions(&geometry, std::fs::Permissions::from_mode(0o555)).unwrap();
            let error = open(dir.path()).unwrap_err();
            assert!(matches!(error, WorkspaceError::NotWritable { .. }), "{error}");
            assert!(error.hint().contains("chmod u+rwx"), "{}", error.hint());
            std::fs::set_permissions(&geometry, std::fs::Permissions::from_mode(0o700)).unwrap();
            open(dir.path()).unwrap();
        });
    }

    #[test]
    fn an_unwritable_workspace_keeps_its_state_elsewhere() {
        as_ordinary_user("workspace::tests::an_unwritable_workspace_keeps_its_state_elsewhere", || {
            let (dir, state) = (TestDir::new(), TestDir::new());
            dir.read_only();
            let places = Places { xdg_state_home: Some(state.path().to_owned()), ..Places::default() };
            let workspace = Workspace::open(dir.path(), &places).unwrap();
            assert_eq!((workspace.root(), workspace.state()), (dir.path(), StatePlace::InStateHome));
            assert!(workspace.layout().folder().starts_with(state.path().join("tripwire")));
            assert!(workspace.layout().folder().is_dir());
            assert_eq!(Workspace::locate(dir.path(), &places).unwrap(), workspace, "the place is stable");
            let error = Workspace::open(dir.path(), &Places::default()).unwrap_err();
            assert!(matches!(error, WorkspaceError::NoStateHome { .. }), "{error}");
            let home = Some(state.path().to_owned());
            let relative = Places { xdg_state_home: Some("state".into()), home, ..Places::default() };
            let elsewhere = Workspace::open(dir.path(), &relative).unwrap();
            assert!(elsewhere.layout().folder().starts_with(state.path().join(".local/state/tripwire")));
        });
    }

    #[test]
    fn a_geometry_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return tripwire_testing::skip("giving a folder to another user needs root");
        }
        let dir = TestDir::new();
        let geometry = dir.path().join(".geometry");
        std::fs::create_dir(&geometry).unwrap();
        std::fs::set_permissions(&geometry, std::fs::Permissions::from_mode(0o777)).unwrap();
        std::os::unix::fs::chown(&geometry, Some(12_345), None).unwrap();
        open(dir.path()).unwrap();
        // As root it is accepted; the same folder as an ordinary user is not.
        let said = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "workspace::tests::helper_opens_the_named_folder", "--nocapture", "--ignored"])
            .env("TRIPWIRE_TEST_FOLDER", dir.path())
            .current_dir("/")
            .uid_and_gid()
            .output();
        match said {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
            }
            Err(cause) => tripwire_testing::skip(&format!("cannot run as another user: {cause}")),
        }
    }

    #[test]
    #[ignore = "run by a_geometry_of_another_user_is_refused as another user"]
    fn helper_opens_the_named_folder() {
        let folder = PathBuf::from(std::env::var_os("TRIPWIRE_TEST_FOLDER").unwrap());
        let error = open(&folder).unwrap_err();
        assert!(matches!(error, WorkspaceError::ForeignOwner { owner: 12_345, .. }), "{error}");
    }

    trait AsNobody {
        fn uid_and_gid(&mut self) -> &mut Self;
    }

    impl AsNobody for std::process::Command {
        fn uid_and_gid(&mut self) -> &mut Self {
            use std::os::unix::process::CommandExt as _;
            self.uid(65_534).gid(65_534)
        }
    }
}
