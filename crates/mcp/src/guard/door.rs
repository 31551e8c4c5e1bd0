//! Who is asked about a call: the session's own driver in this process, or the supervisor of a run.

use super::run_door::RunDoor;
use super::session_door::SessionDoor;
use std::path::PathBuf;
use std::time::Duration;
use tripwire_clients::hooks::mcp_event::{ASKED, DONE};
use tripwire_clients::hooks::{Event, HookCall, Outcome, PersonAsk, ToolCall};
use tripwire_clients::{Client, Homes};
use tripwire_core::input::ToolsSeen;
use tripwire_core::label::Label;
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
    /// Where the client was started.
    pub cwd: PathBuf,
    /// Who signs the journal.
    pub signing: Option<Signing>,
    /// The role that calls are made in, where one was named.
    pub role: Option<String>,
    /// The session that was named; else there is one for each client process.
    pub session: Option<SessionId>,
    /// What tells this client process from others.
    pub client: String,
    /// Where the person's state lives.
    pub state: Option<PathBuf>,
}

impl DoorPlace {
    /// The question about a call.
    fn asked(&self, tool: ToolCall, asks: Option<PersonAsk>) -> HookCall {
        self.event(ASKED, Event::Asked(tool), asks)
    }

    /// The news of a call's end.
    fn done(&self, tool: ToolCall, outcome: Outcome) -> HookCall {
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
            asks,
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

/// Who is asked.
pub enum Door {
    /// The session's driver, in this process.
    Session(Box<SessionDoor>),
    /// The supervisor of the run that this process belongs to.
    Run(Box<RunDoor>),
}

impl std::fmt::Debug for Door {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Session(_) => "the session's own driver",
            Self::Run(_) => "the supervisor of a run",
        })
    }
}

impl Door {
    /// Asks about a call.
    pub(super) fn ask(&self, tool: &ToolCall, asks: Option<&PersonAsk>, count: AskCount) -> DoorReply {
        match self {
            Self::Session(door) => door.ask(&door.place.asked(tool.clone(), asks.cloned()), count),
            Self::Run(door) => door.ask(&door.place.asked(tool.clone(), asks.cloned())),
        }
    }

    /// Whether asking may take as long as a person does.
    pub(super) const fn blocks(&self) -> bool {
        matches!(self, Self::Run(_))
    }

    /// Looks once whether a call still has to wait; it sleeps a little where that has to be asked again and again.
    pub(super) fn still_waits(&self, wait: &WaitFor, waited: Duration) -> bool {
        match self {
            Self::Session(door) => door.still_waits(wait, waited),
            Self::Run(_) => false,
        }
    }

    /// Takes in what was seen of the server's tools.
    pub(super) fn seen(&self, seen: ToolsSeen) {
        match self {
            Self::Session(door) => door.seen(seen),
            // Whatever runs in the client's tree can speak to the supervisor: it takes in no facts from there.
            Self::Run(_) => {}
        }
    }

    /// Bytes of one result that an agent gets; no bound where the policy is not ours to read.
    pub(super) fn output_max(&self, tool: &str) -> Option<usize> {
        match self {
            Self::Session(door) => door.output_max(tool),
            Self::Run(_) => None,
        }
    }

    /// Keeps a whole result, and gives the pointer to it.
    pub(super) fn keep_whole(&self, result: &str) -> Result<String, String> {
        match self {
            Self::Session(door) => door.keep_whole(result),
            Self::Run(_) => Err("nothing can be kept from inside a run".to_owned()),
        }
    }

    /// Takes in how a call ended, before its client hears of it; gives words for the agent, if there are any.
    pub(super) fn done(&self, tool: ToolCall, outcome: Outcome) -> Option<String> {
        match self {
            Self::Session(door) => door.done(&door.place.done(tool, outcome)),
            // Whatever runs in the client's tree can speak to the supervisor: it believes no result from there.
            Self::Run(_) => None,
        }
    }
}
