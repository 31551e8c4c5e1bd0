//! Under a supervisor the hook hands its input over and says what it is told; anything else is a refusal.

use crate::hooks::fixture::{fixture, is_missing, run, shell};
use std::os::unix::net::UnixListener;
use tripwire_clients::hooks::Reply;
use tripwire_supervisor::socket::{Question, SESSION_VARIABLE, SOCKET_VARIABLE};

#[test]
fn ctrl_3_the_hook_hands_its_input_over_and_writes_nothing_itself() {
    let fixture = fixture("codex");
    let socket = fixture.root().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let question = Question::read(&mut stream).unwrap();
        let reply = Reply { stdout: "{\"a\":1}".to_owned(), stderr: "why".to_owned(), exit_code: 2 };
        tripwire_supervisor::socket::write_reply(&reply, &mut stream).unwrap();
        question
    });
    let input = fixture.input("PreToolUse", &shell("ls")).to_string();
    let mut command = fixture.command(&["hook", "codex"]);
    command.env(SOCKET_VARIABLE, &socket);
    let output = run(command, input.as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "{\"a\":1}");
    assert_eq!((String::from_utf8_lossy(&output.stderr).trim(), output.status.code()), ("why", Some(2)));
    let question = server.join().unwrap();
    assert_eq!((question.client.name(), question.input.as_slice()), ("codex", input.as_bytes()));
    assert!(is_missing(&fixture.geometry("journal")), "the supervisor is the only writer");
}

#[test]
fn const_5_a_supervisor_that_is_gone_refuses() {
    for client in ["claude", "codex", "gemini"] {
        let fixture = fixture(client);
        let mut command = fixture.command(&["hook", client]);
        command.env(SOCKET_VARIABLE, fixture.root().join("nobody listens"));
        let output = run(command, fixture.input("PreToolUse", &shell("ls")).to_string().as_bytes());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("the supervisor does not answer"), "{output:?}");
    }
}

#[test]
fn a_hook_joins_the_session_that_it_is_told() {
    let fixture = fixture("claude");
    assert!(run(fixture.command(&["step", "--new"]), b"{\"at\":0,\"what\":\"tick\"}\n").status.success());
    let session = std::fs::read_dir(fixture.geometry("journal")).unwrap().next().unwrap().unwrap().file_name();
    let mut command = fixture.command(&["hook", "claude"]);
    command.env(SESSION_VARIABLE, &session);
    let output = run(command, fixture.input("PreToolUse", &shell("ls")).to_string().as_bytes());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_dir(fixture.geometry("journal")).unwrap().count(), 1, "no second session was begun");
}
