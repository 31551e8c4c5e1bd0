//! The client's machine-readable output on its way to ours: every byte passes untouched, and its last words are noted.
//!
//! Exit codes lie: a client that a hook ended exits with 0. Where the person asked for a stream of events, the client's own
//! reason for its end is in it. Where the output is kept for a report, its last text is, too, and nothing passes.

use super::Output;
use serde::Deserialize;
use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use tripwire_clients::hooks::Client;

/// A line beyond this is passed on and not looked at.
const LINE_BYTES_MAX: usize = 4 << 20;
/// Bytes of the standard error that are kept.
const COMPLAINT_BYTES_MAX: usize = 2 * 1_024;
/// How long the rest of the output is waited for once the client's processes are gone.
const REST_WITHIN: Duration = Duration::from_secs(10);

/// What the client said at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LastWords {
    /// Its own word for the end, such as `completed` or `max_turns`.
    pub(crate) reason: Option<String>,
    /// An error in its words.
    pub(crate) error: Option<String>,
    /// What it said last to whoever asked.
    pub(crate) text: Option<String>,
}

/// Output that is being passed on.
#[derive(Debug)]
pub(crate) struct Passing {
    words: Receiver<LastWords>,
    worked: Arc<AtomicBool>,
}

impl Passing {
    /// Reads what comes out of the pipe; passes it on to our own standard output, unless it is only kept.
    pub(crate) fn start(client: Client, from: PipeReader, output: Output) -> io::Result<Self> {
        let (tell, words) = mpsc::channel();
        let worked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&worked);
        std::thread::Builder::new().name("stream".to_owned()).spawn(move || {
            // Whoever waited for the last words may be gone.
            drop(tell.send(pass(client, from, output, &seen)));
        })?;
        Ok(Self { words, worked })
    }

    /// What the client said at its end; nothing if it did not come to it.
    pub(crate) fn last_words(self) -> LastWords {
        self.words.recv_timeout(REST_WITHIN).unwrap_or_default()
    }

    /// Becomes true when the output tells of an answer of the model, or of a call.
    pub(crate) fn worked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.worked)
    }
}

/// What a client that nobody hears says on its standard error: only the last line is kept.
#[derive(Debug)]
pub(crate) struct Complaint(Receiver<Option<String>>);

impl Complaint {
    /// Reads what comes out of the pipe.
    pub(crate) fn start(mut from: PipeReader) -> io::Result<Self> {
        let (tell, told) = mpsc::channel();
        std::thread::Builder::new().name("complaint".to_owned()).spawn(move || {
            let (mut buffer, mut kept) = (vec![0_u8; 8 * 1_024], Vec::new());
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
                kept.drain(..kept.len().saturating_sub(COMPLAINT_BYTES_MAX));
            }
            let text = String::from_utf8_lossy(&kept);
            let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
            // Whoever waited for it may be gone.
            drop(tell.send(last));
        })?;
        Ok(Self(told))
    }

    /// The last line.
    pub(crate) fn last_line(self) -> Option<String> {
        self.0.recv_timeout(REST_WITHIN).ok().flatten()
    }
}

/// Whether the person asked for a stream that tells the end.
pub(crate) fn is_chosen(client: Client, arguments: &[OsString]) -> bool {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let has = |flags: &[&str], value: &str| {
        let pair = words.windows(2).any(|pair| flags.contains(&pair[0].as_ref()) && pair[1] == value);
        pair || flags.iter().any(|flag| words.iter().any(|word| *word == format!("{flag}={value}")))
    };
    match client {
        Client::Claude => has(&["--output-format"], "stream-json") || has(&["--output-format"], "json"),
        Client::Codex => words.iter().any(|word| word == "--json"),
        Client::Gemini => has(&["--output-format", "-o"], "stream-json"),
    }
}

