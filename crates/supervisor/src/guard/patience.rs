//! How a guard waits: for a time, for a person to clear a hold, for an answer about a held call.

use super::Guard;
use super::waiting::Waited;
use crate::options::Presence;
use std::time::{Duration, Instant};
use tripwire_clients::Homes;
use tripwire_core::effect::HoldReason;
use tripwire_core::label::Label;
use tripwire_core::policy::Audience;
use tripwire_session::approvals;
use tripwire_workspace::Places;
use tripwire_workspace::open_consoles::OpenConsole;

/// A wait that is worth a word to the person.
const LONG_WAIT: Duration = Duration::from_secs(5);
/// The longest that an answer is withheld: by then the client is ended.
const WITHHELD_MAX: Duration = Duration::from_secs(30);
/// How often a waiting thread looks by itself.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

impl Guard {
    /// Waits for a time, unless the run ends. A person who sees a client stand still is told why.
    pub(super) fn wait(&self, at_most: Duration, why: &str) -> Waited {
        if at_most >= LONG_WAIT {
            self.notifier.say(&format!("tripwire: the next call waits {} s: {why}", at_most.as_secs()));
        }
        let until = Instant::now() + at_most;
        let mut pulse = self.lock_pulse();
        loop {
            if pulse.is_over() {
                return Waited::Over;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Waited::Cleared;
            }
            pulse =
                self.changed.wait_timeout(pulse, left).map_or_else(|error| error.into_inner().0, |(pulse, _)| pulse);
        }
    }

    /// No answer ends a turn of this client: while the end of the run is decided, the hook gets none, so that the client
    /// does not ask its model again before it is ended.
    pub(super) fn withhold(&self) {
        let until = Instant::now() + WITHHELD_MAX;
        let mut pulse = self.lock_pulse();
        while !pulse.over && Instant::now() < until {
            let ends = pulse.is_over() || pulse.held().is_some_and(|hold| !self.is_waited_for(hold));
            if !ends {
                return;
            }
            pulse = self
                .changed
                .wait_timeout(pulse, LOOK_AGAIN)
                .map_or_else(|error| error.into_inner().0, |(pulse, _)| pulse);
        }
    }

    /// Waits while something holds the session that a person is asked about; nothing to wait for otherwise.
    pub(super) fn wait_for_a_person(&self) -> Waited {
        let mut waited = Waited::NotNeeded;
        let mut pulse = self.lock_pulse();
        loop {
            if pulse.is_over() {
                return Waited::Over;
            }
            if !pulse.held().is_some_and(|hold| self.is_waited_for(hold)) {
                return waited;
            }
            waited = Waited::Cleared;
            pulse = self
                .changed
                .wait_timeout(pulse, LOOK_AGAIN)
                .map_or_else(|error| error.into_inner().0, |(pulse, _)| pulse);
        }
    }

    /// Whether a hold keeps the run waiting instead of ending it.
    pub(crate) fn is_waited_for(&self, hold: HoldReason) -> bool {
        match hold {
            HoldReason::Paused => true,
            HoldReason::GuardFailure | HoldReason::Context => false,
            HoldReason::Loop
            | HoldReason::NoProgress
            | HoldReason::IterationCap
            | HoldReason::SoftSuspend
            | HoldReason::Money
            | HoldReason::UnreadBlocker
            | HoldReason::UnreadCheckpoint
            | HoldReason::Converged => self.presence == Presence::Terminal,
        }
    }

    /// How long a held call waits for a person's answer.
    pub(super) fn patience(&self) -> Duration {
        let is_seen = self.presence == Presence::Terminal || self.is_console_open();
        let seen = if is_seen { Audience::Person } else { Audience::Nobody };
        let wait = self.with_engine(|driver| Ok(driver.policy().approvals.wait));
        wait.map_or(Duration::ZERO, |wait| Duration::from_millis(wait.seen_by(seen).get()))
    }

    /// Whether somebody has a console open.
    fn is_console_open(&self) -> bool {
        let Homes { home, state, .. } = &self.homes;
        let places = Places { home: home.clone(), xdg_state_home: state.clone(), ..Places::default() };
        places.state_home().is_some_and(|state| OpenConsole::is_any(&state))
    }

    /// Waits for a person's answer about a held call. Whatever came of it, the call is asked for again.
    pub(super) fn wait_for_answer(&self, code: &Label, at_most: Duration) -> Waited {
        self.notifier.say(&format!(
            "tripwire: a held call waits {} s for you: `tripwire approvals` shows it, `tripwire approvals approve {code}` lets it \
             pass, `tripwire approvals deny {code}` refuses it",
            at_most.as_secs()
        ));
        let until = Instant::now() + at_most;
        loop {
            let open = self.with_engine(|driver| {
                driver.refresh()?;
                self.lock_pulse().see(driver);
                Ok(approvals::is_open(driver, code))
            });
            let pulse = self.lock_pulse();
            if pulse.is_over() {
                return Waited::Over;
            }
            // What cannot be read is asked for again, and that says why.
            if !open.unwrap_or_default() || Instant::now() >= until {
                return Waited::Cleared;
            }
            drop(self.changed.wait_timeout(pulse, LOOK_AGAIN));
        }
    }
}
