//! Claude under the supervisor.

use crate::run::cases;
use crate::support::clients::Kind;

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_1_the_real_claude_is_told_stopped_and_gone() {
    cases::identical_loop(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_3_the_real_claude_does_forty_different_things_as_without_us() {
    cases::distinct_work(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_3_the_real_claude_may_poll() {
    cases::polling(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn dirty_1_the_real_claude_claims_without_tests() {
    cases::claims_without_tests(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn dirty_1_the_real_claude_runs_its_tests() {
    cases::tests_pass(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_the_real_claude_is_stopped_in_the_middle() {
    cases::stop_in_the_middle(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_the_real_claude_is_paused_and_goes_on() {
    cases::pause_and_resume(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_3_the_real_claude_cannot_reach_the_guard() {
    cases::out_of_reach(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_the_real_claude_is_ended_when_its_budget_is_used_up() {
    cases::budget(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn const_5_the_real_claude_runs_nothing_when_its_hook_is_broken() {
    cases::broken_hook(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn const_5_the_real_claude_may_name_a_tool_that_it_does_not_have() {
    cases::unknown_tool(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn const_5_the_real_claude_runs_nothing_while_the_journal_is_locked() {
    cases::locked_journal(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn const_5_the_real_claude_runs_nothing_when_the_disk_is_full() {
    cases::full_disk(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_the_real_claudes_sub_agents_are_booked_as_the_model_charges_them() {
    cases::sub_agents(Kind::Claude, &[], &cases::claudes_sub_agent);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_the_real_claude_lives_through_a_long_pause() {
    cases::long_pause(Kind::Claude);
}
