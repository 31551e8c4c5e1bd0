//! Handles one event of a client: inputs to the engine, decisions back, one answer.
//!
//! It is the same for a hook process that opens the session itself and for the supervisor, to which hooks hand over what
//! they got. Nothing here decides.

use super::alive::{self, Life};
use super::answer::{self, Answer};
use super::disk::{DiskWatch, Others};
use super::event::{Event, Source, ToolCall};
use super::figures::{self, FigureUse};
pub use super::held_call::OnHeldCall;
use super::held_call::open_question;
use super::hook_call::{HookCall, say};
use super::inputs::{self, CallContext, Verified};
use super::kept::{KeptNotes, KeptStep};
use super::memory::HookMemory;
use super::reach::CallReach;
use super::reply::Reply;
use super::shortened::shortened;
use super::undo::{PassedCall, StepSnapshots};
use super::window;
use crate::asked_call::is_refused_for_what_it_is;
use crate::homes::Homes;
use crate::protected::ProtectedPaths;
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;
use tripwire_core::chain::event::DiskChanges;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::decision::{Decision, SafetyVeto};
use tripwire_core::input::What;
use tripwire_core::label::Label;
use tripwire_core::policy::Switch;
use tripwire_core::rules::Rule;
use tripwire_fs::file;
use tripwire_judge as judge;
use tripwire_secrets::Redactor;
use tripwire_session::driver::{Driver, DriverError, StepOutcome};
use tripwire_session::file_marks::BoundTree;
use tripwire_session::foreign::Foreign;
use tripwire_undo::UndoStore;
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// The largest briefing that is put into a fresh context.
const BRIEFING_BYTES_MAX: u64 = 32 * 1_024;

/// Handles the events of one workspace.
#[derive(Debug)]
pub struct HookHandler<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// The person's folders, for what the agent must not touch.
    pub homes: &'a Homes,
    /// The clock.
    pub clock: fn() -> WallClock,
    /// Who measures what a call changes on disk.
    pub changes: Measured,
    /// What the figures of the client's own record are good for.
    pub figures: FigureUse,
    /// What is done with a held call.
    pub held: OnHeldCall,
    /// Where snapshots of the workspace go; none are taken without it.
    pub undo: Option<&'a UndoStore>,
}

/// Who measures what a call changes on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measured {
    /// The caller: what changed during the call that ended, where it could be measured.
    Given(Option<DiskChanges>),
    /// The hooks themselves, before and after the call.
    ByHooks,
}

/// What came of an event.
#[derive(Debug)]
pub struct Handled {
    /// What the hook says.
    pub reply: Reply,
    /// What the driver took in, for notifications.
    pub taken: Vec<StepOutcome>,
    /// The call is only throttled: after this time it may be asked for again, with [`Attempt::Again`].
    pub retry_after: Option<Duration>,
    /// The code of a held call that waits for a person's answer: it is to be asked for again when that came, or when the time is
    /// over. Only with [`OnHeldCall::Waits`].
    pub awaits: Option<Label>,
}

/// Whether an event is dealt with for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// It is.
    First,
    /// It waited for a throttle; its tokens and its sub-agent were taken in already.
    Again,
}

