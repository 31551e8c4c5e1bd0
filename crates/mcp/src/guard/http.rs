//! The guard of a server that is reached over HTTP: the gateway carries the messages, and asks here about each of them.

use super::calls::AskedCall;
use super::conversation::{Conversation, Decided, FirstLook, Resumption};
use super::door::Door;
use super::held::HELD_MAX;
use super::pin_store::PinStore;
use super::server_name::ServerName;
use super::tool_gate::{GateParts, Passage, ToolGate};
use crate::wire::message::{self, CLIENT_DEPTH_MAX, Incoming, Message, MessageKind};
use crate::wire::reply;
use crate::wire::strict::Carrier;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tripwire_core::record::chain::Digest;
use tripwire_gateway::tool_server::{
    self, AskedKey, ClientPresence, Posted, PostedForm, Said, ToolConversation, ToolMessages, ToolServerError,
    ToolServerOptions, ToolServerUrl,
};
use tripwire_supervisor::Notifier;

/// Sessions of the protocol that are known at the same time; the one that was not used for longest makes room.
const SESSIONS_MAX: usize = 1_024;

/// A server that is to be guarded, by its address.
pub struct HttpGuardOptions {
    /// Its name.
    pub name: ServerName,
    /// Its address.
    pub url: ToolServerUrl,
    /// Where clients reach us.
    pub listen: SocketAddr,
    /// The token that they have to present.
    pub token: Option<Digest>,
    /// Origins that may ask beside our own.
    pub origins: Vec<String>,
    /// The value of a variable of the environment.
    pub env: fn(&str) -> Option<String>,
    /// Who is asked about its calls.
    pub door: Door,
    /// Where pins are kept.
    pub pins: PinStore,
}

