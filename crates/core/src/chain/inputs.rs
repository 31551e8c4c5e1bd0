//! What each kind of input does to the state, before the gate judges.

use super::Chain;
use super::activity::loops::RequestPlace;
use super::activity::{ActivityReading, NewStep, Sign, Surroundings};
use super::event::AgentEvent;
use super::feedback::ExecutionResult;
use super::gate::context::{ContextBasis, Tier};
use super::gate::dirty_bits::{ClaimAnswer, Verification, docs_prompt, test_prompt};
use super::gate::iterations::{Begin, Ended};
use super::gate::{identity, permission};
use super::turn::Turn;
use crate::decision::{FindingDetails, FindingKind};
use crate::effect::{Deadlock, Effect, ExitStatus, HoldReason, IterationEnd, LoopOverride, Sameness, SwitchReason};
use crate::enforcement::{CycleTerminationError, EnforcementError};
use crate::input::{
    AdvisorReply, Claim, Compaction, DriftMeaning, EngineSwitched, Fault, PolicyDrift, Report, Request, SandboxHeld,
    ToolsSeen, ToolsState, What,
};
use crate::label::{Fingerprint, Label};
use crate::policy::{OnGuardFailure, Profile, Switch};
use crate::rules::Rule;
use crate::units::{Count, StepId};
use crate::usage::FigureSource;
use alloc::boxed::Box;
use alloc::format;

impl Chain {
    /// Takes in one input.
    pub(super) fn take(&mut self, turn: &mut Turn<'_>) {
        match turn.what {
            What::Event(event) => self.take_event(event, turn),
            What::Request(request) => self.take_request(request, turn),
            What::Result(result) => self.take_result(*result),
            What::Tick => turn.reading.entered = self.state.activity.pass(&self.policy, turn.place.at),
            What::Human(act) => self.take_human(act, turn),
            What::Advisor(reply) => self.take_advice(reply, turn),
            What::Review(review) => self.state.gate.reviews.note(*review),
            What::IterationStarted => self.begin_iteration(turn),
            What::WorkspaceMeasured(measured) => self.mind_convergence(measured.workspace_hash.fingerprint(), turn),
            What::ReportStands(report) => self.hold_for_report(*report, turn),
            What::Claim(claim) => self.take_claim(claim, turn),
            What::Compacted(compaction) => self.take_compaction(compaction, turn),
            What::Fault(Fault { cause, fix }) => self.break_premise(turn, cause.as_str(), fix.as_str()),
            What::PolicyDrift(drift) => {
                let PolicyDrift { key, value, meaning } = drift;
                let text = match meaning {
                    DriftMeaning::NotApplied => {
                        format!("`{key}` is `{value}` on disk; not applied, start a new session")
                    }
                    DriftMeaning::AsInForce => format!("`{key}` is `{value}` on disk again, as it is in force"),
                    DriftMeaning::ObeyedByClient => format!(
                        "`{key}` changed during the session and is `{value}` now; the agent's client obeys it: look at it"
                    ),
                };
                turn.note(FindingKind::PolicyDrift, Rule::FrozenPolicy, &text);
            }
            What::EngineSwitched(EngineSwitched { from, to, reason }) => {
                let text = format!("`{to}` goes on for `{from}`: {reason}");
                turn.note(FindingKind::EngineSwitch, Rule::EngineFallback, &text);
                self.state.gate.dirty.forget_refusals();
            }
            What::ToolsSeen(ToolsSeen { server, state, detail }) => {
                let text = format!("tool server `{server}`: {detail}");
                match state {
                    ToolsState::FirstSight => {}
                    ToolsState::Changed => turn.note(FindingKind::ToolChanged, Rule::ToolPin, &text),
                    ToolsState::Suspicious => turn.note(FindingKind::ToolSuspicious, Rule::ToolPin, &text),
                }
            }
            What::SandboxHeld(SandboxHeld { wall, what }) => {
                let text = format!("the sandbox held ({}): {what}", wall.name());
                turn.note(FindingKind::SandboxHeld, Rule::Confinement, &text);
            }
            What::ModelSpend(spend) => {
                let price = spend.price();
                self.state.gate.minute.add(turn.place.at, price.tokens, Count::ZERO);
                self.state.gate.money.spend(price);
            }
        }
    }

