//! The arguments of a call: read once, written in one canonical form, and asked for the few fields that matter here.

use super::json::Json;
use super::normal::normal_text;
use super::tools::ToolKind;
use super::volatile::Volatility;
use alloc::borrow::{Cow, ToOwned as _};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The canonical form of "no arguments", in whichever way a client spells it.
const NOTHING: &str = "{}";
/// The canonical form of arguments that name something and say nothing, such as `{"": ""}`.
const MISSPELT: &str = "null";

/// Room for the canonical form of most arguments.
const CANONICAL_BYTES: usize = 512;

/// Arguments as JSON, or as the plain text they are.
#[derive(Debug)]
pub(super) enum Arguments<'a> {
    /// Parsed JSON, an object in nearly all clients.
    Json(Json<'a>),
    /// Anything else.
    Plain(Cow<'a, str>),
}

impl<'a> Arguments<'a> {
    /// Reads the arguments; a JSON string is the plain text inside it.
    pub(super) fn read(text: &'a str) -> Self {
        let text = text.trim();
        match text.starts_with(['{', '[', '"', 'n']).then(|| Json::parse(text)).flatten() {
            Some(Json::Text(inner)) => Self::Plain(inner),
            // Clients spell a missing argument in many empty ways; all of them are the same call. It is not the call that spells
            // it right, which may be the very repair of the other: nothing that is said of one holds for the other.
            Some(json) if json.is_nothing() && !json.is_empty() => Self::Json(Json::Bare(MISSPELT)),
            Some(json) => Self::Json(json.without_nothing().unwrap_or(Json::Object(Vec::new()))),
            None => Self::Plain(Cow::Borrowed(text)),
        }
    }

    /// The arguments without those that do not change what the tool does; all of them, if nothing else is there.
    pub(super) fn without(self, idle: &[&str]) -> Self {
        match self {
            Self::Json(Json::Object(mut fields)) if fields.iter().any(|(name, _)| !idle.contains(&name.as_ref())) => {
                fields.retain(|(name, _)| !idle.contains(&name.as_ref()));
                Self::Json(Json::Object(fields))
            }
            Self::Json(_) | Self::Plain(_) => self,
        }
    }

    /// Makes one blank of each run of them in a command line of one line, outside quotes.
    pub(super) fn squeeze_command(&mut self) {
        match self {
            Self::Json(Json::Object(fields)) => {
                for (name, value) in fields.iter_mut() {
                    if let Json::Text(text) = value
                        && COMMAND_NAMES.contains(&name.as_ref())
                        && let Some(squeezed) = squeezed(text)
                    {
                        *text = Cow::Owned(squeezed);
                    }
                }
            }
            Self::Plain(text) => {
                if let Some(squeezed) = squeezed(text) {
                    *text = Cow::Owned(squeezed);
                }
            }
            Self::Json(Json::Bare(_) | Json::Text(_) | Json::List(_)) => {}
        }
    }

    /// The canonical text: sorted keys, volatile parts stripped, everything else kept.
    pub(super) fn canonical(&self) -> String {
        match self {
            Self::Json(Json::Bare(MISSPELT)) => MISSPELT.to_owned(),
            Self::Json(json) if json.is_nothing() => NOTHING.to_owned(),
            Self::Json(json) => {
                let mut out = String::with_capacity(CANONICAL_BYTES);
                json.write(&mut out, normal_argument);
                out
            }
            Self::Plain(text) if text.trim().is_empty() => NOTHING.to_owned(),
            Self::Plain(text) => normal_argument(text.trim()).into_owned(),
        }
    }

    /// All texts and numbers among the arguments.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Json(json) => {
                let mut texts = Vec::new();
                json.texts(&mut texts);
                texts
            }
            Self::Plain(text) => alloc::vec![text.as_ref()],
        }
    }

    /// The first of the named fields that holds a text or a list of texts.
    pub(super) fn field(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        match self {
            Self::Json(json) => names.iter().find_map(|name| words(json.get(name)?)),
            Self::Plain(text) => plain_field(text, names),
        }
    }

    /// Whether one of the named fields holds a text or a number; a switch and a zero say nothing.
    pub(super) fn is_given(&self, names: &[&str]) -> bool {
        let is_number = |bare: &str| bare.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
        let holds = |json: &Json<'_>| matches!(json, Json::Bare(bare) if is_number(bare));
        let number = match self {
            Self::Json(json) => names.iter().filter_map(|name| json.get(name)).any(holds),
            Self::Plain(_) => false,
        };
        number || self.field(names).is_some_and(|text| !matches!(text.trim(), "" | "0" | "false" | "no"))
    }

    /// Whether one of the named switches is on.
    pub(super) fn is_on(&self, names: &[&str]) -> bool {
        match self {
            Self::Json(json) => {
                names.iter().filter_map(|name| json.get(name)).any(|json| matches!(json, Json::Bare("true")))
            }
            Self::Plain(_) => false,
        }
    }

    /// The plain text, where there are no fields.
    pub(super) fn plain(&self) -> Option<&str> {
        match self {
            Self::Json(_) => None,
            Self::Plain(text) => Some(text.trim()),
        }
    }

    /// The command line of a shell call, out of the wrapper (`bash -lc …`) in which a list may hold it.
    pub(super) fn command(&self) -> Option<Cow<'_, str>> {
        if let Self::Json(Json::List(items)) = self {
            return list_command(items).map(Cow::Owned);
        }
        self.field(&COMMAND_NAMES).or_else(|| self.plain().map(Cow::Borrowed))
    }

    /// The path a call aims at.
    pub(super) fn path(&self) -> Option<Cow<'_, str>> {
        /// Under these names clients hand over a path.
        const NAMES: [&str; 13] = [
            "file_path",
            "file",
            "path",
            "filename",
            "notebook_path",
            "absolute_path",
            "target_file",
            "filepath",
            "filePath",
            "relative_path",
            "dir_path",
            "directory",
            "file_name",
        ];
        let path = self.field(&NAMES).filter(|path| !path.trim().is_empty() && !path.contains('\n'));
        path.or_else(|| self.patched())
    }

    /// The first file of a patch in the `*** Update File: …` form.
    fn patched(&self) -> Option<Cow<'_, str>> {
        let patch = self
            .field(&["input", "patch", "patch_text", "command", "cmd"])
            .or_else(|| self.plain().map(Cow::Borrowed))?;
        patched_file(&patch).map(|path| Cow::Owned(path.to_owned()))
    }
}

