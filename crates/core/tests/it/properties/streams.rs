//! Random sessions: a small vocabulary of actions and outputs, and a strong habit of doing the same again.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use tripwire_core::chain::event::{Action, AgentEvent, ErrorClass, Flag, Flags, Outcome, Status, TestResult};
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::input::{
    AdvisorReply, AgentStart, Authority, Claim, Compaction, Counter, CounterEdit, DirtyBitsEdit, DriftMeaning,
    EngineSwitched, Fault, FloorFact, FloorWeight, Grant, HumanAct, IdentityFact, Input, Mode, ModelSpend, Permission,
    PolicyDrift, Report, Request, ReviewVerdict, Verdict, What,
};
use tripwire_core::label::Label;
use tripwire_core::policy::{Choice, Policy, Profile};
use tripwire_core::record::chain::Digest;
use tripwire_core::sketch::{LANES, Sketch};
use tripwire_core::units::{Count, EventIndex, MicroUsd, RunMillis, Tokens};
use tripwire_core::usage::Usage;

/// Makes one stream and the policy it runs under.
pub(crate) struct Generator {
    rng: TestRng,
    profile: Profile,
    at: u64,
    /// The usual time between two inputs of this stream.
    pace: u64,
    /// How many different actions and outputs this stream knows.
    words: u64,
    /// Out of a hundred: how often the last input is simply repeated.
    habit: u64,
}

impl Generator {
    pub(crate) fn new(base: u64, number: u64, profile: Profile) -> Self {
        let mut seed = [0_u8; 32];
        seed[..8].copy_from_slice(&base.to_le_bytes());
        seed[8..16].copy_from_slice(&number.to_le_bytes());
        seed[16] = u8::from(profile == Profile::Strict);
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut generator = Self { rng, profile, at: 0, pace: 0, words: 0, habit: 0 };
        generator.pace = generator.one_of(&[10, 400, 4_000, 4_000, 20_000, 70_000]);
        generator.words = 1 + generator.below(6);
        generator.habit = generator.one_of(&[10, 50, 80, 95]);
        generator
    }

    /// A policy with some of the settings that streams of this length can reach.
    pub(crate) fn policy(&mut self) -> Policy {
        let mut policy = Policy::default();
        policy.set("profile", self.profile.name()).unwrap();
        let tweaks = [
            ("limits.max_steps", "4"),
            ("limits.max_session_runtime_ms", "90000"),
            ("limits.max_agents", "2"),
            ("limits.stop_on_convergence", "true"),
            ("limits.editing_objective", "true"),
            ("safety.max_iterations", "2"),
            ("money.budget_micro_usd", "5000"),
            ("gate.on_guard_failure", "allow"),
            ("gate.max_tool_calls_per_minute", "1000"),
        ];
        for (path, value) in tweaks {
            if self.percent(12) {
                policy.set(path, value).unwrap();
            }
        }
        policy
    }

    /// From 1 to 60 inputs.
    pub(crate) fn stream(&mut self) -> Vec<Input> {
        let length = 1 + self.below(60);
        let mut inputs: Vec<Input> = Vec::new();
        for _ in 0..length {
            let habit = self.habit;
            let what = match inputs.last() {
                Some(last) if self.percent(habit) => last.what.clone(),
                Some(_) | None => self.what(),
            };
            let at = self.time();
            inputs.push(Input { at, what });
        }
        inputs
    }

    fn time(&mut self) -> RunMillis {
        let step = match self.below(40) {
            0 => 0,
            1 => self.pace * 20,
            2 => 65_000,
            _ => self.pace + self.below(self.pace / 4 + 1),
        };
        self.at += step;
        let back = if self.percent(2) { self.one_of(&[1, 4_999, 5_000, 60_000]) } else { 0 };
        RunMillis::new(self.at.saturating_sub(back))
    }

