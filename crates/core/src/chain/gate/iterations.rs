//! Iterations: their cap, their steps and how each of them ends (ITER-1, TERM-1).

use crate::effect::ExitStatus;
use crate::label::Fingerprint;
use crate::limits::CONVERGENCE_ITERATIONS;
use crate::policy::{Limits, Safety, Switch};
use crate::units::{Count, RunMillis};
use serde::{Deserialize, Serialize};

/// The running iteration and the count of those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Iterations {
    count: Count,
    started_at: RunMillis,
    steps: Count,
    ended: Option<Ended>,
    workspace: Fingerprint,
    unchanged: u32,
}

/// How the last iteration ended, as far as it binds what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Ended {
    /// It came to its end; what follows belongs to a new one.
    Done,
    /// Its steps were used up.
    MaxSteps,
    /// Its wall clock ran out.
    Timeout,
}

/// Whether another iteration may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// It may.
    Begun,
    /// The cap is reached.
    Capped,
}

impl Iterations {
    /// Begins an iteration, unless the cap is reached.
    pub(crate) fn begin(&mut self, safety: &Safety, at: RunMillis) -> Begin {
        if self.count >= safety.max_iterations {
            return Begin::Capped;
        }
        self.count = self.count.next();
        (self.started_at, self.steps, self.ended) = (at, Count::ZERO, None);
        Begin::Begun
    }

    /// Counts a step of the running iteration.
    pub(crate) fn step(&mut self) {
        self.steps = self.steps.next();
    }

    /// What ends the iteration now, checked in the order timeout, max_steps; `None` while it may go on, and once it
    /// has been said.
    pub(crate) fn check(&self, limits: &Limits, at: RunMillis) -> Option<ExitStatus> {
        if self.ended.is_some() {
            return None;
        }
        if self.deadline(limits).is_some_and(|deadline| at >= deadline) {
            return Some(ExitStatus::Timeout);
        }
        let capped = limits.max_steps.get().is_some_and(|cap| self.steps > cap);
        (capped && limits.max_steps_soft == Switch::Off).then_some(ExitStatus::MaxSteps)
    }

    /// Whether the next step would be one too many.
    pub(crate) fn is_exhausted(&self, limits: &Limits) -> bool {
        limits.max_steps_soft == Switch::Off && limits.max_steps.get().is_some_and(|cap| self.steps >= cap)
    }

    /// When the iteration's wall clock runs out.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<RunMillis> {
        let hours = limits.max_runtime_hours.get()?;
        Some(self.started_at.plus(RunMillis::from_seconds(u64::from(hours.get()).saturating_mul(3_600))))
    }

    /// Records how it ended.
    pub(crate) const fn end(&mut self, how: Ended) {
        self.ended = Some(how);
    }

    /// How it ended, if it has.
    pub(crate) const fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Notes the workspace at the end of an iteration; says whether the work has converged: the same workspace at the
    /// end of three iterations.
    pub(crate) fn note_workspace(&mut self, workspace: Fingerprint) -> bool {
        if !workspace.is_some() {
            return false;
        }
        self.unchanged = if workspace == self.workspace { self.unchanged.saturating_add(1) } else { 1 };
        self.workspace = workspace;
        self.unchanged >= CONVERGENCE_ITERATIONS
    }

    /// How many have begun.
    pub(crate) const fn count(&self) -> Count {
        self.count
    }

    /// A person set the count.
    pub(crate) const fn set_count(&mut self, count: Count) {
        self.count = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Limit;

    fn limits(max_steps: u32) -> Limits {
        Limits { max_steps: Limit::At(Count::new(max_steps)), ..Limits::default() }
    }

    #[test]
    fn iter_1_the_cap_refuses_the_iteration_after_the_last() {
        let safety = Safety { max_iterations: Count::new(2), ..Safety::default() };
        let mut iterations = Iterations::default();
        assert_eq!(iterations.begin(&safety, RunMillis::ZERO), Begin::Begun);
        assert_eq!(iterations.begin(&safety, RunMillis::ZERO), Begin::Begun);
        assert_eq!(iterations.begin(&safety, RunMillis::ZERO), Begin::Capped);
        assert_eq!(iterations.count(), Count::new(2));
    }

    #[test]
    fn term_1_the_eleventh_step_ends_the_iteration_and_the_tenth_does_not() {
        let mut iterations = Iterations::default();
        (0..10).for_each(|_| iterations.step());
        assert_eq!(iterations.check(&limits(10), RunMillis::ZERO), None);
        assert!(iterations.is_exhausted(&limits(10)));
        iterations.step();
        assert_eq!(iterations.check(&limits(10), RunMillis::ZERO), Some(ExitStatus::MaxSteps));
    }

    #[test]
    fn term_1_a_soft_cap_never_ends_and_a_timeout_comes_first() {
        let mut iterations = Iterations::default();
        (0..50).for_each(|_| iterations.step());
        let soft = Limits { max_steps_soft: Switch::On, ..limits(10) };
        assert_eq!(iterations.check(&soft, RunMillis::ZERO), None);
        let late = RunMillis::from_seconds(8 * 3_600);
        assert_eq!(iterations.check(&limits(10), late), Some(ExitStatus::Timeout));
    }

    #[test]
    fn perm_1_three_equal_workspaces_are_convergence_and_a_change_is_not() {
        let (a, b) = (Fingerprint::of(b"a"), Fingerprint::of(b"b"));
        let mut iterations = Iterations::default();
        assert!(!iterations.note_workspace(a) && !iterations.note_workspace(a));
        assert!(iterations.note_workspace(a));
        assert!(!iterations.note_workspace(b));
        assert!(!iterations.note_workspace(Fingerprint::NONE), "an unknown workspace proves nothing");
    }
}
