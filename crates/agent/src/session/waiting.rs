//! What a session waits for: time, a person, a person's answer about a held call.

use super::agent_loop::{LOOK, SHOWN_WAIT_MS, Session, TICK, interrupt};
use super::error::SessionError;
use std::time::{Duration, Instant};
use tripwire_core::effect::HoldReason;
use tripwire_core::input::What;
use tripwire_core::label::Label;
use tripwire_core::run::record::RunRecord;
use tripwire_core::units::RunMillis;
use tripwire_session::approvals;

impl Session<'_> {
    /// Waits, but not for a person who says stop, and not beyond the wall clock.
    pub(super) fn wait(&mut self, wait: RunMillis) -> Result<(), SessionError> {
        let end = Instant::now() + Duration::from_millis(wait.get());
        let end = self.wall_clock().map_or(end, |clock| clock.min(end));
        let status = self.status("waits");
        if wait.get() >= SHOWN_WAIT_MS {
            let seconds = wait.get().div_ceil(1_000);
            let why = self.throttled.as_deref().unwrap_or("the provider asked for it");
            self.frontend.notice(&format!("waits {seconds} s: {why}"));
        }
        while Instant::now() < end && !self.must_stop() {
            std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
            self.frontend.beat(&status);
        }
        self.learn(RunRecord::Waited, Duration::ZERO)
    }

    /// Waits until a person did something, or until the wall clock has something to say.
    pub(super) fn await_person(&mut self, reason: HoldReason) -> Result<(), SessionError> {
        let cause = self.driver.view().cause.map(|cause| format!("; {}", cause.words())).unwrap_or_default();
        self.frontend.notice(&format!("{}{cause}", reason.explain()));
        let before = self.watch.look();
        let tick = Instant::now() + TICK;
        let end = self.wall_clock().map_or(tick, |clock| clock.min(tick));
        let mut status = self.status("waits for a person");
        while Instant::now() < end && self.watch.look() == before && !self.frontend.is_interrupted() {
            std::thread::sleep(LOOK);
            status.left = self.left();
            self.frontend.beat(&status);
        }
        let act = if self.frontend.is_interrupted() { interrupt() } else { What::Tick };
        self.put(act)
    }

    /// Waits for a person's answer about the held call at hand.
    pub(super) fn await_answer(&mut self, code: &Label, ms: RunMillis) -> Result<(), SessionError> {
        let (begun, limit) = (Instant::now(), Duration::from_millis(ms.get()));
        let end = self.wall_clock().map_or(begun + limit, |clock| clock.min(begun + limit));
        let about = self.driver.view().waiting.into_iter().find(|held| held.code == *code);
        let reason = about.map(|held| held.reason.to_string()).unwrap_or_default();
        self.frontend.notice(&format!(
            "a held call waits {} s for you: {reason}; `tripwire approvals approve {code}` lets it pass, `tripwire approvals deny \
             {code}` refuses it",
            limit.as_secs()
        ));
        let mut status = self.status("waits for an answer");
        while Instant::now() < end && !self.must_stop() {
            self.driver.refresh()?;
            if !approvals::is_open(&self.driver, code) {
                break;
            }
            std::thread::sleep(LOOK);
            status.left = self.left();
            self.frontend.beat(&status);
        }
        self.learn(RunRecord::Waited, begun.elapsed())
    }
}