/// What of a call's arguments is asked for again and again, found once.
#[derive(Debug)]
pub(super) struct CallParts<'c> {
    /// All of them.
    pub(super) arguments: &'c Arguments<'c>,
    /// The command line.
    pub(super) command: Option<Cow<'c, str>>,
    /// The path that it aims at; a command line has none of its own.
    pub(super) path: Option<Cow<'c, str>>,
}

impl<'c> CallParts<'c> {
    /// Finds the parts of a call of a tool of this kind.
    pub(super) fn of(kind: ToolKind, arguments: &'c Arguments<'c>) -> Self {
        let command = arguments.command();
        let is_line = kind == ToolKind::Shell && command.is_some();
        Self { arguments, path: if is_line { None } else { arguments.path() }, command }
    }
}

fn normal_argument(text: &str) -> Cow<'_, str> {
    normal_text(text, Volatility::Arguments)
}

/// Under these names clients hand over a command line.
const COMMAND_NAMES: [&str; 7] = ["command", "cmd", "commands", "script", "input", "code", "CommandLine"];

/// A command line with one blank for each run of them; none if nothing changes or if blanks may mean something.
fn squeezed(command: &str) -> Option<String> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let trimmed = command.trim();
    let doubled = trimmed.as_bytes().windows(2).any(|pair| pair.iter().all(blank)) || trimmed.contains('\t');
    if !doubled || trimmed.contains('\n') {
        return (trimmed.len() < command.len()).then(|| trimmed.to_owned());
    }
    let mut out = String::with_capacity(trimmed.len());
    let mut quote = None;
    let mut escaped = false;
    for letter in trimmed.chars() {
        if quote.is_none() && !escaped && matches!(letter, ' ' | '\t') {
            if !out.ends_with(' ') {
                out.push(' ');
            }
            continue;
        }
        match quote {
            Some(open) if open == letter && !escaped => quote = None,
            None if matches!(letter, '\'' | '"' | '`') && !escaped => quote = Some(letter),
            Some(_) | None => {}
        }
        escaped = letter == '\\' && !escaped && quote != Some('\'');
        out.push(letter);
    }
    Some(out)
}

/// Every file that a patch names; the facts of an event keep only the first.
pub(super) fn patched(text: &str) -> impl Iterator<Item = &str> {
    const MARKS: [&str; 5] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ", "+++ b/"];
    text.lines().filter_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark))).map(str::trim)
}

/// The first file that a patch names.
pub(super) fn patched_file(patch: &str) -> Option<&str> {
    const HEADS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/"];
    patch.lines().find_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head))).map(str::trim)
}

/// A text, or a list of texts as one command line.
fn words<'j>(json: &'j Json<'_>) -> Option<Cow<'j, str>> {
    match json {
        Json::Text(text) => Some(Cow::Borrowed(text)),
        Json::List(items) => list_command(items).map(Cow::Owned),
        Json::Bare(_) | Json::Object(_) => None,
    }
}

