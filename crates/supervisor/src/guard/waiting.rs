//! What an answer waits for, and for how long.

use super::pulse;
use tripwire_clients::hooks::handler::Handled;
use tripwire_clients::hooks::{Event, Reply};

/// What came of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// There was nothing to wait for.
    NotNeeded,
    /// It is worth asking again.
    Cleared,
    /// The run ends.
    Over,
}

/// Whether an answer may wait for a person: a refusal of what asks for leave to go on, and one that would end the turn.
pub(super) fn waits(event: &Event, reply: &Reply) -> bool {
    match event {
        Event::Prompt | Event::ModelAsked { .. } | Event::Asked(_) => *reply != Reply::default(),
        Event::Done(..) => pulse::ends_turn(reply),
        Event::SessionStarted(_)
        | Event::SessionEnded
        | Event::Claimed(_)
        | Event::AgentStarted
        | Event::AgentEnded
        | Event::Compacting
        | Event::Compacted
        | Event::Other => false,
    }
}

/// Why a call was throttled: the limit, its figures and its rule.
pub(super) fn throttle_words(handled: &Handled) -> String {
    let safety = handled.taken.last().map(|taken| &taken.decision.safety);
    safety.map(|safety| format!("{} [{}]", safety.reason, safety.rule.id())).unwrap_or_default()
}
