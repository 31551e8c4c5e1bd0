//! `find`: which files a search would hit, as far as its tests can be followed; a test that cannot only widens it.
//!
//! The tests are read as the expression that they are: an action is reached where everything before it in its own
//! branch may be true and no branch before its own is sure to be.

use crate::line::call::Call;
use crate::line::field::{Atom, Field, fits};
use crate::site::Site;
use crate::world::{Budget, Spot, Zone};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most entries that a search looks at.
const ENTRIES_MAX: usize = 20_000;
/// Deepest nesting of brackets in an expression.
const DEPTH_MAX: usize = 32;
/// Tests and actions that take one value and are not followed.
const VALUED: [&str; 34] = [
    "-regex",
    "-iregex",
    "-lname",
    "-ilname",
    "-xtype",
    "-mindepth",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-size",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-samefile",
    "-fstype",
    "-used",
    "-regextype",
    "-printf",
    "-fprint",
    "-fprint0",
    "-fls",
    "-context",
    "-newermt",
    "-newerct",
];

/// A search.
pub(crate) struct Search {
    roots: Vec<Field>,
    expression: Node,
    depth_max: usize,
    links: Links,
    order: Order,
    /// What it does with what it finds, in the order of its words.
    pub(crate) actions: Vec<Action>,
}

/// Whether links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// `-L`
    Followed,
    Kept,
}

/// Whether a folder comes before what is in it: only then `-prune` keeps the search out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    FolderFirst,
    /// `-depth`
    FolderLast,
}

/// What a search does with what it finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    List,
    Delete,
    /// It runs this command.
    Execute(Vec<Field>),
}

/// A part of the expression.
#[derive(Debug, Clone)]
enum Node {
    Name(Vec<Atom>, On),
    Kind(char),
    Empty,
    Prune,
    Action(usize),
    /// A test that is not followed.
    Other,
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

/// What a name test looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Name,
    NameInAnyCase,
    Path,
}

/// Whether a test is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Truth {
    No,
    Maybe,
    Yes,
}

impl From<bool> for Truth {
    fn from(is: bool) -> Self {
        if is { Self::Yes } else { Self::No }
    }
}

impl Truth {
    const fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }
}

/// One entry while it is looked at.
struct Visit<'v> {
    path: &'v Path,
    root: &'v Path,
    reached: Vec<usize>,
    pruned: Truth,
}

impl Search {
    /// Reads the arguments of `find`.
    pub(crate) fn read(call: &Call) -> Self {
        let args = call.args.get(1..).unwrap_or_default();
        let starts_test = |field: &Field| {
            let text = field.text();
            (text.starts_with('-') && text.len() > 1) || matches!(text.as_str(), "!" | "(")
        };
        let options = |field: &&Field| matches!(field.text().as_str(), "-L" | "-H" | "-P");
        let followed = args.iter().take_while(options).any(|field| field.text() == "-L");
        let args: Vec<&Field> = args.iter().skip_while(options).collect();
        let roots: Vec<Field> =
            args.iter().take_while(|field| !starts_test(field)).map(|field| (*field).clone()).collect();
        let words: Vec<Field> = args.into_iter().skip(roots.len()).cloned().collect();
        let mut reader = ExpressionReader { words: words.into_iter(), actions: Vec::new(), depth_max: usize::MAX };
        let mut expression = reader.any(0);
        let mut actions = reader.actions;
        if actions.is_empty() {
            actions.push(Action::List);
            expression = Node::All(vec![expression, Node::Action(0)]);
        }
        let last = call.args.iter().any(|field| matches!(field.text().as_str(), "-depth" | "-d"));
        Self {
            roots: if roots.is_empty() { vec![Field::of(".")] } else { roots },
            expression,
            depth_max: reader.depth_max,
            links: if followed { Links::Followed } else { Links::Kept },
            order: if last { Order::FolderLast } else { Order::FolderFirst },
            actions,
        }
    }

    /// What it would list.
    pub(crate) fn listed(&self, site: &Site<'_>) -> Vec<String> {
        let lists = self.actions.iter().enumerate().filter(|(_, action)| **action == Action::List);
        lists.flat_map(|(number, _)| self.hits(site, number)).collect()
    }

    /// What one action would hit. One that names nothing hits its whole roots; so does one that begins outside.
    pub(crate) fn hits(&self, site: &Site<'_>, action: usize) -> Vec<String> {
        let mut needed = Vec::new();
        let _found = self.expression.needed(action, &mut needed);
        if needed.iter().any(|node| matches!(node, Node::Empty)) {
            return Vec::new(); // Nothing is lost with what is empty.
        }
        let narrow = needed.iter().any(|node| node.is_narrow());
        let files = needed.iter().any(|node| matches!(node, Node::Kind('f')));
        let mut hits = Vec::new();
        for root in &self.roots {
            for spot in site.world.spots(root, site.state.cwd()) {
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
                let zone = site.world.zone(&path);
                let near = matches!(zone, Zone::Inside | Zone::Workspace | Zone::Temporary | Zone::TemporaryRoot)
                    && site.world.workspace().parent() != Some(Path::new("/"));
                let within =
                    path.starts_with(site.world.workspace()) || matches!(zone, Zone::Temporary | Zone::TemporaryRoot);
                if near && narrow && within {
                    self.collect(site, &path, action, &mut hits);
                } else if files {
                    // Files alone: what is meant is everything in the root, not the root.
                    hits.push(format!("{}/*", path.display()));
                } else {
                    hits.push(path.display().to_string());
                }
            }
        }
        hits
    }

