//! The dead-man switch (FLEET-4) as arithmetic: when a machine must pause its agents because it may have missed an order. Time is told
//! by the caller; a model checker runs the same transitions.

/// When a machine was last in touch with its fleet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeadMan {
    /// Without touch for so long everything is paused.
    bound_ms: u64,
    /// When the last heartbeat was acknowledged.
    beat_ms: u64,
    /// When every order was known for the last time.
    orders_ms: u64,
    /// The touch after which it has paused; once is enough until somebody hears it again.
    paused_after_ms: Option<u64>,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadManAct {
    /// Nothing.
    Rest,
    /// Every agent is to be paused.
    Pause,
}

impl DeadMan {
    /// A machine that is in touch now.
    #[must_use]
    pub const fn new(bound_ms: u64, now_ms: u64) -> Self {
        Self { bound_ms, beat_ms: now_ms, orders_ms: now_ms, paused_after_ms: None }
    }

    /// A heartbeat was acknowledged.
    pub fn hear_beat(&mut self, now_ms: u64) {
        self.beat_ms = self.beat_ms.max(now_ms);
    }

    /// Every order that was given up to this time is known here.
    pub fn know_orders(&mut self, now_ms: u64) {
        self.orders_ms = self.orders_ms.max(now_ms);
    }

    /// Looks at the clock. A heartbeat alone is not enough: a machine that is heard and cannot read its orders would miss a stop.
    pub fn look(&mut self, now_ms: u64) -> DeadManAct {
        let touch_ms = self.beat_ms.min(self.orders_ms);
        // The pause itself takes a moment, and it has to be done within the bound.
        let act_after_ms = self.bound_ms - self.bound_ms / 10;
        if now_ms.saturating_sub(touch_ms) < act_after_ms || self.paused_after_ms == Some(touch_ms) {
            return DeadManAct::Rest;
        }
        self.paused_after_ms = Some(touch_ms);
        DeadManAct::Pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fleet_4_a_machine_that_is_heard_and_knows_its_orders_is_left_alone() {
        let mut switch = DeadMan::new(1_000, 0);
        for now_ms in (100..20_000).step_by(400) {
            assert_eq!(switch.look(now_ms), DeadManAct::Rest, "{now_ms}");
            switch.hear_beat(now_ms);
            switch.know_orders(now_ms);
        }
    }

    #[test]
    fn fleet_4_silence_on_either_way_pauses_once_within_the_bound() {
        for (heard, known) in [(true, false), (false, true), (false, false)] {
            let mut switch = DeadMan::new(1_000, 0);
            let mut paused = Vec::new();
            for now_ms in (0..5_000).step_by(50) {
                if switch.look(now_ms) == DeadManAct::Pause {
                    paused.push(now_ms);
                }
                if heard {
                    switch.hear_beat(now_ms);
                }
                if known {
                    switch.know_orders(now_ms);
                }
            }
            assert_eq!(paused, [900], "heard {heard}, known {known}");
            switch.hear_beat(6_000);
            switch.know_orders(6_000);
            assert_eq!((switch.look(6_100), switch.look(6_900)), (DeadManAct::Rest, DeadManAct::Pause), "and again");
        }
    }
}
