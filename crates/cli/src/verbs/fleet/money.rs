//! The fleet's budgets and rates: `tripwire fleet budget` and `rate`, and the money of a process that takes part.

use super::args::{BudgetArgs, RateArgs, print};
use super::membership::{FleetError, Membership, folder};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::money;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;
use tripwire_core::ledger::AccountId;
use tripwire_core::units::MicroUsd;
use tripwire_fleet::bucket::{self, RateLimits};
use tripwire_fleet::budget;
use tripwire_fleet::log::Log;
use tripwire_fleet::spender::{PayingBudgets, SpendError, Spender};
use tripwire_fleet::subject::Name;
use tripwire_fs::file;
use tripwire_fs::lock::{FileLock, Wait};
use tripwire_session::shared_money::{MoneyPromise, SharedMoney, SharedMoneyError};
use tripwire_workspace::clock;

/// Runs `tripwire fleet budget`.
pub(super) fn budget(args: &BudgetArgs) -> Result<Exit, Problem> {
    let name = Name::parse(&args.name)?;
    let membership = Membership::load()?;
    let log = membership.log()?;
    if let Some(limit) = args.limit {
        budget::set_limit(log.as_ref(), &name, MicroUsd::new(limit), &membership.machine)?;
    }
    let pool = budget::look(log.as_ref(), &name)?.ok_or_else(|| FleetError::NoBudget { name: name.clone() })?;
    let free = pool.free();
    let (limit, settled) = (money::exactly(pool.limit.get()), money::exactly(pool.settled.get()));
    print(&match args.form.json {
        true => json!({"version": 1, "budget": name, "pool": pool, "free": free}).to_string(),
        false => format!(
            "budget {name}: {settled} of {limit} settled, {} not taken, {} blocks out",
            money::exactly(free.get()),
            pool.blocks.len()
        ),
    })
}

/// Runs `tripwire fleet rate`.
pub(super) fn rate(args: &RateArgs) -> Result<Exit, Problem> {
    let name = Name::parse(&args.name)?;
    let membership = Membership::load()?;
    let log = membership.log()?;
    let now_ms = clock::now().epoch_ms();
    if let Some(per_minute) = args.per_minute {
        let limits = RateLimits { capacity: args.at_once.unwrap_or(per_minute), per_minute };
        bucket::set(log.as_ref(), &name, limits, &membership.machine, now_ms)?;
    }
    let found = bucket::look(log.as_ref(), &name)?.ok_or_else(|| FleetError::NoRate { name: name.clone() })?;
    let (RateLimits { capacity, per_minute }, left) = (found.limits, found.left(now_ms));
    print(&match args.form.json {
        true => {
            json!({"version": 1, "rate": name, "per_minute": per_minute, "at_once": capacity, "left": left}).to_string()
        }
        false => format!("rate {name}: {per_minute} calls a minute, {capacity} at once, {left} left now"),
    })
}

/// The money of this process.
#[derive(Debug)]
pub(super) struct FleetMoney {
    spender: Spender,
    /// The budget that the manifest names.
    named: Vec<Name>,
    /// No other process of this machine has its name as long as this is held.
    _slot: FileLock,
}

impl FleetMoney {
    pub(super) fn begin(log: Arc<dyn Log>, membership: &Membership, named: Option<Name>) -> Result<Self, Problem> {
        let (slot, number) = free_slot()?;
        let holder = Name::nearest(&format!("{}-{number}", membership.machine));
        let spender = Spender::begin(log, holder).map_err(FleetError::Thread)?;
        Ok(Self { spender, named: named.into_iter().collect(), _slot: slot })
    }

    /// Gives back what is not used.
    pub(super) fn finish(&self) {
        self.spender.finish();
    }
}

impl SharedMoney for FleetMoney {
    fn reserve(&self, accounts: &[AccountId], worst: MicroUsd) -> Result<MoneyPromise, SharedMoneyError> {
        let of = |account: &AccountId| Name::nearest(&format!("{}-{}", account.kind.as_str(), account.name));
        let budgets = PayingBudgets { named: self.named.clone(), possible: accounts.iter().map(of).collect() };
        self.spender.reserve(budgets, worst).map(MoneyPromise).map_err(|error| match error {
            SpendError::Exhausted { budget, left } => SharedMoneyError::Exhausted { budget: budget.to_string(), left },
            SpendError::TooFast { rate, wait } => SharedMoneyError::TooFast { rate: rate.to_string(), wait },
            SpendError::NoBudget { .. } | SpendError::Log(_) => SharedMoneyError::Unknown(error.to_string()),
        })
    }

    fn settle(&self, promise: MoneyPromise, cost: MicroUsd) {
        self.spender.settle(promise.0, cost);
    }
}

/// The first number that no other process of this machine has; a process that died leaves its own to the next.
fn free_slot() -> Result<(FileLock, usize), Problem> {
    let folder = folder()?.join("holders");
    file::make_folder(&folder)?;
    let free = (0..SLOTS_MAX).find_map(|number| {
        let path = folder.join(number.to_string());
        FileLock::take(&path, Wait::Until(Instant::now())).ok().map(|lock| (lock, number))
    });
    Ok(free.ok_or(FleetError::NoSlot)?)
}

/// Processes of one machine that spend at the same time.
const SLOTS_MAX: usize = 2_000;