    fn what(&mut self) -> What {
        match self.below(100) {
            0..62 => What::Event(self.event()),
            62..72 => What::Request(self.request()),
            72..76 => What::Result(self.result()),
            76..80 => What::Tick,
            80..86 => What::Human(self.act()),
            86..88 => What::Advisor(AdvisorReply { advice: self.label(&["", " ", "try the other module"]) }),
            88..90 => What::Review(self.review()),
            90..94 => What::IterationStarted,
            94..97 => {
                let workspace_hash = self.maybe(60, |me| me.label(&["tree", "other"]));
                What::Claim(Claim { workspace_hash, ..Claim::default() })
            }
            97..98 => What::Compacted(Compaction {
                context_tokens: self.maybe(50, |me| Tokens::new(me.below(250_000))),
                workspace_hash: self.maybe(50, |me| me.label(&["tree", "other"])),
            }),
            98..99 if self.below(2) == 0 => What::ModelSpend(ModelSpend {
                model: Label::cut("claude-sonnet-4-5"),
                micro_usd: MicroUsd::new(self.below(5_000)),
                usage: Usage { fresh_input: Tokens::new(self.below(9_000)), ..Usage::default() },
            }),
            98..99 => What::Fault(Fault { cause: Label::cut("the journal does not verify"), fix: Label::cut("look") }),
            _ if self.below(2) == 0 => What::EngineSwitched(EngineSwitched {
                from: Label::cut("claude"),
                to: Label::cut("codex"),
                reason: Label::cut("overloaded"),
            }),
            _ => What::PolicyDrift(PolicyDrift {
                key: Label::cut("gate.x"),
                value: Label::cut("1"),
                meaning: DriftMeaning::NotApplied,
            }),
        }
    }

    fn event(&mut self) -> AgentEvent {
        let (word, output) = (self.below(self.words), self.below(self.words));
        let failed = self.percent(25);
        AgentEvent {
            action: self.maybe(85, |me| me.action(word)),
            agent_id: self.maybe(10, |me| me.label(&["a", "b", "c", "d"])),
            cache_read_tokens: self.maybe(10, |me| Tokens::new(me.below(1_000_000))),
            context_tokens: self.maybe(10, |me| Tokens::new(me.below(200_000))),
            context_window: self.maybe(5, |me| Tokens::new(me.below(1_000_000))),
            cost_micro_usd: self.maybe(30, |me| MicroUsd::new(me.below(2_000))),
            error_digest: failed.then(|| self.label(&["no such file", "refused"])),
            flags: self.flags(),
            input_tokens: self.maybe(20, |me| Tokens::new(me.below(9_000))),
            outcome: self.maybe(70, |me| me.outcome(failed)),
            output_hash: self.maybe(70, |_| Label::cut(&format!("out-{output}"))),
            parent_agent_id: self.maybe(5, |me| me.label(&["a", "b", "nobody"])),
            result_digest: self.maybe(50, |_| Label::cut(&format!("out-{output}"))),
            sketch: self.maybe(30, |me| me.sketch()),
            token_count: Tokens::new(self.figure()),
            tool_calls: Count::new(u32::try_from(self.one_of(&[0, 1, 1, 1, 2, 30])).unwrap()),
            turn_id: self.maybe(40, |me| me.label(&["t1", "t2", "t3"])),
            user_turn: self.percent(3),
            workspace_hash: self.maybe(20, |me| me.label(&["tree", "other"])),
            ..AgentEvent::default()
        }
    }

    fn action(&mut self, word: u64) -> Action {
        Action {
            args_digest: Some(Label::cut(&format!("args-{word}"))),
            signature: self.maybe(80, |_| Label::cut(&format!("Bash(cmd=do {})", word / 2))),
            target: self.maybe(5, |me| me.label(&["src/a.rs", "src/b.rs"])),
            tool: Label::cut("Bash"),
            ..Action::default()
        }
    }

    fn outcome(&mut self, failed: impl Into<bool>) -> Outcome {
        let classes = [
            ErrorClass::Timeout,
            ErrorClass::CouldNotRun,
            ErrorClass::NonZeroExit,
            ErrorClass::Tool,
            ErrorClass::Infrastructure,
            ErrorClass::Refused,
        ];
        let failed = failed.into();
        Outcome {
            error_class: if failed { self.maybe(80, |me| me.one_of(&classes)) } else { None },
            exit_code: None,
            status: if failed { Status::Error } else { Status::Ok },
            test: self.maybe(20, |me| me.one_of(&[TestResult::Passed, TestResult::Failed])),
        }
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        for (flag, _) in Flag::ALL {
            if self.percent(8) {
                flags = flags.with(flag);
            }
        }
        flags
    }

