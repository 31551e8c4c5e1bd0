//! No progress: which iterations fail, and how many in a row (PROG-1).

use crate::chain::event::{AgentEvent, Flag, TestResult};
use crate::label::{Fingerprint, Label};
use crate::policy::{Policy, Profile, Switch};
use crate::units::{Count, EventIndex};
use serde::{Deserialize, Serialize};

/// What the running iteration has shown, and the failures before it.
#[expect(clippy::struct_excessive_bools, reason = "facts that nothing ties together")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    failures: Count,
    /// Those among them that tests or a build proved after a change: a person's next prompt does not undo them.
    proved: Count,
    /// Those since a person last spoke.
    unattended: Count,
    /// Whether the newest of them was proved.
    proved_now: bool,
    edits: Count,
    calls: Count,
    tests: Option<(TestResult, EventIndex)>,
    /// Whether tests passed at some time in this iteration: what fails afterwards is another step of the work.
    passed_once: bool,
    build_failed: Option<EventIndex>,
    last_error: Fingerprint,
    repeated_error: Option<EventIndex>,
    /// Whether edits were seen in any iteration: then the objective is an editing one.
    edits_seen: bool,
    /// Whether the advisor was asked because of failures and has not answered.
    #[serde(default)]
    advice_wanted: bool,
}

/// Why an iteration failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Tests failed after a code change.
    TestsFail,
    /// The build failed.
    BuildFails,
    /// The same error came twice.
    SameError,
    /// Nothing was changed.
    NoFileChanged,
}

impl Failure {
    /// In words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::TestsFail => "tests fail after a code change",
            Self::BuildFails => "the build fails",
            Self::SameError => "the same error came twice",
            Self::NoFileChanged => "no file was modified",
        }
    }
}

impl Progress {
    /// Takes in one event of the running iteration.
    pub(crate) fn observe(&mut self, event: &AgentEvent, index: EventIndex) {
        self.calls = self.calls.plus(event.tool_calls);
        let failed = event.failed();
        if event.changed_files() {
            self.edits = self.edits.next();
            self.edits_seen = true;
        }
        if let Some(result) = event.outcome.and_then(|outcome| outcome.test) {
            self.tests = Some((result, index));
            self.passed_once |= result == TestResult::Passed;
        }
        if event.flags.has(Flag::Build) {
            self.build_failed = failed.then_some(index);
        }
        if failed && !event.is_infrastructure_error() {
            let error = event.error_digest.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
            if error.is_some() && error == self.last_error {
                self.repeated_error = Some(index);
            }
            self.last_error = error;
        }
    }

    /// Closes the iteration: says whether and why it failed, with the event that proves it, and counts.
    pub(crate) fn close(&mut self, policy: &Policy) -> Option<(Failure, Option<EventIndex>)> {
        let failure = self.judge(policy);
        let soft = self.passed_once && policy.profile == Profile::Balanced;
        self.proved_now = match &failure {
            Some((Failure::TestsFail | Failure::BuildFails, _)) => !soft,
            Some((Failure::SameError | Failure::NoFileChanged, _)) | None => false,
        };
        if failure.is_some() {
            (self.failures, self.unattended) = (self.failures.next(), self.unattended.next());
            self.proved = if self.proved_now { self.proved.next() } else { self.proved };
        } else {
            self.set_failures(Count::ZERO);
        }
        let Self { failures, proved, unattended, proved_now, edits_seen, advice_wanted, .. } = *self;
        *self = Self { failures, proved, unattended, proved_now, edits_seen, advice_wanted, ..Self::default() };
        failure
    }

    /// Whether so many iterations in a row failed that a person has to look: the newest one provably, or all of them while
    /// nobody spoke. A question that changes no file does not complete a row of failed tests.
    pub(crate) fn is_stuck(&self, limit: Count) -> bool {
        self.failures >= limit && (self.proved_now || self.unattended >= limit)
    }

    fn judge(&self, policy: &Policy) -> Option<(Failure, Option<EventIndex>)> {
        let editing = self.edits_seen || policy.limits.editing_objective == Switch::On;
        let passed = matches!(self.tests, Some((TestResult::Passed, _)));
        // On evidence, an error that came twice and was then overcome is work, not a failure.
        let forgiven = policy.profile == Profile::Balanced && passed;
        match (self.tests, self.build_failed, self.repeated_error) {
            (Some((TestResult::Failed, index)), _, _) if self.edits > Count::ZERO => {
                Some((Failure::TestsFail, Some(index)))
            }
            (_, Some(index), _) => Some((Failure::BuildFails, Some(index))),
            (_, None, Some(index)) if !forgiven => Some((Failure::SameError, Some(index))),
            _ if editing && self.edits == Count::ZERO => Some((Failure::NoFileChanged, None)),
            _ => None,
        }
    }

    /// Whether the running iteration has seen any work, so that closing it means something.
    pub(crate) fn has_worked(&self) -> bool {
        self.calls > Count::ZERO
    }

    /// Failures in a row.
    pub(crate) const fn failures(&self) -> Count {
        self.failures
    }

    /// A person spoke between two iterations (`balanced`): three questions in a row change no file and are no trouble.
    /// Tests or a build that fail after each change are, however often the person says `continue`.
    pub(crate) const fn person_spoke(&mut self) {
        (self.failures, self.unattended) = (self.proved, Count::ZERO);
    }

