//! A holder of a budget: reserves before a call leaves and settles after it, and asks the fleet only when its block is used up.

use crate::escrow::{Grant, Opened, Pool, Purse, Reserved, Returned, Stamp, block_want, slice_want};
use crate::log::{Log, LogError, Sequence};
use crate::settle::{self, Settled};
use crate::subject::{Name, Subject};
use crate::value::{self, Change};
use std::time::Duration;
use tripwire_core::units::MicroUsd;

/// Sets the limit of a budget; a new budget begins with nothing spent. A lower limit than what is already out takes nothing back.
///
/// # Errors
/// When the fleet does not take it.
pub fn set_limit(log: &dyn Log, budget: &Name, limit: MicroUsd, by: &Name) -> Result<(), LogError> {
    value::update(log, &Subject::pool(budget), |pool: Option<Pool>| {
        let stamp = Stamp { who: by.clone(), count: pool.as_ref().map_or(0, |pool| pool.by.count + 1) };
        match pool {
            Some(pool) if pool.limit == limit => Change::Keep(()),
            Some(pool) => Change::Write(Pool { limit, by: stamp, ..pool }, ()),
            None => Change::Write(Pool::new(limit, stamp), ()),
        }
    })
}

/// How a budget stands.
///
/// # Errors
/// When it cannot be read.
pub fn look(log: &dyn Log, budget: &Name) -> Result<Option<Pool>, LogError> {
    Ok(value::load(log, &Subject::pool(budget))?.0)
}

/// Takes back the blocks whose holders have not been heard of until their leases ended. Says how many came back.
///
/// # Errors
/// When the fleet cannot be reached.
pub fn sweep(log: &dyn Log, budget: &Name, by: &Name, now_ms: u64) -> Result<usize, LogError> {
    let Some(pool) = look(log, budget)? else { return Ok(0) };
    let mut returned = 0;
    for (holder, block) in &pool.blocks {
        let subject = Subject::grant(budget, holder);
        let (grant, at) = value::load::<Grant>(log, &subject)?;
        let stamp = |count| Stamp { who: by.clone(), count };
        let closed = match grant {
            Some(grant) if grant.number == block.number && grant.closed.is_some() => grant,
            Some(grant) if grant.number == block.number && grant.is_over(now_ms, SKEW_MS) => {
                let mut grant = Grant { by: stamp(grant.by.count + 1), ..grant };
                grant.close(grant.open);
                grant
            }
            Some(grant) if grant.number == block.number => continue,
            // The holder took the block and did not come to open it: nothing of it can have been spent.
            older if block.until_ms.saturating_add(SKEW_MS) < now_ms => {
                let count = older.map_or(0, |grant| grant.by.count + 1);
                let mut grant = Grant::new(block.number, MicroUsd::ZERO, 0, stamp(count));
                grant.close(MicroUsd::ZERO);
                grant
            }
            Some(_) | None => continue,
        };
        let text = value::text_of(&subject, &closed)?;
        let written = log.last(&subject)?.is_some_and(|entry| entry.text == text)
            || matches!(settle::append(log, &subject, at, &text, settle::PATIENCE)?, Settled::Written(_));
        // Otherwise the holder was faster: it lives.
        if let Some(used) = closed.closed.filter(|_| written) {
            let back = ReturnedBlock { holder: holder.clone(), number: block.number, used };
            let now = give_back(log, budget, by, &back)?;
            returned += usize::from(now == Returned::Now);
        }
    }
    Ok(returned)
}

/// A block that comes back.
struct ReturnedBlock {
    holder: Name,
    number: u64,
    used: MicroUsd,
}

fn give_back(log: &dyn Log, budget: &Name, by: &Name, block: &ReturnedBlock) -> Result<Returned, LogError> {
    value::update(log, &Subject::pool(budget), |pool: Option<Pool>| {
        let Some(mut pool) = pool else { return Change::Keep(Returned::Before) };
        match pool.return_block(&block.holder, block.number, block.used) {
            Returned::Before => Change::Keep(Returned::Before),
            Returned::Now => {
                pool.by = Stamp { who: by.clone(), count: pool.by.count + 1 };
                Change::Write(pool, Returned::Now)
            }
        }
    })
}

/// The part of a budget that one process spends. Its name must be its own: two processes with one name would count each other's
/// money.
pub struct Holder<'log> {
    log: &'log dyn Log,
    budget: Name,
    name: Name,
    lease: Duration,
    held: Option<Held>,
    /// Numbers its blocks and its writes.
    count: u64,
}

/// A block that is out.
struct Held {
    number: u64,
    granted: MicroUsd,
    grant_at: Sequence,
    until_ms: u64,
    purse: Purse,
}

