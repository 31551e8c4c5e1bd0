//! Money that other machines spend too: a budget over a whole fleet, from which a call's worst case is promised before it leaves.

use std::fmt;
use std::time::Duration;
use tripwire_core::ledger::AccountId;
use tripwire_core::units::MicroUsd;

/// A budget that others spend as well.
pub trait SharedMoney: Send + Sync + fmt::Debug {
    /// Promises the worst case of a call that these accounts pay. It may wait for an answer from elsewhere.
    ///
    /// # Errors
    /// When it is not there, a rate is used up, or nobody can say whether it is: then the call must not leave.
    fn reserve(&self, accounts: &[AccountId], worst: MicroUsd) -> Result<MoneyPromise, SharedMoneyError>;

    /// Takes a promise back with what the call cost; nothing for one that never left.
    fn settle(&self, promise: MoneyPromise, cost: MicroUsd);
}

/// Money that is promised to one call and has to be settled.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a promise that is not settled keeps its money"]
pub struct MoneyPromise(pub u64);

/// Why no money is promised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SharedMoneyError {
    /// The budget does not have so much.
    #[error("{} left of the fleet's budget `{budget}`", left.in_dollars())]
    Exhausted {
        /// Which.
        budget: String,
        /// What could still be promised.
        left: MicroUsd,
    },
    /// All machines together ask faster than they may.
    #[error("the fleet's rate `{rate}` is used up for now")]
    TooFast {
        /// Which.
        rate: String,
        /// How long to wait.
        wait: Duration,
    },
    /// It is not known.
    #[error("the fleet's budget cannot be asked: {0}")]
    Unknown(String),
}
