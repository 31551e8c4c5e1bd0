//! The promises themselves, checked against a slow oracle where one can be written down from outside.

use tripwire_core::chain::{Chain, Step};
use tripwire_core::decision::{Decision, Evidence, Intent, Level, SafetyVeto};
use tripwire_core::effect::Effect;
use tripwire_core::input::{HumanAct, Input, Mode, What};
use tripwire_core::limits::{EVIDENCE_MAX, STATE_BYTES_MAX};
use tripwire_core::policy::{Policy, Profile};
use tripwire_core::record::canonical;

/// How far up the streams came, so that a generator that bores the engine is noticed.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Reached {
    notes: u64,
    overrides: u64,
    holds: u64,
    stops: u64,
    permits: u64,
    vetoes: [u64; 6],
}

impl Reached {
    pub(crate) fn add(&mut self, other: Self) {
        self.notes += other.notes;
        self.overrides += other.overrides;
        self.holds += other.holds;
        self.stops += other.stops;
        self.permits += other.permits;
        self.vetoes.iter_mut().zip(other.vetoes).for_each(|(all, one)| *all += one);
    }

    pub(crate) fn assert_that_the_streams_are_worth_their_time(self, streams: u64) {
        let rungs = [self.notes, self.overrides, self.holds, self.stops, self.permits];
        assert!(rungs.iter().all(|count| *count > streams / 50), "{self:?}");
        assert!(self.vetoes.iter().all(|count| *count > streams / 100), "{self:?}");
    }

    fn count(&mut self, step: &Step) {
        self.permits += u64::from(step.permit.is_some());
        if let Some(veto) = step.decision.safety.veto_reason {
            self.vetoes[veto as usize] += 1;
        }
        for finding in &step.decision.findings {
            match finding.level {
                Level::Note => self.notes += 1,
                Level::Override => self.overrides += 1,
                Level::Hold => self.holds += 1,
                Level::Stop => self.stops += 1,
            }
        }
    }
}

/// Runs a stream three times (as it is, afresh, and through snapshots) and checks every promise.
pub(crate) fn check(policy: &Policy, inputs: &[Input]) -> Result<Reached, String> {
    let mut chain = Chain::new(policy.clone()).unwrap();
    let mut again = Chain::new(policy.clone()).unwrap();
    let mut paused = Chain::new(policy.clone()).unwrap();
    let mut oracle = Oracle::new(policy);
    let mut reached = Reached::default();
    for (place, input) in inputs.iter().enumerate() {
        let at = |error: String| format!("input {place}: {error}");
        let step = chain.step(input);
        if step.decision.i.get() != place as u64 {
            return Err(at(format!("the decision says index {}", step.decision.i)));
        }
        oracle.check(input, &step).map_err(at)?;
        well_formed(&step, input).map_err(at)?;
        let text = canonical::to_string(&step.decision).map_err(|error| at(error.to_string()))?;
        let fresh = canonical::to_string(&again.step(input).decision).map_err(|error| at(error.to_string()))?;
        if text != fresh {
            return Err(at(format!("replay differs:\n{text}\n{fresh}")));
        }
        // A round trip costs far more than a step: every fifth place and the last are enough to cross all states.
        if place % 5 == 3 || place + 1 == inputs.len() {
            paused = through_snapshot(&paused).map_err(at)?;
        }
        let taken_up = canonical::to_string(&paused.step(input).decision).map_err(|error| at(error.to_string()))?;
        if text != taken_up {
            return Err(at(format!("a snapshot changes the decision:\n{text}\n{taken_up}")));
        }
        reached.count(&step);
    }
    Ok(reached)
}

fn through_snapshot(chain: &Chain) -> Result<Chain, String> {
    let snapshot = chain.snapshot().map_err(|error| error.to_string())?;
    if snapshot.len() > STATE_BYTES_MAX {
        return Err(format!("a state of {} bytes", snapshot.len()));
    }
    Chain::restore(&snapshot).map_err(|error| error.to_string())
}

fn well_formed(step: &Step, input: &Input) -> Result<(), String> {
    let decision = &step.decision;
    let reasons = [&decision.activity.reason, &decision.intent.reason, &decision.safety.reason];
    let findings = decision.findings.iter().map(|finding| finding.reason.as_str());
    if reasons.into_iter().map(|reason| &**reason).chain(findings).any(|reason| reason.trim().is_empty()) {
        return Err(format!("an empty reason: {decision:?}"));
    }
    let evidence = decision.findings.iter().map(|finding| &finding.evidence).chain([&decision.safety.evidence]);
    evidence.into_iter().try_for_each(|evidence| proves(evidence, decision))?;
    if step.permit.is_some() != (matches!(input.what, What::Request(_)) && decision.safety.allowed) {
        return Err("a permit without an allowed request, or none with one".to_owned());
    }
    if step.permit.as_ref().is_some_and(|permit| permit.request() != decision.i) {
        return Err("a permit for another request".to_owned());
    }
    let ends = decision.effects.iter().filter(|effect| matches!(effect, Effect::EndIteration(_))).count();
    if ends > 1 {
        return Err("an iteration ended twice at once".to_owned());
    }
    Ok(())
}

