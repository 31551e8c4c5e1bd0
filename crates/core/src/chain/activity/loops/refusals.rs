//! LOOP-7: refusals in a row, whatever was asked for. Each of them costs a model request and none of them is work.
//!
//! A call that a permission, the destructive-command guard, a review or the client itself refuses is an event with the class
//! `refused`. Unlike the other rules this one does not ask whether calls are alike: it counts in both profiles.

use super::alarm::{About, Alarm, Candidate, cost, push_indices};
use crate::chain::activity::{NewStep, Sign, Surroundings};
use crate::chain::event::{Action, AgentEvent, ErrorClass};
use crate::decision::{Evidence, FindingKind, Level};
use crate::effect::Sameness;
use crate::input::Request;
use crate::label::{Fingerprint, Label};
use crate::limits::REFUSALS_WINDOW_MAX;
use crate::policy::Loops;
use crate::ring::Ring;
use crate::rules::Rule;
use crate::text::SignatureText;
use crate::units::{Count, EventIndex, Price};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What to do about calls that never run.
const WAY_OUT: &str = "ask a person to allow it, or work without it";
/// Refused calls that are remembered as evidence.
const REMEMBERED: usize = 10;

/// What the breaker remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Refusals {
    /// The newest outcomes, one bit each, the newest lowest; a set bit is a refusal.
    outcomes: u64,
    /// Refusals since the last call that was not refused.
    row: Count,
    newest: Ring<RefusedCall, REMEMBERED>,
    reported: Option<Level>,
}

/// A refused call, as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RefusedCall {
    index: EventIndex,
    spent: Price,
}

impl Refusals {
    /// Takes in one event; gives the alarm that holds now.
    pub(super) fn observe(&mut self, loops: &Loops, event: &AgentEvent, around: &Surroundings) -> Option<Box<Alarm>> {
        if event.user_turn {
            // A person has seen it and asks for more.
            *self = Self::default();
        }
        let outcome = event.outcome.filter(|_| event.action.is_some())?;
        if outcome.error_class != Some(ErrorClass::Refused) {
            self.outcomes <<= 1;
            self.row = Count::ZERO;
            self.reported = self.reported.filter(|level| *level > Level::Note);
            return None;
        }
        // Calls of one model turn that are refused together are one refusal: the agent could not learn from the first.
        if self.row > Count::ZERO && around.new_step == NewStep::No {
            return None;
        }
        self.outcomes = (self.outcomes << 1) | 1;
        self.row = self.row.next();
        self.newest.push(RefusedCall { index: around.place.index, spent: around.spent });
        let reached = self.reached(loops)?;
        let news = self.reported < Some(reached.level);
        self.reported = self.reported.max(Some(reached.level));
        if !news && reached.level < Level::Hold {
            return Some(Box::new(Alarm::silent(&reached)));
        }
        let mut alarm = Box::new(self.prove(&reached, around.spent.plus(event.price())));
        alarm.news = Sign::from(news);
        Some(alarm)
    }

    fn reached(&self, loops: &Loops) -> Option<Candidate<()>> {
        let window = loops.refusals_window.get().min(REFUSALS_WINDOW_MAX);
        let mask = if window >= u64::BITS { u64::MAX } else { (1_u64 << window).wrapping_sub(1) };
        let recent = Count::new((self.outcomes & mask).count_ones());
        let (level, kind, count, words) = if recent >= loops.refusals_stop_threshold {
            (Level::Stop, FindingKind::InfiniteLoop, recent, "calls of late were refused, whatever was asked for")
        } else if self.row >= loops.refusals_hold_threshold {
            (Level::Hold, FindingKind::HardLoop, self.row, "calls in a row were refused, whatever was asked for")
        } else if self.row >= loops.refusals_note_threshold {
            (Level::Note, FindingKind::SoftLoop, self.row, "calls in a row were refused")
        } else {
            return None;
        };
        let key = Label::cut("refusals").fingerprint();
        Some(Candidate {
            level,
            kind,
            rule: Rule::LoopRefusals,
            count: count.get(),
            key,
            proof: (),
            words,
            about: About::Nothing,
            proven: Sign::Present,
        })
    }

