//! The ledger of model calls: the worst case is reserved before a request leaves, and settled when it has ended (GATE-8).
//!
//! Accounts form a tree: an agent below its session, a key below its team below its organisation. A call is reserved and
//! settled on its account and on every one above it.
//!
//! INVARIANT: for every account and period, settled + reserved is at most the budget, whatever the order of parallel
//! requests, except for what settlements took beyond their reservations. Such an excess is booked, it closes the caller's
//! account, and the settlement says so (`RESERVE_SHORT`).
//!
//! A call belongs to the period in which it was reserved: one that ends after midnight is booked on the day it began.

mod account;
mod figures;
mod record;

pub use account::{Account, AccountId, AccountKind, AccountSettings, Budget, Period, UtcDate};
pub use figures::{Doubt, Figures, Heard, ReplyEnd, SentInput, figures};
pub use record::{CALL_DURATION, CallEnd, LedgerRecord, ModelUsage, SettledCall, own_usage};

use crate::explain::{ExitClass, Explain};
use crate::units::MicroUsd;
use account::{AccountStanding, PeriodKey};
use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

/// The most accounts that one call is booked on; a longer path would be a circle.
const PATH_ACCOUNTS_MAX: usize = 8;

/// All accounts and everything that is reserved on them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    accounts: BTreeMap<AccountId, Account>,
    open: BTreeMap<ReservationId, Reservation>,
    next: u64,
    /// The latest day that was seen: a clock that steps back must not open a budget again.
    today: UtcDate,
}

/// The number of a reservation. It is given once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReservationId(u64);

/// What one call holds until it is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reservation {
    amount: MicroUsd,
    path: Vec<(AccountId, PeriodKey)>,
}

/// Why nothing was reserved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// Nobody has this account.
    #[error("there is no account `{account}`")]
    Unknown {
        /// The account.
        account: AccountId,
    },
    /// A settlement took more than was reserved for it, or a person closed it.
    #[error("the account `{account}` is closed: a call cost more than was reserved for it")]
    Closed {
        /// The account.
        account: AccountId,
    },
    /// What is left does not pay for the worst case.
    #[error(
        "the budget of `{account}` ({budget}) has {} left, and this call may cost {}",
        left.in_dollars(),
        wanted.in_dollars()
    )]
    Spent {
        /// The account whose budget is too small.
        account: AccountId,
        /// Its budget.
        budget: Budget,
        /// What is neither settled nor reserved.
        left: MicroUsd,
        /// What was to be reserved.
        wanted: MicroUsd,
    },
}

impl Explain for ReserveError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unknown { account } => {
                format!("add it to the configuration: `tripwire gateway key new {}`", account.name).into()
            }
            Self::Closed { .. } => "see what it cost: `tripwire gateway usage`; then reload the configuration".into(),
            Self::Spent { budget, .. } => match budget.period {
                Period::Whole => "see what was spent: `tripwire gateway usage`; then raise the budget".into(),
                Period::Day => "wait for the next day (UTC), or raise the budget in the configuration".into(),
                Period::Month => "wait for the next month (UTC), or raise the budget in the configuration".into(),
            },
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Refused
    }
}

/// What became of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// What was booked on every account of the path.
    pub booked: MicroUsd,
    /// What was booked beyond the reservation; the caller's account is closed if there is any (`RESERVE_SHORT`). An agent's is
    /// that of its session.
    pub excess: MicroUsd,
    /// The accounts, the caller's first.
    pub path: Vec<AccountId>,
}

impl Settlement {
    /// Whether the reservation was too small.
    #[must_use]
    pub const fn is_short(&self) -> bool {
        !self.excess.is_zero()
    }
}

impl Ledger {
    /// Takes over the accounts of a configuration. What they have spent stays; an account that is no longer named takes no
    /// more calls; one that was closed is open again, because a person has looked at it.
    pub fn configure(&mut self, accounts: impl IntoIterator<Item = (AccountId, AccountSettings)>) {
        let mut named = BTreeSet::new();
        for (id, settings) in accounts {
            self.set(id.clone(), settings);
            named.insert(id);
        }
        for (id, account) in &mut self.accounts {
            if !named.contains(id) {
                account.standing = AccountStanding::Unlisted;
            }
        }
    }

    /// Adds or changes one account, for instance that of a session that begins.
    pub fn set(&mut self, id: AccountId, settings: AccountSettings) {
        let today = self.today;
        self.accounts.entry(id).or_default().change(settings, today);
    }

    /// Reserves the worst case of a call on its account and every one above it.
    ///
    /// # Errors
    /// When an account is missing, closed, or has too little left; then nothing was reserved anywhere.
    pub fn reserve(
        &mut self,
        account: &AccountId,
        worst: MicroUsd,
        today: UtcDate,
    ) -> Result<ReservationId, ReserveError> {
        self.move_on(today);
        let path = self.path(account)?;
        for id in &path {
            self.check(id, worst)?;
        }
        let mut held = Vec::with_capacity(path.len());
        for id in path {
            let Some(account) = self.accounts.get_mut(&id) else { continue };
            account.reserved = account.reserved.plus(worst);
            held.push((id, account.period));
        }
        let id = ReservationId(self.next);
        self.next = self.next.saturating_add(1);
        self.open.insert(id, Reservation { amount: worst, path: held });
        Ok(id)
    }

