//! One repository's facts, each asked once and only when a rule needs it.

mod conflict;
pub(crate) mod past;

use self::conflict::is_untouched;
use self::past::{Course, Head, Keeps, Moved, Operation, Past};
use std::cell::{OnceCell, RefCell};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use tripwire_workspace::git::{Repository, common_folder, short_text};

/// Most files in conflict that are compared with their sides.
const CONFLICTS_MAX: usize = 64;
/// Largest file in conflict that is compared.
const CONFLICT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Most files of a folder that becomes a repository in the line.
const FILES_MAX: usize = 20_000;

/// What the first branch of a repository is called that the line itself makes: its real name is not known yet.
const NEW_BRANCH: &str = "main";

/// A repository.
pub(crate) struct Repo {
    root: PathBuf,
    origin: RepoOrigin,
    handle: OnceCell<Option<Repository>>,
    status: OnceCell<Option<Status>>,
    settings: OnceCell<Option<Vec<(String, String)>>>,
    past: RefCell<Past>,
    /// What commands of the line do to the files, not yet looked at: most lines end before anybody asks.
    later: RefCell<Vec<Later>>,
    course: RefCell<Course>,
}

/// What a command does to the files of a repository, worked out when somebody asks.
type Later = Box<dyn FnOnce(&Repo)>;

/// Where a repository comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepoOrigin {
    /// It is there.
    Found,
    /// The line makes it with `git init`.
    Made,
    /// The line clones it.
    Cloned,
}

/// What differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Status {
    /// Tracked files that differ in the index.
    pub(crate) staged: Vec<PathBuf>,
    /// Tracked files that differ in the work tree.
    pub(crate) changed: Vec<PathBuf>,
    /// Files in conflict that somebody has begun to resolve by hand; they are among the changed ones.
    pub(crate) unmerged: Vec<PathBuf>,
    /// Files that git does not know.
    pub(crate) untracked: Vec<PathBuf>,
    /// Files that git did not know before the line and that are in its index now: it deletes them like its own.
    pub(crate) added: Vec<PathBuf>,
    /// Files and folders that git ignores.
    pub(crate) ignored: Vec<PathBuf>,
    /// The branch that this one follows.
    pub(crate) upstream: Option<String>,
}

impl Repo {
    pub(crate) fn new(root: &Path) -> Self {
        Self::of(root, RepoOrigin::Found)
    }

