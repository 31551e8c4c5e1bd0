//! Money for the whole agent tree of a session: warned at 80 %, held when it is used up (GATE-8).

use crate::policy;
use crate::units::{MicroUsd, Price};
use serde::{Deserialize, Serialize};

/// What was spent and what a person added to the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct MoneyState {
    spent: Price,
    raised: MicroUsd,
    warned: bool,
}

/// How much of the budget is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetState {
    /// Nothing to say.
    Within,
    /// The agent is to be warned, once.
    Warn(MicroUsd),
    /// Used up.
    UsedUp,
}

impl MoneyState {
    /// Everything spent so far.
    pub(crate) const fn spent(&self) -> Price {
        self.spent
    }

    /// Adds what an event cost.
    pub(crate) fn spend(&mut self, price: Price) {
        self.spent = self.spent.plus(price);
    }

    /// A person raised the budget.
    pub(crate) fn raise(&mut self, by: MicroUsd) {
        self.raised = self.raised.plus(by);
        self.warned = false;
    }

    /// A person set a new budget: what was added to the old one no longer counts.
    pub(crate) const fn begin_budget(&mut self) {
        self.raised = MicroUsd::new(0);
        self.warned = false;
    }

    /// The budget in force.
    pub(crate) fn budget(&self, money: &policy::Money) -> Option<MicroUsd> {
        money.budget_micro_usd.get().map(|budget| budget.plus(self.raised))
    }

    /// Compares what was spent with the budget; a warning is given once.
    pub(crate) fn look(&mut self, money: &policy::Money) -> BudgetState {
        let Some(budget) = self.budget(money) else { return BudgetState::Within };
        if self.spent.micro_usd >= budget {
            return BudgetState::UsedUp;
        }
        let warn_at = MicroUsd::new(money.warning_share.share_of(budget.get()));
        if self.spent.micro_usd >= warn_at && !self.warned {
            self.warned = true;
            return BudgetState::Warn(budget.minus(self.spent.micro_usd));
        }
        BudgetState::Within
    }

    /// Whether a reservation still fits.
    pub(crate) fn fits(&self, money: &policy::Money, reserve: MicroUsd) -> bool {
        self.budget(money).is_none_or(|budget| self.spent.micro_usd.plus(reserve) <= budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Limit;

    fn spent(micro_usd: u64) -> MoneyState {
        let mut state = MoneyState::default();
        state.spend(Price { micro_usd: MicroUsd::new(micro_usd), ..Price::default() });
        state
    }

    #[test]
    fn gate_8_money_warns_once_at_80_per_cent_and_ends_at_100() {
        let money = policy::Money { budget_micro_usd: Limit::At(MicroUsd::new(1_000)), ..policy::Money::default() };
        assert_eq!(spent(799).look(&money), BudgetState::Within);
        let mut state = spent(800);
        assert_eq!(state.look(&money), BudgetState::Warn(MicroUsd::new(200)));
        assert_eq!(state.look(&money), BudgetState::Within);
        assert_eq!(spent(1_000).look(&money), BudgetState::UsedUp);
        assert!(spent(900).fits(&money, MicroUsd::new(100)));
        assert!(!spent(900).fits(&money, MicroUsd::new(101)));
    }

    #[test]
    fn gate_8_without_a_budget_money_is_only_counted_and_a_raise_gives_room() {
        assert_eq!(spent(1_000_000).look(&policy::Money::default()), BudgetState::Within);
        let money = policy::Money { budget_micro_usd: Limit::At(MicroUsd::new(1_000)), ..policy::Money::default() };
        let mut state = spent(1_000);
        state.raise(MicroUsd::new(500));
        assert_ne!(state.look(&money), BudgetState::UsedUp);
    }
}
