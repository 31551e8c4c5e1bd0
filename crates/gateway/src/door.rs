//! Who is asked before a client without hooks goes on: what its model calls tell is what hooks would tell.

use crate::wire::tool_calls::{WireCall, WireRequest};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tripwire_core::ledger::{AccountId, SettledCall};

/// The longest that a client is kept waiting because it goes too fast; clients give a request up after minutes.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// What a client without hooks wants to do next, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorQuestion {
    /// To ask its model, with the results of what it did.
    Request(WireRequest),
    /// To run what its model asked for.
    Reply(WireRequest, Vec<WireCall>),
    /// Nothing: this is what its model call cost, where no run hears of it as news.
    Used(WireRequest, Box<SettledCall>),
}

/// Whether it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorAnswer {
    /// It may.
    Pass,
    /// It may ask again after a while; if that is too long, it is refused for this reason.
    Wait(Duration, String),
    /// It may not, for this reason.
    Refuse(String),
}

/// A question with the way back for its answer.
#[derive(Debug)]
pub struct AskedDoor {
    /// On whose account the client calls.
    pub caller: AccountId,
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

/// The way to the guard that is asked.
#[derive(Debug, Default)]
pub(crate) struct CallDoor(Mutex<Option<Sender<AskedDoor>>>);

impl CallDoor {
    /// A door at which someone is asked.
    pub(crate) fn asking(asked: Option<Sender<AskedDoor>>) -> Self {
        Self(Mutex::new(asked))
    }

    /// Sets who is asked.
    pub(crate) fn set(&self, asked: Option<Sender<AskedDoor>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = asked;
    }

    /// Whether anybody is.
    pub(crate) fn asks(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Asks whether a client may go on, and waits as long as it has to. A guard that is gone lets nothing pass.
    pub(crate) async fn ask(&self, caller: &AccountId, question: DoorQuestion) -> DoorAnswer {
        let mut waited = Duration::ZERO;
        loop {
            match self.ask_once(caller, question.clone()).await {
                DoorAnswer::Wait(wait, _) if waited + wait <= WAIT_MAX => {
                    waited += wait;
                    sleep(wait).await;
                }
                DoorAnswer::Wait(_, reason) => return DoorAnswer::Refuse(reason),
                answer @ (DoorAnswer::Pass | DoorAnswer::Refuse(_)) => return answer,
            }
        }
    }

    /// Tells what needs no answer.
    pub(crate) fn tell(&self, caller: &AccountId, question: DoorQuestion) {
        drop(self.send(caller, question));
    }

    async fn ask_once(&self, caller: &AccountId, question: DoorQuestion) -> DoorAnswer {
        if !self.asks() {
            return DoorAnswer::Pass;
        }
        let gone = || DoorAnswer::Refuse("the guard does not answer".to_owned());
        match self.send(caller, question) {
            Some(answered) => answered.await.unwrap_or_else(|_| gone()),
            None => gone(),
        }
    }

    fn send(&self, caller: &AccountId, question: DoorQuestion) -> Option<oneshot::Receiver<DoorAnswer>> {
        let asked = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let (answer, answered) = oneshot::channel();
        asked.send(AskedDoor { caller: caller.clone(), question, answer }).ok().map(|()| answered)
    }
}
