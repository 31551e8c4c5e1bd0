//! Sets single values in a YAML text and leaves every other byte as a person wrote it.
//!
//! The text is never printed from a tree. An edit replaces the bytes of one value, or adds one line, and is then
//! proved: reading the result must give exactly the old document with this one value changed. Otherwise the edit is
//! refused and the text stays as it was.

use super::manifest::ManifestProblem;
use super::manifest::tree::{self, Bare, Entry, Node, Value};
use std::borrow::Cow;
use std::ops::Range;
use tripwire_core::explain::Explain;

/// A value that may be written. The variants are the only shapes that the runtime needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Number(u64),
    /// A text, written in double quotes.
    Text(String),
    /// A short list of texts, written on one line.
    Texts(Vec<String>),
}

/// One value to set, by its dotted path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The dotted path, for instance `safety.iteration_count`.
    pub path: &'static str,
    /// The new value.
    pub value: NewValue,
}

impl Edit {
    /// An edit of one path.
    #[must_use]
    pub const fn new(path: &'static str, value: NewValue) -> Self {
        Self { path, value }
    }
}

/// Why a text was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text cannot be read as it is.
    #[error("line {}: {problem}", line.map_or_else(|| "unknown".to_owned(), |line| line.to_string()))]
    Unreadable {
        /// The line to blame, where known.
        line: Option<u64>,
        /// What is wrong.
        problem: ManifestProblem,
    },
    /// Something is under the path that a single value must not replace.
    #[error("`{path}` on line {line} holds {found}, which a single value must not replace")]
    NotAValue {
        /// The path.
        path: &'static str,
        /// Its line.
        line: u64,
        /// What is there.
        found: &'static str,
    },
    /// The key is missing and its section is written in one line, where adding is not safe.
    #[error("`{path}` is missing and line {line} leaves no room to add it")]
    NoRoom {
        /// The path.
        path: &'static str,
        /// The line of the section.
        line: u64,
    },
    /// The edited text would not read back as wanted.
    #[error("setting `{path}` would change more than this one value")]
    NotExact {
        /// The path.
        path: &'static str,
    },
}

impl Explain for EditError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unreadable { .. } => "fix that line, then run the command again".into(),
            Self::NotAValue { path, .. } | Self::NotExact { path } => {
                format!("write `{path}` as one plain value on its own line, then run the command again").into()
            }
            Self::NoRoom { path, .. } => format!("add `{path}` by hand as a line of its own").into(),
        }
    }
}

/// Sets the values one after the other; either all are set or the error leaves the caller's text untouched.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    edits.iter().try_fold(text.to_owned(), |text, edit| apply_one(&text, edit))
}

/// Sets one value and proves it.
fn apply_one(text: &str, edit: &Edit) -> Result<String, EditError> {
    let root = parse(text)?;
    let mut wanted = root.bare();
    set(&mut wanted, edit.path, bare(&edit.value));
    if wanted == root.bare() {
        return Ok(text.to_owned());
    }
    let Splice { range, new } = splice(text, &root, edit)?;
    let mut edited = String::with_capacity(text.len().saturating_add(new.len()));
    for part in [text.get(..range.start), Some(new.as_str()), text.get(range.end..)] {
        edited.push_str(part.ok_or(EditError::NotExact { path: edit.path })?);
    }
    // INVARIANT: a text leaves this function only if it reads back as the old document with this one value changed.
    match parse(&edited) {
        Ok(reread) if reread.bare() == wanted => Ok(edited),
        Ok(_) | Err(_) => Err(EditError::NotExact { path: edit.path }),
    }
}

/// Reads a text into its tree.
fn parse(text: &str) -> Result<Node, EditError> {
    tree::parse(text).map_err(|(line, problem)| EditError::Unreadable { line, problem })
}

/// Bytes to replace and what to put there.
struct Splice {
    range: Range<usize>,
    new: String,
}

/// Finds the place of an edit: an existing value, or the end of the section that it belongs to.
fn splice(text: &str, root: &Node, edit: &Edit) -> Result<Splice, EditError> {
    let keys: Vec<&str> = edit.path.split('.').collect();
    let mut node = root;
    let mut owner: Option<&Entry> = None;
    for (depth, key) in keys.iter().enumerate() {
        match node.entries().iter().find(|entry| entry.key == *key) {
            Some(entry) => (node, owner) = (&entry.node, Some(entry)),
            None => return insert(text, InsertionPoint { node, owner }, keys.get(depth..).unwrap_or_default(), edit),
        }
    }
    owner.map_or(Err(EditError::NotExact { path: edit.path }), |entry| replace(text, entry, edit))
}

