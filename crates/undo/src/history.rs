//! Whose each change was: what changed between two neighbouring snapshots belongs to the steps that ran then, and to a
//! person where none did.

use crate::error::UndoError;
use crate::log::{Act, Record, StepMark, TakingBack};
use std::collections::BTreeSet;
use tripwire_core::record::chain::Digest;

/// Who may have made a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A step of a session.
    Step { session: String, step: u64 },
    /// An act that took something back.
    Act(u64),
}

/// What changed between two neighbouring snapshots.
#[derive(Debug, Clone)]
pub(crate) struct Interval {
    pub(crate) from: Digest,
    pub(crate) to: Digest,
    /// Who ran then, with the only paths that it changes, where it named them all.
    pub(crate) owners: Vec<(Owner, Option<Vec<String>>)>,
}

/// A step of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSummary {
    /// Its session.
    pub session: String,
    /// Its number, which is that of the decision that let it pass.
    pub step: u64,
    /// When it began, in milliseconds since 1970.
    pub at_ms: u64,
    /// The call in a few words.
    pub label: String,
    /// Whether it was taken back and not brought back since.
    pub undone: bool,
    /// Why it cannot be taken back, if so.
    pub missing: Option<String>,
    /// The folder before it.
    pub(crate) before: Option<Digest>,
    /// The folder when its end was reported.
    pub(crate) after: Option<Digest>,
}

impl StepSummary {
    /// Whether something changed until its end was reported.
    #[must_use]
    pub fn changed_files(&self) -> bool {
        self.after.is_some() && self.before != self.after
    }

    /// Whether its end was reported.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        self.after.is_some()
    }
}

/// An act that took something back.
#[derive(Debug, Clone)]
pub(crate) struct TakenBack {
    pub(crate) number: u64,
    pub(crate) act: TakingBack,
    /// Whether it was itself taken back.
    pub(crate) redone: bool,
}

/// All snapshots of a folder, in order.
#[derive(Debug, Default)]
pub struct History {
    pub(crate) intervals: Vec<Interval>,
    pub(crate) steps: Vec<StepSummary>,
    pub(crate) acts: Vec<TakenBack>,
    /// The folder when each session began.
    pub(crate) begins: Vec<(String, Digest)>,
    /// The newest snapshot.
    pub(crate) newest: Option<Digest>,
    open: Vec<OpenStep>,
    open_act: Option<u64>,
}

/// A step whose end is not known yet.
#[derive(Debug)]
struct OpenStep {
    mark: StepMark,
    at: usize,
}

impl History {
    /// Reads the list of snapshots.
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut history = Self::default();
        for record in records {
            history.take(record);
        }
        history
    }

    /// The steps, oldest first.
    #[must_use]
    pub fn steps(&self) -> &[StepSummary] {
        &self.steps
    }

    /// The step of a session with exactly this number.
    ///
    /// # Errors
    /// When there is none; the error names those beside it.
    pub fn step(&self, session: &str, number: u64) -> Result<&StepSummary, UndoError> {
        let of_session = || self.steps.iter().filter(|step| step.session == session);
        of_session().find(|step| step.step == number).ok_or_else(|| {
            let before = of_session().map(|step| step.step).filter(|step| *step < number).max();
            let after = of_session().map(|step| step.step).filter(|step| *step > number).min();
            let nearest = before.into_iter().chain(after).collect();
            UndoError::NoStep { step: number, session: session.to_owned(), nearest }
        })
    }

    /// The session of the newest step, else the one that began last.
    #[must_use]
    pub fn newest_session(&self) -> Option<&str> {
        let step = self.steps.last().map(|step| step.session.as_str());
        step.or_else(|| self.begins.last().map(|(session, _)| session.as_str()))
    }

    /// The owners of a change that happens now.
    pub(crate) fn open_now(&self) -> Vec<(Owner, Option<Vec<String>>)> {
        // Taking something back is over in a moment, and what changes in it is its own.
        if let Some(act) = self.open_act {
            return vec![(Owner::Act(act), None)];
        }
        let step = |open: &OpenStep| {
            let owner = Owner::Step { session: open.mark.session.clone(), step: open.mark.step };
            (owner, open.mark.paths.clone())
        };
        self.open.iter().map(step).collect()
    }

    fn take(&mut self, record: &Record) {
        if let Some(tree) = record.tree {
            if let Some(from) = self.newest.filter(|from| *from != tree) {
                self.intervals.push(Interval { from, to: tree, owners: self.open_now() });
            }
            self.newest = Some(tree);
        }
        match &record.act {
            Act::Begin { session } => {
                self.open.retain(|open| open.mark.session != *session);
                self.open_act = None;
                if let Some(tree) = record.tree.filter(|_| !self.begins.iter().any(|(known, _)| known == session)) {
                    self.begins.push((session.clone(), tree));
                }
            }
            Act::Before(mark) => self.begin_step(mark, record, None),
            Act::Missing { mark, why } => self.begin_step(mark, record, Some(why)),
            Act::After { session, call } => self.end_step(session, call, record.tree),
            Act::TakingBack(act) => {
                self.open_act = Some(record.number);
                self.acts.push(TakenBack { number: record.number, act: act.clone(), redone: false });
                self.count(act);
            }
            Act::TookBack { .. } => self.open_act = None,
            Act::Look => {}
        }
    }

    fn begin_step(&mut self, mark: &StepMark, record: &Record, missing: Option<&String>) {
        self.open_act = None;
        if !mark.beside_others {
            self.open.retain(|open| open.mark.session != mark.session);
        }
        let at = self.steps.len();
        self.steps.push(StepSummary {
            session: mark.session.clone(),
            step: mark.step,
            at_ms: record.at_ms,
            label: mark.label.clone(),
            undone: false,
            missing: missing.cloned(),
            before: record.tree,
            after: None,
        });
        if missing.is_none() {
            self.open.push(OpenStep { mark: mark.clone(), at });
        }
    }

    fn end_step(&mut self, session: &str, call: &str, tree: Option<Digest>) {
        let of_session = |open: &&OpenStep| open.mark.session == session;
        let same = self.open.iter().rposition(|open| open.mark.session == session && open.mark.call == call);
        // A client that names no calls reports the end of the only one that runs.
        let only = || {
            (self.open.iter().filter(of_session).count() == 1)
                .then(|| self.open.iter().position(|open| open.mark.session == session))
                .flatten()
        };
        let Some(at) = same.or_else(only) else { return };
        let ended = self.open.remove(at);
        if let Some(step) = self.steps.get_mut(ended.at) {
            step.after = tree;
        }
    }

    /// Marks what an act took back or brought back.
    fn count(&mut self, act: &TakingBack) {
        if !act.only.is_empty() {
            return;
        }
        let (steps, undone) = match act.redoes {
            None => (act.steps.clone(), true),
            Some(number) => {
                let Some(of) = self.acts.iter_mut().find(|known| known.number == number) else { return };
                of.redone = true;
                (of.act.steps.clone(), false)
            }
        };
        let steps: BTreeSet<u64> = steps.into_iter().collect();
        for step in self.steps.iter_mut().filter(|step| step.session == act.session && steps.contains(&step.step)) {
            step.undone = undone;
        }
    }
}
