//! The chain: event, activity, intent, gate. One way; nothing is decided upstream (CHAIN-1).
//!
//! The gate judges the evidence itself and does not read the intent. The intent is worked out last, because a session that
//! the gate ends with this very input is reported as STOP.
//!
//! [`Chain::step`] is the whole engine: a function of the state and one input. The shell journals the input before it
//! calls it and the decision after it, so that replaying the journal gives the same decisions.

pub(crate) mod activity;
pub mod event;
pub mod feedback;
pub mod gate;
mod inputs;
pub(crate) mod intent;
mod people;
mod snapshot;
mod turn;
mod view;

pub use snapshot::SnapshotError;
pub use view::ChainView;

use self::activity::loops::RequestPlace;
use self::activity::progress::Progress;
use self::activity::{ActivityEngine, ActivityReading};
use self::gate::{Permit, SafetyGate};
use self::intent::Session;
use self::turn::{Source, Turn};
use crate::decision::{Decision, Draft, FindingKind};
use crate::effect::Effect;
use crate::input::{Input, Place, What};
use crate::label::Fingerprint;
use crate::limits::CLOCK_STEP_BACK_MS_MAX;
use crate::policy::{Policy, PolicyError};
use crate::rules::Rule;
use crate::units::{EventIndex, RunMillis, StepId};
use alloc::boxed::Box;
use alloc::sync::Arc;
use serde::{Deserialize, Serialize};

/// One session's engine: a frozen policy and the state under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Shared, because every input is stepped on a copy of the chain.
    policy: Arc<Policy>,
    /// On the heap, because chains are moved and handed through often, and it is large.
    state: Box<State>,
}

/// Everything that the engine remembers; bounded, whatever the length of the session (CHAIN-6).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct State {
    /// The index of the next input.
    next: EventIndex,
    /// The newest time seen.
    now: RunMillis,
    step: StepId,
    turn: Fingerprint,
    activity: ActivityEngine,
    progress: Progress,
    gate: SafetyGate,
}

/// What one step gives.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// The decision with its reasons.
    pub decision: Decision,
    /// The right to act, if the input was a request and it was allowed.
    pub permit: Option<Permit>,
    /// When the engine wants to be stepped again even if nothing happens.
    pub next_deadline: Option<RunMillis>,
}

impl Chain {
    /// A new session under this policy.
    ///
    /// # Errors
    /// When the policy contradicts itself.
    pub fn new(policy: Policy) -> Result<Self, PolicyError> {
        Self::with_state(policy, Box::default())
    }

    fn with_state(policy: Policy, state: Box<State>) -> Result<Self, PolicyError> {
        policy.check()?;
        Ok(Self { policy: Arc::new(policy), state })
    }

    /// The frozen policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Takes in one input and decides.
    pub fn step(&mut self, input: &Input) -> Step {
        let mut turn = self.admit(input);
        self.state.gate.advance(&self.policy, turn.place.at);
        self.take(&mut turn);
        let safety = self.state.gate.judge(&self.policy, &mut turn);
        let session = if self.state.gate.standing.stopped().is_some() { Session::Ended } else { Session::Open };
        let intent = intent::decide(session, self.state.activity.mode(), turn.reading.suspicion);
        let permit = if let (What::Request(request), true) = (turn.what, safety.allowed) {
            request.floor.iter().for_each(|fact| self.state.gate.floor.spend(fact));
            if request.starts_agent.is_some() {
                self.state.gate.agents.will_start();
            }
            self.state.gate.tools.count(&self.policy.tools.limits, &request.action.tool, turn.place.at);
            let place = RequestPlace { index: turn.place.index, spent: self.state.gate.money.spent() };
            self.state.activity.loops.passed((&request.action, request.agent_id.as_ref()), place);
            Some(self.state.gate.permit(&self.policy, request, &turn))
        } else {
            None
        };
        let next_deadline = self.next_deadline(turn.place.at);
        let decision = Decision {
            activity: self.state.activity.state(),
            effects: turn.draft.effects,
            findings: turn.draft.findings,
            i: turn.place.index,
            intent,
            safety,
            step_id: self.state.step,
        };
        Step { decision, permit, next_deadline }
    }

    /// Gives an input its place. A clock that steps back a little is clamped and noted; a lot, and the guard holds.
    fn admit<'a>(&mut self, input: &'a Input) -> Turn<'a> {
        let state = &mut self.state;
        let place = Place { index: state.next, at: input.at.max(state.now) };
        let back = state.now.minus(input.at);
        state.next = state.next.plus(EventIndex::new(1));
        state.now = place.at;
        let source = match &input.what {
            What::Event(_) => Source::Event,
            What::Request(_) => Source::Request,
            What::Result(_)
            | What::Tick
            | What::Human(_)
            | What::Advisor(_)
            | What::Review(_)
            | What::IterationStarted
            | What::WorkspaceMeasured(_)
            | What::ReportStands(_)
            | What::Claim(_)
            | What::Compacted(_)
            | What::Fault(_)
            | What::PolicyDrift(_)
            | What::EngineSwitched(_)
            | What::ToolsSeen(_)
            | What::ModelSpend(_)
            | What::SandboxHeld(_) => Source::Other,
        };
        let mut turn = Turn {
            place,
            draft: Draft::default(),
            reading: ActivityReading::default(),
            refusal: None,
            source,
            what: &input.what,
        };
        if back.get() >= CLOCK_STEP_BACK_MS_MAX {
            self.break_premise(&mut turn, "the clock stepped back by 5 s or more", "set the clock right");
        } else if back > RunMillis::ZERO {
            turn.note(FindingKind::ClockClamped, Rule::FailClosed, "the clock stepped back by less than 5 s");
        }
        turn
    }

    /// The earliest time at which silence itself would change something.
    fn next_deadline(&self, at: RunMillis) -> Option<RunMillis> {
        let gate = &self.state.gate;
        if gate.standing.stopped().is_some() {
            return None;
        }
        let wakes = [self.state.activity.idle_at(&self.policy), gate.cooldown.ends_at(at), gate.deadline(&self.policy)];
        wakes.into_iter().flatten().filter(|wake| *wake > at).min()
    }

    /// When the agent fell idle, if that lies before this time and nobody stepped the engine then: a process that comes late makes
    /// up for it with a tick of that moment.
    #[must_use]
    pub fn idle_before(&self, at: RunMillis) -> Option<RunMillis> {
        let open = self.state.gate.standing.stopped().is_none();
        let idle = self.state.activity.idle_at(&self.policy).filter(|idle| open && *idle < at)?;
        Some(idle.max(self.state.now))
    }

    /// Asks to be woken at the next deadline, for shells that only look at effects.
    #[must_use]
    pub fn wake(step: &Step) -> Option<Effect> {
        step.next_deadline.map(Effect::WakeAt)
    }
}
