//! How long a held call waits for a person's answer: `approvals.wait`.

use super::setting::{Setting, SettingError};
use crate::units::RunMillis;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How long a held call waits for a person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerWait {
    /// As long as [`AnswerWait::USUAL`] where somebody can see that it waits, and not at all elsewhere.
    Auto,
    /// So long, wherever it runs.
    For(RunMillis),
}

/// What a person writes for [`AnswerWait::Auto`].
const AUTO: &str = "auto";
/// The longest that may be set: a day, after which an allowance ends as well.
const LONGEST: RunMillis = RunMillis::new(24 * 3_600_000);
/// The units that a person writes, the largest first.
const UNITS: [(&str, u64); 3] = [("h", 3_600_000), ("min", 60_000), ("s", 1_000)];

impl AnswerWait {
    /// How long a call waits where a person can see it.
    pub const USUAL: RunMillis = RunMillis::new(10 * 60_000);

    /// How long a call waits, by whether somebody can see that it does.
    #[must_use]
    pub const fn seen_by(self, audience: Audience) -> RunMillis {
        match (self, audience) {
            (Self::For(wait), _) => wait,
            (Self::Auto, Audience::Person) => Self::USUAL,
            (Self::Auto, Audience::Nobody) => RunMillis::ZERO,
        }
    }
}

/// Whether somebody can see that a call waits: at a terminal, or in a console that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Somebody can.
    Person,
    /// Nobody is known to look.
    Nobody,
}

impl Setting for AnswerWait {
    fn read(text: &str) -> Result<Self, SettingError> {
        let wrong = || SettingError::new(text, "`auto`, `0`, or a time up to a day such as `90s`, `10min` or `2h`");
        match text.trim() {
            AUTO => Ok(Self::Auto),
            "0" => Ok(Self::For(RunMillis::ZERO)),
            text => {
                let of_unit =
                    |(unit, ms): (&str, u64)| text.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(ms);
                let wait = UNITS.into_iter().find_map(of_unit).map(RunMillis::new).filter(|wait| *wait <= LONGEST);
                wait.map(Self::For).ok_or_else(wrong)
            }
        }
    }
    fn show(&self) -> String {
        let Self::For(wait) = self else { return AUTO.to_owned() };
        let of_unit = |(unit, ms): (&str, u64)| {
            let whole = wait.get().checked_rem(ms) == Some(0) && wait.get() > 0;
            whole.then(|| format!("{}{unit}", wait.get().checked_div(ms).unwrap_or_default()))
        };
        UNITS.into_iter().find_map(of_unit).unwrap_or_else(|| "0".to_owned())
    }
    fn another(&self) -> String {
        match self {
            Self::Auto => "90s".to_owned(),
            Self::For(_) => AUTO.to_owned(),
        }
    }
}

impl Serialize for AnswerWait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.show())
    }
}

impl<'de> Deserialize<'de> for AnswerWait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::read(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_1_a_wait_is_read_as_it_is_shown() {
        for text in ["auto", "0", "90s", "10min", "2h", "24h"] {
            assert_eq!(AnswerWait::read(text).unwrap().show(), text);
        }
        assert_eq!(AnswerWait::read("600s"), Ok(AnswerWait::For(AnswerWait::USUAL)));
        for text in ["", "10", "-1s", "25h", "1.5h", "min", "99999999999999999999h", "18446744073709551615h"] {
            assert!(AnswerWait::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn floor_1_without_a_setting_only_what_somebody_sees_waits() {
        assert_eq!(AnswerWait::Auto.seen_by(Audience::Person), AnswerWait::USUAL);
        assert_eq!(AnswerWait::Auto.seen_by(Audience::Nobody), RunMillis::ZERO);
        let set = AnswerWait::For(RunMillis::new(5_000));
        assert_eq!(set.seen_by(Audience::Nobody), RunMillis::new(5_000));
    }
}
