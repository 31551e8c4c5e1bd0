//! `find`: which files a search would hit, as far as its tests can be followed; a test that cannot only widens it.

use super::call::Call;
use super::field::{Atom, Field, fits};
use super::walk::Walker;
use super::world::{Budget, Spot, Zone};
use std::path::{Path, PathBuf};

/// Most entries that a search looks at.
const ENTRIES_MAX: usize = 20_000;

/// A search.
pub(super) struct Search {
    roots: Vec<Field>,
    names: Vec<(Vec<Atom>, On)>,
    /// Names that it leaves alone.
    left: Vec<(Vec<Atom>, On)>,
    together: Together,
    kind: Option<char>,
    depth_max: usize,
    hits: Hits,
    /// What it does itself with what it finds.
    pub(super) act: Act,
    /// The commands it runs on what it finds.
    pub(super) executes: Vec<Vec<Field>>,
}

/// How several names are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    All,
    Any,
}

/// What can be hit at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hits {
    /// Whatever fits.
    Whatever,
    /// Only what is empty: nothing is lost with it.
    OnlyEmpty,
}

/// What a search does itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// It lists.
    List,
    /// It deletes.
    Delete,
}

/// One branch of a search: tests up to an `-o`.
#[derive(Debug, Clone, Copy, Default)]
struct Branch {
    /// How many names were known before it.
    start: usize,
    /// Whether it keeps the search out of what it names.
    prunes: bool,
    /// Brackets that are open.
    depth: usize,
}

impl Branch {
    /// Follows one word. What a branch with `-prune` names is left alone, so it does not narrow the others.
    fn step(&mut self, word: &str, names: &mut Vec<(Vec<Atom>, On)>) {
        match word {
            "(" => self.depth += 1,
            ")" => self.depth = self.depth.saturating_sub(1),
            "-prune" => self.prunes = true,
            "-o" | "-or" if self.depth == 0 => {
                if self.prunes {
                    names.truncate(self.start);
                }
                *self = Self { start: names.len(), ..Self::default() };
            }
            _ => {}
        }
    }
}

/// What a test looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Name,
    NameInAnyCase,
    Path,
}

