//! The expression of a search: its tests and actions, and for which entries they are true.

use super::regex::{self, Syntax};
use crate::line::field::{Atom, Field, fits};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Deepest nesting of brackets in an expression.
const DEPTH_MAX: usize = 32;
/// Tests and actions that take one value and are not followed.
const VALUED: [&str; 29] = [
    "-lname",
    "-ilname",
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
    "-printf",
    "-fprint",
    "-fprint0",
    "-fls",
    "-context",
    "-newermt",
    "-newerct",
];

/// Whether links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// `-L`
    Followed,
    Kept,
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
pub(super) enum Node {
    Name(Vec<Atom>, On),
    /// `-type`, or `-xtype`, which asks for the kind of what a link leads to.
    Kind(char, Links),
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
pub(super) enum On {
    Name,
    NameInAnyCase,
    Path,
    PathInAnyCase,
}

/// Whether a test is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
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

/// Where a search begins, and how its line writes that: the names that a search tests begin so, wherever it is on the disk.
pub(super) struct Root {
    pub(super) path: PathBuf,
    pub(super) written: String,
}

/// One entry while it is looked at.
pub(super) struct Visit<'v> {
    pub(super) path: &'v Path,
    pub(super) root: &'v Root,
    pub(super) reached: Vec<usize>,
    pub(super) pruned: Truth,
}

impl Node {
    /// Whether it is true for an entry; notes the actions that it reaches. `so_far` is what was true on the way here.
    pub(super) fn look(&self, visit: &mut Visit<'_>, so_far: Truth) -> Truth {
        match self {
            Self::Name(pattern, on) => Truth::from(is_met(pattern, *on, visit.path, visit.root)),
            Self::Kind(kind, links) => is_kind(visit.path, *kind, *links),
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
    pub(super) fn needed<'n>(&'n self, action: usize, out: &mut Vec<&'n Self>) -> bool {
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
            Self::Name(..) | Self::Kind(..) | Self::Empty | Self::Prune | Self::Other => false,
        }
    }

    /// Whether only files meet it.
    pub(super) fn asks_for_files(&self) -> bool {
        match self {
            Self::Kind(kind, _) => *kind == 'f',
            Self::All(parts) => parts.iter().any(Self::asks_for_files),
            Self::Any(parts) => !parts.is_empty() && parts.iter().all(Self::asks_for_files),
            Self::Name(..) | Self::Empty | Self::Prune | Self::Action(_) | Self::Other | Self::Not(_) => false,
        }
    }

    /// Whether it is a test of the name.
    pub(super) fn asks_for_name(&self) -> bool {
        match self {
            Self::Name(..) => self.is_narrow(),
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::asks_for_name),
            Self::Kind(..) | Self::Empty | Self::Prune | Self::Action(_) | Self::Other | Self::Not(_) => false,
        }
    }

    /// Whether only entries of certain names meet it, or links and the like, of which there are few.
    pub(super) fn is_narrow(&self) -> bool {
        match self {
            Self::Name(pattern, _) => pattern.iter().any(|atom| match atom {
                Atom::Text(text) => !text.is_empty(),
                Atom::Glob(wildcard) => !matches!(wildcard.as_str(), "*" | "?"),
                Atom::Unknown(..) | Atom::StandIn(_) => false,
            }),
            Self::Kind(kind, _) => !matches!(kind, 'f' | 'd'),
            Self::All(parts) => parts.iter().any(Self::is_narrow),
            Self::Any(parts) => !parts.is_empty() && parts.iter().all(Self::is_narrow),
            Self::Empty | Self::Prune | Self::Action(_) | Self::Other | Self::Not(_) => false,
        }
    }
}

/// Reads the words of an expression.
pub(super) struct ExpressionReader {
    words: std::vec::IntoIter<Field>,
    pub(super) actions: Vec<Action>,
    pub(super) depth_max: usize,
    syntax: Syntax,
}

