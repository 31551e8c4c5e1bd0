//! Which workspace and which session a verb is about.

use crate::error::Problem;
use crate::print;
use clap::Args;
use std::path::{Path, PathBuf};
use tripwire_clients::Client;
use tripwire_embed::environment;
pub(crate) use tripwire_embed::environment::{
    homes, key_home, known, places, remember, role as role_variable, signing,
};
use tripwire_fs::shell_word::shell_word;
use tripwire_secrets::Redactor;
use tripwire_session::driver::{views, workspace_redactor};
use tripwire_undo::UndoStore;
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;

/// The workspace.
#[derive(Debug, Clone, Args)]
pub(crate) struct Where {
    /// The workspace; by default the one that contains the current folder.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

/// A session of the workspace.
#[derive(Debug, Args)]
pub(crate) struct Which {
    #[command(flatten)]
    pub(crate) place: Where,
    /// The session; by default the newest one.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

impl Where {
    /// The workspace at a folder, or the one that the current folder belongs to.
    pub(crate) fn of(folder: Option<&PathBuf>) -> Self {
        Self { workspace: folder.cloned() }
    }

    /// Finds the workspace and makes nothing: for verbs that only look.
    pub(crate) fn look(&self) -> Result<Workspace, Problem> {
        Ok(Workspace::locate(self.start(), &places())?)
    }

    /// Finds the workspace and makes its `.geometry/` if it has none, out of reach of `git add`.
    pub(crate) fn open(&self) -> Result<Workspace, Problem> {
        open(self.start())
    }

    /// The folder that was named, if one was.
    pub(crate) fn given(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }

    /// The option with which an advised command means the same workspace wherever it is pasted, with a space before it; nothing
    /// where none was given.
    pub(crate) fn option(&self) -> String {
        self.given()
            .map(|given| workspace_option(&self.folder().unwrap_or_else(|_| given.to_owned())))
            .unwrap_or_default()
    }

    /// The folder that was named, or the current one, as it really is.
    pub(crate) fn folder(&self) -> Result<PathBuf, Problem> {
        self.start().canonicalize().map_err(|error| Problem::open(self.start(), error))
    }

    fn start(&self) -> &Path {
        self.workspace.as_deref().unwrap_or(Path::new("."))
    }
}

impl Which {
    /// The session that is meant; an error if there is none.
    pub(crate) fn find(&self, layout: &Layout) -> Result<SessionId, Problem> {
        self.find_if_any(layout)?.ok_or_else(|| Problem::NoSession { folder: layout.folder().to_owned() })
    }

    /// The options with which an advised command means the same session, with a space before each; nothing where none was
    /// given.
    pub(crate) fn options(&self) -> String {
        let session = self.named().map(|session| format!(" --session {session}")).unwrap_or_default();
        format!("{}{session}", self.place.option())
    }

    /// The session that was named.
    pub(crate) fn named(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The session that is meant; nothing if none was named and the workspace has none.
    pub(crate) fn find_if_any(&self, layout: &Layout) -> Result<Option<SessionId>, Problem> {
        match &self.session {
            Some(text) => Ok(Some(SessionId::parse(text)?)),
            None => Ok(views::newest(layout)?),
        }
    }
}

/// The option that names this workspace in an advised command.
pub(crate) fn workspace_option(root: &Path) -> String {
    format!(" --workspace {}", shell_word(root))
}

/// The role that a verb acts in.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Acting {
    /// The role to act in; by default `TRIPWIRE_ROLE`, else the policy's.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
}

impl Acting {
    /// The role that was named, by the flag or in the environment.
    pub(crate) fn named(&self) -> Option<String> {
        self.role.clone().or_else(environment::role)
    }
}

/// Where the person's state lives; none without a home.
pub(crate) fn state_home() -> Option<PathBuf> {
    places().state_home()
}

/// What keeps secrets out of what is stored beside this workspace's sessions.
pub(crate) fn redactor(workspace: &Workspace) -> Result<Redactor, Problem> {
    let policy = policy_file::load_for(workspace.layout())?.policy;
    Ok(workspace_redactor(workspace.layout(), signing(workspace).as_ref(), &policy)?)
}

/// Opens the workspace of a folder. Every verb that may make `.geometry/` comes through here, so that none of them leaves
/// journals and private memories where a commit takes them.
pub(crate) fn open(folder: &Path) -> Result<Workspace, Problem> {
    let workspace = Workspace::open(folder, &places())?;
    keep_out_of_commits(&workspace);
    remember(&workspace);
    Ok(workspace)
}

/// Keeps `.geometry/` out of the person's commits, and says where it could not.
pub(crate) fn keep_out_of_commits(workspace: &Workspace) {
    if let Some(note) = environment::keep_out_of_commits(workspace) {
        print::say(&format!("note: {note}"));
    }
}

/// Whether a test wants the terminal view to panic; release builds do not ask.
#[cfg(debug_assertions)]
pub(crate) fn wants_a_panic() -> bool {
    std::env::var_os("TRIPWIRE_TEST_PANIC").is_some()
}

/// Folders in which a run's own folder may be made, best first.
pub(crate) fn temporary() -> Vec<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = [set("XDG_RUNTIME_DIR"), set("TMPDIR")].into_iter().flatten().collect();
    folders.push(PathBuf::from("/tmp"));
    folders
}

/// What of the person's own the client's processes do not see: the keys, and all snapshots.
pub(crate) fn hidden() -> Vec<PathBuf> {
    let keys = key_home().map(|home| home.folders().to_vec()).unwrap_or_default();
    keys.into_iter().chain(homes().own_state().map(|state| UndoStore::parent(&state))).collect()
}

/// What of the person's own the client's processes may only read: our state and settings, and the settings that call our
/// hooks.
pub(crate) fn read_only() -> Vec<PathBuf> {
    let homes = homes();
    let settings = Client::ALL.into_iter().flat_map(|client| {
        let home = client.home();
        let folder = homes.folder(home);
        folder.into_iter().flat_map(|folder| home.read_only_in_run.iter().map(move |name| folder.join(name)))
    });
    homes.own_state().into_iter().chain(homes.own_settings()).chain(settings).collect()
}
