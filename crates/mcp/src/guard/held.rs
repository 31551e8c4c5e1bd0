//! Calls that wait: for a throttle, a pause, a person's answer. A client that gives a call up takes it out of here.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls that may wait at the same time; each has a thread.
pub(super) const HELD_MAX: usize = 1_024;

/// The calls that wait, by the key of their id.
#[derive(Debug, Default)]
pub(super) struct HeldCalls {
    calls: Mutex<BTreeMap<String, Arc<AtomicBool>>>,
}

/// A place among the calls that wait.
#[derive(Debug)]
pub(super) struct HeldPlace {
    key: String,
    given_up: Arc<AtomicBool>,
}

impl HeldPlace {
    /// Whether the client gave the call up.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }
}

impl HeldCalls {
    /// A place for a call; none if too many wait.
    pub(super) fn enter(&self, key: &str) -> Option<HeldPlace> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= HELD_MAX {
            return None;
        }
        let given_up = Arc::new(AtomicBool::new(false));
        calls.insert(key.to_owned(), Arc::clone(&given_up));
        Some(HeldPlace { key: key.to_owned(), given_up })
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
        let held = HeldCalls::default();
        let (first, second) = (held.enter("1").unwrap(), held.enter("2").unwrap());
        assert!(held.give_up("1") && !held.give_up("3"));
        assert!(first.is_given_up() && !held.leave(&first));
        assert!(held.is_any_but(&first) && !held.is_any_but(&second));
        assert!(held.leave(&second) && !held.is_any_but(&first));
    }
}
