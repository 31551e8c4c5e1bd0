//! What is done with each message: passed on as it came, answered here, or held.

use super::door::{AskCount, Door, DoorReply, WaitFor};
use super::held::{HELD_MAX, HeldCalls, HeldPlace};
use super::lines::body;
use super::serve::ServerName;
use crate::wire::message::{
    self, Answered, CLIENT_DEPTH_MAX, Id, Incoming, Message, MessageKind, SERVER_DEPTH_MAX, ToolUse, members,
};
use crate::wire::reply::{self, SERVER_GONE};
use crate::wire::result::{heard, with_words};
use crate::wire::traffic::{OpenKind, OpenRequest, Traffic};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tripwire_clients::hooks::{Outcome, ToolCall};
use tripwire_supervisor::Notifier;

/// How long the messages behind a call wait for the answer about it, where that may take as long as a person does.
const IN_ORDER_WITHIN: Duration = Duration::from_millis(500);
/// Notes about one server that are shown.
const NOTES_MAX: u64 = 50;
/// Words for the agent that wait for a result that can carry them.
const WORDS_MAX: usize = 8;

/// The way between one client and one server.
pub(super) struct Relay {
    pub(super) name: ServerName,
    pub(super) door: Door,
    pub(super) notifier: Arc<dyn Notifier>,
    traffic: Mutex<Traffic<OpenCall>>,
    to_client: Mutex<Box<dyn Write + Send>>,
    to_server: Mutex<Option<Box<dyn Write + Send>>>,
    held: HeldCalls,
    words: Mutex<Vec<String>>,
    calls: AtomicU64,
    notes: AtomicU64,
    over: AtomicBool,
}

/// A call that the server works on.
#[derive(Debug, Clone)]
struct OpenCall {
    tool: ToolCall,
    since: Instant,
}