/// Stands between clients and a server over HTTP until a signal ends it. `ready` hears the address once it listens.
///
/// # Errors
/// When it cannot begin.
pub fn serve_http(
    options: HttpGuardOptions,
    notifier: Arc<dyn Notifier>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ToolServerError> {
    let HttpGuardOptions { name, url, listen, token, origins, env, door, pins } = options;
    // A pin belongs to a name with its address; a query may hold a key, which is not kept.
    let whose = [OsString::from(url.shown())];
    let gate = Arc::new(ToolGate::new(GateParts { name, whose: &whose, door, pins, notifier }));
    let messages = Arc::new(HttpConversations { gate, sessions: Mutex::default() });
    let options = ToolServerOptions { listen, url, token, origins, env, waiting_max: HELD_MAX };
    tool_server::serve(options, messages, ready)
}

/// All clients of one server.
struct HttpConversations {
    gate: Arc<ToolGate>,
    sessions: Mutex<KnownSessions>,
}

/// The sessions of the protocol, each with the count at which it was used last.
#[derive(Default)]
struct KnownSessions {
    by_name: BTreeMap<String, (u64, Arc<HttpClient>)>,
    uses: u64,
}

impl KnownSessions {
    fn of(&mut self, name: &str, gate: &Arc<ToolGate>) -> Arc<HttpClient> {
        self.uses += 1;
        if let Some((used, known)) = self.by_name.get_mut(name) {
            *used = self.uses;
            return Arc::clone(known);
        }
        if self.by_name.len() >= SESSIONS_MAX {
            let oldest = self.by_name.iter().min_by_key(|(_, (used, _))| *used).map(|(name, _)| name.clone());
            drop(oldest.and_then(|oldest| self.by_name.remove(&oldest)));
        }
        let new = Arc::new(HttpClient(Conversation::new(Arc::clone(gate), Resumption::Possible)));
        self.by_name.insert(name.to_owned(), (self.uses, Arc::clone(&new)));
        new
    }
}

impl HttpConversations {
    fn sessions(&self) -> MutexGuard<'_, KnownSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolMessages for HttpConversations {
    fn conversation(&self, session: Option<&str>) -> Arc<dyn ToolConversation> {
        match session {
            Some(name) => self.sessions().of(name, &self.gate),
            // Nobody can tell the ids of two clients without sessions apart: each request is one of its own.
            None => Arc::new(HttpClient(Conversation::new(Arc::clone(&self.gate), Resumption::Never))),
        }
    }

    fn ended(&self, session: &str) {
        let ended = self.sessions().by_name.remove(session);
        if let Some((_, conversation)) = ended {
            drop(conversation.0.server_gone("the session was ended"));
            self.gate.door.write_down();
        }
    }

    fn note(&self, text: &str) {
        self.gate.note(text);
    }

    fn close(&self) {
        let all = std::mem::take(&mut self.sessions().by_name);
        for (_, conversation) in all.into_values() {
            conversation.0.client_gone();
        }
        self.gate.door.close();
    }
}

/// One client over HTTP.
struct HttpClient(Conversation);

/// What becomes of one message of a client.
enum Went {
    On,
    Answered(Option<String>),
}

impl HttpClient {
    /// Decides about a message, for as long as that takes.
    fn sent(&self, message: &Message<'_>, client: &ClientPresence) -> Went {
        let went = match self.0.look(message) {
            FirstLook::Passes => Went::On,
            FirstLook::Kept => Went::Answered(None),
            FirstLook::Answered(answer) => Went::Answered(Some(answer)),
            FirstLook::Asks(call) => match self.call_through(&call, client) {
                Decided::Runs => Went::On,
                Decided::Answered(answer) => Went::Answered(answer),
                Decided::Waits(_) => Went::Answered(None),
            },
        };
        self.0.gate.door.write_down();
        went
    }

    fn call_through(&self, call: &AskedCall, client: &ClientPresence) -> Decided {
        let blocks = self.0.gate.door.blocks();
        let first = if blocks { None } else { Some(self.0.ask(call)) };
        let wait = match first.map(|reply| self.0.decided(call, reply)) {
            Some(Decided::Waits(wait)) => Some(wait),
            Some(decided @ (Decided::Runs | Decided::Answered(_))) => return decided,
            None => None,
        };
        let place = match self.0.enter(call) {
            Ok(place) => place,
            Err(answer) => return Decided::Answered(answer),
        };
        let gives_up = || place.is_given_up() || client.has_left();
        let reply = match wait {
            Some(wait) => self.0.wait_out(call, wait, &gives_up),
            None => Some(self.0.ask(call)),
        };
        let reply = reply.filter(|_| !client.has_left());
        self.0.settle(call, &place, reply)
    }
}

impl ToolConversation for HttpClient {
    fn posted(&self, body: &[u8], client: &ClientPresence) -> Posted {
        let messages = match message::read_body(body, CLIENT_DEPTH_MAX) {
            Ok(Incoming::Blank) => {
                return Posted::Unreadable(reply::error(None, -32_600, "the request has no message"));
            }
            Ok(Incoming::One(message)) => {
                let asked = key_of(&message).into_iter().collect();
                return match self.sent(&message, client) {
                    Went::On => Posted::Passes { changed: None, own: Vec::new(), asked, form: PostedForm::One },
                    Went::Answered(own) => Posted::Answered { own: own.into_iter().collect(), form: PostedForm::One },
                };
            }
            Ok(Incoming::Batch(messages)) => messages,
            Err(fault) => {
                let why = format!("{fault}; it did not reach the server; send one plain JSON-RPC message");
                let id = message::id_of_refused(body);
                let error = reply::error(id.as_ref(), fault.code(), &why);
                return match id {
                    Some(_) => Posted::Answered { own: vec![error], form: PostedForm::One },
                    None => Posted::Unreadable(error),
                };
            }
        };
        let (mut kept, mut own, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for message in &messages {
            match self.sent(message, client) {
                Went::On => {
                    kept.push(message.raw);
                    asked.extend(key_of(message));
                }
                Went::Answered(answer) => own.extend(answer),
            }
        }
        let form = PostedForm::Batch;
        if kept.is_empty() {
            return Posted::Answered { own, form };
        }
        let changed = (kept.len() < messages.len()).then(|| reply::batch(&kept));
        Posted::Passes { changed, own, asked, form }
    }

    fn said(&self, message: &[u8]) -> Said {
        let passage = self.0.take_from_server(message, Carrier::Body);
        self.0.gate.door.write_down();
        match passage {
            Passage::AsItCame => Said::AsItCame,
            Passage::Changed(text) => Said::Changed(text),
            Passage::Kept => Said::Nothing,
        }
    }

    fn unanswered(&self, asked: &[AskedKey], why: &str) -> Vec<String> {
        let keys: Vec<String> = asked.iter().map(|AskedKey(key)| key.clone()).collect();
        let answers = self.0.unanswered(&keys, why);
        self.0.gate.door.write_down();
        answers
    }
}

/// What names a request, where a message is one.
fn key_of(message: &Message<'_>) -> Option<AskedKey> {
    let id = match &message.kind {
        MessageKind::Call(id, _) | MessageKind::List { id, .. } => id.as_ref(),
        MessageKind::Request(id) | MessageKind::TaskResult { id, .. } => Some(id),
        MessageKind::Cancelled(_) | MessageKind::Notification | MessageKind::Response(..) => None,
    };
    id.map(|id| AskedKey(id.key().to_owned()))
}
