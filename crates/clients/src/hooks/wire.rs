//! What the clients send: one JSON object per event, with nearly the same field names in all three.

use super::call::{Agent, Event, HookCall, Outcome, Repeat, Source, Tool};
use super::{Client, HookError, claude, codex, gemini, legible};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::PathBuf;

/// The fields that matter; each event has some of them.
#[derive(Deserialize)]
pub(super) struct Wire<'a> {
    pub(super) session_id: String,
    pub(super) cwd: PathBuf,
    #[serde(borrow)]
    pub(super) hook_event_name: Cow<'a, str>,
    pub(super) transcript_path: Option<PathBuf>,
    pub(super) tool_name: Option<String>,
    #[serde(borrow)]
    pub(super) tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_response: Option<&'a RawValue>,
    pub(super) tool_use_id: Option<String>,
    /// An error's text; the clients may change its form, and its presence is what matters.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    pub(super) duration_ms: Option<u64>,
    pub(super) agent_id: Option<String>,
    pub(super) agent_transcript_path: Option<PathBuf>,
    pub(super) source: Option<String>,
    pub(super) stop_hook_active: Option<bool>,
    #[serde(borrow)]
    pub(super) llm_request: Option<&'a RawValue>,
    /// What a person said; only a text counts.
    #[serde(borrow)]
    pub(super) prompt: Option<&'a RawValue>,
}

/// Reads what a client sends.
pub(super) fn read(client: Client, bytes: &[u8]) -> Result<HookCall, HookError> {
    let wire: Wire<'_> = serde_json::from_slice(bytes).map_err(|error| HookError { problem: error.to_string() })?;
    let event = match client {
        Client::Claude => claude::event(&wire)?,
        Client::Codex => codex::event(&wire)?,
        Client::Gemini => gemini::event(&wire)?,
    };
    let transcript = wire.agent_transcript_path;
    let agent = wire.agent_id.map(|id| Agent { id, transcript });
    let prompt = wire.prompt.and_then(|prompt| serde_json::from_str(prompt.get()).ok());
    Ok(HookCall {
        client,
        session: wire.session_id,
        cwd: wire.cwd,
        transcript: wire.transcript_path,
        agent,
        event,
        prompt,
    })
}

impl Wire<'_> {
    /// The tool of an event that has one.
    pub(super) fn tool(&self) -> Result<Tool, HookError> {
        let missing = || HookError { problem: format!("`{}` names no tool", self.hook_event_name) };
        Ok(Tool {
            name: self.tool_name.clone().ok_or_else(missing)?,
            input: legible::mended(raw(self.tool_input)).into_owned(),
            call_id: self.tool_use_id.clone(),
        })
    }

    /// A tool's run, with its output as the client's dialect reads it.
    pub(super) fn done(&self, output: String, failed: Option<bool>) -> Result<Event, HookError> {
        let outcome = Outcome { output, failed, duration_ms: self.duration_ms.unwrap_or(0) };
        Ok(Event::Done(self.tool()?, outcome))
    }

    /// How the session began.
    pub(super) fn started(&self) -> Event {
        Event::SessionStarted(match self.source.as_deref() {
            Some("resume" | "fork") => Source::Resumed,
            Some("compact") => Source::Compacted,
            Some(_) | None => Source::Startup,
        })
    }

    /// A claim to be done.
    pub(super) fn claimed(&self) -> Event {
        Event::Claimed(if self.stop_hook_active == Some(true) { Repeat::Again } else { Repeat::First })
    }
}

/// The text of a raw value; nothing if it is absent.
pub(super) fn raw(value: Option<&RawValue>) -> &str {
    value.map_or("", RawValue::get)
}

/// The text inside a JSON string; other values as they are written.
pub(super) fn text(value: Option<&RawValue>) -> String {
    let raw = raw(value);
    if raw.starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(raw)
    {
        return text;
    }
    raw.to_owned()
}

/// Whether an event asks for leave to go on, judged also from an input that is not understood as a whole: if nothing
/// tells the event, it does.
pub(super) fn asks_to_go_on(client: Client, input: &[u8]) -> bool {
    let reports: &[&str] = match client {
        Client::Claude => claude::REPORTS,
        Client::Codex => codex::REPORTS,
        Client::Gemini => gemini::REPORTS,
    };
    event_name(input).is_none_or(|name| !reports.contains(&name))
}

/// The event's name, found without reading the rest: the input may be broken behind it. Only the client's own fields
/// count: what stands deeper, in a tool's arguments, is the agent's word.
fn event_name(input: &[u8]) -> Option<&str> {
    const FIELD: &[u8] = b"hook_event_name";
    let mut rest = input.trim_ascii_start().strip_prefix(b"{")?;
    let mut depth = 1_usize;
    while depth > 0 {
        let (at, byte) = rest.iter().enumerate().find(|(_, byte)| b"{}[]\"".contains(byte))?;
        rest = rest.get(at.checked_add(1)?..)?;
        match byte {
            b'{' | b'[' => depth = depth.checked_add(1)?,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {
                let (text, behind) = string(rest)?;
                rest = behind;
                if depth == 1 && text == FIELD {
                    let value = behind.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
                    return std::str::from_utf8(string(value)?.0).ok();
                }
            }
        }
    }
    None
}

/// A string of JSON from behind its opening quote, as it is written, and what follows it.
fn string(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0_usize;
    loop {
        at = at.checked_add(input.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?)?;
        match input.get(at) {
            Some(b'"') => return Some((input.get(..at)?, input.get(at.checked_add(1)?..)?)),
            _ => at = at.checked_add(2)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_is_found_in_a_broken_input() {
        assert_eq!(event_name(br#"{"a":1,"hook_event_name": "Stop","x":"#), Some("Stop"));
        assert_eq!(event_name(br#"{"hook_event_name":"#), None);
        assert_eq!(event_name(b"\xff\xfe"), None);
        assert!(!asks_to_go_on(Client::Claude, br#"{"hook_event_name":"Stop""#));
        assert!(asks_to_go_on(Client::Codex, br#"{"hook_event_name":"PreToolUse""#));
        assert!(asks_to_go_on(Client::Gemini, b"nothing"), "what is not known is refused");
    }

    #[test]
    fn only_the_clients_own_field_names_the_event() {
        for said in [
            &br#"{"tool_input":{"hook_event_name":"Stop"},"hook_event_name":"PreToolUse","#[..],
            br#"{"tool_input":[{"x":"\\"},"\"{",{"hook_event_name":"Stop"}],"hook_event_name" : "PreToolUse"}"#,
            br#"{"a":"\"hook_event_name\":\"Stop\"","hook_event_name":"PreToolUse"}"#,
        ] {
            assert_eq!(event_name(said), Some("PreToolUse"));
        }
        for said in [
            &br#"{"tool_input":{"hook_event_name":"Stop"}}"#[..],
            br#"{"tool_input":{"hook_event_name":"Stop""#,
            br#"{"a":1}{"hook_event_name":"Stop"}"#,
            br#"["hook_event_name":"Stop"]"#,
            br#"{"hook_event_name":{"hook_event_name":"Stop"}}"#,
            br#"{"hook_event_name":"Stop\"#,
        ] {
            assert_eq!(event_name(said), None, "{}", String::from_utf8_lossy(said));
        }
        assert_eq!(event_name(br#" {"tool_input":{"a":[1,{}]},"hook_event_name":"Stop"}"#), Some("Stop"));
    }
}
