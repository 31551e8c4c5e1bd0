//! The bounds of the sliding minute: a number that a person set, or the one that belongs to the profile.
//!
//! `strict` takes the documents' numbers. `balanced` takes measured ones (docs/concepts/throttle.md): 119 of 157 real
//! sessions, all with a good end, passed 50,000 fresh tokens in some minute, and a throttle that three of four honest
//! sessions meet says nothing about an agent.

use super::setting::{Profile, Setting as _};
use super::settings::Policy;
use crate::units::{Count, Tokens};
use alloc::string::String;

/// The bounds of the sliding minute as they are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinuteBounds {
    /// Fresh input plus output tokens.
    pub tokens: Tokens,
    /// Tokens from which a warning is given.
    pub tokens_warned: Tokens,
    /// Tool calls.
    pub calls: Count,
    /// Tool calls from which a warning is given.
    pub calls_warned: Count,
}

impl MinuteBounds {
    /// The documents' numbers (master spec §4.1, §4.2).
    pub const STRICT: Self = Self {
        tokens: Tokens::new(50_000),
        tokens_warned: Tokens::new(40_000),
        calls: Count::new(60),
        calls_warned: Count::new(45),
    };
    /// Measured: no session with a good end passed them.
    pub const BALANCED: Self = Self {
        tokens: Tokens::new(600_000),
        tokens_warned: Tokens::new(480_000),
        calls: Count::new(300),
        calls_warned: Count::new(225),
    };

    const fn of(profile: Profile) -> Self {
        match profile {
            Profile::Strict => Self::STRICT,
            Profile::Balanced => Self::BALANCED,
        }
    }
}

impl Policy {
    /// The bounds of the sliding minute as they are in force. A warning that nobody set is never above its bound.
    #[must_use]
    pub fn minute_bounds(&self) -> MinuteBounds {
        let (gate, usual) = (&self.gate, MinuteBounds::of(self.profile));
        let tokens = gate.max_tokens_per_minute.or(usual.tokens);
        let calls = gate.max_tool_calls_per_minute.or(usual.calls);
        MinuteBounds {
            tokens,
            tokens_warned: gate.token_warning_threshold.or(usual.tokens_warned.min(tokens)),
            calls,
            calls_warned: gate.tool_call_warning_threshold.or(usual.calls_warned.min(calls)),
        }
    }

    /// The number behind a setting that is left to the profile; none for any other.
    pub(super) fn of_profile(&self, path: &str) -> Option<String> {
        let bounds = self.minute_bounds();
        Some(match path {
            "gate.max_tokens_per_minute" => bounds.tokens.show(),
            "gate.token_warning_threshold" => bounds.tokens_warned.show(),
            "gate.max_tool_calls_per_minute" => bounds.calls.show(),
            "gate.tool_call_warning_threshold" => bounds.calls_warned.show(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_2_the_bounds_follow_the_profile_until_a_person_sets_them() {
        let mut policy = Policy::default();
        assert_eq!(policy.minute_bounds(), MinuteBounds::BALANCED);
        policy.set("profile", "strict").unwrap();
        assert_eq!(policy.minute_bounds(), MinuteBounds::STRICT);
        policy.set("gate.max_tool_calls_per_minute", "20").unwrap();
        let bounds = policy.minute_bounds();
        assert_eq!((bounds.calls, bounds.calls_warned), (Count::new(20), Count::new(20)), "no warning above the bound");
        assert_eq!(policy.check(), Ok(()));
        policy.set("gate.max_tool_calls_per_minute", "auto").unwrap();
        assert_eq!(policy.minute_bounds(), MinuteBounds::STRICT);
        assert!(policy.set("gate.max_tool_calls_per_minute", "automatic").is_err());
    }

    #[test]
    fn gate_2_what_is_left_to_the_profile_is_shown_with_its_number() {
        let shown = |policy: &Policy| {
            let rows = policy.rows();
            let row = rows.iter().find(|row| row.path == "gate.max_tokens_per_minute").unwrap();
            (row.value.clone(), row.in_force.clone())
        };
        let mut policy = Policy::default();
        assert_eq!(shown(&policy), ("auto".into(), Some("600000".into())));
        policy.set("gate.max_tokens_per_minute", "70000").unwrap();
        assert_eq!(shown(&policy), ("70000".into(), None));
    }
}
