//! Near-equal outputs: all comparisons of neighbours among the last five events exceed the threshold (ACT-1).

use super::Sign;
use crate::chain::event::AgentEvent;
use crate::decision::Evidence;
use crate::label::Fingerprint;
use crate::limits::SIMILARITY_EVENTS;
use crate::ring::Ring;
use crate::sketch::Sketch;
use crate::units::{Count, EventIndex, Price, Ratio};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// How far the threshold may come down when every recent call failed.
const TIGHTENING_MAX: Ratio = Ratio::from_per_mille(50);

/// The threshold now: it tightens with the error rate, the third allowed adaptation (GATE-5).
pub(crate) fn threshold(configured: Ratio, error_rate: Ratio) -> Ratio {
    configured.minus(TIGHTENING_MAX.times(error_rate))
}

/// The last output and how many neighbours in a row were alike.
///
/// A run length says the same as a window of outputs: four alike neighbours in a row are five alike events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SimilarityState {
    last_hash: Fingerprint,
    last_sketch: Option<Sketch>,
    alike: u32,
    /// The events that were compared, for the proof.
    compared: Ring<EventIndex, SIMILARITY_EVENTS>,
    /// What the session had spent before the first repeat.
    spent_before: Price,
}

/// The place of an output: its event, and what the session had spent before it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) index: EventIndex,
    pub(crate) spent: Price,
}

/// The proof that the last outputs are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alike {
    /// The events of the window.
    pub(crate) evidence: Evidence,
    /// Spent since the first repeat.
    pub(crate) price: Price,
    /// Whether the window has just filled, and it must be reported.
    pub(crate) news: Sign,
}

impl SimilarityState {
    /// Takes in one output; says whether the last `window` events are all alike.
    pub(crate) fn observe(&mut self, event: &AgentEvent, seen: Seen, threshold: Ratio, window: Count) -> bool {
        let hash = event.output_hash.as_ref().map_or(Fingerprint::NONE, crate::label::Label::fingerprint);
        if !hash.is_some() && event.sketch.is_none() {
            // An event that says nothing of its output (a thought, a message) neither proves nor breaks a repetition.
            return false;
        }
        let similarity = match (&self.last_sketch, &event.sketch) {
            _ if hash.is_some() && hash == self.last_hash => Ratio::ONE,
            (Some(last), Some(now)) => last.similarity(now),
            (None, _) | (_, None) => Ratio::ZERO,
        };
        self.alike = if similarity > threshold { self.alike.saturating_add(1) } else { 0 };
        self.compared.push(seen.index);
        if self.alike == 1 {
            self.spent_before = seen.spent;
        }
        (self.last_hash, self.last_sketch) = (hash, event.sketch);
        self.alike >= needed(window)
    }

    /// The proof, once the window is full of alike outputs; `spent` is the total with the newest event.
    pub(crate) fn prove(&self, spent: Price, window: Count) -> Alike {
        let events = usize::try_from(needed(window).saturating_add(1)).unwrap_or(SIMILARITY_EVENTS);
        let mut indices: Vec<EventIndex> = self.compared.newest_first().take(events).copied().collect();
        indices.reverse();
        Alike {
            evidence: Evidence::new(indices),
            price: spent.since(self.spent_before),
            news: Sign::from(self.alike == needed(window)),
        }
    }

    /// How much of the window is alike, from 0 to 1.
    pub(crate) fn closeness(&self, window: Count) -> Ratio {
        Ratio::of(u64::from(self.alike), u64::from(needed(window)))
    }
}

/// Comparisons of neighbours in a window: one less than its events, and never more than the master spec's four.
fn needed(window: Count) -> u32 {
    let kept = u32::try_from(SIMILARITY_EVENTS).unwrap_or(5);
    window.get().clamp(2, kept).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use crate::sketch::LANES;

    const NINE_TENTHS: Ratio = Ratio::from_per_mille(900);

    fn fires_at(events: impl IntoIterator<Item = AgentEvent>) -> Option<usize> {
        let mut state = SimilarityState::default();
        events.into_iter().position(|event| state.observe(&event, Seen::default(), NINE_TENTHS, Count::new(5)))
    }

    fn hashed(hash: &str) -> AgentEvent {
        AgentEvent { output_hash: Label::new(hash), ..AgentEvent::default() }
    }

    fn sketched(different_lanes: usize) -> AgentEvent {
        let mut lanes = [1; LANES];
        lanes.iter_mut().take(different_lanes).for_each(|lane| *lane = 2);
        AgentEvent { sketch: Some(Sketch::from_lanes(lanes)), ..AgentEvent::default() }
    }

    #[test]
    fn act_1_five_alike_outputs_fire_at_the_fifth() {
        assert_eq!(fires_at((0..9).map(|_| hashed("same"))), Some(4));
        assert_eq!(fires_at((0..9).map(|n| sketched(n % 2))), Some(4));
    }

    #[test]
    fn act_1_one_different_output_starts_the_count_again() {
        let outputs = ["a", "a", "a", "a", "b", "a", "a", "a", "a"];
        assert_eq!(fires_at(outputs.into_iter().map(hashed)), None);
        assert_eq!(fires_at((0..20).map(|n| sketched(if n % 2 == 0 { 0 } else { 40 }))), None);
        assert_eq!(fires_at((0..20).map(|_| AgentEvent::default())), None, "no output is known");
    }

    #[test]
    fn act_1_outputs_exactly_at_the_threshold_are_not_alike_yet() {
        let similarity = sketched(0).sketch.unwrap().similarity(&sketched(8).sketch.unwrap());
        let fires = |threshold| {
            let mut state = SimilarityState::default();
            (0..5).any(|n| state.observe(&sketched(n % 2 * 8), Seen::default(), threshold, Count::new(5)))
        };
        assert!(!fires(similarity));
        assert!(fires(Ratio::from_millionths(similarity.millionths() - 1)));
    }

    #[test]
    fn gate_5_the_threshold_tightens_with_the_error_rate_and_never_more() {
        assert_eq!(threshold(NINE_TENTHS, Ratio::ZERO), NINE_TENTHS);
        assert_eq!(threshold(NINE_TENTHS, Ratio::ONE), Ratio::from_per_mille(850));
    }
}
