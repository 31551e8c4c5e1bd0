//! Dirty bits from observed facts, never from the agent's words, and the verdict on a claim to be done (DIRTY-1).

use crate::chain::event::{AgentEvent, DiskChanges, Flag, TestResult};
use crate::input::{ActOrigin, DirtyBitsEdit};
use crate::label::{Fingerprint, Label};
use crate::policy::{DirtyBits as Settings, List};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The seed's refusal when tests were not run.
pub const MUST_RUN_TESTS: &str = "Must run tests after code modification";
/// The seed's refusal when tests failed.
pub const TESTS_FAILING: &str = "Cannot complete task with failing tests";

/// The refusal when the API changed and its documentation did not.
pub const MUST_UPDATE_DOCS: &str = "Must update documentation after an API change";
/// Test files that are named beside the verdict.
const TESTS_NAMED_MAX: usize = 8;

/// The prompt for an agent that changed the API and not its documentation.
#[must_use]
pub fn docs_prompt(docs_paths: &str) -> alloc::string::String {
    let place = if docs_paths.is_empty() { "its documentation" } else { docs_paths };
    alloc::format!("You modified the API but its documentation was not updated. Update it now, under: {place}")
}

/// The seed's prompt, with the project's own test command in it.
#[must_use]
pub fn test_prompt(command: &str) -> alloc::string::String {
    if command.is_empty() {
        return "You modified code but haven't run tests. Run tests now. No test command is known here: a person names one \
                with `tripwire run --verify CMD`, or as `dirty_bits.test_command` in .geometry/MANIFEST.yaml"
            .into();
    }
    alloc::format!("You modified code but haven't run tests. Run tests now with: {command}")
}

/// The bits of the manifest, and what they are bound to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DirtyBits {
    /// Bits as a set: see [`Bit`].
    bits: u8,
    tests_passing: Option<TestResult>,
    /// The workspace on which the tests ran.
    tested: Fingerprint,
    refusals: u32,
    /// Test files that changed in this session, the first few.
    tests_changed: Vec<Label>,
    /// Who skipped a check, where that is known.
    waived_by: Option<ActOrigin>,
}

/// One dirty bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bit {
    CodeModified,
    TestsRun,
    DocsUpdated,
    /// Something changed after the tests ran.
    Stale,
    /// A file under `api_paths` changed.
    ApiModified,
    /// A file under `docs_paths` changed.
    ApiDocumented,
    /// A person set the bits of the tests by hand, and no test ran since.
    TestsWaived,
    /// A person set the bit of the documentation by hand.
    DocsWaived,
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
    /// A person skipped the check: the work may end, and nothing is proved.
    Waived,
    /// The tests passed, but the API changed and its documentation did not.
    Undocumented,
}

impl Verification {
    /// Whether the work may be reported as done without reserve.
    #[must_use]
    pub const fn is_proved(self) -> bool {
        match self {
            Self::Verified | Self::NothingToVerify => true,
            Self::Stale | Self::Failed | Self::Unverified | Self::Waived | Self::Undocumented => false,
        }
    }
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
    pub(crate) fn observe(&mut self, settings: &Settings, event: &AgentEvent) {
        if event.changed_code() {
            self.set(Bit::CodeModified);
            self.set(Bit::Stale);
            self.clear(Bit::TestsWaived);
            self.refusals = 0;
        }
        if let Some(changes) = &event.changes {
            self.note_changes(settings, changes);
        }
        if event.flags.has(Flag::Docs) && event.changed_files() {
            self.set(Bit::DocsUpdated);
        }
        if event.flags.has(Flag::Test) {
            self.set(Bit::TestsRun);
            self.clear(Bit::Stale);
            self.clear(Bit::TestsWaived);
            self.tests_passing = event.outcome.and_then(|outcome| outcome.test);
            self.tested = event.workspace_hash.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
            self.refusals = 0;
        }
    }

