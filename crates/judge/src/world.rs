//! What is asked about the world: paths as they really are, folders and what they mean, what files hold.

use crate::facts::Facts;
use crate::line::field::{Atom, Field, Fill};
use crate::names::{StarStar, Whole, base, components, has_glob, names_in_all, speaks};
use crate::repository::{Repo, RepoOrigin};
use crate::roots::{RootNames, Roots};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Largest file whose text is read as code or SQL.
const TEXT_BYTES_MAX: u64 = 256 * 1024;

/// The world around one judgement.
pub(crate) struct World {
    /// What the door told.
    pub(crate) facts: Facts,
    /// Looked up when a rule first asks: most lines touch nothing, and this is on the path of every call.
    roots: OnceCell<Arc<Roots>>,
    repositories: RefCell<BTreeMap<PathBuf, Option<Rc<Repo>>>>,
    /// Folders that the line makes repositories.
    made: RefCell<BTreeMap<PathBuf, RepoOrigin>>,
    looked: Cell<u64>,
    /// Files unknown to git that the line deletes or empties one by one.
    swept: RefCell<BTreeSet<PathBuf>>,
    /// How many loops surround the command at hand.
    loops: Cell<usize>,
    /// Whether the line read the schedule before it writes one.
    schedule: Cell<Schedule>,
    star_star: Cell<StarStar>,
    /// Scripts that were asked for: what the run wrote there, if it did.
    scripts: RefCell<BTreeMap<PathBuf, Option<Rc<str>>>>,
}

/// Most entries of the disk that one judgement looks at.
const LOOKS_MAX: u64 = 200_000;

/// Whether the line knows the schedule that it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schedule {
    Read,
    Unread,
}

/// Whether a judgement may look further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Budget {
    Left,
    /// It may not, and what it found is not all.
    Spent,
}

/// What a path is to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// The root, or a folder of the system.
    System,
    /// A home, or a folder that holds it.
    Home,
    /// A repository's `.git`, or inside it.
    Git,
    /// The guard's own folder.
    Guard,
    /// The workspace, or a folder that holds it.
    Workspace,
    Inside,
    /// Inside the system's temporary folder.
    Temporary,
    /// The temporary folder itself.
    TemporaryRoot,
    /// Anywhere else.
    Outside,
}

/// What an argument names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spot {
    /// One path.
    Path(PathBuf),
    /// Everything in a folder.
    Contents(PathBuf),
    /// A path below something that cannot be known, with the known name at its end.
    Unknown(String, Option<String>),
}

/// Folders that belong to the system.
const SYSTEM: [&str; 21] = [
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "home",
    "Applications",
    "Library",
    "System",
    "Users",
];

impl World {
    pub(crate) fn new(facts: &Facts) -> Self {
        Self {
            facts: facts.clone(),
            roots: OnceCell::new(),
            repositories: RefCell::new(BTreeMap::new()),
            made: RefCell::new(BTreeMap::new()),
            looked: Cell::new(0),
            swept: RefCell::new(BTreeSet::new()),
            loops: Cell::new(0),
            schedule: Cell::new(Schedule::Unread),
            star_star: Cell::new(StarStar::OneLevel),
            scripts: RefCell::default(),
        }
    }

    fn roots(&self) -> &Roots {
        let Facts { workspace, home, temporary, looks, .. } = &self.facts;
        self.roots.get_or_init(|| looks.roots(RootNames { workspace, home: home.as_deref(), temporary }))
    }

    /// Counts one look at the disk.
    pub(crate) fn look_once(&self) -> Budget {
        self.looked.set(self.looked.get().saturating_add(1));
        self.budget()
    }

    /// Gives up looking: something that the line reaches cannot be looked at, so nothing may pass for its absence.
    fn give_up(&self) {
        self.looked.set(u64::MAX);
    }

    /// Whether there is anything left to look with.
    pub(crate) fn budget(&self) -> Budget {
        if self.looked.get() > LOOKS_MAX { Budget::Spent } else { Budget::Left }
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.roots().workspace
    }

    pub(crate) fn temporary_folder(&self) -> &Path {
        self.facts.temporary.first().map_or(Path::new("/tmp"), PathBuf::as_path)
    }

    /// Notes files unknown to git that a command deletes or empties, and gives how many the line does in all: each of
    /// them was named by no person, and one by one they are lost as together.
    pub(crate) fn sweep(&self, files: &[PathBuf]) -> usize {
        let mut swept = self.swept.borrow_mut();
        swept.extend(files.iter().cloned());
        swept.len()
    }

    /// The files unknown to git that the line deletes or empties one by one.
    pub(crate) fn swept(&self) -> Vec<PathBuf> {
        self.swept.borrow().iter().cloned().collect()
    }

