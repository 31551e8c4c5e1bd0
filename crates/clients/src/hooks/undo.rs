//! Snapshots around the calls of a client, so that each can be taken back (UNDO). A call that cannot write makes none.

use super::calls::key;
use super::dialect::CallIds;
use super::disk::Others;
use super::event::ToolCall;
use super::inputs::starts_agent;
use super::reach::CallReach;
use std::time::{Duration, Instant};
use tripwire_core::explain::Explain as _;
use tripwire_core::label::Label;
use tripwire_undo::{StepMark, UndoError, UndoStore};

/// How long a client's call waits for its snapshot; the first one of a large folder goes on at the next call.
const WITHIN: Duration = Duration::from_secs(20);

/// Snapshots around the calls of one session.
pub(super) struct StepSnapshots<'a> {
    pub(super) store: Option<&'a UndoStore>,
    pub(super) session: &'a str,
    pub(super) ids: CallIds,
}

/// The call that a hook lets pass.
pub(super) struct PassedCall<'a> {
    pub(super) tool: &'a ToolCall,
    pub(super) reach: CallReach,
    pub(super) step: u64,
    pub(super) label: String,
    pub(super) others: Others,
}

impl StepSnapshots<'_> {
    /// The client's session begins: the folder as it is now is what all steps can go back to.
    pub(super) fn begin(&self) -> Option<String> {
        let store = self.store?;
        store.begin(self.session, Some(Instant::now() + WITHIN)).err().map(|error| no_undo(&error))
    }

    /// A call is let pass. Gives what a person has to know.
    pub(super) fn before(&self, call: PassedCall<'_>) -> Option<String> {
        let store = self.store?;
        let paths = match call.reach {
            // A sub-agent's own calls are asked about one by one.
            _ if starts_agent(call.tool) => return None,
            CallReach::Nothing => return None,
            CallReach::Files(paths) => Some(paths),
            CallReach::Tree => None,
        };
        let mark = StepMark {
            session: self.session.to_owned(),
            step: call.step,
            call: self.call_key(call.tool),
            label: call.label,
            paths,
            beside_others: call.others == Others::Running,
        };
        store.before(&mark, Some(Instant::now() + WITHIN)).err().map(|error| no_undo(&error))
    }

    /// A call has ended: its snapshot, or why there is none, for the record.
    pub(super) fn after(&self, tool: &ToolCall, reach: &CallReach) -> Option<Label> {
        let store = self.store?;
        if starts_agent(tool) || *reach == CallReach::Nothing {
            return None;
        }
        let taken = store.after(self.session, &self.call_key(tool), Some(Instant::now() + WITHIN));
        Some(Label::cut(&match taken {
            Ok(taken) => taken.tree.to_string(),
            Err(error) => format!("none: {error}"),
        }))
    }

    fn call_key(&self, tool: &ToolCall) -> String {
        format!("{:x}", key(self.ids, tool).get())
    }
}

fn no_undo(error: &UndoError) -> String {
    format!("no undo for this step: {error}; {}", error.hint())
}
