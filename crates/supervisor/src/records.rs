//! What the client itself writes down: the calls that it made and the errors that it met, read as the file grows.
//!
//! It is the second witness. A call that ran and that no hook announced means that the guard was passed by; so does a
//! result that says that our program could not be started.

use super::arrange::GUARD_FAILED;
use serde::Deserialize;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use tripwire_clients::hooks::Client;
use tripwire_fs::file;

/// Bytes that are read at once, so that a large file does not keep the watch.
const READ_BYTES_MAX: u64 = 8 << 20;
/// A line beyond this is not read: it is an attachment, and no call.
const LINE_BYTES_MAX: usize = 32 << 20;

/// Something that the client wrote down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It was asked for a call.
    Asked {
        /// Its id.
        call: String,
    },
    /// It was asked to look after a command that runs already: no call of its own, and no hook hears of it.
    Polled {
        /// Its id.
        call: String,
    },
    /// A call has a result.
    Answered {
        /// Its id.
        call: String,
        /// What became of it.
        outcome: Outcome,
    },
    /// The model's provider refused.
    ProviderError {
        /// In its words.
        text: String,
    },
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It ran.
    Ran,
    /// It did not run, or failed in a way that does not tell.
    Failed,
    /// It did not run because the hook could not be started.
    GuardFailed,
}

/// A record of a client that is read as it grows.
#[derive(Debug)]
pub(crate) struct Record {
    client: Client,
    path: PathBuf,
    offset: u64,
    rest: Vec<u8>,
}

