//! The pulse: what can be seen of the guard at any moment without waiting for it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;
use tripwire_clients::hooks::{Event, HookCall, Reply};
use tripwire_core::chain::ChainView;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::decision::Decision;
use tripwire_core::effect::{Effect, ExitStatus, HoldReason, StopReason, SwitchReason};
use tripwire_core::enforcement::{CycleTerminationError, EnforcementError};
use tripwire_core::units::{MicroUsd, RunMillis};
use tripwire_session::driver::{Driver, RecentFinding, StepOutcome};

/// Announced calls that are remembered; a client has few of them open at once.
const ANNOUNCED_MAX: usize = 10_000;

/// How the guard stands.
#[derive(Debug, Clone)]
pub(crate) struct Pulse {
    /// The session at a glance.
    pub(crate) view: ChainView,
    /// The newest findings.
    pub(crate) recent: Vec<RecentFinding>,
    /// When the engine wants to be woken.
    pub(crate) deadline: Option<RunMillis>,
    /// Since when the engine has been at work, if it is.
    pub(crate) busy_since: Option<Instant>,
    /// What broke the guard.
    pub(crate) fault: Option<String>,
    /// What the watch has to carry out.
    pub(crate) orders: Orders,
    /// The client's own id of its session.
    pub(crate) client_session: Option<String>,
    /// Events that came from hooks of this worker.
    pub(crate) events: u64,
    /// Calls that hooks of this worker announced.
    pub(crate) asked: u64,
    /// Their ids, where the client has any.
    announced: BTreeSet<String>,
    /// The client's own transcripts, in the order in which hooks named them, each with its length at that moment: what was
    /// written before belongs to an earlier run.
    pub(crate) transcripts: Vec<(PathBuf, u64)>,
    /// What the last answer means for the client's turn.
    pub(crate) last_answer: LastAnswer,
    /// What the engine said when the agent was let go, if nothing was asked since.
    pub(crate) released: Option<Verification>,
    /// The step cap ended the running iteration.
    pub(crate) step_cap: StepCap,
    /// The test run on which the verdict rests, while it is `VERIFIED`.
    pub(crate) proof: Option<TestRun>,
    /// What the last model call would have needed at least that was refused for want of money, if none was booked since.
    pub(crate) unpaid: Option<MicroUsd>,
    /// The run is over.
    pub(crate) over: bool,
}

/// A test run that the client reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestRun {
    /// What was run, in short.
    pub(crate) action: String,
    /// The client's id of the call, where it has any.
    pub(crate) call: Option<String>,
}

/// What an answer means for the client's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastAnswer {
    /// To go on, or to do something else.
    GoOn,
    /// To end its turn.
    End,
}

/// Whether the running iteration has steps left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepCap {
    /// It has.
    Room,
    /// A call was refused because it has none.
    Reached,
}

/// What the watch has to carry out, because only it can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Orders {
    /// Restart the worker with the briefing.
    pub(crate) compact: bool,
    /// Take the next engine.
    pub(crate) switch: Option<SwitchReason>,
}

impl Pulse {
    /// The pulse of a session that was just begun.
    pub(super) fn of(driver: &Driver) -> Self {
        Self {
            view: driver.view(),
            recent: driver.recent().to_vec(),
            deadline: driver.policy().limits.max_session_runtime_ms.get(),
            busy_since: None,
            fault: None,
            orders: Orders::default(),
            client_session: None,
            events: 0,
            asked: 0,
            announced: BTreeSet::new(),
            transcripts: Vec::new(),
            last_answer: LastAnswer::GoOn,
            released: None,
            step_cap: StepCap::Room,
            proof: None,
            unpaid: None,
            over: false,
        }
    }

    /// What ended the session.
    pub(crate) const fn stopped(&self) -> Option<StopReason> {
        self.view.stopped
    }

    /// What holds the session.
    pub(crate) const fn held(&self) -> Option<HoldReason> {
        self.view.held
    }

    /// Whether a hook announced this call.
    pub(crate) fn has_announced(&self, call: &str) -> bool {
        self.announced.contains(call)
    }

    /// Whether there is nothing left to wait for.
    pub(crate) const fn is_over(&self) -> bool {
        self.over || self.fault.is_some() || self.view.stopped.is_some()
    }

    pub(super) fn begin_worker(&mut self) {
        self.events = 0;
        self.asked = 0;
        self.announced.clear();
        self.transcripts.clear();
        self.last_answer = LastAnswer::GoOn;
        self.released = None;
        self.unpaid = None;
        self.step_cap = StepCap::Room;
        self.orders = Orders::default();
    }

