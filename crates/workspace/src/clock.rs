//! The one place that asks the machine what time it is.

use crate::geometry::wall_clock::WallClock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock now. A clock before 1970 counts as 1970: the engine then sees time run backwards and holds.
#[must_use]
pub fn now() -> WallClock {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallClock::from_epoch_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The time that a file written now would bear: the kernel's coarse clock, which lags behind [`now`] by up to a tick.
#[must_use]
pub fn now_of_files() -> WallClock {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    let ms = time.tv_sec.saturating_mul(1_000).saturating_add(time.tv_nsec / 1_000_000);
    WallClock::from_epoch_ms(u64::try_from(ms).unwrap_or_default())
}
