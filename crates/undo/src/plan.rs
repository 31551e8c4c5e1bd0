//! What taking steps back would do, path by path: three ways are compared, and what a person changed since stays.

use crate::diff::{self, Delta};
use crate::error::UndoError;
use crate::history::{History, Owner};
use crate::node::{Entry, Node, Uncovered};
use crate::objects::Objects;
use crate::paths::path_of;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use tripwire_core::record::chain::Digest;

/// Which steps are to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The last step of the session that changed files.
    Last,
    /// This step and all later ones of the session.
    From(u64),
    /// All steps of the session.
    All,
    /// The newest act that took something back and was not taken back itself.
    LastAct,
}

/// A path that would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// Its bytes below the root.
    pub(crate) path: Vec<u8>,
    pub(crate) from: Option<Node>,
    pub(crate) to: Option<Node>,
}

impl PathChange {
    /// Where, below the root.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        path_of(&self.path)
    }

    /// What becomes of it.
    #[must_use]
    pub const fn words(&self) -> &'static str {
        match (&self.from, &self.to) {
            (None, _) => "brought back",
            (Some(_), None) => "removed",
            (Some(_), Some(_)) => "set back",
        }
    }
}

/// A path that a person changed since: it stays as it is, and what it would have become is put beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub(crate) path: Vec<u8>,
    pub(crate) wanted: Option<Node>,
}

impl Conflict {
    /// Where, below the root.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        path_of(&self.path)
    }
}

/// What taking steps back would do.
#[derive(Debug, Default)]
pub struct Plan {
    /// The session.
    pub session: String,
    /// The steps that are taken back.
    pub steps: Vec<u64>,
    /// What changes.
    pub changes: Vec<PathChange>,
    /// What a person changed since, and so stays.
    pub conflicts: Vec<Conflict>,
    /// What cannot be brought back, and why.
    pub lost: Vec<(PathBuf, Uncovered)>,
    /// Repositories whose own files stay as they are.
    pub repositories: Vec<PathBuf>,
    /// Steps whose end was never reported.
    pub unended: Vec<u64>,
    pub(crate) redoes: Option<u64>,
    pub(crate) only: Vec<String>,
    /// The folder that the plan was made for.
    pub(crate) now: Option<Digest>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) session: &'a str,
    pub(crate) selection: &'a Selection,
    /// Only these paths and what is below them; all if empty.
    pub(crate) only: &'a [String],
}

/// Makes the plan for a folder that looks like this now.
pub(crate) fn make(
    objects: &Objects,
    history: &History,
    now: Digest,
    question: Question<'_>,
) -> Result<Plan, UndoError> {
    let mut intervals: Vec<Owned> = Vec::new();
    for interval in &history.intervals {
        intervals.push(Owned { from: interval.from, to: interval.to, owners: interval.owners.clone() });
    }
    if let Some(from) = history.newest.filter(|from| *from != now) {
        intervals.push(Owned { from, to: now, owners: history.open_now() });
    }
    let mut deltas = Deltas { objects, known: BTreeMap::new() };
    let (wanted, mut plan) = select(history, &intervals, &mut deltas, question)?;
    plan.only = question.only.to_vec();
    plan.now = Some(now);
    let mut states: BTreeMap<Vec<u8>, Way> = BTreeMap::new();
    for (at, interval) in intervals.iter().enumerate().rev() {
        if !interval.owners.iter().any(|(owner, _)| wanted.contains(owner)) {
            continue;
        }
        for delta in deltas.of(at, interval)? {
            if !interval.is_of(&wanted, &delta.path) || !is_asked(question.only, &delta.path) {
                continue;
            }
            let way = match states.get_mut(&delta.path) {
                Some(way) => way,
                None => {
                    let node = diff::lookup(objects, &now, &delta.path)?.map(Node::alone);
                    states.entry(delta.path.clone()).or_insert(Way { now: node, to: node, conflict: false })
                }
            };
            // Someone else changed it behind this step: their version stays.
            way.conflict = way.conflict || way.to != delta.new;
            way.to = delta.old;
        }
    }
    sort_out(objects, now, states, &mut plan)?;
    Ok(plan)
}

/// The way of one path back.
struct Way {
    now: Option<Node>,
    to: Option<Node>,
    conflict: bool,
}

/// An interval with its owners.
struct Owned {
    from: Digest,
    to: Digest,
    owners: Vec<(Owner, Option<Vec<String>>)>,
}

impl Owned {
    /// Whether a change of this path was made by one of these, and by none that named it.
    fn is_of(&self, wanted: &BTreeSet<Owner>, path: &[u8]) -> bool {
        let names = |paths: &[String]| {
            paths.iter().any(|named| is_below(path, named.as_bytes()) || is_below(named.as_bytes(), path))
        };
        let named = self.owners.iter().filter(|(_, paths)| paths.as_deref().is_some_and(names));
        let named: Vec<&Owner> = named.map(|(owner, _)| owner).collect();
        if !named.is_empty() {
            return named.iter().any(|owner| wanted.contains(*owner));
        }
        let mut free = self.owners.iter().filter(|(_, paths)| paths.is_none());
        free.any(|(owner, _)| wanted.contains(owner))
    }
}

/// The deltas of intervals, each read once.
struct Deltas<'a> {
    objects: &'a Objects,
    known: BTreeMap<usize, Vec<Delta>>,
}

impl Deltas<'_> {
    fn of(&mut self, at: usize, interval: &Owned) -> Result<Vec<Delta>, UndoError> {
        if let Some(known) = self.known.get(&at) {
            return Ok(known.clone());
        }
        let deltas = diff::between(self.objects, &interval.from, &interval.to)?;
        self.known.insert(at, deltas.clone());
        Ok(deltas)
    }
}