    fn prove(&self, reached: &Candidate<()>, spent: Price) -> Alarm {
        let count = usize::try_from(reached.count).unwrap_or(usize::MAX);
        let mut calls: Vec<&RefusedCall> = self.newest.newest_first().take(count).collect();
        calls.reverse();
        let indices: Vec<EventIndex> = calls.iter().map(|call| call.index).collect();
        // The first refusal was no repeat yet: the price counts from the second.
        let before = calls.get(1).or_else(|| calls.first()).map(|call| call.spent).unwrap_or_default();
        let price = spent.since(before);
        let mut reason = format!("{} {}{}: {WAY_OUT} (see ", reached.count, reached.words, cost(price));
        push_indices(&mut reason, &indices);
        reason.push(')');
        Alarm {
            level: reached.level,
            kind: reached.kind,
            rule: reached.rule,
            count: Count::new(reached.count),
            key: reached.key,
            evidence: Evidence::new(indices),
            price,
            reason: reason.into(),
            signature: SignatureText::default(),
            object: Label::default(),
            result: Sameness::Unknown,
            workspace: Sameness::Unknown,
            news: Sign::Present,
            proven: reached.proven,
        }
    }
}

/// LOOP-6: a call that is asked for again and again and never brings a result, where no record of the client says why.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Unanswered {
    action: Fingerprint,
    first: RequestPlace,
    /// How often it was let pass since the last result of any call.
    count: Count,
}

/// What is asked for, and the sub-agent that asks.
pub(crate) type RequestBy<'a> = (&'a Action, Option<&'a Label>);

