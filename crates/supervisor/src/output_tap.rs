//! The client's machine-readable output on its way to ours: every byte passes untouched, and its exit message is noted.
//!
//! Exit codes lie: a client that a hook ended exits with 0. Where the person asked for a stream of events, the client's own
//! reason for its end is in it. Where the output is kept for a report, its last text is, too, and nothing passes.

use crate::options::Output;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use tripwire_clients::Client;
use tripwire_clients::launch::{ExitMessage, OutputShows};

/// A line beyond this is passed on and not looked at.
const LINE_BYTES_MAX: usize = 4 << 20;
/// Bytes of the standard error that are kept.
const STDERR_BYTES_MAX: usize = 2 * 1_024;
/// How long the rest of the output is waited for once the client's processes are gone.
const REST_WITHIN: Duration = Duration::from_secs(10);

/// Output that is being passed on.
#[derive(Debug)]
pub(crate) struct OutputTap {
    message: Receiver<ExitMessage>,
    worked: Arc<AtomicBool>,
}

impl OutputTap {
    /// Reads what comes out of the pipe; passes it on to our own standard output, unless it is only kept.
    pub(crate) fn start(client: Client, from: PipeReader, output: Output) -> io::Result<Self> {
        let (sender, message) = mpsc::channel();
        let worked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&worked);
        std::thread::Builder::new().name("stream".to_owned()).spawn(move || {
            // The receiver may be gone.
            drop(sender.send(pass(client, from, output, &seen)));
        })?;
        Ok(Self { message, worked })
    }

    /// What the client said at its end; nothing if it did not come to it.
    pub(crate) fn exit_message(self) -> ExitMessage {
        self.message.recv_timeout(REST_WITHIN).unwrap_or_default()
    }

    /// Becomes true when the output tells of an answer of the model, or of a call.
    pub(crate) fn worked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.worked)
    }
}

/// The standard error of a client whose output is kept: only the last line counts.
#[derive(Debug)]
pub(crate) struct StderrTail(Receiver<Option<String>>);

impl StderrTail {
    /// Reads what comes out of the pipe.
    pub(crate) fn start(mut from: PipeReader) -> io::Result<Self> {
        let (sender, last_line) = mpsc::channel();
        std::thread::Builder::new().name("stderr".to_owned()).spawn(move || {
            let (mut buffer, mut kept) = (vec![0_u8; 8 * 1_024], Vec::new());
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
                kept.drain(..kept.len().saturating_sub(STDERR_BYTES_MAX));
            }
            let text = String::from_utf8_lossy(&kept);
            let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
            // The receiver may be gone.
            drop(sender.send(last));
        })?;
        Ok(Self(last_line))
    }

    /// The last line.
    pub(crate) fn last_line(self) -> Option<String> {
        self.0.recv_timeout(REST_WITHIN).ok().flatten()
    }
}

fn pass(client: Client, mut from: PipeReader, output: Output, worked: &AtomicBool) -> ExitMessage {
    let mut message = ExitMessage::default();
    let (mut buffer, mut line) = (vec![0_u8; 64 * 1_024], Vec::new());
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let fresh = buffer.get(..count).unwrap_or_default();
        if output == Output::Passed && pass_on(fresh).is_err() {
            // Our output is closed: the client is to see that, as it would without us.
            return message;
        }
        for part in fresh.split_inclusive(|byte| *byte == b'\n') {
            if line.len() + part.len() <= LINE_BYTES_MAX {
                line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                if (client.adapter().launch.note_output)(&line, &mut message) == OutputShows::Work {
                    worked.store(true, Ordering::Relaxed);
                }
                line.clear();
            }
        }
    }
    if (client.adapter().launch.note_output)(&line, &mut message) == OutputShows::Work {
        worked.store(true, Ordering::Relaxed);
    }
    message
}