fn select(
    history: &History,
    intervals: &[Owned],
    deltas: &mut Deltas<'_>,
    question: Question<'_>,
) -> Result<(BTreeSet<Owner>, Plan), UndoError> {
    let Question { session, selection, only } = question;
    let mut plan = Plan { session: session.to_owned(), ..Plan::default() };
    let owner = |step: u64| Owner::Step { session: session.to_owned(), step };
    let candidates =
        history.steps.iter().filter(|step| step.session == session && !step.undone && step.missing.is_none());
    let candidates: Vec<_> = candidates.collect();
    match selection {
        Selection::LastAct => {
            let open = |act: &&crate::history::TakenBack| {
                act.act.session == session && act.act.redoes.is_none() && !act.redone
            };
            let act = history.acts.iter().rfind(open).ok_or(UndoError::Nothing { why: "there is nothing to redo" })?;
            plan.redoes = Some(act.number);
            plan.steps = act.act.steps.clone();
            return Ok((BTreeSet::from([Owner::Act(act.number)]), plan));
        }
        Selection::Last => {
            for step in candidates.iter().rev() {
                if changed_files(intervals, deltas, &owner(step.step), only)? {
                    plan.steps = vec![step.step];
                    break;
                }
            }
            if plan.steps.is_empty() {
                return Err(UndoError::Nothing { why: "no step of this session changed a file that is still changed" });
            }
        }
        Selection::From(first) => {
            history.step(session, *first)?;
            plan.steps = candidates.iter().filter(|step| step.step >= *first).map(|step| step.step).collect();
        }
        Selection::All => plan.steps = candidates.iter().map(|step| step.step).collect(),
    }
    let taken: BTreeSet<u64> = plan.steps.iter().copied().collect();
    let unended = candidates.iter().filter(|step| taken.contains(&step.step) && !step.is_ended());
    plan.unended = unended.map(|step| step.step).collect();
    Ok((plan.steps.iter().map(|step| owner(*step)).collect(), plan))
}

/// Whether a step changed something that could be taken back.
fn changed_files(
    intervals: &[Owned],
    deltas: &mut Deltas<'_>,
    owner: &Owner,
    only: &[String],
) -> Result<bool, UndoError> {
    let wanted = BTreeSet::from([owner.clone()]);
    for (at, interval) in intervals.iter().enumerate() {
        if !interval.owners.iter().any(|(known, _)| known == owner) {
            continue;
        }
        let of_step =
            |delta: &Delta| interval.is_of(&wanted, &delta.path) && is_asked(only, &delta.path) && !is_git_only(delta);
        if deltas.of(at, interval)?.iter().any(of_step) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A change inside of a repository's own folder that is no removal: git's own bookkeeping.
fn is_git_only(delta: &Delta) -> bool {
    repository_of(&delta.path).is_some() && delta.new.is_some()
}

/// Sorts the ways out: what is done, what a person changed, what is not kept, what is git's own.
fn sort_out(objects: &Objects, now: Digest, states: BTreeMap<Vec<u8>, Way>, plan: &mut Plan) -> Result<(), UndoError> {
    let mut repositories: BTreeMap<Vec<u8>, bool> = BTreeMap::new();
    for (path, Way { now: at_hand, to, conflict }) in states {
        if let Some(repository) = repository_of(&path) {
            let gone = match repositories.get(repository) {
                Some(gone) => *gone,
                None => {
                    let head = [repository, b"/HEAD"].concat();
                    let gone = diff::lookup(objects, &now, &head)?.is_none();
                    repositories.insert(repository.to_vec(), gone);
                    gone
                }
            };
            if !gone || at_hand.is_some() {
                // Index, refs, hooks and settings of a repository that works are its user's.
                if !gone && at_hand != to {
                    plan.repositories.push(path_of(repository));
                }
                continue;
            }
        }
        if at_hand == to {
            continue;
        }
        if let Some(Node { entry: Entry::Unsaved { why, .. }, .. }) = to {
            plan.lost.push((path_of(&path), why));
        } else if let Some(Node { entry: Entry::Unsaved { why, .. }, .. }) = at_hand {
            // Removing it could not be undone.
            plan.lost.push((path_of(&path), why));
        } else if conflict {
            plan.conflicts.push(Conflict { path, wanted: to });
        } else {
            plan.changes.push(PathChange { path, from: at_hand, to });
        }
    }
    plan.repositories.dedup();
    Ok(())
}

/// The repository's own folder that a path is in or is.
fn repository_of(path: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    for name in path.split(|byte| *byte == b'/') {
        end += name.len();
        if name == b".git" {
            return path.get(..end);
        }
        end += 1;
    }
    None
}

fn is_asked(only: &[String], path: &[u8]) -> bool {
    only.is_empty() || only.iter().any(|wanted| is_below(path, wanted.as_bytes()))
}

/// Whether a path is another one or lies below it.
fn is_below(path: &[u8], other: &[u8]) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/') || other.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_2_a_repository_is_known_by_its_folder_wherever_it_is() {
        assert_eq!(repository_of(b".git/HEAD"), Some(&b".git"[..]));
        assert_eq!(repository_of(b"a/.git/refs/x"), Some(&b"a/.git"[..]));
        assert_eq!(repository_of(b"a/.git"), Some(&b"a/.git"[..]));
        assert_eq!(repository_of(b"a/.github/x"), None);
        assert_eq!(repository_of(b".gitignore"), None);
    }

    #[test]
    fn undo_2_a_folder_holds_what_is_below_it_and_no_neighbour() {
        assert!(is_below(b"a/b", b"a") && is_below(b"a", b"a"));
        assert!(!is_below(b"ab", b"a") && !is_below(b"a", b"a/b"));
    }
}
