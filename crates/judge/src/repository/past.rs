//! What earlier commands of the line did to a repository, as far as later ones stand on it.
//!
//! Only what surely succeeded counts as kept (joined with `&&`); what may have succeeded counts as made or endangered.

use std::path::PathBuf;

/// What the line did to the files of one repository so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Past {
    /// Files whose content is in the index now.
    pub(crate) added: Vec<PathBuf>,
    /// Files that git did not know before and may know now: from then on git deletes them like its own.
    pub(crate) exposed: Vec<PathBuf>,
    /// The same, of which a commit or a stash of this line has taken care.
    covered: Vec<PathBuf>,
    /// Paths whose changes a commit or a stash of this line holds.
    pub(crate) kept: Vec<PathBuf>,
    /// Which further changes a commit or a stash of this line holds.
    pub(crate) keeps: Keeps,
    /// Whether a merge or a rebase was given up, and with it everything that it had changed.
    pub(crate) operation: Operation,
    /// Stashes that the line made.
    pub(crate) stashes: u64,
    /// Files that the line took out of a stash, which nothing else holds since.
    pub(crate) restored: Vec<PathBuf>,
    /// Stashes that the line brought back into the work tree, so that dropping them loses nothing.
    pub(crate) applied: u64,
    /// Stashes that a commit of the line holds since.
    pub(crate) settled: u64,
}

/// Where the line has gone in one repository: its branches and its settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Course {
    /// Branches whose commits something else holds since: a merge, a tag, a copy, a remote.
    pub(crate) safe: Vec<String>,
    /// Branches that got a commit from this line.
    pub(crate) committed: Vec<String>,
    /// Configuration that the line set.
    pub(crate) config: Vec<(String, String)>,
    /// Where HEAD is now, if the line moved it.
    pub(crate) now: Option<Head>,
    /// Where HEAD was before, in order.
    pub(crate) earlier: Vec<Head>,
    /// Whether the last move may have failed.
    pub(crate) moved: Moved,
}

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    /// On a branch.
    Branch(String),
    /// On what `git checkout NAME` makes of a name, which git is asked only when it matters.
    Named(String),
    /// On a commit.
    Detached,
}

/// Whether the last move of HEAD may have failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Moved {
    /// What follows runs only if it succeeded.
    #[default]
    Surely,
    /// It may have failed.
    Perhaps,
}

/// Whether a merge, a rebase or its like goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Operation {
    /// As it was before the line.
    #[default]
    AsFound,
    /// The line gave it up.
    GivenUp,
}

/// Which changes of a work tree are held by a commit or a stash of the same line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) enum Keeps {
    /// None but the named paths.
    #[default]
    Named,
    /// What was staged.
    Staged,
    /// Every change of a tracked file.
    Tracked,
    /// Untracked files as well.
    Everything,
}

impl Past {
    /// What is in the index is held by a commit or a stash now.
    pub(crate) fn cover(&mut self) {
        let exposed = std::mem::take(&mut self.exposed);
        self.covered.extend(exposed);
        let added = std::mem::take(&mut self.added);
        self.kept.extend(added);
    }

    /// What a stash held is in the index again.
    pub(crate) fn uncover(&mut self) {
        let covered = std::mem::take(&mut self.covered);
        self.exposed.extend(covered);
    }

    /// Forgets what only holds if every command so far succeeded.
    pub(crate) fn doubt(&mut self) {
        self.uncover();
        *self = Self {
            exposed: std::mem::take(&mut self.exposed),
            stashes: self.stashes,
            restored: std::mem::take(&mut self.restored),
            ..Self::default()
        };
    }
}

impl Course {
    /// Moves HEAD from where it is.
    pub(crate) fn go(&mut self, from: Head, to: Head) {
        self.earlier.push(self.now.take().unwrap_or(from));
        self.now = Some(to);
        self.moved = Moved::Surely;
    }

    /// Forgets what only holds if every command so far succeeded.
    pub(crate) fn doubt(&mut self) {
        self.safe.clear();
        self.moved = Moved::Perhaps;
    }
}
