//! What people do and leave: acts that open, hold or end a session, and reports that wait to be read.

use super::Chain;
use super::turn::Turn;
use crate::decision::FindingKind;
use crate::effect::{Effect, HoldReason, StopReason};
use crate::input::{Counter, HumanAct, Report, ReportCause, Retune, StandingReport};
use crate::policy::{Policy, Profile};
use crate::rules::Rule;
use crate::units::{Count, RunMillis};
use alloc::format;
use alloc::sync::Arc;

impl Chain {
    pub(super) fn take_human(&mut self, act: &HumanAct, turn: &mut Turn<'_>) {
        let gate = &mut self.state.gate;
        let (act, by) = act.unsigned();
        let done: &str = match act {
            HumanAct::Stop => {
                gate.end(turn, StopReason::StoppedByPerson);
                "a person stopped the session"
            }
            HumanAct::WithdrawStop => {
                if gate.standing.stopped() == Some(StopReason::StoppedByPerson) {
                    gate.standing.restart();
                }
                "a person lifted the stop"
            }
            HumanAct::Pause => {
                if gate.standing.hold(HoldReason::Paused) {
                    turn.draft.cause(Effect::Hold(HoldReason::Paused));
                }
                "a person paused the session"
            }
            HumanAct::Resume => {
                self.resume();
                "a person resumed the session"
            }
            HumanAct::Restart => {
                gate.restart(&self.policy, turn.place.at);
                self.state.activity.begin_anew(turn.place.at);
                "a person restarted the session"
            }
            HumanAct::Acknowledge(report) => self.acknowledge(*report),
            HumanAct::SetCounter(edit) => {
                match edit.counter {
                    Counter::Iterations => gate.iterations.set_count(edit.value),
                    Counter::ConsecutiveFailures => self.state.progress.set_failures(edit.value),
                }
                "a person set a counter"
            }
            HumanAct::SetDirtyBits(edit) => {
                gate.dirty.edit(*edit, by.as_ref());
                "a person set dirty bits"
            }
            HumanAct::RaiseBudget(by) => {
                gate.money.raise(*by);
                "a person raised the money budget"
            }
            HumanAct::Prompt => {
                self.go_on_after_loop(turn.place.at);
                "a person spoke again after a loop: the session goes on"
            }
            HumanAct::AllowOnce(code) => gate.floor.allow(code, turn.place, by.as_ref()).words(),
            HumanAct::Deny(code) => gate.floor.deny(code, turn.place, by.as_ref()).words(),
            HumanAct::SetMode(mode) => {
                gate.mode = *mode;
                "a person changed whether decisions bind"
            }
            HumanAct::MendGuard => {
                gate.standing.clear(HoldReason::GuardFailure);
                "a person fixed what broke the guard"
            }
            HumanAct::Retune(retune) => self.retune(retune),
            HumanAct::ChangeFiles(what) => {
                gate.dirty.change_by_hand();
                what.as_str()
            }
            HumanAct::Other(what) => what.as_str(),
            // An act is signed once.
            HumanAct::Signed(_) => "a person's act was signed twice and has no effect",
        };
        let text = by.as_ref().map_or_else(|| done.into(), |by| format!("{done} ({by})"));
        turn.note(FindingKind::ManualOverride, Rule::Control, &text);
    }

    /// A person sets a limit or the budget; thresholds stay as they were frozen.
    fn retune(&mut self, retune: &Retune) -> &'static str {
        let mut policy = Policy::clone(&self.policy);
        let set = Retune::may_set(retune.key.as_str())
            && policy.set(retune.key.as_str(), retune.value.as_str()).is_ok()
            && policy.check().is_ok();
        if !set {
            return "a person's change of a setting was not applied: it is frozen, or its value is wrong";
        }
        self.policy = Arc::new(policy);
        let gate = &mut self.state.gate;
        if retune.is_budget() {
            gate.money.begin_budget();
        }
        "a person set a limit of the session"
    }

    /// A person has read a report: what it held is cleared, and its counter goes to zero.
    fn acknowledge(&mut self, report: Report) -> &'static str {
        let gate = &mut self.state.gate;
        match report {
            Report::Blocker => {
                gate.standing.clear(HoldReason::NoProgress);
                gate.standing.clear(HoldReason::UnreadBlocker);
                self.state.progress.set_failures(Count::ZERO);
                "a person cleared the blocker report"
            }
            Report::Checkpoint => {
                gate.standing.clear(HoldReason::IterationCap);
                gate.standing.clear(HoldReason::UnreadCheckpoint);
                gate.iterations.set_count(Count::ZERO);
                "a person cleared the checkpoint"
            }
        }
    }

    /// A person says: go on. Clears what waits for a look, and vouches for health; reports need their own act.
    fn resume(&mut self) {
        let gate = &mut self.state.gate;
        for hold in [HoldReason::Paused, HoldReason::GuardFailure, HoldReason::Converged, HoldReason::Context] {
            gate.standing.clear(hold);
        }
        gate.context.forget_tier();
        gate.end_suspension(&self.policy);
        if gate.standing.clear(HoldReason::Loop) {
            self.state.activity.loops.begin_anew();
        }
    }

    /// A person speaks again after a loop ended the agent's turn: a decision to go on, with another approach. What else holds or
    /// ended the session stays.
    fn go_on_after_loop(&mut self, at: RunMillis) {
        let gate = &mut self.state.gate;
        match gate.standing.stopped() {
            Some(StopReason::SystemError | StopReason::InfiniteLoop | StopReason::Refusals) => {
                gate.reopen(&self.policy, at);
                self.state.activity.begin_anew(at);
            }
            Some(StopReason::StoppedByPerson | StopReason::HardStop | StopReason::Runaway | StopReason::WallClock) => {}
            None => {
                if gate.standing.clear(HoldReason::Loop) {
                    self.state.activity.begin_anew(at);
                }
            }
        }
    }

    /// A report that was there before the session began holds it until a person has read it. One that only tells of a loop does so to
    /// the letter; on evidence it is reported, because another session need not repeat it.
    pub(super) fn hold_for_report(&mut self, StandingReport { report, about }: StandingReport, turn: &mut Turn<'_>) {
        let (hold, kind, rule) = match report {
            Report::Blocker => (HoldReason::UnreadBlocker, FindingKind::NoProgress, Rule::Progress),
            Report::Checkpoint => (HoldReason::UnreadCheckpoint, FindingKind::IterationCap, Rule::IterationCap),
        };
        if about == ReportCause::Loop && self.policy.profile == Profile::Balanced {
            let text = format!("{}: read it, then `tripwire ack blocker`", hold.in_short());
            turn.note(FindingKind::LoopDetected, rule, &text);
            return;
        }
        let gate = &mut self.state.gate;
        if !gate.standing.hold(hold) {
            return;
        }
        turn.note(kind, rule, hold.in_short());
        if gate.is_armed() {
            turn.draft.cause(Effect::Hold(hold));
            turn.draft.cause(Effect::Notify(hold.explain().into()));
        }
    }
}
