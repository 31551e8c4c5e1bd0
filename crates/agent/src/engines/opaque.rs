//! Opaque parts of a model's own answers that a provider wants back with the results of its calls: signed thinking,
//! encrypted reasoning, thought signatures.
//!
//! They mean nothing to anyone else, so they stay inside the engine and out of the neutral conversation. They are lost
//! with the process; each provider accepts a conversation without them.

use super::limits::KEPT_ANSWERS_MAX;
use serde_json::Value;
use std::collections::VecDeque;

/// The parts of recent answers, by the id of each answer's first call.
#[derive(Debug, Default)]
pub(super) struct OpaqueParts(VecDeque<(String, Vec<Value>)>);

impl OpaqueParts {
    /// Keeps the parts of one answer; the oldest goes when there are too many.
    pub(super) fn keep(&mut self, first_call: &str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        if self.0.len() >= KEPT_ANSWERS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((first_call.to_owned(), parts));
    }

    /// The parts of the answer that began its calls with this one.
    pub(super) fn of(&self, first_call: &str) -> Option<&[Value]> {
        self.0.iter().rev().find(|(id, _)| id == first_call).map(|(_, parts)| parts.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_the_number_is_bounded() {
        let mut kept = OpaqueParts::default();
        for index in 0..KEPT_ANSWERS_MAX + 2 {
            kept.keep(&format!("call-{index}"), vec![Value::from(index)]);
        }
        kept.keep("empty", vec![]);
        assert_eq!(kept.0.len(), KEPT_ANSWERS_MAX);
        assert_eq!(kept.of("call-0"), None);
        assert_eq!(kept.of("empty"), None);
        assert_eq!(kept.of("call-5"), Some([Value::from(5)].as_slice()));
    }
}
