//! The result of a call: what the engine hears of it, and words of the guard beside it.

use super::message::{Answered, members};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use tripwire_core::record::chain::Digest;

/// The most of a result's text that is handed on to be recorded; of the rest its length and digest.
const HEARD_BYTES_MAX: usize = 1 << 20;

/// What the engine hears of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Its text; pictures and other binary parts by their digest.
    pub text: String,
    /// Whether it is an error.
    pub failed: bool,
}

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "mimeType")]
    mime: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    resource: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct EmbeddedResource<'a> {
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    blob: Option<Cow<'a, str>>,
}

/// What an answer to a call says.
#[must_use]
pub fn heard(answered: Answered<'_>) -> Heard {
    let result = match answered {
        Answered::Error(error) => return Heard { text: bounded(error.get()), failed: true },
        Answered::Result(result) => result.get(),
    };
    let members = members(result).unwrap_or_default();
    let get = |name: &str| member(&members, name).map(RawValue::get);
    let failed = get("isError") == Some("true");
    let parts: Vec<&RawValue> =
        get("content").and_then(|content| serde_json::from_str(content).ok()).unwrap_or_default();
    let mut texts: Vec<String> = parts.iter().map(|part| part_text(part.get())).collect();
    if texts.is_empty() {
        texts.push(get("structuredContent").unwrap_or(result).to_owned());
    }
    Heard { text: bounded(&texts.join("\n")), failed }
}

/// One part of a result as text.
fn part_text(raw: &str) -> String {
    let Ok(part) = serde_json::from_str::<ContentPart<'_>>(raw) else { return raw.to_owned() };
    if let Some(text) = part.text {
        return text.into_owned();
    }
    if let Some(data) = part.data {
        return binary(&part.kind, part.mime.as_deref(), &data);
    }
    let Some(resource) = part.resource.and_then(|raw| serde_json::from_str::<EmbeddedResource<'_>>(raw.get()).ok())
    else {
        return format!("[{} {}]", part.kind, part.uri.as_deref().unwrap_or_default());
    };
    let uri = resource.uri.unwrap_or_default();
    match (resource.text, resource.blob) {
        (Some(text), _) => format!("[{uri}]\n{text}"),
        (None, Some(blob)) => binary(&uri, part.mime.as_deref(), &blob),
        (None, None) => format!("[{uri}]"),
    }
}

/// Binary content is known by its digest and never recorded.
fn binary(what: &str, mime: Option<&str>, data: &str) -> String {
    format!("[{what} {} of {} base64 bytes, sha256 {}]", mime.unwrap_or("?"), data.len(), Digest::of(data.as_bytes()))
}

fn bounded(text: &str) -> String {
    if text.len() <= HEARD_BYTES_MAX {
        return text.to_owned();
    }
    let digest = Digest::of(text.as_bytes());
    let kept = tripwire_core::label::cut(text, HEARD_BYTES_MAX);
    format!("{kept}\n[… {} bytes in all, sha256 {digest}]", text.len())
}

/// An answer with words of the guard in it: behind the content of a result, or behind the message of an error. Nothing where
/// it has no place for them, as the promise of a task has none.
#[must_use]
pub fn with_words(raw: &str, words: &str) -> Option<String> {
    let answer = members(raw)?;
    match (member(&answer, "result"), member(&answer, "error")) {
        (Some(result), None) => result_with_words(raw, result, words),
        (None, Some(error)) => {
            let parts = members(error.get())?;
            let message = format!("{}\n{words}", message_of(&parts));
            let message = json!(message.trim_start()).to_string();
            Some(replaced(raw, error.get(), &rebuilt(&parts, &[("message", Some(message))])))
        }
        (None, None) | (Some(_), Some(_)) => None,
    }
}

fn result_with_words(raw: &str, result: &RawValue, words: &str) -> Option<String> {
    let parts = members(result.get())?;
    let listed = member(&parts, "content").and_then(|content| {
        let inner = content.get().strip_prefix('[')?.strip_suffix(']')?;
        Some((content, inner))
    });
    if let Some((content, inner)) = listed {
        let comma = if inner.trim().is_empty() { "" } else { "," };
        let added = format!(r#"[{inner}{comma}{{"type":"text","text":{}}}]"#, json!(words));
        return Some(replaced(raw, content.get(), &added));
    }
    if member(&parts, "task").is_some() {
        return None;
    }
    // Many clients show a model only the content, where there is one: so it has to hold what the result says, too.
    let said = heard(Answered::Result(result)).text;
    let content = json!([{"type": "text", "text": said}, {"type": "text", "text": words}]).to_string();
    Some(replaced(raw, result.get(), &rebuilt(&parts, &[("content", Some(content))])))
}

/// An answer that is larger than the agent is to get: its text is cut, and words say where the whole is. Whatever else of it is
/// too large is left out; a result without the structured content that its tool declares may only be an error.
#[must_use]
pub fn capped(raw: &str, answered: Answered<'_>, bytes: usize, words: &str) -> Option<String> {
    let (whole, shown) = match answered {
        Answered::Result(result) => (result, "content"),
        Answered::Error(error) => (error, "message"),
    };
    let parts = members(whole.get())?;
    let large = parts.iter().filter(|(name, value)| name != shown && value.get().len() > bytes);
    let mut changes: Vec<(&str, Option<String>)> = large.map(|(name, _)| (name.as_str(), None)).collect();
    let with_pointer = |text: &str| format!("{}\n{words}", tripwire_core::label::cut(text, bytes));
    match answered {
        Answered::Result(_) => {
            if changes.iter().any(|(name, _)| *name == "structuredContent") {
                changes.push(("isError", Some("true".to_owned())));
            }
            let text = with_pointer(&heard(answered).text);
            changes.push((shown, Some(json!([{"type": "text", "text": text}]).to_string())));
        }
        Answered::Error(_) => changes.push((shown, Some(json!(with_pointer(&message_of(&parts))).to_string()))),
    }
    Some(replaced(raw, whole.get(), &rebuilt(&parts, &changes)))
}

/// The task that a call was begun as, where it was.
#[must_use]
pub fn task_of(answered: Answered<'_>) -> Option<String> {
    let Answered::Result(result) = answered else { return None };
    let parts = members(result.get())?;
    let task = members(member(&parts, "task")?.get())?;
    serde_json::from_str(member(&task, "taskId")?.get()).ok()
}

fn member<'a>(members: &[(String, &'a RawValue)], name: &str) -> Option<&'a RawValue> {
    members.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
}

