//! The sessions of a gateway's callers: each conversation that may call tools is a session of the workspace, as if its program
//! asked before each call.
//!
//! A reply asks for calls, a later request carries their results. Each is taken in once, however often a conversation repeats it.

use crate::print;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tripwire_core::ledger::{AccountId, SettledCall};
use tripwire_embed::{
    Admission, CallId, CallQuestion, CallResult, EmbedError, GuardedSession, NoResult, SessionOptions, Stop, UsageTold,
};
use tripwire_gateway::wire::tool_calls::{WireCall, WireRequest, is_by_place};
use tripwire_gateway::{AskedDoor, DoorAnswer, DoorQuestion};
use tripwire_session::replica::Replica;

/// Threads that answer: a question takes as long as one synced append.
const THREADS: usize = 4;
/// Conversations that are open at once; the one that was quiet longest is closed for a new one.
const OPEN_MAX: usize = 256;

/// Ids of calls by which a conversation is found: those of its last replies.
const IDS_MAX: usize = 64;

/// A conversation, by who holds it and how it began.
type ConversationKey = (AccountId, String);

/// A conversation that is open.
type Found = (ConversationKey, Arc<Mutex<Conversation>>);

/// Everything that is open.
#[derive(Default)]
struct OpenConversations {
    open: BTreeMap<ConversationKey, (u64, Arc<Mutex<Conversation>>)>,
    /// Which conversation a call belongs to: a client may send only what is new, or change the beginning.
    by_call: BTreeMap<(AccountId, String), ConversationKey>,
    turn: u64,
}

struct Conversation {
    session: GuardedSession,
    /// Calls without a result, by the id of the API.
    calls: BTreeMap<String, (WireCall, CallId)>,
    /// The newest ids by which it is found.
    ids: VecDeque<String>,
}

/// The sessions, answering.
pub(super) struct CallerSessions {
    shared: Arc<SharedSessions>,
    threads: Vec<JoinHandle<()>>,
}

struct SharedSessions {
    workspace: PathBuf,
    replica: Option<Arc<dyn Replica>>,
    conversations: Mutex<OpenConversations>,
}

impl CallerSessions {
    /// Begins to answer, and gives the way to ask; it ends when nobody can ask any more.
    pub(super) fn listen(
        workspace: PathBuf,
        replica: Option<Arc<dyn Replica>>,
    ) -> io::Result<(Self, Sender<AskedDoor>)> {
        let (asked, received) = mpsc::channel();
        let received = Arc::new(Mutex::new(received));
        let shared = Arc::new(SharedSessions { workspace, replica, conversations: Mutex::default() });
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let (shared, received) = (Arc::clone(&shared), Arc::clone(&received));
            let builder = std::thread::Builder::new().name("gateway sessions".to_owned());
            threads.push(builder.spawn(move || shared.answer_all(&received))?);
        }
        Ok((Self { shared, threads }, asked))
    }

    /// Closes every session, once the gateway is over.
    pub(super) fn finish(self) {
        for thread in self.threads {
            // It answers no longer, whether it ended well or not.
            drop(thread.join());
        }
        let open = std::mem::take(&mut self.shared.lock().open);
        for (_, conversation) in open.into_values() {
            close(&conversation);
        }
    }
}

