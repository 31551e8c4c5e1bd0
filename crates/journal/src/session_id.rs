//! The id of a session: `auto-YYYY-MM-DD-HHMMSS[-n]`, after the wall clock at its start.

use crate::wall_clock::WallClock;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use tripwire_core::explain::Explain;

/// A session's id. It becomes a file name, so only the one form is accepted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// A text that is no session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a session id such as `auto-2026-02-28-143200`")]
pub struct SessionIdError {
    text: String,
}

impl Explain for SessionIdError {
    fn hint(&self) -> Cow<'_, str> {
        "list the sessions: `ls .geometry/journal`".into()
    }
}

impl SessionId {
    /// The id of the first session that starts in this second.
    #[must_use]
    pub fn first(start: WallClock) -> Self {
        Self(format!("auto-{}", start.session_stamp()))
    }

    /// The id of the `n`th session that starts in this second; the second one is `-2`.
    #[must_use]
    pub fn nth(start: WallClock, n: u32) -> Self {
        if n <= 1 { Self::first(start) } else { Self(format!("auto-{}-{n}", start.session_stamp())) }
    }

    /// Reads an id, for instance from the command line.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(text: &str) -> Result<Self, SessionIdError> {
        let shape = |stamp: &str| {
            stamp.len() == STAMP.len()
                && stamp.bytes().zip(STAMP.bytes()).all(|(byte, form)| match form {
                    b'-' => byte == b'-',
                    _ => byte.is_ascii_digit(),
                })
        };
        let number = |rest: &str| {
            rest.is_empty()
                || rest.strip_prefix('-').is_some_and(|n| !n.starts_with('0') && n.parse::<u32>().is_ok_and(|n| n > 1))
        };
        let good = text
            .strip_prefix("auto-")
            .and_then(|rest| rest.split_at_checked(STAMP.len()))
            .is_some_and(|(stamp, rest)| shape(stamp) && number(rest) && !rest.contains('+'));
        if good { Ok(Self(text.to_owned())) } else { Err(SessionIdError { text: text.to_owned() }) }
    }

    /// What sorts sessions by their start: the stamp, then the number within the second.
    #[must_use]
    pub fn order(&self) -> (String, u32) {
        let (stamp, rest) = self.0.split_at_checked("auto-".len() + STAMP.len()).unwrap_or((&self.0, ""));
        (stamp.to_owned(), rest.strip_prefix('-').and_then(|number| number.parse().ok()).unwrap_or(1))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = SessionIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

/// The form of the stamp inside an id; a `0` means any digit.
const STAMP: &str = "0000-00-00-000000";

#[cfg(test)]
mod tests {
    use super::*;

    const START: WallClock = WallClock::from_epoch_ms(1_772_289_120_000);

    #[test]
    fn ids_have_the_seeds_form() {
        assert_eq!(SessionId::first(START).as_str(), "auto-2026-02-28-143200");
        assert_eq!(SessionId::nth(START, 2).as_str(), "auto-2026-02-28-143200-2");
        for good in ["auto-2026-02-28-143200", "auto-2026-02-28-143200-17"] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn an_id_is_its_text_wherever_it_is_written() {
        let id = SessionId::nth(START, 7);
        assert_eq!((id.to_string().as_str(), id.as_str()), ("auto-2026-02-28-143200-7", "auto-2026-02-28-143200-7"));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, "\"auto-2026-02-28-143200-7\"");
        assert_eq!(serde_json::from_str::<SessionId>(&json).unwrap(), id);
        assert_eq!(String::from(id), "auto-2026-02-28-143200-7");
        for n in [0, 1] {
            assert_eq!(SessionId::nth(START, n), SessionId::first(START), "the first one has no number");
        }
        assert_eq!(SessionId::first(START).order(), ("auto-2026-02-28-143200".to_owned(), 1));
        assert_eq!(SessionId::nth(START, 12).order(), ("auto-2026-02-28-143200".to_owned(), 12));
    }

    #[test]
    fn the_tenth_session_of_a_second_comes_after_the_second() {
        let mut ids: Vec<_> = [10, 2, 1, 9].map(|n| SessionId::nth(START, n)).into();
        ids.sort_by_key(SessionId::order);
        assert_eq!(ids, [1, 2, 9, 10].map(|n| SessionId::nth(START, n)));
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for bad in [
            "",
            "auto-",
            "auto-2026-02-28-14320",
            "auto-2026-02-28-143200-",
            "auto-2026-02-28-143200-1",
            "auto-2026-02-28-143200-02",
            "auto-2026-02-28-143200/../x",
            "../auto-2026-02-28-143200",
            "AUTO-2026-02-28-143200",
            "auto-2026_02-28-143200",
            "auto-2026-02-28-143200-+2",
            "auto-２026-02-28-143200",
            "auto-2026-02-28-143200-0",
            "auto-2026-02-28-143200-4294967296",
            "auto-2026-02-28-143200-2-3",
            "auto-2026-02-28_143200",
            "auto-2026-02-28-1432000",
        ] {
            let error = SessionId::parse(bad).unwrap_err();
            assert_eq!(error.to_string(), format!("`{bad}` is not a session id such as `auto-2026-02-28-143200`"));
            assert_eq!(error.hint(), "list the sessions: `ls .geometry/journal`");
        }
        assert!(serde_json::from_str::<SessionId>("\"../../etc\"").is_err());
    }
}
