//! Calls that a person took out of the loop rules: they raise no alarm, and everything beside them still does.

use super::fixture::{ChainFixture, action, call, edit, injects, quiet, stops};
use tripwire_core::effect::StopReason;

const POLL: &str = "Bash(cmd=kubectl get pods)";

#[test]
fn loop_2_an_ignored_command_raises_no_alarm_in_either_profile_and_its_neighbour_does() {
    for profile in ["strict", "balanced"] {
        let mut fixture = ChainFixture::new(&[("profile", profile), ("loops.ignore", "kubectl get *")]);
        assert!(fixture.events(20, |_| call(POLL, "same", "pending")).iter().all(quiet), "{profile}");
        assert!(fixture.ask(action(POLL, "same")).permit.is_some(), "{profile}");
        let other = fixture.events(4, |_| call("Bash(cmd=kubectl apply)", "same", "refused"));
        assert!(other.iter().any(injects) && stops(&other[3], StopReason::SystemError), "{profile}");
    }
}

#[test]
fn loop_2_without_the_setting_the_same_command_is_a_loop() {
    for profile in ["strict", "balanced"] {
        let mut fixture = ChainFixture::new(&[("profile", profile)]);
        let decisions = fixture.events(4, |_| call(POLL, "same", "pending"));
        assert!(stops(&decisions[3], StopReason::SystemError), "{profile}");
    }
}

#[test]
fn loop_2_an_exempt_tool_raises_no_alarm_and_hides_no_loop_around_it() {
    // A fixture's call has its signature's beginning as the tool.
    let mut fixture = ChainFixture::new(&[("loops.exempt_tools", "poll")]);
    assert!(fixture.events(12, |_| call("poll(...)", "x", "waiting")).iter().all(quiet));
    let mixed = fixture.events(12, |n| match n % 2 {
        0 => call("poll(...)", "x", "waiting"),
        _ => call("Bash(cmd=make)", "same", "error 2"),
    });
    assert!(mixed.iter().any(injects), "what is left out does not break the row of what counts");
}

#[test]
fn loop_2_an_exempt_edit_is_movement_all_the_same() {
    let mut fixture = ChainFixture::new(&[("loops.exempt_tools", "Edit")]);
    for n in 0..6 {
        assert!(quiet(&fixture.event(call("Bash(cmd=make)", "same", "error 2"))), "{n}");
        fixture.event(edit(n));
    }
}
