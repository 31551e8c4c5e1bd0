//! Redaction changes no decision: the made-up sessions, each with one key in all of its outputs and with another in each.

use tripwire_testing::sized;
use xtask::{redaction, robust};

#[test]
fn secret_2_made_up_sessions_are_judged_alike_with_and_without_their_secrets() {
    let comparison = redaction::compare(None, sized(2, robust::MADE_UP)).unwrap();
    assert!(comparison.redacted > 20, "{}", comparison.line());
    assert!(comparison.different.is_empty(), "{}", comparison.line());
}
