//! The loop ladder: note, override, hold, stop (LOOP-1), in two readings of the same numbers (LOOP-2).
//!
//! [`strict`] counts to the letter of the documents. [`balanced`] counts on evidence: the same action with the same
//! result while nothing else moves. Both look at a bounded number of the newest calls, so every event costs the same.

mod alarm;
pub(crate) mod balanced;
mod measured;
mod refusals;
pub(crate) mod strict;
pub(crate) mod window;

pub(crate) use self::alarm::Alarm;
pub(crate) use self::refusals::{RequestBy, RequestPlace};

use self::alarm::{About, Candidate, Proof};
use self::balanced::Balanced;
use self::refusals::{Refusals, Unanswered, key_of};
use self::window::Window;
use super::{Sign, Surroundings};
use crate::chain::event::{Action, AgentEvent};
use crate::decision::{Finding, FindingKind, Level, Raised};
use crate::input::Request;
use crate::label::Fingerprint;
use crate::policy::{Policy, Profile};
use crate::rules::Rule;
use crate::units::Price;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};

/// What the ladder remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LoopState {
    /// What `balanced` remembers; empty in `strict`.
    balanced: Balanced,
    /// What `strict` remembers; empty in `balanced`.
    window: Window,
    /// The last alarm that was reported, so that it is reported once per level and not at every event.
    raised: Raised,
    /// The last lesser alarm that was reported beside a stricter one.
    beside: Raised,
    /// What an override forbade; repeating it is what stops the session.
    overridden: Option<Fingerprint>,
    /// Refused calls, in either profile.
    refusals: Refusals,
    /// Requests that bring no result, in either profile.
    unanswered: Unanswered,
}

impl LoopState {
    /// Takes in one event and gives the strictest alarm that holds now, and a lesser one that is to be reported beside it. Most
    /// events raise none, and what is not there need not be moved about.
    pub(crate) fn observe(
        &mut self,
        policy: &Policy,
        event: &AgentEvent,
        around: &Surroundings,
    ) -> (Option<Box<Alarm>>, Option<Box<Finding>>) {
        if event.action.is_some() {
            self.unanswered.answered();
        }
        let (alarm, beside) = match policy.profile {
            Profile::Strict => self.observe_strictly(policy, event, around),
            Profile::Balanced => (self.balanced.observe(policy, event, around), None),
        };
        let Some(refused) = self.refusals.observe(&policy.loops, event, around) else { return (alarm, beside) };
        let rank = |alarm: &Alarm| (alarm.level, alarm.news.is_present());
        match alarm {
            // What is only noted stands beside what is done.
            Some(alarm) if rank(&alarm) >= rank(&refused) => {
                let noted =
                    (refused.level == Level::Note && refused.news.is_present()).then(|| Box::new(refused.finding()));
                (Some(alarm), beside.or(noted))
            }
            Some(_) | None => (Some(refused), beside),
        }
    }

    fn observe_strictly(
        &mut self,
        policy: &Policy,
        event: &AgentEvent,
        around: &Surroundings,
    ) -> (Option<Box<Alarm>>, Option<Box<Finding>>) {
        if event.opens_epoch() {
            self.window.open_epoch();
            self.overridden = None;
        }
        self.window.open_step(around.new_step);
        self.window.look(event);
        let counted = |action: &&Action| !policy.loops.leaves_out(action);
        let Some(action) = event.action.as_ref().filter(counted) else { return (None, None) };
        self.window.push(action, event, around);
        let (candidate, lesser) = strict::judge(policy, &self.window);
        let spent = around.spent.plus(event.price());
        let beside = lesser.and_then(|lesser| self.report_beside(&lesser, action, spent)).map(Box::new);
        let Some(candidate) = candidate else {
            // The run was broken: the next one is overridden again before anything is stopped.
            if self.raised.level == Some(Level::Override) {
                self.raised = Raised::default();
            }
            return (None, beside);
        };
        (Some(Box::new(self.raise(&candidate, action, spent))), beside)
    }

    /// Turns a candidate into an alarm; its words are built once, when it has climbed.
    fn raise(&mut self, candidate: &Candidate, action: &Action, spent: Price) -> Alarm {
        if candidate.level == Level::Override {
            self.overridden = Some(candidate.key);
        }
        let reported = self.raised.key == candidate.key && self.raised.level >= Some(candidate.level);
        if reported {
            return Alarm::silent(candidate);
        }
        self.raised = Raised { key: candidate.key, level: Some(candidate.level) };
        self.window.prove(candidate, spent, action)
    }

    /// A note that a stricter alarm would hide is reported once all the same. Overrides and holds are not: what is
    /// reported is also done, and the strictest answer is what is done.
    fn report_beside(&mut self, lesser: &Candidate, action: &Action, spent: Price) -> Option<Finding> {
        let reported = [self.raised, self.beside].into_iter().any(|one| one.key == lesser.key && one.level.is_some());
        if reported || lesser.level > Level::Note {
            return None;
        }
        self.beside = Raised { key: lesser.key, level: Some(lesser.level) };
        Some(self.window.prove(lesser, spent, action).finding())
    }

    /// The alarm that a request would raise: the very action that an override has just forbidden, asked for again, or one
    /// that was asked for many times and never brought a result.
    pub(crate) fn foresee(&self, policy: &Policy, request: &Request, place: RequestPlace) -> Option<Alarm> {
        let action = &request.action;
        if policy.loops.leaves_out(action) {
            return None;
        }
        let repeated = match policy.profile {
            Profile::Strict => self.foresee_strictly(policy, action, place.spent),
            Profile::Balanced => self.balanced.foresee(policy, action, place.spent),
        };
        repeated.or_else(|| self.unanswered.foresee(&policy.loops, request, place))
    }

    /// A request was let pass.
    pub(crate) fn passed(&mut self, asked: RequestBy<'_>, place: RequestPlace) {
        // Only what has arguments is known well enough: asking the model, say, is one and the same action each time.
        if asked.0.args_digest.is_some() {
            self.unanswered.passed(key_of(asked), place);
        }
    }

    fn foresee_strictly(&self, policy: &Policy, action: &Action, spent: Price) -> Option<Alarm> {
        let newest = self.window.newest().filter(|call| call.exact == action.exact())?;
        let (run, key) = (self.window.exact_run(), newest.exact);
        let limit = policy.loops.loop_repeat_threshold.plus(policy.loops.loop_override_max_retries);
        if self.overridden != Some(key) || run.saturating_add(1) < limit.get() {
            return None;
        }
        let candidate = Candidate {
            level: Level::Stop,
            kind: FindingKind::SystemError,
            rule: Rule::LoopExact,
            count: run.saturating_add(1),
            key,
            proof: Proof::Exact(usize::try_from(run).unwrap_or(usize::MAX)),
            words: "times in a row, the last one asked for after a warning",
            about: About::Call,
            proven: Sign::Present,
        };
        Some(self.window.prove(&candidate, spent, action))
    }

    /// Whether the agent was warned of a loop that it has not left.
    pub(crate) const fn is_warned(&self) -> bool {
        self.balanced.is_warned()
    }

    /// A person or an advisor gave a new approach: what was counted before no longer counts.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self::default();
    }
}
