//! A call that is about to run, looked at before it does: by hooks, and by a program that asks for itself.

use crate::hooks::event::{PersonAsk, ToolCall};
use crate::legible;
use crate::protected::{self, LineEffect, ProtectedPaths};
use std::path::Path;
use tripwire_authority::{CommandRuling, Confinement, Surroundings, Who};
use tripwire_core::chain::event::{AgentEvent, ErrorClass, Outcome, Status};
use tripwire_core::decision::Decision;
use tripwire_core::enforcement::EnforcementError;
use tripwire_core::input::{AgentStart, FloorFact, Grant, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::units::{Count, RunMillis};
use tripwire_judge::outside::OutsideTexts;
use tripwire_judge::{self as judge, Judge};
use tripwire_observe::{CleanCall, RawCall, observe};
use tripwire_secrets::{Redactor, all_placeholders};
use tripwire_session::driver::Driver;

/// What a call is looked at with.
#[derive(Debug, Clone, Copy)]
pub struct AskedCall<'a> {
    /// The workspace's folder.
    pub root: &'a Path,
    /// What the agent must not touch.
    pub protected: &'a ProtectedPaths,
    /// What the judge of commands has to know.
    pub facts: &'a judge::Facts,
    /// What keeps secrets out of the record.
    pub redactor: &'a Redactor,
    /// Names of arguments that do not change what the tool does.
    pub idle: &'a [&'a str],
    /// The sub-agent that acts, if it is not the main one.
    pub agent: Option<&'a str>,
    /// What the door itself asks a person about, if it does.
    pub asks: Option<&'a PersonAsk>,
    /// What the session has read from outside, where the door knows.
    pub outside: Option<&'a OutsideTexts>,
    /// Equal calls that the door knows to be running.
    pub running: Count,
}

impl<'a> AskedCall<'a> {
    /// What an agent asks to do, with the facts about its authority.
    #[must_use]
    pub fn request(&self, tool: &ToolCall, driver: &Driver, starts_agent: Option<AgentStart>) -> What {
        self.request_and_lines(tool, driver, starts_agent).0
    }

    /// The same, with what the lines of the call do where they were read for it.
    pub(crate) fn request_and_lines(
        &self,
        tool: &ToolCall,
        driver: &Driver,
        starts_agent: Option<AgentStart>,
    ) -> (What, Option<LineEffect>) {
        let facts = observe(&CleanCall::of(&self.raw(tool), self.redactor).raw());
        let who = Who { role: driver.role(), agent: self.agent };
        let readable = legible::read(&tool.input);
        let mut reading = Judge::read_call(self.facts, &tool.name, &tool.input);
        // Nothing is confined at these doors: what a call could do counts.
        let at = Surroundings { root: self.root, confinement: Confinement::Open };
        let mut authority = driver.authority_for(who, &self.raw(tool), &reading, at);
        if let CommandRuling::Ask(why) = driver.ruling(who, &self.raw(tool), &reading, at) {
            reading.ask(Judge::fact_of_policy(self.facts, &format!("{} {}", tool.name, tool.input), &reading, &why));
        }
        let mut lines = None;
        match readable {
            Ok(input) => {
                let touch = protected::look(self.protected, tool, &input, self.facts);
                lines = touch.lines;
                if touch.touched.is_some() {
                    (authority.grant, authority.permission) = (Grant::Denied, Permission::ControlTheGuard);
                }
            }
            Err(why) => reading.floor = Some(Judge::fact_of_unreadable(self.facts, &tool.input, &why)),
        }
        if let Some(PersonAsk { rule, reason }) = self.asks {
            let fact = Judge::fact_of_policy(self.facts, &format!("{} {}", tool.name, tool.input), &reading, reason);
            reading.ask(FloorFact { rule: Label::cut(rule), ..fact });
        }
        if let Some(fact) = self.outside.and_then(|texts| texts.fact_of(self.facts, &self.raw(tool), &reading)) {
            reading.ask(fact);
        }
        // Only a person may want the placeholder itself in a file or a command.
        if let Some(placeholder) = all_placeholders(&tool.input).next() {
            let call = format!("{} {}", tool.name, tool.input);
            reading.ask(Judge::fact_of_placeholder(self.facts, &call, placeholder));
        }
        let request = Request {
            action: facts.action,
            authority: Some(authority),
            floor: reading.floor,
            proposal: None,
            reserve_micro_usd: None,
            agent_id: self.agent.map(Label::cut),
            starts_agent,
            running: Some(self.running).filter(|running| *running > Count::ZERO),
        };
        (What::Request(request), lines)
    }

    /// The event of a call that was refused.
    #[must_use]
    pub fn refused(&self, tool: &ToolCall, why: &str) -> AgentEvent {
        let raw = RawCall { output: Some(why), error: Some(true), ..self.raw(tool) };
        let facts = observe(&CleanCall::of(&raw, self.redactor).raw());
        AgentEvent { outcome: Some(REFUSED), ..facts.event(RunMillis::ZERO) }
    }

    /// The call as the observer takes it.
    #[must_use]
    pub fn raw<'b>(self, tool: &'b ToolCall) -> RawCall<'b>
    where
        'a: 'b,
    {
        RawCall { workspace_root: self.root.to_str(), idle: self.idle, ..tool.raw() }
    }
}

/// How a call ends that was not let run.
pub(crate) const REFUSED: Outcome =
    Outcome { error_class: Some(ErrorClass::Refused), exit_code: None, status: Status::Error, test: None };

/// Whether a refused call was refused for what it is, and not for when it came: then it counts as a step.
#[must_use]
pub fn is_refused_for_what_it_is(decision: &Decision) -> bool {
    match (&decision.safety.error, decision.safety.allowed) {
        (
            Some(
                EnforcementError::PermissionDenied(_)
                | EnforcementError::ReviewGating(_)
                | EnforcementError::FloorHeld(_)
                | EnforcementError::AgentLimit(_)
                | EnforcementError::ToolLimit(_),
            ),
            false,
        ) => true,
        (
            Some(
                EnforcementError::PermissionDenied(_)
                | EnforcementError::FloorHeld(_)
                | EnforcementError::ReviewGating(_)
                | EnforcementError::WallClockTimeout(_)
                | EnforcementError::CycleTermination(_)
                | EnforcementError::GuardFailure(_)
                | EnforcementError::AgentLimit(_)
                | EnforcementError::ToolLimit(_),
            )
            | None,
            _,
        ) => false,
    }
}