impl Search {
    /// Reads the arguments of `find`.
    pub(super) fn read(call: &Call) -> Self {
        let args = call.args.get(1..).unwrap_or_default();
        let starts_test = |field: &Field| {
            let text = field.text();
            (text.starts_with('-') && text.len() > 1) || matches!(text.as_str(), "!" | "(")
        };
        let options = |field: &&Field| matches!(field.text().as_str(), "-L" | "-H" | "-P");
        let args: Vec<&Field> = args.iter().skip_while(options).collect();
        let roots: Vec<Field> =
            args.iter().take_while(|field| !starts_test(field)).map(|field| (*field).clone()).collect();
        let mut tests = args.into_iter().skip(roots.len());
        let mut search = Self {
            roots: if roots.is_empty() { vec![Field::of(".")] } else { roots },
            names: Vec::new(),
            left: Vec::new(),
            together: Together::All,
            kind: None,
            depth_max: usize::MAX,
            hits: Hits::Whatever,
            act: Act::List,
            executes: Vec::new(),
        };
        let mut negated = false;
        let mut branch = Branch::default();
        while let Some(field) = tests.next() {
            let text = field.text();
            branch.step(&text, &mut search.names);
            let was_negated = std::mem::replace(&mut negated, matches!(text.as_str(), "!" | "-not"));
            match text.as_str() {
                "-name" | "-iname" | "-path" | "-wholename" | "-ipath" => {
                    let on = match text.as_str() {
                        "-name" => On::Name,
                        "-iname" => On::NameInAnyCase,
                        _ => On::Path,
                    };
                    let pattern = tests.next().map(|field| field.text()).unwrap_or_default();
                    let mut atoms = Field::default();
                    atoms.push_pattern(&if on == On::NameInAnyCase { pattern.to_lowercase() } else { pattern });
                    let tests = if was_negated { &mut search.left } else { &mut search.names };
                    tests.push((atoms.atoms, on));
                }
                "-o" | "-or" => search.together = Together::Any,
                "-type" => {
                    search.kind = tests.next().and_then(|field| field.text().chars().next()).filter(|_| !was_negated)
                }
                "-maxdepth" => {
                    search.depth_max = tests.next().and_then(|field| field.text().parse().ok()).unwrap_or(usize::MAX);
                }
                "-empty" if !was_negated => search.hits = Hits::OnlyEmpty,
                "-delete" => search.act = Act::Delete,
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let end = |field: &&Field| !matches!(field.text().as_str(), ";" | "+");
                    search.executes.push(tests.by_ref().take_while(end).cloned().collect());
                }
                _ => {}
            }
        }
        search
    }

    /// What it would hit. A search that names nothing hits its whole roots; so does one that begins outside.
    pub(super) fn hits(&self, walker: &Walker<'_>) -> Vec<String> {
        if self.hits == Hits::OnlyEmpty {
            return Vec::new();
        }
        let mut hits = Vec::new();
        for root in &self.roots {
            for spot in walker.world.spots(root, walker.state.cwd()) {
                let path = match spot {
                    Spot::Path(path) => path,
                    Spot::Contents(path) => {
                        hits.push(format!("{}/*", path.display()));
                        continue;
                    }
                    Spot::Unknown(..) => {
                        hits.push(root.shown());
                        continue;
                    }
                };
                let near = matches!(
                    walker.world.zone(&path),
                    Zone::Inside | Zone::Workspace | Zone::Temporary | Zone::TemporaryRoot
                ) && walker.world.workspace().parent() != Some(Path::new("/"));
                let narrow = self.names.iter().any(|(pattern, _)| {
                    pattern
                        .iter()
                        .any(|atom| matches!(atom, Atom::Text(text) if text.chars().any(char::is_alphanumeric)))
                });
                let within = path.starts_with(walker.world.workspace())
                    || walker.world.zone(&path) == Zone::Temporary
                    || walker.world.zone(&path) == Zone::TemporaryRoot;
                if near && narrow && within {
                    self.collect(walker, &path, &mut hits);
                } else if self.kind == Some('f') {
                    // Files alone: what is meant is everything in the root, not the root.
                    hits.push(format!("{}/*", path.display()));
                } else {
                    hits.push(path.display().to_string());
                }
            }
        }
        hits
    }

    /// Which of these paths it would hit, as far as names and the disk tell.
    pub(super) fn hits_among(&self, walker: &Walker<'_>, paths: &[PathBuf]) -> Vec<String> {
        let mut hits = Vec::new();
        for root in &self.roots {
            for spot in walker.world.spots(root, walker.state.cwd()) {
                let (Spot::Path(root) | Spot::Contents(root)) = spot else { continue };
                let hit = |path: &&PathBuf| {
                    let depth = path.strip_prefix(&root).map(|rest| rest.components().count());
                    depth.is_ok_and(|depth| depth <= self.depth_max)
                        && self.is_kind(path)
                        && self.fits(path, &root)
                        && !self.left.iter().any(|test| is_met(test, path, &root))
                };
                hits.extend(paths.iter().filter(hit).map(|path| path.display().to_string()));
            }
        }
        hits
    }

    /// Whether a path may be of the kind that is looked for; one that is not there may become anything.
    fn is_kind(&self, path: &Path) -> bool {
        let Ok(metadata) = path.symlink_metadata() else {
            return self.hits == Hits::Whatever && self.kind != Some('d');
        };
        let empty = if metadata.is_dir() {
            path.read_dir().is_ok_and(|mut entries| entries.next().is_none())
        } else {
            metadata.len() == 0
        };
        let kind = match self.kind {
            Some('f') => metadata.is_file(),
            Some('d') => metadata.is_dir(),
            Some('l') => metadata.is_symlink(),
            Some(_) | None => true,
        };
        kind && (empty || self.hits == Hits::Whatever)
    }

    fn collect(&self, walker: &Walker<'_>, root: &Path, hits: &mut Vec<String>) {
        let mut todo = vec![(root.to_owned(), 0_usize)];
        let mut seen = 0_usize;
        while let Some((path, depth)) = todo.pop() {
            seen += 1;
            if seen > ENTRIES_MAX || walker.world.look_once() == Budget::Spent {
                break;
            }
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let kind = match self.kind {
                Some('f') => metadata.is_file(),
                Some('d') => metadata.is_dir(),
                Some('l') => metadata.is_symlink(),
                Some(_) | None => true,
            };
            if kind && self.fits(&path, root) {
                hits.push(path.display().to_string());
                continue;
            }
            if metadata.is_dir() && depth < self.depth_max {
                let children = path.read_dir().into_iter().flatten().filter_map(|child| child.ok());
                todo.extend(children.map(|child| (child.path(), depth + 1)));
            }
        }
    }

    fn fits(&self, path: &Path, root: &Path) -> bool {
        match self.together {
            Together::Any => self.names.iter().any(|test| is_met(test, path, root)),
            Together::All => self.names.iter().all(|test| is_met(test, path, root)),
        }
    }
}

/// Whether a path passes a test of its name.
fn is_met((pattern, on): &(Vec<Atom>, On), path: &Path, root: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let below = path.strip_prefix(root).map(|rest| format!("./{}", rest.display())).unwrap_or_default();
    match on {
        On::Name => fits(pattern, &name),
        On::NameInAnyCase => fits(pattern, &name.to_lowercase()),
        On::Path => fits(pattern, &below) || fits(pattern, &path.display().to_string()),
    }
}
