//! The ledger in memory and on disk, and the keys' last minutes: what all requests share under one lock.

use crate::admission::WorstCase;
use crate::config::{Config, Key};
use crate::key_rates::KeyRates;
use std::time::Duration;
use tripwire_core::ledger::{
    AccountId, AccountKind, AccountSettings, Ledger, LedgerRecord, ReservationId, ReserveError, SettledCall,
};
use tripwire_core::units::MicroUsd;
use tripwire_session::booked_ledger::BookedLedger;
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
    ledger: BookedLedger,
    rates: KeyRates,
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
        Ok(Self { ledger: BookedLedger::new(ledger, book), rates: KeyRates::default() })
    }

    /// Opens the ledger of a workspace for one session, which nobody has booked on before.
    pub(crate) fn of_session(layout: &Layout, config: &Config) -> Result<Self, DriverError> {
        let mut ledger = Ledger::default();
        ledger.configure(config.accounts.iter().cloned());
        Ok(Self { ledger: BookedLedger::new(ledger, LedgerBook::open(layout)?), rates: KeyRates::default() })
    }

    /// Why the journal can no longer be written; then nothing passes.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.ledger.broken()
    }

    /// Takes over a new configuration.
    pub(crate) fn configure(&mut self, config: &Config) {
        self.ledger.configure(accounts(config));
    }

    /// Sets one account, such as that of a session whose budget was raised.
    pub(crate) fn set(&mut self, account: AccountId, settings: AccountSettings) {
        self.ledger.set(account, settings);
    }

    /// Opens the account of an agent below its session's.
    pub(crate) fn open_agent(&mut self, agent: &AccountId, session: &AccountId) {
        self.ledger.open_agent(agent, session);
    }

    /// What is left for an account.
    pub(crate) fn left(&mut self, account: &AccountId) -> Result<Option<MicroUsd>, ReserveError> {
        self.ledger.left(account)
    }

    /// Reserves a worst case, and its tokens in the minute of the caller's key.
    pub(crate) fn reserve(
        &mut self,
        account: &AccountId,
        key: Option<&Key>,
        worst: &WorstCase,
    ) -> Result<ReservationId, ReserveError> {
        let id = self.ledger.reserve(account, worst.amount)?;
        if let Some(key) = key {
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
    pub(crate) fn settle(&mut self, id: ReservationId, call: SettledCall, took: Duration) -> Option<SettledCall> {
        let call = self.ledger.settle(id, call, took)?;
        self.rates.settle(id, call.usage.total(), clock::now().epoch_ms());
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
        self.ledger.note(kind, text);
    }

    /// Notes a refusal.
    pub(crate) fn refused(&mut self, account: &AccountId, model: &str, reason: &str) {
        self.ledger.refused(account, model, reason);
    }

    /// Makes everything durable.
    pub(crate) fn sync(&mut self) {
        self.ledger.sync();
    }

    /// Lets other processes have the ledger's lock.
    pub(crate) fn rest(&self) {
        self.ledger.rest();
    }

    pub(crate) const fn ledger(&self) -> &Ledger {
        self.ledger.ledger()
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
