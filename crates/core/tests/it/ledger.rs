//! The ledger under random schedules of parallel calls, against a scripted model that keeps its own books.
//!
//! The clock is a day that moves on (and sometimes back), the network a list of calls in flight of which any may be the next
//! to end. Nothing sleeps.

use crate::written::members;
use std::collections::BTreeMap;
use tripwire_core::label::Label;
use tripwire_core::ledger::{
    AccountId, AccountKind, AccountSettings, Budget, CallEnd, Doubt, Ledger, ModelUsage, Period, ReservationId,
    ReserveError, SettledCall, UtcDate,
};
use tripwire_core::units::{Count, MicroUsd, Tokens};
use tripwire_core::usage::{AudioInput, FigureSource, Usage};
use tripwire_testing::sized;

/// A generator of random figures that is the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

struct Flight {
    id: ReservationId,
    caller: AccountId,
    reserved: u64,
    /// What the model has charged so far.
    charged: u64,
    day: UtcDate,
}

/// The world around the ledger: the model's own books, and what the journal would hold.
struct World {
    dice: Dice,
    ledger: Ledger,
    accounts: Vec<(AccountId, AccountSettings)>,
    flights: Vec<Flight>,
    /// What the model charged each caller.
    model: BTreeMap<AccountId, u64>,
    journal: Vec<SettledCall>,
    day: u64,
    refused: u64,
    shorts: u64,
}

fn date(day: u64) -> UtcDate {
    UtcDate { year: 2026, month: 1 + (day / 28) as u8 % 12, day: 1 + (day % 28) as u8 }
}

/// The record of a call that ended well.
fn record(path: Vec<AccountId>, booked: MicroUsd) -> SettledCall {
    SettledCall {
        audio: AudioInput::default(),
        other_models: Vec::new(),
        path,
        day: date(0),
        provider: Label::default(),
        model: Label::default(),
        end: CallEnd::Complete,
        status: Count::new(200),
        usage: Usage::default(),
        source: FigureSource::Told,
        doubt: None,
        reserved: booked,
        micro_usd: booked,
        excess: MicroUsd::ZERO,
        price_estimated: false,
        request: None,
    }
}

