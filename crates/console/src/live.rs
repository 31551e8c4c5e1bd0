//! What changes on disk, as it changes: by the kernel's notification where there is one, by looking again elsewhere.

use crate::host::Host;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tripwire_session::driver::views;
use tripwire_workspace::Workspace;

/// How often the folders to watch are listed again.
const LIST_EVERY: Duration = Duration::from_secs(1);
/// Sessions of one workspace that are watched, the newest.
const WATCHED_MAX: usize = 200;

/// Something changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The journal of a session grew.
    Session {
        /// Its workspace.
        root: PathBuf,
        /// Its name.
        session: String,
    },
    /// Something else in a workspace: a new session, a control file.
    Workspace {
        /// Which one.
        root: PathBuf,
    },
}

/// The folders to watch, each with what a change in it means.
fn folders(host: &Host) -> BTreeMap<PathBuf, Change> {
    let mut found = BTreeMap::new();
    for workspace in host.workspaces() {
        add_folders(&workspace, &mut found);
    }
    found
}

fn add_folders(workspace: &Workspace, found: &mut BTreeMap<PathBuf, Change>) {
    let (root, layout) = (workspace.root().to_owned(), workspace.layout());
    for folder in [layout.folder().to_owned(), layout.journal()] {
        found.insert(folder, Change::Workspace { root: root.clone() });
    }
    for session in views::sessions(layout).unwrap_or_default().into_iter().rev().take(WATCHED_MAX) {
        let folder = layout.journal_of(&session);
        found.insert(folder, Change::Session { root: root.clone(), session: session.to_string() });
    }
}

/// Watches until `tell` says that nobody listens any more.
#[cfg(target_os = "linux")]
pub fn watch(host: &Host, tell: impl Fn(Change) -> bool + Send + Sync + 'static) {
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use std::mem::MaybeUninit;
    use std::sync::{Arc, Mutex, PoisonError};

    let Ok(notify) = inotify::init(CreateFlags::CLOEXEC) else { return poll(host, &tell) };
    let notify = Arc::new(notify);
    let meanings: Arc<Mutex<BTreeMap<i32, Change>>> = Arc::default();
    let (reader, told) = (Arc::clone(&notify), Arc::clone(&meanings));
    let tell = Arc::new(tell);
    let heard = Arc::clone(&tell);
    std::thread::spawn(move || {
        let mut room = [MaybeUninit::uninit(); 16 * 1_024];
        let mut events = inotify::Reader::new(&*reader, &mut room);
        while let Ok(event) = events.next() {
            let change = told.lock().unwrap_or_else(PoisonError::into_inner).get(&event.wd()).cloned();
            if change.is_some_and(|change| !heard(change)) {
                return;
            }
        }
    });
    let wanted = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_TO;
    let mut known: BTreeMap<PathBuf, i32> = BTreeMap::new();
    loop {
        let now = folders(host);
        known.retain(|folder, descriptor| {
            let keep = now.contains_key(folder);
            if !keep {
                // A folder that is gone has taken its watch with it.
                inotify::remove_watch(&*notify, *descriptor).ok();
            }
            keep
        });
        for (folder, change) in now {
            if !known.contains_key(&folder)
                && let Ok(descriptor) = inotify::add_watch(&*notify, &folder, wanted)
            {
                meanings.lock().unwrap_or_else(PoisonError::into_inner).insert(descriptor, change.clone());
                known.insert(folder, descriptor);
                // What was written before the watch began is news as well.
                if !tell(change) {
                    return;
                }
            }
        }
        std::thread::sleep(LIST_EVERY);
    }
}

/// Watches until `tell` says that nobody listens any more.
#[cfg(not(target_os = "linux"))]
pub fn watch(host: &Host, tell: impl Fn(Change) -> bool + Send + Sync + 'static) {
    poll(host, &tell);
}

/// Looks again and again, where the kernel does not tell.
fn poll(host: &Host, tell: &dyn Fn(Change) -> bool) {
    let mut known: BTreeMap<PathBuf, Option<std::time::SystemTime>> = BTreeMap::new();
    let mut listed = folders(host);
    for round in 0_u32.. {
        if round % 10 == 0 {
            listed = folders(host);
        }
        for (folder, change) in &listed {
            let head = folder.join("HEAD");
            let file = if head.exists() { head } else { folder.clone() };
            let changed = file.metadata().and_then(|metadata| metadata.modified()).ok();
            if known.insert(folder.clone(), changed) != Some(changed) && !tell(change.clone()) {
                return;
            }
        }
        std::thread::sleep(LIST_EVERY / 10);
    }
}