/// Replaces the value of an existing key.
fn replace(text: &str, entry: &Entry, edit: &Edit) -> Result<Splice, EditError> {
    let new = render(&edit.value);
    match &entry.node.value {
        Value::Map(_) => Err(EditError::NotAValue { path: edit.path, line: entry.line, found: entry.node.kind() }),
        Value::List(items) if items.iter().any(|item| item.scalar().is_none()) => {
            Err(EditError::NotAValue { path: edit.path, line: entry.line, found: "a list of groups" })
        }
        Value::List(items) => replace_list(text, entry, items, &new).ok_or(EditError::NotExact { path: edit.path }),
        Value::Null if entry.node.span.is_empty() => {
            let at = after_colon(text, entry).ok_or(EditError::NotExact { path: edit.path })?;
            Ok(Splice { range: at..at, new: format!(" {new}") })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            Ok(Splice { range: entry.node.span.clone(), new })
        }
    }
}

/// Replaces a whole list by one line; comments that stood inside follow on lines of their own.
fn replace_list(text: &str, entry: &Entry, items: &[Node], new: &str) -> Option<Splice> {
    let spans: Vec<Range<usize>> = items.iter().map(|item| item.span.clone()).collect();
    if text.get(entry.node.span.clone())? == "[" {
        let start = entry.node.span.start;
        let last = spans.last().map_or(start.checked_add(1)?, |span| span.end);
        let end = closing_bracket(text, last)?;
        let comments = comments_between(text, start..end, &spans)?;
        let line_end = line_end(text, end);
        let tail = text.get(end..line_end)?;
        return Some(Splice {
            range: start..line_end,
            new: format!("{new}{tail}{}", own_lines(text, entry, &comments)),
        });
    }
    let start = after_colon(text, entry)?;
    let end = spans.last().map_or(start, |span| span.end);
    let line_end = line_end(text, trim_line_break(text, end));
    let head_end = self::line_end(text, start);
    let head = text.get(start..head_end)?;
    let comments = comments_between(text, head_end..line_end, &spans)?;
    Some(Splice { range: start..line_end, new: format!(" {new}{head}{}", own_lines(text, entry, &comments)) })
}

/// Every comment of a range that lies outside the given scalars.
fn comments_between(text: &str, range: Range<usize>, scalars: &[Range<usize>]) -> Option<Vec<String>> {
    let mut comments = Vec::new();
    let mut at = range.start;
    while at < range.end {
        if let Some(scalar) = scalars.iter().find(|scalar| scalar.start == at && !scalar.is_empty()) {
            at = scalar.end;
        } else if text.get(at..)?.starts_with('#') {
            let end = line_end(text, at).min(range.end);
            comments.push(text.get(at..end)?.trim_end().to_owned());
            at = end;
        } else {
            at = at.checked_add(text.get(at..)?.chars().next()?.len_utf8())?;
        }
    }
    Some(comments)
}

/// Comments as lines below their key, indented one step deeper.
fn own_lines(text: &str, entry: &Entry, comments: &[String]) -> String {
    let indent = " ".repeat(entry.indent.saturating_add(INDENT));
    comments.iter().map(|comment| format!("{}{indent}{comment}", line_break(text))).collect()
}

/// The place behind the `]` that closes a one-line or many-line list, from the end of its last item on.
fn closing_bracket(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        let next = rest.chars().next()?;
        if next == ']' {
            return at.checked_add(1);
        }
        at = if next == '#' { line_end(text, at) } else { at.checked_add(next.len_utf8())? };
        if !(next.is_whitespace() || next == ',' || next == '#') {
            return None;
        }
    }
}

/// Where a missing key belongs: the section, and the entry that the section is the value of; none for the root.
#[derive(Clone, Copy)]
struct InsertionPoint<'a> {
    node: &'a Node,
    owner: Option<&'a Entry>,
}

