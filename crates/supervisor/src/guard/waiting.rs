//! What an answer waits for, and for how long.

use super::pulse;
use std::time::Duration;
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

/// A wait that is worth a word to the person.
pub(super) const LONG_WAIT: Duration = Duration::from_secs(5);
/// The longest that an answer is withheld: by then the client is ended.
pub(super) const WITHHELD_MAX: Duration = Duration::from_secs(30);
/// How often a waiting thread looks by itself.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(250);

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
