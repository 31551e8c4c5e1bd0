//! How much time a hook has to answer.

use std::time::Duration;

/// The environment variable that tells a hook how many seconds its client gives it. A longer limit in the client's
/// settings needs it too: a hook that answers late is ignored by some clients, and the call runs.
pub const SECONDS_VARIABLE: &str = "TRIPWIRE_HOOK_SECONDS";
/// What an installer should give: long enough to wait for a throttle of the minute to end.
pub const SECONDS_RECOMMENDED: u64 = 90;
/// What is assumed if the variable is not set.
pub(crate) const SECONDS_ASSUMED: u64 = 30;
/// What is kept back: the start of the process, the disk, the way to the client.
const SECONDS_RESERVED: u64 = 5;
/// What waiting for locks may cost in the worst case.
const LOCKS_SECONDS: u64 = 20;

/// How much time a hook has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// Within this time it answers, whatever happens.
    pub answer: Duration,
    /// The longest it waits for a throttle to end before it refuses with the time to retry; locks may cost the rest.
    pub wait: Duration,
}

impl TimeLimit {
    /// From the value of [`SECONDS_VARIABLE`], if it is set; one that is no number counts as unset.
    #[must_use]
    pub fn of(seconds: Option<&str>) -> Self {
        let seconds = seconds.and_then(|text| text.trim().parse().ok()).unwrap_or(SECONDS_ASSUMED);
        let answer = seconds.saturating_sub(SECONDS_RESERVED).max(1);
        Self { answer: Duration::from_secs(answer), wait: Duration::from_secs(answer.saturating_sub(LOCKS_SECONDS)) }
    }
}
