//! What the loop writes for people and for itself beside the transcript: `todo.md` and `plan.json`.

use tripwire_core::run::Recitation;
use tripwire_core::run::plan::Plan;
use tripwire_core::text::StepSummary;
use tripwire_fs::file::{self, FileError};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::reports::{Report, Todo};

/// Rewrites `todo.md` as the machine recites it.
pub(super) fn write_todo(layout: &Layout, recitation: Recitation) -> Result<(), FileError> {
    let todo = Todo {
        objective: recitation.objective.into_string(),
        steps_done: u64::from(recitation.steps.get()),
        progress: vec![format!("iteration {}", recitation.iteration)],
        last_completed: recitation.last.map(StepSummary::into_string),
        next: recitation.next.map(StepSummary::into_string),
    };
    Report::Todo.write(layout, &todo.text())
}

/// Keeps the plan with its ticks where a person finds it.
pub(super) fn keep_plan(layout: &Layout, plan: &Plan) -> Result<(), FileError> {
    file::replace(&layout.plan(), serde_json::to_string_pretty(plan).unwrap_or_default().as_bytes())
}