    fn take_event(&mut self, event: &AgentEvent, turn: &mut Turn<'_>) {
        let state = &mut self.state;
        let new_step = new_step(&mut state.turn, event);
        if new_step == NewStep::Yes {
            state.step = state.step.plus(StepId::new(1));
            state.gate.iterations.step();
        }
        let spent = state.gate.money.spent();
        state.gate.observe(&self.policy, event, turn.place.at);
        let around = Surroundings {
            place: turn.place,
            spent,
            new_step,
            minute_tokens: state.gate.minute.tokens(),
            error_rate: state.gate.error_rate(),
        };
        turn.reading = state.activity.observe(&self.policy, event, &around);
        state.gate.money.spend(event.price());
        state.gate.dirty.observe(&self.policy.dirty_bits, event);
        if event.user_turn && self.policy.profile == Profile::Balanced {
            state.progress.person_spoke();
        }
        state.progress.observe(event, turn.place.index);
        if event.changed_files() {
            state.gate.context.moved();
        }
        if let Some(crossed) = state.gate.agents.observe(&self.policy.limits, event) {
            turn.refusal = Some((Rule::GateAgents, EnforcementError::AgentLimit(crossed)));
        }
        // A sub-agent has a context of its own: a fresh one must not clear the block of the main one.
        if let (Some(used), None) = (event.context_tokens, &event.agent_id) {
            let climbed = match event.context_source {
                FigureSource::Estimated => state.gate.context.estimate(&self.policy, used),
                FigureSource::Told => state.gate.context.observe(&self.policy.context, used, event.context_window),
            };
            self.mind_context(turn, climbed);
        }
    }

    /// The context gate's tiers (CTX-2).
    fn mind_context(&mut self, turn: &mut Turn<'_>, climbed: Option<Tier>) {
        let gate = &mut self.state.gate;
        if gate.context.tier() < Tier::HardBlock {
            gate.standing.clear(HoldReason::Context);
        }
        let Some(tier) = climbed else { return };
        let percent = gate.context.percent();
        let basis = match gate.context.basis() {
            ContextBasis::Estimate => " (estimated: there are no figures)",
            ContextBasis::Nothing | ContextBasis::Figures => "",
        };
        let text = match tier {
            Tier::Roomy => return,
            Tier::Warning => format!("WARNING: Context at {percent}%{basis}. Consider /compact"),
            Tier::Mandatory => format!("MANDATORY: Context at {percent}%{basis}. Compacting..."),
            Tier::HardBlock => format!("HARD_BLOCK: Context at {percent}%{basis}"),
        };
        turn.note(FindingKind::CompactionGate, Rule::ContextTiers, &text);
        let threshold = match tier {
            Tier::Roomy | Tier::Warning => self.policy.context.warning_threshold,
            Tier::Mandatory => self.policy.context.mandatory_threshold,
            Tier::HardBlock => self.policy.context.hard_block_threshold,
        };
        turn.draft.detail(FindingDetails::Context { context_pct: percent, threshold });
        if !gate.is_armed() {
            return;
        }
        match tier {
            Tier::Roomy => {}
            Tier::Warning => turn.draft.cause(Effect::WarnContext),
            Tier::Mandatory => turn.draft.cause(Effect::Compact),
            Tier::HardBlock => {
                if gate.standing.hold(HoldReason::Context) {
                    turn.draft.cause(Effect::Hold(HoldReason::Context));
                    turn.draft.cause(Effect::SwitchEngine(SwitchReason::ContextExhausted));
                }
            }
        }
    }