    /// Takes in which files changed: those of the API, of the documentation, of the tests.
    fn note_changes(&mut self, settings: &Settings, changes: &DiskChanges) {
        for path in changes.code.iter().chain(&changes.other) {
            if is_below(&settings.api_paths, path.as_str()) {
                self.set(Bit::ApiModified);
                self.clear(Bit::DocsWaived);
                self.refusals = 0;
            }
            if is_below(&settings.docs_paths, path.as_str()) {
                self.set(Bit::ApiDocumented);
                self.set(Bit::DocsUpdated);
                self.clear(Bit::DocsWaived);
            }
        }
        let run_by_name = changes.code.iter().filter(|path| is_word_of(settings.test_command.as_str(), path.as_str()));
        for path in changes.tests.iter().chain(run_by_name) {
            if self.tests_changed.len() < TESTS_NAMED_MAX && !self.tests_changed.contains(path) {
                self.tests_changed.push(path.clone());
            }
        }
    }

    /// What is proved, given the workspace at the moment of the claim.
    pub(crate) fn verdict(&self, workspace: Fingerprint) -> Verification {
        let moved = workspace.is_some() && self.tested.is_some() && workspace != self.tested;
        let shown = match (self.has(Bit::CodeModified), self.has(Bit::TestsRun), self.tests_passing) {
            (false, _, _) => Verification::NothingToVerify,
            (true, true, Some(TestResult::Failed)) => Verification::Failed,
            (true, true, Some(TestResult::Passed)) if self.has(Bit::Stale) || moved => Verification::Stale,
            (true, true, Some(TestResult::Passed)) => Verification::Verified,
            (true, true, None) | (true, false, _) => Verification::Unverified,
        };
        let lacks_docs = self.has(Bit::ApiModified) && !self.has(Bit::ApiDocumented);
        match (shown.is_proved(), lacks_docs, self.has(Bit::DocsWaived), self.has(Bit::TestsWaived)) {
            (false, _, _, _) => shown,
            (true, true, false, _) => Verification::Undocumented,
            (true, true, true, _) | (true, false, _, true) => Verification::Waived,
            (true, false, _, false) => shown,
        }
    }

    /// Another engine goes on: its claims are its own, and are refused like anybody's.
    pub(crate) const fn forget_refusals(&mut self) {
        self.refusals = 0;
    }

