//! The steps that can be taken back, what no snapshot holds, a snapshot by hand, and retention.

use super::lines::{print_lines, shown};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Form;
use serde_json::json;
use tripwire_core::counted::counted;
use tripwire_undo::{Gap, UndoStore};
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Steps that are shown to a person, the newest last.
const STEPS_MAX: usize = 50;
/// Paths that are named in one line.
const NAMED_MAX: usize = 3;

/// Lists the steps of one session, or of all.
pub(super) fn list(store: &UndoStore, session: Option<&str>, form: Form) -> Result<Exit, Problem> {
    let (mut objects, mut lines) = (Vec::new(), Vec::new());
    for point in store.points(session, STEPS_MAX)? {
        let (step, state, named) = (&point.step, point.state(), point.named(NAMED_MAX));
        let named = if named.is_empty() { named } else { format!(": {named}") };
        lines.push(format!(
            "{} {:>6}  {}  [{state}{named}]",
            WallClock::from_epoch_ms(step.at_ms),
            step.step,
            step.label
        ));
        objects.push(json!({
            "session": step.session, "step": step.step, "at_ms": step.at_ms, "call": step.label, "undone": step.undone,
            "ended": step.is_ended(), "no_undo": step.missing,
            "changed": point.changed.iter().map(|path| shown(path)).collect::<Vec<_>>(),
        }));
    }
    if lines.is_empty() {
        lines.push("no step is known yet".to_owned());
    }
    let gaps = store.gaps()?;
    for Gap { path, why } in &gaps {
        lines.push(format!("not kept: `{}`, {}", path.display(), why.words()));
    }
    lines.push(format!("snapshots take {} MiB in `{}`", store.bytes() >> 20, store.folder().display()));
    let gaps: Vec<_> = gaps.iter().map(|gap| json!({"path": shown(&gap.path), "why": gap.why.words()})).collect();
    let object = json!({"verb": "undo", "steps": objects, "not_kept": gaps, "store": shown(store.folder()), "bytes": store.bytes()});
    print_lines(form, &object, &lines)?;
    Ok(Exit::Done)
}

/// Takes a snapshot by hand.
pub(super) fn take(store: &UndoStore, form: Form) -> Result<Exit, Problem> {
    let taken = store.look_now()?;
    let object = json!({"verb": "undo", "snapshot": taken.number, "tree": taken.tree.to_string()});
    print_lines(form, &object, &[format!("snapshot {} is taken: {}", taken.number, taken.tree)])?;
    Ok(Exit::Done)
}

/// Drops what is too old or too much.
pub(super) fn collect(store: &UndoStore, form: Form) -> Result<Exit, Problem> {
    let done = store.collect()?;
    let line = format!(
        "{} dropped, {} kept; the store has {} MiB, before it had {} MiB",
        counted(done.dropped, "snapshot"),
        done.kept,
        done.bytes_after >> 20,
        done.bytes_before >> 20
    );
    let object = json!({"verb": "undo", "dropped": done.dropped, "kept": done.kept, "bytes_before": done.bytes_before, "bytes_after": done.bytes_after});
    print_lines(form, &object, &[line])?;
    Ok(Exit::Done)
}
