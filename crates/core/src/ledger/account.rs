//! One account: its budget, its period, and what is settled and reserved in it.

use crate::label::Label;
use crate::units::MicroUsd;
use alloc::format;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Which account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountId {
    /// What it belongs to.
    pub kind: AccountKind,
    /// Its name; unique among its kind.
    pub name: Label,
}

impl AccountId {
    /// The account of this kind and name.
    #[must_use]
    pub fn new(kind: AccountKind, name: &str) -> Self {
        Self { kind, name: Label::cut(name) }
    }

    /// The account of a session.
    #[must_use]
    pub fn session(name: &str) -> Self {
        Self::new(AccountKind::Session, name)
    }

    /// The account of an agent of a session, whose name it begins with.
    #[must_use]
    pub fn agent(session: &Self, name: &str) -> Self {
        Self::new(AccountKind::Agent, &format!("{}/{name}", session.name))
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.name)
    }
}

/// What an account belongs to, from the top of the tree down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AccountKind {
    /// Several teams.
    Org,
    /// Several keys.
    Team,
    /// A token that a caller presents.
    Key,
    /// A session.
    Session,
    /// An agent of a session.
    Agent,
}

impl AccountKind {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Org => "org",
            Self::Team => "team",
            Self::Key => "key",
            Self::Session => "session",
            Self::Agent => "agent",
        }
    }
}

/// How much, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most that may be settled and reserved together.
    pub limit: MicroUsd,
    /// After which it starts at zero again.
    pub period: Period,
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = match self.period {
            Period::Whole => "",
            Period::Day => " a day",
            Period::Month => " a month",
        };
        write!(f, "{}{per}", self.limit.in_dollars())
    }
}

/// The span of a budget, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Period {
    /// It never starts at zero again.
    #[default]
    Whole,
    /// A calendar day.
    Day,
    /// A calendar month.
    Month,
}

/// A day in UTC, as the caller's clock has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UtcDate {
    /// The year.
    pub year: u16,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
}

impl fmt::Display for UtcDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// The first day of a period; the same for every account without a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct PeriodKey(UtcDate);

impl PeriodKey {
    fn of(period: Period, day: UtcDate) -> Self {
        Self(match period {
            Period::Whole => UtcDate::default(),
            Period::Day => day,
            Period::Month => UtcDate { day: 1, ..day },
        })
    }
}

/// What a configuration says about an account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountSettings {
    /// The account above it.
    pub parent: Option<AccountId>,
    /// Its budget; without one it is only counted.
    pub budget: Option<Budget>,
}

/// Whether an account takes calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AccountStanding {
    /// The configuration does not name it.
    #[default]
    Unlisted,
    /// It does.
    Open,
    /// A call cost more than was reserved for it, and nobody has looked since.
    Closed,
}

/// One account and its figures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    pub(super) parent: Option<AccountId>,
    pub(super) budget: Option<Budget>,
    pub(super) standing: AccountStanding,
    pub(super) period: PeriodKey,
    pub(super) settled: MicroUsd,
    pub(super) reserved: MicroUsd,
    /// The part of `settled` that no reservation had foreseen.
    pub(super) excess: MicroUsd,
    pub(super) total: MicroUsd,
    pub(super) calls: u64,
}

impl Account {
    /// The budget.
    #[must_use]
    pub const fn budget(&self) -> Option<Budget> {
        self.budget
    }

    /// The account above it.
    #[must_use]
    pub const fn parent(&self) -> Option<&AccountId> {
        self.parent.as_ref()
    }

    /// What is settled in the period.
    #[must_use]
    pub const fn settled(&self) -> MicroUsd {
        self.settled
    }

    /// What is reserved in the period.
    #[must_use]
    pub const fn reserved(&self) -> MicroUsd {
        self.reserved
    }

    /// What was settled in the period beyond its reservations.
    #[must_use]
    pub const fn excess(&self) -> MicroUsd {
        self.excess
    }

    /// What was settled ever.
    #[must_use]
    pub const fn total(&self) -> MicroUsd {
        self.total
    }

    /// How many calls were settled ever.
    #[must_use]
    pub const fn calls(&self) -> u64 {
        self.calls
    }

    /// Whether it takes no calls because one cost more than was reserved for it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.standing == AccountStanding::Closed
    }

    pub(super) fn close(&mut self) {
        if self.standing == AccountStanding::Open {
            self.standing = AccountStanding::Closed;
        }
    }

    /// What is neither settled nor reserved; `None` without a budget.
    #[must_use]
    pub fn left(&self) -> Option<MicroUsd> {
        self.budget.map(|budget| budget.limit.minus(self.settled.plus(self.reserved)))
    }

    pub(super) fn key_of(&self, day: UtcDate) -> PeriodKey {
        PeriodKey::of(self.budget.map_or(Period::Whole, |budget| budget.period), day)
    }

    pub(super) fn change(&mut self, settings: AccountSettings, today: UtcDate) {
        let before = self.budget.map(|budget| budget.period);
        let now = settings.budget.map(|budget| budget.period);
        self.parent = settings.parent;
        self.budget = settings.budget;
        self.standing = AccountStanding::Open;
        // Another kind of period: what was spent in the running one is taken along, because a change must not be a gift.
        if before != now {
            self.period = self.key_of(today);
        }
    }

    pub(super) fn move_on(&mut self, today: UtcDate) {
        let period = self.key_of(today);
        if period > self.period {
            self.period = period;
            self.settled = MicroUsd::ZERO;
            self.reserved = MicroUsd::ZERO;
            self.excess = MicroUsd::ZERO;
        }
    }
}