impl HookHandler<'_> {
    /// Handles one event. What is kept serves the next event of the same session; after an error it is not to be used again.
    ///
    /// # Errors
    /// When the engine cannot decide: then the caller has to refuse.
    pub fn handle(
        &self,
        call: &HookCall,
        driver: &mut Driver,
        kept: &mut KeptNotes,
        attempt: Attempt,
    ) -> Result<Handled, DriverError> {
        let notes = kept.open(foreign(call), self.workspace.layout(), driver)?;
        let (mut taken, mut awaits) = (Vec::new(), None);
        let answer = match &call.event {
            Event::SessionStarted(source) => {
                match source {
                    Source::Resumed => figures::skip(call, &mut kept.memory),
                    Source::Compacted => kept.memory.forget_context(),
                    Source::Startup => {}
                }
                if let Some(why) = self.snapshots(call, driver.session().as_str()).begin() {
                    kept.memory.notices.push(why);
                }
                self.begin(call, *source)?
            }
            Event::Compacting => {
                driver.brief((self.clock)())?;
                Answer::Pass
            }
            Event::Prompt
            | Event::ModelAsked { .. }
            | Event::Asked(_)
            | Event::Done(..)
            | Event::Claimed(_)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacted
            | Event::SessionEnded
            | Event::Other => {
                let notes = HookNotes { kept, taken: &mut taken, awaits: &mut awaits };
                self.decide(call, driver, attempt, notes)?
            }
        };
        let answer = shortened(call, answer, driver, self.workspace.layout(), &mut kept.memory.notices);
        kept.close(notes, driver)?;
        let retry_after = taken.last().and_then(|taken| throttled(call, &taken.decision));
        Ok(Handled { reply: say(call, &answer), taken, retry_after, awaits })
    }

    /// Answers a hook whose steps are not this session's, such as that of a client that the agent started: the
    /// destructive-command guard, the protected paths, and what holds or stopped the session count for it too. Nothing is taken in. What only a
    /// throttle of the minute keeps waiting may go on, because the minute is not its own.
    ///
    /// # Errors
    /// When the engine cannot decide: then the caller has to refuse.
    pub fn opinion(&self, call: &HookCall, driver: &mut Driver) -> Result<Reply, DriverError> {
        let known = self.known(call, driver, &mut KeptNotes::default())?;
        let context = known.context(call, self.workspace.root());
        let what = match &call.event {
            Event::Asked(tool) => context.request(tool, driver, None),
            Event::ModelAsked { model } => inputs::model_request(model, driver.role(), None),
            Event::Prompt => What::IterationStarted,
            Event::SessionStarted(_)
            | Event::SessionEnded
            | Event::Done(..)
            | Event::Claimed(_)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacting
            | Event::Compacted
            | Event::Other => return Ok(Reply::default()),
        };
        let decision = driver.would(what, (self.clock)())?;
        if decision.safety.allowed || decision.safety.error.is_none() {
            return Ok(Reply::default());
        }
        Ok(say(call, &answer::of(&call.event, &[&decision], &mut Vec::new())))
    }

    /// What the inputs of a call are made from.
    fn known(&self, call: &HookCall, driver: &Driver, kept: &mut KeptNotes) -> Result<KnownFacts, DriverError> {
        Ok(KnownFacts {
            protected: kept.protected(self.workspace, self.homes),
            facts: self.facts(call, driver, kept),
            redactor: driver.redactor()?.clone(),
            test_command: driver.policy().dirty_bits.test_command.as_str().trim().to_owned(),
            bound: BoundTree::under(driver.policy()),
        })
    }

    /// What the judge of commands has to know.
    fn facts(&self, call: &HookCall, driver: &Driver, kept: &mut KeptNotes) -> judge::Facts {
        kept.facts(call, driver, || {
            let facts = judge::Facts {
                home: self.homes.home.clone(),
                ..judge::Facts::here(self.workspace.root().to_owned(), call.cwd.clone(), driver.policy())
            };
            facts.in_session(self.workspace.layout(), driver.session())
        })
    }

    /// Takes the event's inputs in and answers from their decisions.
    fn decide(
        &self,
        call: &HookCall,
        driver: &mut Driver,
        attempt: Attempt,
        notes: HookNotes<'_>,
    ) -> Result<Answer, DriverError> {
        let HookNotes { kept, taken, awaits } = notes;
        let known = self.known(call, driver, kept)?;
        let context = known.context(call, self.workspace.root());
        let mut before = Vec::new();
        let mut newcomers = 0;
        self.note_call(call, &mut kept.memory);
        if attempt == Attempt::First {
            inputs::note_starter(call, &mut kept.memory);
            before.extend(inputs::newcomer(call, &mut kept.memory));
            newcomers = before.len();
            before.extend(inputs::goes_on(call, &driver.view()));
            before.extend(self.transcript_news(&context, driver, kept));
        }
        let Some(last) = self.last_input(&context, driver, kept)?.or_else(|| before.pop()) else {
            return Ok(Answer::Pass);
        };
        let memory = &mut kept.memory;
        let goes_on = before.iter().any(inputs::is_prompt);
        let step = driver.take_all_now(before, last, self.clock)?;
        if let Some(text) = context.outside_text() {
            memory.outside.add(text.without_secrets(context.redactor), step.decision.i);
        }
        taken.push(step);
        if goes_on {
            driver.withdraw_blocker()?;
        }
        let decisions: Vec<&Decision> =
            taken.iter().flat_map(|taken| taken.before.iter().chain([&taken.decision])).collect();
        let turned_away = decisions.iter().any(|decision| decision.safety.rule == Rule::GateAgents);
        if let Some(agent) = call.agent.as_ref().filter(|_| newcomers > 0 && !turned_away) {
            memory.let_in(&agent.id);
        }
        let answer = answer_to(call, &decisions, memory);
        let open = decisions.last().and_then(|decision| open_question(decision));
        let answer = match (open, self.held) {
            (Some(code), OnHeldCall::Waits) => {
                *awaits = Some(code);
                return Ok(answer);
            }
            (Some(_), OnHeldCall::RefusesAfter(waited)) => answer::unanswered(answer, waited),
            (Some(_), OnHeldCall::Refuses) | (None, _) => answer,
        };
        let refused = hammered(&context, &decisions, memory);
        if let (Event::Asked(tool), Answer::Refuse { .. }) = (&call.event, &answer) {
            self.settle(call, tool, memory);
            if inputs::starts_agent(tool) {
                memory.starts_none();
            }
        }
        let mut held = answer::held_words(&driver.view());
        if let Some(event) = refused {
            let counted = driver.take_now(event, self.clock)?;
            if !counted.decision.safety.allowed && answer::turn_of(&counted.decision) == answer::Turn::Ends {
                held = Some(counted.decision.safety.reason.to_string());
            }
            taken.push(counted);
        }
        let answer = match held {
            Some(held) => answer::in_held_session(answer, &held),
            None => answer,
        };
        if let (Event::Asked(tool), Answer::Pass | Answer::Tell(_)) = (&call.event, &answer) {
            self.look_before(&context, tool, driver, HookNotes { kept, taken, awaits });
        }
        Ok(answer)
    }

    /// Remembers which calls are open.
    fn note_call(&self, call: &HookCall, memory: &mut HookMemory) {
        let ids = call.client.adapter().hooks.call_ids;
        if let Event::Asked(tool) = &call.event {
            match self.figures {
                FigureUse::Nothing => memory.calls.began(ids, tool),
                FigureUse::Everything | FigureUse::ContextOnly => memory.calls.asked(ids, tool),
            }
        }
        if let Event::Done(tool, _) = &call.event {
            self.settle(call, tool, memory);
        }
    }

    /// A call has its result, or was refused here: where there is a transcript, it must not tell of it again.
    fn settle(&self, call: &HookCall, tool: &ToolCall, memory: &mut HookMemory) {
        let ids = call.client.adapter().hooks.call_ids;
        match self.figures {
            FigureUse::Nothing => memory.calls.close(ids, tool),
            FigureUse::Everything | FigureUse::ContextOnly => memory.calls.settle(ids, tool),
        }
    }

    /// A call is let pass: the workspace is looked at before it runs, for what it changes and for the way back.
    fn look_before(&self, context: &CallContext<'_>, tool: &ToolCall, driver: &Driver, notes: HookNotes<'_>) {
        let HookNotes { kept, taken, awaits: _ } = notes;
        let memory = &mut kept.memory;
        let call = context.call;
        let ids = call.client.adapter().hooks.call_ids;
        let others = if memory.calls.has_others(ids, tool) { Others::Running } else { Others::None };
        let reach = CallReach::of(tool, context);
        if self.changes == Measured::ByHooks {
            self.disk_watch(call).before(&reach, others, &mut kept.disk);
        }
        let Some(last) = taken.last_mut() else { return };
        let label = if let What::Request(request) = &last.what { request.action.shown() } else { &tool.name };
        let passed = PassedCall { tool, reach, step: last.decision.i.get(), label: label.to_owned(), others };
        let snapshots = self.snapshots(call, driver.session().as_str());
        last.notices.extend(std::mem::take(&mut memory.notices));
        last.notices.extend(snapshots.before(passed));
    }

    /// The workspace's folder, as calls change it.
    fn disk_watch<'b>(&'b self, call: &'b HookCall) -> DiskWatch<'b> {
        DiskWatch { workspace: self.workspace, foreign: foreign(call) }
    }

    /// Snapshots around the calls of this session.
    fn snapshots<'b>(&'b self, call: &HookCall, session: &'b str) -> StepSnapshots<'b> {
        StepSnapshots { store: self.undo, session, ids: call.client.adapter().hooks.call_ids }
    }

    /// What the client's own record tells that no hook did: tokens and money, and calls that brought no result.
    fn transcript_news(&self, context: &CallContext<'_>, driver: &Driver, kept: &mut KeptNotes) -> Vec<What> {
        let (call, layout) = (context.call, self.workspace.layout());
        if self.figures == FigureUse::Nothing {
            return Vec::new();
        }
        let window = window::read(layout, &call.session);
        let news = figures::new(call, &mut kept.memory, window, &driver.policy().price_list(), self.figures);
        let mut events = news.events;
        for (denied, agent) in &news.denied {
            let mut observer = kept.take_observer(foreign(call), layout);
            events.push(What::Event(context.denied(denied, agent.as_deref(), &mut observer, &mut kept.memory)));
            kept.keep_observer(foreign(call), layout, observer);
        }
        events
    }

    /// The input that the event itself is.
    fn last_input(
        &self,
        context: &CallContext<'_>,
        driver: &Driver,
        kept: &mut KeptNotes,
    ) -> Result<Option<What>, DriverError> {
        let (call, layout) = (context.call, self.workspace.layout());
        let memory = &mut kept.memory;
        Ok(match &call.event {
            Event::Asked(tool) => Some(context.request(tool, driver, Some(memory.outside.texts()))),
            Event::ModelAsked { model } => {
                memory.model_requests = memory.model_requests.saturating_add(1);
                Some(inputs::model_request(model, driver.role(), None))
            }
            Event::SessionEnded => {
                self.mark(call, Life::Ended)?;
                driver.freeze_in_passing()?;
                None
            }
            Event::Done(tool, outcome) => {
                let mut observer = kept.take_observer(foreign(call), layout);
                let memory = &mut kept.memory;
                let mut event = context.event(tool, outcome, &mut observer, memory);
                let reach = CallReach::of(tool, context);
                event.changes = match &self.changes {
                    Measured::Given(changes) => changes.clone(),
                    Measured::ByHooks => self.disk_watch(call).after(tool, &reach, &mut kept.disk),
                };
                event.snapshot = self.snapshots(call, driver.session().as_str()).after(tool, &reach);
                figures::fill_in(call, memory, driver.policy().context.default_window, self.figures, &mut event);
                kept.keep_observer(foreign(call), layout, observer);
                kept.step = Some(KeptStep {
                    tool: tool.name.clone(),
                    arguments: tool.input.clone(),
                    exit_code: event.outcome.and_then(|outcome| outcome.exit_code),
                    output: outcome.output.clone(),
                });
                Some(What::Event(event))
            }
            Event::Prompt => {
                self.mark_if_new(call)?;
                if let Some(prompt) = call.prompt.as_deref().filter(|_| call.agent.is_none()) {
                    driver.keep_objective(prompt)?;
                }
                memory.person_spoke = true;
                Some(What::IterationStarted)
            }
            Event::Claimed(_) => {
                // A role that stops on convergence needs the workspace too: three equal ones are convergence.
                let converges = driver.policy().limits.stop_on_convergence == Switch::On;
                let verified = driver.view().verdict == Verification::Verified || converges;
                Some(context.claim(if verified { Verified::SoFar } else { Verified::No }))
            }
            Event::Compacted => {
                memory.forget_context();
                Some(inputs::compacted())
            }
            Event::AgentStarted | Event::AgentEnded | Event::SessionStarted(_) | Event::Compacting | Event::Other => {
                None
            }
        })
    }

    /// A session begins: the sign of life, and the briefing if the context was compacted.
    fn begin(&self, call: &HookCall, source: Source) -> Result<Answer, DriverError> {
        self.mark(call, Life::Alive)?;
        Ok(match source {
            Source::Startup | Source::Resumed => Answer::Pass,
            Source::Compacted => {
                match file::read_bounded(&self.workspace.layout().mission_briefing(), BRIEFING_BYTES_MAX) {
                    Ok(bytes) => Answer::Tell(String::from_utf8_lossy(&bytes).into_owned()),
                    Err(_) => Answer::Pass,
                }
            }
        })
    }

    /// The sign of life at a prompt, for clients that are set up without a hook at their beginning.
    fn mark_if_new(&self, call: &HookCall) -> Result<(), DriverError> {
        if alive::path(self.workspace.layout(), call.client, &call.session).exists() {
            return Ok(());
        }
        self.mark(call, Life::Alive)
    }

    fn mark(&self, call: &HookCall, life: Life) -> Result<(), DriverError> {
        Ok(alive::mark(self.workspace.layout(), call.client, &call.session, life, (self.clock)())?)
    }
}