impl SharedSessions {
    fn lock(&self) -> std::sync::MutexGuard<'_, OpenConversations> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_all(&self, received: &Mutex<Receiver<AskedDoor>>) {
        loop {
            let next = received.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(asked) = next else { return };
            let answer = self.answer(&asked.caller, &asked.question).unwrap_or_else(|error| {
                print::say(&format!("error: the guard cannot decide about {}: {error}", asked.caller));
                DoorAnswer::Refuse(format!("the guard cannot decide: {error}"))
            });
            asked.answer(answer);
        }
    }

    fn answer(&self, caller: &AccountId, question: &DoorQuestion) -> Result<DoorAnswer, EmbedError> {
        match question {
            DoorQuestion::Request(request) => match self.find(caller, request) {
                // A side question has no tools, and is no step of an agent.
                None if !request.has_tools => Ok(DoorAnswer::Pass),
                found => {
                    let (_, conversation) = self.found_or_begun(found, caller, request)?;
                    Self::results(&conversation, request)
                }
            },
            DoorQuestion::Reply(request, calls) => {
                let (key, conversation) = self.found_or_begun(self.find(caller, request), caller, request)?;
                self.calls(&key, &conversation, calls)
            }
            DoorQuestion::Used(request, call) => {
                if let Some((_, conversation)) = self.find(caller, request) {
                    used(&conversation, call)?;
                }
                Ok(DoorAnswer::Pass)
            }
        }
    }

    fn found_or_begun(
        &self,
        found: Option<Found>,
        caller: &AccountId,
        request: &WireRequest,
    ) -> Result<Found, EmbedError> {
        found.map_or_else(|| self.begin(caller, request), Ok)
    }

    /// The conversation that a request goes on with.
    fn find(&self, caller: &AccountId, request: &WireRequest) -> Option<Found> {
        let mut all = self.lock();
        all.turn += 1;
        let turn = all.turn;
        let ids = request.results.iter().rev().map(|result| &result.id).filter(|id| !is_by_place(id));
        let by_call = ids.filter_map(|id| all.by_call.get(&(caller.clone(), id.clone()))).next().cloned();
        let key = by_call.unwrap_or_else(|| own_key(caller, request));
        let (last, conversation) = all.open.get_mut(&key)?;
        *last = turn;
        Some((key, Arc::clone(conversation)))
    }

    /// A session for a new conversation.
    fn begin(&self, caller: &AccountId, request: &WireRequest) -> Result<Found, EmbedError> {
        let options = SessionOptions { workspace: Some(self.workspace.clone()), ..SessionOptions::default() };
        let mut session = GuardedSession::begin(&options)?;
        for note in session.notes() {
            print::say(&format!("note: {note}"));
        }
        print::say(&format!("{caller}: session {} for the conversation {}", session.id(), request.conversation));
        // The gateway tells of every model call, and perhaps after the results of the tools that the call asked for.
        let session = session.with_told_usage().telling(Box::new(crate::notify::notify));
        let session = session.replicated_by(self.replica.clone());
        let conversation = Arc::new(Mutex::new(Conversation { session, calls: BTreeMap::new(), ids: VecDeque::new() }));
        let key = own_key(caller, request);
        let mut all = self.lock();
        let turn = all.turn;
        let quiet = (all.open.len() >= OPEN_MAX)
            .then(|| all.open.iter().min_by_key(|(_, (last, _))| *last).map(|(key, _)| key.clone()))
            .flatten();
        let closed = quiet.and_then(|quiet| {
            all.by_call.retain(|_, key| *key != quiet);
            all.open.remove(&quiet)
        });
        all.open.insert(key.clone(), (turn, Arc::clone(&conversation)));
        drop(all);
        if let Some((_, closed)) = closed {
            close(&closed);
        }
        Ok((key, conversation))
    }

    /// Takes in the results that are new; then the session may be held.
    fn results(conversation: &Mutex<Conversation>, request: &WireRequest) -> Result<DoorAnswer, EmbedError> {
        let mut guarded = conversation.lock().unwrap_or_else(PoisonError::into_inner);
        for result in &request.results {
            let Some((_, call)) = guarded.calls.remove(&result.id) else { continue };
            let output = result.output.clone();
            let answer =
                guarded.session.after(&call, &CallResult { output, error: result.failed, ..Default::default() })?;
            if let Some(stop) = answer.stop {
                return Ok(refusal(&stop));
            }
        }
        Ok(match guarded.session.status()?.held {
            Some(held) => DoorAnswer::Refuse(format!("{held}; see `tripwire why --session {}`", guarded.session.id())),
            None => DoorAnswer::Pass,
        })
    }

    /// Asks about the calls of a reply. One that may not run keeps the whole reply from the client.
    fn calls(
        &self,
        key: &ConversationKey,
        conversation: &Mutex<Conversation>,
        calls: &[WireCall],
    ) -> Result<DoorAnswer, EmbedError> {
        let mut guarded = conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = calls.first().map(|call| call.id.clone());
        for call in calls {
            // A reply that comes again asks for nothing new.
            if guarded.calls.get(&call.id).is_some_and(|(known, _)| known == call) {
                continue;
            }
            let question =
                CallQuestion { tool: &call.name, arguments: &call.arguments, agent: None, turn: turn.as_deref() };
            match guarded.session.before(&question)? {
                Admission::Allowed { call: id, .. } => {
                    if let Some((_, before)) = guarded.calls.insert(call.id.clone(), (call.clone(), id)) {
                        guarded.session.no_result(&before, NoResult::Abandoned)?;
                    }
                    self.remember(key, &mut guarded, &call.id);
                }
                Admission::Stopped(stop) => {
                    let answer = refusal(&stop);
                    if matches!(answer, DoorAnswer::Refuse(_)) {
                        give_up(&mut guarded, calls)?;
                    }
                    return Ok(answer);
                }
            }
        }
        Ok(DoorAnswer::Pass)
    }

    /// Has the conversation found by this call from now on.
    fn remember(&self, key: &ConversationKey, guarded: &mut Conversation, id: &str) {
        guarded.ids.push_back(id.to_owned());
        let mut all = self.lock();
        all.by_call.insert((key.0.clone(), id.to_owned()), key.clone());
        if guarded.ids.len() > IDS_MAX
            && let Some(oldest) = guarded.ids.pop_front()
        {
            all.by_call.remove(&(key.0.clone(), oldest));
        }
    }
}

/// The key of a conversation by its beginning; one without any is only found by its calls.
fn own_key(caller: &AccountId, request: &WireRequest) -> ConversationKey {
    let beginning = match request.results.last() {
        Some(result) if request.prompt.is_empty() => format!("{}-{}", request.conversation, result.id),
        Some(_) | None => request.conversation.clone(),
    };
    (caller.clone(), beginning)
}

/// Calls of a reply that did not reach the client will have no result.
fn give_up(guarded: &mut Conversation, calls: &[WireCall]) -> Result<(), EmbedError> {
    for call in calls {
        if let Some((_, open)) = guarded.calls.remove(&call.id) {
            guarded.session.no_result(&open, NoResult::Abandoned)?;
        }
    }
    Ok(())
}

/// What the client is told. Going too fast is cured by waiting.
fn refusal(stop: &Stop) -> DoorAnswer {
    match stop.retry_after_ms {
        Some(wait) => DoorAnswer::Wait(Duration::from_millis(wait), stop.message.clone()),
        None => DoorAnswer::Refuse(stop.message.clone()),
    }
}

/// What a model call used, for the session's own limits.
fn used(conversation: &Mutex<Conversation>, call: &SettledCall) -> Result<(), EmbedError> {
    let mut guarded = conversation.lock().unwrap_or_else(PoisonError::into_inner);
    let told = UsageTold {
        model: call.model.to_string(),
        tokens: call.usage,
        context: Some(call.usage.context()),
        agent: None,
    };
    guarded.session.usage(&told).map(drop)
}

fn close(conversation: &Mutex<Conversation>) {
    let mut guarded = conversation.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = guarded.session.close(NoResult::ProgramGone) {
        print::say(&format!("error: session {} cannot be closed: {error}", guarded.session.id()));
    }
}
