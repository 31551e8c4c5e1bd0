//! A world for the machine: it answers what the machine asks for, out of a script, and journals as a shell would.

use std::collections::VecDeque;
use tripwire_core::chain::Chain;
use tripwire_core::chain::event::{Action, AgentEvent};
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::input::{
    AdvisorReply, Authority, Claim, Compaction, Grant, Input, Permission, Request, ReviewVerdict, Verdict, What,
};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_core::record::chain::Digest;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::fallback::Seat;
use tripwire_core::run::line::Line;
use tripwire_core::run::plan::Plan;
use tripwire_core::run::record::{
    Answer, AnswerEnd, Call, CallFault, CallOutcome, Checked, EngineFailure, FailureKind, FaultKind, OnHold,
    RUN_VERSION, Returned, ReviewAnswer, Reviewed, RunRecord, Setup, Spent, Spoken, Work, WorkEnd,
};
use tripwire_core::run::{LoopEffect, LoopRequest, Next, Recitation, Run, RunInput, Saying};
use tripwire_core::units::{Count, MicroUsd, RunMillis, Tokens};
use tripwire_core::usage::Usage;
use tripwire_observe::{RawCall, observe};

/// What an engine does when it is asked.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// It asks for these calls: tool and arguments.
    Calls(Vec<(&'static str, &'static str)>),
    /// It only talks.
    Text(&'static str),
    /// It asks for a call and has used this much of its window.
    Full(u64),
    /// It does not answer.
    Fails(FailureKind, Option<u64>),
    /// Its answer breaks off after so many tokens.
    Breaks(u64),
    /// It is a worker, and its turn ended so.
    Worked(WorkEnd),
}

/// A session with a scripted world.
#[derive(Debug)]
pub(crate) struct RunFixture {
    pub(crate) run: Run,
    chain: Chain,
    now: u64,
    replies: VecDeque<Reply>,
    pub(crate) advice: Option<&'static str>,
    /// Advisors at the head of the list that have no answer.
    pub(crate) advisors_blank: usize,
    /// The advisors that were asked, by their place.
    pub(crate) advised_by: Vec<usize>,
    /// What the advisor says of the loop itself.
    pub(crate) opinion: Option<&'static str>,
    /// What a call of `plan` writes down.
    pub(crate) plan: Option<Plan>,
    pub(crate) review: VecDeque<ReviewAnswer>,
    /// Everything that a journal would hold, to run it again.
    pub(crate) journal: Vec<Journaled>,
    pub(crate) lines: Vec<Line>,
    pub(crate) conversation: Vec<Saying>,
    pub(crate) recitations: Vec<Recitation>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) briefings: usize,
    pub(crate) executed: Vec<String>,
    pub(crate) waited: Vec<u64>,
    pub(crate) asked: Vec<usize>,
}

/// One record of the journal.
#[derive(Debug, Clone)]
pub(crate) enum Journaled {
    Record(Box<RunRecord>),
    Input(Box<Input>),
}

/// The policy of our own loop.
pub(crate) fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.set("limits.max_steps", "10").unwrap();
    policy
}

pub(crate) fn setup() -> Setup {
    Setup {
        advisor: None,
        engines: vec![Label::cut("scripted:a"), Label::cut("scripted:b")],
        objective: "make the tests pass".into(),
        other_advisors: Vec::new(),
        patience: OnHold::Leave,
        prompt: "be careful".into(),
        prompt_sha256: Digest::of(b"be careful"),
        probe: None,
        registry_sha256: Digest::of(b"tools"),
        reviewer: None,
        role: Label::cut("developer"),
        seats: vec![Seat::Local, Seat::Local],
        version: RUN_VERSION,
        workers: Vec::new(),
    }
}

/// One call.
pub(crate) fn call(tool: &'static str, arguments: &'static str) -> Reply {
    Reply::Calls(vec![(tool, arguments)])
}