fn proves(evidence: &Evidence, decision: &Decision) -> Result<(), String> {
    let indices = evidence.indices();
    let sorted = indices.windows(2).all(|pair| pair[0] < pair[1]);
    if !sorted || indices.len() > EVIDENCE_MAX || indices.last().is_some_and(|last| *last > decision.i) {
        return Err(format!("evidence {indices:?} at {}", decision.i));
    }
    Ok(())
}

/// What can be known from outside: the sliding minute summed the slow way, the end of the session, the mode.
struct Oracle<'a> {
    policy: &'a Policy,
    uses: Vec<(u64, u64, u64)>,
    spent: u64,
    now: u64,
    health: u32,
    ended: Option<u64>,
    mode: Mode,
}

impl<'a> Oracle<'a> {
    fn new(policy: &'a Policy) -> Self {
        Self { policy, uses: Vec::new(), spent: 0, now: 0, health: 1_000_000, ended: None, mode: Mode::Armed }
    }

    fn check(&mut self, input: &Input, step: &Step) -> Result<(), String> {
        self.take(input);
        let safety = &step.decision.safety;
        let health = safety.health.millionths();
        let cap = self.policy.health.recovery_cap.millionths();
        if health > 1_000_000 || health > self.health.max(cap) {
            return Err(format!("health went from {} to {health} millionths", self.health));
        }
        self.health = health;
        self.check_minute(&step.decision)?;
        self.check_end(&step.decision)?;
        if step.next_deadline.is_some_and(|deadline| deadline.get() <= self.now) {
            return Err(format!("a deadline in the past: {:?} at {}", step.next_deadline, self.now));
        }
        let dear = step.decision.findings.iter().map(|finding| finding.price).chain([safety.price]);
        if dear.into_iter().any(|price| price.tokens.get() > self.spent) {
            return Err("a price above all that was spent".to_owned());
        }
        Ok(())
    }

    fn take(&mut self, input: &Input) {
        self.now = self.now.max(input.at.get());
        if let What::Event(event) = &input.what {
            self.uses.push((self.now, event.budget_tokens().get(), u64::from(event.tool_calls.get())));
            self.spent += event.budget_tokens().get();
        }
        if let What::ModelSpend(spend) = &input.what {
            self.uses.push((self.now, spend.price().tokens.get(), 0));
            self.spent += spend.price().tokens.get();
        }
        if input.what == What::Human(HumanAct::Restart) {
            self.ended = None;
        }
        if let What::Human(HumanAct::SetMode(mode)) = &input.what {
            self.mode = *mode;
        }
    }

    /// Budget, rate and health vetoes from first principles, and the priority among all of them.
    fn check_minute(&self, decision: &Decision) -> Result<(), String> {
        let recent = self.uses.iter().filter(|(at, ..)| self.now - at < 60_000);
        let (tokens, calls) = recent.fold((0_u64, 0_u64), |(t, c), (_, tokens, calls)| (t + tokens, c + calls));
        let configured = self.policy.minute_bounds().tokens.get();
        let budget = decision.safety.health.share_of(configured);
        let remaining = decision.safety.remaining_budget.get();
        if remaining > configured || remaining != budget.saturating_sub(tokens) {
            return Err(format!("{remaining} tokens remain; {tokens} of {budget} are used"));
        }
        let known = [
            (SafetyVeto::TokenBudgetExceeded, tokens > budget),
            (SafetyVeto::RateLimitExceeded, calls > u64::from(self.policy.minute_bounds().calls.get())),
            (SafetyVeto::HealthDegraded, decision.safety.health < self.policy.health.soft_suspend_threshold),
        ];
        let expected = known.iter().find(|(_, holds)| *holds).map(|(veto, _)| *veto);
        let named = decision.safety.veto_reason;
        let fits = match (named, expected) {
            (None, expected) => expected.is_none(),
            (Some(SafetyVeto::RunawayDetected | SafetyVeto::LoopDetected), _) => true,
            (Some(SafetyVeto::CooldownActive), expected) => expected.is_none_or(|e| e == SafetyVeto::HealthDegraded),
            (
                Some(SafetyVeto::TokenBudgetExceeded | SafetyVeto::RateLimitExceeded | SafetyVeto::HealthDegraded),
                expected,
            ) => named == expected,
        };
        if !fits {
            return Err(format!("veto {named:?} where {expected:?} holds ({tokens} tokens, {calls} calls)"));
        }
        if named.is_some() && decision.safety.allowed && self.mode == Mode::Armed {
            return Err(format!("allowed in spite of {named:?}"));
        }
        let throttled = self.policy.profile == Profile::Balanced || named == Some(SafetyVeto::CooldownActive);
        if throttled && decision.safety.retry_after_ms.is_some_and(|wait| wait.get() > 60_000) {
            return Err(format!("a wait of {:?} ms", decision.safety.retry_after_ms));
        }
        Ok(())
    }

    /// Nothing goes on after the end, whatever else happens, until a person restarts.
    fn check_end(&mut self, decision: &Decision) -> Result<(), String> {
        if decision.effects.iter().any(|effect| matches!(effect, Effect::Stop(_))) {
            if let Some(before) = self.ended {
                return Err(format!("stopped again after the stop at {before}"));
            }
            self.ended = Some(decision.i.get());
        }
        let Some(ended) = self.ended else { return Ok(()) };
        if decision.intent.intent != Intent::Stop || decision.safety.allowed {
            return Err(format!("went on after the stop at {ended}: {:?}", decision.safety));
        }
        Ok(())
    }
}
