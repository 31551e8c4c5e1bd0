//! What every connection shares.

use crate::backoff::Backoffs;
use crate::books::Books;
use crate::buffered::BufferPool;
use crate::config::{Config, ToolCalls};
use crate::door::CallDoor;
use crate::orders::Orders;
use crate::outbound::Outbound;
use crate::own_names::OwnNames;
use crate::run_door::{ModelNews, RunDoor};
use crate::upstream::Upstreams;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::sync::watch;
use tripwire_core::prices::PriceList;
use tripwire_session::shared_money::SharedMoney;

/// Everything that requests need.
pub(crate) struct Shared {
    pub(crate) config: RwLock<Arc<Config>>,
    pub(crate) upstreams: Upstreams,
    /// What tokens cost.
    pub(crate) prices: PriceList,
    /// Providers that are asked last for a while.
    pub(crate) backoffs: Backoffs,
    pub(crate) orders: Orders,
    pub(crate) metrics: Metrics,
    pub(crate) connections: AtomicUsize,
    /// Whether new requests are still served.
    pub(crate) phase: watch::Sender<Phase>,
    /// Bytes of requests that are held.
    pub(crate) buffered: BufferPool,
    pub(crate) connections_max: usize,
    /// Where it listens, and so who may call without a token.
    pub(crate) bind: Bind,
    /// The one session that it serves, where a run has the gateway for itself.
    pub(crate) run: Option<RunDoor>,
    /// Who is asked about clients without hooks.
    pub(crate) door: CallDoor,
    /// What must not be told to a provider.
    pub(crate) outbound: Outbound,
    /// The ledger; see [`Self::books`].
    pub(crate) ledger: Mutex<Books>,
    /// Budgets that other machines spend too.
    pub(crate) money: Option<Arc<dyn SharedMoney>>,
    /// Who hears what a person should know.
    pub(crate) talk: Talk,
}

/// Someone at a terminal.
pub type Talk = Box<dyn Fn(&str) + Send + Sync>;

/// Where the gateway listens.
#[derive(Debug)]
pub(crate) enum Bind {
    /// On this machine only, under these names.
    Loopback(OwnNames),
    /// On this machine, behind a path that only one run knows.
    OneRun,
    /// Where others reach it.
    Open,
}

/// How far the life of a gateway has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It serves.
    Serving,
    /// It was told to end: what is under way may finish, and nothing new begins.
    Draining,
}

/// Figures for `/metrics`.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) requests: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) unpriced: AtomicU64,
    pub(crate) calls: AtomicU64,
    pub(crate) micro_usd: AtomicU64,
    pub(crate) tokens: AtomicU64,
    pub(crate) streams: AtomicUsize,
}

impl Shared {
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.phase.borrow() == Phase::Draining
    }

    /// Whether the steps of clients are asked about here.
    pub(crate) fn asks(&self) -> bool {
        self.config().tool_calls == ToolCalls::Guard && self.door.asks()
    }

    /// Tells the run that it serves, if it serves one.
    pub(crate) fn tell(&self, news: impl FnOnce() -> ModelNews) {
        if let Some(run) = &self.run {
            run.tell(news());
        }
    }

    /// Tells the person at the terminal.
    pub(crate) fn say(&self, text: &str) {
        (self.talk)(text);
    }
}
