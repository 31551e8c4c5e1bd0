//! What of the workspace a call may change. Looks at the disk and snapshots both ask, so it is found out once per event.

use super::event::ToolCall;
use super::inputs::CallContext;
use crate::protected::LineEffect;
use std::path::{Component, Path};
use tripwire_observe::{Doing, Nature, RawCall, nature};

/// What of the workspace a call may change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallReach {
    /// These files, as paths below the workspace.
    Files(Vec<String>),
    /// Anything.
    Tree,
    /// Nothing that counts.
    Nothing,
}

impl CallReach {
    pub(super) fn of(tool: &ToolCall, context: &CallContext<'_>) -> Self {
        let raw = RawCall { workspace_root: context.facts.workspace.to_str(), ..tool.raw() };
        let Nature { doing, targets } = nature(&raw);
        match doing {
            Doing::Looks => Self::Nothing,
            // A line that looks at one thing may write another: `cat a; ./gen`, `grep -v x a > b`.
            Doing::Runs if context.line_effect(tool) == LineEffect::OnlyReads => Self::Nothing,
            Doing::Edits if !targets.is_empty() && targets.iter().all(|target| is_below(target)) => {
                Self::Files(targets.iter().map(|target| target.trim_start_matches("./").to_owned()).collect())
            }
            Doing::Edits | Doing::Runs | Doing::RunsAndEdits | Doing::Unknown => Self::Tree,
        }
    }
}

/// Whether a path stays below the workspace.
fn is_below(path: &str) -> bool {
    !path.is_empty()
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