    fn sketch(&mut self) -> Sketch {
        let mut lanes = [1; LANES];
        let changed = usize::try_from(self.one_of(&[0, 0, 2, 40])).unwrap();
        lanes.iter_mut().take(changed).for_each(|lane| *lane = 2);
        Sketch::from_lanes(lanes)
    }

    /// Tokens of one event: mostly small, sometimes at a bound.
    fn figure(&mut self) -> u64 {
        match self.below(20) {
            0 => self.one_of(&[50_000, 50_001, 40_000, 1_000_000_000_000]),
            1..5 => self.below(20_000),
            _ => self.below(900),
        }
    }

    fn request(&mut self) -> Request {
        let word = self.below(self.words);
        Request {
            action: self.action(word),
            authority: self.maybe(90, |me| Authority {
                grant: if me.percent(90) { Grant::Granted } else { Grant::Denied },
                identity: me.maybe(15, |me| {
                    me.one_of(&[IdentityFact::Trusted, IdentityFact::UnknownChecksum, IdentityFact::ListUnsigned])
                }),
                permission: me.one_of(&[Permission::CanExecuteTasks, Permission::CanEditSource, Permission::Write]),
                role: Label::cut("developer"),
            }),
            floor: self.maybe(10, |me| FloorFact {
                code: Label::cut(if me.percent(50) { "AAAA-AA" } else { "BBBB-BB" }),
                digest: me.digest(),
                reason: Label::cut("it deletes a home"),
                rule: Label::cut("delete-home"),
                weight: me.one_of(&[
                    FloorWeight::Destroys,
                    FloorWeight::Publishes,
                    FloorWeight::Asks,
                    FloorWeight::FromOutside(EventIndex::new(0)),
                    FloorWeight::Loses(Count::new(1)),
                ]),
            }),
            proposal: self.maybe(10, |me| me.digest()),
            reserve_micro_usd: self.maybe(20, |me| MicroUsd::new(me.below(3_000))),
            agent_id: None,
            starts_agent: self.maybe(10, |_| AgentStart::default()),
            running: None,
        }
    }

    fn result(&mut self) -> ExecutionResult {
        let statuses =
            [ExecutionStatus::Success, ExecutionStatus::Partial, ExecutionStatus::Failed, ExecutionStatus::Blocked];
        ExecutionResult {
            executed: true,
            latency_ms: RunMillis::new(self.below(5_000)),
            status: self.one_of(&statuses),
            tokens_used: Tokens::new(self.below(900)),
        }
    }

    fn act(&mut self) -> HumanAct {
        match self.below(12) {
            0 => HumanAct::Stop,
            1 => HumanAct::Pause,
            2..5 => HumanAct::Resume,
            5 | 6 => HumanAct::Restart,
            7 => HumanAct::Acknowledge(self.one_of(&[Report::Blocker, Report::Checkpoint])),
            8 => HumanAct::SetCounter(CounterEdit {
                counter: self.one_of(&[Counter::Iterations, Counter::ConsecutiveFailures]),
                value: Count::new(u32::try_from(self.below(4)).unwrap()),
            }),
            9 => HumanAct::SetDirtyBits(DirtyBitsEdit { tests_run: Some(true), ..DirtyBitsEdit::default() }),
            10 if self.percent(50) => HumanAct::AllowOnce(Label::cut("AAAA-AA")),
            10 => HumanAct::RaiseBudget(MicroUsd::new(self.below(9_000))),
            _ => HumanAct::SetMode(self.one_of(&[Mode::Armed, Mode::Armed, Mode::Observe])),
        }
    }

    fn review(&mut self) -> ReviewVerdict {
        ReviewVerdict { proposal: self.digest(), verdict: self.one_of(&[Verdict::Approved, Verdict::Rejected]) }
    }

    fn digest(&mut self) -> Digest {
        Digest::of(&self.below(3).to_le_bytes())
    }

    fn label(&mut self, choices: &[&str]) -> Label {
        Label::cut(self.one_of(choices))
    }

    fn maybe<T>(&mut self, percent: u64, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.percent(percent) { Some(make(self)) } else { None }
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound.max(1)
    }
}
