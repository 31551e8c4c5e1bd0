//! The door of a client without hooks: what its model calls tell becomes the same events that hooks give, for the same engine.
//!
//! A reply asks for calls, a later request carries their results. Each call is known by its id and taken in once, however
//! often a conversation repeats it.

use crate::guard::Guard;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use tripwire_clients::Client;
use tripwire_clients::hooks::{Agent, Event, HookCall, Outcome, ToolCall};
use tripwire_clients::launch::ServerTools;
use tripwire_core::units::Count;
use tripwire_gateway::wire::tool_calls::{WireCall, WireRequest, WireResult, is_by_place};
use tripwire_gateway::{AskedDoor, DoorAnswer, DoorQuestion};

/// Calls without a result that are remembered; an agent has few of them open at once.
const OPEN_MAX: usize = 4_096;

/// What is known of one worker's conversations.
#[derive(Debug)]
pub(crate) struct WireDoor {
    client: Client,
    session: String,
    cwd: PathBuf,
    /// How the model calls the tools of servers.
    server_tools: Vec<ServerTools>,
    seen: Mutex<SeenCalls>,
}

#[derive(Debug, Default)]
struct SeenCalls {
    /// The conversation of the main agent: the first that has tools.
    main: Option<String>,
    /// Calls without a result, by conversation and id.
    open: BTreeMap<(String, String), ToolCall>,
    /// Conversations that have begun.
    begun: BTreeSet<String>,
}

impl SeenCalls {
    /// The call that a result belongs to. A client may change the beginning of its conversation; an id of the API's own still
    /// names the call.
    fn take(&mut self, conversation: &str, id: &str) -> Option<ToolCall> {
        let key = (conversation.to_owned(), id.to_owned());
        let elsewhere = || self.open.keys().find(|(_, open)| open == id && !is_by_place(id)).cloned();
        let key = if self.open.contains_key(&key) { key } else { elsewhere()? };
        self.open.remove(&key)
    }
}

impl WireDoor {
    /// Listens to questions of the gateway from now on, one thread for each: a throttle of one agent keeps no other waiting.
    pub(crate) fn listen(
        guard: &Arc<Guard>,
        client: Client,
        session: &str,
        cwd: PathBuf,
        server_tools: Vec<ServerTools>,
    ) -> std::io::Result<Sender<AskedDoor>> {
        let (asked, received) = mpsc::channel::<AskedDoor>();
        let door = Arc::new(Self { client, session: session.to_owned(), cwd, server_tools, seen: Mutex::default() });
        let guard = Arc::clone(guard);
        std::thread::Builder::new().name("gateway door".to_owned()).spawn(move || {
            for asked in received {
                let (door, guard) = (Arc::clone(&door), Arc::clone(&guard));
                // Without a thread there is no answer, and the gateway lets nothing pass without one.
                drop(std::thread::Builder::new().name("gateway door".to_owned()).spawn(move || {
                    let answer = door.answer(&guard, &asked.question);
                    asked.answer(answer);
                }));
            }
        })?;
        Ok(asked)
    }

    fn answer(&self, guard: &Guard, question: &DoorQuestion) -> DoorAnswer {
        let (request, events) = match question {
            // A side question has no tools, and is no step of the agent.
            DoorQuestion::Request(request) if !request.has_tools => return DoorAnswer::Pass,
            DoorQuestion::Request(request) => (request, self.of_request(request)),
            DoorQuestion::Reply(request, calls) => (request, self.of_reply(request, calls)),
            // A run hears of it as news.
            DoorQuestion::Used(..) => return DoorAnswer::Pass,
        };
        for event in events {
            let prompt = (event == Event::Prompt).then(|| request.prompt.clone());
            let reply = guard.answer_event(self.hook_call(request, event, prompt));
            if let Some(reason) = reply.refusal() {
                if let DoorQuestion::Reply(request, calls) = question {
                    self.forget(request, calls);
                }
                return DoorAnswer::Refuse(reason);
            }
        }
        DoorAnswer::Pass
    }