    fn take_request(&mut self, request: &Request, turn: &mut Turn<'_>) {
        self.state.gate.begin_call();
        turn.refusal = self.check_authority(request).err();
        if turn.refusal.as_ref().is_some_and(|(rule, _)| *rule == Rule::Reach) {
            let text = format!("`{}` is out of the agent's reach", request.action.shown());
            turn.note(FindingKind::PermissionDenied, Rule::Reach, &text);
        }
        let gate = &mut self.state.gate;
        if let (Some(start), None) = (&request.starts_agent, &turn.refusal)
            && let Some(crossed) = gate.agents.foresee(&self.policy.limits, start)
        {
            turn.refusal = Some((Rule::GateAgents, EnforcementError::AgentLimit(crossed)));
        }
        if turn.refusal.is_none()
            && let Some(crossed) = gate.tools.crossed(&self.policy.tools.limits, &request.action.tool, turn.place.at)
        {
            turn.refusal = Some((Rule::ToolLimit, EnforcementError::ToolLimit(crossed)));
        }
        // A refusal that does not bind while only observing must not hide the hold of a destructive command, which does.
        if let Some(fact) = &request.floor
            && (turn.refusal.is_none() || !gate.is_armed())
            && gate.floor.weighs(fact)
        {
            let rule = fact.weight.rule();
            let binds = rule == Rule::Floor || gate.is_armed();
            let told = gate.floor.waits(fact);
            match gate.floor.check(fact, turn.place) {
                Ok(Some(by)) => {
                    let text = format!("a person allowed `{}` once ({by}): {}", fact.code, fact.reason);
                    turn.note(FindingKind::ManualOverride, rule, &text);
                }
                Ok(None) => {}
                Err(error) => {
                    turn.note(FindingKind::PermissionDenied, rule, fact.reason.as_str());
                    if !told && binds {
                        let text =
                            format!("`tripwire allow --once {}` lets a held command pass: {}", fact.code, fact.reason);
                        turn.draft.cause(Effect::Notify(text.into()));
                    }
                    turn.refusal = Some((rule, error));
                }
            }
        }
        // A call of the running step belongs to it: only a new step can be one too many.
        let asker = request.action.turn_id.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
        let same_step = asker.is_some() && asker == self.state.turn;
        if turn.refusal.is_none()
            && !same_step
            && gate.iterations.ended().is_none()
            && gate.iterations.is_exhausted(&self.policy.limits)
        {
            let error = EnforcementError::CycleTermination(CycleTerminationError::MaxSteps);
            turn.refusal = Some((Rule::TermSteps, error));
        }
        let place = RequestPlace { index: turn.place.index, spent: gate.money.spent() };
        let alarm = self.state.activity.loops.foresee(&self.policy, request, place);
        turn.reading = ActivityReading { alarm: alarm.map(Box::new), ..ActivityReading::default() };
    }

    fn check_authority(&self, request: &Request) -> Result<(), (Rule, EnforcementError)> {
        let authority = permission::check(request.authority.as_ref())
            .map_err(|error| (permission::rule(request.authority.as_ref()), error))?;
        identity::check(authority).map_err(|error| (Rule::Identity, error))?;
        if let Some(proposal) = request.proposal {
            self.state.gate.reviews.check(proposal).map_err(|error| (Rule::Review, error))?;
        }
        let reserve = request.reserve_micro_usd.unwrap_or_default();
        if !self.state.gate.money.fits(&self.policy.money, reserve) {
            let error = EnforcementError::CycleTermination(CycleTerminationError::Held(HoldReason::Money));
            return Err((Rule::GateMoney, error));
        }
        Ok(())
    }

    fn take_result(&mut self, result: ExecutionResult) {
        if result.status.is_execution_error() {
            self.state.gate.charge_result(&self.policy);
        }
    }

    /// The workspace at the end of an iteration: three equal ones are convergence (PERM-1).
    fn mind_convergence(&mut self, workspace: Fingerprint, turn: &mut Turn<'_>) {
        let gate = &mut self.state.gate;
        let converged = gate.iterations.note_workspace(workspace);
        let binds = self.policy.limits.stop_on_convergence == Switch::On && gate.is_armed();
        if converged && binds && gate.standing.hold(HoldReason::Converged) {
            turn.draft.cause(Effect::Hold(HoldReason::Converged));
        }
    }