/// The message of an error; empty where it has none.
fn message_of(error: &[(String, &RawValue)]) -> String {
    member(error, "message").and_then(|message| serde_json::from_str(message.get()).ok()).unwrap_or_default()
}

/// An object with some of its members in another form, left out, or added.
fn rebuilt(members: &[(String, &RawValue)], changes: &[(&str, Option<String>)]) -> String {
    let change = |name: &str| changes.iter().find(|(changed, _)| *changed == name).map(|(_, text)| text.as_deref());
    let kept = members.iter().filter_map(|(name, value)| {
        let value = change(name).unwrap_or(Some(value.get()))?;
        Some(format!("{}:{value}", json!(name)))
    });
    let added = changes.iter().filter(|(name, _)| member(members, name).is_none());
    let added = added.filter_map(|(name, text)| Some(format!("{}:{}", json!(name), text.as_deref()?)));
    format!("{{{}}}", kept.chain(added).collect::<Vec<_>>().join(","))
}

/// A text with one of its own parts replaced; every other byte stays.
///
/// `part` is a slice of `whole`, which its address says: the same bytes may occur elsewhere in it.
#[must_use]
pub fn replaced(whole: &str, part: &str, with: &str) -> String {
    let at = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    match (whole.get(..at), whole.get(at.saturating_add(part.len())..)) {
        (Some(before), Some(behind)) => format!("{before}{with}{behind}"),
        (None, _) | (_, None) => whole.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::{Incoming, MessageKind, SERVER_DEPTH_MAX, read};

    fn answer(line: &str, look: impl FnOnce(Answered<'_>)) {
        let Ok(Incoming::One(message)) = read(line.as_bytes(), SERVER_DEPTH_MAX) else { panic!("{line}") };
        let MessageKind::Response(_, answered) = message.kind else { panic!("{line}") };
        look(answered);
    }

    #[test]
    fn mcp_3_a_result_is_heard_as_text_and_binary_content_by_its_digest() {
        let line = r#"{"id":1,"result":{"content":[{"type":"text","text":"a\u0062"},{"type":"image","data":"QUJD","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x:1","blob":"QUJD"}},{"type":"resource_link","uri":"y:2"}],"isError":true}}"#;
        answer(line, |answered| {
            let Heard { text, failed } = heard(answered);
            assert!(failed && text.starts_with("ab\n[image image/png of 4 base64 bytes, sha256 "), "{text}");
            assert!(!text.contains("QUJD") && text.ends_with("[resource_link y:2]"), "{text}");
        });
        answer(r#"{"id":1,"result":{"structuredContent":{"n":1}}}"#, |answered| {
            assert_eq!(heard(answered), Heard { text: r#"{"n":1}"#.to_owned(), failed: false });
        });
        answer(r#"{"id":1,"error":{"code":-1,"message":"no"}}"#, |answered| assert!(heard(answered).failed));
    }

    #[test]
    fn mcp_3_a_large_result_is_cut_and_says_where_the_whole_is() {
        let text = "ü".repeat(400);
        let line =
            format!(r#"{{"id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false,"x":1}}}}"#);
        answer(&line, |answered| {
            let cut = capped(&line, answered, 101, "`tripwire memory get mem:1`").unwrap();
            let cut: serde_json::Value = serde_json::from_str(&cut).unwrap();
            let said = cut["result"]["content"][0]["text"].as_str().unwrap();
            assert!(said.starts_with(&"ü".repeat(50)) && !said.contains(&"ü".repeat(51)), "{said}");
            assert!(said.contains("memory get mem:1") && cut["result"]["x"] == 1, "{cut}");
        });
    }

    #[test]
    fn mcp_4_words_beside_a_result_change_no_other_byte() {
        let line = r#"{"id":1, "result": {"content" : [ {"type":"text","text":"[]"} ],"x":[]}}"#;
        let expected = r#"{"id":1, "result": {"content" : [ {"type":"text","text":"[]"} ,{"type":"text","text":"slow down"}],"x":[]}}"#;
        assert_eq!(with_words(line, "slow down").unwrap(), expected);
        let empty = with_words(r#"{"id":1,"result":{"content":[]}}"#, "x").unwrap();
        assert!(empty.contains(r#"[{"type":"text","text":"x""#), "{empty}");
    }

    fn value(text: &str) -> serde_json::Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn mcp_3_words_find_a_place_in_errors_and_in_results_without_content() {
        let told =
            value(&with_words(r#"{"id":1,"error":{"code":-1,"message":"no","data":[1]}}"#, "slow down").unwrap());
        assert_eq!(told["error"], json!({"code": -1, "message": "no\nslow down", "data": [1]}));
        let told = value(&with_words(r#"{"id":1,"error":{"code":-1}}"#, "slow down").unwrap());
        assert_eq!(told["error"]["message"], "slow down");
        let told = value(&with_words(r#"{"id":1,"result":{"structuredContent":{"n":1}}}"#, "slow down").unwrap());
        assert_eq!(told["result"]["content"][0]["text"], r#"{"n":1}"#);
        assert_eq!(told["result"]["content"][1]["text"], "slow down");
        assert_eq!(told["result"]["structuredContent"]["n"], 1);
    }

    #[test]
    fn mcp_3_words_are_not_put_where_nobody_reads_them() {
        for line in
            [r#"{"id":1,"result":{"task":{"taskId":"t"}}}"#, r#"{"id":1,"result":7}"#, r#"{"id":1,"error":"no"}"#]
        {
            assert_eq!(with_words(line, "slow down"), None, "{line}");
        }
    }

    #[test]
    fn mcp_3_large_structured_content_is_left_out_as_an_error_and_a_small_one_stays() {
        let large = "y".repeat(300);
        let line = format!(r#"{{"id":1,"result":{{"structuredContent":{{"v":"{large}"}},"_meta":{{"a":1}}}}}}"#);
        answer(&line, |answered| {
            let cut = value(&capped(&line, answered, 100, "whole: mem:1").unwrap());
            let text = cut["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with(r#"{"v":"yyy"#) && text.ends_with("whole: mem:1") && text.len() < 200, "{text}");
            assert_eq!(cut["result"]["isError"], true, "no client may look for what its schema asks for");
            assert!(cut["result"].get("structuredContent").is_none() && cut["result"]["_meta"]["a"] == 1, "{cut}");
        });
        let line = format!(
            r#"{{"id":1,"result":{{"content":[{{"type":"text","text":"{large}"}}],"structuredContent":{{"n":1}}}}}}"#
        );
        answer(&line, |answered| {
            let cut = value(&capped(&line, answered, 100, "whole: mem:1").unwrap());
            assert!(cut["result"]["structuredContent"]["n"] == 1 && cut["result"].get("isError").is_none(), "{cut}");
        });
    }

    #[test]
    fn mcp_3_a_large_error_is_cut_and_stays_an_error() {
        let large = "e".repeat(300);
        let line = format!(r#"{{"id":1,"error":{{"code":-5,"message":"{large}","data":"{large}"}}}}"#);
        answer(&line, |answered| {
            let cut = value(&capped(&line, answered, 100, "whole: mem:1").unwrap());
            assert!(cut["error"]["code"] == -5 && cut["error"].get("data").is_none(), "{cut}");
            let message = cut["error"]["message"].as_str().unwrap();
            assert!(message.len() < 200 && message.ends_with("\nwhole: mem:1"), "{message}");
        });
    }

    #[test]
    fn mcp_3_a_task_is_known_by_its_id_and_a_result_is_none() {
        answer(r#"{"id":1,"result":{"task":{"taskId":"t1"}}}"#, |answered| {
            assert_eq!(task_of(answered).as_deref(), Some("t1"));
        });
        answer(r#"{"id":1,"result":{"content":[]}}"#, |answered| assert_eq!(task_of(answered), None));
    }
}
