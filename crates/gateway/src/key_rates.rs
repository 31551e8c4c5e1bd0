//! What each key did in its last minute, and what its calls under way may still use.

use crate::config::Key;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tripwire_core::ledger::ReservationId;
use tripwire_core::units::Tokens;

const MINUTE_MS: u64 = 60_000;
/// Requests, and settled calls, of a minute that are remembered one by one.
const ENTRIES_MAX: usize = 100_000;
/// How long to wait for calls under way, whose real figures may leave room.
const UNDER_WAY_WAIT: Duration = Duration::from_secs(1);

/// The last minute of every key. Time is a parameter: milliseconds of the wall clock.
#[derive(Debug, Default)]
pub(crate) struct KeyRates {
    minutes: BTreeMap<String, KeyMinute>,
    /// The calls under way: whose they are, and the tokens that each may use.
    under_way: BTreeMap<ReservationId, (String, Tokens)>,
}

/// What a key did in the last minute.
#[derive(Debug, Default)]
struct KeyMinute {
    /// When it sent requests.
    requests: VecDeque<u64>,
    /// When its calls were settled, and what they used.
    settled: VecDeque<(u64, Tokens)>,
    /// What those calls used together.
    used: Tokens,
    /// What its calls under way may use.
    reserved: Tokens,
}

impl KeyMinute {
    fn forget_before(&mut self, now_ms: u64) {
        while self.requests.pop_front_if(|at| *at + MINUTE_MS <= now_ms).is_some() {}
        while let Some((_, tokens)) = self.settled.pop_front_if(|(at, _)| *at + MINUTE_MS <= now_ms) {
            self.used = self.used.minus(tokens);
        }
    }
}

/// How long until something of that moment is a minute old.
fn until(at_ms: Option<u64>, now_ms: u64) -> Duration {
    let left = at_ms.map_or(MINUTE_MS, |at| (at + MINUTE_MS).saturating_sub(now_ms));
    Duration::from_millis(left.max(1))
}

impl KeyRates {
    /// Counts a request of a key, or says how long it has to wait.
    pub(crate) fn count(&mut self, key: &Key, now_ms: u64) -> Option<Duration> {
        let minute = self.minutes.entry(key.name.clone()).or_default();
        minute.forget_before(now_ms);
        let count = minute.requests.len();
        if key.requests_per_minute.is_some_and(|most| count as u64 >= most) || count >= ENTRIES_MAX {
            return Some(until(minute.requests.front().copied(), now_ms));
        }
        if key.tokens_per_minute.is_some_and(|most| minute.used.get() >= most) {
            return Some(until(minute.settled.front().map(|(at, _)| *at), now_ms));
        }
        minute.requests.push_back(now_ms);
        None
    }

    /// How long a call has to wait, because what is used and what calls under way may use fill the key's minute.
    pub(crate) fn wait(&mut self, key: &Key, now_ms: u64) -> Option<Duration> {
        let most = key.tokens_per_minute?;
        let minute = self.minutes.get_mut(&key.name)?;
        minute.forget_before(now_ms);
        if minute.used.get() >= most {
            return Some(until(minute.settled.front().map(|(at, _)| *at), now_ms));
        }
        (minute.used.plus(minute.reserved).get() >= most).then_some(UNDER_WAY_WAIT)
    }

    /// Counts what a call may use until it is settled or freed.
    pub(crate) fn hold(&mut self, key: &Key, id: ReservationId, tokens: Tokens) {
        let minute = self.minutes.entry(key.name.clone()).or_default();
        minute.reserved = minute.reserved.plus(tokens);
        self.under_way.insert(id, (key.name.clone(), tokens));
    }

    /// Forgets a call that used nothing.
    pub(crate) fn free(&mut self, id: ReservationId) {
        self.end(id);
    }