pub(crate) fn edit() -> Reply {
    call("edit", r#"{"path":"sum.sh"}"#)
}

pub(crate) fn test_run() -> Reply {
    call("shell", r#"{"command":"cargo test"}"#)
}

pub(crate) fn finish() -> Reply {
    call("finish", r#"{"summary":"done"}"#)
}

/// Different reads, none of which repeats another.
pub(crate) fn read(n: usize) -> Reply {
    const FILES: [&str; 12] = [
        r#"{"path":"a"}"#,
        r#"{"path":"b"}"#,
        r#"{"path":"c"}"#,
        r#"{"path":"d"}"#,
        r#"{"path":"e"}"#,
        r#"{"path":"f"}"#,
        r#"{"path":"g"}"#,
        r#"{"path":"h"}"#,
        r#"{"path":"i"}"#,
        r#"{"path":"j"}"#,
        r#"{"path":"k"}"#,
        r#"{"path":"l"}"#,
    ];
    call("read_file", FILES[n % FILES.len()])
}

/// How far a run may go before the test itself is at fault.
const MOVES_MAX: usize = 20_000;

impl RunFixture {
    pub(crate) fn new(setup: Setup, policy: Policy, replies: impl IntoIterator<Item = Reply>) -> Self {
        let (run, views) = Run::new(setup, &policy);
        let mut fixture = Self {
            run,
            chain: Chain::new(policy).unwrap(),
            now: 0,
            replies: replies.into_iter().collect(),
            advice: None,
            advisors_blank: 0,
            advised_by: Vec::new(),
            opinion: None,
            plan: None,
            review: VecDeque::new(),
            journal: Vec::new(),
            lines: Vec::new(),
            conversation: Vec::new(),
            recitations: Vec::new(),
            briefings: 0,
            plans: Vec::new(),
            executed: Vec::new(),
            waited: Vec::new(),
            asked: Vec::new(),
        };
        fixture.show(views);
        fixture
    }

    /// Runs a script under the usual policy to its end.
    pub(crate) fn played(replies: impl IntoIterator<Item = Reply>) -> (Self, Ending) {
        let mut fixture = Self::new(setup(), policy(), replies);
        let ending = fixture.play();
        (fixture, ending)
    }

    /// Runs to the end.
    pub(crate) fn play(&mut self) -> Ending {
        for _ in 0..MOVES_MAX {
            if let Some(ending) = self.advance() {
                return ending;
            }
        }
        panic!("the run does not end");
    }

    /// Does the next thing; gives the ending once there is one.
    pub(crate) fn advance(&mut self) -> Option<Ending> {
        self.now += 1_000;
        let run = self.run.clone();
        match run.next() {
            Next::Take(request) => self.put(what(&run, request)),
            Next::Ask { engine } => {
                self.asked.push(engine);
                let record = self.reply(engine);
                self.learn(record);
            }
            Next::Check(call) => self.learn(RunRecord::Checked(check(&call))),
            Next::Execute(call) => {
                self.learn(RunRecord::Started);
                self.executed.push(format!("{} {}", call.tool, call.arguments));
                if let Some(plan) = self.plan.clone().filter(|_| call.tool == "plan") {
                    self.learn(RunRecord::Planned(plan));
                }
                self.learn(RunRecord::Returned(execute(&call)));
            }
            Next::JudgeLoop => {
                let record = match self.opinion {
                    Some(text) => RunRecord::LoopJudged(spoken(text)),
                    None => RunRecord::LoopNotJudged(failure(FailureKind::Unreachable, None)),
                };
                self.learn(record);
            }
            Next::Advise { advisor, .. } => {
                self.advised_by.push(advisor);
                let record = match self.advice.filter(|_| advisor >= self.advisors_blank) {
                    Some(text) => RunRecord::Advised(spoken(text)),
                    None => RunRecord::NoAdvice(failure(FailureKind::Unreachable, None)),
                };
                self.learn(record);
            }
            Next::Review => {
                let answer = self.review.pop_front().unwrap_or(ReviewAnswer::Unclear);
                let spoken = Some(spoken("the reviewer's words"));
                let proposal = Some(Digest::of(format!("change after {} calls", self.executed.len()).as_bytes()));
                self.learn(RunRecord::Reviewed(Reviewed { proposal, answer, spoken }));
            }
            Next::Apply(_) => {
                self.executed.push("apply".to_owned());
                self.learn(RunRecord::Applied(returned(CallOutcome::Done, "applied", None)));
            }
            Next::Wait(ms) => {
                self.waited.push(ms.get());
                self.now += ms.get();
                self.learn(RunRecord::Waited);
            }
            Next::AwaitAnswer { ms, .. } => {
                self.waited.push(ms.get());
                self.now += ms.get();
                self.learn(RunRecord::Waited);
            }
            Next::AwaitPerson(reason) => panic!("waits for a person: {reason:?}"),
            Next::Finished(ending) => return Some(ending.clone()),
        }
        None
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, ms: u64) {
        self.now += ms;
    }

    /// Puts something before the chain and tells the machine what was decided.
    pub(crate) fn put(&mut self, what: What) {
        let input = Input { at: RunMillis::new(self.now), what };
        self.journal.push(Journaled::Input(Box::new(input.clone())));
        let decision = self.chain.step(&input).decision;
        let views = self.run.take(RunInput::Decided(&input.what, &decision));
        self.show(views);
    }

    pub(crate) fn learn(&mut self, record: RunRecord) {
        let views = self.run.take(RunInput::Record(&record));
        self.journal.push(Journaled::Record(Box::new(record)));
        self.show(views);
    }

    fn show(&mut self, views: Vec<LoopEffect>) {
        for view in views {
            match view {
                LoopEffect::Line(line) => self.lines.push(line),
                LoopEffect::Say(saying) => self.conversation.push(saying),
                LoopEffect::Forget => self.conversation.clear(),
                LoopEffect::Brief => self.briefings += 1,
                LoopEffect::Plan(plan) => self.plans.push(plan),
                LoopEffect::Recite(recitation) => self.recitations.push(recitation),
            }
        }
    }

    fn reply(&mut self, engine: usize) -> RunRecord {
        let step = self.run.step();
        let used =
            |tokens: u64| Usage { fresh_input: Tokens::new(tokens), output: Tokens::new(20), ..Usage::default() };
        let answer = |calls: Vec<(&str, &str)>, text: &str, usage: Usage| {
            let call = |(n, (tool, arguments)): (usize, (&str, &str))| Call {
                arguments: arguments.into(),
                id: format!("call-{step}-{n}").into(),
                tool: tool.into(),
            };
            Answer {
                calls: calls.into_iter().enumerate().map(call).collect(),
                end: AnswerEnd::Finished,
                engine: self.run.setup().engines[engine].clone(),
                model: Label::cut("model"),
                text: text.into(),
                usage,
                work: None,
            }
        };
        match self.replies.pop_front() {
            Some(Reply::Calls(calls)) => RunRecord::Answered(answer(calls, "I do the next thing", used(100))),
            Some(Reply::Text(text)) => RunRecord::Answered(answer(Vec::new(), text, used(100))),
            Some(Reply::Full(tokens)) => {
                RunRecord::Answered(answer(vec![("read_file", r#"{"path":"big"}"#)], "", used(tokens)))
            }
            Some(Reply::Fails(kind, wait)) => RunRecord::Failed(failure(kind, wait)),
            Some(Reply::Breaks(tokens)) => {
                RunRecord::Failed(EngineFailure { spent: Some(spent(tokens)), ..failure(FailureKind::Broken, None) })
            }
            Some(Reply::Worked(end)) => {
                let calls = if end == WorkEnd::Finished { vec![("finish", r#"{"summary":"x"}"#)] } else { Vec::new() };
                let said = answer(calls, "the worker's words", Usage::default());
                RunRecord::Answered(Answer { work: Some(work(end)), ..said })
            }
            None => RunRecord::Failed(failure(FailureKind::Refused, None)),
        }
    }

    /// The tokens that the chain has counted.
    pub(crate) fn tokens(&self) -> u64 {
        self.chain.view().spent.tokens.get()
    }

    /// The steps that the chain has counted.
    pub(crate) fn steps(&self) -> u64 {
        self.chain.view().steps.get()
    }

    /// The transcript as text.
    pub(crate) fn transcript(&self) -> String {
        self.lines.iter().map(|line| line.text().unwrap() + "\n").collect()
    }
}

/// What a question used that gave no answer.
pub(crate) fn spent(tokens: u64) -> Spent {
    Spent {
        engine: Label::cut("scripted:a"),
        estimated: false,
        model: Label::cut("model"),
        usage: Usage { fresh_input: Tokens::new(tokens), ..Usage::default() },
    }
}

fn work(end: WorkEnd) -> Work {
    Work {
        changed: false,
        cost_micro_usd: MicroUsd::new(7),
        end,
        session: Some(Label::cut("auto-2026-01-01-000000")),
        tested: None,
        tokens: Tokens::new(3),
    }
}

pub(crate) fn failure(kind: FailureKind, wait: Option<u64>) -> EngineFailure {
    let retry_after_ms = wait.map(RunMillis::new);
    EngineFailure { engine: Label::cut("scripted:a"), kind, retry_after_ms, said: "no answer".into(), spent: None }
}

fn spoken(text: &str) -> Spoken {
    let (engine, model) = (Label::cut("scripted:other"), Label::cut("model"));
    Spoken { engine, model, text: text.into(), usage: Usage::default() }
}

pub(crate) fn returned(how: CallOutcome, text: &str, exit_code: Option<i32>) -> Returned {
    Returned { exit_code, how, pointer: None, text: text.into(), verbatim: None }
}

/// What the registry says: `finish` claims, arguments must be JSON, `dance` does not exist.
fn check(call: &Call) -> Checked {
    let fault = |kind, text: &str| Checked::Fault(CallFault { kind, text: text.to_owned().into() });
    match call.tool.as_str() {
        "dance" => fault(FaultKind::UnknownTool, "there is no tool `dance`"),
        _ if !call.arguments.starts_with('{') => fault(FaultKind::ValidationError, "the arguments are not JSON"),
        "finish" => Checked::Finish,
        _ => Checked::Valid,
    }
}

/// What the tools give: `fail` in the arguments fails, tests pass unless they are `broken`.
fn execute(call: &Call) -> Returned {
    match call.arguments.as_str() {
        arguments if arguments.contains("fail") => returned(CallOutcome::Failed, "exploded", Some(2)),
        arguments if arguments.contains("cargo test") => {
            returned(CallOutcome::Done, "test result: ok. 3 passed", Some(0))
        }
        arguments => returned(CallOutcome::Done, &format!("result of {arguments}"), None),
    }
}

/// What a shell would say to the chain.
fn what(run: &Run, put: LoopRequest) -> What {
    let turn = Label::new(&format!("step-{}", run.step()));
    let result = |returned: &Returned| {
        let status = if returned.how == CallOutcome::Cut { ExecutionStatus::Failed } else { ExecutionStatus::Success };
        ExecutionResult { executed: true, latency_ms: RunMillis::ZERO, status, tokens_used: Tokens::ZERO }
    };
    match put {
        LoopRequest::IterationStarted => What::IterationStarted,
        LoopRequest::ModelRequest => {
            request(Action { tool: Label::cut("model"), turn_id: turn, ..Action::default() }, None)
        }
        LoopRequest::Spent(spent) => What::Event(AgentEvent {
            input_tokens: Some(spent.usage.fresh_input),
            output_tokens: Some(spent.usage.output),
            turn_id: turn,
            ..AgentEvent::default()
        }),
        LoopRequest::ModelEvent(answer) => What::Event(AgentEvent {
            input_tokens: Some(answer.usage.fresh_input),
            output_tokens: Some(answer.usage.output),
            context_tokens: Some(answer.usage.context()),
            turn_id: turn,
            ..AgentEvent::default()
        }),
        LoopRequest::ToolRequest(call) => {
            let action = observe(&RawCall { tool: &call.tool, args: &call.arguments, ..RawCall::default() }).action;
            request(Action { turn_id: turn, ..action }, None)
        }
        LoopRequest::ToolResult(returned) | LoopRequest::ApplyResult(returned) => What::Result(result(&returned)),
        LoopRequest::ToolEvent(call, returned) => {
            let facts = observe(&RawCall {
                tool: &call.tool,
                args: &call.arguments,
                output: Some(&returned.text),
                error: Some(returned.how.is_error()),
                exit_code: returned.exit_code,
                ..RawCall::default()
            });
            What::Event(AgentEvent {
                action: Some(facts.action),
                outcome: Some(facts.outcome),
                flags: facts.flags,
                result_digest: facts.result_digest,
                error_digest: facts.error_digest,
                error_kind: facts.error_kind,
                error_text: facts.error_text,
                tool_calls: Count::new(1),
                turn_id: turn,
                ..AgentEvent::default()
            })
        }
        LoopRequest::Claim => What::Claim(Claim::default()),
        LoopRequest::Compacted => What::Compacted(Compaction::default()),
        LoopRequest::Advice(spoken) => What::Advisor(AdvisorReply { advice: Label::cut(&spoken.text) }),
        LoopRequest::Verdict(reviewed) => What::Review(ReviewVerdict {
            proposal: reviewed.proposal.unwrap(),
            verdict: if reviewed.answer == ReviewAnswer::Approved { Verdict::Approved } else { Verdict::Rejected },
        }),
        LoopRequest::ApplyRequest(proposal) => {
            request(Action { tool: Label::cut("apply"), turn_id: turn, ..Action::default() }, Some(proposal))
        }
    }
}

fn request(action: Action, proposal: Option<Digest>) -> What {
    let authority = Authority {
        grant: Grant::Granted,
        identity: None,
        permission: Permission::CanExecuteTasks,
        role: Label::cut("developer"),
    };
    What::Request(Request {
        action,
        authority: Some(authority),
        floor: None,
        proposal,
        reserve_micro_usd: None,
        agent_id: None,
        starts_agent: None,
        running: None,
    })
}
