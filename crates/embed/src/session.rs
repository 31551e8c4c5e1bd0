//! One session of a program that asks before each call.

use crate::environment;
use crate::error::EmbedError;
use crate::options::SessionOptions;
use crate::types::{
    Admission, AgentId, CallId, CallQuestion, CallResult, NoResult, ResultAnswer, SessionStatus, Stop, StopKind,
    UsageTold,
};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tripwire_authority::identity::Configuration;
use tripwire_clients::asked_call::{AskedCall, is_refused_for_what_it_is};
use tripwire_clients::hooks::answer::{self, Answer, Turn};
use tripwire_clients::hooks::{Event, Outcome, ToolCall, open_question};
use tripwire_clients::protected::ProtectedPaths;
use tripwire_clients::usage::{self, Figures};
use tripwire_core::chain::event::{AgentEvent, Flag};
use tripwire_core::decision::Decision;
use tripwire_core::input::What;
use tripwire_core::label::Label;
use tripwire_core::units::{Count, RunMillis};
use tripwire_judge as judge;
use tripwire_judge::outside::{OutsideText, OutsideTexts};
use tripwire_observe::{CleanCall, Observer, RawCall};
use tripwire_session::driver::{Driver, ManifestReach, StateSaves, StepOutcome, refusal_hint};
use tripwire_session::file_marks::BoundTree;
use tripwire_session::replica::Replica;
use tripwire_workspace::session::SessionId;
use tripwire_workspace::{Workspace, clock};

/// Calls without a result that are kept; a program has few of them open at once.
const OPEN_MAX: usize = 4_096;
/// Sub-agents that are kept by name; the policy allows far fewer at once.
const AGENTS_MAX: usize = 4_096;

/// What is done with everything that the session took in: notifications.
pub type OnTaken = Box<dyn Fn(&Driver, &StepOutcome) + Send>;

/// One session of a program that asks before each call.
///
/// Each question, result and figure is journaled before it is answered, in one append. Other processes may drive the same
/// session at the same time (`tripwire stop`, `tripwire allow`): the journal's lock keeps them apart.
pub struct GuardedSession {
    workspace: Workspace,
    driver: Driver,
    protected: ProtectedPaths,
    facts: judge::Facts,
    observer: Observer,
    open: BTreeMap<CallId, OpenCall>,
    calls: u64,
    agents: BTreeMap<AgentId, Option<AgentId>>,
    usage: UsageSource,
    remarks: Vec<String>,
    /// What the program's tools brought from outside.
    outside: OutsideTexts,
    notes: Vec<String>,
    on_taken: Option<OnTaken>,
    closed: bool,
}

/// A call between its question and its result.
#[derive(Debug, Clone)]
struct OpenCall {
    tool: ToolCall,
    agent: Option<AgentId>,
    turn: Option<Label>,
    asked: Instant,
}

/// Where the figures of tokens and money come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsageSource {
    /// Nobody told any: they are estimated from the size of each call, because they must never count as nothing.
    Estimated,
    /// The program tells them.
    Told,
}

impl fmt::Debug for GuardedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedSession").field("session", self.driver.session()).finish_non_exhaustive()
    }
}