fn id(kind: AccountKind, name: &str) -> AccountId {
    AccountId::new(kind, name)
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            dice.below(2);
        }
        let mut budget = |most: u64| {
            let period = [Period::Whole, Period::Day, Period::Month][dice.below(3) as usize];
            (dice.below(4) != 0).then(|| Budget { limit: MicroUsd::new(dice.below(most)), period })
        };
        let mut accounts = vec![
            (id(AccountKind::Org, "all"), AccountSettings { parent: None, budget: budget(40_000) }),
            (
                id(AccountKind::Team, "one"),
                AccountSettings { parent: Some(id(AccountKind::Org, "all")), budget: budget(30_000) },
            ),
            (
                id(AccountKind::Session, "s"),
                AccountSettings { parent: Some(id(AccountKind::Team, "one")), budget: budget(20_000) },
            ),
        ];
        for name in ["a", "b", "c"] {
            let parent = Some(id(AccountKind::Session, "s"));
            accounts.push((id(AccountKind::Agent, name), AccountSettings { parent, budget: budget(12_000) }));
        }
        let parent = Some(id(AccountKind::Team, "one"));
        accounts.push((id(AccountKind::Key, "k"), AccountSettings { parent, budget: budget(15_000) }));
        let mut ledger = Ledger::default();
        ledger.configure(accounts.clone());
        let (model, journal) = (BTreeMap::new(), Vec::new());
        Self { dice, ledger, accounts, flights: Vec::new(), model, journal, day: 0, refused: 0, shorts: 0 }
    }

    fn caller(&mut self) -> AccountId {
        let kinds = [AccountKind::Agent, AccountKind::Key, AccountKind::Session];
        match kinds[self.dice.below(3) as usize] {
            AccountKind::Agent => id(AccountKind::Agent, ["a", "b", "c"][self.dice.below(3) as usize]),
            AccountKind::Key => id(AccountKind::Key, "k"),
            AccountKind::Session | AccountKind::Org | AccountKind::Team => id(AccountKind::Session, "s"),
        }
    }

    fn start(&mut self, caller: AccountId) {
        let worst = self.dice.below(4_000);
        let left = self.ledger.left(&caller, date(self.day));
        match self.ledger.reserve(&caller, MicroUsd::new(worst), date(self.day)) {
            Ok(id) => {
                assert!(left.unwrap().is_none_or(|left| left.get() >= worst));
                let day = date(self.day);
                self.flights.push(Flight { id, caller, reserved: worst, charged: 0, day });
            }
            Err(ReserveError::Spent { left: found, wanted, .. }) => {
                assert!(found < wanted);
                self.refused += 1;
            }
            Err(ReserveError::Closed { .. }) => self.refused += 1,
            Err(ReserveError::Unknown { account }) => panic!("{account} is configured"),
        }
    }

    /// Ends a call: the model charges, and the ledger books the same.
    fn end(&mut self, position: usize, charge: u64) -> AccountId {
        let flight = self.flights.swap_remove(position);
        let cost = flight.charged + charge;
        *self.model.entry(flight.caller.clone()).or_default() += cost;
        let settled = self.ledger.settle(flight.id, MicroUsd::new(cost), date(self.day)).unwrap();
        assert_eq!(settled.is_short(), cost > flight.reserved);
        assert_eq!(settled.excess.get(), cost.saturating_sub(flight.reserved));
        self.shorts += u64::from(settled.is_short());
        assert!(self.ledger.settle(flight.id, MicroUsd::new(cost), date(self.day)).is_none(), "settled once");
        self.journal.push(SettledCall {
            day: flight.day,
            reserved: MicroUsd::new(flight.reserved),
            excess: settled.excess,
            ..record(settled.path, settled.booked)
        });
        flight.caller
    }

    fn step(&mut self) {
        let flying = self.flights.len() as u64;
        match self.dice.below(16) {
            0..=5 => {
                let caller = self.caller();
                self.start(caller);
            }
            // A whole reply, a broken or a cancelled one: some part of the worst case, all of it, rarely more.
            6..=9 if flying > 0 => {
                let at = self.dice.below(flying) as usize;
                let room = self.flights[at].reserved - self.flights[at].charged.min(self.flights[at].reserved);
                let charge = match self.dice.below(40) {
                    0 => room + 1 + self.dice.below(500),
                    1..=4 => room,
                    _ => self.dice.below(room + 1),
                };
                self.end(at, charge);
            }
            // Tokens stream by.
            10 if flying > 0 => {
                let at = self.dice.below(flying) as usize;
                let room = self.flights[at].reserved.saturating_sub(self.flights[at].charged);
                self.flights[at].charged += self.dice.below(room + 1);
            }
            // The request never left.
            11 if flying > 0 => {
                let at = self.dice.below(flying) as usize;
                if self.flights[at].charged == 0 {
                    let flight = self.flights.swap_remove(at);
                    self.ledger.release(flight.id);
                }
            }
            // It broke, and is tried again, here or with another provider, by the same caller.
            12 if flying > 0 => {
                let at = self.dice.below(flying) as usize;
                let caller = self.end(at, 0);
                self.start(caller);
            }
            13 => self.day += self.dice.below(3) * self.dice.below(12),
            14 => self.day = self.day.saturating_sub(self.dice.below(2)),
            15 => match self.dice.below(6) {
                0 => self.restart(),
                1 => self.ledger.configure(self.accounts.clone()),
                _ => {}
            },
            _ => {}
        }
    }

    /// The process is killed: what was in flight is charged by nobody here, what was settled is in the journal.
    fn restart(&mut self) {
        self.flights.clear();
        let before = std::mem::take(&mut self.ledger);
        self.ledger.configure(self.accounts.clone());
        for call in &self.journal {
            self.ledger.restore(call);
        }
        assert_eq!(self.ledger.open_calls(), 0);
        for (account, found) in self.ledger.accounts() {
            let known = before.account(account).unwrap();
            assert_eq!((found.total(), found.calls()), (known.total(), known.calls()), "{account}");
            assert!(found.reserved().is_zero());
        }
    }

    fn check(&self, seed: u64) {
        for (id, account) in self.ledger.accounts() {
            let Some(budget) = account.budget() else { continue };
            let bound = budget.limit.plus(account.excess());
            assert!(account.settled().plus(account.reserved()) <= bound, "seed {seed}: {id} overshot: {account:?}");
        }
    }

    fn finish(mut self, seed: u64) -> (u64, u64, u64) {
        while !self.flights.is_empty() {
            self.end(0, 0);
            self.check(seed);
        }
        let mut booked: BTreeMap<AccountId, u64> = BTreeMap::new();
        for (caller, charged) in &self.model {
            let mut next = Some(caller.clone());
            while let Some(id) = next {
                *booked.entry(id.clone()).or_default() += charged;
                next = self.ledger.account(&id).unwrap().parent().cloned();
            }
        }
        for (id, account) in self.ledger.accounts() {
            assert_eq!(account.total().get(), booked.get(id).copied().unwrap_or(0), "seed {seed}: {id}");
            assert!(account.reserved().is_zero(), "seed {seed}: {id}");
        }
        assert_eq!(self.ledger.open_calls(), 0);
        (self.journal.len() as u64, self.refused, self.shorts)
    }
}

