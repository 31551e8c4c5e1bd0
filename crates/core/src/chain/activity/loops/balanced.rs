//! The ladder counted on evidence: what repeats is the call *and* its result, the error, the question, the lack of news.
//!
//! Every rule is a small file of its own and looks at one [`history::History`] of bounded size. Rules that count repeats count
//! within an epoch only: a change that succeeds for the first time, or a person's word, opens a new one. Hold and stop
//! need proof, a result that is known to be the same; and no rung is skipped: before a hold comes an override.

mod action;
mod cycle;
mod echo;
mod error;
mod failing;
mod history;
mod ignored;
mod memory;
mod paging;
mod repeat;
mod replies;
mod reword;
mod rung;
mod signature;
mod spawn;
mod stale;
mod streak;
mod thrash;

use self::history::{CallMark, PastCall, SPAN};
use self::ignored::Forbidden;
use self::memory::Memory;
pub(super) use self::rung::Basis;
use self::rung::{Reached, RuleView};
use super::alarm::{About, Alarm, Candidate, Named, clause, cost, push_indices};
use crate::chain::activity::{Sign, Surroundings};
use crate::chain::event::{Action, AgentEvent};
use crate::decision::{Evidence, FindingKind, Level, Raised};
use crate::effect::Sameness;
use crate::label::{Fingerprint, Label};
use crate::policy::Policy;
use crate::rules::Rule;
use crate::units::{Count, EventIndex, Price};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;
use serde::{Deserialize, Serialize};

/// How many rules there are, for what was reported of each.
const RULES: usize = 16;

/// What the evidence-based ladder remembers of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Balanced {
    memory: Memory,
    /// What each rule has reported in this epoch, so that a rung is reported once.
    reported: [Raised; RULES],
    /// The call and result that the repeat rule has overridden: bringing it once more in a row ends the session.
    overridden: Option<Fingerprint>,
    /// What the overrides of this epoch rested on.
    forbidden: Forbidden,
    /// The turn in which the first override of this epoch was given; nothing is held before the model could read it.
    warned: Option<u32>,
    /// The same turn by the client's name for it, where it has one.
    warned_in: Fingerprint,
}

impl Balanced {
    /// Takes in one event and gives the strictest alarm that holds now.
    pub(crate) fn observe(&mut self, policy: &Policy, event: &AgentEvent, around: &Surroundings) -> Option<Box<Alarm>> {
        if event.user_turn {
            self.memory.open_epoch();
            self.forget_reported();
        }
        self.memory.history.note_turn(around.new_step);
        self.memory.history.measured.look(event);
        if event.is_infrastructure_error() {
            return None; // A retry after 429, 503 or 529 says nothing about the agent (LOOP-3).
        }
        let action = event.action.as_ref()?;
        if policy.loops.leaves_out(action) {
            // A person took it out of the rules; what it moved has moved all the same.
            if event.opens_epoch() {
                self.memory.open_epoch();
                self.forget_reported();
            }
            return None;
        }
        let seen = self.memory.take(policy, action, event, around);
        let named = Named { action, error: event.error_text.as_ref(), ignored: event.ignored.as_ref() };
        let warned = self.warned;
        let alarm = self.judge(policy, named, around.spent.plus(event.price()), seen.repeated_in_turn);
        if warned.is_none() && self.warned.is_some() {
            self.warned_in = event.turn_id.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
        }
        if seen.opens_epoch.is_present() {
            self.memory.open_epoch();
            self.forget_reported();
        }
        alarm
    }

    fn forget_reported(&mut self) {
        (self.reported, self.overridden, self.warned) = ([Raised::default(); RULES], None, None);
        (self.forbidden, self.warned_in) = (Forbidden::default(), Fingerprint::NONE);
    }

    /// Whether a hold or a stop may come in this epoch, as somebody was warned.
    pub(crate) const fn is_warned(&self) -> bool {
        self.warned.is_some()
    }

    fn judge(&mut self, policy: &Policy, named: Named<'_>, spent: Price, parallel: Sign) -> Option<Box<Alarm>> {
        let newest = *self.memory.history.newest()?;
        let view = RuleView {
            history: &self.memory.history,
            newest: &newest,
            policy,
            overridden: self.overridden,
            warned: Sign::from(self.warned.is_some_and(|turn| turn != self.memory.history.turn())),
        };
        let mut top = TopRung { reported: &self.reported, warned: view.warned, repeats: Sign::Absent, best: None };
        // The same call with the same result twice in one turn counts once for the rules that count entries.
        if !parallel.is_present() {
            top.take(0, repeat::judge(&view));
            top.take(1, cycle::judge(&view));
            top.take(2, error::same(&view));
            top.take(3, error::kind(&view));
            top.take(4, reword::judge(&view));
            top.take(5, echo::judge(&view));
            top.take(6, action::judge(&view));
            top.take(7, signature::judge(&view, &self.memory.signed));
            top.take(8, paging::judge(&view, &self.memory.paging));
            top.take(9, ignored::judge(&view, &self.forbidden));
            top.take(10, spawn::judge(&view));
        }
        top.take(11, failing::judge(&view, &self.memory.failing));
        top.take(12, thrash::judge(&view, &self.memory.thrash));
        top.take(13, stale::judge(&view, &self.memory.stale));
        top.take(14, replies::restart(&view, &self.memory.replies));
        top.take(15, replies::chant(&view, &self.memory.replies));
        let TopRung { repeats, best, .. } = top;
        let (place, reached, news) = best?;
        if repeats.is_present() {
            self.overridden = Some(newest.pair);
        }
        if reached.level >= Level::Override {
            self.warned.get_or_insert(self.memory.history.turn());
            self.forbidden.remember(&self.memory.history, &reached);
        }
        if let Some(reported) = self.reported.get_mut(place) {
            *reported = Raised {
                key: reached.key,
                level: reported.level.filter(|_| !news.is_present()).max(Some(reached.level)),
            };
        }
        if !news.is_present() && reached.level < Level::Hold {
            return Some(Box::new(Alarm::silent(&reached)));
        }
        let mut alarm = Box::new(self.prove(&reached, spent, named));
        alarm.news = news;
        Some(alarm)
    }

