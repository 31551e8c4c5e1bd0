//! The steps of a session as points to go back to: what each changed and whether it can be taken back.

use crate::diff;
use crate::error::UndoError;
use crate::history::StepSummary;
use crate::store::{UndoStore, shown};
use std::path::PathBuf;
use tripwire_core::counted::counted;

/// A step, and what it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoPoint {
    /// The step.
    pub step: StepSummary,
    /// The paths that it changed.
    pub changed: Vec<PathBuf>,
}

impl UndoPoint {
    /// How it stands, in a few words.
    #[must_use]
    pub fn state(&self) -> String {
        let count = counted(self.changed.len(), "path");
        match (&self.step.missing, self.step.undone, self.step.is_ended()) {
            (Some(why), _, _) => format!("no undo: {why}"),
            (None, true, _) => format!("{count}, taken back"),
            (None, false, false) => "its end was not reported".to_owned(),
            (None, false, true) => count,
        }
    }

    /// Whether taking it back would do something.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.step.missing.is_none() && !self.step.undone && !self.changed.is_empty()
    }

    /// The first changed paths in one line, and how many more there are.
    #[must_use]
    pub fn named(&self, max: usize) -> String {
        let named: Vec<String> = self.changed.iter().take(max).map(|path| path.display().to_string()).collect();
        match self.changed.len().saturating_sub(max) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

impl UndoStore {
    /// The newest steps of a session, or of all of them, oldest first.
    ///
    /// # Errors
    /// When the list cannot be read or the store is damaged.
    pub fn points(&self, session: Option<&str>, max: usize) -> Result<Vec<UndoPoint>, UndoError> {
        let history = self.history()?;
        let steps = history.steps().iter().filter(|step| session.is_none_or(|named| named == step.session));
        let mut newest: Vec<&StepSummary> = steps.rev().take(max).collect();
        newest.reverse();
        if newest.is_empty() {
            return Ok(Vec::new());
        }
        let objects = self.objects()?;
        let point = |step: &StepSummary| {
            let changed = match (step.before, step.after) {
                (Some(before), Some(after)) => shown(&diff::between(&objects, &before, &after)?),
                _ => Vec::new(),
            };
            let changed = changed.into_iter().map(|one| one.path).collect();
            Ok(UndoPoint { step: step.clone(), changed })
        };
        newest.into_iter().map(point).collect()
    }
}
