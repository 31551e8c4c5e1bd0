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
    let get = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, value)| value.get());
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

/// A message with one more text behind the content of its result; nothing where it has no content.
#[must_use]
pub fn with_words(raw: &str, result: &RawValue, words: &str) -> Option<String> {
    let members = members(result.get())?;
    let (_, content) = members.iter().find(|(name, _)| name == "content")?;
    let inner = content.get().strip_prefix('[')?.strip_suffix(']')?;
    let comma = if inner.trim().is_empty() { "" } else { "," };
    let added = format!(r#"[{inner}{comma}{{"type":"text","text":{}}}]"#, json!(words));
    Some(replaced(raw, content.get(), &added))
}

/// A message whose result is larger than the agent is to get: its text is cut, and words say where the whole is.
#[must_use]
pub fn capped(raw: &str, result: &RawValue, bytes: usize, words: &str) -> Option<String> {
    let members = members(result.get())?;
    let (_, content) = members.iter().find(|(name, _)| name == "content")?;
    let Heard { text, .. } = heard(Answered::Result(result));
    let kept = tripwire_core::label::cut(&text, bytes);
    let cut = json!([{"type": "text", "text": format!("{kept}\n{words}")}]).to_string();
    let mut message = replaced(raw, content.get(), &cut);
    // What is too large in another form is left out: the text says where it is.
    let structured = members.iter().find(|(name, value)| name == "structuredContent" && value.get().len() > bytes);
    if let Some((_, value)) = structured {
        message = message.replacen(value.get(), "{}", 1);
    }
    Some(message)
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
            let Answered::Result(result) = answered else { panic!() };
            let cut = capped(&line, result, 101, "`tripwire memory get mem:1`").unwrap();
            let cut: serde_json::Value = serde_json::from_str(&cut).unwrap();
            let said = cut["result"]["content"][0]["text"].as_str().unwrap();
            assert!(said.starts_with(&"ü".repeat(50)) && !said.contains(&"ü".repeat(51)), "{said}");
            assert!(said.contains("memory get mem:1") && cut["result"]["x"] == 1, "{cut}");
        });
    }

    #[test]
    fn mcp_4_words_beside_a_result_change_no_other_byte() {
        let line = r#"{"id":1, "result": {"content" : [ {"type":"text","text":"[]"} ],"x":[]}}"#;
        answer(line, |answered| {
            let Answered::Result(result) = answered else { panic!() };
            let told = with_words(line, result, "slow down").unwrap();
            let expected = r#"{"id":1, "result": {"content" : [ {"type":"text","text":"[]"} ,{"type":"text","text":"slow down"}],"x":[]}}"#;
            assert_eq!(told, expected);
            let line = r#"{"id":1,"result":{"content":[]}}"#;
            let whole = serde_json::from_str::<std::collections::BTreeMap<String, &RawValue>>(line).unwrap();
            assert!(with_words(line, whole["result"], "x").unwrap().contains(r#"[{"type":"text","text":"x""#));
        });
    }
}