#[test]
fn gate_8_no_schedule_of_parallel_calls_overshoots_a_budget_or_loses_a_settlement() {
    let base = std::env::var("TRIPWIRE_SEED").ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let schedules: u64 = sized(1_000, 12_000);
    let (mut settled, mut refused, mut shorts) = (0, 0, 0);
    for number in 0..schedules {
        let seed = base.wrapping_add(number);
        let mut world = World::new(seed);
        for _ in 0..80 {
            world.step();
            world.check(seed);
        }
        let (calls, refusals, short) = world.finish(seed);
        (settled, refused, shorts) = (settled + calls, refused + refusals, shorts + short);
    }
    // A generator that never meets a limit would prove nothing.
    assert!(settled > schedules * 5 && refused > schedules && shorts > schedules / 20, "{settled} {refused} {shorts}");
}

fn day(day: u8) -> UtcDate {
    UtcDate { year: 2026, month: 11, day }
}

fn one_key(limit: u64, period: Period) -> (Ledger, AccountId) {
    let key = id(AccountKind::Key, "ci");
    let mut ledger = Ledger::default();
    let budget = Some(Budget { limit: MicroUsd::new(limit), period });
    ledger.configure([(key.clone(), AccountSettings { parent: None, budget })]);
    (ledger, key)
}

#[test]
fn gate_8_a_day_begins_anew_at_midnight_and_never_because_the_clock_stepped_back() {
    let (mut ledger, key) = one_key(100, Period::Day);
    let first = ledger.reserve(&key, MicroUsd::new(80), day(16)).unwrap();
    assert!(ledger.reserve(&key, MicroUsd::new(30), day(16)).is_err());
    let second = ledger.reserve(&key, MicroUsd::new(90), day(17)).unwrap();
    ledger.settle(first, MicroUsd::new(80), day(17)).unwrap();
    assert_eq!(ledger.account(&key).unwrap().settled(), MicroUsd::ZERO, "it belongs to the day it began on");
    ledger.settle(second, MicroUsd::new(90), day(17)).unwrap();
    assert_eq!(ledger.left(&key, day(16)), Ok(Some(MicroUsd::new(10))), "yesterday does not come back");
    assert_eq!(ledger.account(&key).unwrap().total(), MicroUsd::new(170));
}

#[test]
fn gate_8_a_record_writes_down_only_what_it_has_to_say() {
    let usual = record(vec![AccountId::session("s")], MicroUsd::new(5));
    let other = ModelUsage { model: Label::cut("m"), usage: Usage::default() };
    let plain = "day end microUsd model path provider reserved status usage";
    assert_eq!(members(&usual), plain);
    for (unusual, name) in [
        (
            SettledCall { audio: AudioInput { fresh: Tokens::new(1), ..AudioInput::default() }, ..usual.clone() },
            "audio",
        ),
        (SettledCall { doubt: Some(Doubt::TooLow), ..usual.clone() }, "doubt"),
        (SettledCall { excess: MicroUsd::new(1), ..usual.clone() }, "excess"),
        (SettledCall { other_models: vec![other], ..usual.clone() }, "otherModels"),
        (SettledCall { price_estimated: true, ..usual.clone() }, "priceEstimated"),
        (SettledCall { source: FigureSource::Estimated, ..usual.clone() }, "source"),
    ] {
        let mut names: Vec<&str> = plain.split(' ').chain([name]).collect();
        names.sort_unstable();
        assert_eq!(members(&unusual), names.join(" "));
    }
}

#[test]
fn gate_8_a_call_of_an_earlier_process_counts_in_the_budget_of_the_day_it_began_on() {
    let (mut before, key) = one_key(100, Period::Day);
    let records = [(16, 30), (17, 20)].map(|(began, paid)| {
        let call = before.reserve(&key, MicroUsd::new(paid), day(began)).unwrap();
        let settled = before.settle(call, MicroUsd::new(paid), day(began)).unwrap();
        SettledCall { day: day(began), reserved: MicroUsd::new(paid), ..record(settled.path, settled.booked) }
    });
    let (mut ledger, key) = one_key(100, Period::Day);
    // The record of today may be read first.
    records.iter().rev().for_each(|call| ledger.restore(call));
    assert_eq!(ledger.left(&key, day(17)), Ok(Some(MicroUsd::new(80))));
    let account = ledger.account(&key).unwrap();
    assert_eq!((account.total(), account.calls()), (MicroUsd::new(50), 2));
}

