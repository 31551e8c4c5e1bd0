//! Step 2: from the stream of events to what the agent is doing. Deterministic, and its report changes rarely.

pub(crate) mod intensity;
pub(crate) mod loops;
pub(crate) mod progress;
pub(crate) mod similarity;
mod surroundings;
pub(crate) mod tempo;

pub(crate) use self::surroundings::{NewStep, Sign, Surroundings};

use self::intensity::IntensityState;
use self::loops::{Alarm, LoopState};
use self::similarity::{Alike, Seen, SimilarityState};
use self::tempo::TempoState;
use super::event::AgentEvent;
use crate::decision::{ActivityMode, ActivityState, Finding, Intensity};
use crate::policy::{Policy, Profile};
use crate::text::Reason;
use crate::units::{Ratio, RunMillis};
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};

/// What the activity engine remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ActivityEngine {
    mode: ActivityMode,
    since: RunMillis,
    /// When the reported mode last changed; `None` until it does, so that the first alarm is reported at once.
    changed_at: Option<RunMillis>,
    /// The mode that the evidence showed last, before the dwell time.
    shown: ActivityMode,
    /// When the evidence left the mode it has now returned to, to notice flips.
    flipped_at: Option<RunMillis>,
    last_event_at: Option<RunMillis>,
    intensity: IntensityState,
    tempo: TempoState,
    similarity: SimilarityState,
    pub(crate) loops: LoopState,
}

/// What one event showed, for the gate, which acts on evidence at once and does not wait for the dwell time.
#[derive(Debug, Default)]
pub(crate) struct ActivityReading {
    /// The strictest loop alarm that holds now.
    pub(crate) alarm: Option<Box<Alarm>>,
    /// A lesser alarm that was climbed to at the same time and is only reported (`strict`: each count on its own).
    pub(crate) beside: Option<Box<Finding>>,
    /// The proof that the last outputs are all alike, where that alone counts (ACT-1, `strict`).
    pub(crate) similar: Option<Alike>,
    /// Whether the tempo is that of a runaway, and more than the tempo speaks for it.
    pub(crate) runaway: Sign,
    /// Whether the tempo is that of a runaway.
    pub(crate) hurried: Sign,
    /// The mode that the report just entered.
    pub(crate) entered: Option<ActivityMode>,
    /// Whether the evidence went back and forth within one dwell time.
    pub(crate) flipped: Sign,
    /// How near the strongest alarm is, from 0 to 1 (INTENT-2).
    pub(crate) suspicion: Ratio,
}

impl ActivityEngine {
    /// Takes in one event.
    pub(crate) fn observe(&mut self, policy: &Policy, event: &AgentEvent, around: &Surroundings) -> ActivityReading {
        let at = around.place.at;
        self.intensity.observe(around.minute_tokens);
        if event.user_turn && policy.profile == Profile::Balanced {
            // What went before is another conversation's tempo: the time a person takes is no interval between steps.
            self.tempo = TempoState::default();
        }
        if around.new_step == NewStep::Yes {
            self.tempo.observe(at, policy.activity.idle_after_ms);
        }
        let threshold = similarity::threshold(policy.loops.loop_similarity_threshold, around.error_rate);
        let seen = Seen { index: around.place.index, spent: around.spent };
        let window = policy.loops.loop_window_size;
        let left_out = event.action.as_ref().is_some_and(|action| policy.loops.leaves_out(action));
        let similar = !left_out && self.similarity.observe(event, seen, threshold, window);
        let (alarm, beside) = self.loops.observe(policy, event, around);
        let hurried = self.tempo.is_runaway(policy.activity.tempo_compression_ratio)
            && (policy.profile == Profile::Strict || self.intensity.level() == Intensity::High);
        // Speed alone is no evidence: quick reads after a long pause look the same.
        let runaway = hurried && (policy.profile == Profile::Strict || self.loops.is_warned());
        let looping = match policy.profile {
            Profile::Strict => similar,
            // Outputs alone repeat in healthy work; they count only where nothing else is known of the action.
            // And an override on soft evidence (a reworded question, failures of all kinds) is a hint, not a loop.
            Profile::Balanced => (similar && event.action.is_none()) || alarm.as_deref().is_some_and(Alarm::is_proof),
        };
        self.last_event_at = Some(at);
        let shown = match (runaway, looping) {
            (true, _) => ActivityMode::Runaway,
            (false, true) => ActivityMode::Looping,
            (false, false) => ActivityMode::Working,
        };
        let flipped = self.note_flip(shown, at, policy);
        let entered = self.report(shown, at, policy);
        let suspicion = self.suspicion(policy, alarm.as_deref(), if runaway { Ratio::ONE } else { Ratio::ZERO });
        ActivityReading {
            alarm,
            beside,
            similar: (similar && policy.profile == Profile::Strict)
                .then(|| self.similarity.prove(around.spent.plus(event.price()), window)),
            runaway: Sign::from(runaway),
            hurried: Sign::from(hurried),
            entered,
            flipped: Sign::from(flipped),
            suspicion,
        }
    }

