//! What is done with each message: passed on as it came, answered here, or held.

use super::calls::{AskedCall, OpenCall, own_name, structured};
use super::door::Door;
use super::held::{HELD_MAX, HeldCalls, HeldPlace};
use super::lines::body;
use super::pin_keeper::PinKeeper;
use super::question::{AskCount, DoorReply, WaitFor};
use super::server_name::ServerName;
use super::wires::Wires;
use crate::wire::message::{
    self, Answered, CLIENT_DEPTH_MAX, Id, Incoming, ListPage, Message, MessageKind, SERVER_DEPTH_MAX, ToolUse, members,
};
use crate::wire::reply::{self, SERVER_GONE};
use crate::wire::result::{capped, heard, with_words};
use crate::wire::tools::ToolPage;
use crate::wire::traffic::{OpenKind, OpenRequest, Traffic};
use serde_json::value::RawValue;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tripwire_clients::hooks::{Outcome, PersonAsk, ToolCall};
use tripwire_supervisor::Notifier;

/// How long the messages behind a call wait for the answer about it, where that may take as long as a person does.
const IN_ORDER_WITHIN: Duration = Duration::from_millis(500);
/// Notes about one server that are shown.
const NOTES_MAX: u64 = 50;
/// Words for the agent that wait for a result that can carry them.
const WORDS_MAX: usize = 8;

/// The way between one client and one server.
pub(super) struct Relay {
    name: ServerName,
    door: Door,
    notifier: Arc<dyn Notifier>,
    pins: Mutex<PinKeeper>,
    traffic: Mutex<Traffic<OpenCall>>,
    wires: Wires,
    held: HeldCalls,
    words: Mutex<Vec<String>>,
    calls: AtomicU64,
    notes: AtomicU64,
    over: AtomicBool,
}