    /// Which of these paths an action would hit, as far as names and the disk tell.
    pub(crate) fn hits_among(&self, site: &Site<'_>, action: usize, paths: &[PathBuf]) -> Vec<String> {
        let mut hits = Vec::new();
        for root in &self.roots {
            for spot in site.world.spots(root, site.state.cwd()) {
                let (Spot::Path(root) | Spot::Contents(root)) = spot else { continue };
                let hit = |path: &&PathBuf| {
                    let depth = path.strip_prefix(&root).map(|rest| rest.components().count());
                    depth.is_ok_and(|depth| depth <= self.depth_max)
                        && self.visit(path, &root).reached.contains(&action)
                };
                hits.extend(paths.iter().filter(hit).map(|path| path.display().to_string()));
            }
        }
        hits
    }

    fn visit<'v>(&self, path: &'v Path, root: &'v Path) -> Visit<'v> {
        let mut visit = Visit { path, root, reached: Vec::new(), pruned: Truth::No };
        let _truth = self.expression.look(&mut visit, Truth::Yes);
        visit
    }

    fn collect(&self, site: &Site<'_>, root: &Path, action: usize, hits: &mut Vec<String>) {
        let mut todo = vec![(root.to_owned(), 0_usize)];
        let mut entered = BTreeSet::new();
        let mut seen = 0_usize;
        while let Some((path, depth)) = todo.pop() {
            seen += 1;
            if seen > ENTRIES_MAX || site.world.look_once() == Budget::Spent {
                break;
            }
            let metadata = if self.links == Links::Followed { path.metadata() } else { path.symlink_metadata() };
            let Ok(metadata) = metadata else { continue };
            let visit = self.visit(&path, root);
            if visit.reached.contains(&action) {
                hits.push(path.display().to_string());
                continue;
            }
            let kept_out = visit.pruned == Truth::Yes && self.order == Order::FolderFirst;
            let first_time = self.links == Links::Kept
                || path.canonicalize().is_ok_and(|real| metadata.is_dir() && entered.insert(real));
            if metadata.is_dir() && depth < self.depth_max && !kept_out && first_time {
                let children = path.read_dir().into_iter().flatten().filter_map(|child| child.ok());
                todo.extend(children.map(|child| (child.path(), depth + 1)));
            }
        }
    }
}

impl Node {
    /// Whether it is true for an entry; notes the actions that it reaches. `so_far` is what was true on the way here.
    fn look(&self, visit: &mut Visit<'_>, so_far: Truth) -> Truth {
        match self {
            Self::Name(pattern, on) => Truth::from(is_met(pattern, *on, visit.path, visit.root)),
            Self::Kind(kind) => is_kind(visit.path, *kind),
            Self::Empty => is_empty(visit.path),
            Self::Prune => {
                visit.pruned = visit.pruned.max(so_far);
                Truth::Yes
            }
            Self::Action(number) => {
                visit.reached.push(*number);
                Truth::Maybe
            }
            Self::Other => Truth::Maybe,
            Self::Not(inner) => inner.look(visit, so_far).not(),
            Self::All(parts) => {
                let mut truth = Truth::Yes;
                for part in parts {
                    truth = truth.min(part.look(visit, so_far.min(truth)));
                    if truth == Truth::No {
                        break;
                    }
                }
                truth
            }
            Self::Any(parts) => {
                let mut truth = Truth::No;
                for part in parts {
                    truth = truth.max(part.look(visit, so_far.min(truth.not())));
                    if truth == Truth::Yes {
                        break;
                    }
                }
                truth
            }
        }
    }

    /// What must be true before an action is reached; true if the action is in here.
    fn needed<'n>(&'n self, action: usize, out: &mut Vec<&'n Self>) -> bool {
        match self {
            Self::Action(number) => *number == action,
            Self::Not(inner) => inner.needed(action, out),
            Self::Any(parts) => parts.iter().any(|part| part.needed(action, out)),
            Self::All(parts) => {
                let mut before = Vec::new();
                for part in parts {
                    if part.needed(action, out) {
                        out.append(&mut before);
                        return true;
                    }
                    before.push(part);
                }
                false
            }
            Self::Name(..) | Self::Kind(_) | Self::Empty | Self::Prune | Self::Other => false,
        }
    }

    /// Whether only entries of certain names meet it.
    fn is_narrow(&self) -> bool {
        match self {
            Self::Name(pattern, _) => {
                pattern.iter().any(|atom| matches!(atom, Atom::Text(text) if text.chars().any(char::is_alphanumeric)))
            }
            Self::All(parts) => parts.iter().any(Self::is_narrow),
            Self::Any(parts) => !parts.is_empty() && parts.iter().all(Self::is_narrow),
            Self::Kind(_) | Self::Empty | Self::Prune | Self::Action(_) | Self::Other | Self::Not(_) => false,
        }
    }
}

