//! Each way of ending: the terminal's settings and modes are what they were.

use super::terminal::{PtyScreen, ticks};
use super::view_of;
use crate::hooks::fixture::fixture;
use rustix::process::Signal;
use std::time::Duration;

/// The view takes the terminal over, ends in this way, and leaves the terminal as it was.
fn ends(how: &str, code: i32, end: impl FnOnce(&PtyScreen)) -> String {
    let fixture = fixture("claude");
    let mut screen = view_of(&fixture, (80, 24));
    let (before, during) = (screen.before(), screen.modes());
    assert_eq!(during.on, ["other screen", "hidden cursor", "paste marks"], "{how}");
    assert_ne!(during.settings, before.settings, "{how}: raw mode");
    end(&screen);
    let status = screen.end();
    assert_eq!(screen.modes(), before, "{how}");
    assert_eq!(status.code(), Some(code), "{how}: {status:?}\n{}", screen.contents());
    screen.contents()
}

#[test]
fn watch_the_terminal_is_restored_when_a_person_leaves() {
    ends("q", 0, |screen| screen.press("q"));
    ends("Ctrl-C", 0, |screen| screen.press("\u{3}"));
    ends("Ctrl-C in a question", 0, |screen| {
        screen.press("/tool");
        screen.wait_for("/tool");
        screen.press("\u{3}");
    });
}

#[test]
fn watch_the_terminal_is_restored_after_each_signal_to_either_process() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        ends(&format!("{signal:?} to the view"), 0, |screen| screen.kill(screen.drawer(), signal));
        ends(&format!("{signal:?} to the one above"), 0, |screen| screen.kill(screen.keeper(), signal));
    }
}

#[test]
fn watch_the_terminal_is_restored_after_sigkill_of_the_view() {
    let said = ends("SIGKILL", 1, |screen| screen.kill(screen.drawer(), Signal::KILL));
    assert!(said.contains("ended by signal 9") && said.contains("tripwire watch"), "{said}");
}

#[test]
fn watch_the_view_restores_the_terminal_itself_when_the_one_above_is_killed() {
    let fixture = fixture("claude");
    let mut screen = view_of(&fixture, (80, 24));
    let (before, drawer) = (screen.before(), screen.drawer());
    screen.kill(screen.keeper(), Signal::KILL);
    screen.end();
    crate::run::fixture::wait_until("the view's end", || screen.modes() == before);
    crate::run::fixture::wait_until("the view's process", || {
        std::fs::read_to_string(format!("/proc/{drawer}/stat")).map_or(true, |stat| stat.contains(") Z "))
    });
}

#[cfg(debug_assertions)]
#[test]
fn watch_the_terminal_is_restored_before_a_panic_is_told() {
    let fixture = fixture("claude");
    let mut command = fixture.command(&["watch"]);
    command.env("TRIPWIRE_TEST_PANIC", "1");
    let mut screen = PtyScreen::start(command, 80, 24);
    let before = screen.before();
    let status = screen.end();
    assert_eq!(status.code(), Some(1), "{}", screen.contents());
    assert!(screen.raw().contains("\u{1b}[?1049h"), "it was taken over");
    assert_eq!(screen.modes(), before);
    assert!(screen.contents().contains("a test asked for this panic"), "{}", screen.contents());
}

#[test]
fn watch_an_idle_view_needs_next_to_no_processor() {
    let fixture = fixture("claude");
    fixture.answer("SessionStart", &serde_json::json!({"source": "startup"}));
    let screen = view_of(&fixture, (80, 24));
    screen.wait_for("claude");
    std::thread::sleep(Duration::from_secs(2));
    let (drawer, keeper) = (screen.drawer(), screen.keeper());
    let before = ticks(drawer) + ticks(keeper);
    std::thread::sleep(Duration::from_secs(6));
    let used = ticks(drawer) + ticks(keeper) - before;
    assert!(used <= 18, "{used} of 600 ticks in six idle seconds");
}
