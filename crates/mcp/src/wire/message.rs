//! One message of the protocol, as far as the guard has to understand it; everything else stays raw.

use super::strict::{self, Carrier, JsonFault};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Deepest nesting of a message to a server: arguments are read two levels less deep than the engine's own bound.
pub const CLIENT_DEPTH_MAX: usize = 64;
/// Deepest nesting of a message from a server.
pub const SERVER_DEPTH_MAX: usize = 120;
/// Most messages in one batch.
pub const BATCH_MAX: usize = 1_000;
/// Longest name of a tool.
pub const TOOL_NAME_BYTES_MAX: usize = 256;

/// The names of a message's members that a reader acts on.
const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
/// The names of a call's parameters that a server acts on.
const CALL_MEMBERS: [&str; 2] = ["name", "arguments"];

/// Why a message is not understood, and therefore not passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageFault {
    /// It is not one plain JSON value.
    #[error(transparent)]
    Json(#[from] JsonFault),
    /// It is JSON and no message of the protocol.
    #[error("the message is refused: {0}")]
    Form(String),
    /// A call whose parameters have another form.
    #[error("the call is refused: {0}")]
    Call(String),
}

impl MessageFault {
    /// The error code of JSON-RPC.
    #[must_use]
    pub const fn code(&self) -> i64 {
        match self {
            Self::Json(_) => -32_700,
            Self::Form(_) => -32_600,
            Self::Call(_) => -32_602,
        }
    }
}

/// The id of a request, by which its answer is known.
///
/// Some clients take `"2"` for `2`, so both are one key here; the text is kept as it was written.
#[derive(Debug, Clone)]
pub struct Id {
    raw: String,
    key: String,
}

impl Id {
    /// The id as it was written.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// What makes two ids the same.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let key = match text.as_bytes().first()? {
            b'"' => serde_json::from_str::<String>(text).ok()?.trim().to_owned(),
            b'-' | b'0'..=b'9' => number_key(text),
            _ => return None,
        };
        Some(Self { raw: text.to_owned(), key })
    }
}

/// A number as the shortest text of its value: `2`, `2.0` and `20e-1` are one number.
fn number_key(text: &str) -> String {
    let whole = text.parse::<i64>().ok().map(|number| number.to_string());
    whole.unwrap_or_else(|| text.parse::<f64>().map_or_else(|_| text.to_owned(), |number| number.to_string()))
}

/// One message.
#[derive(Debug)]
pub struct Message<'a> {
    /// The message as it was written.
    pub raw: &'a str,
    /// What it is.
    pub kind: MessageKind<'a>,
}

/// What a message is.
#[derive(Debug)]
pub enum MessageKind<'a> {
    /// `tools/call`, with an id or without.
    Call(Option<Id>, ToolUse<'a>),
    /// `tools/list`.
    List {
        /// Its id; a list that nobody waits for has none.
        id: Option<Id>,
        /// Whether it asks for the first page.
        page: ListPage,
    },
    /// `tasks/result`: the result of a call that was begun as a task.
    TaskResult {
        /// Its id.
        id: Id,
        /// The task's own id.
        task: Option<String>,
    },
    /// `notifications/cancelled` for a request.
    Cancelled(Id),
    /// Any other request.
    Request(Id),
    /// Any other notification.
    Notification,
    /// An answer.
    Response(Option<Id>, Answered<'a>),
}

/// Which page of a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListPage {
    /// The first one: a walk through the list begins.
    First,
    /// A later one.
    Later,
}

/// What an answer brings.
#[derive(Debug, Clone, Copy)]
pub enum Answered<'a> {
    /// A result.
    Result(&'a RawValue),
    /// An error.
    Error(&'a RawValue),
}

/// The use of a tool, exactly as the server will read it.
#[derive(Debug, Clone)]
pub struct ToolUse<'a> {
    /// The tool's name.
    pub name: String,
    /// Its arguments as they were written; `{}` where there are none.
    pub arguments: &'a str,
}