/// Adds a missing key, and the sections above it that are missing too, behind the last line of where it belongs.
fn insert(text: &str, place: InsertionPoint<'_>, keys: &[&str], edit: &Edit) -> Result<Splice, EditError> {
    let InsertionPoint { node, owner } = place;
    let no_room = || EditError::NoRoom { path: edit.path, line: owner.map_or(node.line, |entry| entry.line) };
    let (indent, at) = match (&node.value, owner) {
        (Value::Map(entries), _) => {
            let first = entries.first().ok_or_else(no_room)?;
            let in_one_line = text.get(node.span.clone()).is_some_and(|bracket| bracket.starts_with('{'));
            let last = entries.last().filter(|_| !in_one_line).ok_or_else(no_room)?;
            (first.indent, end_of(text, last).ok_or_else(no_room)?)
        }
        (Value::Null, None) => (0, text.len()),
        (Value::Null, Some(entry)) if node.span.is_empty() => (entry.indent.saturating_add(INDENT), entry.key_span.end),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_), _) => return Err(no_room()),
    };
    let (at, mut new) = (next_line(text, at), String::new());
    let fresh_line = at == 0 || text.get(..at).is_some_and(|before| before.ends_with('\n'));
    if !fresh_line {
        new.push_str(line_break(text));
    }
    for (depth, key) in keys.iter().enumerate() {
        let last = depth.saturating_add(1) == keys.len();
        let value = if last { format!(" {}", render(&edit.value)) } else { String::new() };
        let indent = " ".repeat(indent.saturating_add(depth.saturating_mul(INDENT)));
        new.push_str(&format!("{indent}{key}:{value}{}", line_break(text)));
    }
    Ok(Splice { range: at..at, new })
}

/// The last byte that belongs to an entry and everything below it.
fn end_of(text: &str, entry: &Entry) -> Option<usize> {
    let own = entry.key_span.end.max(entry.node.span.end);
    match &entry.node.value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Some(trim_line_break(text, own)),
        Value::List(items) => {
            let last = items.iter().map(|item| item.span.end).max().unwrap_or(own).max(own);
            let bracket = text.get(entry.node.span.clone()).is_some_and(|bracket| bracket == "[");
            if bracket { closing_bracket(text, last) } else { Some(trim_line_break(text, last)) }
        }
        Value::Map(entries) => {
            entries.iter().map(|below| end_of(text, below)).try_fold(own, |end, it| Some(end.max(it?)))
        }
    }
}

/// The place right behind the colon of a key.
fn after_colon(text: &str, entry: &Entry) -> Option<usize> {
    let rest = text.get(entry.key_span.end..)?;
    let spaces = rest.len().checked_sub(rest.trim_start_matches([' ', '\t']).len())?;
    let at = entry.key_span.end.checked_add(spaces)?;
    text.get(at..)?.starts_with(':').then(|| at.saturating_add(1))
}

/// The end of the line that holds a place, before its line break.
fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    at.saturating_add(line.trim_end_matches('\r').len())
}

/// The start of the line below a place, or the end of the text.
fn next_line(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |length| at.saturating_add(length).saturating_add(1))
}

/// Steps back over line breaks that a many-line scalar counts as its own.
fn trim_line_break(text: &str, at: usize) -> usize {
    text.get(..at).map_or(at, |before| before.trim_end_matches(['\n', '\r']).len())
}

/// The kind of line break that the text uses.
fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A value as it is written into the text.
fn render(value: &NewValue) -> String {
    match value {
        NewValue::Null => "null".to_owned(),
        NewValue::Bool(flag) => flag.to_string(),
        NewValue::Number(number) => number.to_string(),
        NewValue::Text(text) => quote(text),
        NewValue::Texts(texts) => {
            format!("[{}]", texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text in double quotes, with everything escaped that YAML does not print as itself.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            ' '..='~' | '\u{a1}'..='\u{1fff}' | '\u{3001}'..='\u{d7ff}' => quoted.push(char),
            other => quoted.push_str(&format!("\\U{:08x}", u32::from(other))),
        }
    }
    quoted.push('"');
    quoted
}

/// The tree's form of a new value.
fn bare(value: &NewValue) -> Bare {
    match value {
        NewValue::Null => Bare::Null,
        NewValue::Bool(flag) => Bare::Bool(*flag),
        NewValue::Number(number) => Bare::Number(number.to_string()),
        NewValue::Text(text) => Bare::Text(text.clone()),
        NewValue::Texts(texts) => Bare::List(texts.iter().cloned().map(Bare::Text).collect()),
    }
}

/// Sets a value in the bare document; missing sections are added at the end of theirs, as [`insert`] does.
fn set(document: &mut Bare, path: &str, value: Bare) {
    let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    if !matches!(document, Bare::Map(_)) {
        *document = Bare::Map(Vec::new());
    }
    let Bare::Map(entries) = document else { return };
    let at = entries.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
        entries.push((key.to_owned(), Bare::Null));
        entries.len().saturating_sub(1)
    });
    if let Some((_, below)) = entries.get_mut(at) {
        match rest {
            Some(rest) => set(below, rest, value),
            None => *below = value,
        }
    }
}

/// Spaces per level in what is added.
const INDENT: usize = 2;

#[cfg(test)]
mod tests;
