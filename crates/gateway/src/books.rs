//! The ledger in memory and on disk, and each key's last minute: what all requests share under one lock.

use crate::admission::WorstCase;
use crate::config::{Config, Key};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tripwire_core::label::Label;
use tripwire_core::ledger::{
    AccountId, AccountKind, AccountSettings, Ledger, LedgerRecord, ReservationId, ReserveError, SettledCall,
};
use tripwire_core::units::MicroUsd;
use tripwire_session::driver::DriverError;
use tripwire_session::ledger::LedgerBook;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;

/// The account of callers without a token of their own.
pub(crate) const LOCAL: &str = "local";

/// The note of a configuration that was read again.
pub(crate) const RELOAD: &str = "RELOAD";

/// The ledger and everything that is kept with it.
#[derive(Debug)]
pub(crate) struct Books {
    ledger: Ledger,
    book: LedgerBook,
    minutes: BTreeMap<String, Minute>,
    /// Why the journal can no longer be written; then nothing passes.
    pub(crate) broken: Option<String>,
}

/// What a key did in the last minute.
#[derive(Debug, Default)]
struct Minute {
    calls: VecDeque<(u64, u64)>,
}

const MINUTE_MS: u64 = 60_000;
/// Calls of a minute that are remembered one by one.
const CALLS_MAX: usize = 100_000;

impl Minute {
    /// How long to wait until another call fits; nothing if it fits now.
    fn wait(&mut self, key: &Key, now_ms: u64) -> Option<Duration> {
        while self.calls.front().is_some_and(|(at, _)| at + MINUTE_MS <= now_ms) {
            self.calls.pop_front();
        }
        let until = |at: u64| Duration::from_millis((at + MINUTE_MS).saturating_sub(now_ms).max(1));
        let count = self.calls.len() as u64;
        if key.requests_per_minute.is_some_and(|most| count >= most) || self.calls.len() >= CALLS_MAX {
            return Some(self.calls.front().map_or(Duration::from_secs(60), |(at, _)| until(*at)));
        }
        let tokens: u64 = self.calls.iter().map(|(_, tokens)| tokens).sum();
        if key.tokens_per_minute.is_some_and(|most| tokens >= most) {
            return Some(self.calls.front().map_or(Duration::from_secs(60), |(at, _)| until(*at)));
        }
        None
    }
}

impl Books {
    /// Opens the ledger of a workspace and books again what earlier processes settled.
    pub(crate) fn open(layout: &Layout, config: &Config) -> Result<Self, DriverError> {
        let book = LedgerBook::open(layout)?;
        let mut ledger = Ledger::default();
        ledger.configure(accounts(config));
        book.each(|line| match line.record {
            LedgerRecord::Settled(call) => ledger.restore(&call),
            // A person had looked at what was closed before.
            LedgerRecord::Noted { kind, .. } if kind.as_str() == RELOAD => ledger.configure(accounts(config)),
            LedgerRecord::Noted { .. } | LedgerRecord::Refused { .. } => {}
        })?;
        Ok(Self { ledger, book, minutes: BTreeMap::new(), broken: None })
    }

    /// Opens the ledger of a workspace for one session, which nobody has booked on before.
    pub(crate) fn of_session(layout: &Layout, config: &Config) -> Result<Self, DriverError> {
        let mut ledger = Ledger::default();
        ledger.configure(config.accounts.iter().cloned());
        Ok(Self { ledger, book: LedgerBook::open(layout)?, minutes: BTreeMap::new(), broken: None })
    }

    /// Takes over a new configuration.
    pub(crate) fn configure(&mut self, config: &Config) {
        self.ledger.configure(accounts(config));
    }

    /// Sets one account, such as that of a session whose budget was raised.
    pub(crate) fn set(&mut self, account: AccountId, settings: AccountSettings) {
        self.ledger.set(account, settings);
    }

    /// What is left for an account.
    pub(crate) fn left(&mut self, account: &AccountId) -> Result<Option<MicroUsd>, ReserveError> {
        self.ledger.left(account, clock::now().date())
    }

    /// Reserves a worst case.
    pub(crate) fn reserve(&mut self, account: &AccountId, worst: &WorstCase) -> Result<ReservationId, ReserveError> {
        self.ledger.reserve(account, worst.amount, clock::now().date())
    }

    /// Frees a reservation whose request never left or was refused.
    pub(crate) fn release(&mut self, id: ReservationId) {
        self.ledger.release(id);
    }

    /// Books a call and writes it down; the record gets its path and its excess here.
    pub(crate) fn settle(&mut self, id: ReservationId, mut call: SettledCall, took: Duration) -> Option<SettledCall> {
        let settled = self.ledger.settle(id, call.micro_usd, clock::now().date())?;
        call.path = settled.path;
        call.excess = settled.excess;
        if let Some(caller) = call.path.first().filter(|account| account.kind == AccountKind::Key) {
            let minute = self.minutes.entry(caller.name.to_string()).or_default();
            if let Some(last) = minute.calls.back_mut() {
                last.1 += call.usage.total().get();
            }
        }
        let record = LedgerRecord::Settled(Box::new(call.clone()));
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let written = self.book.append_call(&record, clock::now(), took_ms);
        self.hear(written);
        Some(call)
    }

    /// Counts a request of a key, or says how long it has to wait.
    pub(crate) fn count(&mut self, key: &Key) -> Option<Duration> {
        let now = clock::now().epoch_ms();
        let minute = self.minutes.entry(key.name.clone()).or_default();
        let wait = minute.wait(key, now);
        if wait.is_none() {
            minute.calls.push_back((now, 0));
        }
        wait
    }

    /// Notes something that people should know.
    pub(crate) fn note(&mut self, kind: &str, text: &str) {
        self.write(&[LedgerRecord::Noted { kind: Label::cut(kind), text: Label::cut(text) }]);
    }

    /// Notes a refusal.
    pub(crate) fn refused(&mut self, account: &AccountId, model: &str, reason: &str) {
        let (account, model, reason) = (account.clone(), Label::cut(model), Label::cut(reason));
        self.write(&[LedgerRecord::Refused { account, model, reason }]);
    }

    /// Makes everything durable.
    pub(crate) fn sync(&mut self) {
        if let Err(error) = self.book.sync() {
            self.broken = Some(error.to_string());
        }
    }

    /// Lets other processes have the ledger's lock.
    pub(crate) fn rest(&self) {
        self.book.rest();
    }

    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn write(&mut self, records: &[LedgerRecord]) {
        let written = self.book.append(records, clock::now());
        self.hear(written);
    }

    /// What cannot be written down must not go on.
    fn hear(&mut self, written: Result<(), DriverError>) {
        if let Err(error) = written {
            self.broken = Some(error.to_string());
        }
    }
}

/// The accounts of a configuration; without keys, one for everybody on this machine.
fn accounts(config: &Config) -> Vec<(AccountId, AccountSettings)> {
    let mut accounts = config.accounts.clone();
    if config.keys.is_empty() {
        accounts.push((AccountId::new(AccountKind::Key, LOCAL), AccountSettings::default()));
    }
    accounts
}