/// What stood on one line.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// Nothing but blanks.
    Blank,
    /// One message.
    One(Message<'a>),
    /// A batch, of at least one message.
    Batch(Vec<Message<'a>>),
}

/// Reads one line, without its end.
///
/// # Errors
/// When it is not a message, or a batch of them, that every reader understands the same way. Then it must not be passed on.
pub fn read(line: &[u8], depth_max: usize) -> Result<Incoming<'_>, MessageFault> {
    carried(line, Carrier::Line, depth_max)
}

/// Reads the body of a request or of a reply, or the data of an event.
///
/// # Errors
/// As [`read`].
pub fn read_body(body: &[u8], depth_max: usize) -> Result<Incoming<'_>, MessageFault> {
    carried(body, Carrier::Body, depth_max)
}

/// Reads a message, whatever carries it.
///
/// # Errors
/// As [`read`].
pub(crate) fn carried(message: &[u8], carrier: Carrier, depth_max: usize) -> Result<Incoming<'_>, MessageFault> {
    if message.trim_ascii().is_empty() {
        return Ok(Incoming::Blank);
    }
    let text = strict::check(message, carrier, depth_max)?.trim_matches([' ', '\t', '\n', '\r']);
    if !text.starts_with('[') {
        return one(text).map(Incoming::One);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| form(&error.to_string()))?;
    if parts.is_empty() || parts.len() > BATCH_MAX {
        return Err(form(&format!("a batch holds 1 to {BATCH_MAX} messages")));
    }
    Ok(Incoming::Batch(parts.into_iter().map(|part| one(part.get())).collect::<Result<_, _>>()?))
}

/// The id of a message that was refused, where it can be known: for the answer that says so.
#[must_use]
pub fn id_of_refused(message: &[u8]) -> Option<Id> {
    id_in(&members_so_far(&legible(message)))
}

/// The ids of an answer that was refused, or of each answer of a batch. A request of the server
/// is numbered by the server, and answers nothing.
#[must_use]
pub fn ids_of_refused_answers(message: &[u8]) -> Vec<Id> {
    let text = legible(message);
    let id_of_answer = |text: &str| {
        let members = members_so_far(text);
        let is_request = members.iter().any(|(name, _)| name == "method");
        if is_request { None } else { id_in(&members) }
    };
    match serde_json::from_str::<Vec<&RawValue>>(&text) {
        Ok(parts) => parts.into_iter().take(BATCH_MAX).filter_map(|part| id_of_answer(part.get())).collect(),
        Err(_) => id_of_answer(&text).into_iter().collect(),
    }
}

/// A message of which only its outline is looked at: what is no text, and what no text may hold, is blanked out.
fn legible(message: &[u8]) -> String {
    String::from_utf8_lossy(message)
        .trim_start_matches('\u{feff}')
        .replace(|letter: char| letter.is_ascii_control(), " ")
}

fn id_in(members: &[(String, &RawValue)]) -> Option<Id> {
    // Readers that take a name twice take the last one.
    members.iter().rev().find(|(name, _)| name == "id").and_then(|(_, raw)| Id::read(raw))
}

fn form(why: &str) -> MessageFault {
    MessageFault::Form(why.to_owned())
}

fn one(text: &str) -> Result<Message<'_>, MessageFault> {
    let members = members(text).ok_or_else(|| form("it is not an object"))?;
    no_look_alikes(&members, &MEMBERS).map_err(|name| form(&name))?;
    let get = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let id = match get("id") {
        None => None,
        Some(raw) => {
            // An answer to something that could not be read has no id.
            let id = Id::read(raw);
            if id.is_none() && get("method").is_some() {
                return Err(form("its `id` is neither a text nor a number"));
            }
            id
        }
    };
    let kind = match (get("method"), get("result"), get("error")) {
        (Some(method), None, None) => {
            let method: String = serde_json::from_str(method.get()).map_err(|_| form("its `method` is not text"))?;
            of_method(&method, id, get("params"))?
        }
        (None, Some(result), None) => MessageKind::Response(id, Answered::Result(result)),
        (None, None, Some(error)) => MessageKind::Response(id, Answered::Error(error)),
        (None, None, None) => return Err(form("it has neither a `method` nor a `result` nor an `error`")),
        (Some(_), _, _) | (None, Some(_), Some(_)) => {
            return Err(form("it has more than one of `method`, `result` and `error`"));
        }
    };
    Ok(Message { raw: text, kind })
}

