//! What a call changed on disk, with hooks alone: a look when it is let pass, and one when its end is reported.
//!
//! A call of an editing tool names its file, and one file is looked at. Any other call that may write is measured by the
//! marks of the whole tree, where that is small enough for a hook; in a larger one nothing is claimed, and the call's words
//! count. What a person does between two calls is not the agent's.

use super::event::ToolCall;
use super::reach::CallReach;
use serde::{Deserialize, Serialize};
use std::cell::LazyCell;
use std::path::Path;
use tripwire_core::chain::event::DiskChanges;
use tripwire_observe::{RawCall, observe};
use tripwire_session::file_marks::{FileMarks, LookLimits};
use tripwire_session::foreign::Foreign;
use tripwire_session::sources::counts_as_code;
use tripwire_workspace::Workspace;

/// Files that are remembered one by one.
const FILES_MAX: usize = 64;

/// What was seen of the disk before the calls that run now.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct DiskLook {
    /// The whole tree, where it was looked at.
    tree: Option<FileMarks>,
    /// Single files, the newest last, as the last look left them.
    files: Vec<(String, FileMarks)>,
}

impl DiskLook {
    /// What changed since the look, which moves on; nothing where it was not measured.
    fn changes(&mut self, root: &Path, reach: &CallReach, counts: impl Fn(&str) -> bool + Copy) -> Option<DiskChanges> {
        match reach {
            CallReach::Nothing => None,
            CallReach::Files(paths) => {
                let mut changes = DiskChanges::default();
                for path in paths {
                    let (_, before) = self.files.iter_mut().find(|(known, _)| known == path)?;
                    let now = FileMarks::of_file(root, Path::new(path));
                    changes.append(before.changes_until(&now, counts));
                    *before = now;
                }
                Some(changes)
            }
            CallReach::Tree => {
                let before = self.tree.take()?;
                self.tree = FileMarks::within(root, Some(&before), LookLimits::HOOK);
                self.tree.as_ref().map(|now| before.changes_until(now, counts))
            }
        }
    }
}

/// Whether other calls run beside this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// Some do: what was seen before them stays what is compared with.
    Running,
    /// None does.
    None,
}

/// The folder in which calls may change something.
pub(super) struct DiskWatch<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) foreign: Foreign<'a>,
}

/// Where a session's look is kept.
#[derive(Debug, Default)]
pub(super) enum KeptLook {
    /// In a file, for the process of the next event.
    #[default]
    InFile,
    /// In a process that stays; none before its first look.
    Here(Option<DiskLook>),
}

impl DiskWatch<'_> {
    /// A call is let pass: what it may change is looked at now.
    pub(super) fn before(&self, reach: &CallReach, others: Others, kept: &mut KeptLook) {
        let root = self.workspace.root();
        if *reach == CallReach::Nothing {
            return;
        }
        let mut look = self.take_look(kept).unwrap_or_default();
        match reach {
            CallReach::Nothing => {}
            CallReach::Files(paths) => {
                for path in paths {
                    if !look.files.iter().any(|(known, _)| known == path) {
                        let seen = FileMarks::of_file(root, Path::new(path));
                        look.files.push((path.clone(), seen));
                    }
                }
                let surplus = look.files.len().saturating_sub(FILES_MAX);
                look.files.drain(..surplus);
            }
            CallReach::Tree => {
                if others == Others::None || look.tree.is_none() {
                    look.tree = FileMarks::within(root, look.tree.as_ref(), LookLimits::HOOK);
                }
            }
        }
        self.keep_look(kept, look);
    }

    fn take_look(&self, kept: &mut KeptLook) -> Option<DiskLook> {
        match kept {
            KeptLook::InFile => self.foreign.disk_look(self.workspace.layout()),
            KeptLook::Here(look) => look.take(),
        }
    }

    fn keep_look(&self, kept: &mut KeptLook, look: DiskLook) {
        match kept {
            KeptLook::InFile => self.foreign.keep_disk_look(self.workspace.layout(), &look),
            KeptLook::Here(kept) => *kept = Some(look),
        }
    }

    /// A call has ended: what changed while it ran; nothing where it was not measured.
    pub(super) fn after(&self, tool: &ToolCall, reach: &CallReach, kept: &mut KeptLook) -> Option<DiskChanges> {
        if *reach == CallReach::Nothing {
            return None;
        }
        let mut look = self.take_look(kept)?;
        // Found out only where something changed: most calls change nothing.
        let flags = LazyCell::new(|| observe(&self.raw(tool)).flags);
        let changes = look.changes(self.workspace.root(), reach, |path: &str| counts_as_code(*flags, path));
        self.keep_look(kept, look);
        changes
    }

    fn raw<'a>(&'a self, tool: &'a ToolCall) -> RawCall<'a> {
        RawCall { workspace_root: self.workspace.root().to_str(), ..tool.raw() }
    }
}
