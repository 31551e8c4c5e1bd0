//! Claude Code.

use crate::hooks::cases;
use crate::support::clients::Client;
use crate::support::clients::Kind::Claude;

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_3_the_guard_is_out_of_the_real_claude_codes_reach() {
    cases::out_of_reach(Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_the_real_claude_code_asks_no_model_while_stop_exists() {
    cases::stopped_before_it_begins(Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn dirty_1_the_real_claude_code_is_sent_back_at_most_twice() {
    cases::sent_back_twice(Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_3_the_real_claude_code_does_distinct_work_undisturbed() {
    cases::distinct_work(Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_1_the_real_claude_code_is_stopped_when_it_repeats_itself() {
    for (client, user) in cases::users(Claude) {
        let ran = cases::loop_of_twelve(&client, user);
        assert!(ran.asked.len() <= 6, "{user:?}: {} requests where 13 were scripted", ran.asked.len());
        assert!(ran.asked.iter().any(|body| body.contains("LOOP_OVERRIDE")), "{user:?}: told before it was stopped");
        assert_eq!(ran.shown("hook_stopped"), 1, "{user:?}: the client says who ended the turn");
        assert!(ran.has(".geometry/BLOCKER_REPORT.md"), "{user:?}");
    }
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_the_real_claude_code_stops_asking_when_its_money_is_gone() {
    let Some(client) = Client::find(Claude) else { return };
    let ran = cases::with_ten_cents(&client, 100);
    // 0.75 cents an answer: the eleventh crosses four fifths, the fourteenth the budget; its transcript may come late.
    assert!((14..=16).contains(&ran.asked.len()), "{} requests where 21 were scripted", ran.asked.len());
    assert!(ran.asked.iter().any(|body| body.contains("budget left: wrap up")), "told at 80 %");
}
