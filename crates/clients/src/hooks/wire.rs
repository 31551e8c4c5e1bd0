//! What the clients send: one JSON object per event, with nearly the same field names in all of them.

use super::event::{Event, Outcome, PersonAsk, Repeat, Source, ToolCall};
use super::reply::HookError;
use crate::legible;
use crate::transcript::ToolOutput;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::PathBuf;

/// The fields that matter; each event has some of them.
#[derive(Debug, Deserialize)]
pub struct HookInput<'a> {
    pub(crate) session_id: String,
    pub(crate) cwd: PathBuf,
    #[serde(borrow)]
    pub(crate) hook_event_name: Cow<'a, str>,
    pub(crate) transcript_path: Option<PathBuf>,
    pub(crate) tool_name: Option<String>,
    #[serde(borrow)]
    pub(crate) tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) tool_response: Option<&'a RawValue>,
    pub(crate) tool_use_id: Option<String>,
    /// An error's text; the clients may change its form, and its presence is what matters.
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) agent_id: Option<String>,
    pub(crate) agent_transcript_path: Option<PathBuf>,
    pub(crate) source: Option<String>,
    pub(crate) stop_hook_active: Option<bool>,
    #[serde(borrow)]
    pub(crate) llm_request: Option<&'a RawValue>,
    /// The tool server of a call, where the client tells it beside the tool's name.
    #[serde(borrow)]
    pub(crate) mcp_context: Option<&'a RawValue>,
    /// What a person said; only a text counts.
    #[serde(borrow)]
    pub(crate) prompt: Option<&'a RawValue>,
    /// Why a person is to be asked; only the MCP guard says so.
    pub(crate) asks: Option<PersonAsk>,
}

impl HookInput<'_> {
    /// The tool of an event that has one.
    pub(crate) fn tool(&self) -> Result<ToolCall, HookError> {
        let missing = || HookError { problem: format!("`{}` names no tool", self.hook_event_name) };
        Ok(ToolCall {
            name: self.tool_name.clone().ok_or_else(missing)?,
            input: legible::readable(raw(self.tool_input)).into_owned(),
            call_id: self.tool_use_id.clone(),
        })
    }

    /// A tool's run, with its output as the client's dialect reads it.
    pub(crate) fn done(&self, output: ToolOutput) -> Result<Event, HookError> {
        let ToolOutput { text: output, failed, exit_code } = output;
        let outcome = Outcome { output, failed, exit_code, duration_ms: self.duration_ms.unwrap_or(0) };
        Ok(Event::Done(self.tool()?, outcome))
    }

    /// How the session began.
    pub(crate) fn started(&self) -> Event {
        Event::SessionStarted(match self.source.as_deref() {
            Some("resume" | "fork") => Source::Resumed,
            Some("compact") => Source::Compacted,
            Some(_) | None => Source::Startup,
        })
    }

    /// A claim to be done.
    pub(crate) fn claimed(&self) -> Event {
        Event::Claimed(if self.stop_hook_active == Some(true) { Repeat::Again } else { Repeat::First })
    }
}

/// The text of a raw value; nothing if it is absent.
pub(crate) fn raw(value: Option<&RawValue>) -> &str {
    value.map_or("", RawValue::get)
}

/// The text inside a JSON string; other values as they are written.
pub(crate) fn text(value: Option<&RawValue>) -> String {
    let raw = raw(value);
    if raw.starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(raw)
    {
        return text;
    }
    raw.to_owned()
}

/// The event's name, found without reading the rest: the input may be broken behind it. Only the client's own fields
/// count: what stands deeper, in a tool's arguments, is the agent's word.
pub(crate) fn event_name(input: &[u8]) -> Option<&str> {
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
