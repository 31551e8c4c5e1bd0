//! Scripts of the run that a line starts: how many are followed, and what of them counts.

use super::walk::Walker;
use crate::own_script::own_text;
use std::path::Path;
use std::rc::Rc;

/// Most commands of scripts that are followed from one line.
const SCRIPT_STEPS_MAX: usize = 20_000;

impl Walker<'_> {
    /// The text of a script that the run wrote, if it is followed.
    pub(super) fn own_script(&self, path: &Path) -> Option<Rc<str>> {
        let follows = self.observer.follows_own_scripts() && self.steps_in_scripts < SCRIPT_STEPS_MAX;
        follows.then(|| own_text(self.world, path)).flatten()
    }

    /// Follows what a script does. Only what is certain is held, because a script often takes its names from elsewhere; and a
    /// long one uses up nothing of what the line may need.
    pub(super) fn in_script(&mut self, script: &str, run: impl FnOnce(&mut Self)) {
        let (mark, steps, expanded) = (self.report.enter_script(script), self.steps, self.expanded);
        run(self);
        self.report.leave_script(&mark);
        self.steps_in_scripts += self.steps.saturating_sub(steps).saturating_add(1);
        (self.steps, self.expanded) = (steps, expanded);
    }
}