/// What a reservation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// So much is promised to the call and must be settled.
    Granted(MicroUsd),
    /// The budget does not have it.
    Exhausted,
    /// There is no such budget.
    NoBudget,
}

/// What the pool said.
enum Taken {
    Granted { granted: MicroUsd, number: u64 },
    Nothing,
    NoBudget,
}

impl<'log> Holder<'log> {
    /// A holder that has nothing yet.
    #[must_use]
    pub const fn new(log: &'log dyn Log, budget: Name, name: Name, lease: Duration) -> Self {
        Self { log, budget, name, lease, held: None, count: 0 }
    }

    /// Promises the worst case of a call.
    ///
    /// # Errors
    /// When the fleet is needed and cannot be reached. Then nothing is promised.
    pub fn reserve(&mut self, amount: MicroUsd, now_ms: u64) -> Result<Reservation, LogError> {
        for attempt in 0..ATTEMPTS {
            if self.reserve_in_hand(amount, now_ms)? {
                return Ok(Reservation::Granted(amount));
            }
            match self.enlarge(amount, now_ms)? {
                Taken::Granted { .. } => {}
                Taken::NoBudget => return Ok(Reservation::NoBudget),
                Taken::Nothing if attempt == 0 && sweep(self.log, &self.budget, &self.name, now_ms)? > 0 => {}
                Taken::Nothing => {
                    // What is left here may be enough for somebody else.
                    self.finish_if_idle()?;
                    return Ok(Reservation::Exhausted);
                }
            }
        }
        Ok(Reservation::Exhausted)
    }

    /// A call that was promised `reserved` has cost `cost`.
    pub fn settle(&mut self, reserved: MicroUsd, cost: MicroUsd) {
        if let Some(held) = &mut self.held {
            held.purse.settle(reserved.get(), cost.get());
        }
    }