    /// Books what a call cost and frees the rest of its reservation. A reservation is settled once: the second time there is
    /// nothing to settle.
    pub fn settle(&mut self, id: ReservationId, cost: MicroUsd, today: UtcDate) -> Option<Settlement> {
        self.move_on(today);
        let reservation = self.open.remove(&id)?;
        let excess = cost.minus(reservation.amount);
        let caller = caller_of(reservation.path.iter().map(|(account, _)| account));
        for (position, (account, period)) in reservation.path.iter().enumerate() {
            let Some(account) = self.accounts.get_mut(account) else { continue };
            account.total = account.total.plus(cost);
            account.calls = account.calls.saturating_add(1);
            if account.period == *period {
                account.reserved = account.reserved.minus(reservation.amount);
                account.settled = account.settled.plus(cost);
                account.excess = account.excess.plus(excess);
            }
            if position == caller && !excess.is_zero() {
                account.close();
            }
        }
        let path = reservation.path.into_iter().map(|(account, _)| account).collect();
        Some(Settlement { booked: cost, excess, path })
    }

    /// Frees a reservation whose request never left. A request that left is settled, however it ended.
    pub fn release(&mut self, id: ReservationId) {
        let Some(reservation) = self.open.remove(&id) else { return };
        for (account, period) in reservation.path {
            let Some(account) = self.accounts.get_mut(&account) else { continue };
            if account.period == period {
                account.reserved = account.reserved.minus(reservation.amount);
            }
        }
    }

    /// Books a call of an earlier process again, from its record: nothing is reserved, because that process is gone.
    pub fn restore(&mut self, call: &SettledCall) {
        self.move_on(call.day);
        let caller = caller_of(call.path.iter());
        for (position, id) in call.path.iter().enumerate() {
            let account = self.accounts.entry(id.clone()).or_default();
            account.total = account.total.plus(call.micro_usd);
            account.calls = account.calls.saturating_add(1);
            if account.period == account.key_of(call.day) {
                account.settled = account.settled.plus(call.micro_usd);
                account.excess = account.excess.plus(call.excess);
            }
            if position == caller && !call.excess.is_zero() {
                account.close();
            }
        }
    }

    /// Books what was paid without a reservation here: before the account was opened, or from another ledger that reserved it.
    ///
    /// # Errors
    /// When an account is missing; then nothing was booked anywhere.
    pub fn book(
        &mut self,
        account: &AccountId,
        paid: MicroUsd,
        today: UtcDate,
    ) -> Result<Vec<AccountId>, ReserveError> {
        self.move_on(today);
        let path = self.path(account)?;
        for id in &path {
            let Some(account) = self.accounts.get_mut(id) else { continue };
            account.total = account.total.plus(paid);
            account.calls = account.calls.saturating_add(1);
            account.settled = account.settled.plus(paid);
        }
        Ok(path)
    }

    /// What is left for a call of this account: the least of its path; `None` where no budget applies.
    ///
    /// # Errors
    /// When an account is missing or closed.
    pub fn left(&mut self, account: &AccountId, today: UtcDate) -> Result<Option<MicroUsd>, ReserveError> {
        self.move_on(today);
        let path = self.path(account)?;
        let mut least: Option<MicroUsd> = None;
        for id in &path {
            self.check(id, MicroUsd::ZERO)?;
            let left = self.accounts.get(id).and_then(Account::left);
            least = match (least, left) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        Ok(least)
    }

    /// Every account with its figures.
    pub fn accounts(&self) -> impl Iterator<Item = (&AccountId, &Account)> {
        self.accounts.iter()
    }

    /// One account.
    #[must_use]
    pub fn account(&self, id: &AccountId) -> Option<&Account> {
        self.accounts.get(id)
    }

    /// How many calls are reserved and not settled.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.open.len()
    }

    /// The account and those above it, the caller's first.
    fn path(&self, account: &AccountId) -> Result<Vec<AccountId>, ReserveError> {
        let mut path = Vec::new();
        let mut next = Some(account);
        while let Some(id) = next.filter(|_| path.len() < PATH_ACCOUNTS_MAX) {
            let found = self.accounts.get(id).filter(|account| account.standing != AccountStanding::Unlisted);
            let found = found.ok_or_else(|| ReserveError::Unknown { account: id.clone() })?;
            path.push(id.clone());
            next = found.parent.as_ref();
        }
        Ok(path)
    }

    fn check(&self, id: &AccountId, worst: MicroUsd) -> Result<(), ReserveError> {
        let Some(account) = self.accounts.get(id) else { return Ok(()) };
        if account.is_closed() {
            return Err(ReserveError::Closed { account: id.clone() });
        }
        match (account.budget, account.left()) {
            (Some(budget), Some(left)) if worst > left => {
                Err(ReserveError::Spent { account: id.clone(), budget, left, wanted: worst })
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Begins new periods where the day demands it.
    fn move_on(&mut self, today: UtcDate) {
        if today <= self.today {
            return;
        }
        self.today = today;
        for account in self.accounts.values_mut() {
            account.move_on(today);
        }
    }
}

/// The place of the caller in a path: the first account that is no agent's. An agent is a part of its session: were it closed
/// alone, the next one would go on with the same money.
fn caller_of<'a>(mut path: impl Iterator<Item = &'a AccountId>) -> usize {
    path.position(|account| account.kind != AccountKind::Agent).unwrap_or(0)
}
