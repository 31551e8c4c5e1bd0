//! The ledger of model calls in memory and on disk: what gateways and our own loop reserve and settle with.
//!
//! A call is settled in core's machine and written down in the same step, so that its line outlives this process. Once a line
//! cannot be written, nothing is reserved any more.

use crate::driver::DriverError;
use crate::ledger::LedgerBook;
use std::time::Duration;
use tripwire_core::label::Label;
use tripwire_core::ledger::{
    AccountId, AccountSettings, Ledger, LedgerRecord, ReservationId, ReserveError, SettledCall, UtcDate,
};
use tripwire_core::units::MicroUsd;
use tripwire_workspace::clock;

/// A ledger whose settlements are written down.
#[derive(Debug)]
pub struct BookedLedger {
    ledger: Ledger,
    book: LedgerBook,
    broken: Option<String>,
}

impl BookedLedger {
    /// A ledger that goes on from here, written down in this book.
    #[must_use]
    pub const fn new(ledger: Ledger, book: LedgerBook) -> Self {
        Self { ledger, book, broken: None }
    }

    /// The figures.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Why the journal can no longer be written; then nothing may pass.
    #[must_use]
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Takes over the accounts of a configuration: see [`Ledger::configure`].
    pub fn configure(&mut self, accounts: impl IntoIterator<Item = (AccountId, AccountSettings)>) {
        self.ledger.configure(accounts);
    }

    /// Sets one account, such as that of a session whose budget was raised.
    pub fn set(&mut self, account: AccountId, settings: AccountSettings) {
        self.ledger.set(account, settings);
    }

    /// Opens the account of an agent below its session's. It has no budget of its own, and what it has spent stays.
    pub fn open_agent(&mut self, agent: &AccountId, session: &AccountId) {
        self.ledger.set(agent.clone(), AccountSettings { parent: Some(session.clone()), budget: None });
    }

    /// Books again what earlier processes settled on an account and on those below it.
    ///
    /// # Errors
    /// When the book is damaged.
    pub fn restore(&mut self, account: &AccountId) -> Result<(), DriverError> {
        let Self { ledger, book, .. } = self;
        book.each(|line| match line.record {
            LedgerRecord::Settled(call) if call.path.contains(account) => ledger.restore(&call),
            LedgerRecord::Settled(_) | LedgerRecord::Refused { .. } | LedgerRecord::Noted { .. } => {}
        })
    }

    /// What is left for an account.
    ///
    /// # Errors
    /// See [`Ledger::left`].
    pub fn left(&mut self, account: &AccountId) -> Result<Option<MicroUsd>, ReserveError> {
        self.ledger.left(account, today())
    }

    /// Reserves a worst case.
    ///
    /// # Errors
    /// See [`Ledger::reserve`].
    pub fn reserve(&mut self, account: &AccountId, worst: MicroUsd) -> Result<ReservationId, ReserveError> {
        self.ledger.reserve(account, worst, today())
    }

    /// Frees a reservation whose request never left or was refused.
    pub fn release(&mut self, id: ReservationId) {
        self.ledger.release(id);
    }

    /// Books a call and writes it down; the record gets its path and its excess here.
    pub fn settle(&mut self, id: ReservationId, mut call: SettledCall, took: Duration) -> Option<SettledCall> {
        let settled = self.ledger.settle(id, call.micro_usd, today())?;
        call.path = settled.path;
        call.excess = settled.excess;
        self.write_call(&call, took);
        Some(call)
    }

    /// Books a call that was not reserved here, and writes it down: see [`Ledger::book`].
    ///
    /// # Errors
    /// When its account is missing.
    pub fn book(
        &mut self,
        account: &AccountId,
        mut call: SettledCall,
        took: Duration,
    ) -> Result<SettledCall, ReserveError> {
        call.path = self.ledger.book(account, call.micro_usd, today())?;
        self.write_call(&call, took);
        Ok(call)
    }

    /// Books calls that another ledger of this book has written down: those of a worker.
    ///
    /// # Errors
    /// When the account is missing.
    pub fn book_written(&mut self, account: &AccountId, paid: MicroUsd) -> Result<(), ReserveError> {
        self.ledger.book(account, paid, today()).map(drop)
    }

    /// Notes something that people should know.
    pub fn note(&mut self, kind: &str, text: &str) {
        self.write(&[LedgerRecord::Noted { kind: Label::cut(kind), text: Label::cut(text) }]);
    }

    /// Notes a refusal.
    pub fn refused(&mut self, account: &AccountId, model: &str, reason: &str) {
        let (account, model, reason) = (account.clone(), Label::cut(model), Label::cut(reason));
        self.write(&[LedgerRecord::Refused { account, model, reason }]);
    }

    /// Makes everything durable.
    pub fn sync(&mut self) {
        if let Err(error) = self.book.sync() {
            self.broken = Some(error.to_string());
        }
    }

    /// Lets other processes have the ledger's lock.
    pub fn rest(&self) {
        self.book.rest();
    }

    fn write_call(&mut self, call: &SettledCall, took: Duration) {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let written = self.book.append_call(call, clock::now(), took_ms);
        self.hear(written);
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

fn today() -> UtcDate {
    clock::now().date()
}