    /// Enters a loop; [`Self::end_loop`] leaves it.
    pub(crate) fn begin_loop(&self) {
        self.loops.set(self.loops.get().saturating_add(1));
    }

    pub(crate) fn end_loop(&self) {
        self.loops.set(self.loops.get().saturating_sub(1));
    }

    /// Whether the command at hand runs again and again.
    pub(crate) fn repeats(&self) -> bool {
        self.loops.get() > 0
    }

    /// Notes that `**` reaches over any number of folders from here on.
    pub(crate) fn note_star_star(&self) {
        self.star_star.set(StarStar::AnyLevels);
    }

    /// Notes that the line reads the schedule.
    pub(crate) fn note_schedule_read(&self) {
        self.schedule.set(Schedule::Read);
    }

    /// Whether the line read the schedule before.
    pub(crate) fn schedule(&self) -> Schedule {
        self.schedule.get()
    }

    /// What a path is to the run. The path is real: no link in it but perhaps its last name.
    pub(crate) fn zone(&self, path: &Path) -> Zone {
        let Roots { workspace, home, temporary } = self.roots();
        if path.components().any(|part| part.as_os_str() == ".git") {
            return Zone::Git;
        }
        if path == workspace || workspace.starts_with(path) {
            let holds_home = home.as_ref().is_some_and(|home| home.starts_with(path));
            return match (path.parent(), holds_home) {
                (None, _) => Zone::System,
                (Some(_), true) => Zone::Home,
                (Some(_), false) if temporary.iter().any(|folder| folder == path) => Zone::TemporaryRoot,
                (Some(_), false) => Zone::Workspace,
            };
        }
        if let Ok(inside) = path.strip_prefix(workspace) {
            return if inside.starts_with(".geometry") { Zone::Guard } else { Zone::Inside };
        }
        if let Some(home) = home {
            if home.starts_with(path) {
                return if path.parent().is_none() { Zone::System } else { Zone::Home };
            }
            if path.starts_with(home) {
                return Zone::Outside;
            }
        }
        if temporary.iter().any(|folder| folder == path) {
            return Zone::TemporaryRoot;
        }
        if temporary.iter().any(|folder| self.is_temporary(folder, path)) {
            return Zone::Temporary;
        }
        // Beside a workspace that lies in a temporary folder.
        if temporary.iter().any(|folder| path.starts_with(folder)) {
            return Zone::Outside;
        }
        let first = path.components().nth(1).map(|part| part.as_os_str().to_owned());
        match first {
            None => Zone::System,
            Some(name) if SYSTEM.iter().any(|own| name == *own) => Zone::System,
            Some(_) => Zone::Outside,
        }
    }

    /// Whether a path, of whichever machine, lies in a folder of the system.
    pub(crate) fn belongs_to_system(path: &Path) -> bool {
        let first = path.components().nth(1).map(|part| part.as_os_str().to_owned());
        first.is_none_or(|name| name != "home" && SYSTEM.iter().any(|own| name == *own))
    }

    /// Whether a path is something temporary: below the folder, and not beside the workspace or a home that lie there.
    fn is_temporary(&self, folder: &Path, path: &Path) -> bool {
        let Some(first) = path.strip_prefix(folder).ok().and_then(|rest| rest.components().next()) else {
            return false;
        };
        let (top, Roots { workspace, home, .. }) = (folder.join(first), self.roots());
        !workspace.starts_with(&top) && !home.as_ref().is_some_and(|home| home.starts_with(&top))
    }