impl ExpressionReader {
    /// Reads these words.
    pub(super) fn of(words: Vec<Field>) -> Self {
        Self { words: words.into_iter(), actions: Vec::new(), depth_max: usize::MAX, syntax: Syntax::Emacs }
    }

    /// Branches with `-o` between them, up to a closing bracket or the end.
    pub(super) fn any(&mut self, depth: usize) -> Node {
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
            "-path" | "-wholename" => self.name(On::Path),
            "-ipath" | "-iwholename" => self.name(On::PathInAnyCase),
            "-type" => self.kinds(Links::Kept),
            "-xtype" => self.kinds(Links::Followed),
            "-regex" | "-iregex" => self.expression(text),
            "-regextype" => {
                let emacs = matches!(self.value().as_str(), "emacs" | "findutils-default");
                self.syntax = if emacs { Syntax::Emacs } else { Syntax::Extended };
                return None;
            }
            "-size" => self.size(),
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
        let any_case = matches!(on, On::NameInAnyCase | On::PathInAnyCase);
        let pattern = if any_case { pattern.to_lowercase() } else { pattern };
        Node::Name(Field::of_pattern(&pattern).atoms, on)
    }

    /// `-type f,l`
    fn kinds(&mut self, links: Links) -> Node {
        let kinds = self.value();
        let mut nodes: Vec<Node> =
            kinds.split(',').map(|kind| Node::Kind(kind.chars().next().unwrap_or_default(), links)).collect();
        if nodes.len() == 1 { nodes.remove(0) } else { Node::Any(nodes) }
    }

    fn expression(&mut self, test: &str) -> Node {
        let value = self.value();
        let any_case = test == "-iregex";
        let value = if any_case { value.to_lowercase() } else { value };
        let Some(patterns) = regex::patterns(&value, self.syntax) else { return Node::Other };
        let on = if any_case { On::PathInAnyCase } else { On::Path };
        let node = |pattern: &String| Node::Name(Field::of_pattern(pattern).atoms, on);
        Node::Any(patterns.iter().map(node).collect())
    }

    /// `-size 0` and `-size -1`: nothing is in it. Other sizes are not followed; `-1M` is all below a megabyte on a Mac.
    fn size(&mut self) -> Node {
        let value = self.value();
        let number = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        if number == "0" || matches!(value.as_str(), "-1" | "-1c") { Node::Empty } else { Node::Other }
    }

    fn action(&mut self, action: Action) -> Node {
        self.actions.push(action);
        Node::Action(self.actions.len() - 1)
    }
}

/// Whether a path may be of a kind; one that is not there may become any file.
fn is_kind(path: &Path, kind: char, links: Links) -> Truth {
    let Ok(own) = path.symlink_metadata() else {
        return if kind == 'd' { Truth::No } else { Truth::Maybe };
    };
    // A link that leads nowhere stays a link.
    let metadata = if links == Links::Followed { path.metadata().unwrap_or(own) } else { own };
    let kind_of = metadata.file_type();
    match kind {
        'f' => Truth::from(kind_of.is_file()),
        'd' => Truth::from(kind_of.is_dir()),
        'l' => Truth::from(kind_of.is_symlink()),
        's' => Truth::from(kind_of.is_socket()),
        'p' => Truth::from(kind_of.is_fifo()),
        'b' => Truth::from(kind_of.is_block_device()),
        'c' => Truth::from(kind_of.is_char_device()),
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
fn is_met(pattern: &[Atom], on: On, path: &Path, root: &Root) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let below = match path.strip_prefix(&root.path) {
        Ok(rest) if rest.as_os_str().is_empty() => root.written.clone(),
        Ok(rest) => format!("{}/{}", root.written.trim_end_matches('/'), rest.display()),
        Err(_) => path.display().to_string(),
    };
    match on {
        On::Name => fits(pattern, &name),
        On::NameInAnyCase => fits(pattern, &name.to_lowercase()),
        On::Path => fits(pattern, &below),
        On::PathInAnyCase => fits(pattern, &below.to_lowercase()),
    }
}