impl GuardedSession {
    /// Begins a session, or takes one up.
    ///
    /// # Errors
    /// When the options are wrong, there is no workspace, or the journal cannot be written: then nothing may run.
    pub fn begin(options: &SessionOptions) -> Result<Self, EmbedError> {
        let chosen = options.chosen()?;
        let meant = options.session.as_deref().map(SessionId::parse).transpose()?;
        let folder = options.workspace.as_deref().unwrap_or(Path::new("."));
        let workspace = Workspace::open(folder, &environment::places())?;
        let notes = environment::keep_out_of_commits(&workspace).into_iter().collect();
        environment::remember(&workspace);
        let (layout, signing) = (workspace.layout(), environment::signing(&workspace));
        let role = options.role.clone().or_else(environment::role);
        let begins = meant.is_none();
        let driver = match meant {
            Some(session) => Driver::resume(layout, &session)?.signed_by(signing).acting_as(role),
            None => Driver::begin_signed(layout, signing, clock::now(), Configuration::default(), |policy| {
                chosen.apply(policy, role.as_deref(), workspace.root())
            })?,
        };
        // Nothing confines the program: its calls can write the manifest.
        let driver = driver.with_reach(ManifestReach::Open).with_saves(StateSaves::Seldom);
        let cwd = folder.canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
        let homes = environment::homes();
        let facts = judge::Facts {
            home: homes.home.clone(),
            ..judge::Facts::here(workspace.root().to_owned(), cwd, driver.policy())
        };
        let facts = facts.in_session(layout, driver.session());
        let mut session = Self {
            protected: ProtectedPaths::new(&workspace, &homes),
            facts,
            observer: Observer::default(),
            open: BTreeMap::new(),
            calls: 0,
            agents: BTreeMap::new(),
            usage: UsageSource::Estimated,
            remarks: Vec::new(),
            outside: OutsideTexts::default(),
            notes,
            on_taken: None,
            closed: false,
            driver,
            workspace,
        };
        if begins {
            session.take(What::IterationStarted, &Event::Prompt)?;
        } else {
            // A record that does not verify is told now, and not at the first call.
            session.driver.refresh()?;
            if session.driver.model().is_some_and(|model| !usage::is_estimate(model)) {
                session.usage = UsageSource::Told;
            }
        }
        Ok(session)
    }

    /// Has everything that is taken in from now on told to this as well.
    #[must_use]
    pub fn telling(mut self, on_taken: OnTaken) -> Self {
        self.on_taken = Some(on_taken);
        self
    }

    /// Says that what every answer of the model used is told: nothing is estimated, also not before the first one was.
    #[must_use]
    pub const fn with_told_usage(mut self) -> Self {
        self.usage = UsageSource::Told;
        self
    }

    /// Has every record in a second place before anything follows from it.
    #[must_use]
    pub fn replicated_by(mut self, replica: Option<Arc<dyn Replica>>) -> Self {
        self.driver = self.driver.replicated_by(replica);
        self
    }

    /// Asks before a call. It is journaled whatever the answer is.
    ///
    /// # Errors
    /// When the engine cannot decide: then the call must not run.
    pub fn before(&mut self, question: &CallQuestion<'_>) -> Result<Admission, EmbedError> {
        self.check(question.agent)?;
        if self.open.len() >= OPEN_MAX {
            return Err(EmbedError::TooManyOpenCalls { open: self.open.len() });
        }
        let tool = ToolCall::of(question.tool, question.arguments, None);
        let what = self.asked(question.agent)?.request(&tool, &self.driver, None);
        let event = Event::Asked(tool.clone());
        let (mut answer, decisions) = self.take(what, &event)?;
        let mut held = answer::held_words(&self.driver.view());
        if let Some(refused) = decisions.last().filter(|last| is_refused_for_what_it_is(last)) {
            let counted = self.asked(question.agent)?.refused(&tool, &refused.safety.reason);
            let counted = self.signed(counted, question.agent, question.turn.map(Label::cut));
            let (_, after) = self.take(What::Event(counted), &Event::Other)?;
            held = held.or_else(|| ends(&after).map(|decision| decision.safety.reason.to_string()));
        }
        if let Some(held) = held {
            answer = answer::in_held_session(answer, &held);
        }
        Ok(match answer {
            Answer::Refuse { reason, turn } => Admission::Stopped(Box::new(self.stop(&decisions, reason, turn))),
            Answer::Pass => self.admit(tool, question, None),
            Answer::Tell(text) | Answer::SendBack(text) | Answer::Override { text, .. } => {
                self.admit(tool, question, Some(text))
            }
            Answer::Shorten(short) => self.admit(tool, question, short.beside),
        })
    }

