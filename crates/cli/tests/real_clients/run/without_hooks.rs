//! Clients without hooks under the supervisor: guarded at the gateway alone.

use crate::run::cases;
use crate::support::clients::Kind;

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_1_the_real_opencode_is_ended_in_a_loop() {
    cases::identical_loop_without_hooks(Kind::Opencode);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_3_the_real_opencode_does_different_things() {
    cases::distinct_work_without_hooks(Kind::Opencode);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_the_real_opencode_is_ended_when_its_budget_is_used_up() {
    cases::budget(Kind::Opencode);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_1_the_real_qwen_is_ended_in_a_loop() {
    cases::identical_loop_without_hooks(Kind::Qwen);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_the_real_aider_is_booked_as_the_model_charges_it() {
    cases::booked_without_tools(Kind::Aider);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_the_real_opencode_lives_through_a_long_pause() {
    cases::long_pause(Kind::Opencode);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_the_real_qwen_lives_through_a_long_pause() {
    cases::long_pause(Kind::Qwen);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_3_the_real_qwen_does_different_things() {
    cases::distinct_work_without_hooks(Kind::Qwen);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_the_real_qwen_is_ended_when_its_budget_is_used_up() {
    cases::budget(Kind::Qwen);
}
