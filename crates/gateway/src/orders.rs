//! What a person ordered by a file of the workspace.

use crate::limits::LOOK_EVERY;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;
use tripwire_workspace::geometry::layout::Layout;

/// What a person ordered by a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Going,
    /// To wait.
    Paused,
    /// To end.
    Stopped,
}

/// The control files of a workspace, and what they said when they were last looked at.
pub(crate) struct Orders {
    stop: PathBuf,
    pause: PathBuf,
    known: watch::Sender<Standing>,
    /// Set when the gateway ends: a stop, whatever the files say.
    ended: AtomicBool,
}

impl Orders {
    pub(crate) fn new(layout: &Layout) -> Self {
        let (stop, pause) = (layout.stop(), layout.pause());
        let known = watch::Sender::new(read(&stop, &pause));
        Self { stop, pause, known, ended: AtomicBool::new(false) }
    }

    /// What was ordered at the last look, at most [`LOOK_EVERY`] ago.
    pub(crate) fn known(&self) -> Standing {
        *self.known.borrow()
    }

    /// What is ordered now: nothing leaves after a person was told that everything is stopped or paused.
    pub(crate) fn look(&self) -> Standing {
        let now = if self.has_ended() { Standing::Stopped } else { read(&self.stop, &self.pause) };
        self.known.send_if_modified(|known| std::mem::replace(known, now) != now);
        now
    }

    /// Stops everything because the gateway ends.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.look();
    }

    /// Whether the stop is the gateway's own end, and no order of a person.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Tells of every change.
    pub(crate) fn follow(&self) -> watch::Receiver<Standing> {
        self.known.subscribe()
    }

    /// Looks again and again, with something to do in between.
    pub(crate) async fn keep_looking(&self, between: impl Fn()) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.look();
            between();
        }
    }
}

/// What cannot be looked at counts as a stop.
fn read(stop: &Path, pause: &Path) -> Standing {
    let there = |path: &Path| !matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound);
    if there(stop) {
        Standing::Stopped
    } else if there(pause) {
        Standing::Paused
    } else {
        Standing::Going
    }
}
