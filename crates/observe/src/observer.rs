//! From a raw call to its facts, with and without a memory of what was seen before.

use super::call::{Call, ObservedCall};
use super::facts::Facts;
use super::gain::{Echoes, SeenWords};
use super::learned::{ComparedCall, LearnedArguments};
use super::raw::RawCall;
use super::repeated::RepeatedCalls;
use super::words::{self, Words};
use serde::{Deserialize, Serialize};
use tripwire_core::chain::event::Flag;
use tripwire_core::label::Label;

/// Observes the calls of one session in their order and remembers which words were seen of late, and what the last calls gave.
///
/// What it remembers is a convenience of the observer, not a part of the engine's state: the gain is journaled
/// with the event. One that was lost is replaced by a new one, which only finds more to be new.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observer {
    seen: SeenWords,
    repeated: RepeatedCalls,
    learned: LearnedArguments,
}

impl Observer {
    /// Turns a raw call into the facts of its event, the gain among them.
    pub fn observe(&mut self, raw: &RawCall<'_>) -> Facts {
        let mut call = Call::read(raw);
        let compared = ComparedCall::of(raw.tool, call.kind, &call.arguments).filter(|_| !call.name.changes());
        let idle = compared.as_ref().map(|call| self.learned.idle(call)).unwrap_or_default();
        if !idle.is_empty() {
            call = Call::read_without(raw, &idle);
        }
        let ObservedCall { mut facts, normal } = call.facts(raw, Some(&mut self.repeated));
        if let Some(compared) = &compared {
            let known = facts.result_digest.as_ref().filter(|_| raw.whole.is_none());
            self.learned.learn(compared, known);
        }
        facts.ignored = facts.ignored.or_else(|| idle.first().map(|name| Label::cut(name)));
        let said = call.words();
        match raw.output.filter(|_| !facts.flags.has(Flag::Silent)) {
            Some(_) => {
                // What a progress bar drew over is no word of the result.
                let prose = call.is_prose && words::is_prose_bytes(&normal);
                let echoes = if prose { Echoes::Count } else { Echoes::Ignore };
                facts.gain = Some(self.seen.gain(said, &Words::of_bytes(&normal), echoes));
            }
            None => self.seen.add(said, &Words::default()),
        }
        facts
    }
}

/// Turns a raw call into the facts of its event, as far as they need no memory: without the gain.
#[must_use]
pub fn observe(raw: &RawCall<'_>) -> Facts {
    Call::read(raw).facts(raw, None).facts
}