    /// The alarm that a request would raise: the very call that an override has forbidden, asked for again.
    pub(crate) fn foresee(&self, policy: &Policy, action: &Action, spent: Price) -> Option<Alarm> {
        let newest = self.memory.history.newest().filter(|entry| entry.action == action.exact())?;
        let run = self.memory.history.row();
        let limit = policy.loops.loop_repeat_threshold.plus(policy.loops.loop_override_max_retries);
        let provable = newest.is_known() && !newest.takes_its_time() && !newest.has(CallMark::Landed);
        // A call of the very turn whose result brought the override was asked for before the model could read it.
        let asking = action.turn_id.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
        let unread = asking.is_some() && asking == self.warned_in;
        if !provable || unread || self.overridden != Some(newest.pair) || run.saturating_add(1) < limit.get() {
            return None;
        }
        let pair = newest.pair;
        let candidate = Candidate {
            level: Level::Stop,
            kind: FindingKind::SystemError,
            rule: Rule::LoopExact,
            count: run.saturating_add(1),
            key: pair,
            proof: Basis::Entries(self.memory.history.mark(SPAN, |entry| entry.pair == pair)),
            words: "times in a row with the same result, the last one asked for after a warning",
            about: About::Call,
            proven: Sign::Present,
        };
        Some(self.prove(&candidate, spent, Named { action, error: None, ignored: None }))
    }

    /// Collects the proof of a candidate and puts it into words.
    fn prove(&self, reached: &Reached, spent: Price, named: Named<'_>) -> Alarm {
        let mut seen = String::new();
        let newest = self.memory.history.newest().copied().unwrap_or_default();
        let (indices, before, result) = match reached.proof {
            Basis::Entries(marked) => {
                let entries: Vec<&PastCall> = self.memory.history.marked(marked);
                let indices: Vec<EventIndex> = entries.iter().map(|entry| entry.index).collect();
                push_indices(&mut seen, &indices);
                // The first call was no repeat yet: the price counts from the second.
                let before = entries.get(1).or_else(|| entries.first()).map(|entry| entry.spent).unwrap_or_default();
                (indices, before, sameness(&entries))
            }
            Basis::Since(start) => {
                // Writing into a String cannot fail; a shorter reason would be the only harm.
                let _written = write!(seen, "#{} to #{}", start.index, newest.index);
                (alloc::vec![start.index, newest.index], start.spent, Sameness::Unknown)
            }
        };
        let workspace = self.memory.history.workspace_since(indices.first().copied().unwrap_or_default());
        let (object, subject) = named.subject(reached.about, &self.memory.history.names());
        let colon = if subject.is_empty() { "" } else { ": " };
        let ignored = named.ignored.map(|word| format!(", ignoring `{word}` which changes at each repetition"));
        let price = spent.since(before);
        let reason = format!(
            "{subject}{colon}{} {}{}{}{}: {} (see {seen})",
            reached.count,
            reached.words,
            clause(workspace),
            ignored.unwrap_or_default(),
            cost(price),
            reached.about.way_out()
        );
        Alarm {
            level: reached.level,
            kind: reached.kind,
            rule: reached.rule,
            count: Count::new(reached.count),
            key: reached.key,
            evidence: Evidence::new(indices),
            price,
            reason: reason.into(),
            signature: named.action.shown().into(),
            object,
            result,
            workspace,
            news: Sign::Present,
            proven: reached.proven,
        }
    }
}

/// The strictest rung that a rule has reached so far; of two that are equal the one with news, then the first.
struct TopRung<'r> {
    reported: &'r [Raised; RULES],
    /// Whether the model has read a warning before.
    warned: Sign,
    /// Whether the newest call repeats an earlier one.
    repeats: Sign,
    /// The place of the rule, what it has reached, and whether that is news.
    best: Option<(usize, Reached, Sign)>,
}

impl TopRung<'_> {
    fn take(&mut self, place: usize, reached: Option<Reached>) {
        let Some(mut reached) = reached else { return };
        if reached.level >= Level::Hold && !self.warned.is_present() {
            // No rung is skipped: the model has read a warning before anything waits.
            (reached.level, reached.kind) = (Level::Override, FindingKind::LoopOverride);
        }
        if matches!(reached.rule, Rule::LoopRepeat | Rule::LoopExact) {
            self.repeats = Sign::Present;
        }
        let reported = self.reported.get(place).copied().unwrap_or_default();
        let news = Sign::from(reported.key != reached.key || reported.level < Some(reached.level));
        let rank = |level: Level, news: Sign| (level, news.is_present());
        if self.best.as_ref().is_none_or(|(_, top, fresh)| rank(reached.level, news) > rank(top.level, *fresh)) {
            self.best = Some((place, reached, news));
        }
    }
}

/// Whether all brought the same, as far as it is known.
fn sameness(entries: &[&PastCall]) -> Sameness {
    match entries.split_first() {
        Some((first, rest)) if entries.iter().all(|entry| entry.is_known()) => {
            if rest.iter().all(|entry| entry.result == first.result) { Sameness::Identical } else { Sameness::Changed }
        }
        Some(_) | None => Sameness::Unknown,
    }
}
