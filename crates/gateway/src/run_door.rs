//! What the gateway of one run knows of it: who may come in, on whose account, and who hears what came of each call.

use crate::token::same;
use crate::wire::tool_calls::{WireCall, WireRequest, WireResult};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use tripwire_core::ledger::{AccountId, SettledCall};
use tripwire_core::record::chain::Digest;
use tripwire_core::units::MicroUsd;

/// Agents of a run that have accounts of their own; those beyond share one.
const AGENTS_MAX: usize = 1_000;
/// The account of requests that offer no tools: titles, summaries, and all of a client that has no tools.
const WITHOUT_TOOLS: &str = "without-tools";
/// The account of agents beyond [`AGENTS_MAX`].
const OTHERS: &str = "others";

/// Calls whose results are waited for; an agent has few of them open at once.
const FOLLOWED_MAX: usize = 4_096;

/// Something that the run has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelNews {
    /// A call was booked.
    Settled(Box<SettledCall>),
    /// A request was refused because too little is left.
    Refused {
        /// The model that it named.
        model: String,
        /// The least that it would need.
        least: MicroUsd,
    },
    /// The ledger cannot be written: nothing passes any more.
    Broken(String),
    /// A reply that came whole asks for these calls; told of clients with hooks, which announce them.
    Asked(Vec<WireCall>),
    /// Calls of such a reply have their results.
    Answered(Vec<WireResult>),
}

/// The door of one run.
#[derive(Debug)]
pub(crate) struct RunDoor {
    /// The secret first segment of every path.
    pub(crate) segment: Digest,
    /// The token that stands in the place of the provider's key.
    pub(crate) token: Digest,
    /// The session's account.
    pub(crate) account: AccountId,
    /// Who hears of it.
    pub(crate) news: Sender<ModelNews>,
    /// Calls that carried a credential of the client's own.
    pub(crate) own_credentials: AtomicU64,
    /// Calls whose results are waited for, of a client with hooks.
    pub(crate) followed: Mutex<BTreeSet<String>>,
    /// The agents whose conversations were seen.
    pub(crate) agents: Mutex<SeenAgents>,
}

/// The agents of a run, by their conversations.
#[derive(Debug, Default)]
pub(crate) struct SeenAgents {
    /// The main agent's: the first that had tools.
    main: Option<String>,
    /// Those of others.
    others: BTreeSet<String>,
}

impl SeenAgents {
    /// The name of the agent whose conversation a request goes on with.
    fn name_of(&mut self, request: &WireRequest) -> String {
        if !request.has_tools {
            return WITHOUT_TOOLS.to_owned();
        }
        let conversation = &request.conversation;
        if self.main.get_or_insert_with(|| conversation.clone()) == conversation {
            return "main".to_owned();
        }
        if self.others.len() >= AGENTS_MAX && !self.others.contains(conversation) {
            return OTHERS.to_owned();
        }
        self.others.insert(conversation.clone());
        format!("conversation-{conversation}")
    }
}

impl RunDoor {
    /// The rest of a path behind the secret segment, which is compared like a token.
    pub(crate) fn strip<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
        let rest_at = path.len() - rest.len() - 1;
        same(&Digest::of(first.as_bytes()), &self.segment).then(|| path.get(rest_at..)).flatten()
    }

    /// The account of the agent whose conversation a request goes on with, below the session's.
    pub(crate) fn agent_of(&self, request: &WireRequest) -> AccountId {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        AccountId::agent(&self.account, &agents.name_of(request))
    }

    /// Tells the run; one that is over hears nothing any more.
    pub(crate) fn tell(&self, news: ModelNews) {
        drop(self.news.send(news));
    }

    /// Tells of the calls of a reply.
    pub(crate) fn follow(&self, calls: Vec<WireCall>) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.extend(calls.iter().map(|call| call.id.clone()));
        while followed.len() > FOLLOWED_MAX {
            followed.pop_first();
        }
        drop(followed);
        self.tell(ModelNews::Asked(calls));
    }

    /// Tells of results that were waited for; a conversation repeats them in every request, and they are told once.
    pub(crate) fn follow_results(&self, request: &WireRequest) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let results: Vec<WireResult> =
            request.results.iter().filter(|result| followed.remove(&result.id)).cloned().collect();
        drop(followed);
        if !results.is_empty() {
            self.tell(ModelNews::Answered(results));
        }
    }

    /// Counts a call that went out with the client's own credential.
    pub(crate) fn count_own_credential(&self) {
        self.own_credentials.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Api;
    use crate::wire::tool_calls::read_conversation;

    fn request(prompt: &str, tools: &str) -> WireRequest {
        let body = format!(r#"{{"tools":{tools},"messages":[{{"role":"user","content":"{prompt}"}}]}}"#);
        read_conversation(Api::Anthropic, body.as_bytes(), "m").unwrap()
    }

    #[test]
    fn gate_8_agents_of_a_run_are_told_apart_by_their_conversations_and_are_bounded() {
        let mut agents = SeenAgents::default();
        assert_eq!(agents.name_of(&request("a title", "[]")), WITHOUT_TOOLS, "no agent begins with it");
        let mut name = |prompt: &str| agents.name_of(&request(prompt, "[{}]"));
        assert_eq!((name("build it"), name("build it")), ("main".to_owned(), "main".to_owned()));
        let (one, other) = (name("look here"), name("look there"));
        assert!(one.starts_with("conversation-") && one != other, "{one} {other}");
        assert_eq!(name("look here"), one);
        (0..AGENTS_MAX).for_each(|number| drop(name(&number.to_string())));
        assert_eq!((name("one more").as_str(), name("look there")), (OTHERS, other), "a known one keeps its account");
    }
}
