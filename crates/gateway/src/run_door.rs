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
}

impl RunDoor {
    /// The rest of a path behind the secret segment, which is compared like a token.
    pub(crate) fn strip<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
        let rest_at = path.len() - rest.len() - 1;
        same(&Digest::of(first.as_bytes()), &self.segment).then(|| path.get(rest_at..)).flatten()
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
