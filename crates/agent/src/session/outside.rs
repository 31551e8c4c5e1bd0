//! What the calls of a session brought from outside of the workspace, told by the lines of its transcript.

use std::path::Path;
use tripwire_core::policy::Policy;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::Call;
use tripwire_core::units::EventIndex;
use tripwire_judge as judge;
use tripwire_judge::outside::{OutsideText, OutsideTexts};
use tripwire_observe::RawCall;

/// The texts from outside that the model has read, and the calls that may bring more.
#[derive(Debug, Default)]
pub(super) struct ReadTexts {
    /// The calls of the last answer.
    calls: Vec<Call>,
    texts: OutsideTexts,
}

impl ReadTexts {
    /// Takes a line of the transcript in. `decided` is the newest decision: a result follows the one that let its call run.
    pub(super) fn take(&mut self, line: &Line, root: &Path, policy: &Policy, decided: EventIndex) {
        if let Line::Answer(answer) = line {
            self.calls.clone_from(&answer.calls);
        }
        let Line::Result(result) = line else { return };
        let Some(call) = self.calls.iter().find(|call| call.id == result.call) else { return };
        let output = result.verbatim.as_ref().unwrap_or(&result.text);
        let raw =
            RawCall { tool: &call.tool, args: &call.arguments, output: Some(output.as_ref()), ..RawCall::default() };
        let facts = judge::Facts::here(root.to_owned(), root.to_owned(), policy);
        if let Some(text) = OutsideText::of(&facts, &raw) {
            self.texts.add(text, decided);
        }
    }

    pub(super) const fn texts(&self) -> &OutsideTexts {
        &self.texts
    }
}