/// A list of words as one command line, out of the shell that it may start.
pub(super) fn list_command(items: &[Json<'_>]) -> Option<String> {
    let words = items.iter().map(|item| match item {
        Json::Text(text) => Some(text.as_ref()),
        Json::Bare(bare) => Some(*bare),
        Json::List(_) | Json::Object(_) => None,
    });
    let words: Vec<&str> = words.collect::<Option<_>>()?;
    match words.as_slice() {
        [] => None,
        [shell, flag, script] if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => {
            Some((*script).to_owned())
        }
        all => Some(all.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// Whether a word names a shell.
pub(super) fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash" | "ksh" | "fish"))
}

/// A word of a list as it would be typed.
pub(super) fn quoted(word: &str) -> Cow<'_, str> {
    let safe =
        |c: char| !c.is_ascii_whitespace() && !matches!(c, '\'' | '"' | '\\' | ';' | '|' | '&' | '<' | '>' | '(' | ')');
    if !word.is_empty() && word.chars().all(safe) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
}

/// `name: value` at the start of a line, with its indented continuation lines, as some clients print arguments.
fn plain_field<'t>(text: &'t str, names: &[&str]) -> Option<Cow<'t, str>> {
    /// No name is longer.
    const NAME_BYTES_MAX: usize = 24;
    let mut best: Option<(usize, &str, core::str::Lines<'t>)> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let colon = line.as_bytes().iter().take(NAME_BYTES_MAX).position(|byte| *byte == b':');
        let Some((name, value)) = colon.and_then(|at| line.split_at_checked(at)) else { continue };
        let Some(place) = names.iter().position(|known| *known == name) else { continue };
        // The first of the names counts, and of its lines the first.
        if best.as_ref().is_none_or(|(before, _, _)| place < *before) {
            best = Some((place, value, lines.clone()));
        }
    }
    let (_, first, lines) = best?;
    let first = first.strip_prefix(':').unwrap_or(first).trim();
    let mut value = Cow::Borrowed(first);
    for line in lines.take_while(|line| line.starts_with("  ")) {
        value.to_mut().push(' ');
        value.to_mut().push_str(line.trim());
    }
    let inner = value.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    match inner.map(str::to_owned) {
        Some(inner) => Some(Cow::Owned(inner)),
        None => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Arguments::read(text).canonical()
    }

    #[test]
    fn every_spelling_of_no_arguments_is_the_same() {
        for text in ["", "  ", "null", "{}", "[]", "\"\""] {
            assert_eq!(canonical(text), NOTHING, "{text}");
        }
        for text in [
            "{\"\":\"\"}",
            "{\"\":{}}",
            "{\"\": {\"\": null}}",
            "{\"a\":\"\"}",
            "{\"arguments\":{}}",
            "{\"\": \"\", \"arguments\": {}}",
        ] {
            assert_eq!(canonical(text), MISSPELT, "{text}");
        }
        for text in ["0", "false", "{\"\":\"x\"}", "x", "{\"a\":0}", "[\"\",1]"] {
            assert_ne!(canonical(text), NOTHING, "{text}");
        }
    }

    #[test]
    fn the_order_of_keys_and_spaces_mean_nothing_and_values_mean_all() {
        assert_eq!(canonical("{\"b\":1, \"a\":\"x\"}"), canonical("{\"a\":\"x\",\"b\":1}"));
        assert_ne!(canonical("{\"a\":\"x\",\"b\":1}"), canonical("{\"a\":\"x\",\"b\":2}"));
        assert_ne!(canonical("{\"d\":\"2026-01-31\"}"), canonical("{\"d\":\"2026-02-01\"}"));
        assert_eq!(canonical(" ls "), canonical("\"ls\""));
    }

    #[test]
    fn temporary_names_in_arguments_are_stripped() {
        let call = |name: &str| canonical(&format!("{{\"command\":\"python /tmp/{name}/run.py\"}}"));
        assert_eq!(call("tmpab12cd34"), call("tmpzz99yy88"));
        assert_ne!(call("repro"), call("fix"));
    }

    #[test]
    fn the_command_is_found_in_every_clients_form() {
        let command = |text: &str| Arguments::read(text).command().map(Cow::into_owned);
        for text in [
            "{\"command\":\"ls -l\"}",
            "{\"cmd\":\"ls -l\"}",
            "{\"command\":[\"bash\",\"-lc\",\"ls -l\"]}",
            "{\"command\":[\"ls\",\"-l\"]}",
            "[\"ls\",\"-l\"]",
            "ls -l",
            "command: ls\n  -l\ntimeout: 5",
        ] {
            assert_eq!(command(text).as_deref(), Some("ls -l"), "{text}");
        }
        assert_eq!(command("[\"grep\",\"a b\"]").as_deref(), Some("grep 'a b'"));
        assert_eq!(command("{\"description\":\"x\"}"), None);
    }

    #[test]
    fn the_path_is_found_in_every_clients_form() {
        let path = |text: &str| Arguments::read(text).path().map(Cow::into_owned);
        for text in [
            "{\"file_path\":\"src/a.rs\"}",
            "{\"path\":\"src/a.rs\",\"x\":1}",
            "file_path: src/a.rs\nfind: b",
            "*** Begin Patch\n*** Update File: src/a.rs\n@@",
            "{\"input\":\"*** Begin Patch\\n*** Add File: src/a.rs\\n\"}",
        ] {
            assert_eq!(path(text).as_deref(), Some("src/a.rs"), "{text}");
        }
        assert_eq!(path("{\"query\":\"src/a.rs\"}"), None);
        assert_eq!(path("just words"), None);
    }
}
