//! `find`: which files a search would hit, as far as its tests can be followed; a test that cannot only widens it.
//!
//! The tests are read as the expression that they are: an action is reached where everything before it in its own
//! branch may be true and no branch before its own is sure to be.

mod expression;
pub(crate) mod regex;

pub(crate) use self::expression::Action;
use self::expression::{ExpressionReader, Links, Node, Root, Truth, Visit};
use crate::line::call::Call;
use crate::line::field::Field;
use crate::names::{Whole, has_glob};
use crate::site::Site;
use crate::world::{Budget, Spot, Zone};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most entries that a search looks at.
const ENTRIES_MAX: usize = 20_000;
/// Most entries that are looked at to list files of any name.
const LISTED_MAX: usize = 1_000;

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

/// Whether a folder comes before what is in it: only then `-prune` keeps the search out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    FolderFirst,
    /// `-depth`, or `-delete`, which brings it along; GNU's `find` then refuses a `-prune`, others pass over it.
    FolderLast,
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
        let mut reader = ExpressionReader::of(words);
        let mut expression = reader.any(0);
        let mut actions = reader.actions;
        if actions.is_empty() {
            actions.push(Action::List);
            expression = Node::All(vec![expression, Node::Action(0)]);
        }
        let last = call.args.iter().any(|field| matches!(field.text().as_str(), "-depth" | "-d" | "-delete"));
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
        let files = needed.iter().any(|node| node.asks_for_files());
        let lists = self.actions.get(action) == Some(&Action::List);
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
                // What goes through a pipe is named one by one, where there is little to look at.
                let most = match (narrow, files && lists) {
                    (true, _) => ENTRIES_MAX,
                    (false, true) => LISTED_MAX,
                    (false, false) => 0,
                };
                let (found, whole) = if near && within {
                    self.collect(site, &start(site, root, &path), action, most)
                } else {
                    (Vec::new(), Whole::Cut)
                };
                match (whole, narrow && near && within, files) {
                    (Whole::All, ..) | (Whole::Cut, true, _) => hits.extend(found),
                    // Files alone: what is meant is everything in the root, not the root.
                    (Whole::Cut, false, true) => hits.push(format!("{}/*", path.display())),
                    (Whole::Cut, false, false) => hits.push(path.display().to_string()),
                }
            }
        }
        hits
    }

    /// Which of these paths an action would hit, as far as names and the disk tell. One that is not there is hit only by a
    /// search that asks for its name: it may be there when the search begins.
    pub(crate) fn hits_among(&self, site: &Site<'_>, action: usize, paths: &[PathBuf]) -> Vec<String> {
        let mut needed = Vec::new();
        let _found = self.expression.needed(action, &mut needed);
        let by_name = needed.iter().any(|node| node.asks_for_name());
        let mut hits = Vec::new();
        for root in &self.roots {
            for spot in site.world.spots(root, site.state.cwd()) {
                let (Spot::Path(path) | Spot::Contents(path)) = spot else { continue };
                let root = start(site, root, &path);
                let hit = |path: &&PathBuf| {
                    let depth = path.strip_prefix(&root.path).map(|rest| rest.components().count());
                    depth.is_ok_and(|depth| depth <= self.depth_max)
                        && (by_name || path.symlink_metadata().is_ok())
                        && !self.stays_out(path, &root)
                        && self.visit(path, &root).reached.contains(&action)
                };
                hits.extend(paths.iter().filter(hit).map(|path| path.display().to_string()));
            }
        }
        hits
    }

    /// Whether a folder between the root and a path is pruned.
    fn stays_out(&self, path: &Path, root: &Root) -> bool {
        let mut folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&root.path));
        self.order == Order::FolderFirst && folders.any(|folder| self.visit(folder, root).pruned == Truth::Yes)
    }

    fn visit<'v>(&self, path: &'v Path, root: &'v Root) -> Visit<'v> {
        let mut visit = Visit { path, root, reached: Vec::new(), pruned: Truth::No };
        let _truth = self.expression.look(&mut visit, Truth::Yes);
        visit
    }

    /// What an action hits below a root, and whether so many entries were enough to see it all.
    fn collect(&self, site: &Site<'_>, root: &Root, action: usize, most: usize) -> (Vec<String>, Whole) {
        let mut hits = Vec::new();
        let mut todo = vec![(root.path.clone(), 0_usize)];
        let mut entered = BTreeSet::new();
        let mut seen = 0_usize;
        while let Some((path, depth)) = todo.pop() {
            seen += 1;
            if seen > most || site.world.look_once() == Budget::Spent {
                return (hits, Whole::Cut);
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
        hits.sort();
        (hits, Whole::All)
    }
}

/// A root that a line names. Of a pattern the shell writes the names that it fits.
fn start(site: &Site<'_>, field: &Field, path: &Path) -> Root {
    let seen = || site.state.cwd().and_then(|cwd| path.strip_prefix(cwd).ok()).unwrap_or(path).display().to_string();
    let written = field.known().filter(|_| !has_glob(&field.atoms)).unwrap_or_else(seen);
    Root { path: path.to_owned(), written }
}