fn pass_on(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(client: Client, lines: &[&str]) -> ExitMessage {
        let mut message = ExitMessage::default();
        for line in lines {
            (client.adapter().launch.note_output)(line.as_bytes(), &mut message);
        }
        message
    }

    #[test]
    fn const_5_answers_and_calls_in_the_output_are_work_and_a_beginning_is_none() {
        let shows = |client: Client, line: &str| {
            (client.adapter().launch.note_output)(line.as_bytes(), &mut ExitMessage::default())
        };
        for (client, line) in [
            (Client::Claude, r#"{"type":"assistant","message":{"content":[]}}"#),
            (Client::Codex, r#"{"type":"item.started","item":{"type":"command_execution","command":"ls"}}"#),
            (Client::Codex, r#"{"type":"item.completed","item":{"type":"agent_message","text":"x"}}"#),
            (Client::Gemini, r#"{"type":"tool_use","tool_name":"x"}"#),
            (Client::Gemini, r#"{"type":"message","role":"assistant","content":"x"}"#),
        ] {
            assert_eq!(shows(client, line), OutputShows::Work, "{line}");
        }
        for (client, line) in [
            (Client::Claude, r#"{"type":"system","subtype":"init"}"#),
            (Client::Claude, "assistant"),
            (Client::Codex, r#"{"type":"turn.started"}"#),
            (Client::Codex, r#"{"type":"item.completed","item":{"type":"error","message":"a setting"}}"#),
            (Client::Gemini, r#"{"type":"message","role":"user","content":"x"}"#),
        ] {
            assert_eq!(shows(client, line), OutputShows::Other, "{line}");
        }
    }

    #[test]
    fn the_clients_own_reason_for_its_end_is_read() {
        let claude = message(
            Client::Claude,
            &[
                r#"{"type":"result","subtype":"success","terminal_reason":"completed","is_error":false,"result":"x"}"#,
                r#"{"type":"result","subtype":"error_max_turns","terminal_reason":"max_turns","is_error":true,"result":"too many"}"#,
                "not json",
            ],
        );
        assert_eq!((claude.reason.as_deref(), claude.error.as_deref()), (Some("max_turns"), Some("too many")));
        let codex = message(Client::Codex, &[r#"{"type":"turn.failed","error":{"message":"at capacity"}}"#]);
        assert_eq!((codex.reason.as_deref(), codex.error.as_deref()), (Some("failed"), Some("at capacity")));
        let gemini = message(Client::Gemini, &[r#"{"type":"result","status":"success"}"#]);
        assert_eq!((gemini.reason.as_deref(), gemini.error), (Some("success"), None));
        assert_eq!(message(Client::Claude, &[r#"{"type":"assistant"}"#]), ExitMessage::default());
    }

    #[test]
    fn the_last_text_is_what_the_client_said_last() {
        let text = |client, lines: &[&str]| message(client, lines).text;
        let claude = r#"{"type":"result","subtype":"success","is_error":false,"result":"All done."}"#;
        assert_eq!(text(Client::Claude, &[claude]).as_deref(), Some("All done."));
        let failed = r#"{"type":"result","subtype":"error","is_error":true,"result":"no"}"#;
        assert_eq!(text(Client::Claude, &[claude, failed]), None);
        let codex = [
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"first"}}"#,
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"last"}}"#,
            r#"{"type":"item.completed","item":{"type":"command_execution","command":"ls"}}"#,
            r#"{"type":"turn.completed"}"#,
        ];
        assert_eq!(text(Client::Codex, &codex).as_deref(), Some("last"));
        let gemini = [
            r#"{"type":"message","role":"assistant","content":"I look.","delta":true}"#,
            r#"{"type":"tool_use","tool_name":"x"}"#,
            r#"{"type":"message","role":"assistant","content":"It ","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"adds.","delta":true}"#,
            r#"{"type":"message","role":"user","content":"x"}"#,
        ];
        assert_eq!(text(Client::Gemini, &gemini).as_deref(), Some("It adds."));
    }

    #[test]
    fn only_a_stream_that_the_person_chose_is_read() {
        let chosen = |client: Client, line: &str| {
            (client.adapter().launch.output_tells_end)(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
        };
        assert!(chosen(Client::Claude, "-p x --output-format stream-json"));
        assert!(chosen(Client::Claude, "-p x --output-format=json"));
        assert!(!chosen(Client::Claude, "-p x --output-format text"));
        assert!(chosen(Client::Codex, "exec --json x") && !chosen(Client::Codex, "exec x"));
        assert!(chosen(Client::Gemini, "-o stream-json") && !chosen(Client::Gemini, "-p stream-json"));
    }
}
