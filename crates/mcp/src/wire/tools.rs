//! A page of a server's list of tools, and the digest of each tool: what is pinned.

use super::message::members;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write as _;
use tripwire_core::record::chain::Digest;

/// Tools that are looked at in one page; a longer list is not shown to the client.
const PAGE_MAX: usize = 10_000;

/// One tool of a list.
#[derive(Debug, Clone)]
pub struct ListedTool<'a> {
    /// Its name.
    pub name: String,
    /// The tool as it was written.
    pub raw: &'a str,
    /// All that says what it is: name, descriptions, schemas, annotations, in one form whatever their order.
    pub canonical: String,
}

impl ListedTool<'_> {
    /// The digest of all that says what it is.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.canonical.as_bytes())
    }
}

/// One page of a list.
#[derive(Debug)]
pub struct ToolPage<'a> {
    /// Its tools, in their order.
    pub tools: Vec<ListedTool<'a>>,
    /// The whole of the list as it was written.
    list: &'a str,
    /// Whether more pages follow.
    pub is_last: bool,
}

impl<'a> ToolPage<'a> {
    /// Reads the result of `tools/list`; nothing if it is none, or has more tools than anybody reads.
    #[must_use]
    pub fn read(result: &'a RawValue) -> Option<Self> {
        let members = members(result.get())?;
        let get = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, value)| value.get());
        let list = get("tools")?;
        let parts: Vec<&RawValue> = serde_json::from_str(list).ok()?;
        if parts.len() > PAGE_MAX {
            return None;
        }
        let tools = parts.into_iter().map(|part| listed(part.get())).collect::<Option<_>>()?;
        let is_last = get("nextCursor").is_none_or(|cursor| matches!(cursor, "null" | "\"\""));
        Some(Self { tools, list, is_last })
    }

    /// The message with only the tools that are `shown`; every other byte stays.
    #[must_use]
    pub fn with_only(&self, message: &str, shown: impl Fn(&ListedTool<'_>) -> bool) -> String {
        let kept: Vec<&str> = self.tools.iter().filter(|tool| shown(tool)).map(|tool| tool.raw).collect();
        super::result::replaced(message, self.list, &format!("[{}]", kept.join(",")))
    }
}

fn listed(raw: &str) -> Option<ListedTool<'_>> {
    let mut value: Value = serde_json::from_str(raw).ok()?;
    let fields = value.as_object_mut()?;
    // What a server notes about one answer says nothing about the tool.
    fields.remove("_meta");
    let name = fields.get("name")?.as_str()?.to_owned();
    let mut canonical = String::new();
    write_sorted(&value, &mut canonical);
    Some(ListedTool { name, raw, canonical })
}

/// One form for one value: names in their order, no blanks.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            out.push('{');
            for (n, name) in names.into_iter().enumerate() {
                let comma = if n > 0 { "," } else { "" };
                // A text that cannot be written to a string does not exist.
                write!(out, "{comma}{}:", Value::String(name.clone())).unwrap_or_default();
                write_sorted(fields.get(name).unwrap_or(&Value::Null), out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write_sorted(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            write!(out, "{value}").unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn mcp_2_a_tools_digest_is_that_of_its_meaning_and_not_of_its_order() {
        let one =
            raw(r#"{"tools":[{"name":"a","description":"x","inputSchema":{"type":"object","p":1}}],"nextCursor":"n"}"#);
        let other = raw(
            r#"{"tools":[ {"inputSchema":{"p":1, "type":"object"},"_meta":{"n":7},"description":"\u0078","name":"a"} ]}"#,
        );
        let changed = raw(r#"{"tools":[{"name":"a","description":"x","inputSchema":{"type":"object","p":2}}]}"#);
        let digest = |raw: &RawValue| ToolPage::read(raw).unwrap().tools[0].digest();
        assert_eq!(digest(&one), digest(&other));
        assert_ne!(digest(&one), digest(&changed));
        assert!(!ToolPage::read(&one).unwrap().is_last && ToolPage::read(&other).unwrap().is_last);
        assert!(ToolPage::read(&raw(r#"{"tools":[{}]}"#)).is_none() && ToolPage::read(&raw("{}")).is_none());
    }

    #[test]
    fn mcp_2_a_list_without_a_tool_keeps_every_other_byte() {
        let message = r#"{"id":1, "result":{"tools" : [ {"name":"a"}, {"name":"b", "x":[1]} ],"nextCursor":"[]"}}"#;
        let whole: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(message).unwrap();
        let page = ToolPage::read(whole["result"]).unwrap();
        let shown = page.with_only(message, |tool| tool.name == "b");
        assert_eq!(shown, r#"{"id":1, "result":{"tools" : [{"name":"b", "x":[1]}],"nextCursor":"[]"}}"#);
    }
}