/// Reads the words of an expression.
struct ExpressionReader {
    words: std::vec::IntoIter<Field>,
    actions: Vec<Action>,
    depth_max: usize,
}

impl ExpressionReader {
    /// Branches with `-o` between them, up to a closing bracket or the end.
    fn any(&mut self, depth: usize) -> Node {
        let mut branches = Vec::new();
        let mut branch = Vec::new();
        let mut negated = false;
        while let Some(field) = self.words.next() {
            let node = match field.text().as_str() {
                "(" if depth < DEPTH_MAX => self.any(depth + 1),
                ")" => break,
                "-o" | "-or" | "," => {
                    branches.push(Node::All(std::mem::take(&mut branch)));
                    continue;
                }
                "!" | "-not" => {
                    negated = !negated;
                    continue;
                }
                "-a" | "-and" => continue,
                text => match self.test(text) {
                    Some(node) => node,
                    None => continue,
                },
            };
            branch.push(if std::mem::take(&mut negated) { Node::Not(Box::new(node)) } else { node });
        }
        branches.push(Node::All(branch));
        if branches.len() == 1 { branches.remove(0) } else { Node::Any(branches) }
    }

    /// One test or action; nothing for an option that is true everywhere.
    fn test(&mut self, text: &str) -> Option<Node> {
        Some(match text {
            "-name" => self.name(On::Name),
            "-iname" => self.name(On::NameInAnyCase),
            "-path" | "-wholename" | "-ipath" | "-iwholename" => self.name(On::Path),
            "-type" => Node::Kind(self.value().chars().next().unwrap_or_default()),
            "-empty" => Node::Empty,
            "-prune" => Node::Prune,
            "-true" | "-depth" | "-d" | "-xdev" | "-mount" | "-daystart" | "-noleaf" => return None,
            "-maxdepth" => {
                self.depth_max = self.value().parse().unwrap_or(usize::MAX);
                return None;
            }
            "-delete" => self.action(Action::Delete),
            "-print" | "-print0" | "-ls" => self.action(Action::List),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let end = |field: &Field| !matches!(field.text().as_str(), ";" | "+");
                let command = self.words.by_ref().take_while(end).collect();
                self.action(Action::Execute(command))
            }
            "-printf" => {
                let _format = self.value();
                self.action(Action::List)
            }
            valued if VALUED.contains(&valued) => {
                let _value = self.value();
                Node::Other
            }
            other if other.starts_with('-') => Node::Other,
            _ => return None,
        })
    }

    fn value(&mut self) -> String {
        self.words.next().map(|field| field.text()).unwrap_or_default()
    }

    fn name(&mut self, on: On) -> Node {
        let pattern = self.value();
        let mut atoms = Field::default();
        atoms.push_pattern(&if on == On::NameInAnyCase { pattern.to_lowercase() } else { pattern });
        Node::Name(atoms.atoms, on)
    }

    fn action(&mut self, action: Action) -> Node {
        self.actions.push(action);
        Node::Action(self.actions.len() - 1)
    }
}

/// Whether a path may be of a kind; one that is not there may become any file.
fn is_kind(path: &Path, kind: char) -> Truth {
    let Ok(metadata) = path.symlink_metadata() else {
        return if kind == 'd' { Truth::No } else { Truth::Maybe };
    };
    match kind {
        'f' => Truth::from(metadata.is_file()),
        'd' => Truth::from(metadata.is_dir()),
        'l' => Truth::from(metadata.is_symlink()),
        _ => Truth::Maybe,
    }
}

fn is_empty(path: &Path) -> Truth {
    let Ok(metadata) = path.symlink_metadata() else { return Truth::No };
    Truth::from(if metadata.is_dir() {
        path.read_dir().is_ok_and(|mut entries| entries.next().is_none())
    } else {
        metadata.len() == 0
    })
}

/// Whether a path passes a test of its name.
fn is_met(pattern: &[Atom], on: On, path: &Path, root: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let below = path.strip_prefix(root).map(|rest| format!("./{}", rest.display())).unwrap_or_default();
    match on {
        On::Name => fits(pattern, &name),
        On::NameInAnyCase => fits(pattern, &name.to_lowercase()),
        On::Path => fits(pattern, &below) || fits(pattern, &path.display().to_string()),
    }
}