fn pass(client: Client, mut from: PipeReader, output: Output, worked: &AtomicBool) -> LastWords {
    let mut words = LastWords::default();
    let (mut buffer, mut line) = (vec![0_u8; 64 * 1_024], Vec::new());
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let fresh = buffer.get(..count).unwrap_or_default();
        if output == Output::Passed && pass_on(fresh).is_err() {
            // Nobody reads any more: the client is to see that, as it would without us.
            return words;
        }
        for part in fresh.split_inclusive(|byte| *byte == b'\n') {
            if line.len() + part.len() <= LINE_BYTES_MAX {
                line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                if note(client, &line, &mut words) == Tells::Work {
                    worked.store(true, Ordering::Relaxed);
                }
                line.clear();
            }
        }
    }
    if note(client, &line, &mut words) == Tells::Work {
        worked.store(true, Ordering::Relaxed);
    }
    words
}

fn pass_on(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// The fields that tell an end, in all three clients' forms.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: Option<String>,
    terminal_reason: Option<String>,
    subtype: Option<String>,
    #[serde(default)]
    is_error: bool,
    result: Option<serde_json::Value>,
    status: Option<String>,
    message: Option<serde_json::Value>,
    error: Option<serde_json::Value>,
    role: Option<String>,
    content: Option<serde_json::Value>,
    delta: Option<serde_json::Value>,
    item: Option<Item>,
}

/// A piece of work of Codex, as far as it is a text.
#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
}

/// What a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tells {
    /// An answer of the model, or a call.
    Work,
    /// Something else.
    Other,
}

/// Whether a line tells of work. Complaints about a set-up come also from a client that has asked no model yet.
fn tells(client: Client, line: &Line) -> Tells {
    let is_work = match (client, line.kind.as_deref()) {
        (Client::Claude, Some("assistant")) | (Client::Gemini, Some("tool_use")) => true,
        (Client::Codex, Some("item.started" | "item.completed")) => {
            line.item.as_ref().and_then(|item| item.kind.as_deref()).is_some_and(|kind| CODEX_WORK.contains(&kind))
        }
        (Client::Gemini, Some("message")) => line.role.as_deref() == Some("assistant"),
        (Client::Claude | Client::Codex | Client::Gemini, Some(_) | None) => false,
    };
    if is_work { Tells::Work } else { Tells::Other }
}

/// The pieces of work of Codex that come from its model.
const CODEX_WORK: [&str; 6] =
    ["agent_message", "reasoning", "command_execution", "file_change", "mcp_tool_call", "web_search"];