    /// Notes an event of the client.
    pub(super) fn note(&mut self, call: &HookCall) {
        self.events += 1;
        if call.agent.is_none() {
            self.client_session = Some(call.session.clone());
        }
        let transcripts = call.transcript.iter().chain(call.agent.iter().filter_map(|agent| agent.transcript.as_ref()));
        for transcript in transcripts {
            if !self.transcripts.iter().any(|(known, _)| known == transcript) {
                let length = std::fs::metadata(transcript).map_or(0, |metadata| metadata.len());
                self.transcripts.push((transcript.clone(), length));
            }
        }
        match &call.event {
            Event::Asked(tool) => {
                self.asked += 1;
                self.released = None;
                if let Some(id) = &tool.call_id {
                    if self.announced.len() >= ANNOUNCED_MAX {
                        self.announced.pop_first();
                    }
                    self.announced.insert(id.clone());
                }
            }
            Event::Prompt => (self.released, self.step_cap) = (None, StepCap::Room),
            Event::SessionStarted(_)
            | Event::SessionEnded
            | Event::ModelAsked { .. }
            | Event::Done(..)
            | Event::Claimed(_)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacting
            | Event::Compacted
            | Event::Other => {}
        }
    }

    /// Notes what the client was answered.
    pub(super) fn note_reply(&mut self, reply: &Reply) {
        self.last_answer = if ends_turn(reply) { LastAnswer::End } else { LastAnswer::GoOn };
    }

    /// Notes what the engine decided.
    pub(super) fn publish(&mut self, driver: &Driver, taken: &StepOutcome) {
        self.see(driver);
        self.deadline = taken.next_deadline;
        let decisions = || taken.before.iter().chain([&taken.decision]);
        if decisions().any(is_step_cap) {
            self.step_cap = StepCap::Reached;
        }
        for effect in decisions().flat_map(|decision| &decision.effects) {
            match effect {
                Effect::Compact => self.orders.compact = true,
                Effect::SwitchEngine(reason) => self.orders.switch = Some(*reason),
                Effect::EndIteration(end) if end.exit_status == ExitStatus::Completed => self.released = end.verdict,
                Effect::EndIteration(_)
                | Effect::Hold(_)
                | Effect::Stop(_)
                | Effect::Kill
                | Effect::Inject(_)
                | Effect::Prompt(_)
                | Effect::WarnContext
                | Effect::AskAdvisor(_)
                | Effect::WriteReport(_)
                | Effect::Notify(_)
                | Effect::WakeAt(_) => {}
            }
        }
    }

    /// Notes how the session stands.
    pub(super) fn see(&mut self, driver: &Driver) {
        self.view = driver.view();
        self.recent = driver.recent().to_vec();
        // Another process may have set an earlier end.
        if let Some(end) = self.view.session_deadline {
            self.deadline = Some(self.deadline.map_or(end, |deadline| deadline.min(end)));
        }
    }
}

/// Whether a decision refuses because the iteration has used up its steps.
fn is_step_cap(decision: &Decision) -> bool {
    let error = decision.safety.error.as_ref().filter(|_| !decision.safety.allowed);
    matches!(error, Some(EnforcementError::CycleTermination(CycleTerminationError::MaxSteps)))
}

/// Whether an answer tells the client to end its turn: by the field that the client reads, not by words in it.
pub(super) fn ends_turn(reply: &Reply) -> bool {
    #[derive(serde::Deserialize)]
    struct Said {
        #[serde(rename = "continue")]
        goes_on: Option<bool>,
    }
    serde_json::from_str::<Said>(&reply.stdout).is_ok_and(|said| said.goes_on == Some(false))
}

#[cfg(test)]
impl Pulse {
    /// The pulse of a session whose agent was let go with this verdict, or was not.
    pub(crate) fn released(released: Option<Verification>) -> Self {
        Self { released, ..Self::announcing(&[]) }
    }

    /// The pulse of a session in a folder that is thrown away, whose hooks announced these calls.
    pub(crate) fn announcing(calls: &[&str]) -> Self {
        use tripwire_workspace::geometry::layout::Layout;
        use tripwire_workspace::geometry::wall_clock::WallClock;
        let folder = tempfile::tempdir().unwrap();
        let now = WallClock::from_epoch_ms(1_790_000_000_000);
        let driver = Driver::begin(&Layout::at(folder.path()), now, |_| Ok(())).unwrap();
        let announced = calls.iter().map(|call| (*call).to_owned()).collect();
        Self { announced, asked: u64::try_from(calls.len()).unwrap(), ..Self::of(&driver) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_by_the_clients_field_and_not_by_words() {
        let said = |stdout: &str| ends_turn(&Reply { stdout: stdout.to_owned(), ..Reply::default() });
        assert!(said(r#"{"continue":false,"stopReason":"x"}"#) && said(r#"{ "continue" : false }"#));
        for text in ["", "{}", r#"{"continue":true}"#, r#"{"reason":"x","more":{"continue":false}}"#] {
            assert!(!said(text), "{text}");
        }
    }
}
