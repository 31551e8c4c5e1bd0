//! A budget over many machines, as arithmetic. No clock, no storage: a model checker can run the same transitions.
//!
//! The pool hands out blocks, so that not every model call has to ask it. A holder opens its block slice by slice in a grant of
//! its own, and spends only what it opened. The machine that closes a grant decides, by the order of the log, how much of it can have
//! been spent: what was opened, and not a micro-dollar more. So a dead machine's block returns without trusting its clock.
//! INVARIANT: `settled` plus everything granted is never above the limit, unless a provider charged more than was reserved.

use crate::subject::Name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tripwire_core::units::MicroUsd;

/// One budget: what is settled, and the blocks that are out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pool {
    /// The most that may ever be spent.
    pub limit: MicroUsd,
    /// What blocks that came back had spent.
    pub settled: MicroUsd,
    /// The blocks that are out, by holder; one each.
    pub blocks: BTreeMap<Name, Block>,
    /// Who wrote this, so that no two texts of different writers are equal.
    pub by: Stamp,
}

/// A part of a budget that a holder has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Block {
    /// Which of the holder's blocks; each is used once.
    pub number: u64,
    /// How much.
    pub granted: MicroUsd,
    /// When it may be taken back, unless the holder's grant says later.
    pub until_ms: u64,
}

/// Who wrote a value, and the how-manieth of theirs it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The writer.
    pub who: Name,
    /// Counts the writer's values.
    pub count: u64,
}

impl Pool {
    /// A fresh budget.
    #[must_use]
    pub const fn new(limit: MicroUsd, by: Stamp) -> Self {
        Self { limit, settled: MicroUsd::new(0), blocks: BTreeMap::new(), by }
    }

    /// What is neither spent nor out.
    #[must_use]
    pub fn free(&self) -> MicroUsd {
        let out: u64 = self.blocks.values().map(|block| block.granted.get()).sum();
        MicroUsd::new(self.limit.get().saturating_sub(self.settled.get()).saturating_sub(out))
    }

    /// Hands a block out, or makes one larger: afterwards the holder's block has `want`, or as much as there is. Doing it twice
    /// is doing it once. `None` if there is nothing to give, or the holder's block is another one.
    pub fn take_block(&mut self, holder: &Name, number: u64, want: MicroUsd, until_ms: u64) -> Option<MicroUsd> {
        let free = self.free().get();
        if let Some(block) = self.blocks.get_mut(holder) {
            if block.number != number {
                return None;
            }
            let more = want.get().saturating_sub(block.granted.get()).min(free);
            block.granted = MicroUsd::new(block.granted.get() + more);
            block.until_ms = block.until_ms.max(until_ms);
            return Some(block.granted);
        }
        let granted = MicroUsd::new(want.get().min(free));
        if granted.get() == 0 || self.blocks.len() >= HOLDERS_MAX {
            return None;
        }
        self.blocks.insert(holder.clone(), Block { number, granted, until_ms });
        Some(granted)
    }

    /// Takes a block back of which so much was spent. Doing it twice is doing it once; says whether it was the first time.
    pub fn return_block(&mut self, holder: &Name, number: u64, used: MicroUsd) -> Returned {
        match self.blocks.get(holder) {
            Some(block) if block.number == number => {
                self.blocks.remove(holder);
                self.settled = MicroUsd::new(self.settled.get().saturating_add(used.get()));
                Returned::Now
            }
            Some(_) | None => Returned::Before,
        }
    }
}

/// Whether a block came back now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// It did.
    Now,
    /// It had come back before, or never was out.
    Before,
}

/// What a holder may spend of its block. Only the holder opens it, and anyone may close it when its lease is over.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grant {
    /// The block.
    pub number: u64,
    /// How much of it was opened: the most that can have been spent.
    pub open: MicroUsd,
    /// When others may close it.
    pub until_ms: u64,
    /// Once it is closed: how much counts as spent. Nothing opens it again.
    pub closed: Option<MicroUsd>,
    /// Who wrote this.
    pub by: Stamp,
}

impl Grant {
    /// The grant of a fresh block, of which so much is open.
    #[must_use]
    pub const fn new(number: u64, open: MicroUsd, until_ms: u64, by: Stamp) -> Self {
        Self { number, open, until_ms, closed: None, by }
    }

    /// Opens it up to a total, and renews its lease. A closed one stays closed.
    pub fn open_slice(&mut self, total: MicroUsd, until_ms: u64) -> Opened {
        if self.closed.is_some() {
            return Opened::Closed;
        }
        self.open = self.open.max(total);
        self.until_ms = self.until_ms.max(until_ms);
        Opened::UpTo(self.open)
    }

    /// Closes it: by its holder with what was spent, by anyone else with all that was opened. The first word counts.
    pub fn close(&mut self, used: MicroUsd) -> MicroUsd {
        *self.closed.get_or_insert(used)
    }

    /// Whether others may close it at this time, by a clock that may be wrong by so much.
    #[must_use]
    pub const fn is_over(&self, now_ms: u64, skew_ms: u64) -> bool {
        self.until_ms.saturating_add(skew_ms) < now_ms
    }
}

/// Whether a grant is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// So far.
    UpTo(MicroUsd),
    /// Somebody closed it: the holder may spend nothing more of it.
    Closed,
}

