//! Where the view is refused: no terminal, below a client, a name that is none.

use super::terminal::PtyScreen;
use crate::approvals::output;
use crate::hooks::fixture::fixture;

#[test]
fn watch_without_a_terminal_is_refused_and_names_what_to_use_instead() {
    let fixture = fixture("claude");
    for verb in ["watch", "watch-screen"] {
        let (exit, said) = output(fixture.command(&[verb]));
        assert_eq!(exit, Some(2), "{said}");
        assert!(
            said.contains("terminal") && said.contains("tripwire status") && said.contains("tripwire log"),
            "{said}"
        );
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
    let mut command = fixture.command(&["watch"]);
    command.env("TERM", "dumb");
    let mut screen = PtyScreen::start(command, 80, 24);
    assert_eq!(screen.end().code(), Some(2));
    assert!(screen.contents().contains("dumb"), "{}", screen.contents());
}

#[test]
fn ctrl_3_watch_is_refused_below_a_client_because_it_lets_act() {
    let fixture = fixture("claude");
    for verb in ["watch", "watch-screen"] {
        let mut command = fixture.command(&[verb]);
        command.env("CLAUDECODE", "1");
        let mut screen = PtyScreen::start(command, 80, 24);
        assert_eq!(screen.end().code(), Some(11), "{}", screen.contents());
        assert!(screen.contents().contains("is for a person"), "{}", screen.contents());
        assert!(!screen.raw().contains("\u{1b}[?1049h"), "nothing is drawn");
    }
}

#[test]
fn watch_a_session_or_a_folder_that_is_not_there_is_said_before_anything_is_drawn() {
    let fixture = fixture("claude");
    let root = fixture.root();
    let root = root.to_str().unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&["watch", "--workspace", root, "--session", "auto-2026-01-01-000000"], "there is no session"),
        (&["watch", "--workspace", root, "--session", "../x"], "error"),
        (&["watch", "--workspace", "/no/such/folder"], "error"),
    ];
    for (words, said) in cases {
        let mut screen = PtyScreen::start(fixture.command(words), 80, 24);
        assert_eq!(screen.end().code(), Some(2), "{words:?}: {}", screen.contents());
        assert!(screen.contents().contains(said), "{words:?}: {}", screen.contents());
        assert!(!screen.raw().contains("\u{1b}[?1049h"), "{words:?}: nothing is drawn");
    }
}
