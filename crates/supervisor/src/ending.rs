//! How a run ended: what the engine decided, else what the client itself says. Its exit code alone is not believed.

use crate::guard::pulse::{Pulse, StepCap};
use serde::Serialize;
use tripwire_clients::Client;
use tripwire_clients::launch::ExitMessage;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::{HoldReason, StopReason, SwitchReason};
use tripwire_sandbox::{Budget, TreeExit};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// The agent said that it is done and was let go, with this verdict.
    Done(Verification),
    /// The session was stopped.
    Stopped(StopReason),
    /// The session is held for a person.
    Held(HoldReason),
    /// The guard did not hold, or something survived the end.
    GuardBroken(String),
    /// The model's provider has no room: the same again later.
    Parked(String),
    /// The session's step cap ended the agent's turn, and no iteration followed.
    StepCap,
    /// The client came to a cap of its own.
    ClientCap(String),
    /// The client's own budget is used up.
    ClientBudget(String),
    /// The client ended without finishing.
    ClientFailed(String),
    /// The client ended well before it asked for anything, for instance because it only printed its version.
    NothingAsked,
}

impl Ending {
    /// In a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Done(Verification::Verified) => "done, and the tests passed on exactly this tree".to_owned(),
            Self::Done(Verification::NothingToVerify) => "done; no code was changed".to_owned(),
            Self::Done(Verification::Stale) => "done, but something changed after the tests".to_owned(),
            Self::Done(Verification::Failed) => "done, but the tests failed".to_owned(),
            Self::Done(Verification::Unverified) => "done, but the tests were not run".to_owned(),
            Self::Done(Verification::Waived) => {
                "done, but a person skipped the check: no test run proves the work".to_owned()
            }
            Self::Done(Verification::Undocumented) => {
                "done, but the API changed and its documentation was not updated".to_owned()
            }
            // The client's processes are gone: nothing takes the run up again.
            Self::Stopped(reason) => reason.in_short().to_owned(),
            Self::Held(reason) => format!("{}, and no person was there to ask", reason.in_short()),
            Self::GuardBroken(why) => format!("the guard did not hold: {why}"),
            Self::Parked(why) => format!("the model's provider has no room: {why}"),
            Self::StepCap => "the step cap (limits.max_steps) ended the agent's turn".to_owned(),
            Self::ClientCap(why) => format!("the client reached its own limit: {why}"),
            Self::ClientBudget(why) => format!("the client's own budget is used up: {why}"),
            Self::ClientFailed(why) => format!("the client ended without finishing: {why}"),
            Self::NothingAsked => "the client ended with exit code 0 before it asked for anything: \
                 there was nothing to guard, and nothing is proved"
                .to_owned(),
        }
    }
}

/// Why a worker's time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkerEnd {
    /// Its program ended.
    ByItself(TreeExit),
    /// The session was stopped.
    Stopped(StopReason),
    /// The session is held and no person can be asked.
    Held(HoldReason),
    /// The guard does not hold.
    Broken(String),
    /// A budget of its sandbox is spent.
    OverBudget(Budget),
    /// This process was asked to end.
    Interrupted,
    /// A fresh worker is to go on with the briefing.
    Restart,
    /// Another engine is to go on.
    Switch(SwitchReason),
}

/// What is known when a worker is gone.
pub(super) struct EndFacts<'a> {
    /// The client.
    pub(super) client: Client,
    /// Why its time was over.
    pub(super) end: &'a WorkerEnd,
    /// How the guard stands.
    pub(super) pulse: &'a Pulse,
    /// What its stream said last.
    pub(super) message: &'a ExitMessage,
    /// What its records say of the provider's refusal.
    pub(super) refusal: Option<&'a str>,
}

