//! One repository's facts, each asked once and only when a rule needs it.

use crate::workspace::git::{Repository, common_folder, short_text};
use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

/// A repository.
pub(super) struct Repo {
    root: PathBuf,
    handle: OnceCell<Option<Repository>>,
    status: OnceCell<Option<Status>>,
    past: RefCell<Past>,
}

/// What earlier commands of the line did to a repository, as far as later ones stand on it.
///
/// Only what surely succeeded counts as kept (joined with `&&`); what may have succeeded counts as made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Past {
    /// Paths that were added to the index.
    pub(super) added: Vec<PathBuf>,
    /// Paths whose changes a commit or a stash of this line holds.
    pub(super) kept: Vec<PathBuf>,
    /// Which further changes a commit or a stash of this line holds.
    pub(super) keeps: Keeps,
    /// Stashes that the line made.
    pub(super) stashes: u64,
    /// Files that the line took out of a stash, which nothing else holds since.
    pub(super) restored: Vec<PathBuf>,
    /// Stashes that the line brought back into the work tree, so that dropping them loses nothing.
    pub(super) applied: u64,
}

/// Which changes of a work tree are held by a commit or a stash of the same line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(super) enum Keeps {
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

/// What differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Status {
    /// Tracked files that differ in the index.
    pub(super) staged: Vec<PathBuf>,
    /// Tracked files that differ in the work tree.
    pub(super) changed: Vec<PathBuf>,
    /// Files that git does not know.
    pub(super) untracked: Vec<PathBuf>,
    /// Files and folders that git ignores.
    pub(super) ignored: Vec<PathBuf>,
    /// The branch that this one follows.
    pub(super) upstream: Option<String>,
}

impl Repo {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), handle: OnceCell::new(), status: OnceCell::new(), past: RefCell::default() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The branch that is checked out; `None` for a detached head.
    pub(super) fn branch(&self) -> Option<String> {
        let dot_git = self.root.join(".git");
        let own = if dot_git.is_dir() {
            dot_git
        } else {
            let pointer = short_text(&dot_git)?;
            self.root.join(pointer.strip_prefix("gitdir:")?.trim())
        };
        let head = short_text(&own.join("HEAD"))?;
        head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
    }

    /// The branch that a remote's HEAD names.
    pub(super) fn remote_head(&self, remote: &str) -> Option<String> {
        let file = common_folder(&self.root)?.join("refs/remotes").join(remote).join("HEAD");
        let text = short_text(&file)?;
        text.trim().strip_prefix(&format!("ref: refs/remotes/{remote}/")).map(str::to_owned)
    }

    /// One line of the repository's configuration.
    pub(super) fn config(&self, key: &str) -> Option<String> {
        self.ask("config", &["config", "--get", key]).map(|text| text.trim().to_owned())
    }

    /// A number that git counts.
    pub(super) fn count(&self, arguments: &[&str]) -> Option<u64> {
        self.ask("rev-list", arguments)?.trim().parse().ok()
    }

    /// Whether a name is a commit here.
    pub(super) fn is_commit(&self, name: &str) -> bool {
        let commit = format!("{name}^{{commit}}");
        self.ask("rev-parse", &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).is_some()
    }

    /// What git says to a question that changes nothing; `None` if it says no or cannot be asked.
    pub(super) fn ask(&self, name: &'static str, arguments: &[&str]) -> Option<String> {
        let handle = self.handle.get_or_init(|| Repository::open(&self.root).ok()).as_ref()?;
        let bytes = handle.ask(name, arguments).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Notes what a command of the line does here.
    pub(super) fn note(&self, change: impl FnOnce(&mut Past)) {
        change(&mut self.past.borrow_mut());
    }

    /// What the line did here so far.
    pub(super) fn past(&self) -> Past {
        self.past.borrow().clone()
    }

    /// Forgets what only holds if every command so far succeeded.
    pub(super) fn doubt(&self) {
        let mut past = self.past.borrow_mut();
        *past = Past { stashes: past.stashes, restored: std::mem::take(&mut past.restored), ..Past::default() };
    }

    /// What differs from the last commit at this point of the line; `None` if git gives no answer, and then nothing
    /// here is known to be safe.
    pub(super) fn status(&self) -> Option<Status> {
        let past = self.past.borrow();
        let mut status = self.found()?.clone();
        let held = |file: &Path| past.kept.iter().any(|kept| file.starts_with(kept));
        if past.keeps >= Keeps::Staged {
            // A file that was staged and changed again still has a change that no commit holds: it is in `changed`.
            status.staged.clear();
        }
        if past.keeps >= Keeps::Tracked {
            status.changed.clear();
        }
        if past.keeps == Keeps::Everything {
            status.untracked.clear();
        }
        for files in [&mut status.staged, &mut status.changed, &mut status.untracked] {
            files.retain(|file| !held(file));
        }
        if past.keeps < Keeps::Tracked {
            status.changed.extend(past.restored.iter().cloned());
        }
        Some(status)
    }

    /// What git says about the work tree before the line runs.
    fn found(&self) -> Option<&Status> {
        let arguments = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--no-renames",
            // What is changed inside of a submodule is asked there: git would start another git for it.
            "--ignore-submodules=dirty",
        ];
        self.status.get_or_init(|| self.ask("status", &arguments).map(|text| self.read(&text))).as_ref()
    }

    /// The submodules that are checked out, where there are any.
    pub(super) fn submodules(&self) -> Vec<Self> {
        if !self.root.join(".gitmodules").exists() {
            return Vec::new();
        }
        let listed = self.ask("ls-files", &["ls-files", "--stage", "-z"]).unwrap_or_default();
        let links = listed.split('\0').filter(|line| line.starts_with("160000 "));
        let folders = links.filter_map(|line| Some(self.root.join(line.split_once('\t')?.1)));
        folders.filter(|folder| common_folder(folder).is_some()).map(|folder| Self::new(&folder)).collect()
    }

    fn read(&self, text: &str) -> Status {
        let mut status = Status::default();
        for line in text.split('\0') {
            let Some((kind, rest)) = line.split_once(' ') else { continue };
            let path = |fields: usize| rest.splitn(fields, ' ').last().map(|path| self.root.join(path));
            match kind {
                "#" => {
                    status.upstream = rest.strip_prefix("branch.upstream ").map(str::to_owned).or(status.upstream);
                }
                "1" => {
                    // A deleted file has nothing left to lose: the commit holds it.
                    let mut marks = rest.chars();
                    if marks.next().is_some_and(|mark| !matches!(mark, '.' | 'D')) {
                        status.staged.extend(path(8));
                    }
                    if marks.next().is_some_and(|mark| !matches!(mark, '.' | 'D')) {
                        status.changed.extend(path(8));
                    }
                }
                "u" => status.changed.extend(path(10)),
                "?" => status.untracked.push(self.root.join(rest)),
                "!" => status.ignored.push(self.root.join(rest)),
                _ => {}
            }
        }
        status
    }
}

impl Status {
    /// Tracked files with changes that no commit holds.
    pub(super) fn dirty(&self) -> Vec<&PathBuf> {
        let mut all: Vec<&PathBuf> = self.staged.iter().chain(&self.changed).collect();
        all.sort();
        all.dedup();
        all
    }
}