    /// Answers a claim to be done; refuses at most `max_refusals` times in a row, then lets go with the verdict.
    pub(crate) fn claim(&mut self, workspace: Fingerprint, max_refusals: u32) -> ClaimAnswer {
        let verdict = self.verdict(workspace);
        let refusal = match verdict {
            Verification::Verified | Verification::NothingToVerify | Verification::Waived => None,
            Verification::Failed => Some(TESTS_FAILING),
            Verification::Stale | Verification::Unverified => Some(MUST_RUN_TESTS),
            Verification::Undocumented => Some(MUST_UPDATE_DOCS),
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

    /// Test files that changed in this session, the first few.
    pub(crate) fn tests_changed(&self) -> &[Label] {
        &self.tests_changed
    }

    /// Who skipped the check on which the verdict rests.
    pub(crate) fn waived_by(&self) -> Option<&ActOrigin> {
        let waived = self.verdict(Fingerprint::NONE) == Verification::Waived;
        self.waived_by.as_ref().filter(|_| waived)
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

    /// A person set bits by hand. That is honoured, and proves nothing: what it skips is waived.
    pub(crate) fn edit(&mut self, edit: DirtyBitsEdit, by: Option<&ActOrigin>) {
        let skips_tests =
            edit.tests_run == Some(true) || edit.tests_passing == Some(true) || edit.code_modified == Some(false);
        if skips_tests && self.has(Bit::CodeModified) {
            self.set(Bit::TestsWaived);
            self.waived_by = by.cloned();
        }
        if edit.docs_updated == Some(true) && self.has(Bit::ApiModified) && !self.has(Bit::ApiDocumented) {
            self.set(Bit::DocsWaived);
            self.waived_by = by.cloned();
        }
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

    /// A person took work back or brought it back: what the tests proved is stale.
    pub(crate) fn change_by_hand(&mut self) {
        self.set(Bit::CodeModified);
        self.set(Bit::Stale);
        self.clear(Bit::TestsWaived);
        self.refusals = 0;
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

/// Whether a path is one of the listed ones or lies below it.
fn is_below(list: &List, path: &str) -> bool {
    list.iter()
        .map(|item| item.trim_start_matches("./").trim_end_matches('/'))
        .any(|item| item == "." || path.strip_prefix(item).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Whether a command names a file: then the file is part of the tests that the command runs.
fn is_word_of(command: &str, path: &str) -> bool {
    command.split_ascii_whitespace().any(|word| word.trim_start_matches("./") == path)
}

const fn mask(bit: Bit) -> u8 {
    match bit {
        Bit::CodeModified => 1,
        Bit::TestsRun => 1 << 1,
        Bit::DocsUpdated => 1 << 2,
        Bit::Stale => 1 << 3,
        Bit::ApiModified => 1 << 4,
        Bit::ApiDocumented => 1 << 5,
        Bit::TestsWaived => 1 << 6,
        Bit::DocsWaived => 1 << 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::event::{Flags, Outcome, Status};
    use crate::policy::Text;

    fn edit() -> AgentEvent {
        AgentEvent { flags: Flags::default().with(Flag::Edit), ..AgentEvent::default() }
    }

    fn test(result: Option<TestResult>) -> AgentEvent {
        let outcome = Outcome { test: result, ..Outcome::default() };
        AgentEvent { flags: Flags::default().with(Flag::Test), outcome: Some(outcome), ..AgentEvent::default() }
    }

    fn after(events: &[AgentEvent]) -> DirtyBits {
        let mut bits = DirtyBits::default();
        events.iter().for_each(|event| bits.observe(&Settings::default(), event));
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
        let by = ActOrigin { reason: Label::new("no tests here"), who: Label::cut("root") };
        bits.edit(skip(), Some(&by));
        assert_eq!(
            bits.claim(Fingerprint::NONE, 2),
            ClaimAnswer::Released(Verification::Waived),
            "skipped, not proved"
        );
        assert_eq!(bits.waived_by(), Some(&by));
    }

    fn skip() -> DirtyBitsEdit {
        DirtyBitsEdit { tests_run: Some(true), tests_passing: Some(true), ..DirtyBitsEdit::default() }
    }

    #[test]
    fn dirty_1_a_skip_covers_what_was_done_before_it_and_a_test_run_replaces_it() {
        let of = |before: &[AgentEvent], edit: DirtyBitsEdit, later: &[AgentEvent]| {
            let mut bits = after(before);
            bits.edit(edit, None);
            later.iter().for_each(|event| bits.observe(&Settings::default(), event));
            bits.verdict(Fingerprint::NONE)
        };
        let (passed, failed) = (test(Some(TestResult::Passed)), test(Some(TestResult::Failed)));
        let clean = DirtyBitsEdit { code_modified: Some(false), ..DirtyBitsEdit::default() };
        let unrun = DirtyBitsEdit { tests_run: Some(false), ..DirtyBitsEdit::default() };
        assert_eq!(of(&[edit(), failed.clone()], skip(), &[]), Verification::Waived, "they had failed");
        assert_eq!(of(&[edit()], clean, &[]), Verification::Waived, "the code was modified all the same");
        assert_eq!(of(&[edit()], skip(), &[edit()]), Verification::Stale);
        assert_eq!(of(&[edit()], skip(), core::slice::from_ref(&passed)), Verification::Verified);
        assert_eq!(of(&[edit()], skip(), &[failed]), Verification::Failed);
        assert_eq!(of(&[], skip(), &[]), Verification::NothingToVerify);
        assert_eq!(of(&[], skip(), &[edit()]), Verification::Stale, "a skip in advance skips nothing");
        assert_eq!(of(&[edit(), passed], unrun, &[]), Verification::Unverified, "a person may ask for another run");
    }

    fn measured(code: &[&str], other: &[&str], tests: &[&str]) -> AgentEvent {
        let labels = |paths: &[&str]| paths.iter().map(|path| Label::cut(path)).collect();
        let changes = DiskChanges { code: labels(code), other: labels(other), tests: labels(tests) };
        AgentEvent { changes: Some(changes), ..edit() }
    }

    #[test]
    fn dirty_1_what_was_measured_on_disk_counts_and_not_the_words() {
        let failed = Outcome { status: Status::Error, ..Outcome::default() };
        let unseen = AgentEvent { flags: Flags::default(), outcome: Some(failed), ..measured(&["a.py"], &[], &[]) };
        let table = [
            (measured(&[], &[], &[]), Verification::NothingToVerify),
            (measured(&[], &["done.log"], &[]), Verification::NothingToVerify),
            (measured(&["a.py"], &[], &[]), Verification::Unverified),
            (unseen, Verification::Unverified),
        ];
        for (event, verdict) in table {
            assert_eq!(after(core::slice::from_ref(&event)).verdict(Fingerprint::NONE), verdict, "{event:?}");
        }
    }

    #[test]
    fn dirty_1_test_files_that_changed_are_named_and_other_files_are_not() {
        let settings = Settings { test_command: Text::new("sh ./check.sh"), ..Settings::default() };
        let mut bits = DirtyBits::default();
        bits.observe(&settings, &measured(&["src/a.rs", "check.sh"], &[], &[]));
        bits.observe(&settings, &measured(&["tests/b.rs"], &[], &["tests/b.rs"]));
        bits.observe(&settings, &measured(&["tests/b.rs"], &[], &["tests/b.rs"]));
        assert_eq!(bits.tests_changed(), [Label::cut("check.sh"), Label::cut("tests/b.rs")]);
        for n in 0..20 {
            bits.observe(&settings, &measured(&[], &[], &[&alloc::format!("tests/{n}.rs")]));
        }
        assert_eq!(bits.tests_changed().len(), TESTS_NAMED_MAX);
    }

    #[test]
    fn dirty_1_an_api_change_asks_for_its_documentation() {
        let settings = Settings { api_paths: List::new("api"), docs_paths: List::new("docs/"), ..Settings::default() };
        let of = |events: &[AgentEvent]| {
            let mut bits = DirtyBits::default();
            events.iter().for_each(|event| bits.observe(&settings, event));
            bits.observe(&settings, &test(Some(TestResult::Passed)));
            bits
        };
        let (api, docs) = (measured(&["api/x.py"], &[], &[]), measured(&[], &["docs/a.md"], &[]));
        let mut bits = of(core::slice::from_ref(&api));
        let refused = ClaimAnswer::Refused(Verification::Undocumented, MUST_UPDATE_DOCS);
        assert_eq!(bits.claim(Fingerprint::NONE, 1), refused);
        assert_eq!(bits.claim(Fingerprint::NONE, 1), ClaimAnswer::Released(Verification::Undocumented));
        bits.edit(DirtyBitsEdit { docs_updated: Some(true), ..DirtyBitsEdit::default() }, None);
        assert_eq!(bits.verdict(Fingerprint::NONE), Verification::Waived, "a person may skip it");
        assert_eq!(of(&[api.clone(), docs.clone()]).verdict(Fingerprint::NONE), Verification::Verified);
        assert_eq!(of(&[docs, api.clone()]).verdict(Fingerprint::NONE), Verification::Verified, "in whatever order");
        let mut untested = DirtyBits::default();
        untested.observe(&settings, &api);
        assert_eq!(untested.verdict(Fingerprint::NONE), Verification::Unverified, "the tests come first");
        assert_eq!(of(&[measured(&["apis.py"], &[], &[])]).verdict(Fingerprint::NONE), Verification::Verified);
    }

    #[test]
    fn the_seeds_prompt_names_the_projects_own_command() {
        let text = "You modified code but haven't run tests. Run tests now with: pytest tests/";
        assert_eq!(test_prompt("pytest tests/"), text);
    }
}
