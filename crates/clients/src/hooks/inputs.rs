//! From a client's event to the inputs of the engine.

use super::calls::{DenialCause, DeniedCall};
use super::event::{Event, Outcome, ToolCall};
use super::figures;
use super::hook_call::HookCall;
use super::memory::HookMemory;
use crate::asked_call::{AskedCall, REFUSED};
use crate::protected::{LineEffect, ProtectedPaths};
use std::cell::Cell;
use std::path::Path;
use tripwire_core::chain::ChainView;
use tripwire_core::chain::event::{Action, AgentEvent, Flag};
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::input::{AgentStart, Authority, Claim, Compaction, Grant, HumanAct, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::units::{MicroUsd, RunMillis};
use tripwire_judge as judge;
use tripwire_judge::outside::{OutsideText, OutsideTexts};
use tripwire_observe::{CleanCall, Observer, RawCall};
use tripwire_secrets::Redactor;
use tripwire_session::driver::Driver;
use tripwire_session::file_marks::BoundTree;
use tripwire_workspace::account;

/// Tools that start a sub-agent, under the names that the clients give them.
const STARTERS: &[&str] = &["Agent", "Task", "spawn_agent"];

/// What the inputs of a call are made from.
pub(super) struct CallContext<'a> {
    /// The call.
    pub(super) call: &'a HookCall,
    /// The workspace's folder.
    pub(super) root: &'a Path,
    /// What the agent must not touch.
    pub(super) protected: &'a ProtectedPaths,
    /// What the judge of commands has to know.
    pub(super) facts: &'a judge::Facts,
    /// What keeps secrets out of the record.
    pub(super) redactor: &'a Redactor,
    /// The command that runs the project's tests; empty where nobody knows one.
    pub(super) test_command: &'a str,
    /// What a claim is bound to.
    pub(super) bound: BoundTree,
    /// What the lines of the call do, once its question has read them.
    pub(super) lines: Cell<Option<LineEffect>>,
}

impl CallContext<'_> {
    /// What an agent asks to do, with the facts about its authority.
    pub(super) fn request(&self, tool: &ToolCall, driver: &Driver, outside: Option<&OutsideTexts>) -> What {
        let starts = starts_agent(tool).then(|| AgentStart { parent: self.agent().map(Label::cut) });
        let (request, lines) = AskedCall { outside, ..self.asked(tool) }.request_and_lines(tool, driver, starts);
        self.lines.set(lines);
        request
    }

    /// What the lines of the call do; they are read here only where the question did not read them.
    pub(super) fn line_effect(&self, tool: &ToolCall) -> LineEffect {
        self.lines.get().unwrap_or_else(|| LineEffect::of(tool, self.facts))
    }

    /// The text that a call brought, if it came from outside.
    pub(super) fn outside_text(&self) -> Option<OutsideText> {
        let Event::Done(tool, outcome) = &self.call.event else { return None };
        OutsideText::of(self.facts, &RawCall { output: Some(&outcome.output), ..self.raw(tool) })
    }

    fn agent(&self) -> Option<&str> {
        self.call.agent.as_ref().map(|agent| agent.id.as_str())
    }

    /// The call as it is looked at before it runs.
    fn asked(&self, tool: &ToolCall) -> AskedCall<'_> {
        AskedCall {
            root: self.root,
            protected: self.protected,
            facts: self.facts,
            redactor: self.redactor,
            idle: (self.call.client.adapter().hooks.idle_arguments)(&tool.name),
            agent: self.agent(),
            asks: self.call.asks.as_ref(),
            outside: None,
            running: self.call.running,
        }
    }

    /// A call with its result.
    pub(super) fn event(
        &self,
        tool: &ToolCall,
        outcome: &Outcome,
        observer: &mut Observer,
        memory: &mut HookMemory,
    ) -> AgentEvent {
        let recorded = figures::exit_code(self.call, memory, tool.call_id.as_deref());
        let exit_code = outcome.exit_code.or(recorded);
        let raw = RawCall { output: Some(&outcome.output), error: outcome.failed, exit_code, ..self.raw(tool) };
        let facts = observer.observe(&CleanCall::of(&raw, self.redactor).raw());
        let workspace_hash = if facts.flags.has(Flag::Test) { self.workspace_hash() } else { None };
        let mut event = AgentEvent {
            turn_id: figures::step(self.call, memory, tool.call_id.as_deref()),
            workspace_hash,
            ..facts.event(RunMillis::new(outcome.duration_ms))
        };
        sign(self.call, memory, &mut event);
        event
    }

    /// A call that was refused: the client reports no end of it, and an agent that asks for it again and again loops.
    pub(super) fn refused(&self, tool: &ToolCall, why: &str, memory: &mut HookMemory) -> AgentEvent {
        let turn_id = figures::step(self.call, memory, tool.call_id.as_deref());
        let mut event = AgentEvent { turn_id, ..self.asked(tool).refused(tool, why) };
        sign(self.call, memory, &mut event);
        event
    }

    /// A call that brought no result to its hook, as the client wrote it down.
    pub(super) fn denied(
        &self,
        denied: &DeniedCall,
        agent: Option<&str>,
        observer: &mut Observer,
        memory: &mut HookMemory,
    ) -> AgentEvent {
        let raw = RawCall { output: Some(&denied.said), error: Some(true), ..self.raw(&denied.tool) };
        let facts = observer.observe(&CleanCall::of(&raw, self.redactor).raw());
        let turn_id = figures::step(self.call, memory, denied.tool.call_id.as_deref());
        let mut event = AgentEvent { turn_id, ..facts.event(RunMillis::ZERO) };
        if denied.cause == DenialCause::ByClient {
            event.outcome = Some(REFUSED);
        }
        event.user_turn = std::mem::take(&mut memory.person_spoke);
        event.agent_id = agent.map(Label::cut);
        event
    }

    /// The claim to be done, bound to the workspace where there is something to bind.
    pub(super) fn claim(&self, verified: Verified) -> What {
        let workspace_hash = match verified {
            Verified::SoFar => self.workspace_hash(),
            Verified::No => None,
        };
        What::Claim(Claim { workspace_hash, ..Claim::default() })
    }

    /// The workspace now. Read only around test runs and at the end: it costs processes and many files.
    fn workspace_hash(&self) -> Option<Label> {
        self.bound.digest(self.root)
    }

    fn raw<'b>(&'b self, tool: &'b ToolCall) -> RawCall<'b> {
        let folder = Some(self.call.cwd.as_path()).filter(|folder| *folder != self.root);
        let test_command = Some(self.test_command).filter(|command| !command.is_empty());
        RawCall { folder: folder.and_then(Path::to_str), test_command, ..self.asked(tool).raw(tool) }
    }
}

