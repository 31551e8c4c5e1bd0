//! What is printed beside a verdict on the work: who skipped the check, and which tests were changed.

use tripwire_core::chain::ChainView;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::label::Label;

/// Who skipped the check; empty where no one did.
pub(crate) fn skipped(view: &ChainView) -> String {
    match (&view.waived_by, view.verdict) {
        (Some(by), _) => format!(" (check skipped {by})"),
        (None, Verification::Waived) => " (check skipped by a person)".to_owned(),
        (
            None,
            Verification::Verified
            | Verification::Stale
            | Verification::Failed
            | Verification::Unverified
            | Verification::NothingToVerify
            | Verification::Undocumented,
        ) => String::new(),
    }
}

/// The test files that changed in this session, if any did.
pub(crate) fn tests_changed(view: &ChainView) -> Option<String> {
    let names: Vec<&str> = view.tests_changed.iter().map(Label::as_str).collect();
    (!names.is_empty()).then(|| format!("changed in this session: {}", names.join(", ")))
}