    /// Reports what a call gave, and closes it.
    ///
    /// # Errors
    /// When no such call is open, or the result cannot be journaled: then the call stays open.
    pub fn after(&mut self, call: &CallId, result: &CallResult) -> Result<ResultAnswer, EmbedError> {
        self.check(None)?;
        let open = self.open.get(call).cloned().ok_or_else(|| EmbedError::NoOpenCall { call: call.clone() })?;
        let raw = RawCall {
            output: Some(&result.output),
            error: result.error,
            exit_code: result.exit_code,
            ..RawCall::default()
        };
        let took = result.duration_ms.unwrap_or_else(|| u64::try_from(open.asked.elapsed().as_millis()).unwrap_or(0));
        let event = self.observed(&open, &raw, RunMillis::new(took))?;
        let outcome = Outcome {
            output: result.output.clone(),
            failed: result.error,
            exit_code: result.exit_code,
            duration_ms: took,
        };
        let text = OutsideText::of(&self.facts, &RawCall { output: Some(&result.output), ..open.tool.raw() });
        let (answer, decisions) = self.take(What::Event(event), &Event::Done(open.tool, outcome))?;
        if let (Some(text), Some(last)) = (text, decisions.last()) {
            self.outside.add(text, last.i);
        }
        self.open.remove(call);
        Ok(self.result_answer(answer, &decisions))
    }

    /// Closes a call that has no result: that is no success.
    ///
    /// # Errors
    /// See [`Self::after`].
    pub fn no_result(&mut self, call: &CallId, why: NoResult) -> Result<ResultAnswer, EmbedError> {
        self.check(None)?;
        self.record_no_result(call, why)
    }

    /// Counts what one answer of a model used.
    ///
    /// # Errors
    /// When it cannot be journaled.
    pub fn usage(&mut self, told: &UsageTold) -> Result<ResultAnswer, EmbedError> {
        self.check(told.agent.as_ref())?;
        let prices = self.driver.policy().price_list();
        let figures = Figures::told(&told.model, told.tokens, told.context, &prices);
        let event = figures.event(None, None);
        let event = self.signed(event, told.agent.as_ref(), None);
        let (_, decisions) = self.take(What::Event(event), &Event::Other)?;
        self.usage = UsageSource::Told;
        Ok(ResultAnswer {
            note: None,
            stop: ends(&decisions)
                .map(|last| Box::new(self.stop(&decisions, format!("tripwire: {}", last.safety.reason), Turn::Ends))),
        })
    }

    /// Announces a sub-agent, which shares the session and its budget, and gives the id that its calls carry.
    ///
    /// # Errors
    /// When it cannot be journaled. A sub-agent for which the tree has no place is an answer, not an error.
    pub fn child(&mut self, name: &str, parent: Option<&AgentId>) -> Result<Result<AgentId, Box<Stop>>, EmbedError> {
        self.check(parent)?;
        let agent = self.free_name(name);
        let event = AgentEvent {
            agent_id: Some(Label::cut(&agent.0)),
            parent_agent_id: parent.map(|parent| Label::cut(&parent.0)),
            ..AgentEvent::default()
        };
        let (answer, decisions) = self.take(What::Event(event), &Event::AgentStarted)?;
        if let Answer::Refuse { reason, turn } = answer {
            return Ok(Err(Box::new(self.stop(&decisions, reason, turn))));
        }
        if self.agents.len() >= AGENTS_MAX {
            self.agents.pop_first();
        }
        self.agents.insert(agent.clone(), parent.cloned());
        Ok(Ok(agent))
    }

    /// The session at a glance, with what people did meanwhile.
    ///
    /// # Errors
    /// When the journal or the control files cannot be read.
    pub fn status(&mut self) -> Result<SessionStatus, EmbedError> {
        if !self.closed && self.driver.has_news(clock::now())? {
            self.take(What::Tick, &Event::Other)?;
        } else {
            self.driver.refresh()?;
        }
        let view = self.driver.view();
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        Ok(SessionStatus {
            session: self.driver.session().as_str().to_owned(),
            workspace: self.workspace.root().display().to_string(),
            held: answer::held_words(&view),
            spent_micro_usd: view.spent.micro_usd.get(),
            budget_micro_usd: view.budget_micro_usd.map(|budget| budget.get()),
            tokens: view.spent.tokens.get(),
            steps: view.steps.get(),
            health_per_mille: view.health.millionths() / 1_000,
            open_calls: count(self.open.len()),
            agents: count(self.agents.len()),
        })
    }