    /// The advisor is asked because of the failures.
    pub(crate) const fn want_advice(&mut self) {
        self.advice_wanted = true;
    }

    /// The advisor answered; says whether failures had it asked.
    pub(crate) const fn take_advice(&mut self) -> bool {
        core::mem::replace(&mut self.advice_wanted, false)
    }

    /// A person set the counter.
    pub(crate) const fn set_failures(&mut self, failures: Count) {
        (self.failures, self.proved, self.unattended) = (failures, failures, failures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::event::{Flags, Outcome, Status};

    fn event(flag: Flag, outcome: Outcome) -> AgentEvent {
        AgentEvent {
            flags: Flags::default().with(flag),
            outcome: Some(outcome),
            tool_calls: Count::new(1),
            ..AgentEvent::default()
        }
    }

    fn error(digest: &str) -> AgentEvent {
        let failed = Outcome { status: Status::Error, ..Outcome::default() };
        AgentEvent { error_digest: Label::new(digest), ..event(Flag::Read, failed) }
    }

    fn edit() -> AgentEvent {
        event(Flag::Edit, Outcome::default())
    }

    fn tests(result: TestResult) -> AgentEvent {
        event(Flag::Test, Outcome { test: Some(result), ..Outcome::default() })
    }

    fn build() -> AgentEvent {
        event(Flag::Build, Outcome { status: Status::Error, ..Outcome::default() })
    }

    fn closed(events: &[AgentEvent]) -> Option<Failure> {
        let mut progress = Progress::default();
        (0..).zip(events).for_each(|(index, event)| progress.observe(event, EventIndex::new(index)));
        progress.close(&Policy::default()).map(|(failure, _)| failure)
    }

    #[test]
    fn prog_1_each_of_the_four_failures_counts() {
        assert_eq!(closed(&[edit(), tests(TestResult::Failed)]), Some(Failure::TestsFail));
        assert_eq!(closed(&[edit(), build()]), Some(Failure::BuildFails));
        assert_eq!(closed(&[error("x"), error("x")]), Some(Failure::SameError));
        let mut progress = Progress::default();
        progress.observe(&edit(), EventIndex::ZERO);
        assert_eq!(progress.close(&Policy::default()), None);
        assert_eq!(progress.close(&Policy::default()), Some((Failure::NoFileChanged, None)));
        assert_eq!(progress.close(&Policy::default()), Some((Failure::NoFileChanged, None)));
        assert_eq!(progress.failures(), Count::new(2));
    }

    #[test]
    fn prog_1_the_question_to_the_advisor_outlives_the_iteration_and_is_answered_once() {
        let mut progress = Progress::default();
        progress.want_advice();
        progress.close(&Policy::default());
        assert!(progress.take_advice());
        assert!(!progress.take_advice());
    }

    #[test]
    fn prog_1_a_prompt_undoes_questions_and_not_failing_tests() {
        let mut progress = Progress::default();
        let mut turn = |events: &[AgentEvent]| {
            progress.person_spoke();
            (0..).zip(events).for_each(|(index, event)| progress.observe(event, EventIndex::new(index)));
            progress.close(&Policy::default());
            progress.failures()
        };
        assert_eq!(turn(&[edit(), tests(TestResult::Failed)]), Count::new(1));
        assert_eq!(turn(&[event(Flag::Read, Outcome::default())]), Count::new(2), "a question");
        assert_eq!(turn(&[edit(), tests(TestResult::Failed)]), Count::new(2), "the question did not count");
        assert_eq!(turn(&[edit(), build()]), Count::new(3));
        assert_eq!(turn(&[edit(), tests(TestResult::Passed)]), Count::ZERO);
        for _ in 0..6 {
            assert_eq!(turn(&[event(Flag::Read, Outcome::default())]), Count::new(1), "six questions in a row");
        }
    }

    #[test]
    fn prog_1_a_question_after_two_broken_turns_is_no_third_one() {
        let limit = Count::new(3);
        let stuck = |turns: &[&[AgentEvent]]| {
            let mut progress = Progress::default();
            for events in turns {
                progress.person_spoke();
                (0..).zip(*events).for_each(|(index, event)| progress.observe(event, EventIndex::new(index)));
                progress.close(&Policy::default());
            }
            progress.is_stuck(limit)
        };
        let broken: &[AgentEvent] = &[edit(), tests(TestResult::Failed)];
        let question: &[AgentEvent] = &[event(Flag::Read, Outcome::default())];
        let halfway: &[AgentEvent] = &[edit(), tests(TestResult::Passed), edit(), tests(TestResult::Failed)];
        assert!(stuck(&[broken, broken, broken]));
        assert!(!stuck(&[broken, broken, question]), "nothing was tried");
        assert!(stuck(&[broken, broken, question, broken]));
        assert!(!stuck(&[broken, broken, halfway]), "the tests passed in between: the work moves");
    }

    #[test]
    fn prog_1_work_that_moves_is_no_failure() {
        assert_eq!(closed(&[edit(), tests(TestResult::Failed), edit(), tests(TestResult::Passed)]), None);
        assert_eq!(closed(&[error("x"), error("y"), error("x")]), None);
        assert_eq!(closed(&[error("x"), error("x"), edit(), tests(TestResult::Passed)]), None);
        assert_eq!(closed(&[tests(TestResult::Failed)]), None, "failing tests before any change are the task");
        assert_eq!(closed(&[]), None, "research changes no file");
    }
}
