//! One client with one server, whatever carries their messages: what is open, what waits, and what becomes of each message.

use super::calls::{AskedCall, OpenCall};
use super::held::{HELD_MAX, HeldCalls, HeldPlace};
use super::question::{AskCount, DoorReply, WaitFor};
use super::tool_gate::{Passage, ToolGate};
use crate::wire::message::{self, Answered, Id, Incoming, Message, MessageKind, SERVER_DEPTH_MAX, ToolUse, members};
use crate::wire::reply::{self, SERVER_GONE};
use crate::wire::result::{heard, task_of, with_words};
use crate::wire::strict::{Carrier, without_lone_surrogates};
use crate::wire::traffic::{AnsweredKind, OpenKind, OpenRequest, Traffic};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Words for the agent that wait for a result that can carry them.
const WORDS_MAX: usize = 8;

/// One client with one server.
pub(super) struct Conversation {
    pub(super) gate: Arc<ToolGate>,
    traffic: Mutex<Traffic<OpenCall>>,
    held: HeldCalls,
    words: Mutex<Vec<String>>,
    resumption: Resumption,
    over: AtomicBool,
}

/// Whether a client may get an answer a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resumption {
    /// What was said on a pipe is said once.
    Never,
    /// A stream of events can be taken up again behind its last event.
    Possible,
}

/// The answer to a call.
#[derive(Debug, Clone, Copy)]
struct ToolAnswer<'a> {
    id: &'a Id,
    raw: &'a str,
    answered: Answered<'a>,
}

/// What is to be done with a message of the client.
#[derive(Debug)]
pub(super) enum FirstLook {
    /// It goes on.
    Passes,
    /// It goes nowhere, and wants no answer.
    Kept,
    /// It goes nowhere; this is the answer.
    Answered(String),
    /// A call: the engine is asked.
    Asks(AskedCall),
}

/// What came of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decided {
    /// It goes to the server.
    Runs,
    /// It does not; this is the answer, where the client wants one.
    Answered(Option<String>),
    /// It has to wait.
    Waits(WaitFor),
}

impl Conversation {
    pub(super) fn new(gate: Arc<ToolGate>, resumption: Resumption) -> Self {
        let held = HeldCalls::new(gate.seats.clone());
        Self {
            gate,
            traffic: Mutex::default(),
            held,
            words: Mutex::default(),
            resumption,
            over: AtomicBool::new(false),
        }
    }

    /// A message of the client.
    pub(super) fn look(&self, message: &Message<'_>) -> FirstLook {
        match &message.kind {
            MessageKind::Call(id, used) => self.call(id.as_ref(), used),
            MessageKind::List { id: Some(id), page } => self.request(id, OpenKind::List(*page)),
            MessageKind::TaskResult { id, task } => {
                let known = task.as_deref().and_then(|task| self.traffic().tool_of_task(task).map(str::to_owned));
                self.request(id, OpenKind::TaskResult(known.unwrap_or_default()))
            }
            MessageKind::Request(id) => self.request(id, OpenKind::Other),
            // A call that waits here is not known to the server.
            MessageKind::Cancelled(id) if self.held.give_up(id.key()) => FirstLook::Kept,
            MessageKind::Cancelled(id) => {
                self.cancelled(id);
                FirstLook::Passes
            }
            MessageKind::List { id: None, .. } | MessageKind::Notification | MessageKind::Response(..) => {
                FirstLook::Passes
            }
        }
    }

    /// The client gives a call up that the server works on: it has no result, and its id is free. What the server still says to
    /// it is bounded as its result would have been.
    fn cancelled(&self, id: &Id) {
        let ended = self.traffic().end_call(id, |call| call.runs.is_some());
        let Some(call) = ended else { return };
        self.traffic().remember(id, AnsweredKind::Call(call.tool.name.clone()));
        self.without_result(call, "the client cancelled the call before it had a result");
    }

    /// A call ends without a result; one that never went to the server leaves nothing.
    fn without_result(&self, call: OpenCall, why: &str) {
        if call.runs.is_some() {
            self.note_words(self.gate.done(call, why.to_owned(), Some(true)));
        }
    }

    fn request(&self, id: &Id, kind: OpenKind<OpenCall>) -> FirstLook {
        match self.traffic().ask(id.clone(), kind) {
            Ok(()) => FirstLook::Passes,
            Err(error) => FirstLook::Answered(reply::error(Some(id), -32_600, &error.to_string())),
        }
    }