    /// Closes the session: calls that are still open have no result, and the frozen replay is written. A second time does
    /// nothing.
    ///
    /// # Errors
    /// When it cannot be journaled.
    pub fn close(&mut self, why: NoResult) -> Result<(), EmbedError> {
        if self.closed {
            return Ok(());
        }
        let calls: Vec<CallId> = self.open.keys().cloned().collect();
        for call in calls {
            self.record_no_result(&call, why)?;
        }
        self.closed = true;
        self.driver.finish()?;
        Ok(self.driver.freeze_in_passing()?)
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.driver.session().as_str()
    }

    /// The driver, for callers that only look.
    #[must_use]
    pub const fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Whether it was closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// How many calls have no result.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.open.len()
    }

    /// What a person should hear: notices of the driver since the last look.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn check(&self, agent: Option<&AgentId>) -> Result<(), EmbedError> {
        match agent {
            _ if self.closed => Err(EmbedError::Closed),
            Some(agent) if !self.agents.contains_key(agent) => Err(EmbedError::NoSuchAgent { agent: agent.clone() }),
            Some(_) | None => Ok(()),
        }
    }

    /// What a call is looked at with.
    fn asked<'a>(&'a self, agent: Option<&'a AgentId>) -> Result<AskedCall<'a>, EmbedError> {
        Ok(AskedCall {
            root: self.workspace.root(),
            protected: &self.protected,
            facts: &self.facts,
            redactor: self.driver.redactor()?,
            idle: &[],
            agent: agent.map(|agent| agent.0.as_str()),
            asks: None,
            outside: Some(&self.outside),
            // A program that never reports results must not pass for one whose calls all run.
            running: Count::ZERO,
        })
    }

    fn admit(&mut self, tool: ToolCall, question: &CallQuestion<'_>, note: Option<String>) -> Admission {
        self.calls = self.calls.saturating_add(1);
        let call = CallId(format!("c{}", self.calls));
        let (agent, turn) = (question.agent.cloned(), question.turn.map(Label::cut));
        self.open.insert(call.clone(), OpenCall { tool, agent, turn, asked: Instant::now() });
        Admission::Allowed { call, note }
    }

    /// The event of a call that ended.
    fn observed(&mut self, open: &OpenCall, result: &RawCall<'_>, took: RunMillis) -> Result<AgentEvent, EmbedError> {
        let redactor = self.driver.redactor()?;
        let raw = RawCall {
            workspace_root: self.workspace.root().to_str(),
            test_command: Some(self.driver.policy().dirty_bits.test_command.as_str()).filter(|text| !text.is_empty()),
            output: result.output,
            error: result.error,
            exit_code: result.exit_code,
            ..open.tool.raw()
        };
        let facts = self.observer.observe(&CleanCall::of(&raw, redactor).raw());
        let is_test = facts.flags.has(Flag::Test);
        let mut event = facts.event(took);
        if is_test {
            event.workspace_hash = BoundTree::under(self.driver.policy()).digest(self.workspace.root());
        }
        if self.usage == UsageSource::Estimated {
            usage::estimate(&open.tool.input, result.output.unwrap_or_default()).put_into(&mut event);
        }
        Ok(self.signed(event, open.agent.as_ref(), open.turn.clone()))
    }

    fn record_no_result(&mut self, call: &CallId, why: NoResult) -> Result<ResultAnswer, EmbedError> {
        let open = self.open.get(call).cloned().ok_or_else(|| EmbedError::NoOpenCall { call: call.clone() })?;
        let raw = RawCall { output: Some(why.words()), error: Some(true), ..RawCall::default() };
        let event = self.observed(&open, &raw, RunMillis::ZERO)?;
        let outcome = Outcome { output: why.words().to_owned(), failed: Some(true), ..Outcome::default() };
        let (answer, decisions) = self.take(What::Event(event), &Event::Done(open.tool, outcome))?;
        self.open.remove(call);
        Ok(self.result_answer(answer, &decisions))
    }

    /// An event with who acted, and in which step.
    fn signed(&self, event: AgentEvent, agent: Option<&AgentId>, turn: Option<Label>) -> AgentEvent {
        let parent = agent.and_then(|agent| self.agents.get(agent)).and_then(Option::as_ref);
        AgentEvent {
            agent_id: agent.map(|agent| Label::cut(&agent.0)),
            parent_agent_id: parent.map(|parent| Label::cut(&parent.0)),
            turn_id: turn.or(event.turn_id),
            ..event
        }
    }

    /// Takes an input in, and answers from its decisions.
    fn take(&mut self, what: What, event: &Event) -> Result<(Answer, Vec<Decision>), EmbedError> {
        let mut taken = self.driver.take_now(what, clock::now)?;
        if let Some(on_taken) = &self.on_taken {
            on_taken(&self.driver, &taken);
        }
        self.notes.append(&mut taken.notices);
        let StepOutcome { before, decision, .. } = taken;
        let decisions: Vec<Decision> = before.into_iter().chain([decision]).collect();
        let seen: Vec<&Decision> = decisions.iter().collect();
        Ok((answer::of(event, &seen, &mut self.remarks), decisions))
    }

    /// A name for a sub-agent that no other has.
    fn free_name(&self, name: &str) -> AgentId {
        let name = if name.is_empty() { "agent" } else { name };
        let wanted = AgentId(name.to_owned());
        if !self.agents.contains_key(&wanted) {
            return wanted;
        }
        let mut numbered = (2..).map(|number: u64| AgentId(format!("{name}-{number}")));
        numbered.find(|agent| !self.agents.contains_key(agent)).unwrap_or(wanted)
    }

    /// The answer to a result.
    fn result_answer(&self, answer: Answer, decisions: &[Decision]) -> ResultAnswer {
        match answer {
            Answer::Pass => ResultAnswer::default(),
            Answer::Tell(text) | Answer::SendBack(text) | Answer::Override { text, .. } => {
                ResultAnswer { note: Some(text), stop: None }
            }
            Answer::Shorten(short) => ResultAnswer { note: short.beside, stop: None },
            Answer::Refuse { reason, turn } => {
                ResultAnswer { note: None, stop: Some(Box::new(self.stop(decisions, reason, turn))) }
            }
        }
    }

    /// Why something may not go on, from the newest decision that says so.
    fn stop(&self, decisions: &[Decision], message: String, turn: Turn) -> Stop {
        let decision = decisions.iter().rev().find(|decision| !decision.safety.allowed).or(decisions.last());
        let code = decision.and_then(open_question);
        let kind = if turn == Turn::Ends || code.is_some() { StopKind::Held } else { StopKind::Refused };
        let safety = decision.map(|decision| &decision.safety);
        let mut evidence: Vec<u64> =
            safety.iter().flat_map(|safety| safety.evidence.indices()).map(|index| index.get()).collect();
        if evidence.is_empty() && kind == StopKind::Held {
            // What holds the session was decided earlier.
            evidence.extend(self.driver.view().cause.map(|cause| cause.at.get()));
        }
        Stop {
            kind,
            reason: safety.map_or_else(|| message.clone(), |safety| safety.reason.to_string()),
            rule: safety.map(|safety| safety.rule.id().to_owned()).unwrap_or_default(),
            evidence,
            retry_after_ms: safety.and_then(|safety| safety.retry_after_ms).map(|wait| wait.get()),
            code: code.map(|code| code.to_string()),
            message,
            hint: safety.map(|safety| refusal_hint(safety).into_owned()).unwrap_or_default(),
        }
    }
}

/// The decision after which nothing may follow.
fn ends(decisions: &[Decision]) -> Option<&Decision> {
    decisions.last().filter(|decision| !decision.safety.allowed && answer::turn_of(decision) == Turn::Ends)
}