    /// The advisor's answer ends a hold for a loop, and travels in the typed override (LOOP-4). One that was asked for
    /// because iterations failed travels in the same way, and ends no hold.
    fn take_advice(&mut self, reply: &AdvisorReply, turn: &mut Turn<'_>) {
        let wanted = self.state.progress.take_advice();
        let waits = self.state.gate.standing.is_held_for(HoldReason::Loop) || wanted;
        if !waits || reply.advice.as_str().trim().is_empty() {
            return;
        }
        let held = self.state.gate.standing.clear(HoldReason::Loop);
        let cause =
            self.state.gate.causes.of_hold(HoldReason::Loop).filter(|cause| held && cause.names_a_call()).cloned();
        self.state.activity.loops.begin_anew();
        turn.note(FindingKind::LoopOverride, Rule::LoopAdvice, "the advisor gave a new approach");
        let (do_not_repeat, seen) = cause.map_or_else(
            || (Label::cut("the approach of the iterations that failed"), self.state.progress.failures()),
            |cause| (cause.object, cause.seen),
        );
        turn.draft.cause(Effect::Inject(LoopOverride {
            advice: Some(reply.advice.clone()),
            do_not_repeat,
            result: Sameness::Unknown,
            seen,
            workspace: Sameness::Unknown,
        }));
    }

    fn begin_iteration(&mut self, turn: &mut Turn<'_>) {
        if self.state.gate.standing.stopped().is_some() {
            return; // Nothing begins in a session that has ended.
        }
        if self.state.progress.has_worked() {
            self.close_iteration(turn);
        }
        // What is refused is no attempt: it counts neither as an iteration nor against the cap.
        if self.state.gate.is_held_back() {
            return;
        }
        self.state.gate.agents.forget_starts();
        match self.state.gate.iterations.begin(&self.policy.safety, turn.place.at) {
            Begin::Begun => {}
            Begin::Capped => {
                let cap = self.policy.safety.max_iterations;
                let text = format!("Reached iteration cap: {cap}/{cap}");
                turn.note(FindingKind::IterationCap, Rule::IterationCap, &text);
                turn.draft.detail(FindingDetails::Iterations { iteration_count: cap, max_iterations: cap });
                if self.state.gate.is_armed() && self.state.gate.standing.hold(HoldReason::IterationCap) {
                    turn.draft.cause(Effect::WriteReport(Report::Checkpoint));
                    turn.draft.cause(Effect::Hold(HoldReason::IterationCap));
                    turn.draft.cause(Effect::Notify(text.into()));
                }
            }
        }
    }

    /// Counts the iteration as failed or not (PROG-1).
    fn close_iteration(&mut self, turn: &mut Turn<'_>) {
        let Some((failure, proof)) = self.state.progress.close(&self.policy) else { return };
        let failures = self.state.progress.failures();
        let text = format!("{failures} failed iterations in a row: {}", failure.words());
        turn.note(FindingKind::NoProgress, Rule::Progress, &text);
        if let (Some(index), Some(finding)) = (proof, turn.draft.findings.last_mut()) {
            finding.evidence = crate::decision::Evidence::one(index);
            finding.count = failures;
        }
        let gate = &mut self.state.gate;
        if !gate.is_armed() {
            return;
        }
        if self.state.progress.is_stuck(self.policy.safety.max_consecutive_failures) {
            if gate.standing.hold(HoldReason::NoProgress) {
                turn.draft.cause(Effect::WriteReport(Report::Blocker));
                turn.draft.cause(Effect::Hold(HoldReason::NoProgress));
                turn.draft.cause(Effect::Notify(text.into()));
            }
        } else if failures == Count::new(2) {
            self.state.progress.want_advice();
            turn.draft.cause(Effect::AskAdvisor(Deadlock::NoProgress));
        }
    }