    /// Counts what a call really used, at the moment it is known.
    pub(crate) fn settle(&mut self, id: ReservationId, used: Tokens, now_ms: u64) {
        let Some(minute) = self.end(id) else { return };
        minute.forget_before(now_ms);
        minute.used = minute.used.plus(used);
        // The last one takes up what is too much to be remembered one by one.
        let joined = if minute.settled.len() < ENTRIES_MAX { None } else { minute.settled.pop_back() };
        let before = joined.map_or(Tokens::ZERO, |(_, tokens)| tokens);
        minute.settled.push_back((now_ms, before.plus(used)));
    }

    /// The minute of a call that is over, without what it had reserved.
    fn end(&mut self, id: ReservationId) -> Option<&mut KeyMinute> {
        let (name, tokens) = self.under_way.remove(&id)?;
        let minute = self.minutes.get_mut(&name)?;
        minute.reserved = minute.reserved.minus(tokens);
        Some(minute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::ledger::{AccountId, AccountKind, AccountSettings, Ledger, UtcDate};
    use tripwire_core::record::chain::Digest;
    use tripwire_core::units::MicroUsd;

    fn key(tokens_per_minute: u64) -> Key {
        Key {
            name: "ci".to_owned(),
            token: Digest::of(b"tw"),
            requests_per_minute: None,
            tokens_per_minute: Some(tokens_per_minute),
            models: Vec::new(),
        }
    }

    /// Two reservations, whose numbers only a ledger gives.
    fn two() -> [ReservationId; 2] {
        let mut ledger = Ledger::default();
        let account = AccountId::new(AccountKind::Key, "ci");
        ledger.set(account.clone(), AccountSettings::default());
        let day = UtcDate { year: 2026, month: 1, day: 1 };
        [(); 2].map(|()| ledger.reserve(&account, MicroUsd::ZERO, day).unwrap())
    }

    #[test]
    fn gate_8_tokens_of_calls_under_way_fill_a_keys_minute() {
        let (mut rates, key, [one, other]) = (KeyRates::default(), key(1_000), two());
        assert_eq!(rates.wait(&key, 0), None);
        rates.hold(&key, one, Tokens::new(900));
        assert_eq!(rates.wait(&key, 1), None, "less than its tokens");
        rates.hold(&key, other, Tokens::new(900));
        assert_eq!(rates.wait(&key, 2), Some(UNDER_WAY_WAIT));
        rates.settle(one, Tokens::new(400), 50_000);
        rates.settle(other, Tokens::new(600), 50_000);
        assert_eq!(rates.wait(&key, 60_001), Some(Duration::from_millis(49_999)), "from when they were settled");
        assert_eq!(rates.count(&key, 60_001), Some(Duration::from_millis(49_999)), "for every request of the key");
        assert_eq!((rates.wait(&key, 110_000), rates.count(&key, 110_000)), (None, None), "a minute after that");
    }

    #[test]
    fn gate_8_a_call_that_used_less_or_nothing_leaves_room_again() {
        let (mut rates, key, [one, other]) = (KeyRates::default(), key(1_000), two());
        rates.hold(&key, one, Tokens::new(5_000));
        assert!(rates.wait(&key, 0).is_some());
        rates.settle(one, Tokens::new(10), 5);
        assert_eq!(rates.wait(&key, 6), None);
        rates.hold(&key, other, Tokens::new(5_000));
        rates.free(other);
        assert_eq!((rates.wait(&key, 7), rates.count(&key, 7)), (None, None));
        assert_eq!(rates.minutes["ci"].reserved, Tokens::ZERO);
    }

    #[test]
    fn gate_8_calls_beyond_those_that_are_remembered_one_by_one_count_too_and_are_forgotten() {
        let (mut rates, key, [one, _]) = (KeyRates::default(), key(u64::MAX), two());
        for _ in 0..=ENTRIES_MAX {
            rates.hold(&key, one, Tokens::new(9));
            rates.settle(one, Tokens::new(1), 5);
        }
        let minute = &rates.minutes["ci"];
        assert_eq!((minute.settled.len(), minute.used), (ENTRIES_MAX, Tokens::new(ENTRIES_MAX as u64 + 1)));
        assert_eq!(rates.wait(&key, 5 + MINUTE_MS), None);
        assert_eq!(rates.minutes["ci"].used, Tokens::ZERO);
    }
}