    fn call(&self, id: Option<&Id>, used: &ToolUse<'_>) -> FirstLook {
        let tool = self.gate.tool_call(used);
        if let Some(id) = id {
            let Some(share) = self.gate.open_bytes.take(tool.input.len()) else {
                let why = "tripwire: the calls under way have too many arguments; try again when some have ended";
                return FirstLook::Answered(reply::refused(id, why));
            };
            let open = OpenCall { tool: tool.clone(), since: Instant::now(), runs: None, _share: share };
            if let FirstLook::Answered(answer) = self.request(id, OpenKind::Call(open)) {
                return FirstLook::Answered(answer);
            }
        }
        let asks = self.gate.asks(&tool);
        FirstLook::Asks(AskedCall { id: id.cloned(), tool, asks })
    }

    /// Asks about a call for the first time.
    pub(super) fn ask(&self, call: &AskedCall) -> DoorReply {
        self.gate.door.ask(&call.tool, call.asks.as_ref(), self.gate.running.like(&call.tool), AskCount::First)
    }

    /// What an answer of the engine means for a call.
    pub(super) fn decided(&self, call: &AskedCall, reply: DoorReply) -> Decided {
        match reply {
            DoorReply::Pass(words) => {
                self.note_words(words);
                match self.unfit(call) {
                    None => {
                        self.begins(call);
                        Decided::Runs
                    }
                    Some(why) => Decided::Answered(self.refused(call, &why)),
                }
            }
            DoorReply::Refuse(reason) => Decided::Answered(self.refused(call, &reason)),
            DoorReply::Wait(wait) => Decided::Waits(wait),
        }
    }

    /// From now on the server works on a call.
    fn begins(&self, call: &AskedCall) {
        let Some(id) = &call.id else { return };
        self.traffic().begin_call(id, |open| {
            open.since = Instant::now();
            open.runs = Some(self.gate.running.begin(&open.tool));
        });
    }

    /// A place for a call that waits; without one it is refused.
    pub(super) fn enter(&self, call: &AskedCall) -> Result<HeldPlace, Option<String>> {
        let key =
            call.id.as_ref().map_or_else(|| call.tool.call_id.clone().unwrap_or_default(), |id| id.key().to_owned());
        let full =
            || self.refused(call, &format!("tripwire: more than {HELD_MAX} calls wait already; try again later"));
        self.held.enter(&key).ok_or_else(full)
    }

    /// Whether any other call of this client waits.
    pub(super) fn others_wait(&self, place: &HeldPlace) -> bool {
        self.held.is_any_but(place)
    }

    /// Waits until the engine says yes or no; nothing if the call is given up meanwhile.
    pub(super) fn wait_out(
        &self,
        call: &AskedCall,
        mut wait: WaitFor,
        gives_up: &dyn Fn() -> bool,
    ) -> Option<DoorReply> {
        let door = &self.gate.door;
        loop {
            let since = Instant::now();
            while door.still_waits(&wait, since.elapsed()) {
                if gives_up() || self.is_over() {
                    return None;
                }
            }
            let unanswered = matches!(&wait, WaitFor::Answer(_, most) if since.elapsed() >= *most);
            let count = if unanswered { AskCount::Unanswered(since.elapsed()) } else { AskCount::Again };
            let running = self.gate.running.like(&call.tool);
            match door.ask(&call.tool, self.gate.asks(&call.tool).as_ref(), running, count) {
                DoorReply::Wait(next) => wait = next,
                reply @ (DoorReply::Pass(_) | DoorReply::Refuse(_)) => return Some(reply),
            }
        }
    }

    /// A call that waited is answered, or given up.
    pub(super) fn settle(&self, call: &AskedCall, place: &HeldPlace, reply: Option<DoorReply>) -> Decided {
        let may_pass = self.held.leave(place) && !self.is_over();
        let Some(reply) = reply.filter(|_| may_pass) else {
            // It has not reached the server, and the client wants no answer to it.
            if let Some(id) = &call.id {
                drop(self.traffic().end(id));
            }
            return Decided::Answered(None);
        };
        match self.decided(call, reply) {
            Decided::Waits(_) => Decided::Answered(self.refused(call, "tripwire: the guard gave no answer")),
            decided @ (Decided::Runs | Decided::Answered(_)) => decided,
        }
    }

    /// Why the arguments do not fit what the tool declares: then the call ends here, as a failed one.
    fn unfit(&self, call: &AskedCall) -> Option<String> {
        let mistakes = self.gate.input_mistakes(&call.tool);
        if mistakes.is_empty() {
            return None;
        }
        let why = format!("the arguments do not fit the tool's inputSchema: {}", mistakes.join("; "));
        // A call without an id has no share, because nothing is kept of it.
        let share = self.gate.open_bytes.take(0)?;
        let open = OpenCall { tool: call.tool.clone(), since: Instant::now(), runs: None, _share: share };
        self.note_words(self.gate.done(open, why.clone(), Some(true)));
        Some(format!("tripwire: {why}; correct them and call it again [MCP-3]"))
    }