/// Notes what a line says about the end, and what it tells of.
fn note(client: Client, line: &[u8], words: &mut LastWords) -> Tells {
    let Ok(line) = serde_json::from_slice::<Line>(line) else { return Tells::Other };
    let tells = tells(client, &line);
    let text = |value: Option<&serde_json::Value>| {
        value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    match (client, line.kind.as_deref()) {
        (Client::Claude, Some("result")) => {
            words.reason = line.terminal_reason.or(line.subtype);
            words.error = if line.is_error { text(line.result.as_ref()) } else { None };
            words.text = if line.is_error { None } else { text(line.result.as_ref()) };
        }
        (Client::Codex, Some("item.completed")) => {
            let said = line.item.filter(|item| item.kind.as_deref() == Some("agent_message"));
            words.text = said.and_then(|item| item.text).or(words.text.take());
        }
        (Client::Gemini, Some("message")) if line.role.as_deref() == Some("assistant") => {
            let piece = text(line.content.as_ref()).unwrap_or_default();
            let is_piece = line.delta.is_some_and(|delta| delta == true);
            let before = words.text.take().filter(|_| is_piece).unwrap_or_default();
            words.text = Some(before + &piece);
        }
        // What it says after a call is another text than before it.
        (Client::Gemini, Some("tool_use")) => words.text = None,
        (Client::Codex, Some("turn.completed")) => {
            (words.reason, words.error) = (Some("completed".to_owned()), None);
        }
        (Client::Codex, Some("turn.failed")) => {
            words.reason = Some("failed".to_owned());
            words.error = text(line.error.as_ref().map(|error| error.get("message").unwrap_or(error)));
        }
        (Client::Gemini, Some("result")) => {
            words.reason = line.status;
            words.error = text(line.error.as_ref());
        }
        (Client::Gemini | Client::Codex, Some("error")) => words.error = text(line.message.as_ref()),
        (Client::Claude | Client::Codex | Client::Gemini, Some(_) | None) => {}
    }
    tells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(client: Client, lines: &[&str]) -> LastWords {
        let mut words = LastWords::default();
        for line in lines {
            note(client, line.as_bytes(), &mut words);
        }
        words
    }

    #[test]
    fn const_5_answers_and_calls_in_the_output_are_work_and_a_beginning_is_none() {
        let tells = |client, line: &str| note(client, line.as_bytes(), &mut LastWords::default());
        for (client, line) in [
            (Client::Claude, r#"{"type":"assistant","message":{"content":[]}}"#),
            (Client::Codex, r#"{"type":"item.started","item":{"type":"command_execution","command":"ls"}}"#),
            (Client::Codex, r#"{"type":"item.completed","item":{"type":"agent_message","text":"x"}}"#),
            (Client::Gemini, r#"{"type":"tool_use","tool_name":"x"}"#),
            (Client::Gemini, r#"{"type":"message","role":"assistant","content":"x"}"#),
        ] {
            assert_eq!(tells(client, line), Tells::Work, "{line}");
        }
        for (client, line) in [
            (Client::Claude, r#"{"type":"system","subtype":"init"}"#),
            (Client::Claude, "assistant"),
            (Client::Codex, r#"{"type":"turn.started"}"#),
            (Client::Codex, r#"{"type":"item.completed","item":{"type":"error","message":"a setting"}}"#),
            (Client::Gemini, r#"{"type":"message","role":"user","content":"x"}"#),
        ] {
            assert_eq!(tells(client, line), Tells::Other, "{line}");
        }
    }

    #[test]
    fn the_clients_own_reason_for_its_end_is_read() {
        let claude = words(
            Client::Claude,
            &[
                r#"{"type":"result","subtype":"success","terminal_reason":"completed","is_error":false,"result":"x"}"#,
                r#"{"type":"result","subtype":"error_max_turns","terminal_reason":"max_turns","is_error":true,"result":"too many"}"#,
                "not json",
            ],
        );
        assert_eq!((claude.reason.as_deref(), claude.error.as_deref()), (Some("max_turns"), Some("too many")));
        let codex = words(Client::Codex, &[r#"{"type":"turn.failed","error":{"message":"at capacity"}}"#]);
        assert_eq!((codex.reason.as_deref(), codex.error.as_deref()), (Some("failed"), Some("at capacity")));
        let gemini = words(Client::Gemini, &[r#"{"type":"result","status":"success"}"#]);
        assert_eq!((gemini.reason.as_deref(), gemini.error), (Some("success"), None));
        assert_eq!(words(Client::Claude, &[r#"{"type":"assistant"}"#]), LastWords::default());
    }

    #[test]
    fn the_last_text_is_what_the_client_said_to_whoever_asked() {
        let text = |client, lines: &[&str]| words(client, lines).text;
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
        let chosen = |client, line: &str| is_chosen(client, &line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(chosen(Client::Claude, "-p x --output-format stream-json"));
        assert!(chosen(Client::Claude, "-p x --output-format=json"));
        assert!(!chosen(Client::Claude, "-p x --output-format text"));
        assert!(chosen(Client::Codex, "exec --json x") && !chosen(Client::Codex, "exec x"));
        assert!(chosen(Client::Gemini, "-o stream-json") && !chosen(Client::Gemini, "-p stream-json"));
    }
}