    /// The path as the kernel would walk it: links resolved on the way, `..` taken physically.
    pub(crate) fn real(&self, path: &Path, last: Last) -> PathBuf {
        let parts: Vec<Component<'_>> = path.components().collect();
        let mut out = PathBuf::new();
        for (number, part) in parts.iter().enumerate() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    out.pop();
                }
                Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                    out.push(part);
                    let follows = number + 1 < parts.len() || last == Last::Followed;
                    if follows && out.is_symlink() {
                        out = out.canonicalize().unwrap_or(out);
                    }
                }
            }
        }
        out
    }

    /// What an argument names, seen from a folder; for rules that look at it. What a pattern leaves out, and a name that
    /// was not text and was lost on its way here, cannot be looked at.
    pub(crate) fn spots(&self, field: &Field, cwd: Option<&Path>) -> Vec<Spot> {
        if field.unknown().is_some() {
            return vec![self.unknown_spot(field, cwd)];
        }
        let text = field.known().unwrap_or_default();
        if text.is_empty() {
            return Vec::new();
        }
        let Some(base) = base(&text, cwd) else {
            let last = text.trim_end_matches('/').rsplit('/').next().map(str::to_owned);
            return vec![Spot::Unknown(text, last)];
        };
        if !field.atoms.iter().any(|atom| matches!(atom, Atom::Glob(_))) {
            let follow = if text.ends_with('/') || text.ends_with("/.") { Last::Followed } else { Last::Kept };
            let path = self.real(&base.join(&text), follow);
            if text.contains(char::REPLACEMENT_CHARACTER) && path.symlink_metadata().is_err() {
                self.give_up();
            }
            return vec![Spot::Path(path)];
        }
        self.glob_spots(field, &base)
    }

    fn glob_spots(&self, field: &Field, base: &Path) -> Vec<Spot> {
        let parts = components(field);
        let absolute = field.text().starts_with('/');
        let mut found = vec![if absolute { PathBuf::from("/") } else { base.to_owned() }];
        for (number, part) in parts.iter().enumerate() {
            let plain: Option<String> = Field { atoms: part.clone() }.known().filter(|_| !has_glob(part));
            if let Some(name) = plain {
                found = found.into_iter().map(|path| self.real(&path.join(&name), Last::Kept)).collect();
                continue;
            }
            let picks = |atom: &Atom| match atom {
                Atom::Text(text) => text.chars().any(|letter| letter != '.'),
                Atom::Glob(wildcard) => wildcard.ends_with(')'),
                Atom::Unknown(..) | Atom::StandIn(_) => false,
            };
            let letters = part.iter().any(picks);
            if number + 1 == parts.len() && !letters {
                // A last name of nothing but wildcards is everything in there.
                return found.into_iter().map(|path| Spot::Contents(self.real(&path, Last::Followed))).collect();
            }
            let (names, whole) = names_in_all(&found, part, self.star_star.get());
            if whole == Whole::Cut {
                self.give_up();
            }
            found = names;
        }
        found.into_iter().map(Spot::Path).collect()
    }

    /// A path with something unknown in it: below a known folder it may be anything in there.
    fn unknown_spot(&self, field: &Field, cwd: Option<&Path>) -> Spot {
        let at = field.atoms.iter().position(|atom| matches!(atom, Atom::Unknown(..))).unwrap_or(0);
        let before = Field { atoms: field.atoms.get(..at).unwrap_or_default().to_vec() }.text();
        let after = Field { atoms: field.atoms.get(at + 1..).unwrap_or_default().to_vec() };
        let demanded = matches!(field.atoms.get(at), Some(Atom::Unknown(_, Fill::Demanded)));
        let named = after.text().trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        let plain_end = !named.is_empty() && !after.atoms.iter().any(|atom| matches!(atom, Atom::Glob(_)));
        if before.is_empty() || before.chars().all(|letter| "./".contains(letter)) && !before.contains("./") {
            let end = Some(named).filter(|_| plain_end && after.text().starts_with('/') && demanded);
            return Spot::Unknown(field.shown(), end);
        }
        match base(&before, cwd) {
            None => Spot::Unknown(field.shown(), None),
            // `/tmp/${NAME:?}/`: some name below the temporary folder, and not the folder.
            Some(base) if before.ends_with('/') && demanded && self.is_passing(&base.join(&before)) => {
                Spot::Path(self.real(&base.join(&before), Last::Followed).join("demanded"))
            }
            // `logs/$name.txt` is not everything in there.
            Some(base) if before.ends_with('/') && self.is_narrow(&after, &base.join(&before)) => {
                Spot::Path(self.real(&base.join(&before), Last::Followed).join("unknown"))
            }
            Some(base) if before.ends_with('/') => Spot::Contents(self.real(&base.join(&before), Last::Followed)),
            Some(base) => Spot::Path(self.real(&base.join(&before), Last::Kept)),
        }
    }

    /// Whether something of the workspace is named by the letters behind what is unknown of it.
    fn is_narrow(&self, after: &Field, folder: &Path) -> bool {
        let rest = components(after).into_iter().next().filter(|_| !after.text().starts_with('/'));
        rest.is_some_and(|rest| speaks(&rest)) && self.real(folder, Last::Followed).starts_with(self.workspace())
    }

    /// What a name of which a part is unknown may mean, beside what it says: everything that fits what is known of it. A
    /// part of which nothing is known speaks for nothing.
    pub(crate) fn alike(&self, field: &Field, cwd: Option<&Path>) -> Vec<Spot> {
        let Some(base) = base(&field.text(), cwd).filter(|_| field.is_partly_unknown()) else { return Vec::new() };
        let starts_unknown = matches!(field.atoms.first(), Some(Atom::Unknown(..)));
        let absolute = field.text().starts_with('/') && !starts_unknown;
        let mut found = vec![if absolute { PathBuf::from("/") } else { base }];
        for part in components(field) {
            let partly = part.iter().any(|atom| matches!(atom, Atom::Unknown(..) | Atom::StandIn(_)));
            if !partly && !has_glob(&part) {
                let name = Field { atoms: part }.text();
                found = found.into_iter().map(|path| self.real(&path.join(&name), Last::Kept)).collect();
                continue;
            }
            if partly && !speaks(&part) {
                return Vec::new();
            }
            let (names, whole) = names_in_all(&found, &part, self.star_star.get());
            if whole == Whole::Cut {
                self.give_up();
            }
            found = names;
        }
        found.into_iter().map(Spot::Path).collect()
    }

    /// Whether a folder is the temporary one, or below it.
    fn is_passing(&self, folder: &Path) -> bool {
        let folder = self.real(folder, Last::Followed);
        self.roots().temporary.contains(&folder) || self.zone(&folder) == Zone::Temporary
    }

    /// The names that a pattern fits, as a loop would get them; `None` if it is no pattern.
    pub(crate) fn glob_names(&self, field: &Field, cwd: Option<&Path>) -> Option<Vec<String>> {
        self.all_glob_names(field, cwd).map(|(names, _whole)| names)
    }

    /// As [`Self::glob_names`], with whether these are all.
    pub(crate) fn all_glob_names(&self, field: &Field, cwd: Option<&Path>) -> Option<(Vec<String>, Whole)> {
        if !has_glob(&field.atoms) || field.unknown().is_some() {
            return None;
        }
        let base = base(&field.text(), cwd)?;
        let parts = components(field);
        let mut found = vec![if field.text().starts_with('/') { PathBuf::from("/") } else { base }];
        let mut all = Whole::All;
        for part in &parts {
            let plain = Field { atoms: part.clone() }.known().filter(|_| !has_glob(part));
            found = match plain {
                Some(name) => found.into_iter().map(|path| path.join(&name)).collect(),
                None => {
                    let (names, whole) = names_in_all(&found, part, self.star_star.get());
                    all = all.max(whole);
                    names
                }
            };
        }
        Some((found.iter().map(|path| path.display().to_string()).collect(), all))
    }

    /// The text of a file, if it is a short plain one.
    pub(crate) fn short_text(&self, path: &Path) -> Option<String> {
        let metadata =
            path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= TEXT_BYTES_MAX)?;
        let bytes = tripwire_fs::file::read_bounded(path, metadata.len()).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// What is known of a script: a loop that runs it a thousand times looks once.
    pub(crate) fn script(&self, path: &Path, look: impl FnOnce() -> Option<String>) -> Option<Rc<str>> {
        let known = self.scripts.borrow().get(path).cloned();
        known.unwrap_or_else(|| {
            let found = look().map(Rc::from);
            self.scripts.borrow_mut().insert(path.to_owned(), found.clone());
            found
        })
    }

    /// Whether a path is a disk or another device that keeps data.
    pub(crate) fn is_device(&self, path: &Path) -> bool {
        let harmless = [
            "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "ptmx", "console", "kmsg",
        ];
        let Ok(name) = path.strip_prefix("/dev") else {
            return path.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        };
        let first =
            name.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
        !first.is_empty()
            && !harmless.contains(&first.as_str())
            && !matches!(first.as_str(), "fd" | "pts" | "shm" | "tcp" | "udp")
            && !first.starts_with("tty")
    }

    /// Forgets what only holds if every command of the line so far succeeded.
    pub(crate) fn doubt(&self) {
        self.repositories.borrow().values().flatten().for_each(|repo| repo.doubt());
    }

    /// The repository that a path lies in.
    pub(crate) fn repository(&self, path: &Path) -> Option<Rc<Repo>> {
        let found = tripwire_workspace::git::top_level(path);
        let made = self.made.borrow();
        let own =
            made.iter().filter(|(root, _)| path.starts_with(root)).max_by_key(|(root, _)| root.components().count());
        let (top, origin) = match (found, own) {
            (Some(found), Some((root, _))) if found.starts_with(root) => (found, RepoOrigin::Found),
            (_, Some((root, origin))) => (root.clone(), *origin),
            (found, None) => (found?, RepoOrigin::Found),
        };
        let mut known = self.repositories.borrow_mut();
        known.entry(top.clone()).or_insert_with(|| Some(Rc::new(Repo::of(&top, origin)))).clone()
    }

    /// Notes that the line makes a folder a repository.
    pub(crate) fn make_repository(&self, root: &Path, origin: RepoOrigin) {
        self.made.borrow_mut().insert(root.to_owned(), origin);
    }
}

/// Whether the last name of a path is followed if it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// The link itself is meant.
    Kept,
    /// What it points to is meant.
    Followed,
}
