//! Taking steps back: look, plan, write down that it begins, carry out, look again, write down that it is done.

use crate::apply::{Applied, Applier};
use crate::error::UndoError;
use crate::history::History;
use crate::log::{Act, Doer, TakingBack};
use crate::objects::Objects;
use crate::plan::{self, Plan, Question, Selection};
use crate::store::{Held, UndoStore};
use std::path::PathBuf;

/// What came of taking steps back.
#[derive(Debug)]
pub struct Restored {
    /// The plan that was carried out.
    pub plan: Plan,
    /// Paths that were changed.
    pub changed: Vec<PathBuf>,
    /// Paths that stayed because a person changed them since, and where the other version is.
    pub kept: Vec<(PathBuf, Option<PathBuf>)>,
    /// Paths that could not be changed, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// Names that shared their file with others, and have one of their own now.
    pub unlinked: Vec<PathBuf>,
    /// The number of this act in the store.
    pub number: u64,
}

impl UndoStore {
    /// What taking back would do, without doing it.
    ///
    /// # Errors
    /// When nothing is to be taken back, or the folder or the store cannot be read.
    pub fn plan(&self, session: &str, selection: &Selection, only: &[String]) -> Result<Plan, UndoError> {
        let held = self.hold(None)?;
        Ok(self.planned(&held, Question { session, selection, only })?.0)
    }

    /// Takes steps back. The folder as it was before and after is in the store: this can be taken back too.
    ///
    /// # Errors
    /// When nothing is to be taken back, or the folder or the store cannot be read or written.
    pub fn take_back(
        &self,
        session: &str,
        selection: &Selection,
        only: &[String],
        by: &Doer,
    ) -> Result<Restored, UndoError> {
        let held = self.hold(None)?;
        let (plan, objects) = self.planned(&held, Question { session, selection, only })?;
        let act = TakingBack {
            session: session.to_owned(),
            steps: plan.steps.clone(),
            redoes: plan.redoes,
            only: plan.only.clone(),
            by: by.clone(),
        };
        let number = self.write_down(&held, Act::TakingBack(act), plan.now)?;
        let index = self.index(&held)?;
        let Applied { changed, kept, failed, unlinked } = Applier::new(self.root(), &objects, &index)?.apply(&plan);
        drop(index);
        let after = self.look(&held, None)?;
        self.write_down(&held, Act::TookBack { of: number }, Some(after))?;
        Ok(Restored { plan, changed, kept, failed, unlinked, number })
    }

    fn planned(&self, held: &Held, question: Question<'_>) -> Result<(Plan, Objects), UndoError> {
        let now = self.look(held, None)?;
        let records = self.records(held)?;
        let history = History::of(&records);
        if history.newest.is_none() {
            return Err(UndoError::NoSnapshots { what: format!("`{}`", self.root().display()) });
        }
        let objects = self.objects()?;
        let plan = plan::make(&objects, &history, now, question)?;
        Ok((plan, objects))
    }
}