    /// The results that are new, and the wish to ask the model; before all of that the prompt, if the main agent begins.
    fn of_request(&self, request: &WireRequest) -> Vec<Event> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut events = Vec::new();
        if seen.begun.insert(request.conversation.clone()) && seen.main.is_none() {
            seen.main = Some(request.conversation.clone());
            events.push(Event::Prompt);
        }
        for WireResult { id, output, failed } in &request.results {
            if let Some(tool) = seen.take(&request.conversation, id) {
                let outcome = Outcome { output: output.clone(), failed: *failed, ..Outcome::default() };
                events.push(Event::Done(tool, outcome));
            }
        }
        events.push(Event::ModelAsked { model: request.model.clone() });
        events
    }

    /// A reply that was refused did not reach the client: what it asked for is asked again when it comes again.
    fn forget(&self, request: &WireRequest, calls: &[WireCall]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for call in calls {
            seen.open.remove(&(request.conversation.clone(), call.id.clone()));
        }
    }

    fn of_reply(&self, request: &WireRequest, calls: &[WireCall]) -> Vec<Event> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut events = Vec::new();
        for WireCall { id, name, arguments } in calls {
            let tool = ToolCall {
                name: ServerTools::named(&self.server_tools, name),
                input: arguments.clone(),
                call_id: Some(id.clone()),
            };
            if seen.open.len() >= OPEN_MAX {
                seen.open.pop_first();
            }
            let before = seen.open.insert((request.conversation.clone(), id.clone()), tool.clone());
            if before.as_ref() != Some(&tool) {
                events.push(Event::Asked(tool));
            }
        }
        events
    }

    /// The event as a hook would have told it.
    fn hook_call(&self, request: &WireRequest, event: Event, prompt: Option<String>) -> HookCall {
        let main = self.seen.lock().unwrap_or_else(PoisonError::into_inner).main.clone();
        let agent = (main.as_ref() != Some(&request.conversation))
            .then(|| Agent { id: format!("conversation-{}", request.conversation), transcript: None });
        HookCall {
            client: self.client,
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            transcript: None,
            agent,
            event_name: "gateway".to_owned(),
            event,
            prompt,
            response: None,
            asks: None,
            running: Count::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_clients::hooks::Reply;

    fn said(stdout: &str) -> Option<String> {
        Reply { stdout: stdout.to_owned(), ..Reply::default() }.refusal()
    }

    #[test]
    fn an_answer_refuses_by_its_fields_and_a_text_beside_an_event_does_not() {
        assert_eq!(said(r#"{"continue":false,"stopReason":"loop"}"#).as_deref(), Some("loop"));
        assert_eq!(said(r#"{"decision":"deny","reason":"no"}"#).as_deref(), Some("no"));
        for text in ["", "{}", r#"{"hookSpecificOutput":{"additionalContext":"wrap up"}}"#] {
            assert_eq!(said(text), None, "{text}");
        }
        let broken = Reply { stderr: "the guard is broken".to_owned(), exit_code: 2, ..Reply::default() };
        assert_eq!(broken.refusal().as_deref(), Some("the guard is broken"));
    }

    fn request(conversation: &str, results: &[&str]) -> WireRequest {
        let tools = r#"{"tools":[{}],"messages":[{"role":"user","content":"CONVERSATION"}RESULTS]}"#;
        let result = |id: &&str| format!(r#",{{"role":"tool","tool_call_id":"{id}","content":"out"}}"#);
        let results: String = results.iter().map(result).collect();
        let body = tools.replace("CONVERSATION", conversation).replace("RESULTS", &results);
        let api = tripwire_gateway::wire::Api::OpenAiChat;
        tripwire_gateway::wire::tool_calls::read_conversation(api, body.as_bytes(), "m").unwrap()
    }

    fn call(id: &str) -> WireCall {
        WireCall { id: id.to_owned(), name: "bash".to_owned(), arguments: "{}".to_owned() }
    }

    #[test]
    fn each_call_and_each_result_of_a_conversation_counts_once() {
        let door = WireDoor {
            client: Client::Opencode,
            session: "s".to_owned(),
            cwd: PathBuf::new(),
            server_tools: Vec::new(),
            seen: Mutex::default(),
        };
        let events = door.of_request(&request("a", &["old"]));
        assert!(matches!(events.as_slice(), [Event::Prompt, Event::ModelAsked { .. }]), "{events:?}");
        let asks = |conversation: &str, calls: &[WireCall]| door.of_reply(&request(conversation, &[]), calls).len();
        assert_eq!(asks("a", &[call("1"), call("2")]), 2);
        assert_eq!(asks("a", &[call("1")]), 0, "a reply that comes again");
        let events = door.of_request(&request("a", &["old", "1", "2"]));
        assert!(
            matches!(events.as_slice(), [Event::Done(..), Event::Done(..), Event::ModelAsked { .. }]),
            "{events:?}"
        );
        let events = door.of_request(&request("a", &["old", "1", "2"]));
        assert!(matches!(events.as_slice(), [Event::ModelAsked { .. }]), "{events:?}");
        let events = door.of_request(&request("b", &[]));
        assert!(matches!(events.as_slice(), [Event::ModelAsked { .. }]), "a sub-agent is no person's prompt");
        assert!(door.hook_call(&request("a", &[]), Event::Other, None).agent.is_none());
        // Ids by place are those of one conversation; another call under a known id is another call; a refused one is forgotten.
        assert_eq!((asks("a", &[call("call-0")]), asks("b", &[call("call-0")])), (1, 1));
        let other = WireCall { arguments: r#"{"command":"rm"}"#.to_owned(), ..call("call-0") };
        assert_eq!((asks("a", std::slice::from_ref(&other)), asks("a", std::slice::from_ref(&other))), (1, 0));
        door.forget(&request("a", &[]), std::slice::from_ref(&other));
        assert_eq!(asks("a", &[other]), 1);
        let agent = door.hook_call(&request("b", &[]), Event::Other, None).agent;
        assert!(agent.is_some_and(|agent| agent.id.starts_with("conversation-")));
    }
}