fn of_method<'a>(method: &str, id: Option<Id>, params: Option<&'a RawValue>) -> Result<MessageKind<'a>, MessageFault> {
    let params_named = |name: &str| {
        let members = params.and_then(|params| members(params.get())).unwrap_or_default();
        members.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    };
    match method {
        "tools/call" => Ok(MessageKind::Call(id, tool_use(params)?)),
        "tools/list" => {
            let cursor = params_named("cursor").filter(|cursor| cursor.get() != "null");
            let page = if cursor.is_some() { ListPage::Later } else { ListPage::First };
            Ok(MessageKind::List { id, page })
        }
        "tasks/result" => {
            let task = params_named("taskId").and_then(|task| serde_json::from_str(task.get()).ok());
            Ok(id.map_or(MessageKind::Notification, |id| MessageKind::TaskResult { id, task }))
        }
        "notifications/cancelled" => {
            let cancelled = params_named("requestId").and_then(Id::read);
            Ok(cancelled.map_or(MessageKind::Notification, MessageKind::Cancelled))
        }
        other if matches!(letters(other).as_str(), "toolscall" | "toolslist") => {
            Err(form(&format!("`{other}` is not how the protocol spells this method")))
        }
        _ => Ok(id.map_or(MessageKind::Notification, MessageKind::Request)),
    }
}

fn tool_use(params: Option<&RawValue>) -> Result<ToolUse<'_>, MessageFault> {
    let fault = |why: &str| MessageFault::Call(why.to_owned());
    let params = params.ok_or_else(|| fault("it has no `params`"))?;
    let members = members(params.get()).ok_or_else(|| fault("its `params` are no object"))?;
    no_look_alikes(&members, &CALL_MEMBERS).map_err(|why| fault(&why))?;
    let get = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let name = get("name").ok_or_else(|| fault("it names no tool"))?;
    let name: String = serde_json::from_str(name.get()).map_err(|_| fault("the tool's `name` is not text"))?;
    if name.is_empty() || name.len() > TOOL_NAME_BYTES_MAX {
        return Err(fault(&format!("the tool's `name` has 1 to {TOOL_NAME_BYTES_MAX} bytes")));
    }
    if name.chars().any(char::is_control) {
        return Err(fault("the tool's `name` holds control characters"));
    }
    let arguments = match get("arguments").map(RawValue::get) {
        None | Some("null") => "{}",
        Some(object) if object.starts_with('{') => object,
        Some(_) => return Err(fault("its `arguments` are no object")),
    };
    Ok(ToolUse { name, arguments })
}

/// Refuses a name that some readers take for one that they act on: in other letters' case, or with a letter that folds to one.
fn no_look_alikes(members: &[(String, &RawValue)], known: &[&str]) -> Result<(), String> {
    let alike = members.iter().filter(|(name, _)| !known.contains(&name.as_str())).find(|(name, _)| {
        let plain = letters(name);
        known.iter().any(|known| letters(known) == plain)
    });
    alike.map_or(Ok(()), |(name, _)| Err(format!("some servers read its member `{name}` as another one")))
}

/// The letters and digits of a name as readers fold them: Go's, for one, take `K` (Kelvin) for `k` and `ſ` for `s`.
fn letters(name: &str) -> String {
    let folded = name.chars().flat_map(char::to_lowercase).filter(|letter| letter.is_alphanumeric());
    folded.map(|letter| if letter == 'ſ' { 's' } else { letter }).collect()
}

/// The members of an object, in their order; nothing for any other value.
pub(crate) fn members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    let mut found = Vec::new();
    serde_json::Deserializer::from_str(text).deserialize_map(Members(&mut found)).ok()?;
    Some(found)
}

/// The members of an object up to where it cannot be read any more.
fn members_so_far(text: &str) -> Vec<(String, &RawValue)> {
    let mut found = Vec::new();
    // What was read before it went wrong is all that is wanted.
    drop(serde_json::Deserializer::from_str(text).deserialize_map(Members(&mut found)));
    found
}

