//! What taking back would do or has done, in words and as JSON.

use super::lines::{print_lines, shown};
use crate::error::Problem;
use crate::print::Form;
use serde_json::json;
use std::path::PathBuf;
use tripwire_core::counted::counted;
use tripwire_undo::{Plan, Restored};

/// Paths that are listed for a person.
const PATHS_MAX: usize = 40;

/// What would change.
pub(super) fn plan(verb: &str, plan: &Plan, form: Form) -> Result<(), Problem> {
    let mut lines = vec![format!("{verb} of step {} of {}", steps(plan), plan.session)];
    for change in plan.changes.iter().take(PATHS_MAX) {
        lines.push(format!("would be {}: {}", change.words(), change.path().display()));
    }
    lines.extend(more(plan.changes.len()));
    for conflict in &plan.conflicts {
        let path = conflict.path();
        lines.push(format!(
            "would stay: {}, which a person changed since; the older version is written beside it",
            path.display()
        ));
    }
    lines.extend(limits(plan));
    if plan.changes.is_empty() && plan.conflicts.is_empty() {
        lines.push("nothing would change".to_owned());
    }
    let changes: Vec<_> =
        plan.changes.iter().map(|change| json!({"path": shown(&change.path()), "would_be": change.words()})).collect();
    let conflicts: Vec<_> = plan.conflicts.iter().map(|conflict| shown(&conflict.path())).collect();
    let object = json!({
        "verb": verb, "dry_run": true, "session": plan.session, "steps": plan.steps, "changes": changes,
        "conflicts": conflicts, "not_kept": lost(plan), "unended": plan.unended,
    });
    print_lines(form, &object, &lines)
}

/// What was done.
pub(super) fn done(verb: &str, done: &Restored, notes: &[String], form: Form) -> Result<(), Problem> {
    let plan = &done.plan;
    let mut lines = vec![format!(
        "{verb} of step {} of {}: {} changed",
        steps(plan),
        plan.session,
        counted(done.changed.len(), "path")
    )];
    let words = |path: &PathBuf| {
        plan.changes.iter().find(|change| change.path() == *path).map_or("changed", |change| change.words())
    };
    for path in done.changed.iter().take(PATHS_MAX) {
        lines.push(format!("{}: {}", words(path), path.display()));
    }
    lines.extend(more(done.changed.len()));
    for (path, beside) in &done.kept {
        lines.push(match beside {
            Some(beside) => {
                format!(
                    "kept: {}, which a person changed since; the older version is `{}`",
                    path.display(),
                    beside.display()
                )
            }
            None => format!("kept: {}, which a person changed or filled since", path.display()),
        });
    }
    for (path, why) in &done.failed {
        lines.push(format!("FAILED: {}: {why}", path.display()));
    }
    for path in &done.unlinked {
        lines.push(format!("`{}` shared its file with other names and is a separate file now", path.display()));
    }
    lines.extend(limits(plan));
    lines.extend(notes.iter().cloned());
    lines.push(format!("`tripwire {}` takes this back", if verb == "undo" { "redo" } else { "undo" }));
    let kept: Vec<_> = done
        .kept
        .iter()
        .map(|(path, beside)| json!({"path": shown(path), "older_version": beside.as_deref().map(shown)}))
        .collect();
    let failed: Vec<_> = done.failed.iter().map(|(path, why)| json!({"path": shown(path), "why": why})).collect();
    let object = json!({
        "verb": verb, "session": plan.session, "steps": plan.steps, "number": done.number,
        "changed": done.changed.iter().map(|path| shown(path)).collect::<Vec<_>>(), "kept": kept, "failed": failed,
        "not_kept": lost(plan), "unended": plan.unended, "notes": notes,
    });
    print_lines(form, &object, &lines)
}

fn steps(plan: &Plan) -> String {
    plan.steps.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn more(count: usize) -> Option<String> {
    (count > PATHS_MAX).then(|| format!("and {} more", count - PATHS_MAX))
}

/// What is out of reach, or was left alone.
fn limits(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, why) in &plan.lost {
        lines.push(format!("not kept by any snapshot: {}, {}", path.display(), why.words()));
    }
    for repository in &plan.repositories {
        lines.push(format!("left alone: what git keeps in `{}` (commits, index, refs)", repository.display()));
    }
    for step in &plan.unended {
        lines.push(format!("the end of step {step} was never reported: what changed until now counts as its own"));
    }
    lines
}

fn lost(plan: &Plan) -> Vec<serde_json::Value> {
    plan.lost.iter().map(|(path, why)| json!({"path": shown(path), "why": why.words()})).collect()
}
