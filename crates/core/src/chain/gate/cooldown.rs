//! The wait after a veto of priority 1 to 4 (GATE-3).

use crate::units::RunMillis;
use serde::{Deserialize, Serialize};

/// Until when nothing may go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Cooldown {
    until: Option<RunMillis>,
}

impl Cooldown {
    /// Starts the wait, or starts it again.
    pub(crate) fn start(&mut self, now: RunMillis, duration: RunMillis) {
        self.until = Some(now.plus(duration));
    }

    /// How long it still lasts; `None` when it is over.
    pub(crate) fn left(self, now: RunMillis) -> Option<RunMillis> {
        self.ends_at(now).map(|until| until.minus(now))
    }

    /// When it ends, if it has not.
    pub(crate) fn ends_at(self, now: RunMillis) -> Option<RunMillis> {
        self.until.filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_3_the_cooldown_lasts_its_duration_and_no_longer() {
        let mut cooldown = Cooldown::default();
        assert_eq!(cooldown.left(RunMillis::ZERO), None);
        cooldown.start(RunMillis::new(1_000), RunMillis::new(60_000));
        assert_eq!(cooldown.left(RunMillis::new(60_999)), Some(RunMillis::new(1)));
        assert_eq!(cooldown.left(RunMillis::new(61_000)), None);
    }
}