    /// The agent says that it is done (DIRTY-1).
    fn take_claim(&mut self, claim: &Claim, turn: &mut Turn<'_>) {
        if self.state.gate.is_cut_short() {
            return; // An iteration ends exactly once: this one has its status.
        }
        let workspace = claim.workspace_hash.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
        let max_refusals = if self.state.gate.is_armed() { self.policy.dirty_bits.max_refusals.get() } else { 0 };
        match self.state.gate.dirty.claim(workspace, max_refusals) {
            ClaimAnswer::Refused(verdict, text) => {
                turn.note(FindingKind::DirtyBitViolation, Rule::DirtyBits, text);
                let bits = self.state.gate.dirty.shown();
                turn.draft.detail(FindingDetails::DirtyBits {
                    code_modified: bits.code_modified.unwrap_or_default(),
                    docs_updated: bits.docs_updated.unwrap_or_default(),
                    tests_passing: bits.tests_passing,
                    tests_run: bits.tests_run.unwrap_or_default(),
                });
                turn.draft.cause(Effect::Prompt(match verdict {
                    Verification::Failed => text.into(),
                    Verification::Undocumented => docs_prompt(self.policy.dirty_bits.docs_paths.as_str()).into(),
                    Verification::Verified
                    | Verification::Stale
                    | Verification::Unverified
                    | Verification::Waived
                    | Verification::NothingToVerify => test_prompt(self.policy.dirty_bits.test_command.as_str()).into(),
                }));
            }
            ClaimAnswer::Released(verdict) => {
                if !claim.closed {
                    self.close_iteration(turn);
                }
                let gate = &mut self.state.gate;
                gate.iterations.end(Ended::Done);
                turn.draft.cause(Effect::EndIteration(IterationEnd {
                    exit_status: ExitStatus::Completed,
                    interrupt_reason: None,
                    verdict: Some(verdict),
                }));
                self.mind_convergence(workspace, turn);
            }
        }
    }

    /// Three compactions without a change of the workspace are a loop (CTX-4).
    fn take_compaction(&mut self, compaction: &Compaction, turn: &mut Turn<'_>) {
        let workspace = compaction.workspace_hash.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
        let gate = &mut self.state.gate;
        let spiral = gate.context.compacted(&self.policy.context, workspace);
        let climbed = match compaction.context_tokens {
            Some(used) => gate.context.observe(&self.policy.context, used, None),
            None => {
                gate.context.forget_tier();
                None
            }
        };
        self.mind_context(turn, climbed);
        let gate = &mut self.state.gate;
        if spiral {
            let text = "the context was compacted again and again, and no file changed between";
            turn.note(FindingKind::HardLoop, Rule::ContextSpiral, text);
            if gate.is_armed() && gate.standing.hold(HoldReason::Loop) {
                turn.draft.cause(Effect::Hold(HoldReason::Loop));
                turn.draft.cause(Effect::AskAdvisor(Deadlock::HardLoop));
            }
        }
    }

    /// A premise broke: a finding always, and a hold unless a person chose otherwise (CONST-5).
    pub(super) fn break_premise(&mut self, turn: &mut Turn<'_>, cause: &str, fix: &str) {
        let text = format!("{cause}; {fix}");
        turn.note(FindingKind::GuardFailure, Rule::FailClosed, &text);
        let holds = self.policy.gate.on_guard_failure == OnGuardFailure::Hold;
        if holds && self.state.gate.standing.hold(HoldReason::GuardFailure) && self.state.gate.is_armed() {
            turn.draft.cause(Effect::Hold(HoldReason::GuardFailure));
        }
        turn.draft.cause(Effect::Notify(text.into()));
    }
}

/// Whether an event opens a step: calls of one model turn share its id and are one step.
fn new_step(turn: &mut Fingerprint, event: &AgentEvent) -> NewStep {
    let this = event.turn_id.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
    let same = this.is_some() && this == *turn;
    *turn = this;
    if Sign::from(same).is_present() { NewStep::No } else { NewStep::Yes }
}
