//! Dirty bits from observed facts, never from the agent's words, and the verdict on a claim to be done (DIRTY-1).

use crate::chain::event::{AgentEvent, Flag, TestResult};
use crate::input::DirtyBitsEdit;
use crate::label::{Fingerprint, Label};
use serde::{Deserialize, Serialize};

/// The seed's refusal when tests were not run.
pub const MUST_RUN_TESTS: &str = "Must run tests after code modification";
/// The seed's refusal when tests failed.
pub const TESTS_FAILING: &str = "Cannot complete task with failing tests";

/// The seed's prompt, with the project's own test command in it.
#[must_use]
pub fn test_prompt(command: &str) -> alloc::string::String {
    let command = if command.is_empty() { "the project's test command" } else { command };
    alloc::format!("You modified code but haven't run tests. Run tests now with: {command}")
}

/// The bits of the manifest, and what they are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DirtyBits {
    /// Bits as a set: see [`Bit`].
    bits: u8,
    tests_passing: Option<TestResult>,
    /// The workspace on which the tests ran.
    tested: Fingerprint,
    refusals: u32,
}

/// One dirty bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bit {
    CodeModified,
    TestsRun,
    DocsUpdated,
    /// Something changed after the tests ran.
    Stale,
}

/// What is proved about the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verification {
    /// The tests passed on exactly this tree.
    Verified,
    /// They passed, but something changed since.
    Stale,
    /// They failed.
    Failed,
    /// They were not run, or their result is not known.
    Unverified,
    /// No code was changed: there is nothing to verify.
    NothingToVerify,
}

/// The answer to a claim to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimAnswer {
    /// It may end, with this verdict.
    Released(Verification),
    /// It may not: the tests are to be run first.
    Refused(Verification, &'static str),
}

impl DirtyBits {
    /// Takes in what an event shows.
    pub(crate) fn observe(&mut self, event: &AgentEvent) {
        let edited = event.flags.has(Flag::Edit) && !event.flags.has(Flag::Text) && !event.failed();
        if edited || event.flags.has(Flag::Touched) {
            self.set(Bit::CodeModified);
            self.set(Bit::Stale);
            self.refusals = 0;
        }
        if event.flags.has(Flag::Docs) && !event.failed() {
            self.set(Bit::DocsUpdated);
        }
        if event.flags.has(Flag::Test) {
            self.set(Bit::TestsRun);
            self.clear(Bit::Stale);
            self.tests_passing = event.outcome.and_then(|outcome| outcome.test);
            self.tested = event.workspace_hash.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
            self.refusals = 0;
        }
    }

    /// What is proved, given the workspace at the moment of the claim.
    pub(crate) fn verdict(&self, workspace: Fingerprint) -> Verification {
        let moved = workspace.is_some() && self.tested.is_some() && workspace != self.tested;
        match (self.has(Bit::CodeModified), self.has(Bit::TestsRun), self.tests_passing) {
            (false, _, _) => Verification::NothingToVerify,
            (true, true, Some(TestResult::Failed)) => Verification::Failed,
            (true, true, Some(TestResult::Passed)) if self.has(Bit::Stale) || moved => Verification::Stale,
            (true, true, Some(TestResult::Passed)) => Verification::Verified,
            (true, true, None) | (true, false, _) => Verification::Unverified,
        }
    }

    /// Answers a claim to be done; refuses at most `max_refusals` times in a row, then lets go with the verdict.
    pub(crate) fn claim(&mut self, workspace: Fingerprint, max_refusals: u32) -> ClaimAnswer {
        let verdict = self.verdict(workspace);
        let refusal = match verdict {
            Verification::Verified | Verification::NothingToVerify => None,
            Verification::Failed => Some(TESTS_FAILING),
            Verification::Stale | Verification::Unverified => Some(MUST_RUN_TESTS),
        };
        match refusal {
            Some(text) if self.refusals < max_refusals => {
                self.refusals = self.refusals.saturating_add(1);
                ClaimAnswer::Refused(verdict, text)
            }
            Some(_) | None => {
                self.refusals = 0;
                ClaimAnswer::Released(verdict)
            }
        }
    }

    /// The bits as the manifest shows them.
    pub(crate) fn shown(&self) -> DirtyBitsEdit {
        DirtyBitsEdit {
            code_modified: Some(self.has(Bit::CodeModified)),
            docs_updated: Some(self.has(Bit::DocsUpdated)),
            tests_passing: self.tests_passing.map(|result| result == TestResult::Passed),
            tests_run: Some(self.has(Bit::TestsRun)),
        }
    }

    /// A person set bits by hand.
    pub(crate) fn edit(&mut self, edit: DirtyBitsEdit) {
        self.assign(Bit::CodeModified, edit.code_modified);
        self.assign(Bit::DocsUpdated, edit.docs_updated);
        self.assign(Bit::TestsRun, edit.tests_run);
        if edit.tests_run == Some(true) {
            self.clear(Bit::Stale);
            self.tested = Fingerprint::NONE;
        }
        if let Some(passing) = edit.tests_passing {
            self.tests_passing = Some(if passing { TestResult::Passed } else { TestResult::Failed });
        }
    }

    fn assign(&mut self, bit: Bit, value: Option<bool>) {
        match value {
            Some(true) => self.set(bit),
            Some(false) => self.clear(bit),
            None => {}
        }
    }

    const fn set(&mut self, bit: Bit) {
        self.bits |= mask(bit);
    }

    const fn clear(&mut self, bit: Bit) {
        self.bits &= !mask(bit);
    }

