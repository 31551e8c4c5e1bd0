//! What follows from the evidence: overrides, holds, ends. In observe mode the findings stay and nothing else does.

use super::cause::Cause;
use super::health::Condition;
use super::iterations::Ended;
use super::money::BudgetState;
use super::state::SafetyGate;
use super::veto::VetoSet;
use super::{budget, rate};
use crate::chain::activity::loops::Alarm;
use crate::chain::turn::Turn;
use crate::decision::{FindingDetails, FindingKind, Level, SafetyVeto};
use crate::effect::{Deadlock, Effect, ExitStatus, HoldReason, IterationEnd, LoopOverride, StopReason};
use crate::input::Report;
use crate::policy::{Policy, Profile};
use crate::rules::Rule;
use crate::text::Reason;
use crate::units::Ratio;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// A warning that is given once until its cause has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warning {
    Tokens,
    Calls,
    Suspended,
    Tempo,
}

const fn mask(warning: Warning) -> u8 {
    match warning {
        Warning::Tokens => 1,
        Warning::Calls => 1 << 1,
        Warning::Suspended => 1 << 2,
        Warning::Tempo => 1 << 3,
    }
}

impl SafetyGate {
    /// Carries the evidence into the session's standing and into effects.
    pub(super) fn act_on(&mut self, policy: &Policy, turn: &mut Turn<'_>, vetoes: VetoSet) {
        self.act_on_loop(turn);
        self.act_on_runaway(policy, turn, vetoes);
        self.act_on_health(policy, turn);
        self.act_on_money(policy, turn);
        self.act_on_clock(policy, turn);
    }

    fn act_on_loop(&mut self, turn: &mut Turn<'_>) {
        if let Some(alike) = turn.reading.similar.as_ref().filter(|alike| alike.news.is_present()) {
            let (evidence, price) = (alike.evidence.clone(), alike.price);
            let reason = format!("the outputs of the last {} events are alike", evidence.indices().len());
            turn.note(FindingKind::LoopDetected, Rule::ActSimilarity, &reason);
            if let Some(finding) = turn.draft.findings.last_mut() {
                (finding.evidence, finding.price) = (evidence, price);
            }
        }
        if let Some(beside) = turn.reading.beside.take() {
            turn.draft.find(*beside);
        }
        let Some(alarm) = Self::fresh_alarm(turn).cloned() else { return };
        turn.draft.find(alarm.finding());
        if !self.is_armed() || self.standing.stopped().is_some() {
            return;
        }
        match alarm.level {
            Level::Note => {}
            Level::Override => turn.draft.cause(Effect::Inject(override_for(&alarm))),
            Level::Hold => {
                if self.standing.hold(HoldReason::Loop) {
                    self.causes.note_hold(HoldReason::Loop, Cause::of(&alarm, turn.place.index));
                    turn.draft.cause(Effect::Hold(HoldReason::Loop));
                    turn.draft.cause(Effect::AskAdvisor(Deadlock::HardLoop));
                    turn.draft.cause(Effect::Notify(alarm.reason.into_string().into()));
                }
            }
            Level::Stop => {
                let reason = if alarm.rule == Rule::LoopRefusals {
                    StopReason::Refusals
                } else if alarm.kind == FindingKind::InfiniteLoop {
                    StopReason::InfiniteLoop
                } else {
                    StopReason::SystemError
                };
                turn.draft.cause(Effect::WriteReport(Report::Blocker));
                self.causes.of_end = Some(Cause::of(&alarm, turn.place.index));
                self.end(turn, reason);
            }
        }
    }

