//! The advisors of our own loop: a list by priority, each asked when the one before has no answer (RUN-5).
//!
//! Where the policy asks for it, the first of them is also asked whether it sees a loop at all. That answer is written down for
//! the person who reads the record; it decides nothing.

use super::line::Line;
use super::phase::{Asked, Asker, Phase};
use super::record::{EngineFailure, Opinion, Spoken};
use super::{LoopEffect, Run};
use crate::effect::Deadlock;
use crate::policy::Switch;
use alloc::vec::Vec;

impl Run {
    /// Whether anybody can be asked.
    pub(super) const fn has_advisor(&self) -> bool {
        self.setup.advisor.is_some()
    }

    /// Asks the first advisor: about the loop itself where that is wanted, then for another approach.
    pub(super) fn begin_advice(&mut self, deadlock: Deadlock, views: &mut Vec<LoopEffect>) {
        if deadlock == Deadlock::HardLoop && self.rules.model_check == Switch::On && !self.due.loop_judged {
            self.due.loop_judged = true;
            self.phase = Phase::JudgingLoop;
            return;
        }
        self.due.loop_judged = false;
        self.due.advisor_at = 0;
        views.push(LoopEffect::Line(Line::Deadlock { deadlock }));
        self.phase = Phase::Advising(deadlock);
    }

    /// An advisor says whether it sees a loop.
    pub(super) fn take_opinion(&mut self, spoken: &Spoken, views: &mut Vec<LoopEffect>) {
        let opinion = Opinion::read(&spoken.text);
        views.push(LoopEffect::Line(Line::LoopCheck {
            engine: spoken.engine.clone(),
            opinion,
            text: spoken.text.clone(),
        }));
        self.after_speech(Asker::Opinion, spoken, views);
    }

    /// Nobody said whether it is a loop: the ladder goes on as it would without the question.
    pub(super) fn take_no_opinion(&mut self, failure: &EngineFailure, views: &mut Vec<LoopEffect>) {
        views.push(LoopEffect::Line(Line::EngineError(failure.clone())));
        self.after_spending(Asker::Opinion, failure, views);
    }

    pub(super) fn take_advice(&mut self, spoken: &Spoken, views: &mut Vec<LoopEffect>) {
        views.push(LoopEffect::Line(Line::Advice { engine: spoken.engine.clone(), text: spoken.text.clone() }));
        self.turn.advice = Some(spoken.clone());
        self.after_speech(Asker::Advice, spoken, views);
    }

    /// The advisor's words are accounted for. A blank answer is none: the next advisor is asked.
    pub(super) fn advice_heard(&mut self) {
        let blank = self.turn.advice.as_ref().is_none_or(|spoken| spoken.text.trim().is_empty());
        if blank && self.ask_next_advisor() {
            return;
        }
        self.due.advisor = None;
        self.due.advice_failed = blank;
        self.phase = Phase::Taking(Asked::Advice);
    }

    /// Without its advisor a held loop stays held; the chain says so when the model would be asked next.
    pub(super) fn take_no_advice(&mut self, failure: &EngineFailure, views: &mut Vec<LoopEffect>) {
        views.push(LoopEffect::Line(Line::EngineError(failure.clone())));
        self.after_spending(Asker::Advisor, failure, views);
    }

    pub(super) fn no_advice(&mut self, views: &mut Vec<LoopEffect>) {
        if self.ask_next_advisor() {
            return;
        }
        (self.due.advisor, self.due.advice_failed) = (None, true);
        self.go_on_without_advice(views);
    }

    /// Moves on to the next advisor of the list, if there is one.
    fn ask_next_advisor(&mut self) -> bool {
        let next = self.due.advisor_at.saturating_add(1);
        let Some(deadlock) = self.due.advisor.filter(|_| next <= self.setup.other_advisors.len()) else { return false };
        self.due.advisor_at = next;
        self.phase = Phase::Advising(deadlock);
        true
    }
}
