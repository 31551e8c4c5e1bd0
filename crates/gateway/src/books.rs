//! The ledger in memory and on disk, and the keys' last minutes: what all requests share under one lock.

use crate::admission::WorstCase;
use crate::config::{Config, Key};
use crate::incoming::Caller;
use crate::key_rates::KeyRates;
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
    rates: KeyRates,
    /// Why the journal can no longer be written; then nothing passes.
    pub(crate) broken: Option<String>,
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
        Ok(Self { ledger, book, rates: KeyRates::default(), broken: None })
    }

    /// Opens the ledger of a workspace for one session, which nobody has booked on before.
    pub(crate) fn of_session(layout: &Layout, config: &Config) -> Result<Self, DriverError> {
        let mut ledger = Ledger::default();
        ledger.configure(config.accounts.iter().cloned());
        Ok(Self { ledger, book: LedgerBook::open(layout)?, rates: KeyRates::default(), broken: None })
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

    /// Reserves a worst case, and its tokens in the minute of a caller's key.
    pub(crate) fn reserve(&mut self, caller: &Caller, worst: &WorstCase) -> Result<ReservationId, ReserveError> {
        let id = self.ledger.reserve(&caller.account, worst.amount, clock::now().date())?;
        if let Some(key) = &caller.key {
            self.rates.hold(key, id, worst.tokens);
        }
        Ok(id)
    }

    /// Frees a reservation whose request never left or was refused.
    pub(crate) fn release(&mut self, id: ReservationId) {
        self.ledger.release(id);
        self.rates.free(id);
    }

    /// Books a call and writes it down; the record gets its path and its excess here.
    pub(crate) fn settle(&mut self, id: ReservationId, mut call: SettledCall, took: Duration) -> Option<SettledCall> {
        let settled = self.ledger.settle(id, call.micro_usd, clock::now().date())?;
        call.path = settled.path;
        call.excess = settled.excess;
        self.rates.settle(id, call.usage.total(), clock::now().epoch_ms());
        let record = LedgerRecord::Settled(Box::new(call.clone()));
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let written = self.book.append_call(&record, clock::now(), took_ms);
        self.hear(written);
        Some(call)
    }

    /// Counts a request of a key, or says how long it has to wait.
    pub(crate) fn count(&mut self, key: &Key) -> Option<Duration> {
        self.rates.count(key, clock::now().epoch_ms())
    }

    /// How long a call of a key has to wait until its tokens fit.
    pub(crate) fn tokens_wait(&mut self, key: &Key) -> Option<Duration> {
        self.rates.wait(key, clock::now().epoch_ms())
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