/// Whether the tests passed as far as the engine knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verified {
    /// They did, and only the workspace can say that something changed since.
    SoFar,
    /// They did not.
    No,
}

/// A model is about to be asked: an action as any other, for the budget to speak on, with what it may cost where that is known.
#[must_use]
pub fn model_request(model: &str, role: &str, reserve: Option<MicroUsd>) -> What {
    let action = Action {
        tool: Label::cut("model"),
        signature: Some(Label::cut(&format!("Model({model})"))),
        ..Action::default()
    };
    let authority = Authority {
        grant: Grant::Granted,
        identity: None,
        permission: Permission::CanExecuteTasks,
        role: Label::cut(role),
    };
    What::Request(Request {
        action,
        authority: Some(authority),
        floor: None,
        proposal: None,
        reserve_micro_usd: reserve,
        agent_id: None,
        starts_agent: None,
        running: None,
    })
}

/// Marks an event with who acted, and with a person's word before it.
fn sign(call: &HookCall, memory: &mut HookMemory, event: &mut AgentEvent) {
    event.user_turn = std::mem::take(&mut memory.person_spoke);
    if let Some(agent) = &call.agent {
        event.agent_id = Some(Label::cut(&agent.id));
        event.parent_agent_id = memory.parent_of(&agent.id).map(|parent| Label::cut(&parent));
    }
}

/// The word that a sub-agent is there, if the engine has not let it in yet.
pub(super) fn newcomer(call: &HookCall, memory: &mut HookMemory) -> Option<What> {
    let agent = call.agent.as_ref().filter(|agent| !memory.knows(&agent.id))?;
    let parent = memory.parent_of(&agent.id).map(|parent| Label::cut(&parent));
    let event = AgentEvent { agent_id: Some(Label::cut(&agent.id)), parent_agent_id: parent, ..AgentEvent::default() };
    Some(What::Event(event))
}

/// Remembers who asks for a sub-agent.
pub(super) fn note_starter(call: &HookCall, memory: &mut HookMemory) {
    if let Event::Asked(tool) = &call.event
        && starts_agent(tool)
    {
        memory.starts_one(call.agent.as_ref().map(|agent| agent.id.as_str()));
    }
}

/// A person speaks in a session whose turn a loop ended: that is their decision to go on, and it is written down as one.
pub(super) fn goes_on(call: &HookCall, view: &ChainView) -> Option<What> {
    let looped = match (view.stopped, view.held) {
        (Some(reason), _) => {
            matches!(reason, StopReason::SystemError | StopReason::InfiniteLoop | StopReason::Refusals)
        }
        (None, held) => held == Some(HoldReason::Loop),
    };
    let spoke = call.event == Event::Prompt && call.agent.is_none();
    (looped && spoke).then(|| What::Human(HumanAct::Prompt.signed(&account::current(), "a new prompt")))
}

/// Whether an input is that decision.
pub(super) fn is_prompt(what: &What) -> bool {
    matches!(what, What::Human(act) if matches!(act.unsigned(), (HumanAct::Prompt, _)))
}

/// Whether a call starts a sub-agent.
pub(super) fn starts_agent(tool: &ToolCall) -> bool {
    STARTERS.contains(&tool.name.as_str())
}

/// The client compacted the context; how much is left the next figures tell.
pub(super) fn compacted() -> What {
    What::Compacted(Compaction::default())
}
