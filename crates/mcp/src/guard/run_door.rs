//! The supervisor of a run as the one that is asked, over its socket. It waits there for as long as a person takes.

use super::question::{CallOrigin, DoorReply, reply_of};
use std::path::PathBuf;
use tripwire_clients::Client;
use tripwire_clients::hooks::{HookCall, Reply, mcp_event};
use tripwire_core::explain::Explain as _;
use tripwire_supervisor::socket::{self, Question, SUPERVISED_WITHIN};

/// The way to a supervisor.
pub struct RunDoor {
    pub(super) origin: CallOrigin,
    socket: PathBuf,
}

impl RunDoor {
    /// The way to the supervisor that listens here.
    #[must_use]
    pub fn new(origin: CallOrigin, socket: PathBuf) -> Self {
        Self { origin, socket }
    }

    /// Asks about a call. A supervisor that does not answer lets nothing pass.
    pub(super) fn ask(&self, call: &HookCall) -> DoorReply {
        match self.question(call) {
            Ok(reply) => reply_of(&reply),
            Err(why) => DoorReply::Refuse(format!("tripwire: the guard is broken: {why}")),
        }
    }

    fn question(&self, call: &HookCall) -> Result<Reply, String> {
        let question = Question { client: Client::Mcp, input: mcp_event::written(call) };
        socket::ask(&self.socket, &question, SUPERVISED_WITHIN).map_err(|error| format!("{error}; {}", error.hint()))
    }
}
