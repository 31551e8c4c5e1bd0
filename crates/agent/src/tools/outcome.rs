//! What a call came to: the text for the model, the facts for the engine, the bytes for the record.

use super::decode::{Decoded, root};
use crate::engines::ToolAnswer;
use tripwire_core::chain::event::{AgentEvent, ErrorClass, Status};
use tripwire_core::chain::feedback::ExecutionResult;
use tripwire_core::run::record::Call;
use tripwire_observe::{CleanCall, Observer, RawCall};
use tripwire_secrets::Redactor;
use tripwire_session::execution::SpentPermit;
use tripwire_session::files::Files;
use tripwire_session::memory::pointer::Pointer;

/// A call that was carried out, or could not be.
#[derive(Debug)]
pub struct Ran {
    /// What the model sees: never longer than the cap, paths relative to the workspace.
    pub text: String,
    /// Whether the model is told that it failed.
    pub is_error: bool,
    /// The exit code of a command.
    pub exit_code: Option<i32>,
    /// Why it failed, where the tool knows.
    pub class: Option<ErrorClass>,
    /// Where the whole result is kept, if the model sees only its beginning.
    pub cut: Option<String>,
    /// Where the very bytes are kept that the model sees rewritten or cut.
    pub verbatim: Vec<KeptOutput>,
    /// What goes back to the gate.
    pub result: ExecutionResult,
    /// The permit, used up; none if the tool refused.
    pub spent: Option<SpentPermit>,
    /// The result as plain text, for the facts.
    pub(super) observed: String,
}

/// Bytes kept for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutput {
    /// Which of the tool's outputs they are.
    pub name: &'static str,
    /// Where they are, or why they could not be kept.
    pub pointer: Result<Pointer, String>,
}

impl Ran {
    /// The answer to the model's call.
    #[must_use]
    pub fn answer(&self, call: &Call) -> ToolAnswer {
        ToolAnswer {
            id: call.id.to_string(),
            tool: call.tool.to_string(),
            text: self.text.clone(),
            is_error: self.is_error,
        }
    }

    /// The event for the engine, through the same functions that observe other agents. What the tool itself
    /// knows about its end counts more than what its words look like.
    #[must_use]
    pub fn event(&self, call: &Decoded, files: &Files, observer: &mut Observer, redactor: &Redactor) -> AgentEvent {
        let raw = RawCall {
            tool: call.tool(),
            args: call.text(),
            output: Some(&self.observed),
            error: match (self.class, self.exit_code) {
                (Some(_), _) => Some(true),
                // An exit code speaks for itself: that of `grep` without a match is no failure.
                (None, Some(_)) => None,
                (None, None) => Some(false),
            },
            exit_code: self.exit_code,
            workspace_root: root(files),
            ..RawCall::default()
        };
        let mut facts = observer.observe(&CleanCall::of(&raw, redactor).raw());
        if let Some(class) = self.class {
            facts.outcome.error_class = Some(class);
            facts.outcome.status = Status::Error;
        }
        facts.event(self.result.latency_ms)
    }
}