impl EndFacts<'_> {
    /// The ending that these facts mean; a restart or a switch is none.
    pub(super) fn ending(&self) -> Ending {
        match self.end {
            WorkerEnd::Stopped(reason) => Ending::Stopped(*reason),
            WorkerEnd::Held(reason) => Ending::Held(*reason),
            WorkerEnd::Broken(why) => Ending::GuardBroken(why.clone()),
            WorkerEnd::OverBudget(budget) => Ending::ClientFailed(format!(
                "its processes used more {} than the sandbox's limit, and were ended",
                budget.name()
            )),
            WorkerEnd::Interrupted => Ending::Stopped(StopReason::StoppedByPerson),
            WorkerEnd::Restart | WorkerEnd::Switch(_) => Ending::Held(HoldReason::Context),
            WorkerEnd::ByItself(exit) => self.by_itself(*exit),
        }
    }

    /// The provider's words, if it had no room.
    pub(super) fn overload(&self) -> Option<String> {
        let error = self.message.error.as_deref().or(self.refusal)?;
        (matches!(self.end, WorkerEnd::ByItself(_)) && is_overload(error)).then(|| error.to_owned())
    }

    fn by_itself(&self, exit: TreeExit) -> Ending {
        // A client whose model call was refused for want of money ends in its own way; the money is why.
        let is_done = exit == TreeExit::Exited(0) && self.pulse.released.is_some();
        if self.pulse.unpaid.is_some() && !is_done {
            return Ending::Held(HoldReason::Money);
        }
        // The same for one whose model call was refused because of a stop, and who was faster than the watch.
        if let Some(reason) = self.pulse.stopped().filter(|_| !is_done) {
            return Ending::Stopped(reason);
        }
        if let Some(why) = self.overload().or_else(|| self.refused_by_status(exit)) {
            return Ending::Parked(why);
        }
        let code = match exit {
            TreeExit::Exited(code) => format!("exit code {code}"),
            TreeExit::Signaled(signal) => format!("signal {signal}"),
        };
        let why = match (self.message.error.as_deref().or(self.refusal), self.message.reason.as_deref()) {
            (Some(error), _) => format!("{error} ({code})"),
            (None, Some(reason)) => format!("{reason} ({code})"),
            (None, None) => code,
        };
        if self.client.is_at_gateway() && self.pulse.step_cap == StepCap::Room {
            // Nobody announces the end of its turn: its exit is all that is known, and the verdict is the engine's.
            return match exit {
                TreeExit::Exited(0) => Ending::Done(self.pulse.view.verdict),
                TreeExit::Exited(_) | TreeExit::Signaled(_) => Ending::ClientFailed(why),
            };
        }
        if self.pulse.events == 0 {
            return match exit {
                TreeExit::Exited(0) => Ending::NothingAsked,
                TreeExit::Exited(_) | TreeExit::Signaled(_) => {
                    Ending::ClientFailed(format!("{why}, before it asked for anything"))
                }
            };
        }
        // The engine's own word comes first: a client that was told to end its turn may call that a failure.
        if self.pulse.step_cap == StepCap::Reached && self.pulse.released.is_none() {
            return Ending::StepCap;
        }
        match (exit, self.message.reason.as_deref(), self.pulse.released) {
            (_, Some("max_turns" | "error_max_turns"), _) => Ending::ClientCap(why),
            (_, Some("budget_exhausted" | "error_max_budget_usd"), _) => Ending::ClientBudget(why),
            (TreeExit::Exited(0), _, Some(verdict)) => Ending::Done(verdict),
            // It was never let go: whatever its exit code says, it did not finish.
            (TreeExit::Exited(_) | TreeExit::Signaled(_), _, _) => Ending::ClientFailed(why),
        }
    }

    fn refused_by_status(&self, exit: TreeExit) -> Option<String> {
        let TreeExit::Exited(code) = exit else { return None };
        let known = self.client.adapter().launch.provider_status;
        known.iter().find(|known| known.exit_code == code).map(|known| format!("status {}", known.status))
    }
}