/// Who takes part.
pub(super) struct RelayParts {
    pub(super) name: ServerName,
    pub(super) door: Door,
    pub(super) notifier: Arc<dyn Notifier>,
    pub(super) pins: PinKeeper,
    pub(super) wires: Wires,
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
enum Passage {
    /// It goes on as it came.
    AsItCame,
    /// It goes on in this form.
    Changed(String),
    /// It does not go on, or not now.
    Kept,
}

impl Relay {
    pub(super) fn new(parts: RelayParts) -> Self {
        let RelayParts { name, door, notifier, pins, wires } = parts;
        Self {
            name,
            door,
            notifier,
            pins: Mutex::new(pins),
            traffic: Mutex::default(),
            wires,
            held: HeldCalls::default(),
            words: Mutex::default(),
            calls: AtomicU64::new(0),
            notes: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// A line of the client.
    pub(super) fn take_from_client(self: &Arc<Self>, line: &[u8]) {
        let incoming = match message::read(body(line), CLIENT_DEPTH_MAX) {
            Ok(incoming) => incoming,
            Err(fault) => {
                let id = message::id_of_refused(body(line));
                let why = format!("{fault}; it did not reach the server; send one plain JSON-RPC message a line");
                self.wires.say_to_client(&reply::error(id.as_ref(), fault.code(), &why));
                return;
            }
        };
        match incoming {
            Incoming::Blank => self.wires.send_to_server(line),
            Incoming::One(message) => {
                if self.passage_to_server(&message) == Passage::AsItCame {
                    self.wires.send_to_server(line);
                }
            }
            Incoming::Batch(messages) => {
                let passes = |message: &&Message<'_>| self.passage_to_server(message) == Passage::AsItCame;
                let kept: Vec<&str> = messages.iter().filter(passes).map(|message| message.raw).collect();
                if kept.len() == messages.len() {
                    self.wires.send_to_server(line);
                } else if !kept.is_empty() {
                    self.wires.send_to_server(format!("{}\n", reply::batch(&kept)).as_bytes());
                }
            }
        }
    }

    /// A line of the client that is longer than any message may be.
    pub(super) fn too_long_from_client(&self, beginning: &[u8]) {
        let why = "the message is larger than 64 MiB; it did not reach the server";
        self.wires.say_to_client(&reply::error(message::id_of_refused(beginning).as_ref(), -32_600, why));
    }

    fn passage_to_server(self: &Arc<Self>, message: &Message<'_>) -> Passage {
        match &message.kind {
            MessageKind::Call(id, used) => self.call(id.as_ref(), used, message.raw),
            MessageKind::List { id: Some(id), page } => self.request(id, OpenKind::List(*page)),
            MessageKind::Request(id) => self.request(id, OpenKind::Other),
            // A call that waits here is not known to the server.
            MessageKind::Cancelled(id) if self.held.give_up(id.key()) => Passage::Kept,
            MessageKind::List { id: None, .. }
            | MessageKind::Cancelled(_)
            | MessageKind::Notification
            | MessageKind::Response(..) => Passage::AsItCame,
        }
    }

    fn request(&self, id: &Id, kind: OpenKind<OpenCall>) -> Passage {
        match self.traffic().ask(id.clone(), kind) {
            Ok(()) => Passage::AsItCame,
            Err(error) => {
                self.wires.say_to_client(&reply::error(Some(id), -32_600, &error.to_string()));
                Passage::Kept
            }
        }
    }

    /// A tool is to be called: the engine says whether.
    fn call(self: &Arc<Self>, id: Option<&Id>, used: &ToolUse<'_>, raw: &str) -> Passage {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let tool = ToolCall {
            name: format!("mcp__{}__{}", self.name.as_str(), used.name),
            input: used.arguments.to_owned(),
            call_id: Some(format!("mcp-{}-{number}", std::process::id())),
        };
        if let Some(id) = id {
            let open = OpenCall { tool: tool.clone(), since: Instant::now() };
            if self.request(id, OpenKind::Call(open)) == Passage::Kept {
                return Passage::Kept;
            }
        }
        let asks = self.pins().asks(&used.name);
        let call = AskedCall { id: id.cloned(), tool, asks, raw: raw.to_owned() };
        if self.door.blocks() {
            return self.ask_aside(call);
        }
        match self.door.ask(&call.tool, call.asks.as_ref(), AskCount::First) {
            DoorReply::Pass(words) => {
                self.note_words(words);
                if self.is_unfit(&call) { Passage::Kept } else { Passage::AsItCame }
            }
            DoorReply::Refuse(reason) => {
                self.refuse(&call, &reason);
                Passage::Kept
            }
            DoorReply::Wait(wait) => {
                self.hold(call, wait);
                Passage::Kept
            }
        }
    }

    /// Asks where the answer may take long: messages behind it wait a moment, so that order is kept where nothing waits.
    fn ask_aside(self: &Arc<Self>, call: AskedCall) -> Passage {
        let Some(place) = self.enter(&call) else { return Passage::Kept };
        let waits_already = self.held.is_any_but(&place);
        let (answered, answer) = mpsc::channel::<()>();
        let relay = Arc::clone(self);
        let started = self.thread(move || {
            let reply = relay.door.ask(&call.tool, call.asks.as_ref(), AskCount::First);
            relay.settle(&call, &place, reply);
            drop(answered);
        });
        if started && !waits_already {
            // Whatever it is, the thread has dealt with it by then, or goes on without us.
            answer.recv_timeout(IN_ORDER_WITHIN).ok();
        }
        Passage::Kept
    }

    /// Holds a call, with nothing else waiting for it.
    fn hold(self: &Arc<Self>, call: AskedCall, mut wait: WaitFor) {
        let Some(place) = self.enter(&call) else { return };
        let relay = Arc::clone(self);
        self.thread(move || {
            loop {
                let since = Instant::now();
                while relay.door.still_waits(&wait, since.elapsed()) {
                    if place.is_given_up() || relay.is_over() {
                        relay.leave(&call, &place);
                        return;
                    }
                }
                let unanswered = matches!(&wait, WaitFor::Answer(_, most) if since.elapsed() >= *most);
                let count = if unanswered { AskCount::Unanswered(since.elapsed()) } else { AskCount::Again };
                match relay.door.ask(&call.tool, relay.asks_now(&call).as_ref(), count) {
                    DoorReply::Wait(next) => wait = next,
                    reply @ (DoorReply::Pass(_) | DoorReply::Refuse(_)) => {
                        relay.settle(&call, &place, reply);
                        return;
                    }
                }
            }
        });
    }

    /// A place for a call that waits; without one it is refused.
    fn enter(&self, call: &AskedCall) -> Option<HeldPlace> {
        let key =
            call.id.as_ref().map_or_else(|| call.tool.call_id.clone().unwrap_or_default(), |id| id.key().to_owned());
        let place = self.held.enter(&key);
        if place.is_none() {
            self.refuse(call, &format!("tripwire: more than {HELD_MAX} calls wait already; try again later"));
        }
        place
    }

    /// A call that waited is answered.
    fn settle(&self, call: &AskedCall, place: &HeldPlace, reply: DoorReply) {
        if !self.held.leave(place) || self.is_over() {
            self.close(call);
            return;
        }
        match reply {
            DoorReply::Pass(words) => {
                self.note_words(words);
                if self.is_unfit(call) {
                    return;
                }
                if let Some(id) = &call.id {
                    // From now on the server works on it.
                    let mut traffic = self.traffic();
                    if traffic.end(id).is_some() {
                        let open = OpenCall { tool: call.tool.clone(), since: Instant::now() };
                        traffic.ask(id.clone(), OpenKind::Call(open)).ok();
                    }
                }
                self.wires.send_to_server(format!("{}\n", call.raw).as_bytes());
            }
            DoorReply::Refuse(reason) => self.refuse(call, &reason),
            DoorReply::Wait(_) => self.refuse(call, "tripwire: the guard gave no answer"),
        }
    }

    /// Whether the arguments do not fit what the tool declares: then the call ends here, as a failed one.
    fn is_unfit(&self, call: &AskedCall) -> bool {
        let schemas = self.pins().schemas(own_name(&call.tool));
        let mistakes = schemas.input_mistakes(&call.tool.input);
        if mistakes.is_empty() {
            return false;
        }
        let why = format!("the arguments do not fit the tool's inputSchema: {}", mistakes.join("; "));
        let open = OpenCall { tool: call.tool.clone(), since: Instant::now() };
        self.note_words(self.done(open, why.clone(), Some(true)));
        self.refuse(call, &format!("tripwire: {why}; correct them and call it again [MCP-3]"));
        true
    }

    /// A call that waited is given up.
    fn leave(&self, call: &AskedCall, place: &HeldPlace) {
        self.held.leave(place);
        self.close(call);
    }

    /// A call ends without having reached the server, and the client wants no answer to it.
    fn close(&self, call: &AskedCall) {
        if let Some(id) = &call.id {
            drop(self.traffic().end(id));
        }
    }

    fn refuse(&self, call: &AskedCall, reason: &str) {
        match &call.id {
            Some(id) => {
                drop(self.traffic().end(id));
                self.wires.say_to_client(&reply::refused(id, reason));
            }
            None => self.note(&format!("a call of `{}` without an id is refused: {reason}", call.tool.name)),
        }
    }

    /// A line of the server.
    pub(super) fn take_from_server(&self, line: &[u8]) {
        let incoming = match message::read(body(line), SERVER_DEPTH_MAX) {
            Ok(incoming) => incoming,
            Err(fault) => return self.refuse_from_server(body(line), &fault.to_string()),
        };
        match incoming {
            Incoming::Blank => self.wires.send_to_client(line),
            Incoming::One(message) => match self.passage_to_client(&message) {
                Passage::AsItCame => self.wires.send_to_client(line),
                Passage::Changed(text) => self.wires.say_to_client(&text),
                Passage::Kept => {}
            },
            Incoming::Batch(messages) => {
                let passages: Vec<Passage> = messages.iter().map(|message| self.passage_to_client(message)).collect();
                if passages.iter().all(|passage| *passage == Passage::AsItCame) {
                    return self.wires.send_to_client(line);
                }
                let parts = messages.iter().zip(&passages).filter_map(|(message, passage)| match passage {
                    Passage::AsItCame => Some(message.raw),
                    Passage::Changed(text) => Some(text.as_str()),
                    Passage::Kept => None,
                });
                let parts: Vec<&str> = parts.collect();
                if !parts.is_empty() {
                    self.wires.say_to_client(&reply::batch(&parts));
                }
            }
        }
    }

    /// A message of the server that cannot be read in one way only: whoever waits for it is told.
    pub(super) fn refuse_from_server(&self, line: &[u8], why: &str) {
        self.note(&format!("a message of the server is not passed on: {why}"));
        let Some(id) = message::id_of_refused(line) else { return };
        if let Some(OpenRequest { id, kind }) = self.traffic().end(&id) {
            self.wires.say_to_client(&reply::error(
                Some(&id),
                -32_603,
                &format!("the server's answer is refused: {why}"),
            ));
            if let OpenKind::Call(call) = kind {
                self.done(call, why.to_owned(), Some(true));
            }
        }
    }

    fn passage_to_client(&self, message: &Message<'_>) -> Passage {
        let MessageKind::Response(Some(id), answered) = &message.kind else { return Passage::AsItCame };
        let Some(OpenRequest { kind, .. }) = self.traffic().end(id) else { return self.unasked(*answered) };
        match kind {
            OpenKind::Other => Passage::AsItCame,
            OpenKind::List(page) => self.list(id, page, message.raw, *answered),
            OpenKind::Call(call) => self.result(id, call, message.raw, *answered),
        }
    }

    /// An answer that nobody asked for is the client's to ignore; a list of tools that nobody asked for is not shown to it.
    fn unasked(&self, answered: Answered<'_>) -> Passage {
        let Answered::Result(result) = answered else { return Passage::AsItCame };
        let lists = members(result.get()).unwrap_or_default().iter().any(|(name, _)| name == "tools");
        if lists {
            self.note("a list of tools that nobody asked for is not passed on");
            return Passage::Kept;
        }
        Passage::AsItCame
    }

    /// A page of the server's tools: only what a person has seen is shown.
    fn list(&self, id: &Id, asked: ListPage, raw: &str, answered: Answered<'_>) -> Passage {
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

    /// The result of a call: it is recorded, and the agent gets no more of it than the policy says.
    fn result(&self, id: &Id, call: OpenCall, raw: &str, answered: Answered<'_>) -> Passage {
        let tool = call.tool.clone();
        let said = heard(answered);
        let schemas = self.pins().schemas(own_name(&tool));
        let mistakes = if said.failed { Vec::new() } else { structured(answered, &schemas) };
        let failed = said.failed || !mistakes.is_empty();
        self.note_words(self.done(call, said.text, Some(failed)));
        let words = std::mem::take(&mut *self.words.lock().unwrap_or_else(PoisonError::into_inner));
        if !mistakes.is_empty() {
            return Passage::Changed(reply::unfit_result(id, &mistakes));
        }
        let Answered::Result(result) = answered else { return Passage::AsItCame };
        if let Some(cut) = self.cut(&tool, raw, result) {
            return Passage::Changed(cut);
        }
        if words.is_empty() {
            return Passage::AsItCame;
        }
        with_words(raw, result, &words.join("\n")).map_or(Passage::AsItCame, Passage::Changed)
    }

    /// A result that is larger than the agent is to get, with a pointer to the whole.
    fn cut(&self, tool: &ToolCall, raw: &str, result: &RawValue) -> Option<String> {
        let most = self.door.output_max(&tool.name)?;
        if result.get().len() <= most {
            return None;
        }
        match self.door.keep_whole(result.get()) {
            Ok(pointer) => capped(raw, result, most, &format!("`tripwire memory get {pointer}` prints all of it")),
            Err(why) => {
                self.note(&format!("a large result of `{}` is passed on whole: {why}", tool.name));
                None
            }
        }
    }

    fn done(&self, call: OpenCall, output: String, failed: Option<bool>) -> Option<String> {
        let duration_ms = u64::try_from(call.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.door.done(call.tool, Outcome { output, failed, exit_code: None, duration_ms })
    }

    /// The server is gone: whoever waits for it is told, never left in silence.
    pub(super) fn server_gone(&self, why: &str) {
        self.over.store(true, Ordering::SeqCst);
        let open = self.traffic().end_all();
        for OpenRequest { id, kind } in open {
            self.wires.say_to_client(&reply::error(Some(&id), SERVER_GONE, why));
            if let OpenKind::Call(call) = kind {
                self.done(call, why.to_owned(), Some(true));
            }
        }
    }

    /// The client has closed: nothing more goes to the server.
    pub(super) fn client_gone(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.wires.close_server();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn note_words(&self, words: Option<String>) {
        let mut waiting = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(words) = words.filter(|_| waiting.len() < WORDS_MAX) {
            waiting.push(words);
        }
    }

    /// A note for a person; a server that gives reason for many is silenced.
    pub(super) fn note(&self, text: &str) {
        let count = self.notes.fetch_add(1, Ordering::SeqCst);
        if count < NOTES_MAX {
            self.notifier.say(&format!("tripwire: mcp {}: {text}", self.name.as_str()));
        }
    }

    fn thread(&self, work: impl FnOnce() + Send + 'static) -> bool {
        let started = std::thread::Builder::new().name("held call".to_owned()).spawn(work);
        if started.is_err() {
            // The call stays open and its client gives it up by itself; it never reaches the server.
            self.note("no thread could be started for a call that has to wait");
        }
        started.is_ok()
    }

    /// Why a person is asked about a call that waited: what changed may have been trusted meanwhile.
    fn asks_now(&self, call: &AskedCall) -> Option<PersonAsk> {
        self.pins().asks(own_name(&call.tool))
    }

    fn pins(&self) -> MutexGuard<'_, PinKeeper> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic<OpenCall>> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
