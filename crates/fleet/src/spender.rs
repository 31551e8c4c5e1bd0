//! The part of a process in the fleet's budgets and rates: one thread holds its blocks, promises from them, and gives back what is not
//! used.

use crate::budget::{Holder, Reservation};
use crate::log::{Log, LogError};
use crate::stash::Stashes;
use crate::subject::{Name, POOLS, RATES};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::{Duration, Instant};
use tripwire_core::units::MicroUsd;
use tripwire_workspace::clock;

/// The way to ask; when the last one is gone, every block is given back.
#[derive(Debug, Clone)]
pub struct Spender {
    asked: Sender<SpenderAsk>,
}

/// Which budgets a call is paid from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PayingBudgets {
    /// Those that must be there.
    pub named: Vec<Name>,
    /// Those that count where they exist.
    pub possible: Vec<Name>,
}

/// Why nothing is promised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpendError {
    /// A budget does not have it.
    #[error("the fleet's budget `{budget}` has {left} micro-dollars left")]
    Exhausted {
        /// Which.
        budget: Name,
        /// What could still be promised.
        left: MicroUsd,
    },
    /// A budget that was named is not there.
    #[error("the fleet has no budget `{budget}`; `tripwire fleet budget {budget} --limit 100usd` makes it")]
    NoBudget {
        /// Which.
        budget: Name,
    },
    /// A rate is used up for now.
    #[error("the fleet's rate `{rate}` is used up for {} ms", wait.as_millis())]
    TooFast {
        /// Which.
        rate: Name,
        /// How long to wait.
        wait: Duration,
    },
    /// The fleet does not answer.
    #[error(transparent)]
    Log(#[from] LogError),
}

#[derive(Debug)]
enum SpenderAsk {
    Reserve { budgets: PayingBudgets, amount: MicroUsd, answer: SyncSender<Result<u64, SpendError>> },
    Settle { promise: u64, cost: MicroUsd },
    Finish { answer: SyncSender<()> },
}

impl Spender {
    /// Begins under a name that no other process has.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn begin(log: Arc<dyn Log>, name: Name) -> std::io::Result<Self> {
        let (asked, received) = mpsc::channel();
        let builder = std::thread::Builder::new().name("fleet spender".to_owned());
        // It ends with the last of those who may ask.
        drop(builder.spawn(move || BudgetsInHand::new(log.as_ref(), name).answer_all(&received))?);
        Ok(Self { asked })
    }

    /// Promises the worst case of a call from each of the budgets, or from none. Rates of the same names count one call.
    ///
    /// # Errors
    /// When one of them does not have it, a rate is used up, or the fleet does not answer.
    pub fn reserve(&self, budgets: PayingBudgets, amount: MicroUsd) -> Result<u64, SpendError> {
        let (answer, answered) = mpsc::sync_channel(1);
        let gone = || SpendError::Log(LogError::Unreachable("the owner of the budgets is gone".to_owned()));
        self.asked.send(SpenderAsk::Reserve { budgets, amount, answer }).map_err(|_gone| gone())?;
        answered.recv().unwrap_or_else(|_gone| Err(gone()))
    }

    /// Says what a promised call cost. It does not wait.
    pub fn settle(&self, promise: u64, cost: MicroUsd) {
        // Without a thread there is no block either: what was opened counts as spent.
        drop(self.asked.send(SpenderAsk::Settle { promise, cost }));
    }

    /// Gives every block back and waits for that.
    pub fn finish(&self) {
        let (answer, answered) = mpsc::sync_channel(1);
        if self.asked.send(SpenderAsk::Finish { answer }).is_ok() {
            answered.recv_timeout(FINISH_WITHIN).unwrap_or_default();
        }
    }
}

/// What the thread knows.
struct BudgetsInHand<'log> {
    log: &'log dyn Log,
    name: Name,
    holders: BTreeMap<Name, (Holder<'log>, Instant)>,
    /// The budgets and rates that exist, as of a moment ago.
    existing: Option<(Existing, Instant)>,
    stashes: Stashes,
    promises: BTreeMap<u64, Vec<(Name, MicroUsd)>>,
    count: u64,
}

impl<'log> BudgetsInHand<'log> {
    fn new(log: &'log dyn Log, name: Name) -> Self {
        Self {
            log,
            name,
            holders: BTreeMap::new(),
            existing: None,
            stashes: Stashes::default(),
            promises: BTreeMap::new(),
            count: 0,
        }
    }