    fn act_on_runaway(&mut self, policy: &Policy, turn: &mut Turn<'_>, vetoes: VetoSet) {
        if !turn.reading.hurried.is_present() && turn.is_event() {
            self.warned &= !mask(Warning::Tempo);
        } else if turn.reading.hurried.is_present() && self.warn_once(Warning::Tempo) {
            let reason = "recent steps follow each other in less than the allowed share of the baseline interval";
            turn.note(FindingKind::RunawayDetected, Rule::ActTempo, reason);
        }
        if !vetoes.has(SafetyVeto::RunawayDetected) {
            if turn.is_event() {
                self.runaway_since = None;
            }
            return;
        }
        let since = *self.runaway_since.get_or_insert(turn.place.at);
        let over = match policy.profile {
            Profile::Strict => true,
            Profile::Balanced => turn.place.at.minus(since) >= policy.gate.cooldown_duration_ms,
        };
        if over && self.is_armed() && self.standing.stopped().is_none() {
            let words = "steps followed each other much faster than the baseline";
            self.causes.of_end = Some(Cause::plain(turn.place.index, words));
            self.end(turn, StopReason::Runaway);
        }
    }

    fn act_on_health(&mut self, policy: &Policy, turn: &mut Turn<'_>) {
        match self.health.condition(&policy.health) {
            Condition::Good => self.warned &= !mask(Warning::Suspended),
            Condition::SoftSuspend => {
                if self.warn_once(Warning::Suspended) {
                    let reason = self.low_health(policy.health.soft_suspend_threshold);
                    turn.note(FindingKind::HealthDegraded, Rule::GateHealth, &reason);
                    turn.draft.detail(FindingDetails::Health {
                        health: self.health.level(),
                        threshold: policy.health.soft_suspend_threshold,
                    });
                    if self.is_armed() {
                        turn.draft.cause(Effect::Hold(HoldReason::SoftSuspend));
                        turn.draft.cause(Effect::Notify(reason.into()));
                    }
                }
            }
            Condition::HardStop => {
                if self.is_armed() && self.standing.stopped().is_none() {
                    let reason = self.low_health(policy.health.hard_stop_threshold);
                    self.causes.of_end = Some(Cause::plain(turn.place.index, &reason));
                    turn.note(FindingKind::HealthDegraded, Rule::GateHealth, &reason);
                    turn.draft.detail(FindingDetails::Health {
                        health: self.health.level(),
                        threshold: policy.health.hard_stop_threshold,
                    });
                    turn.draft.cause(Effect::Notify(reason.into()));
                    self.end(turn, StopReason::HardStop);
                }
            }
        }
    }

    /// How low health is, and which events brought it there.
    pub(super) fn low_health(&self, threshold: Ratio) -> String {
        let events = self.incidents.words();
        let colon = if events.is_empty() { "" } else { ": " };
        format!("health {} is below {threshold}{colon}{events}", self.health.level())
    }

    /// Money binds in observe mode too: a budget is a person's explicit word.
    fn act_on_money(&mut self, policy: &Policy, turn: &mut Turn<'_>) {
        match self.money.look(&policy.money) {
            BudgetState::Within => {
                self.standing.clear(HoldReason::Money);
            }
            BudgetState::Warn(left) => {
                self.standing.clear(HoldReason::Money);
                let budget = self.money.budget(&policy.money).unwrap_or_default();
                let text = format!("{} of the {} budget left: wrap up", left.in_dollars(), budget.in_dollars());
                turn.note(FindingKind::BudgetWarning, Rule::GateMoney, &text);
                turn.draft.detail(FindingDetails::Budget {
                    budget_micro_usd: budget,
                    spent_micro_usd: self.money.spent().micro_usd,
                });
                turn.draft.cause(Effect::Prompt(text.into()));
            }
            BudgetState::UsedUp => {
                if self.standing.hold(HoldReason::Money) {
                    let budget = self.money.budget(&policy.money).unwrap_or_default();
                    let text = format!("budget of {} reached", budget.in_dollars());
                    turn.note(FindingKind::BudgetWarning, Rule::GateMoney, &text);
                    turn.draft.detail(FindingDetails::Budget {
                        budget_micro_usd: budget,
                        spent_micro_usd: self.money.spent().micro_usd,
                    });
                    turn.draft.cause(Effect::Hold(HoldReason::Money));
                    turn.draft.cause(Effect::Notify(text.into()));
                }
            }
        }
    }