/// What a holder has in hand: opened, spent, promised to calls that are under way. It lives in memory, because what it forgets
/// counts as spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Purse {
    /// How much is open.
    pub open: u64,
    /// What calls that have ended cost.
    pub spent: u64,
    /// The worst case of the calls under way.
    pub reserved: u64,
}

impl Purse {
    /// What may still be promised.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.open.saturating_sub(self.spent).saturating_sub(self.reserved)
    }

    /// Promises the worst case of a call, if it is there.
    pub const fn reserve(&mut self, amount: u64) -> Reserved {
        if amount > self.left() {
            return Reserved::No;
        }
        self.reserved += amount;
        Reserved::Yes
    }

    /// A call that was promised so much has cost so much.
    pub const fn settle(&mut self, reserved: u64, cost: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.spent = self.spent.saturating_add(cost);
    }

    /// What counts as spent if nothing more happens: calls under way count with their worst case.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.spent.saturating_add(self.reserved)
    }
}

/// Whether a purse had enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It is promised.
    Yes,
    /// It is not there.
    No,
}

/// How large a block to ask for: what is needed, and a share of what is free that shrinks with it, so that little is stranded in
/// blocks when the budget ends.
#[must_use]
pub fn block_want(free: MicroUsd, holders: usize, needed: MicroUsd) -> MicroUsd {
    let share = free.get() / (SHARES * u64::try_from(holders.max(1)).unwrap_or(u64::MAX));
    MicroUsd::new(needed.get().max(share.min(needed.get().saturating_mul(CALLS_PER_BLOCK))))
}

/// How much of a block to open at once: what is needed, and room for some calls. What is open is lost if the holder dies.
#[must_use]
pub fn slice_want(granted: MicroUsd, used: u64, needed: MicroUsd) -> MicroUsd {
    let room = (granted.get().saturating_sub(used) / SLICES).max(needed.get());
    MicroUsd::new(granted.get().min(used.saturating_add(room)))
}

/// Of what is free, a block takes at most this part, divided by the holders.
const SHARES: u64 = 2;
/// A block is enough for so many calls.
const CALLS_PER_BLOCK: u64 = 64;
/// A block is opened in so many parts.
const SLICES: u64 = 4;
/// Blocks of one budget that are out at once; the value stays far below what an entry may hold.
pub const HOLDERS_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn stamp() -> Stamp {
        Stamp { who: name("test"), count: 0 }
    }

    fn usd(amount: u64) -> MicroUsd {
        MicroUsd::new(amount)
    }

    #[test]
    fn fleet_3_blocks_never_sum_to_more_than_the_limit_and_repeats_change_nothing() {
        let mut pool = Pool::new(usd(100), stamp());
        assert_eq!(pool.take_block(&name("a"), 1, usd(70), 9), Some(usd(70)));
        assert_eq!(pool.take_block(&name("a"), 1, usd(70), 9), Some(usd(70)), "twice is once");
        assert_eq!(pool.take_block(&name("b"), 1, usd(70), 9), Some(usd(30)), "as much as there is");
        assert_eq!(pool.take_block(&name("c"), 1, usd(1), 9), None);
        assert_eq!(pool.take_block(&name("a"), 2, usd(1), 9), None, "another block of the same holder is out");
        assert_eq!(pool.return_block(&name("a"), 1, usd(20)), Returned::Now);
        assert_eq!(pool.return_block(&name("a"), 1, usd(20)), Returned::Before);
        assert_eq!((pool.settled, pool.free()), (usd(20), usd(50)));
        assert_eq!(pool.take_block(&name("b"), 1, usd(60), 9), Some(usd(60)), "a block grows");
        assert_eq!(pool.free(), usd(20));
    }

    #[test]
    fn a_closed_grant_keeps_its_first_word_and_opens_no_more() {
        let mut grant = Grant::new(1, usd(10), 50, stamp());
        assert_eq!(grant.open_slice(usd(25), 80), Opened::UpTo(usd(25)));
        assert_eq!(grant.open_slice(usd(5), 60), Opened::UpTo(usd(25)), "nothing is taken back by a late message");
        assert!(!grant.is_over(80, 0) && !grant.is_over(90, 20) && grant.is_over(90, 5));
        assert_eq!(grant.close(usd(25)), usd(25));
        assert_eq!(grant.close(usd(3)), usd(25));
        assert_eq!(grant.open_slice(usd(99), 99), Opened::Closed);
    }

    #[test]
    fn a_purse_promises_only_what_is_open() {
        let mut purse = Purse { open: 10, ..Purse::default() };
        assert_eq!(purse.reserve(6), Reserved::Yes);
        assert_eq!(purse.reserve(5), Reserved::No);
        purse.settle(6, 2);
        assert_eq!((purse.left(), purse.used()), (8, 2));
        assert_eq!(purse.reserve(8), Reserved::Yes);
        assert_eq!(purse.used(), 10);
    }

    #[test]
    fn blocks_shrink_with_the_budget_and_never_below_the_need() {
        assert_eq!(block_want(usd(1_000_000), 1, usd(100)), usd(6_400));
        assert_eq!(block_want(usd(10_000), 10, usd(100)), usd(500));
        assert_eq!(block_want(usd(10), 10, usd(100)), usd(100));
        assert_eq!(slice_want(usd(400), 0, usd(10)), usd(100));
        assert_eq!(slice_want(usd(400), 390, usd(10)), usd(400));
        assert_eq!(slice_want(usd(400), 0, usd(900)), usd(400));
    }
}