    fn answer_all(mut self, received: &Receiver<SpenderAsk>) {
        loop {
            match received.recv_timeout(LOOK_EVERY) {
                Ok(SpenderAsk::Reserve { budgets, amount, answer }) => {
                    // The caller waits for it.
                    drop(answer.send(self.reserve(&budgets, amount)));
                }
                Ok(SpenderAsk::Settle { promise, cost }) => self.settle(promise, cost),
                Ok(SpenderAsk::Finish { answer }) => {
                    self.give_back(Duration::ZERO);
                    answer.send(()).unwrap_or_default();
                }
                Err(RecvTimeoutError::Timeout) => self.give_back(IDLE),
                Err(RecvTimeoutError::Disconnected) => return self.give_back(Duration::ZERO),
            }
        }
    }

    fn reserve(&mut self, budgets: &PayingBudgets, amount: MicroUsd) -> Result<u64, SpendError> {
        let mut paying = budgets.named.clone();
        let names = budgets.named.iter().chain(&budgets.possible);
        if names.clone().next().is_some() {
            let existing = self.existing()?;
            for rate in names.filter(|name| existing.rates.contains(*name)) {
                if let Some(wait) = self.stashes.take(self.log, rate, &self.name)? {
                    return Err(SpendError::TooFast { rate: rate.clone(), wait });
                }
            }
            paying.extend(budgets.possible.iter().filter(|budget| existing.budgets.contains(*budget)).cloned());
        }
        let mut promised: Vec<(Name, MicroUsd)> = Vec::new();
        for budget in paying {
            let answer = self.reserve_one(&budget, amount);
            if let Err(error) = answer {
                for (budget, amount) in promised {
                    self.settle_one(&budget, amount, MicroUsd::ZERO);
                }
                return Err(error);
            }
            promised.push((budget, amount));
        }
        self.count += 1;
        self.promises.insert(self.count, promised);
        Ok(self.count)
    }

    fn reserve_one(&mut self, budget: &Name, amount: MicroUsd) -> Result<(), SpendError> {
        let (log, name) = (self.log, &self.name);
        let fresh = || (Holder::new(log, budget.clone(), name.clone(), LEASE), Instant::now());
        let (holder, used) = self.holders.entry(budget.clone()).or_insert_with(fresh);
        *used = Instant::now();
        match holder.reserve(amount, clock::now().epoch_ms())? {
            Reservation::Granted(_) => Ok(()),
            Reservation::NoBudget => Err(SpendError::NoBudget { budget: budget.clone() }),
            Reservation::Exhausted => Err(SpendError::Exhausted { budget: budget.clone(), left: holder.left()? }),
        }
    }

    fn settle(&mut self, promise: u64, cost: MicroUsd) {
        for (budget, amount) in self.promises.remove(&promise).unwrap_or_default() {
            self.settle_one(&budget, amount, cost);
        }
    }

    fn settle_one(&mut self, budget: &Name, amount: MicroUsd, cost: MicroUsd) {
        if let Some((holder, _)) = self.holders.get_mut(budget) {
            holder.settle(amount, cost);
        }
    }

    /// Gives back the blocks that nobody used for so long: others may need them. One that cannot be given back now returns when its
    /// lease is over.
    fn give_back(&mut self, unused: Duration) {
        for (holder, used) in self.holders.values_mut() {
            if used.elapsed() >= unused {
                drop(holder.finish_if_idle());
            }
        }
    }

    /// The budgets and rates of the fleet. While it does not answer, those that it had count: the dead-man switch bounds that time.
    fn existing(&mut self) -> Result<Existing, LogError> {
        let known = match self.existing.take() {
            Some((existing, at)) if at.elapsed() < KNOWN_FOR => {
                self.existing = Some((existing.clone(), at));
                return Ok(existing);
            }
            older => older.map(|(existing, _)| existing),
        };
        let existing = match (Existing::read(self.log), known) {
            (Ok(existing), _) | (Err(_), Some(existing)) => existing,
            (Err(error), None) => return Err(error),
        };
        self.existing = Some((existing.clone(), Instant::now()));
        Ok(existing)
    }
}

/// The names of what exists.
#[derive(Debug, Clone)]
struct Existing {
    budgets: BTreeSet<Name>,
    rates: BTreeSet<Name>,
}

impl Existing {
    fn read(log: &dyn Log) -> Result<Self, LogError> {
        let names = |prefix: &str| -> Result<BTreeSet<Name>, LogError> {
            let subjects = log.subjects(prefix)?;
            Ok(subjects.iter().filter_map(|subject| Name::parse(subject.last_word()).ok()).collect())
        };
        Ok(Self { budgets: names(POOLS)?, rates: names(RATES)? })
    }
}

/// A block of a process that died returns after so long.
const LEASE: Duration = Duration::from_secs(30);
/// A block that nobody used for so long is given back before its lease ends.
const IDLE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a list of the fleet's budgets and rates counts.
const KNOWN_FOR: Duration = Duration::from_secs(5);
const FINISH_WITHIN: Duration = Duration::from_secs(10);