/// What tells one agent's request from all others.
pub(super) fn key_of((action, agent): RequestBy<'_>) -> Fingerprint {
    action.exact().and(agent.map_or(Fingerprint::NONE, Label::fingerprint))
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct RequestPlace {
    /// Its index.
    pub(crate) index: EventIndex,
    /// Spent before it.
    pub(crate) spent: Price,
}

impl Unanswered {
    /// A call brought a result: what was asked for is being answered.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// A request was let pass.
    pub(super) fn passed(&mut self, action: Fingerprint, place: RequestPlace) {
        if self.action != action || self.count == Count::ZERO {
            *self = Self { action, first: place, count: Count::ZERO };
        }
        self.count = self.count.next();
    }

    /// The alarm that another request of the same call raises. Calls that are known to run still have not failed to bring a
    /// result.
    pub(super) fn foresee(&self, loops: &Loops, request: &Request, place: RequestPlace) -> Option<Alarm> {
        let (key, named) = (key_of((&request.action, request.agent_id.as_ref())), request.action.named());
        if self.action != key {
            return None;
        }
        let lost = self.count.get().saturating_sub(request.running.unwrap_or_default().get());
        let count = Count::new(lost).next();
        let (level, kind) = if count >= loops.unanswered_hold_threshold {
            (Level::Hold, FindingKind::HardLoop)
        } else if count == loops.unanswered_override_threshold {
            (Level::Override, FindingKind::LoopOverride)
        } else {
            return None;
        };
        let reason = format!(
            "`{named}` was asked for {count} times, and no call brought a result{}: {WAY_OUT} (see #{} to #{})",
            cost(place.spent.since(self.first.spent)),
            self.first.index,
            place.index
        );
        Some(Alarm {
            level,
            kind,
            rule: Rule::LoopUnanswered,
            count,
            key,
            evidence: Evidence::new(alloc::vec![self.first.index, place.index]),
            price: place.spent.since(self.first.spent),
            reason: reason.into(),
            signature: request.action.shown().into(),
            object: Label::cut(&named),
            result: Sameness::Unknown,
            workspace: Sameness::Unknown,
            news: Sign::Present,
            proven: Sign::Absent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::event::{Action, Outcome, Status};
    use crate::input::Place;
    use crate::units::{Ratio, RunMillis, Tokens};

    fn around(n: u64, new_step: NewStep) -> Surroundings {
        Surroundings {
            place: Place { index: EventIndex::new(n), at: RunMillis::new(n) },
            spent: Price::default(),
            new_step,
            minute_tokens: Tokens::ZERO,
            error_rate: Ratio::ZERO,
        }
    }

    fn event(refused: Sign) -> AgentEvent {
        let outcome = if refused.is_present() {
            Outcome { error_class: Some(ErrorClass::Refused), status: Status::Error, ..Outcome::default() }
        } else {
            Outcome::default()
        };
        AgentEvent { action: Some(Action::default()), outcome: Some(outcome), ..AgentEvent::default() }
    }

    fn levels(signs: &[Sign]) -> Vec<Option<Level>> {
        let mut refusals = Refusals::default();
        let loops = Loops::default();
        let levels = (0..).zip(signs).map(|(n, sign)| {
            refusals.observe(&loops, &event(*sign), &around(n, NewStep::Yes)).map(|alarm| alarm.level)
        });
        levels.collect()
    }

    #[test]
    fn loop_7_refusals_in_a_row_are_noted_at_3_and_held_at_5() {
        let five = levels(&[Sign::Present; 5]);
        assert_eq!(five, [None, None, Some(Level::Note), Some(Level::Note), Some(Level::Hold)]);
    }

    #[test]
    fn loop_7_work_in_between_breaks_the_row_and_ten_of_fifty_stop() {
        let row: Vec<Sign> = [Sign::Present, Sign::Present, Sign::Absent].into_iter().cycle().take(12).collect();
        assert_eq!(levels(&row), alloc::vec![None; 12], "never three in a row, and eight of twelve");
        let long: Vec<Sign> = [Sign::Present, Sign::Absent].into_iter().cycle().take(19).collect();
        assert_eq!(levels(&long).last(), Some(&Some(Level::Stop)));
        let thin: Vec<Sign> = (0..300).map(|n| Sign::from(n % 6 == 0)).collect();
        assert_eq!(levels(&thin), alloc::vec![None; 300], "nine of fifty");
    }

    #[test]
    fn loop_7_one_turns_calls_are_one_refusal_and_a_person_begins_anew() {
        let (mut refusals, loops) = (Refusals::default(), Loops::default());
        for n in 0..20 {
            let step = if n == 0 { NewStep::Yes } else { NewStep::No };
            assert_eq!(refusals.observe(&loops, &event(Sign::Present), &around(n, step)), None);
        }
        let mut refusals = Refusals::default();
        for n in 0..20 {
            let spoken = AgentEvent { user_turn: n % 2 == 0, ..event(Sign::Present) };
            assert_eq!(refusals.observe(&loops, &spoken, &around(n, NewStep::Yes)), None);
        }
    }

    fn action(tool: &str) -> Action {
        Action { tool: Label::cut(tool), ..Action::default() }
    }

    fn request(action: &Action, running: u32) -> Request {
        Request {
            action: action.clone(),
            authority: None,
            floor: None,
            proposal: None,
            reserve_micro_usd: None,
            agent_id: None,
            starts_agent: None,
            running: Some(Count::new(running)),
        }
    }

    #[test]
    fn loop_6_equal_calls_that_run_at_once_are_quiet_and_those_that_ended_without_a_result_count() {
        let (mut open, loops) = (Unanswered::default(), Loops::default());
        let action = action("slow");
        let place = |n| RequestPlace { index: EventIndex::new(n), spent: Price::default() };
        for n in 0..40_u32 {
            assert_eq!(open.foresee(&loops, &request(&action, n), place(n.into())), None, "{n} run");
            open.passed(key_of((&action, None)), place(n.into()));
        }
        let level = |running| open.foresee(&loops, &request(&action, running), place(40)).map(|alarm| alarm.level);
        assert_eq!((level(36), level(3)), (Some(Level::Override), Some(Level::Hold)));
    }

    #[test]
    fn loop_6_ten_requests_for_one_call_without_any_result_are_held() {
        let (mut open, loops) = (Unanswered::default(), Loops::default());
        let action = action("curl");
        let place = |n| RequestPlace { index: EventIndex::new(n), spent: Price::default() };
        let mut seen = Vec::new();
        for n in 0..10 {
            seen.push(open.foresee(&loops, &request(&action, 0), place(n)).map(|alarm| alarm.level));
            open.passed(key_of((&action, None)), place(n));
        }
        assert_eq!(seen.get(4), Some(&Some(Level::Override)));
        assert_eq!(seen.iter().flatten().count(), 2);
        assert_eq!(seen.last(), Some(&Some(Level::Hold)));
    }

    #[test]
    fn loop_6_a_result_or_another_call_in_between_is_quiet() {
        let (mut open, loops) = (Unanswered::default(), Loops::default());
        let place = |n| RequestPlace { index: EventIndex::new(n), spent: Price::default() };
        for n in 0..40 {
            let action = action(if n % 2 == 0 { "a" } else { "b" });
            assert_eq!(open.foresee(&loops, &request(&action, 0), place(n)), None);
            open.passed(key_of((&action, None)), place(n));
        }
        for n in 0..40 {
            let action = action("a");
            assert_eq!(open.foresee(&loops, &request(&action, 0), place(n)), None);
            open.passed(key_of((&action, None)), place(n));
            if n % 4 == 2 {
                open.answered();
            }
        }
    }
}