/// Whether a provider's words mean: not now. Another engine, or the same one later, may be asked instead.
fn is_overload(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    [
        "429",
        "503",
        "529",
        "overloaded",
        "rate limit",
        "rate_limit",
        "usage limit",
        "at capacity",
        "quota",
        "too many requests",
    ]
    .iter()
    .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::units::MicroUsd;

    fn ending(client: Client, exit: TreeExit, words: &ExitMessage, released: Option<Verification>) -> Ending {
        let mut pulse = Pulse::released(released);
        pulse.events = 1;
        let end = WorkerEnd::ByItself(exit);
        EndFacts { client, end: &end, pulse: &pulse, message: words, refusal: None }.ending()
    }

    fn words(reason: &str, error: Option<&str>) -> ExitMessage {
        ExitMessage { reason: Some(reason.to_owned()), error: error.map(str::to_owned), text: None }
    }

    #[test]
    fn an_exit_code_of_0_is_believed_only_if_the_agent_was_let_go() {
        let verdict = Verification::Verified;
        let (done, silent) = (TreeExit::Exited(0), ExitMessage::default());
        assert_eq!(ending(Client::Gemini, done, &silent, Some(verdict)), Ending::Done(verdict));
        assert!(matches!(ending(Client::Gemini, done, &silent, None), Ending::ClientFailed(_)));
        let killed = TreeExit::Signaled(9);
        assert!(matches!(ending(Client::Claude, killed, &silent, Some(verdict)), Ending::ClientFailed(_)));
    }

    #[test]
    fn the_clients_own_caps_and_its_providers_refusals_have_their_endings() {
        let failed = TreeExit::Exited(1);
        let of = |words: &ExitMessage| ending(Client::Claude, failed, words, None);
        assert!(matches!(of(&words("max_turns", None)), Ending::ClientCap(_)));
        assert!(matches!(of(&words("budget_exhausted", None)), Ending::ClientBudget(_)));
        assert!(matches!(of(&words("api_error", Some("API Error: 529"))), Ending::Parked(_)));
        assert!(matches!(of(&words("api_error", Some("API Error: 403"))), Ending::ClientFailed(_)));
        let status = ending(Client::Gemini, TreeExit::Exited(173), &ExitMessage::default(), None);
        assert_eq!(status, Ending::Parked("status 429".to_owned()));
        assert!(matches!(
            ending(Client::Codex, TreeExit::Exited(173), &ExitMessage::default(), None),
            Ending::ClientFailed(_)
        ));
    }

    #[test]
    fn term_1_a_turn_that_the_step_cap_ended_is_no_failure_of_the_client() {
        let said = words("hook_stopped", None);
        let of = |step_cap, released| {
            let mut pulse = Pulse::released(released);
            (pulse.events, pulse.step_cap) = (1, step_cap);
            let end = WorkerEnd::ByItself(TreeExit::Exited(0));
            EndFacts { client: Client::Claude, end: &end, pulse: &pulse, message: &said, refusal: None }.ending()
        };
        assert_eq!(of(StepCap::Reached, None), Ending::StepCap);
        assert!(matches!(of(StepCap::Room, None), Ending::ClientFailed(_)));
        assert_eq!(of(StepCap::Reached, Some(Verification::Verified)), Ending::Done(Verification::Verified));
    }

    #[test]
    fn gate_8_a_client_that_ends_because_its_model_call_was_not_paid_for_ends_at_its_budget() {
        let silent = ExitMessage::default();
        let of = |exit, unpaid, released| {
            let mut pulse = Pulse::released(released);
            (pulse.events, pulse.unpaid) = (1, unpaid);
            let end = WorkerEnd::ByItself(exit);
            EndFacts { client: Client::Claude, end: &end, pulse: &pulse, message: &silent, refusal: None }.ending()
        };
        let (unpaid, money) = (Some(MicroUsd::new(5)), Ending::Held(HoldReason::Money));
        assert_eq!(of(TreeExit::Exited(1), unpaid, None), money);
        assert_eq!(of(TreeExit::Exited(0), unpaid, None), money, "an exit code alone is not believed");
        let done = Some(Verification::Verified);
        assert_eq!(of(TreeExit::Exited(0), unpaid, done), Ending::Done(Verification::Verified));
        assert!(matches!(of(TreeExit::Exited(1), None, None), Ending::ClientFailed(_)));
    }

    #[test]
    fn ctrl_1_a_client_that_gives_up_under_a_stop_before_the_watch_ends_it_was_stopped() {
        let of = |exit, stopped, released| {
            let mut pulse = Pulse::released(released);
            (pulse.events, pulse.view.stopped) = (1, stopped);
            let (end, said) = (WorkerEnd::ByItself(exit), words("error", Some("403 this workspace is stopped")));
            EndFacts { client: Client::Gemini, end: &end, pulse: &pulse, message: &said, refusal: None }.ending()
        };
        let (stop, stopped) = (Some(StopReason::StoppedByPerson), Ending::Stopped(StopReason::StoppedByPerson));
        assert_eq!(of(TreeExit::Exited(147), stop, None), stopped);
        assert_eq!(of(TreeExit::Exited(0), stop, None), stopped, "it was never let go");
        // What was done before the stop stays done, and without a stop the client failed.
        let done = Some(Verification::Verified);
        assert_eq!(of(TreeExit::Exited(0), stop, done), Ending::Done(Verification::Verified));
        assert!(matches!(of(TreeExit::Exited(147), None, None), Ending::ClientFailed(_)));
    }

    #[test]
    fn a_client_that_asked_for_nothing_ends_with_its_own_code_and_is_never_done() {
        let (pulse, words) = (Pulse::released(None), ExitMessage::default());
        let of = |exit| {
            let end = WorkerEnd::ByItself(exit);
            EndFacts { client: Client::Claude, end: &end, pulse: &pulse, message: &words, refusal: None }.ending()
        };
        assert_eq!(of(TreeExit::Exited(0)), Ending::NothingAsked);
        let Ending::ClientFailed(why) = of(TreeExit::Exited(7)) else { panic!("it failed") };
        assert_eq!(why, "exit code 7, before it asked for anything");
    }

    #[test]
    fn what_the_engine_decided_comes_before_what_the_client_says() {
        let pulse = Pulse::released(Some(Verification::Verified));
        for (end, expected) in [
            (WorkerEnd::Stopped(StopReason::WallClock), Ending::Stopped(StopReason::WallClock)),
            (WorkerEnd::Held(HoldReason::Money), Ending::Held(HoldReason::Money)),
            (WorkerEnd::Interrupted, Ending::Stopped(StopReason::StoppedByPerson)),
            (WorkerEnd::Broken("x".to_owned()), Ending::GuardBroken("x".to_owned())),
        ] {
            let said = words("completed", None);
            let facts = EndFacts { client: Client::Claude, end: &end, pulse: &pulse, message: &said, refusal: None };
            assert_eq!(facts.ending(), expected);
            assert!(!facts.ending().words().is_empty());
        }
    }

    #[test]
    fn run_4_overload_is_told_from_other_errors() {
        assert!(is_overload("API Error: 529 Overloaded") && is_overload("Selected model is at capacity"));
        assert!(!is_overload("API Error: 403 permission denied"));
    }
}
