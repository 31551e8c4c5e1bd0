//! Calls that wait: for a throttle, a pause, a person's answer. A client that gives a call up takes it out of here.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls of one server that may wait at the same time; each has a thread.
pub(super) const HELD_MAX: usize = 1_024;

/// How many calls of one server wait, of all clients together.
#[derive(Debug, Clone, Default)]
pub(super) struct Seats(Arc<AtomicUsize>);

/// One of them; it is free again with the end of this value.
#[derive(Debug)]
struct Seat(Seats);

impl Seats {
    fn take(&self) -> Option<Seat> {
        let before = self.0.fetch_add(1, Ordering::SeqCst);
        let seat = Seat(self.clone());
        (before < HELD_MAX).then_some(seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The calls of one client that wait, by the key of their id.
#[derive(Debug)]
pub(super) struct HeldCalls {
    seats: Seats,
    calls: Mutex<BTreeMap<String, Arc<AtomicBool>>>,
}

/// A place among the calls that wait.
#[derive(Debug)]
pub(super) struct HeldPlace {
    key: String,
    given_up: Arc<AtomicBool>,
    _seat: Seat,
}

impl HeldPlace {
    /// Whether the client gave the call up.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }
}

impl HeldCalls {
    pub(super) fn new(seats: Seats) -> Self {
        Self { seats, calls: Mutex::default() }
    }

    /// A place for a call; none if too many wait.
    pub(super) fn enter(&self, key: &str) -> Option<HeldPlace> {
        let seat = self.seats.take()?;
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let given_up = Arc::new(AtomicBool::new(false));
        calls.insert(key.to_owned(), Arc::clone(&given_up));
        Some(HeldPlace { key: key.to_owned(), given_up, _seat: seat })
    }

    /// A call waits no longer; says whether it may still be passed on, because nobody gave it up before.
    pub(super) fn leave(&self, place: &HeldPlace) -> bool {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.remove(&place.key);
        !place.is_given_up()
    }

    /// The client gives a call up; says whether it waited here, and so never reached the server.
    pub(super) fn give_up(&self, key: &str) -> bool {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(given_up) = calls.get(key) else { return false };
        given_up.store(true, Ordering::SeqCst);
        true
    }

    /// Whether any other call waits.
    pub(super) fn is_any_but(&self, place: &HeldPlace) -> bool {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).keys().any(|key| *key != place.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_1_a_call_that_is_given_up_while_it_waits_is_not_passed_on() {
        let held = HeldCalls::new(Seats::default());
        let (first, second) = (held.enter("1").unwrap(), held.enter("2").unwrap());
        assert!(held.give_up("1") && !held.give_up("3"));
        assert!(first.is_given_up() && !held.leave(&first));
        assert!(held.is_any_but(&first) && !held.is_any_but(&second));
        assert!(held.leave(&second) && !held.is_any_but(&first));
    }

    #[test]
    fn mcp_5_the_calls_of_all_clients_that_wait_have_one_bound() {
        let seats = Seats::default();
        let (one, other) = (HeldCalls::new(seats.clone()), HeldCalls::new(seats));
        let mut places: Vec<HeldPlace> = (0..HELD_MAX).map(|n| one.enter(&n.to_string()).unwrap()).collect();
        assert!(other.enter("a").is_none());
        places.pop();
        assert!(other.enter("a").is_some());
    }
}
