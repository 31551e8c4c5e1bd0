//! What the gateway of one run knows of it: who may come in, on whose account, and who hears what came of each call.

use crate::token::same;
use crate::wire::tool_calls::{WireCall, WireRequest};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;
use tripwire_core::ledger::{AccountId, SettledCall};
use tripwire_core::record::chain::Digest;
use tripwire_core::units::MicroUsd;

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
}

/// What a client without hooks wants to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorQuestion {
    /// To ask its model, with the results of what it did.
    Request(WireRequest),
    /// To run what its model asked for.
    Reply(WireRequest, Vec<WireCall>),
}

/// Whether it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorAnswer {
    /// It may.
    Pass,
    /// It may not, for this reason.
    Refuse(String),
}

/// A question with the way back for its answer.
#[derive(Debug)]
pub struct AskedDoor {
    /// The question.
    pub question: DoorQuestion,
    answer: oneshot::Sender<DoorAnswer>,
}

impl AskedDoor {
    /// Answers it; nobody may be waiting any more.
    pub fn answer(self, answer: DoorAnswer) {
        drop(self.answer.send(answer));
    }
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
    /// Who is asked before a client without hooks goes on.
    pub(crate) asked: Mutex<Option<Sender<AskedDoor>>>,
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

    /// Whether the client's steps are asked about here.
    pub(crate) fn asks(&self) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Asks whether a client without hooks may go on. A guard that is gone lets nothing pass.
    pub(crate) async fn ask(&self, question: DoorQuestion) -> DoorAnswer {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(asked) = asked else { return DoorAnswer::Pass };
        let gone = || DoorAnswer::Refuse("the guard of this run does not answer".to_owned());
        let (answer, answered) = oneshot::channel();
        if asked.send(AskedDoor { question, answer }).is_err() {
            return gone();
        }
        answered.await.unwrap_or_else(|_| gone())
    }

    /// Counts a call that went out with the client's own credential.
    pub(crate) fn count_own_credential(&self) {
        self.own_credentials.fetch_add(1, Ordering::Relaxed);
    }
}