    fn refused(&self, call: &AskedCall, reason: &str) -> Option<String> {
        let Some(id) = &call.id else {
            self.gate.note(&format!("a call of `{}` without an id is refused: {reason}", call.tool.name));
            return None;
        };
        drop(self.traffic().end(id));
        Some(self.with_waiting_words(reply::refused(id, reason)))
    }

    /// What the server said: what of it goes to the client.
    pub(super) fn take_from_server(&self, message: &[u8], carrier: Carrier) -> Passage {
        let fault = match message::carried(message, carrier, SERVER_DEPTH_MAX) {
            Ok(incoming) => return self.passage_of(incoming),
            Err(fault) => fault,
        };
        // A text that was cut in the middle of a character is no reason to lose a result.
        let whole = std::str::from_utf8(message).ok().and_then(without_lone_surrogates);
        if let Some(whole) = whole
            && let Ok(incoming) = message::carried(whole.as_bytes(), carrier, SERVER_DEPTH_MAX)
        {
            return match self.passage_of(incoming) {
                Passage::AsItCame => Passage::Changed(whole),
                passage @ (Passage::Changed(_) | Passage::Kept) => passage,
            };
        }
        self.refuse_from_server(message, &fault.to_string()).map_or(Passage::Kept, Passage::Changed)
    }

    fn passage_of(&self, incoming: Incoming<'_>) -> Passage {
        let messages = match incoming {
            Incoming::Blank => return Passage::AsItCame,
            Incoming::One(message) => return self.passage_to_client(&message),
            Incoming::Batch(messages) => messages,
        };
        let passages: Vec<Passage> = messages.iter().map(|message| self.passage_to_client(message)).collect();
        if passages.iter().all(|passage| *passage == Passage::AsItCame) {
            return Passage::AsItCame;
        }
        let parts = messages.iter().zip(&passages).filter_map(|(message, passage)| match passage {
            Passage::AsItCame => Some(message.raw),
            Passage::Changed(text) => Some(text.as_str()),
            Passage::Kept => None,
        });
        let parts: Vec<&str> = parts.collect();
        if parts.is_empty() { Passage::Kept } else { Passage::Changed(reply::batch(&parts)) }
    }