    /// Gives everything back that is not spent; calls under way count with their worst case.
    ///
    /// # Errors
    /// When the fleet cannot be reached; the block then comes back when its lease ends.
    pub fn finish(&mut self) -> Result<(), LogError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let used = MicroUsd::new(held.purse.used());
        let mut grant = Grant::new(held.number, MicroUsd::new(held.purse.open), held.until_ms, self.stamp());
        grant.close(used);
        let (used, number) = match self.write_grant(&grant, held.grant_at)? {
            Ok(_) => (used, held.number),
            // Somebody closed it before, with all that was open.
            Err(closed) => (closed.closed.unwrap_or(closed.open), closed.number),
        };
        self.give_back(number, used)
    }

    fn give_back(&self, number: u64, used: MicroUsd) -> Result<(), LogError> {
        let block = ReturnedBlock { holder: self.name.clone(), number, used };
        give_back(self.log, &self.budget, &self.name, &block)?;
        Ok(())
    }

    /// What could still be promised here: the block in hand, and what nobody has taken.
    ///
    /// # Errors
    /// When the fleet cannot be reached.
    pub fn left(&self) -> Result<MicroUsd, LogError> {
        let free = look(self.log, &self.budget)?.map_or(0, |pool| pool.free().get());
        let in_hand = self.held.as_ref().map_or(0, |held| held.granted.get().saturating_sub(held.purse.used()));
        Ok(MicroUsd::new(free.saturating_add(in_hand)))
    }

    /// Gives everything back, unless a call is under way.
    ///
    /// # Errors
    /// See [`Self::finish`].
    pub fn finish_if_idle(&mut self) -> Result<(), LogError> {
        if self.held.as_ref().is_some_and(|held| held.purse.reserved == 0) { self.finish() } else { Ok(()) }
    }

    /// Tries to promise it from the block in hand, opening more of it and renewing the lease as needed.
    fn reserve_in_hand(&mut self, amount: MicroUsd, now_ms: u64) -> Result<bool, LogError> {
        let until_ms = self.until(now_ms);
        let half_ms = u64::try_from(self.lease.as_millis() / 2).unwrap_or(u64::MAX);
        let stamp = self.stamp();
        let Some(held) = &mut self.held else { return Ok(false) };
        let used = held.purse.used();
        if held.granted.get().saturating_sub(used) < amount.get() {
            return Ok(false);
        }
        let is_renewed = now_ms.saturating_add(half_ms) > held.until_ms;
        if held.purse.left() < amount.get() || is_renewed {
            let total = slice_want(held.granted, used, amount).max(MicroUsd::new(held.purse.open));
            let mut grant = Grant::new(held.number, MicroUsd::new(held.purse.open), held.until_ms, stamp);
            if grant.open_slice(total, until_ms) == Opened::Closed {
                return Ok(false);
            }
            let at = held.grant_at;
            let Ok(at) = self.write_grant(&grant, at)? else {
                // Closed by somebody who took this holder for dead. What was open is counted as spent.
                if let Some(held) = self.held.take() {
                    self.give_back(held.number, MicroUsd::new(held.purse.open))?;
                }
                return Ok(false);
            };
            let Some(held) = &mut self.held else { return Ok(false) };
            (held.grant_at, held.until_ms, held.purse.open) = (at, grant.until_ms, grant.open.get());
        }
        Ok(self.held.as_mut().is_some_and(|held| held.purse.reserve(amount.get()) == Reserved::Yes))
    }

    /// Takes a block, or makes the one in hand larger.
    fn enlarge(&mut self, amount: MicroUsd, now_ms: u64) -> Result<Taken, LogError> {
        let until_ms = self.until(now_ms);
        let (number, used, had) = match &self.held {
            Some(held) => (held.number, held.purse.used(), held.granted),
            None => (self.fresh_number()?, 0, MicroUsd::ZERO),
        };
        let (stamp, name) = (self.stamp(), self.name.clone());
        let taken = value::update(self.log, &Subject::pool(&self.budget), |pool: Option<Pool>| {
            let Some(mut pool) = pool else { return Change::Keep(Taken::NoBudget) };
            let want = used.saturating_add(block_want(pool.free(), pool.blocks.len(), amount).get());
            let before = pool.clone();
            match pool.take_block(&name, number, MicroUsd::new(want.max(had.get())), until_ms) {
                Some(granted) if granted.get().saturating_sub(used) >= amount.get() => {
                    pool.by = stamp.clone();
                    let taken = Taken::Granted { granted, number };
                    if before.blocks == pool.blocks { Change::Keep(taken) } else { Change::Write(pool, taken) }
                }
                // Not enough: what there is stays for those who need less.
                Some(_) | None => Change::Keep(Taken::Nothing),
            }
        })?;
        if let Taken::Granted { granted, number } = taken {
            match &mut self.held {
                Some(held) => held.granted = granted,
                None => self.begin(number, granted, amount, until_ms)?,
            }
        }
        Ok(taken)
    }

    fn begin(&mut self, number: u64, granted: MicroUsd, amount: MicroUsd, until_ms: u64) -> Result<(), LogError> {
        let open = slice_want(granted, 0, amount);
        let grant = Grant::new(number, open, until_ms, self.stamp());
        let at = self.log.last(&self.grant())?.map_or(Sequence(0), |entry| entry.sequence);
        if let Ok(grant_at) = self.write_grant(&grant, at)? {
            let purse = Purse { open: open.get(), ..Purse::default() };
            self.held = Some(Held { number, granted, grant_at, until_ms, purse });
        }
        Ok(())
    }

    /// Writes the grant; `Err` holds what somebody else wrote in its place.
    fn write_grant(&self, grant: &Grant, at: Sequence) -> Result<Result<Sequence, Grant>, LogError> {
        let subject = self.grant();
        let text = value::text_of(&subject, grant)?;
        match settle::append(self.log, &subject, at, &text, settle::PATIENCE)? {
            Settled::Written(at) => Ok(Ok(at)),
            Settled::Fenced(entry) => {
                let found = serde_json::from_str(&entry.text);
                Ok(Err(found.map_err(|error| LogError::damaged(&subject, error.to_string()))?))
            }
        }
    }

    /// A number that no block of this holder had.
    fn fresh_number(&self) -> Result<u64, LogError> {
        let grant = value::load::<Grant>(self.log, &self.grant())?.0;
        let pool = look(self.log, &self.budget)?;
        let out = pool.and_then(|pool| pool.blocks.get(&self.name).map(|block| block.number));
        if let Some((number, grant)) = out.zip(grant.clone())
            && grant.number == number
        {
            // A block of an earlier time that was closed and did not come back.
            self.give_back(number, grant.closed.unwrap_or(grant.open))?;
        }
        Ok(out.max(grant.map(|grant| grant.number)).map_or(1, |number| number + 1))
    }

    fn grant(&self) -> Subject {
        Subject::grant(&self.budget, &self.name)
    }

    fn stamp(&mut self) -> Stamp {
        self.count += 1;
        Stamp { who: self.name.clone(), count: self.count }
    }

    fn until(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add(u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Clocks of machines may differ by so much; the start check refuses more. It delays the return of a block and is not what
/// keeps the budget.
pub const SKEW_MS: u64 = 2_000;
/// A block in hand, a larger one, one after a sweep.
const ATTEMPTS: usize = 4;
