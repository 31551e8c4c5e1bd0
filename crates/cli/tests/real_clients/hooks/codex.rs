//! Codex CLI.

use crate::hooks::cases;
use crate::support::clients::Client;
use crate::support::clients::Kind::Codex;

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_3_the_guard_is_out_of_the_real_codexs_reach() {
    cases::out_of_reach(Codex);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_the_real_codex_asks_no_model_while_stop_exists() {
    cases::stopped_before_it_begins(Codex);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn dirty_1_the_real_codex_is_sent_back_at_most_twice() {
    cases::sent_back_twice(Codex);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_3_the_real_codex_does_distinct_work_undisturbed() {
    cases::distinct_work(Codex);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_1_no_further_command_of_a_loop_runs_on_the_real_codex() {
    for (client, user) in cases::users(Codex) {
        let ran = cases::loop_of_twelve(&client, user);
        // No hook ends a turn of this client: the model is asked all the same, and the supervisor has to end it.
        assert_eq!(ran.asked.len(), 13, "{user:?}: {:?}", ran.output);
        let commands = ran.shown("\"aggregated_output\":\"tick");
        assert!((3..=5).contains(&commands), "{user:?}: {commands} commands ran where 12 were scripted");
        assert!(ran.asked.iter().any(|body| body.contains("LOOP_OVERRIDE")), "{user:?}: told before it was stopped");
        assert!(ran.has(".geometry/BLOCKER_REPORT.md"), "{user:?}");
    }
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_no_command_runs_on_the_real_codex_when_its_money_is_gone() {
    let Some(client) = Client::find(Codex) else { return };
    let ran = cases::with_ten_cents(&client, 1_000);
    let commands = ran.shown("\"type\":\"command_execution\"") / 2;
    assert!(commands < 12, "{commands} commands ran where 20 were scripted");
    assert!(ran.asked.iter().any(|body| body.contains("budget is used up")), "the agent is told");
}