#[test]
fn gate_8_a_call_that_costs_more_than_reserved_closes_its_caller_until_a_person_has_looked() {
    let (mut ledger, key) = one_key(100, Period::Month);
    let call = ledger.reserve(&key, MicroUsd::new(10), day(16)).unwrap();
    let settled = ledger.settle(call, MicroUsd::new(25), day(16)).unwrap();
    assert!(settled.is_short());
    assert_eq!((settled.booked, settled.excess), (MicroUsd::new(25), MicroUsd::new(15)));
    assert_eq!(ledger.reserve(&key, MicroUsd::new(1), day(17)), Err(ReserveError::Closed { account: key.clone() }));
    let budget = Some(Budget { limit: MicroUsd::new(100), period: Period::Month });
    ledger.configure([(key.clone(), AccountSettings { parent: None, budget })]);
    assert_eq!(ledger.left(&key, day(17)), Ok(Some(MicroUsd::new(75))));
}

#[test]
fn gate_8_an_account_that_the_configuration_no_longer_names_takes_no_calls_and_keeps_its_figures() {
    let (mut ledger, key) = one_key(100, Period::Whole);
    let call = ledger.reserve(&key, MicroUsd::new(10), day(16)).unwrap();
    ledger.configure([]);
    assert_eq!(ledger.reserve(&key, MicroUsd::new(1), day(16)), Err(ReserveError::Unknown { account: key.clone() }));
    ledger.settle(call, MicroUsd::new(4), day(16)).unwrap();
    assert_eq!(ledger.account(&key).unwrap().total(), MicroUsd::new(4));
}

/// A session with two agents below it.
fn one_tree(limit: u64) -> (Ledger, AccountId, [AccountId; 2]) {
    let session = AccountId::session("s");
    let agents = ["model", "advisor"].map(|name| AccountId::agent(&session, name));
    let mut ledger = Ledger::default();
    let budget = Some(Budget { limit: MicroUsd::new(limit), period: Period::Whole });
    ledger.set(session.clone(), AccountSettings { parent: None, budget });
    for agent in &agents {
        ledger.set(agent.clone(), AccountSettings { parent: Some(session.clone()), budget: None });
    }
    (ledger, session, agents)
}

#[test]
fn gate_8_an_agent_that_costs_more_than_reserved_closes_its_session_and_so_all_other_agents() {
    let (mut ledger, session, [model, advisor]) = one_tree(100);
    assert_eq!(model.to_string(), "agent s/model");
    let call = ledger.reserve(&model, MicroUsd::new(10), day(16)).unwrap();
    let journal = ledger.settle(call, MicroUsd::new(11), day(16)).unwrap();
    assert_eq!(journal.path, [model.clone(), session.clone()]);
    assert!(ledger.account(&session).unwrap().is_closed() && !ledger.account(&model).unwrap().is_closed());
    let closed = Err(ReserveError::Closed { account: session.clone() });
    for agent in [&advisor, &model, &session] {
        assert_eq!(ledger.reserve(agent, MicroUsd::new(1), day(16)), closed);
    }
    let budget = Some(Budget { limit: MicroUsd::new(200), period: Period::Whole });
    ledger.set(session, AccountSettings { parent: None, budget });
    assert!(ledger.reserve(&advisor, MicroUsd::new(189), day(16)).is_ok(), "a person has looked");
}

#[test]
fn gate_8_agents_of_a_session_spend_one_budget_and_what_was_paid_elsewhere_counts_in_it() {
    let (mut ledger, session, [model, advisor]) = one_tree(100);
    assert_eq!(ledger.book(&session, MicroUsd::new(30), day(16)), Ok(vec![session.clone()]));
    let call = ledger.reserve(&model, MicroUsd::new(50), day(16)).unwrap();
    assert!(ledger.reserve(&advisor, MicroUsd::new(21), day(16)).is_err(), "parallel questions share it");
    let other = ledger.reserve(&advisor, MicroUsd::new(20), day(16)).unwrap();
    ledger.settle(call, MicroUsd::new(50), day(16)).unwrap();
    ledger.settle(other, MicroUsd::new(5), day(16)).unwrap();
    assert_eq!(ledger.left(&model, day(16)), Ok(Some(MicroUsd::new(15))));
    let total = |id: &AccountId| ledger.account(id).map(|account| (account.total().get(), account.calls()));
    assert_eq!((total(&model), total(&advisor), total(&session)), (Some((50, 1)), Some((5, 1)), Some((85, 3))));
    let stranger = AccountId::session("t");
    assert_eq!(
        ledger.book(&stranger, MicroUsd::new(1), day(16)),
        Err(ReserveError::Unknown { account: stranger.clone() })
    );
}
