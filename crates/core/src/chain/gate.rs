//! Step 4: the single authority. It turns everything that is known into one answer, and it alone makes permits.
//!
//! The strictest answer wins (GATE-6): an ended session, then a refused request, then a hold, then a veto, then a
//! throttle. Vetoes among themselves follow the priority table of [`veto`].

pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod budget;
pub mod cause;
pub(crate) mod consequence;
pub(crate) mod context;
pub(crate) mod cooldown;
pub mod dirty_bits;
pub mod floor;
pub(crate) mod health;
pub(crate) mod identity;
pub(crate) mod incidents;
pub(crate) mod iterations;
pub(crate) mod minute;
pub(crate) mod money;
pub(crate) mod permission;
mod permit;
pub(crate) mod rate;
pub(crate) mod review;
pub(crate) mod standing;
mod state;
mod tool_limits;
pub mod veto;

pub use permit::Permit;
pub(crate) use state::SafetyGate;

use self::answer::GateOutcome;
use self::health::Weight;
use self::veto::VetoSet;
use super::activity::loops::Alarm;
use super::turn::Turn;
use crate::decision::{ActivityMode, Level, SafetyDecision, SafetyVeto};
use crate::policy::Policy;

impl SafetyGate {
    /// The verdict on everything that is known now.
    pub(crate) fn judge(&mut self, policy: &Policy, turn: &mut Turn<'_>) -> SafetyDecision {
        self.apply_health_cost(policy, turn);
        self.incidents.note(self.health.level(), turn);
        let vetoes = self.vetoes(policy, turn);
        self.act_on(policy, turn, vetoes);
        self.causes.note_holds_of(&turn.draft, turn.place.index);
        let answer = GateOutcome::of(self, policy, turn, vetoes);
        if turn.is_event() && answer.starts_cooldown(policy.profile) {
            self.cooldown.start(turn.place.at, policy.gate.cooldown_duration_ms);
        }
        self.warn(policy, turn);
        answer.into_decision(self, policy)
    }

    fn vetoes(&self, policy: &Policy, turn: &Turn<'_>) -> VetoSet {
        let mut vetoes = VetoSet::default();
        let at = turn.place.at;
        if turn.reading.runaway.is_present() {
            vetoes.add(SafetyVeto::RunawayDetected);
        }
        if turn.reading.similar.is_some()
            || turn.reading.alarm.as_deref().is_some_and(|alarm| alarm.level >= Level::Hold)
        {
            vetoes.add(SafetyVeto::LoopDetected);
        }
        if budget::is_exceeded(policy, &self.minute, self.health.level()) {
            vetoes.add(SafetyVeto::TokenBudgetExceeded);
        }
        if rate::is_exceeded(policy, &self.minute) {
            vetoes.add(SafetyVeto::RateLimitExceeded);
        }
        if self.cooldown.left(at).is_some() {
            vetoes.add(SafetyVeto::CooldownActive);
        }
        if self.health.condition(&policy.health) > health::Condition::Good {
            vetoes.add(SafetyVeto::HealthDegraded);
        }
        vetoes
    }

    /// What entering an alarm mode or flipping costs.
    fn apply_health_cost(&mut self, policy: &Policy, turn: &Turn<'_>) {
        match turn.reading.entered {
            Some(ActivityMode::Looping) => self.charge(policy, policy.health.looping_cost, Weight::Proof),
            Some(ActivityMode::Runaway) => self.charge(policy, policy.health.runaway_cost, Weight::Proof),
            Some(ActivityMode::Idle | ActivityMode::Working) | None => {}
        }
        if turn.reading.flipped.is_present() {
            self.charge(policy, policy.health.incident_cost, Weight::Hint);
        }
    }

    /// The alarm of the turn, if it is one that has just climbed.
    fn fresh_alarm<'a>(turn: &'a Turn<'_>) -> Option<&'a Alarm> {
        turn.reading.alarm.as_deref().filter(|alarm| alarm.news.is_present())
    }
}