    /// A repository that is there or that the line makes.
    pub(crate) fn of(root: &Path, origin: RepoOrigin) -> Self {
        Self {
            root: root.to_owned(),
            origin,
            handle: OnceCell::new(),
            status: OnceCell::new(),
            settings: OnceCell::new(),
            past: RefCell::default(),
            later: RefCell::default(),
            course: RefCell::default(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder with what belongs to this work tree alone.
    pub(crate) fn own_folder(&self) -> Option<PathBuf> {
        let dot_git = self.root.join(".git");
        if dot_git.is_dir() {
            return Some(dot_git);
        }
        let pointer = short_text(&dot_git)?;
        Some(self.root.join(pointer.strip_prefix("gitdir:")?.trim()))
    }

    /// The folder with what all its work trees share.
    pub(crate) fn shared_folder(&self) -> Option<PathBuf> {
        common_folder(&self.root)
    }

    /// Where HEAD is before the line runs.
    pub(crate) fn found_head(&self) -> Head {
        let named = |text: &str| text.trim().strip_prefix("ref: refs/heads/").map(str::to_owned);
        let branch = match self.origin {
            RepoOrigin::Found => self.own_folder().and_then(|own| named(&short_text(&own.join("HEAD"))?)),
            // What a new repository or a clone begins on is its main branch, whatever its name.
            RepoOrigin::Made | RepoOrigin::Cloned => Some(NEW_BRANCH.to_owned()),
        };
        branch.map_or(Head::Detached, Head::Branch)
    }

    /// Where HEAD may be at this point of the line, the likeliest first.
    pub(crate) fn heads(&self) -> Vec<Head> {
        let course = self.course();
        let found = self.found_head();
        let Some(now) = course.now else { return vec![found] };
        let resolve = |before: Head, head: &Head| self.resolved(head, &before);
        let now = course.earlier.iter().chain([&now]).fold(found.clone(), resolve);
        match course.moved {
            Moved::Surely => vec![now],
            // It has not moved at all then; that it stopped half-way is not thought of.
            Moved::Perhaps => vec![now, found],
        }
    }

    /// The branches on which HEAD may be.
    pub(crate) fn branches(&self) -> Vec<String> {
        let name = |head| match head {
            Head::Branch(name) => Some(name),
            Head::Named(_) | Head::Detached => None,
        };
        self.heads().into_iter().filter_map(name).collect()
    }

    /// What `git checkout NAME` makes of a name: a branch, a commit, the copy of a remote's branch, or only a file.
    fn resolved(&self, head: &Head, before: &Head) -> Head {
        let Head::Named(name) = head else { return head.clone() };
        if self.is_commit(&format!("refs/heads/{name}")) {
            return Head::Branch(name.clone());
        }
        if self.is_commit(name) {
            return Head::Detached;
        }
        let remote = format!("refs/remotes/*/{name}");
        let copies = self.ask("for-each-ref", &["for-each-ref", "--count=1", "--format=%(refname)", &remote]);
        match copies.is_some_and(|text| !text.trim().is_empty()) {
            true => Head::Branch(name.clone()),
            false => before.clone(),
        }
    }

    /// The branch that a remote's HEAD names.
    pub(crate) fn remote_head(&self, remote: &str) -> Option<String> {
        match self.origin {
            RepoOrigin::Found => {}
            // Where it was cloned from, and where a new repository is pushed to, its first branch is the one others stand on.
            RepoOrigin::Made | RepoOrigin::Cloned => return Some(NEW_BRANCH.to_owned()),
        }
        let file = common_folder(&self.root)?.join("refs/remotes").join(remote).join("HEAD");
        let text = short_text(&file)?;
        text.trim().strip_prefix(&format!("ref: refs/remotes/{remote}/")).map(str::to_owned)
    }

    /// The value of a setting of the repository.
    pub(crate) fn config(&self, key: &str) -> Option<String> {
        let settings = self.settings()?.iter().rev();
        settings.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(key)).map(|(_, value)| value.trim().to_owned())
    }

    /// All settings of the repository in their order, included files among them; `None` if they cannot be read.
    pub(crate) fn settings(&self) -> Option<&[(String, String)]> {
        let listed = || {
            let text = self.ask("config", &["config", "--list", "-z"])?;
            // A setting without a value is a switch that is on.
            let setting = |entry: &str| match entry.split_once('\n') {
                Some((key, value)) => (key.to_owned(), value.to_owned()),
                None => (entry.to_owned(), "true".to_owned()),
            };
            Some(text.split('\0').filter(|entry| !entry.is_empty()).map(setting).collect())
        };
        self.settings.get_or_init(listed).as_deref()
    }

    /// A number that git counts.
    pub(crate) fn count(&self, arguments: &[&str]) -> Option<u64> {
        self.ask("rev-list", arguments)?.trim().parse().ok()
    }

    /// Whether a name is a commit here.
    pub(crate) fn is_commit(&self, name: &str) -> bool {
        if self.origin == RepoOrigin::Cloned {
            return true;
        }
        let commit = format!("{name}^{{commit}}");
        self.ask("rev-parse", &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).is_some()
    }

    /// What git says to a question that changes nothing; `None` if it says no or cannot be asked.
    pub(crate) fn ask(&self, name: &'static str, arguments: &[&str]) -> Option<String> {
        match self.origin {
            RepoOrigin::Found => {}
            // There is nobody to ask yet, and a repository around it would answer for itself.
            RepoOrigin::Made | RepoOrigin::Cloned => return None,
        }
        let bytes = self.ask_bytes(name, arguments)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The same for an answer with names, which need not be text.
    fn ask_bytes(&self, name: &'static str, arguments: &[&str]) -> Option<Vec<u8>> {
        let handle = self.handle.get_or_init(|| Repository::open(&self.root).ok()).as_ref()?;
        handle.ask(name, arguments).ok()
    }

    /// Notes what a command of the line does to the files here.
    pub(crate) fn note(&self, change: impl FnOnce(&mut Past)) {
        change(&mut self.past.borrow_mut());
    }

    /// Keeps what a command does to the files until somebody asks: finding it out costs a process.
    pub(crate) fn later(&self, work_out: impl FnOnce(&Self) + 'static) {
        self.later.borrow_mut().push(Box::new(work_out));
    }

    /// What the line did to the files here so far.
    pub(crate) fn past(&self) -> Past {
        self.work_out();
        self.past.borrow().clone()
    }

    fn work_out(&self) {
        // Taken as a whole: what is worked out asks for the state before it.
        let later = std::mem::take(&mut *self.later.borrow_mut());
        later.into_iter().for_each(|work_out| work_out(self));
    }

    /// Notes what a command does to branches and settings.
    pub(crate) fn steer(&self, change: impl FnOnce(&mut Course)) {
        change(&mut self.course.borrow_mut());
    }

    /// Where the line has gone here.
    pub(crate) fn course(&self) -> Course {
        self.course.borrow().clone()
    }

    /// Forgets what only holds if every command so far succeeded.
    pub(crate) fn doubt(&self) {
        self.course.borrow_mut().doubt();
        self.later(|repo| repo.note(Past::doubt));
    }

    /// What differs from the last commit at this point of the line; `None` if git gives no answer, and then nothing
    /// here is known to be safe.
    pub(crate) fn status(&self) -> Option<Status> {
        self.work_out();
        let past = self.past.borrow();
        let mut status = self.found()?.clone();
        let held = |file: &Path| past.kept.iter().any(|kept| file.starts_with(kept));
        if past.operation == Operation::GivenUp {
            // What the operation had changed is gone with it; changes beside it stay.
            status.changed.retain(|file| !status.unmerged.contains(file) && !status.staged.contains(file));
            status.staged.clear();
        }
        if past.keeps >= Keeps::Staged {
            // A file that was staged and changed again still has a change that no commit holds: it is in `changed`.
            status.staged.clear();
        }
        if past.keeps >= Keeps::Tracked {
            status.changed.clear();
        } else {
            status.changed.extend(past.restored.iter().cloned());
        }
        if past.keeps == Keeps::Everything {
            status.untracked.clear();
        }
        for files in [&mut status.staged, &mut status.changed, &mut status.untracked] {
            files.retain(|file| !held(file));
        }
        let (indexed, changed) = status.changed.into_iter().partition(|file| past.added.contains(file));
        status.changed = changed;
        status.staged.extend::<Vec<PathBuf>>(indexed);
        status.added = past.exposed.iter().filter(|file| !held(file)).cloned().collect();
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
        let found = || match self.origin {
            RepoOrigin::Found => self.ask_bytes("status", &arguments).map(|answer| self.read(&answer)),
            RepoOrigin::Made | RepoOrigin::Cloned => self.everything_unknown(),
        };
        self.status.get_or_init(found).as_ref()
    }

    /// A repository that the line makes knows no file yet; `None` if there are too many to look at.
    fn everything_unknown(&self) -> Option<Status> {
        let mut status = Status::default();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                match (is_folder, entry.file_name() == ".git") {
                    (_, true) => {}
                    (true, false) => folders.push(entry.path()),
                    (false, false) => status.untracked.push(entry.path()),
                }
            }
            if status.untracked.len() > FILES_MAX {
                return None;
            }
        }
        Some(status)
    }

    /// The submodules that are checked out, where there are any.
    pub(crate) fn submodules(&self) -> Vec<Self> {
        if !self.root.join(".gitmodules").exists() {
            return Vec::new();
        }
        let listed = self.ask("ls-files", &["ls-files", "--stage", "-z"]).unwrap_or_default();
        let links = listed.split('\0').filter(|line| line.starts_with("160000 "));
        let folders = links.filter_map(|line| Some(self.root.join(line.split_once('\t')?.1)));
        folders.filter(|folder| common_folder(folder).is_some()).map(|folder| Self::new(&folder)).collect()
    }

    fn read(&self, answer: &[u8]) -> Status {
        let mut status = Status::default();
        let mut conflicts = 0;
        for line in answer.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(line);
            let Some((kind, rest)) = text.split_once(' ') else { continue };
            // The name stands behind the kind and so many fields, as it is on the disk.
            let path = |fields: usize| {
                let name = line.splitn(fields.saturating_add(1), |byte| *byte == b' ').last()?;
                Some(self.root.join(OsStr::from_bytes(name)))
            };
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
                "u" => {
                    conflicts += 1;
                    let Some(file) = path(10) else { continue };
                    if conflicts > CONFLICTS_MAX || !self.is_untouched(rest, &file) {
                        status.unmerged.push(file.clone());
                        status.changed.push(file);
                    }
                }
                "?" => status.untracked.extend(path(1)),
                "!" => status.ignored.extend(path(1)),
                _ => {}
            }
        }
        status
    }
}

impl Repo {
    /// Whether a file in conflict holds only what git wrote into it. The line names the objects of the three sides.
    fn is_untouched(&self, line: &str, file: &Path) -> bool {
        let Ok(bytes) = tripwire_fs::file::read_bounded(file, CONFLICT_BYTES_MAX) else { return !file.exists() };
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        let objects = line.split(' ').skip(6).take(3).filter(|object| object.contains(|digit| digit != '0'));
        let sides: Option<Vec<String>> = objects
            .map(|object| self.ask("cat-file", &["cat-file", "blob", object]).map(|side| side.replace("\r\n", "\n")))
            .collect();
        sides.is_some_and(|sides| is_untouched(&text, &sides))
    }
}

impl Status {
    /// Tracked files with changes that no commit holds.
    pub(crate) fn dirty(&self) -> Vec<&PathBuf> {
        let mut all: Vec<&PathBuf> = self.staged.iter().chain(&self.changed).collect();
        all.sort();
        all.dedup();
        all
    }
}