    /// Time passed without an event: after long enough silence the agent is idle.
    pub(crate) fn pass(&mut self, policy: &Policy, at: RunMillis) -> Option<ActivityMode> {
        let silent = at.minus(self.last_event_at.unwrap_or_default()) >= policy.activity.idle_after_ms;
        if silent { self.report(ActivityMode::Idle, at, policy) } else { None }
    }

    /// When silence would become idleness.
    pub(crate) fn idle_at(&self, policy: &Policy) -> Option<RunMillis> {
        match self.mode {
            ActivityMode::Idle => None,
            ActivityMode::Working | ActivityMode::Looping | ActivityMode::Runaway => {
                Some(self.last_event_at?.plus(policy.activity.idle_after_ms))
            }
        }
    }

    /// The report.
    pub(crate) fn state(&self) -> ActivityState {
        ActivityState { intensity: self.intensity.level(), mode: self.mode, reason: self.reason(), since: self.since }
    }

    /// The reported mode.
    pub(crate) const fn mode(&self) -> ActivityMode {
        self.mode
    }

    /// A person started over: what was seen before no longer counts.
    pub(crate) fn begin_anew(&mut self, at: RunMillis) {
        self.loops.begin_anew();
        self.similarity = SimilarityState::default();
        self.tempo = TempoState::default();
        (self.mode, self.shown, self.since) = (ActivityMode::Working, ActivityMode::Working, at);
        (self.changed_at, self.flipped_at) = (None, None);
    }

    fn reason(&self) -> Reason {
        Reason::fixed(match self.mode {
            ActivityMode::Idle => "no event for the idle time or longer",
            ActivityMode::Working => "regular, controlled event flow",
            ActivityMode::Looping => "the last events repeat themselves",
            ActivityMode::Runaway => "steps follow each other much faster than the baseline",
        })
    }

    /// Reports a mode if the dwell time allows it (ACT-2).
    fn report(&mut self, shown: ActivityMode, at: RunMillis, policy: &Policy) -> Option<ActivityMode> {
        if shown == self.mode {
            return None;
        }
        let dwell = match self.mode {
            ActivityMode::Idle | ActivityMode::Working => policy.activity.mode_dwell_ms,
            ActivityMode::Looping | ActivityMode::Runaway => policy.activity.alarm_dwell_ms,
        };
        if self.changed_at.is_some_and(|changed| at.minus(changed) < dwell) {
            return None;
        }
        (self.mode, self.since, self.changed_at) = (shown, at, Some(at));
        Some(shown)
    }

    /// Notices evidence that leaves a mode and returns to it within one dwell time: an unexpected flip (GATE-4).
    fn note_flip(&mut self, shown: ActivityMode, at: RunMillis, policy: &Policy) -> bool {
        if shown == self.shown {
            return false;
        }
        let flipped = self.flipped_at.is_some_and(|before| at.minus(before) < policy.activity.mode_dwell_ms);
        self.shown = shown;
        self.flipped_at = if flipped { None } else { Some(at) };
        flipped
    }

    fn suspicion(&self, policy: &Policy, alarm: Option<&Alarm>, runaway: Ratio) -> Ratio {
        let counted = alarm.map_or(Ratio::ZERO, |alarm| {
            Ratio::of(u64::from(alarm.count.get()), u64::from(policy.safety.hard_loop_threshold.get()))
        });
        let alike = self.similarity.closeness(policy.loops.loop_window_size);
        counted.max(alike).max(runaway)
    }
}
