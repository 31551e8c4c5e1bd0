//! `tripwire diff`: what changed between two steps of an agent.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{Form, Out};
use crate::snapshots;
use crate::workspace::Which;
use clap::Args;
use serde_json::json;
use std::borrow::Cow;
use tripwire_core::explain::Explain;
use tripwire_core::visible::{visible, visible_lines};
use tripwire_undo::{Difference, ShownKind};
use tripwire_workspace::text_diff::{CONTEXT_LINES, NamedText, unified};

/// Show what changed in one step of an agent, or between two steps.
///
/// `12` is what step 12 changed; `12..20` is from before step 12 to after step 20; `12..` is up to now. The numbers
/// are those of `tripwire log`. Changes inside `.git` are not shown.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The steps: `12`, `12..20` or `12..`.
    #[arg(value_name = "STEP..STEP")]
    steps: String,
    /// Only the names of what changed.
    #[arg(long)]
    names: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    form: Form,
}

/// What was asked for is no pair of steps.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` names no steps")]
struct StepsError {
    text: String,
}

impl Explain for StepsError {
    fn hint(&self) -> Cow<'_, str> {
        "write `12`, `12..20` with the earlier step first, or `12..`; list the steps with `tripwire undo --list`".into()
    }
}

/// Runs the verb.
pub(crate) fn run(args: &DiffArgs) -> Result<Exit, Problem> {
    let (from, to) = steps(&args.steps)?;
    let workspace = args.which.place.look()?;
    let store = snapshots::store(&workspace)?;
    let history = store.history()?;
    let session = snapshots::session(args.which.named(), &history, &store)?;
    let first = snapshots::step(&history, &workspace, &session, from)?;
    let last = match to {
        End::Step(number) => Some(snapshots::step(&history, &workspace, &session, number)?),
        End::Now => None,
    };
    let differences = store.differences(first, last)?;
    let mut out = Out::lock();
    if args.form.json {
        let paths: Vec<_> = differences
            .iter()
            .map(|change| json!({"path": change.path.to_string_lossy(), "kind": kind(change), "folder": change.is_folder}))
            .collect();
        out.line(&json!({"verb": "diff", "session": session, "from": from, "changes": paths}).to_string())?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    for change in &differences {
        out.line(&visible(&format!("{} {}", kind(change), change.path.display())))?;
        let texts = if args.names || change.is_folder || change.kind == ShownKind::Rights {
            None
        } else {
            store.texts(change)?
        };
        if let Some((old, new)) = texts {
            let name = visible(&change.path.to_string_lossy());
            let named = |text| NamedText { name: &name, text };
            let text = unified(named(&old), named(&new), CONTEXT_LINES);
            out.line(visible_lines(&text).trim_end())?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

const fn kind(change: &Difference) -> &'static str {
    match change.kind {
        ShownKind::Added => "added",
        ShownKind::Removed => "removed",
        ShownKind::Changed => "changed",
        ShownKind::Rights => "rights",
    }
}

/// Where a range ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Step(u64),
    Now,
}

fn steps(text: &str) -> Result<(u64, End), StepsError> {
    let wrong = || StepsError { text: text.to_owned() };
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    match text.split_once("..") {
        None => number(text).map(|step| (step, End::Step(step))),
        Some((from, "")) => Ok((number(from)?, End::Now)),
        Some((from, to)) => match (number(from)?, number(to)?) {
            (from, to) if from <= to => Ok((from, End::Step(to))),
            (_, _) => Err(wrong()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_9_ranges_of_steps_are_read_and_anything_else_is_refused() {
        assert_eq!(steps("12").unwrap(), (12, End::Step(12)));
        assert_eq!(steps("12..20").unwrap(), (12, End::Step(20)));
        assert_eq!(steps("12..").unwrap(), (12, End::Now));
        for text in ["", "..", "..3", "a..b", "1...3", "-1", "20..12"] {
            assert!(steps(text).is_err(), "{text}");
        }
    }
}
