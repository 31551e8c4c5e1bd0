//! One server's tools: who is asked about their calls, what is pinned of them, and what a client gets of their lists and results.
//!
//! It knows no transport: the relay of a pipe and that of HTTP decide with the same code.

use super::calls::{OpenBytes, OpenCall, RunningCalls, own_name, structured};
use super::door::Door;
use super::held::Seats;
use super::pin_keeper::PinKeeper;
use super::pin_store::{PinStore, ServerIdentity};
use super::server_name::ServerName;
use crate::wire::message::{Answered, Id, ListPage, ToolUse};
use crate::wire::reply;
use crate::wire::result::{Heard, capped};
use crate::wire::tools::ToolPage;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tripwire_clients::hooks::{Outcome, PersonAsk, ToolCall};
use tripwire_session::memory::cut_words;
use tripwire_supervisor::Notifier;

/// Notes about one server that are shown.
const NOTES_MAX: u64 = 50;

/// The tools of one server.
pub(super) struct ToolGate {
    name: ServerName,
    pub(super) door: Door,
    notifier: Arc<dyn Notifier>,
    pins: Mutex<PinKeeper>,
    pub(super) open_bytes: OpenBytes,
    pub(super) running: RunningCalls,
    pub(super) seats: Seats,
    /// What the ids of its calls begin with: no other process has the same.
    call_ids: String,
    calls: AtomicU64,
    notes: AtomicU64,
}

/// What a gate is made of.
pub(super) struct GateParts<'a> {
    pub(super) name: ServerName,
    /// The command line of the server, or its address: what its pins belong to.
    pub(super) whose: &'a [OsString],
    pub(super) door: Door,
    pub(super) pins: PinStore,
    pub(super) notifier: Arc<dyn Notifier>,
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// It goes on as it came.
    AsItCame,
    /// It goes on in this form.
    Changed(String),
    /// It does not go on, or not now.
    Kept,
}

impl ToolGate {
    pub(super) fn new(parts: GateParts<'_>) -> Self {
        let GateParts { name, whose, door, pins, notifier } = parts;
        let (pins, trouble) = PinKeeper::open(pins, ServerIdentity::new(&name, whose));
        let gate = Self {
            name,
            door,
            notifier,
            pins: Mutex::new(pins),
            open_bytes: OpenBytes::default(),
            running: RunningCalls::default(),
            seats: Seats::default(),
            call_ids: format!("mcp-{}", std::process::id()),
            calls: AtomicU64::new(0),
            notes: AtomicU64::new(0),
        };
        if let Some(trouble) = trouble {
            gate.note(&trouble);
        }
        gate
    }

    /// A call as the engine is asked about it.
    pub(super) fn tool_call(&self, used: &ToolUse<'_>) -> ToolCall {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        ToolCall {
            name: format!("mcp__{}__{}", self.name.as_str(), used.name),
            input: used.arguments.to_owned(),
            call_id: Some(format!("{}-{number}", self.call_ids)),
        }
    }

    /// Why a person is to be asked about a call now: what changed may have been trusted meanwhile.
    pub(super) fn asks(&self, tool: &ToolCall) -> Option<PersonAsk> {
        self.pins().asks(own_name(&tool.name))
    }

    /// What of a call's arguments certainly does not fit what the tool declares.
    pub(super) fn input_mistakes(&self, tool: &ToolCall) -> Vec<String> {
        let schemas = self.pins().schemas(own_name(&tool.name));
        schemas.input_mistakes(&tool.input)
    }

    /// What of a structured result certainly does not fit what the tool declares.
    pub(super) fn output_mistakes(&self, tool: &str, said: &Heard, answered: Answered<'_>) -> Vec<String> {
        if said.failed {
            return Vec::new();
        }
        let schemas = self.pins().schemas(own_name(tool));
        structured(answered, &schemas)
    }

    /// A page of the server's tools: only what a person has seen is shown.
    pub(super) fn list(&self, id: &Id, asked: ListPage, raw: &str, answered: Answered<'_>) -> Passage {
        let Answered::Result(result) = answered else { return Passage::AsItCame };
        let Some(page) = ToolPage::read(result) else {
            self.note("a list of tools has another form than the protocol's and is not passed on");
            return Passage::Changed(reply::error(Some(id), -32_603, "the server's list of tools cannot be read"));
        };
        let (news, shown) = {
            let mut pins = self.pins();
            (pins.page(asked, &page), pins.shown(raw, &page))
        };
        for note in news.notes {
            self.note(&note);
        }
        for seen in news.seen {
            self.door.seen(seen);
        }
        shown.map_or(Passage::AsItCame, Passage::Changed)
    }

    /// An answer that is larger than the agent is to get, with a pointer to the whole.
    pub(super) fn cut(&self, tool: &str, raw: &str, answered: Answered<'_>) -> Option<String> {
        let most = self.door.output_max(tool)?;
        let (Answered::Result(whole) | Answered::Error(whole)) = answered;
        if whole.get().len() <= most {
            return None;
        }
        match self.door.keep_whole(whole.get()) {
            Ok(pointer) => capped(raw, answered, most, &cut_words(whole.get().len(), &pointer)),
            Err(why) => {
                self.note(&format!("a large result of `{tool}` is passed on whole: {why}"));
                None
            }
        }
    }

    /// Records how a call ended; gives words for the agent.
    pub(super) fn done(&self, call: OpenCall, output: String, failed: Option<bool>) -> Option<String> {
        let duration_ms = u64::try_from(call.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.door.done(call.tool, Outcome { output, failed, exit_code: None, duration_ms })
    }

    /// A note for a person; a server that gives reason for many is silenced.
    pub(super) fn note(&self, text: &str) {
        let count = self.notes.fetch_add(1, Ordering::SeqCst);
        if count < NOTES_MAX {
            self.notifier.say(&format!("tripwire: mcp {}: {text}", self.name.as_str()));
        }
    }

    fn pins(&self) -> MutexGuard<'_, PinKeeper> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
