//! What an event says about a call.

use tripwire_core::chain::event::{Action, AgentEvent, Flags, Gain, Outcome};
use tripwire_core::label::Label;
use tripwire_core::sketch::Sketch;
use tripwire_core::units::{Count, RunMillis, Tokens};

/// What an event says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What was done.
    pub action: Action,
    /// How it ended.
    pub outcome: Outcome,
    /// What kind of work it was.
    pub flags: Flags,
    /// The normalised result, as a digest.
    pub result_digest: Option<Label>,
    /// The normalised error with its digits masked, as a digest; only of failed calls.
    pub error_digest: Option<Label>,
    /// What kind of error it was, as a digest; only of failed calls.
    pub error_kind: Option<Label>,
    /// The line that tells the error; only of failed calls.
    pub error_text: Option<Label>,
    /// How much of the result was new; only from an [`Observer`](super::Observer), which remembers what was seen.
    pub gain: Option<Gain>,
    /// A part of the result that changes at each repetition of the call and was ignored; only from an
    /// [`Observer`](super::Observer).
    pub ignored: Option<Label>,
    /// The output as it was, as a digest.
    pub output_hash: Option<Label>,
    /// A similarity sketch of the normalised output.
    pub sketch: Option<Sketch>,
    /// A similarity sketch of what the model said.
    pub text_sketch: Option<Sketch>,
    /// The output's length in characters.
    pub output_length: Tokens,
}

impl Facts {
    /// The event of one call: every door makes its events here, so that the same call is the same event at each.
    #[must_use]
    pub fn event(self, latency_ms: RunMillis) -> AgentEvent {
        AgentEvent {
            action: Some(self.action),
            outcome: Some(self.outcome),
            flags: self.flags,
            latency_ms,
            output_hash: self.output_hash,
            output_length: self.output_length,
            result_digest: self.result_digest,
            error_digest: self.error_digest,
            error_kind: self.error_kind,
            error_text: self.error_text,
            gain: self.gain,
            ignored: self.ignored,
            sketch: self.sketch,
            text_sketch: self.text_sketch,
            tool_calls: Count::new(1),
            ..AgentEvent::default()
        }
    }
}
