//! YAML as a tree in which every node knows its place in the text, so that errors name lines and edits touch bytes.
//!
//! Aliases, anchors, merge keys and foreign tags are refused: a manifest that says one thing in two places cannot be
//! edited safely one value at a time.

use super::error::ManifestProblem;
use serde::de::{Deserialize, Deserializer, Error as DeError, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::MergeKeyPolicy;
use serde_saphyr::{Location, Spanned};
use std::fmt;
use std::ops::Range;

/// A value and its place in the text.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// The value.
    pub(crate) value: Value,
    /// The bytes of a scalar; for a list or mapping only its opening bracket, or nothing.
    pub(crate) span: Range<usize>,
    /// The line, from 1.
    pub(crate) line: u64,
}

/// The kinds of values. Numbers stay text: what they mean is decided by their key.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A plain number, as written.
    Number(String),
    /// Any other text, decoded.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the text.
    Map(Vec<Entry>),
}

/// One key of a mapping with its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The key, decoded.
    pub(crate) key: String,
    /// The bytes of the key.
    pub(crate) key_span: Range<usize>,
    /// The key's line, from 1.
    pub(crate) line: u64,
    /// Characters before the key in its line.
    pub(crate) indent: usize,
    /// The value.
    pub(crate) node: Node,
}

/// Reads one YAML document; the line, where known, and what is wrong come back apart.
pub(crate) fn parse(text: &str) -> Result<Node, (Option<u64>, ManifestProblem)> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 16,
            max_anchors: 0,
            max_aliases: 0,
            max_nodes: 20_000,
        },
        strict_booleans: true,
        merge_keys: MergeKeyPolicy::Error,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options).map_err(|error| explain(&error))?;
    Ok(place(text, raw))
}

/// Sorts the reader's error into ours.
fn explain(error: &serde_saphyr::Error) -> (Option<u64>, ManifestProblem) {
    let error = error.without_snippet();
    let line = error.location().map(|location| location.line()).filter(|line| *line > 0);
    let first_line = error.to_string().lines().next().unwrap_or_default().to_owned();
    if let serde_saphyr::Error::DuplicateMappingKey { key, .. } = error {
        return (line, ManifestProblem::DuplicateKey { key: key.clone().unwrap_or_default() });
    }
    if let serde_saphyr::Error::Budget { breach, .. } = error {
        return (line, ManifestProblem::Syntax { problem: refused_form(breach).to_owned() });
    }
    // The reader repeats the place in its words; ours is in front already.
    let problem = first_line.trim_start_matches("error: ");
    let problem =
        problem.split_once(": ").filter(|(place, _)| place.starts_with("line ")).map_or(problem, |(_, it)| it);
    (line, ManifestProblem::Syntax { problem: problem.to_owned() })
}

/// What a manifest may not use, in words.
const fn refused_form(breach: &BudgetBreach) -> &'static str {
    if matches!(breach, BudgetBreach::Anchors { .. }) {
        "an anchor (`&name`) is not accepted: write the value out where it is meant"
    } else if matches!(breach, BudgetBreach::Aliases { .. }) {
        "an alias (`*name`) is not accepted: write the value out where it is meant"
    } else if matches!(breach, BudgetBreach::Depth { .. }) {
        "it is nested too deeply"
    } else {
        "it is larger than a manifest may be"
    }
}

/// Turns the reader's locations into byte ranges and keeps numbers as they are written.
fn place(text: &str, raw: Spanned<Raw>) -> Node {
    let span = range(&raw.defined);
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Bool(flag) => Value::Bool(flag),
        Raw::Number => Value::Number(text.get(span.clone()).unwrap_or_default().to_owned()),
        Raw::Text(decoded) => Value::Text(decoded),
        Raw::List(items) => Value::List(items.into_iter().map(|item| place(text, item)).collect()),
        Raw::Map(entries) => Value::Map(entries.into_iter().map(|(key, node)| entry(text, key, node)).collect()),
    };
    Node { value, span, line: raw.defined.line() }
}

/// Places one key with its value.
fn entry(text: &str, key: Spanned<String>, node: Spanned<Raw>) -> Entry {
    Entry {
        key_span: range(&key.defined),
        line: key.defined.line(),
        indent: usize::try_from(key.defined.column().saturating_sub(1)).unwrap_or(usize::MAX),
        key: key.value,
        node: place(text, node),
    }
}

/// The bytes of a location.
fn range(location: &Location) -> Range<usize> {
    let number = |value: Option<u64>| usize::try_from(value.unwrap_or(0)).unwrap_or(usize::MAX);
    let start = number(location.span().byte_offset());
    start..start.saturating_add(number(location.span().byte_len()))
}

/// A value without its place: what an edit must preserve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bare {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Node {
    /// The value without places, for comparing two documents.
    pub(crate) fn bare(&self) -> Bare {
        match &self.value {
            Value::Null => Bare::Null,
            Value::Bool(flag) => Bare::Bool(*flag),
            Value::Number(text) => Bare::Number(text.clone()),
            Value::Text(text) => Bare::Text(text.clone()),
            Value::List(items) => Bare::List(items.iter().map(Self::bare).collect()),
            Value::Map(entries) => {
                Bare::Map(entries.iter().map(|entry| (entry.key.clone(), entry.node.bare())).collect())
            }
        }
    }

    /// The kind in words, for messages.
    pub(crate) const fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing (null)",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a group of keys",
        }
    }

    /// The scalar as text, if it is one.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Null => Some("null".to_owned()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(text) | Value::Text(text) => Some(text.clone()),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The keys below, if it is a mapping.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => &[],
        }
    }

    /// The node under a dotted path.
    pub(crate) fn at(&self, path: &str) -> Option<&Self> {
        path.split('.')
            .try_fold(self, |node, key| node.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node))
    }
}

/// The value as the reader hands it over.
enum Raw {
    Null,
    Bool(bool),
    Number,
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

/// Accepts every kind of YAML value.
struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: DeError>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E: DeError>(self, flag: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(flag))
    }

    fn visit_i64<E: DeError>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u64<E: DeError>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_i128<E: DeError>(self, _: i128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u128<E: DeError>(self, _: u128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_f64<E: DeError>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_str<E: DeError>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}
