//! The workspaces of this machine's person and their sessions, as the fleet names them.

use crate::workspace;
use std::path::Path;
use std::time::UNIX_EPOCH;
use tripwire_core::record::chain::Digest;
use tripwire_fleet::subject::Name;
use tripwire_journal::{SessionId, SessionPaths};
use tripwire_session::driver::views;
use tripwire_workspace::Workspace;

/// The name of a workspace in the fleet.
pub(super) fn place_of(root: &Path) -> Name {
    let digest = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    Name::nearest(digest.get(..16).unwrap_or(&digest))
}

/// The workspaces of this person.
pub(super) fn workspaces() -> Vec<Workspace> {
    let known = workspace::known().map(|known| known.list()).unwrap_or_default();
    let opened = known.into_iter().filter_map(|root| {
        Workspace::locate(&root, &workspace::places()).ok().filter(|workspace| workspace.root() == root)
    });
    opened.collect()
}

/// The sessions of a workspace that were written to since a time.
pub(super) fn sessions(workspace: &Workspace, since_ms: u64) -> Vec<SessionPaths> {
    let layout = workspace.layout();
    let paths = |session: SessionId| SessionPaths::new(layout.folder(), &session);
    let found = views::sessions(layout).unwrap_or_default().into_iter().map(paths);
    found.filter(|paths| changed_ms(paths.dir()) >= since_ms).collect()
}

/// When a journal was last written to.
pub(super) fn changed_ms(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let times = files.filter_map(|file| file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    times.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).max().unwrap_or(0)
}
