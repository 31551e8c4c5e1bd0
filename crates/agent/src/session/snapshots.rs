//! Snapshots around the tools of our own loop, so that each call can be taken back.

use crate::tools::registry::SHELL;
use std::path::{Path, PathBuf};
use tripwire_core::explain::Explain as _;
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_judge::read_only::line_only_reads_in;
use tripwire_undo::{StepMark, UndoStore};

/// The snapshots of one session.
#[derive(Debug, Default)]
pub(super) struct LoopSnapshots {
    kept: Option<Kept>,
    /// What a person has to know.
    notices: Vec<String>,
}

#[derive(Debug)]
struct Kept {
    store: UndoStore,
    session: String,
    root: PathBuf,
    policy: Policy,
}

impl LoopSnapshots {
    /// The snapshots of a session that begins or goes on.
    pub(super) fn of(own_state: Option<&Path>, root: &Path, session: &str, policy: &Policy) -> Self {
        let store = UndoStore::under(own_state, root, policy).map(UndoStore::watching);
        let kept = store.map(|store| Kept {
            store,
            session: session.to_owned(),
            root: root.to_owned(),
            policy: policy.clone(),
        });
        let mut snapshots = Self { kept, notices: Vec::new() };
        if let Some(Err(error)) = snapshots.kept.as_ref().map(|kept| kept.store.begin(&kept.session, None)) {
            snapshots.notices.push(format!("no undo so far: {error}; {}", error.hint()));
        }
        snapshots
    }

    /// Whether a call may change files: a command that only reads does not.
    pub(super) fn may_change(&self, tool: &str, arguments: &str) -> bool {
        let Some(kept) = self.kept.as_ref().filter(|_| tool == SHELL) else { return true };
        let arguments = serde_json::from_str::<serde_json::Value>(arguments).unwrap_or_default();
        let command = arguments.get("command").and_then(serde_json::Value::as_str);
        command.is_none_or(|command| !line_only_reads_in(command, &kept.root, &kept.policy))
    }

    /// A call is about to run.
    pub(super) fn before(&mut self, step: u64, label: &str) {
        let Some(kept) = &self.kept else { return };
        let mark = StepMark {
            session: kept.session.clone(),
            step,
            call: step.to_string(),
            label: label.to_owned(),
            paths: None,
            beside_others: false,
        };
        if let Err(error) = kept.store.before(&mark, None) {
            self.notices.push(format!("no undo for this step: {error}; {}", error.hint()));
        }
    }

    /// It has ended: its snapshot, or why there is none, for the record.
    pub(super) fn after(&self, step: u64) -> Option<Label> {
        let kept = self.kept.as_ref()?;
        Some(Label::cut(&match kept.store.after(&kept.session, &step.to_string(), None) {
            Ok(taken) => taken.tree.to_string(),
            Err(error) => format!("none: {error}"),
        }))
    }

    /// What a person has to know since the last time.
    pub(super) fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}
