//! What is asked about a call, and what is answered.

use std::path::PathBuf;
use std::time::Duration;
use tripwire_clients::hooks::mcp_event::{ASKED, DONE};
use tripwire_clients::hooks::{Event, HookCall, Outcome, PersonAsk, Reply, ToolCall};
use tripwire_clients::{Client, Homes};
use tripwire_core::label::Label;
use tripwire_core::units::Count;
use tripwire_session::driver::Signing;
use tripwire_workspace::Workspace;
use tripwire_workspace::session::SessionId;

/// Where the guard works, and for whom.
#[derive(Debug)]
pub struct DoorPlace {
    /// The workspace.
    pub workspace: Workspace,
    /// The person's folders.
    pub homes: Homes,
    /// Who signs the journal.
    pub signing: Option<Signing>,
    /// The role that calls are made in, where one was named.
    pub role: Option<String>,
    /// The session that was named; else there is one for each client process.
    pub session: Option<SessionId>,
    /// Whose calls they are.
    pub origin: CallOrigin,
    /// Where the person's state lives.
    pub state: Option<PathBuf>,
}

/// Whose calls they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOrigin {
    /// What tells this client process from others.
    pub client: String,
    /// Where the client was started.
    pub cwd: PathBuf,
}

impl CallOrigin {
    /// The question about a call; of calls like it, so many run already.
    pub(super) fn asked(&self, tool: ToolCall, asks: Option<PersonAsk>, running: Count) -> HookCall {
        HookCall { running, ..self.event(ASKED, Event::Asked(tool), asks) }
    }

    /// The news of a call's end.
    pub(super) fn done(&self, tool: ToolCall, outcome: Outcome) -> HookCall {
        self.event(DONE, Event::Done(tool, outcome), None)
    }

    fn event(&self, name: &str, event: Event, asks: Option<PersonAsk>) -> HookCall {
        HookCall {
            client: Client::Mcp,
            session: self.client.clone(),
            cwd: self.cwd.clone(),
            transcript: None,
            agent: None,
            event_name: name.to_owned(),
            event,
            prompt: None,
            response: None,
            asks,
            running: Count::ZERO,
        }
    }
}

/// What was answered about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DoorReply {
    /// It may run; with words for the agent, if there are any.
    Pass(Option<String>),
    /// It may not.
    Refuse(String),
    /// It has to wait, and is to be asked for again.
    Wait(WaitFor),
}

/// What a call waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WaitFor {
    /// A throttle of the sliding minute.
    Throttle(Duration),
    /// A person's answer about it, for at most so long.
    Answer(Label, Duration),
    /// The end of a pause.
    Pause,
}

/// How often a call was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskCount {
    /// Now for the first time.
    First,
    /// It waited.
    Again,
    /// It waited so long for a person's answer, and none came.
    Unanswered(Duration),
}

/// An answer in the form of a door without hooks.
pub(super) fn reply_of(reply: &Reply) -> DoorReply {
    match reply.refusal() {
        Some(reason) => DoorReply::Refuse(reason),
        None => DoorReply::Pass(reply.words()),
    }
}