/// What is known before a call is looked at.
struct KnownFacts {
    protected: ProtectedPaths,
    facts: judge::Facts,
    redactor: Redactor,
    test_command: String,
    bound: BoundTree,
}

impl KnownFacts {
    fn context<'a>(&'a self, call: &'a HookCall, root: &'a Path) -> CallContext<'a> {
        let Self { protected, facts, redactor, test_command, bound } = self;
        CallContext { call, root, protected, facts, redactor, test_command, bound: *bound, lines: Cell::new(None) }
    }
}

/// What handling an event changes beside the engine.
struct HookNotes<'a> {
    kept: &'a mut KeptNotes,
    taken: &'a mut Vec<StepOutcome>,
    awaits: &'a mut Option<Label>,
}

/// The session that an event is of, for its client.
fn foreign(call: &HookCall) -> Foreign<'_> {
    Foreign { client: call.client.name(), session: &call.session }
}

/// The answer to an event. What this client cannot be told at it is kept and said with the next result.
fn answer_to(call: &HookCall, decisions: &[&Decision], memory: &mut HookMemory) -> Answer {
    let answer = answer::of(&call.event, decisions, &mut memory.remarks);
    if let Answer::Tell(text) = &answer
        && say(call, &answer) == Reply::default()
    {
        memory.remarks.push(text.clone());
    }
    answer
}

/// The event of a call that was refused for what it is, and not for when it came.
fn hammered(context: &CallContext<'_>, decisions: &[&Decision], memory: &mut HookMemory) -> Option<What> {
    let Event::Asked(tool) = &context.call.event else { return None };
    let last = decisions.last()?;
    is_refused_for_what_it_is(last).then(|| What::Event(context.refused(tool, &last.safety.reason, memory)))
}

/// How long a throttled call has to wait; none if waiting does not help.
fn throttled(call: &HookCall, decision: &Decision) -> Option<Duration> {
    let safety = &decision.safety;
    let waits = match safety.veto_reason? {
        SafetyVeto::TokenBudgetExceeded | SafetyVeto::RateLimitExceeded | SafetyVeto::CooldownActive => true,
        SafetyVeto::RunawayDetected | SafetyVeto::LoopDetected | SafetyVeto::HealthDegraded => false,
    };
    let asked = matches!(call.event, Event::Asked(_)) && !safety.allowed && safety.error.is_none();
    safety.retry_after_ms.filter(|_| waits && asked).map(|wait| Duration::from_millis(wait.get()))
}
