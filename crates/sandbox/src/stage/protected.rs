//! What no staged change may touch, even if it was approved: the names that are read-only in every run.

use std::path::Path;

use super::changes::{ChangeSet, Node};
use crate::error::ApplyError;
use crate::spec::PROTECTED_NAMES;

/// Refuses a change set that touches a protected name.
///
/// Applying follows no link, so the name decides: whatever the path on the way, it ends below the same folder.
pub(crate) fn refuse(changes: &ChangeSet) -> Result<(), ApplyError> {
    let folder = |node: &Option<Node>| matches!(node, Some(Node::Dir { .. }));
    for change in changes.changes() {
        let fate = if folder(&change.before) && folder(&change.after) { Fate::StaysAFolder } else { Fate::Other };
        if touches(&change.path, fate) {
            return Err(ApplyError::Protected { path: change.path.clone() });
        }
    }
    Ok(())
}

/// What a change does to the thing at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was a folder and is one.
    StaysAFolder,
    /// It comes, goes or becomes something else.
    Other,
}

/// Whether a path is protected, or is a folder above a protected name that would not stay one.
pub(crate) fn touches(path: &Path, fate: Fate) -> bool {
    PROTECTED_NAMES.iter().map(Path::new).any(|name| {
        let above = name.starts_with(path);
        path.starts_with(name) || above && fate == Fate::Other
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_1_protected_names_and_what_is_above_them_are_never_changed() {
        for path in [".geometry/STOP", ".geometry", ".git/hooks/pre-commit", ".git/config", ".claude/x/y", "AGENTS.md"]
        {
            assert!(touches(Path::new(path), Fate::Other), "{path}");
        }
        assert!(touches(Path::new(".git"), Fate::Other));
    }

    #[test]
    fn box_1_other_names_may_change() {
        for path in ["src", "AGENTS.md.bak", "sub/AGENTS.md", ".git/index", ".git/refs/heads/main", "sub/.geometry"] {
            assert!(!touches(Path::new(path), Fate::Other), "{path}");
        }
        assert!(!touches(Path::new(".git"), Fate::StaysAFolder));
    }
}