impl Record {
    /// Follows a record from this place on.
    pub(crate) fn follow(client: Client, path: &Path, offset: u64) -> Self {
        Self { client, path: path.to_owned(), offset, rest: Vec::new() }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what is new. A file that is not there has nothing new.
    pub(crate) fn news(&mut self) -> io::Result<Vec<Entry>> {
        let mut file = match file::open_regular(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() < self.offset {
            // The client wrote the file anew.
            self.offset = 0;
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut fresh = Vec::new();
        let count = file.take(READ_BYTES_MAX).read_to_end(&mut fresh)?;
        self.offset = self.offset.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        self.rest.extend(fresh);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            if self.rest.len() > LINE_BYTES_MAX {
                self.rest.clear();
            }
            return Ok(Vec::new());
        };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        let mut entries = Vec::new();
        for line in lines.split(|byte| *byte == b'\n') {
            match self.client {
                Client::Claude => claude(line, &mut entries),
                Client::Codex => codex(line, &mut entries),
                Client::Gemini => gemini(line, &mut entries),
            }
        }
        Ok(entries)
    }
}

fn holds(line: &[u8], word: &str) -> bool {
    line.windows(word.len()).any(|window| window == word.as_bytes())
}

fn claude(line: &[u8], entries: &mut Vec<Entry>) {
    #[derive(Deserialize)]
    struct Line {
        message: Message,
        #[serde(default, rename = "isApiErrorMessage")]
        api_error: bool,
        #[serde(rename = "type")]
        kind: String,
    }
    #[derive(Deserialize)]
    struct Message {
        content: serde_json::Value,
    }
    if !["tool_use", "tool_result", "isApiErrorMessage"].iter().any(|word| holds(line, word)) {
        return;
    }
    let Ok(line) = serde_json::from_slice::<Line>(line) else { return };
    if !["assistant", "user"].contains(&line.kind.as_str()) {
        return; // Requests are written down as well, with every call of the past in them.
    }
    for block in line.message.content.as_array().into_iter().flatten() {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("tool_use") => entries.push(Entry::Asked { call: text("id") }),
            Some("tool_result") => {
                let said = if block["is_error"].as_bool() == Some(true) { Said::Error } else { Said::Result };
                let outcome = outcome(said, &block["content"].to_string());
                entries.push(Entry::Answered { call: text("tool_use_id"), outcome });
            }
            Some("text") if line.api_error => entries.push(Entry::ProviderError { text: text("text") }),
            Some(_) | None => {}
        }
    }
}

/// Codex: only commands and patches pass a hook; its other tools act on the client itself.
fn codex(line: &[u8], entries: &mut Vec<Entry>) {
    #[derive(Deserialize)]
    struct Line {
        #[serde(rename = "type")]
        kind: String,
        payload: Payload,
    }
    #[derive(Deserialize)]
    struct Payload {
        #[serde(rename = "type")]
        kind: Option<String>,
        name: Option<String>,
        arguments: Option<serde_json::Value>,
        call_id: Option<String>,
        output: Option<serde_json::Value>,
        message: Option<serde_json::Value>,
    }
    if !["function_call", "custom_tool_call", "\"error\""].iter().any(|word| holds(line, word)) {
        return;
    }
    let Ok(Line { kind, payload }) = serde_json::from_slice::<Line>(line) else { return };
    let call = payload.call_id.unwrap_or_default();
    match (kind.as_str(), payload.kind.as_deref()) {
        ("response_item", Some("function_call" | "custom_tool_call"))
            if payload.name.as_deref().is_some_and(|name| CODEX_GUARDED.contains(&name)) =>
        {
            entries.push(Entry::Asked { call });
        }
        ("response_item", Some("function_call"))
            if payload.name.as_deref() == Some("write_stdin") && types_nothing(payload.arguments.as_ref()) =>
        {
            entries.push(Entry::Polled { call });
        }
        ("response_item", Some("function_call_output" | "custom_tool_call_output")) => {
            let output = payload.output.unwrap_or_default().to_string();
            // A refused command is told in words; only one that ran has an exit code or a running process.
            let ran = output.contains("Process exited with code") || output.contains("Process running with");
            let said = if ran { Said::Result } else { Said::Error };
            entries.push(Entry::Answered { call, outcome: outcome(said, &output) });
        }
        ("event_msg", Some("error")) => {
            let message = payload.message.unwrap_or_default();
            entries.push(Entry::ProviderError { text: message.as_str().unwrap_or_default().to_owned() });
        }
        (_, _) => {}
    }
}

/// Whether the arguments of Codex's `write_stdin` type nothing: with text in them it is a command that nobody judged.
fn types_nothing(arguments: Option<&serde_json::Value>) -> bool {
    #[derive(Deserialize)]
    struct Typed {
        chars: Option<String>,
    }
    let read = arguments.and_then(serde_json::Value::as_str).map(serde_json::from_str::<Typed>);
    matches!(read, Some(Ok(Typed { chars })) if chars.as_deref().is_none_or(str::is_empty))
}

/// Codex's tools that run something.
const CODEX_GUARDED: [&str; 4] = ["exec_command", "shell", "shell_command", "local_shell"];

/// Gemini writes a call down together with its result, under an id that its hooks do not get.
fn gemini(line: &[u8], entries: &mut Vec<Entry>) {
    #[derive(Deserialize)]
    struct Line {
        #[serde(default, rename = "toolCalls")]
        calls: Vec<Call>,
    }
    #[derive(Deserialize)]
    struct Call {
        id: String,
        status: Option<String>,
        #[serde(default)]
        result: serde_json::Value,
    }
    if !holds(line, "toolCalls") {
        return;
    }
    let Ok(line) = serde_json::from_slice::<Line>(line) else { return };
    for call in line.calls {
        let said = if call.status.as_deref() == Some("success") { Said::Result } else { Said::Error };
        entries.push(Entry::Answered { outcome: outcome(said, &call.result.to_string()), call: call.id });
    }
}

/// What the client calls a call's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Result,
    Error,
}

fn outcome(said: Said, text: &str) -> Outcome {
    match said {
        Said::Result => Outcome::Ran,
        Said::Error if text.contains(GUARD_FAILED) => Outcome::GuardFailed,
        Said::Error => Outcome::Failed,
    }
}