    const fn has(&self, bit: Bit) -> bool {
        self.bits & mask(bit) != 0
    }
}

const fn mask(bit: Bit) -> u8 {
    match bit {
        Bit::CodeModified => 1,
        Bit::TestsRun => 1 << 1,
        Bit::DocsUpdated => 1 << 2,
        Bit::Stale => 1 << 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::event::{Flags, Outcome, Status};

    fn edit() -> AgentEvent {
        AgentEvent { flags: Flags::default().with(Flag::Edit), ..AgentEvent::default() }
    }

    fn test(result: Option<TestResult>) -> AgentEvent {
        let outcome = Outcome { test: result, ..Outcome::default() };
        AgentEvent { flags: Flags::default().with(Flag::Test), outcome: Some(outcome), ..AgentEvent::default() }
    }

    fn after(events: &[AgentEvent]) -> DirtyBits {
        let mut bits = DirtyBits::default();
        events.iter().for_each(|event| bits.observe(event));
        bits
    }

    #[test]
    fn dirty_1_what_was_seen_to_change_counts_whatever_the_words_and_the_end() {
        let failed = Outcome { status: Status::Error, ..Outcome::default() };
        let touched =
            AgentEvent { flags: Flags::default().with(Flag::Touched), outcome: Some(failed), ..AgentEvent::default() };
        assert_eq!(after(&[touched]).verdict(Fingerprint::NONE), Verification::Unverified);
        let both = AgentEvent { flags: test(None).flags.with(Flag::Touched), ..test(Some(TestResult::Passed)) };
        assert_eq!(after(&[both]).verdict(Fingerprint::NONE), Verification::Verified, "tests may write files");
    }

    #[test]
    fn dirty_1_the_verdict_follows_from_what_was_observed() {
        let (passed, failed) = (Some(TestResult::Passed), Some(TestResult::Failed));
        let table: [(&[AgentEvent], Verification); 7] = [
            (&[], Verification::NothingToVerify),
            (&[test(passed)], Verification::NothingToVerify),
            (&[edit()], Verification::Unverified),
            (&[edit(), test(None)], Verification::Unverified),
            (&[edit(), test(failed)], Verification::Failed),
            (&[edit(), test(passed)], Verification::Verified),
            (&[edit(), test(passed), edit()], Verification::Stale),
        ];
        for (events, verdict) in table {
            assert_eq!(after(events).verdict(Fingerprint::NONE), verdict, "{events:?}");
        }
    }

    #[test]
    fn dirty_1_plain_text_leaves_nothing_to_verify_and_does_not_hide_changed_code() {
        let text = AgentEvent { flags: Flags::default().with(Flag::Edit).with(Flag::Text), ..AgentEvent::default() };
        let passed = Some(TestResult::Passed);
        let table: [(&[AgentEvent], Verification); 4] = [
            (core::slice::from_ref(&text), Verification::NothingToVerify),
            (&[text.clone(), edit()], Verification::Unverified),
            (&[edit(), text.clone()], Verification::Unverified),
            (&[edit(), test(passed), text.clone()], Verification::Verified),
        ];
        for (events, verdict) in table {
            assert_eq!(after(events).verdict(Fingerprint::NONE), verdict, "{events:?}");
        }
    }

    #[test]
    fn dirty_1_a_failed_edit_modifies_nothing() {
        let failed = Outcome { status: Status::Error, ..Outcome::default() };
        let event = AgentEvent { outcome: Some(failed), ..edit() };
        assert_eq!(after(&[event]).verdict(Fingerprint::NONE), Verification::NothingToVerify);
    }

    #[test]
    fn dirty_1_the_verdict_is_bound_to_the_workspace() {
        let mut tested = test(Some(TestResult::Passed));
        tested.workspace_hash = Label::new("tree-1");
        let bits = after(&[edit(), tested]);
        assert_eq!(bits.verdict(Fingerprint::of(b"tree-1")), Verification::Verified);
        assert_eq!(bits.verdict(Fingerprint::of(b"tree-2")), Verification::Stale);
    }

    #[test]
    fn dirty_1_the_gate_refuses_twice_and_then_lets_go_with_its_verdict() {
        let mut bits = after(&[edit()]);
        let refused = ClaimAnswer::Refused(Verification::Unverified, MUST_RUN_TESTS);
        assert_eq!(bits.claim(Fingerprint::NONE, 2), refused);
        assert_eq!(bits.claim(Fingerprint::NONE, 2), refused);
        assert_eq!(bits.claim(Fingerprint::NONE, 2), ClaimAnswer::Released(Verification::Unverified));
        let mut bits = after(&[edit(), test(Some(TestResult::Failed))]);
        assert_eq!(bits.claim(Fingerprint::NONE, 2), ClaimAnswer::Refused(Verification::Failed, TESTS_FAILING));
    }

    #[test]
    fn dirty_1_a_person_may_set_the_bits_by_hand() {
        let mut bits = after(&[edit()]);
        bits.edit(DirtyBitsEdit { tests_run: Some(true), tests_passing: Some(true), ..DirtyBitsEdit::default() });
        assert_eq!(bits.claim(Fingerprint::NONE, 2), ClaimAnswer::Released(Verification::Verified));
    }

    #[test]
    fn the_seeds_prompt_names_the_projects_own_command() {
        let text = "You modified code but haven't run tests. Run tests now with: pytest tests/";
        assert_eq!(test_prompt("pytest tests/"), text);
    }
}