    /// Wall clocks and the step cap, in the order of TERM-1; they bind in observe mode too when they were set.
    fn act_on_clock(&mut self, policy: &Policy, turn: &mut Turn<'_>) {
        let session_over = self.session_deadline(policy).is_some_and(|deadline| turn.place.at >= deadline);
        if session_over && self.standing.stopped().is_none() {
            turn.note(FindingKind::WallClockTimeout, Rule::TermWallClock, "the session's wall clock ran out");
            self.end(turn, StopReason::WallClock);
            return;
        }
        let Some(status) = self.iterations.check(&policy.limits, turn.place.at) else { return };
        if status == ExitStatus::MaxSteps && !self.is_armed() {
            return; // A step cap blocks, and observing blocks nothing.
        }
        let (how, kind, rule, reason) = match status {
            ExitStatus::Timeout => {
                let reason = "the iteration's wall clock ran out";
                (Ended::Timeout, FindingKind::WallClockTimeout, Rule::TermWallClock, reason)
            }
            ExitStatus::MaxSteps | ExitStatus::Interrupted | ExitStatus::SystemError | ExitStatus::Completed => {
                let reason = "the iteration has used up its steps";
                (Ended::MaxSteps, FindingKind::CycleTermination, Rule::TermSteps, reason)
            }
        };
        self.iterations.end(how);
        turn.note(kind, rule, reason);
        turn.draft.cause(Effect::EndIteration(IterationEnd {
            exit_status: status,
            interrupt_reason: Some(reason.to_owned().into()),
            verdict: None,
        }));
        if status == ExitStatus::Timeout {
            turn.draft.cause(Effect::Kill);
        }
    }

    /// Ends the session: the reason, the end of the iteration, the end of the processes.
    pub(crate) fn end(&mut self, turn: &mut Turn<'_>, reason: StopReason) {
        if self.standing.stopped().is_some() {
            return;
        }
        self.standing.stop(reason);
        let exit_status = match reason {
            StopReason::StoppedByPerson => ExitStatus::Interrupted,
            StopReason::WallClock => ExitStatus::Timeout,
            StopReason::SystemError
            | StopReason::InfiniteLoop
            | StopReason::HardStop
            | StopReason::Runaway
            | StopReason::Refusals => ExitStatus::SystemError,
        };
        turn.draft.cause(Effect::Stop(reason));
        if self.iterations.ended().is_none() {
            turn.draft.cause(Effect::EndIteration(IterationEnd {
                exit_status,
                interrupt_reason: Some(match &self.causes.of_end {
                    Some(cause) => Reason::from(format!("stopped: {}", cause.what)),
                    None => Reason::fixed(reason.in_short()),
                }),
                verdict: None,
            }));
        }
        self.iterations.end(Ended::Done);
        turn.draft.cause(Effect::Kill);
    }

    /// The two warnings of the minute, each once until its cause has gone.
    pub(super) fn warn(&mut self, policy: &Policy, turn: &mut Turn<'_>) {
        if !budget::is_near(policy, &self.minute) {
            self.warned &= !mask(Warning::Tokens);
        } else if self.warn_once(Warning::Tokens) {
            let text = format!("{} tokens in the last minute", self.minute.tokens());
            turn.note(FindingKind::TokenWarning, Rule::GateTokens, &text);
        }
        if !rate::is_near(policy, &self.minute) {
            self.warned &= !mask(Warning::Calls);
        } else if self.warn_once(Warning::Calls) {
            let text = format!("{} tool calls in the last minute", self.minute.calls());
            turn.note(FindingKind::ToolCallWarning, Rule::GateCalls, &text);
        }
    }

    const fn warn_once(&mut self, warning: Warning) -> bool {
        let new = self.warned & mask(warning) == 0;
        self.warned |= mask(warning);
        new
    }
}

/// The typed constraint that an alarm asks for.
fn override_for(alarm: &Alarm) -> LoopOverride {
    LoopOverride {
        advice: None,
        do_not_repeat: alarm.object.clone(),
        result: alarm.result,
        seen: alarm.count,
        workspace: alarm.workspace,
    }
}