/// A call that is asked about.
struct AskedCall {
    id: Option<Id>,
    tool: ToolCall,
    raw: String,
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
    pub(super) fn new(
        name: ServerName,
        door: Door,
        notifier: Arc<dyn Notifier>,
        to_client: Box<dyn Write + Send>,
        to_server: Box<dyn Write + Send>,
    ) -> Self {
        Self {
            name,
            door,
            notifier,
            traffic: Mutex::default(),
            to_client: Mutex::new(to_client),
            to_server: Mutex::new(Some(to_server)),
            held: HeldCalls::default(),
            words: Mutex::default(),
            calls: AtomicU64::new(0),
            notes: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// A line of the client.
    pub(super) fn from_client(self: &Arc<Self>, line: &[u8]) {
        let incoming = match message::read(body(line), CLIENT_DEPTH_MAX) {
            Ok(incoming) => incoming,
            Err(fault) => {
                let id = message::id_of_refused(body(line));
                let why = format!("{fault}; it did not reach the server; send one plain JSON-RPC message a line");
                self.say_to_client(&reply::error(id.as_ref(), fault.code(), &why));
                return;
            }
        };
        match incoming {
            Incoming::Blank => self.send_to_server(line),
            Incoming::One(message) => {
                if self.passage_to_server(&message) == Passage::AsItCame {
                    self.send_to_server(line);
                }
            }
            Incoming::Batch(messages) => {
                let passes = |message: &&Message<'_>| self.passage_to_server(message) == Passage::AsItCame;
                let kept: Vec<&str> = messages.iter().filter(passes).map(|message| message.raw).collect();
                if kept.len() == messages.len() {
                    self.send_to_server(line);
                } else if !kept.is_empty() {
                    self.send_to_server(format!("{}\n", reply::batch(&kept)).as_bytes());
                }
            }
        }
    }

    /// A line of the client that is longer than any message may be.
    pub(super) fn too_long_from_client(&self, beginning: &[u8]) {
        let why = "the message is larger than 64 MiB; it did not reach the server";
        self.say_to_client(&reply::error(message::id_of_refused(beginning).as_ref(), -32_600, why));
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
                self.say_to_client(&reply::error(Some(id), -32_600, &error.to_string()));
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
        let call = AskedCall { id: id.cloned(), tool, raw: raw.to_owned() };
        if self.door.blocks() {
            return self.ask_aside(call);
        }
        match self.door.ask(&call.tool, None, AskCount::First) {
            DoorReply::Pass(words) => {
                self.note_words(words);
                Passage::AsItCame
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
            let reply = relay.door.ask(&call.tool, None, AskCount::First);
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
                match relay.door.ask(&call.tool, None, count) {
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
                if let Some(id) = &call.id {
                    // From now on the server works on it.
                    let mut traffic = self.traffic();
                    if traffic.end(id).is_some() {
                        let open = OpenCall { tool: call.tool.clone(), since: Instant::now() };
                        traffic.ask(id.clone(), OpenKind::Call(open)).ok();
                    }
                }
                self.send_to_server(format!("{}\n", call.raw).as_bytes());
            }
            DoorReply::Refuse(reason) => self.refuse(call, &reason),
            DoorReply::Wait(_) => self.refuse(call, "tripwire: the guard gave no answer"),
        }
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
                self.say_to_client(&reply::refused(id, reason));
            }
            None => self.note(&format!("a call of `{}` without an id is refused: {reason}", call.tool.name)),
        }
    }

    /// A line of the server.
    pub(super) fn from_server(&self, line: &[u8]) {
        let incoming = match message::read(body(line), SERVER_DEPTH_MAX) {
            Ok(incoming) => incoming,
            Err(fault) => return self.refuse_from_server(body(line), &fault.to_string()),
        };
        match incoming {
            Incoming::Blank => self.send_to_client(line),
            Incoming::One(message) => match self.passage_to_client(&message) {
                Passage::AsItCame => self.send_to_client(line),
                Passage::Changed(text) => self.say_to_client(&text),
                Passage::Kept => {}
            },
            Incoming::Batch(messages) => {
                let passages: Vec<Passage> = messages.iter().map(|message| self.passage_to_client(message)).collect();
                if passages.iter().all(|passage| *passage == Passage::AsItCame) {
                    return self.send_to_client(line);
                }
                let parts = messages.iter().zip(&passages).filter_map(|(message, passage)| match passage {
                    Passage::AsItCame => Some(message.raw),
                    Passage::Changed(text) => Some(text.as_str()),
                    Passage::Kept => None,
                });
                let parts: Vec<&str> = parts.collect();
                if !parts.is_empty() {
                    self.say_to_client(&reply::batch(&parts));
                }
            }
        }
    }

    /// A message of the server that cannot be read in one way only: whoever waits for it is told.
    pub(super) fn refuse_from_server(&self, line: &[u8], why: &str) {
        self.note(&format!("a message of the server is not passed on: {why}"));
        let Some(id) = message::id_of_refused(line) else { return };
        if let Some(OpenRequest { id, kind }) = self.traffic().end(&id) {
            self.say_to_client(&reply::error(Some(&id), -32_603, &format!("the server's answer is refused: {why}")));
            if let OpenKind::Call(call) = kind {
                self.done(call, why.to_owned(), Some(true));
            }
        }
    }

    fn passage_to_client(&self, message: &Message<'_>) -> Passage {
        let MessageKind::Response(Some(id), answered) = &message.kind else { return Passage::AsItCame };
        let Some(OpenRequest { kind, .. }) = self.traffic().end(id) else { return self.unasked(*answered) };
        match kind {
            OpenKind::Other | OpenKind::List(_) => Passage::AsItCame,
            OpenKind::Call(call) => self.result(call, message.raw, *answered),
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

    /// The result of a call.
    fn result(&self, call: OpenCall, raw: &str, answered: Answered<'_>) -> Passage {
        let said = heard(answered);
        self.note_words(self.done(call, said.text, Some(said.failed)));
        let words = std::mem::take(&mut *self.words.lock().unwrap_or_else(PoisonError::into_inner));
        let Answered::Result(result) = answered else { return Passage::AsItCame };
        if words.is_empty() {
            return Passage::AsItCame;
        }
        with_words(raw, result, &words.join("\n")).map_or(Passage::AsItCame, Passage::Changed)
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
            self.say_to_client(&reply::error(Some(&id), SERVER_GONE, why));
            if let OpenKind::Call(call) = kind {
                self.done(call, why.to_owned(), Some(true));
            }
        }
    }

    /// The client has closed: nothing more goes to the server.
    pub(super) fn client_gone(&self) {
        self.over.store(true, Ordering::SeqCst);
        // A server that does not read keeps a writer waiting here; its end frees both.
        if let Ok(mut server) = self.to_server.try_lock() {
            drop(server.take());
        }
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

    fn say_to_client(&self, text: &str) {
        self.send_to_client(format!("{text}\n").as_bytes());
    }

    fn send_to_client(&self, bytes: &[u8]) {
        let mut client = self.to_client.lock().unwrap_or_else(PoisonError::into_inner);
        // A client that does not read any more has closed, which its other pipe says.
        drop(client.write_all(bytes).and_then(|()| client.flush()));
    }

    fn send_to_server(&self, bytes: &[u8]) {
        let mut server = self.to_server.lock().unwrap_or_else(PoisonError::into_inner);
        // A server that does not read any more is gone, which its output says.
        if let Some(server) = server.as_mut() {
            drop(server.write_all(bytes).and_then(|()| server.flush()));
        }
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic<OpenCall>> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
