//! What the way between a pipe and an address has to know of a message: what it asks for, and what it answers. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A line that is posted.
#[derive(Debug, Default)]
pub(super) struct SentLine {
    /// The ids that wait for an answer, as they were written.
    open: Vec<String>,
    kind: SentKind,
}

/// What of a line matters for the order of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SentKind {
    /// The first request of a session.
    Initialize,
    /// The notice that the session begins.
    Initialized,
    /// Anything else.
    #[default]
    Other,
    /// Nothing: a stream that is only listened to.
    Listening,
}

/// What a message of the server answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    ids: Vec<String>,
    /// The version of the protocol that it settles on.
    pub(super) version: Option<String>,
}

#[derive(Deserialize)]
struct LineHead<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Settled {
    #[serde(default, rename = "protocolVersion")]
    version: Option<String>,
}

fn heads(message: &[u8]) -> Option<Vec<LineHead<'_>>> {
    if message.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(message).ok();
    }
    serde_json::from_slice(message).ok().map(|head| vec![head])
}

impl SentLine {
    /// What a line asks for; nothing of a line that is no message.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let heads = heads(line)?;
        let asks = heads.iter().filter(|head| head.method.is_some());
        let open = asks.filter_map(|head| head.id).map(|id| id.get().to_owned()).collect();
        let is = |name: &str| heads.iter().any(|head| head.method.as_deref() == Some(name));
        let kind = match (is("initialize"), is("notifications/initialized")) {
            (true, _) => SentKind::Initialize,
            (false, true) => SentKind::Initialized,
            (false, false) => SentKind::Other,
        };
        Some(Self { open, kind })
    }

    /// A stream that is only listened to.
    pub(super) const fn listening() -> Self {
        Self { open: Vec::new(), kind: SentKind::Listening }
    }

    /// Whether lines behind it have to wait until it was taken: what wants no answer is over soon, and a session has to begin first.
    pub(super) fn waits(&self) -> bool {
        self.open.is_empty() || self.kind == SentKind::Initialize
    }

    pub(super) fn is_initialize(&self) -> bool {
        self.kind == SentKind::Initialize
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.kind == SentKind::Initialized
    }

    /// The ids without an answer.
    pub(super) fn open(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(String::as_str)
    }

    /// Whether everything it asked for came.
    pub(super) fn is_answered(&self) -> bool {
        self.open.is_empty() && self.kind != SentKind::Listening
    }

    /// The server answered.
    pub(super) fn answered(&mut self, answers: &Answers) {
        self.open.retain(|open| !answers.ids.contains(open));
    }
}

/// What a message of the server answers.
pub(super) fn heard(message: &[u8]) -> Answers {
    let heads = heads(message).unwrap_or_default();
    let replies = || heads.iter().filter(|head| head.method.is_none());
    let ids = replies().filter_map(|head| head.id).map(|id| id.get().to_owned()).collect();
    let version = |head: &LineHead<'_>| serde_json::from_str::<Settled>(head.result?.get()).ok()?.version;
    Answers { ids, version: replies().find_map(version) }
}

/// A message on one line: in JSON an end of a line can only stand between its parts.
pub(super) fn flat(message: &[u8]) -> Vec<u8> {
    let message = message.trim_ascii();
    message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_5_a_line_is_open_until_each_of_its_requests_has_its_answer() {
        let batch = br#"[{"id":1,"method":"a"},{"id":"x","method":"b"},{"method":"c"},{"id":9,"result":{}}]"#;
        let mut sent = SentLine::read(batch).unwrap();
        assert_eq!((sent.open().collect::<Vec<_>>(), sent.waits()), (vec!["1", "\"x\""], false));
        sent.answered(&heard(br#"{"id":1,"method":"sampling/createMessage"}"#));
        sent.answered(&heard(br#"{"id":1,"result":{}}"#));
        assert!(!sent.is_answered(), "a request of the server answers nothing");
        sent.answered(&heard(br#"[{"id":"x","error":{}}]"#));
        assert!(sent.is_answered());
        assert!(SentLine::read(b"nothing").is_none());
        assert!(!SentLine::listening().is_answered(), "it is listened to until it ends");
    }

    #[test]
    fn mcp_5_a_session_begins_before_anything_else_is_said() {
        let first = SentLine::read(br#"{"id":0,"method":"initialize"}"#).unwrap();
        assert!(first.waits() && first.is_initialize());
        let begun = SentLine::read(br#"{"method":"notifications/initialized"}"#).unwrap();
        assert!(begun.waits() && begun.is_initialized());
        assert!(!SentLine::read(br#"{"id":2,"method":"tools/call"}"#).unwrap().waits());
        let answer = heard(br#"{"id":0,"result":{"protocolVersion":"2025-06-18"}}"#);
        assert_eq!(answer.version.as_deref(), Some("2025-06-18"));
    }

    #[test]
    fn mcp_5_a_message_is_one_line_and_its_texts_stay() {
        assert_eq!(flat(b"{\n  \"a\": \"x\\ny\"\r\n}\n"), b"{   \"a\": \"x\\ny\"  }");
    }
}
