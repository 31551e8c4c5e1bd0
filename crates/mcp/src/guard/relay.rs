//! The relay of a pipe: each line is passed on as it came, answered here, or held with a thread of its own.

use super::calls::AskedCall;
use super::conversation::{Conversation, Decided, FirstLook};
use super::held::HeldPlace;
use super::lines::body;
use super::question::{DoorReply, WaitFor};
use super::tool_gate::Passage;
use super::wires::{Sent, Wire, Wires};
use crate::wire::message::{self, CLIENT_DEPTH_MAX, Incoming, Message};
use crate::wire::reply;
use crate::wire::strict::Carrier;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How long the messages behind a call wait for the answer about it, where that may take as long as a person does.
const IN_ORDER_WITHIN: Duration = Duration::from_millis(500);

/// The way between one client and one server.
pub(super) struct Relay {
    conversation: Conversation,
    wires: Wires,
}

/// Whether a message of the client goes on now, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    NotNow,
}

/// A call with the message that makes it.
struct WaitingCall {
    call: AskedCall,
    raw: String,
}

impl Relay {
    pub(super) fn new(conversation: Conversation, wires: Wires) -> Self {
        Self { conversation, wires }
    }

    /// A line of the client.
    pub(super) fn take_from_client(self: &Arc<Self>, line: &[u8]) {
        self.pass_from_client(line);
        self.conversation.gate.door.write_down();
    }

    fn pass_from_client(self: &Arc<Self>, line: &[u8]) {
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
                if self.to_server(&message) == Goes::On {
                    self.send_to_server(line);
                }
            }
            Incoming::Batch(messages) => {
                let goes_on = |message: &&Message<'_>| self.to_server(message) == Goes::On;
                let kept: Vec<&str> = messages.iter().filter(goes_on).map(|message| message.raw).collect();
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

    fn to_server(self: &Arc<Self>, message: &Message<'_>) -> Goes {
        match self.conversation.look(message) {
            FirstLook::Passes => Goes::On,
            FirstLook::Kept => Goes::NotNow,
            FirstLook::Answered(answer) => {
                self.say_to_client(&answer);
                Goes::NotNow
            }
            FirstLook::Asks(call) => self.call(call, message.raw),
        }
    }

    /// A tool is to be called: the engine says whether.
    fn call(self: &Arc<Self>, call: AskedCall, raw: &str) -> Goes {
        if self.conversation.gate.door.blocks() {
            self.ask_aside(WaitingCall { call, raw: raw.to_owned() });
            return Goes::NotNow;
        }
        let reply = self.conversation.ask(&call);
        match self.conversation.decided(&call, reply) {
            Decided::Runs => Goes::On,
            Decided::Answered(answer) => {
                self.answer(answer);
                Goes::NotNow
            }
            Decided::Waits(wait) => {
                self.hold(WaitingCall { call, raw: raw.to_owned() }, wait);
                Goes::NotNow
            }
        }
    }

    /// Asks where the answer may take long: messages behind it wait a moment, so that order is kept where nothing waits.
    fn ask_aside(self: &Arc<Self>, waiting: WaitingCall) {
        let Some(place) = self.enter(&waiting.call) else { return };
        let waits_already = self.conversation.others_wait(&place);
        let (answered, answer) = mpsc::channel::<()>();
        let relay = Arc::clone(self);
        let started = self.thread(move || {
            let reply = relay.conversation.ask(&waiting.call);
            relay.settle(&waiting, &place, Some(reply));
            drop(answered);
        });
        if started && !waits_already {
            // Whatever it is, the thread has dealt with it by then, or goes on without us.
            answer.recv_timeout(IN_ORDER_WITHIN).ok();
        }
    }

    /// Holds a call, with nothing else waiting for it.
    fn hold(self: &Arc<Self>, waiting: WaitingCall, wait: WaitFor) {
        let Some(place) = self.enter(&waiting.call) else { return };
        let relay = Arc::clone(self);
        self.thread(move || {
            let reply = relay.conversation.wait_out(&waiting.call, wait, &|| place.is_given_up());
            relay.settle(&waiting, &place, reply);
        });
    }

    fn enter(&self, call: &AskedCall) -> Option<HeldPlace> {
        self.conversation.enter(call).map_err(|answer| self.answer(answer)).ok()
    }

    /// A call that waited is answered, or given up.
    fn settle(&self, waiting: &WaitingCall, place: &HeldPlace, reply: Option<DoorReply>) {
        match self.conversation.settle(&waiting.call, place, reply) {
            Decided::Runs => self.send_to_server(format!("{}\n", waiting.raw).as_bytes()),
            Decided::Answered(answer) => self.answer(answer),
            // Settled calls wait no more.
            Decided::Waits(_) => {}
        }
        self.conversation.gate.door.write_down();
    }

    fn answer(&self, answer: Option<String>) {
        if let Some(answer) = answer {
            self.say_to_client(&answer);
        }
    }

    /// A line of the server.
    pub(super) fn take_from_server(&self, line: &[u8]) {
        let message = body(line);
        match self.conversation.take_from_server(message, Carrier::Line) {
            Passage::AsItCame => self.send_to_client(line),
            Passage::Changed(text) => self.say_to_client(&text),
            Passage::Kept => {}
        }
        self.conversation.gate.door.write_down();
    }

    /// A line of the server that is longer than any message may be.
    pub(super) fn too_long_from_server(&self, beginning: &[u8]) {
        self.answer(self.conversation.refuse_from_server(beginning, "it is larger than 64 MiB"));
        self.conversation.gate.door.write_down();
    }

    /// The server is gone: each client that waits for it gets an error.
    pub(super) fn server_gone(&self, why: &str) {
        for error in self.conversation.server_gone(why) {
            self.say_to_client(&error);
        }
        self.conversation.gate.door.write_down();
    }

    /// The client has closed: nothing more goes to the server.
    pub(super) fn client_closed(&self) {
        self.conversation.end();
        self.wires.close_server();
    }

    /// Both sides are gone: what is open has no result, and everything is on the disk.
    pub(super) fn end(&self) {
        self.conversation.client_gone();
        self.conversation.gate.door.close();
    }

    /// Says a message of our own.
    fn say_to_client(&self, text: &str) {
        self.send_to_client(format!("{text}\n").as_bytes());
    }

    fn send_to_client(&self, bytes: &[u8]) {
        self.send(&self.wires.client, bytes);
    }

    fn send_to_server(&self, bytes: &[u8]) {
        self.send(&self.wires.server, bytes);
    }

    /// Passes bytes on. Nobody else of the session waits for a side that does not read: what the last call left is written down
    /// afterwards only where the pipe takes the bytes at once.
    fn send(&self, wire: &Wire, bytes: &[u8]) {
        if wire.send_at_once(bytes) == Sent::No {
            self.conversation.gate.door.write_down();
            wire.send(bytes);
        }
    }

    fn thread(&self, work: impl FnOnce() + Send + 'static) -> bool {
        let started = std::thread::Builder::new().name("held call".to_owned()).spawn(work);
        if started.is_err() {
            // The call stays open and its client gives it up by itself; it never reaches the server.
            self.conversation.gate.note("no thread could be started for a call that has to wait");
        }
        started.is_ok()
    }
}
