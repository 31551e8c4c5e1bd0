//! Who is asked about a call: the session's own driver in this process, or the supervisor of a run.

use super::question::{AskCount, DoorReply, WaitFor};
use super::run_door::RunDoor;
use super::session_door::SessionDoor;
use std::time::Duration;
use tripwire_clients::hooks::{Outcome, PersonAsk, ToolCall};
use tripwire_core::input::ToolsSeen;
use tripwire_core::units::Count;

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
    pub(super) fn ask(&self, tool: &ToolCall, asks: Option<&PersonAsk>, running: Count, count: AskCount) -> DoorReply {
        match self {
            Self::Session(door) => door.ask(&door.place.origin.asked(tool.clone(), asks.cloned(), running), count),
            // The supervisor would believe no count from the client's tree: none is sent.
            Self::Run(door) => door.ask(&door.origin.asked(tool.clone(), asks.cloned(), Count::ZERO)),
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

    /// Writes down what the last call left; to be called once its message went on, or before where that may take long.
    pub(super) fn write_down(&self) {
        match self {
            Self::Session(door) => door.write_down(),
            Self::Run(_) => {}
        }
    }

    /// Nothing more is asked: what was taken in last is on the disk before this returns.
    pub(super) fn close(&self) {
        match self {
            Self::Session(door) => door.close(),
            Self::Run(_) => {}
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
            Self::Session(door) => door.done(&door.place.origin.done(tool, outcome)),
            // Whatever runs in the client's tree can speak to the supervisor: it believes no result from there.
            Self::Run(_) => None,
        }
    }
}