/// Keeps the members of an object raw.
struct Members<'a, 'de>(&'a mut Vec<(String, &'de RawValue)>);

impl<'de> Visitor<'de> for Members<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(member) = map.next_entry()? {
            self.0.push(member);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> String {
        match read(line.as_bytes(), CLIENT_DEPTH_MAX) {
            Ok(Incoming::One(message)) => match message.kind {
                MessageKind::Call(id, used) => {
                    format!("call {} {} {}", id.map_or("-".to_owned(), |id| id.raw), used.name, used.arguments)
                }
                MessageKind::List { page, .. } => format!("list {page:?}"),
                MessageKind::TaskResult { id, task } => format!("task {} {}", id.key, task.unwrap_or_default()),
                MessageKind::Cancelled(id) => format!("cancelled {}", id.key),
                MessageKind::Request(id) => format!("request {}", id.key),
                MessageKind::Notification => "notification".to_owned(),
                MessageKind::Response(id, _) => format!("response {}", id.map_or("-".to_owned(), |id| id.key)),
            },
            Ok(Incoming::Batch(messages)) => format!("batch {}", messages.len()),
            Ok(Incoming::Blank) => "blank".to_owned(),
            Err(fault) => format!("{}", fault.code()),
        }
    }

    #[test]
    fn mcp_1_a_call_is_known_in_every_spelling_that_a_server_reads_as_one() {
        for method in [
            r"tools/call",
            r"tools\/call",
            r"\u0074ools/call",
            r"tools/cal\u006C",
            r"\u0074\u006f\u006f\u006c\u0073\u002f\u0063\u0061\u006c\u006c",
        ] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"t","arguments":{{"a":1}}}}}}"#
            );
            assert_eq!(kind(&line), r#"call 1 t {"a":1}"#, "{method}");
        }
        assert_eq!(kind(r#"{"params":{"name":"t"},"method":"tools/call"}"#), "call - t {}");
        assert_eq!(
            kind(r#" {"method":"tools/call","id":"x","params":{"arguments":null,"name":"t"}} "#),
            r#"call "x" t {}"#
        );
        assert_eq!(kind(r#"[{"id":1,"method":"tools/call","params":{"name":"t"}},{"method":"x"}]"#), "batch 2");
    }

    #[test]
    fn mcp_1_look_alikes_of_a_call_are_refused() {
        let call = r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#;
        for (from, to) in [
            ("method", "Method"),
            ("method", "METHOD"),
            ("params", "param\u{17f}"),
            ("params", "Params"),
            ("name", "Name"),
            ("tools/call", "TOOLS/CALL"),
            ("tools/call", "tools/call "),
            ("tools/call", "tools//call"),
            ("tools/call", "tools.call"),
            ("tools/call", "tools/\u{200b}call"),
            ("\"id\":1", "\"id\":[1]"),
            ("\"id\":1", "\"id\":null"),
            ("{\"name\":\"t\"}", "[\"t\"]"),
            ("{\"name\":\"t\"}", "{\"name\":[\"t\"]}"),
            ("{\"name\":\"t\"}", "{\"name\":\"t\",\"Arguments\":{}}"),
            ("{\"name\":\"t\"}", "{\"name\":\"t\",\"arguments\":[]}"),
            ("{\"name\":\"t\"}", "{\"name\":\"\"}"),
            ("\"tools/call\"", "[\"tools/call\"]"),
            ("\"id\":1", "\"id\":1,\"result\":{}"),
        ] {
            let line = call.replacen(from, to, 1);
            let refused = kind(&line);
            assert!(refused.starts_with("-32"), "{line} is {refused}");
        }
        for line in ["[]", "[[]]", "1", "\"tools/call\"", "{}", "null", r#"[{"method":"x"},1]"#] {
            assert!(kind(line).starts_with("-32"), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn mcp_1_no_edit_of_a_call_passes_unasked(
            edits in proptest::collection::vec((0_usize..120, proptest::prelude::any::<u8>(), 0_u8..4), 1..6),
            batch in proptest::bool::ANY,
        ) {
            let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":[1,{"b":"x"}]}}}"#;
            let mut line = if batch { format!("[{call}]").into_bytes() } else { call.as_bytes().to_vec() };
            for (at, byte, how) in edits {
                let at = at % line.len().max(1);
                match how {
                    0 => line.insert(at, byte),
                    1 => drop((line.len() > 1).then(|| line.remove(at))),
                    2 => line[at] = byte,
                    _ => line.extend_from_within(at..),
                }
            }
            let names_call = |value: &serde_json::Value| value["method"] == "tools/call";
            let loosely: Option<serde_json::Value> = serde_json::from_slice(&line).ok();
            let is_call = loosely.is_some_and(|value| {
                names_call(&value) || value.as_array().is_some_and(|items| items.iter().any(names_call))
            });
            let messages = match read(&line, CLIENT_DEPTH_MAX) {
                Ok(Incoming::One(message)) => vec![message],
                Ok(Incoming::Batch(messages)) => messages,
                Ok(Incoming::Blank) | Err(_) => return Ok(()),
            };
            let decided = messages.iter().any(|message| matches!(message.kind, MessageKind::Call(..)));
            proptest::prop_assert!(decided || !is_call, "{}", String::from_utf8_lossy(&line));
        }
    }

    #[test]
    fn mcp_4_everything_else_is_known_for_what_it_is() {
        for (line, is) in [
            ("  ", "blank"),
            (r#"{"id":3,"method":"ping"}"#, "request 3"),
            (r#"{"method":"notifications/initialized"}"#, "notification"),
            (r#"{"id":"a","method":"some/thing/new","params":{"method":"tools/call"}}"#, "request a"),
            (r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#, "cancelled 7"),
            (r#"{"id":4,"method":"tasks/result","params":{"taskId":"t"}}"#, "task 4 t"),
            (r#"{"method":"tasks/result","params":{"taskId":"t"}}"#, "notification"),
            (r#"{"id":4,"method":"tools/list"}"#, "list First"),
            (r#"{"id":4,"method":"tools/list","params":{"cursor":"x"}}"#, "list Later"),
            (r#"{"id":4,"result":{}}"#, "response 4"),
            (r#"{"id":4.0,"result":{}}"#, "response 4"),
            (r#"{"id":"4","error":{}}"#, "response 4"),
            (r#"{"id":null,"error":{}}"#, "response -"),
        ] {
            assert_eq!(kind(line), is, "{line}");
        }
    }

    #[test]
    fn mcp_3_the_id_of_a_refused_answer_is_known_whatever_it_was_refused_for() {
        let ids = |line: &[u8]| {
            assert!(read(line, SERVER_DEPTH_MAX).is_err(), "{}", String::from_utf8_lossy(line));
            ids_of_refused_answers(line).iter().map(|id| id.raw().to_owned()).collect::<Vec<_>>().join(" ")
        };
        for line in [
            &br#"{"id":7,"result":{"content":[{"type":"text","text":"\ud83d"}]}}"#[..],
            b"{\"result\":\"caf\xe9\",\"id\":7}",
            b"{\"result\":\"a\x01b\",\"id\":7}",
            br#"{"result":1e400,"id":7}"#,
            br#"{"id":7,"result":{},"result":{}}"#,
            br#"{"id":7,"result":{"a":"#,
            br#"{"id":7,"result":{},}"#,
            b"\xef\xbb\xbf{\"id\":7,\"result\":{}}",
        ] {
            assert_eq!(ids(line), "7", "{}", String::from_utf8_lossy(line));
        }
        assert_eq!(ids(br#"[{"id":1,"result":"\ud83d"},{"id":"b","error":{}}]"#), r#"1 "b""#);
    }

    #[test]
    fn mcp_3_no_id_is_made_up_for_what_answers_nothing() {
        for line in [
            &br#"{"id":7,"method":"sampling/createMessage","params":{"a":"\ud83d"}}"#[..],
            br#"{"result":{"id":7,"a":"\ud83d"}}"#,
            b"this is not JSON",
            br#"{"id":[7],"result":1e400}"#,
        ] {
            assert!(ids_of_refused_answers(line).is_empty(), "{}", String::from_utf8_lossy(line));
        }
    }
}