    /// A message of the server that cannot be read in one way only: the answer for the side that waits for it.
    pub(super) fn refuse_from_server(&self, line: &[u8], why: &str) -> Option<String> {
        self.gate.note(&format!("a message of the server is not passed on: {why}"));
        let ids = message::ids_of_refused_answers(line);
        let ended: Vec<OpenRequest<OpenCall>> = {
            let mut traffic = self.traffic();
            ids.iter().filter_map(|id| traffic.end(id)).collect()
        };
        let answers: Vec<String> = ended
            .into_iter()
            .map(|request| self.failed(request, -32_603, why, &format!("the server's answer is refused: {why}")))
            .collect();
        match answers.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            [_, ..] => Some(reply::batch(&answers.iter().map(String::as_str).collect::<Vec<_>>())),
        }
    }

    /// A request ends with an error of the guard's; a call with it, for which the agent may have words to hear.
    fn failed(&self, request: OpenRequest<OpenCall>, code: i64, why: &str, said: &str) -> String {
        let OpenRequest { id, kind } = request;
        let error = reply::error(Some(&id), code, said);
        match kind {
            OpenKind::Call(call) => {
                self.without_result(call, why);
                self.with_waiting_words(error)
            }
            OpenKind::List(_) | OpenKind::TaskResult(_) | OpenKind::Other => error,
        }
    }

    fn passage_to_client(&self, message: &Message<'_>) -> Passage {
        let MessageKind::Response(Some(id), answered) = &message.kind else { return Passage::AsItCame };
        if self.traffic().call(id).is_some_and(|call| call.runs.is_none()) {
            self.gate.note("an answer to a call that the server was not given is not passed on");
            return Passage::Kept;
        }
        let ended = self.traffic().end(id);
        let Some(OpenRequest { kind, .. }) = ended else { return self.not_open(id, message.raw, *answered) };
        match kind {
            OpenKind::Other => Passage::AsItCame,
            OpenKind::List(page) => {
                self.remember(id, || AnsweredKind::List(page));
                self.gate.list(id, page, message.raw, *answered)
            }
            OpenKind::TaskResult(tool) => {
                self.remember(id, || AnsweredKind::Call(tool.clone()));
                let mistakes = self.gate.output_mistakes(&tool, &heard(*answered), *answered);
                self.to_agent(&tool, ToolAnswer { id, raw: message.raw, answered: *answered }, &mistakes)
            }
            OpenKind::Call(call) => {
                self.remember(id, || AnsweredKind::Call(call.tool.name.clone()));
                if let Some(task) = task_of(*answered) {
                    self.traffic().begin_task(task, &call.tool.name);
                }
                self.result(id, call, message.raw, *answered)
            }
        }
    }

    fn remember(&self, id: &Id, kind: impl FnOnce() -> AnsweredKind) {
        if self.resumption == Resumption::Possible {
            self.traffic().remember(id, kind());
        }
    }

    /// An answer to nothing that is open: one that is said again is treated as before, and any other is the client's to ignore.
    /// A list of tools that nobody asked for is not shown to it.
    fn not_open(&self, id: &Id, raw: &str, answered: Answered<'_>) -> Passage {
        let before = self.traffic().answered(id).cloned();
        match before {
            Some(AnsweredKind::List(page)) => return self.gate.list(id, page, raw, answered),
            Some(AnsweredKind::Call(tool)) => {
                let mistakes = self.gate.output_mistakes(&tool, &heard(answered), answered);
                let shaped = self.shaped(&tool, ToolAnswer { id, raw, answered }, &mistakes);
                return shaped.map_or(Passage::AsItCame, Passage::Changed);
            }
            None => {}
        }
        let Answered::Result(result) = answered else { return Passage::AsItCame };
        let lists = members(result.get()).unwrap_or_default().iter().any(|(name, _)| name == "tools");
        if lists {
            self.gate.note("an unsolicited list of tools is not passed on");
            return Passage::Kept;
        }
        Passage::AsItCame
    }

    /// The result of a call: it is recorded, and the agent gets no more of it than the policy says.
    fn result(&self, id: &Id, call: OpenCall, raw: &str, answered: Answered<'_>) -> Passage {
        let tool = call.tool.name.clone();
        let said = heard(answered);
        let mistakes = self.gate.output_mistakes(&tool, &said, answered);
        let failed = said.failed || !mistakes.is_empty();
        self.note_words(self.gate.done(call, said.text, Some(failed)));
        self.to_agent(&tool, ToolAnswer { id, raw, answered }, &mistakes)
    }

    /// What the agent gets of an answer, with the words that wait for it.
    fn to_agent(&self, tool: &str, answer: ToolAnswer<'_>, mistakes: &[String]) -> Passage {
        let raw = answer.raw;
        let shaped = self.shaped(tool, answer, mistakes);
        if shaped.is_none() && self.words().is_empty() {
            return Passage::AsItCame;
        }
        Passage::Changed(self.with_waiting_words(shaped.unwrap_or_else(|| raw.to_owned())))
    }

    /// A message with the words that wait for the agent; they wait on where it has no place for them.
    fn with_waiting_words(&self, message: String) -> String {
        let mut waiting = self.words();
        if waiting.is_empty() {
            return message;
        }
        match with_words(&message, &waiting.join("\n")) {
            Some(changed) => {
                waiting.clear();
                changed
            }
            None => message,
        }
    }

    /// What stands in the place of an answer that does not fit its schema, or is too large.
    fn shaped(&self, tool: &str, answer: ToolAnswer<'_>, mistakes: &[String]) -> Option<String> {
        if !mistakes.is_empty() {
            return Some(reply::unfit_result(answer.id, mistakes));
        }
        self.gate.cut(tool, answer.raw, answer.answered)
    }

    /// Requests that get no answer any more; gives the errors for those who wait.
    pub(super) fn unanswered(&self, keys: &[String], why: &str) -> Vec<String> {
        let open: Vec<OpenRequest<OpenCall>> = {
            let mut traffic = self.traffic();
            keys.iter().filter_map(|key| traffic.end_key(key)).collect()
        };
        self.given_up(open, why)
    }

    /// The server is gone: the errors for all who wait, because nobody is left in silence.
    pub(super) fn server_gone(&self, why: &str) -> Vec<String> {
        self.end();
        let open = self.traffic().end_all();
        self.given_up(open, why)
    }

    fn given_up(&self, open: Vec<OpenRequest<OpenCall>>, why: &str) -> Vec<String> {
        open.into_iter().map(|request| self.failed(request, SERVER_GONE, why, why)).collect()
    }

    /// The client is gone: what it still waited for has no result.
    pub(super) fn client_gone(&self) {
        self.end();
        let open = self.traffic().end_all();
        for request in open {
            match request.kind {
                OpenKind::Call(call) => self.without_result(call, "the client closed before the call had a result"),
                OpenKind::List(_) | OpenKind::TaskResult(_) | OpenKind::Other => {}
            }
        }
    }

    /// Nothing that waits here goes to the server any more.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn note_words(&self, words: Option<String>) {
        let mut waiting = self.words();
        if let Some(words) = words.filter(|_| waiting.len() < WORDS_MAX) {
            waiting.push(words);
        }
    }

    fn words(&self) -> MutexGuard<'_, Vec<String>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic<OpenCall>> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
