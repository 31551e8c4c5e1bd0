//! Gemini CLI, with its own loop guard off.

use crate::hooks::cases;
use crate::support::clients::Client;
use crate::support::clients::Kind::Gemini;

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_3_the_guard_is_out_of_the_real_geminis_reach() {
    cases::out_of_reach(Gemini);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_the_real_gemini_asks_no_model_while_stop_exists() {
    cases::stopped_before_it_begins(Gemini);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn dirty_1_the_real_gemini_is_sent_back_at_most_twice() {
    cases::sent_back_twice(Gemini);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_3_the_real_gemini_does_distinct_work_undisturbed() {
    cases::distinct_work(Gemini);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_1_the_real_gemini_is_stopped_when_it_repeats_itself() {
    for (client, user) in cases::users(Gemini) {
        let ran = cases::loop_of_twelve(&client, user);
        assert!(ran.asked.len() <= 6, "{user:?}: {} requests where 13 were scripted", ran.asked.len());
        assert!(ran.asked.iter().any(|body| body.contains("LOOP_OVERRIDE")), "{user:?}: told before it was stopped");
        assert!(ran.has(".geometry/BLOCKER_REPORT.md"), "{user:?}");
    }
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_the_real_gemini_stops_asking_when_its_money_is_gone() {
    let Some(client) = Client::find(Gemini) else { return };
    let ran = cases::with_ten_cents(&client, 500);
    // 0.625 cents an answer: the sixteenth reaches the budget, and the next model request is refused.
    assert!((14..=17).contains(&ran.asked.len()), "{} requests where 21 were scripted", ran.asked.len());
}