/// Whether a provider's words mean: not now. Another engine, or the same one later, may be asked instead.
pub(crate) fn is_overload(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    [
        "429",
        "503",
        "529",
        "overloaded",
        "rate limit",
        "rate_limit",
        "usage limit",
        "at capacity",
        "quota",
        "too many requests",
    ]
    .iter()
    .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn read(client: Client, lines: &[&str]) -> Vec<Entry> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"{\"old\":1}\n").unwrap();
        let mut record = Record::follow(client, file.path(), 10);
        let mut entries = record.news().unwrap();
        for line in lines {
            // Written in two halves: half a line is nothing yet.
            let (head, tail) = line.split_at(line.len() / 2);
            file.write_all(head.as_bytes()).unwrap();
            entries.extend(record.news().unwrap());
            writeln!(file, "{tail}").unwrap();
            entries.extend(record.news().unwrap());
        }
        entries
    }

    fn asked(call: &str) -> Entry {
        Entry::Asked { call: call.to_owned() }
    }

    fn answered(call: &str, outcome: Outcome) -> Entry {
        Entry::Answered { call: call.to_owned(), outcome }
    }

    #[test]
    fn const_5_claudes_record_tells_calls_results_and_refusals_of_the_provider() {
        let entries = read(
            Client::Claude,
            &[
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}}"#,
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":false}]}}"#,
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"b","content":"tripwire: guard failed","is_error":true}]}}"#,
                r#"{"type":"api-request-blob","message":{"content":[{"type":"tool_use","id":"old"}]}}"#,
                r#"{"type":"user","message":{"content":"a word about tool_use"}}"#,
                r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error: 529"}]}}"#,
                "not json but tool_use",
            ],
        );
        let error = Entry::ProviderError { text: "API Error: 529".to_owned() };
        assert_eq!(entries, [asked("a"), answered("a", Outcome::Ran), answered("b", Outcome::GuardFailed), error]);
    }

    #[test]
    fn const_5_codexs_record_tells_commands_and_not_its_own_tools() {
        let entries = read(
            Client::Codex,
            &[
                r#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","call_id":"a"}}"#,
                r#"{"type":"response_item","payload":{"type":"function_call","name":"update_plan","call_id":"p"}}"#,
                r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"Process exited with code 0"}}"#,
                r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"b","output":"blocked by PreToolUse hook: tripwire: guard failed"}}"#,
                r#"{"type":"event_msg","payload":{"type":"error","message":"at capacity"}}"#,
            ],
        );
        let error = Entry::ProviderError { text: "at capacity".to_owned() };
        assert_eq!(entries, [asked("a"), answered("a", Outcome::Ran), answered("b", Outcome::GuardFailed), error]);
    }

    #[test]
    fn const_5_codex_may_look_after_a_command_and_not_type_into_it() {
        let call = |name: &str, arguments: &str| {
            let arguments = serde_json::Value::from(arguments);
            format!(
                r#"{{"type":"response_item","payload":{{"type":"function_call","name":"write_stdin","call_id":"{name}","arguments":{arguments}}}}}"#
            )
        };
        let lines = [
            call("a", r#"{"session_id":1,"chars":"","yield_time_ms":5}"#),
            call("b", r#"{"session_id":1}"#),
            call("c", r#"{"session_id":1,"chars":"rm x\n"}"#),
            call("d", "not json"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let polled = |call: &str| Entry::Polled { call: call.to_owned() };
        assert_eq!(read(Client::Codex, &lines), [polled("a"), polled("b")]);
    }

    #[test]
    fn const_5_geminis_record_tells_calls_with_their_results() {
        let entries = read(
            Client::Gemini,
            &[
                r#"{"id":"1","type":"gemini","toolCalls":[{"id":"a","status":"success","result":[]},{"id":"b","status":"error"}]}"#,
                r#"{"$set":{"toolCalls":1}}"#,
            ],
        );
        assert_eq!(entries, [answered("a", Outcome::Ran), answered("b", Outcome::Failed)]);
    }

    #[test]
    fn a_record_that_is_written_anew_is_read_anew_and_a_missing_one_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let mut record = Record::follow(Client::Gemini, &path, 0);
        assert_eq!(record.news().unwrap(), []);
        std::fs::write(&path, "{\"toolCalls\":[{\"id\":\"a\",\"status\":\"success\"}],\"x\":\"long\"}\n").unwrap();
        assert_eq!(record.news().unwrap().len(), 1);
        std::fs::write(&path, "{\"toolCalls\":[{\"id\":\"b\",\"status\":\"error\"}]}\n").unwrap();
        assert_eq!(record.news().unwrap(), [answered("b", Outcome::Failed)]);
        assert_eq!(record.path(), path);
    }

    #[test]
    fn run_4_overload_is_told_from_other_errors() {
        assert!(is_overload("API Error: 529 Overloaded") && is_overload("Selected model is at capacity"));
        assert!(!is_overload("API Error: 403 permission denied"));
    }
}
