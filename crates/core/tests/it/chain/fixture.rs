//! One chain with a simulated clock, and short ways to say what happened.

use tripwire_core::chain::event::{Action, AgentEvent, ErrorClass, Flag, Flags, Outcome, Status, TestResult};
use tripwire_core::chain::{Chain, Step};
use tripwire_core::decision::{Decision, FindingKind};
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::input::{Authority, Grant, HumanAct, Input, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_core::units::{Count, RunMillis, Tokens};

/// One session under test. Every input comes `pace` milliseconds after the one before.
pub(crate) struct ChainFixture {
    pub(crate) chain: Chain,
    pub(crate) at: u64,
    pub(crate) pace: u64,
}

impl ChainFixture {
    /// A session under the given settings.
    pub(crate) fn new(settings: &[(&str, &str)]) -> Self {
        Self { chain: Chain::new(policy(settings)).unwrap(), at: 0, pace: 5_000 }
    }

    pub(crate) fn strict() -> Self {
        Self::new(&[("profile", "strict")])
    }

    pub(crate) fn balanced() -> Self {
        Self::new(&[])
    }

    /// Lets time pass without telling the engine.
    pub(crate) fn wait(&mut self, ms: u64) {
        self.at += ms;
    }

    /// One input after the usual pace.
    pub(crate) fn step(&mut self, what: What) -> Step {
        self.at += self.pace;
        self.step_at(self.at, what)
    }

    /// One input at a time of its own, which may lie in the past.
    pub(crate) fn step_at(&mut self, at: u64, what: What) -> Step {
        self.chain.step(&Input { at: RunMillis::new(at), what })
    }

    pub(crate) fn tell(&mut self, what: What) -> Decision {
        self.step(what).decision
    }

    pub(crate) fn event(&mut self, event: AgentEvent) -> Decision {
        self.tell(What::Event(event))
    }

    /// The same kind of event many times; the maker is told the number, from 0.
    pub(crate) fn events(&mut self, count: u64, make: impl Fn(u64) -> AgentEvent) -> Vec<Decision> {
        (0..count).map(|n| self.event(make(n))).collect()
    }

    pub(crate) fn human(&mut self, act: HumanAct) -> Decision {
        self.tell(What::Human(act))
    }

    pub(crate) fn tick(&mut self) -> Decision {
        self.tell(What::Tick)
    }

    /// A request with every permission.
    pub(crate) fn ask(&mut self, action: Action) -> Step {
        self.step(What::Request(request(action)))
    }
}

/// A policy with some settings changed.
pub(crate) fn policy(settings: &[(&str, &str)]) -> Policy {
    let mut policy = Policy::default();
    for (path, value) in settings {
        policy.set(path, value).unwrap();
    }
    policy
}

/// An action by signature and arguments.
pub(crate) fn action(signature: &str, args: &str) -> Action {
    let tool = signature.split('(').next().unwrap();
    Action {
        args_digest: Label::new(args),
        signature: Label::new(signature),
        tool: Label::cut(tool),
        ..Action::default()
    }
}

/// A small event that says nothing of its action.
pub(crate) fn plain(tokens: u64, calls: u32) -> AgentEvent {
    AgentEvent {
        latency_ms: RunMillis::new(50),
        output_length: Tokens::new(10),
        token_count: Tokens::new(tokens),
        tool_calls: Count::new(calls),
        ..AgentEvent::default()
    }
}

/// One call of 100 tokens that ended well with this output.
pub(crate) fn call(signature: &str, args: &str, result: &str) -> AgentEvent {
    AgentEvent {
        action: Some(action(signature, args)),
        outcome: Some(Outcome::default()),
        output_hash: Label::new(result),
        result_digest: Label::new(result),
        ..plain(100, 1)
    }
}

/// The n-th call of ordinary work: never the same twice.
pub(crate) fn work(n: u64) -> AgentEvent {
    call(&format!("Read(file=f{n}.rs)"), &format!("args-{n}"), &format!("result-{n}"))
}

/// A call that failed for this reason.
pub(crate) fn failed(event: AgentEvent, class: ErrorClass) -> AgentEvent {
    let outcome = Outcome { error_class: Some(class), status: Status::Error, ..Outcome::default() };
    AgentEvent { outcome: Some(outcome), ..event }
}

/// A successful edit with content of its own.
pub(crate) fn edit(n: u64) -> AgentEvent {
    AgentEvent {
        flags: Flags::default().with(Flag::Edit),
        ..call(&format!("Edit(file=e{n}.rs)"), &format!("edit-{n}"), &format!("edited-{n}"))
    }
}

/// A test run.
pub(crate) fn tests(n: u64, result: TestResult) -> AgentEvent {
    let status = if result == TestResult::Passed { Status::Ok } else { Status::Error };
    AgentEvent {
        flags: Flags::default().with(Flag::Test),
        outcome: Some(Outcome { status, test: Some(result), ..Outcome::default() }),
        ..call("Bash(cmd=cargo test)", &format!("test-{n}"), &format!("tested-{n}"))
    }
}

/// A request that has every permission.
pub(crate) fn request(action: Action) -> Request {
    let authority = Authority {
        grant: Grant::Granted,
        identity: None,
        permission: Permission::CanExecuteTasks,
        role: Label::cut("developer"),
    };
    Request {
        action,
        authority: Some(authority),
        floor: None,
        proposal: None,
        reserve_micro_usd: None,
        agent_id: None,
        starts_agent: None,
        running: None,
    }
}

pub(crate) fn kinds(decision: &Decision) -> Vec<FindingKind> {
    decision.findings.iter().map(|finding| finding.kind).collect()
}

pub(crate) fn found(decision: &Decision, kind: FindingKind) -> bool {
    kinds(decision).contains(&kind)
}

pub(crate) fn causes(decision: &Decision, effect: &Effect) -> bool {
    decision.effects.contains(effect)
}

pub(crate) fn holds(decision: &Decision, reason: HoldReason) -> bool {
    !decision.safety.allowed && causes(decision, &Effect::Hold(reason))
}

pub(crate) fn stops(decision: &Decision, reason: StopReason) -> bool {
    !decision.safety.allowed && causes(decision, &Effect::Stop(reason)) && causes(decision, &Effect::Kill)
}

pub(crate) fn injects(decision: &Decision) -> bool {
    decision.effects.iter().any(|effect| matches!(effect, Effect::Inject(_)))
}

/// How often an iteration was said to have ended.
pub(crate) fn iteration_ends(decisions: &[Decision]) -> usize {
    let effects = decisions.iter().flat_map(|decision| &decision.effects);
    effects.filter(|effect| matches!(effect, Effect::EndIteration(_))).count()
}

/// All quiet: allowed, no findings, no effects.
pub(crate) fn quiet(decision: &Decision) -> bool {
    decision.safety.allowed && decision.findings.is_empty() && decision.effects.is_empty()
}
