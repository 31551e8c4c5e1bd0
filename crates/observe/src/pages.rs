//! Which number of a call names a page: calls that differ in it alone turn the pages of one and the same list.
//!
//! A number in a name, an id or a line of code is another thing each time, and equal answers to it are no pages past the end.

use super::arguments::Arguments;
use super::json::Json;
use super::lines::plain;
use super::normal::mask_digits;
use alloc::borrow::Cow;
use alloc::string::String;

/// Arguments that say where in something to look; small letters without `_` and `-`.
const PAGE_NAMES: [&str; 28] = [
    "page",
    "pages",
    "pagenumber",
    "pagenum",
    "pageno",
    "pageindex",
    "p",
    "offset",
    "skip",
    "start",
    "startline",
    "startindex",
    "startat",
    "startfrom",
    "from",
    "fromline",
    "end",
    "endline",
    "endindex",
    "line",
    "linenumber",
    "linestart",
    "viewrange",
    "linerange",
    "range",
    "cursor",
    "chunk",
    "chunkindex",
];

/// What stands before the number of a page in an address.
const IN_ADDRESS: [&str; 7] = ["page=", "p=", "offset=", "start=", "skip=", "from=", "/page/"];

/// The arguments with the numbers of pages masked; nothing if they name no page. Of a command that only reads, the numbers that
/// stand by themselves count: `sed -n 1,20p`, `head -n 40`; not those in the name of a file.
pub(super) fn shape(arguments: &Arguments<'_>, canonical: &str, command: CommandWork) -> Option<String> {
    let masked = |text: &[u8]| String::from_utf8(mask_digits(text)).ok();
    match (arguments, command) {
        (_, CommandWork::Reads) => masked_lines(canonical),
        (_, CommandWork::Other) => None,
        (Arguments::Plain(text), CommandWork::None) => masked_address(text),
        (Arguments::Json(Json::Object(fields)), CommandWork::None) => {
            let (mut out, mut found) = (String::new(), false);
            for (name, value) in fields {
                let mut text = String::new();
                value.write(&mut text, |text| Cow::Borrowed(text));
                let page = PAGE_NAMES.contains(&plain(name).as_str()).then(|| masked(text.as_bytes())).flatten();
                let page = page.filter(|page| *page != text).or_else(|| masked_address(&text));
                found |= page.is_some();
                out.push_str(name);
                out.push('=');
                out.push_str(page.as_deref().unwrap_or(&text));
                out.push('\n');
            }
            found.then_some(out)
        }
        (Arguments::Json(Json::Bare(_) | Json::Text(_) | Json::List(_)), CommandWork::None) => None,
    }
}

/// What a call's command line is for, as far as its numbers are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandWork {
    /// It has none.
    None,
    /// It reads or searches.
    Reads,
    /// It does something else, or nobody knows.
    Other,
}

/// A command with the numbers of lines masked, if it has any.
fn masked_lines(command: &str) -> Option<String> {
    let (mut out, mut found) = (String::with_capacity(command.len()), false);
    for word in command.split_inclusive([' ', '"', '\'', ';', '|', '&', '\n']) {
        match String::from_utf8(mask_digits(word.as_bytes())).ok().filter(|_| counts_lines(word)) {
            Some(masked) => {
                found |= masked != word;
                out.push_str(&masked);
            }
            None => match masked_address(word) {
                Some(masked) => {
                    found = true;
                    out.push_str(&masked);
                }
                None => out.push_str(word),
            },
        }
    }
    found.then_some(out)
}

/// Whether a word of a command line is nothing but numbers of lines: `40`, `1,20p`, `+100`, `-n40`, `--lines=40`.
fn counts_lines(word: &str) -> bool {
    let word = word.trim_end_matches([' ', '"', '\'', ';', '|', '&', '\n']);
    let number = ["--lines=", "--bytes=", "-n", "-c"].iter().find_map(|mark| word.strip_prefix(mark)).unwrap_or(word);
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b',' | b'+' | b'-' | b'$' | b'p' | b'q');
    number.bytes().all(is_part)
}

/// An address with the number of its page masked, if it has one.
fn masked_address(text: &str) -> Option<String> {
    if !text.contains("://") {
        return None;
    }
    let (head, tail) = IN_ADDRESS.iter().find_map(|mark| {
        let at = text.find(mark)?.checked_add(mark.len())?;
        let before = text.get(..at)?.strip_suffix(mark)?.bytes().next_back();
        // `&p=3` is a page, `&step=3` is none.
        let alone = mark.starts_with('/') || matches!(before, Some(b'?' | b'&' | b'#'));
        text.split_at_checked(at).filter(|(_, tail)| alone && tail.starts_with(|c: char| c.is_ascii_digit()))
    })?;
    let rest = tail.trim_start_matches(|c: char| c.is_ascii_digit());
    Some([head, "#", rest].concat())
}

#[cfg(test)]
mod tests {
    use crate::{RawCall, observe};
    use tripwire_core::label::Label;

    fn shape_of(tool: &str, args: &str) -> Option<Label> {
        let action = observe(&RawCall { tool, args, ..RawCall::default() }).action;
        action.args_shape.filter(|shape| Some(shape) != action.args_digest.as_ref())
    }

    #[test]
    fn loop_2_paging_numbers_of_pages_are_one_shape() {
        for (tool, one, other) in [
            ("list_orders", r#"{"page":7}"#, r#"{"page":8}"#),
            ("Read", r#"{"file_path":"a.rs","offset":100}"#, r#"{"file_path":"a.rs","offset":200}"#),
            ("view", r#"{"path":"a.rs","view_range":[1,50]}"#, r#"{"path":"a.rs","view_range":[51,100]}"#),
            ("visit", r#"{"url":"https://x.example/l?q=a&page=2"}"#, r#"{"url":"https://x.example/l?q=a&page=3"}"#),
            ("Bash", r#"{"command":"sed -n 1,20p a.rs"}"#, r#"{"command":"sed -n 21,40p a.rs"}"#),
            ("Bash", r#"{"command":"sed -n '1,20p' a1.rs"}"#, r#"{"command":"sed -n '21,40p' a1.rs"}"#),
            ("Bash", r#"{"command":"tail -n +100 log | head -40"}"#, r#"{"command":"tail -n +140 log | head -40"}"#),
            (
                "Bash",
                r#"{"command":"curl 'https://x.example/l?page=2'"}"#,
                r#"{"command":"curl 'https://x.example/l?page=3'"}"#,
            ),
        ] {
            let shape = shape_of(tool, one);
            assert!(shape.is_some() && shape == shape_of(tool, other), "{tool} {one}");
        }
        assert_ne!(
            shape_of("list_orders", r#"{"page":7,"of":"a"}"#),
            shape_of("list_orders", r#"{"page":8,"of":"b"}"#)
        );
    }

    #[test]
    fn loop_2_paging_other_numbers_are_no_pages() {
        for (tool, args) in [
            ("close_ticket", r#"{"id":101}"#),
            ("repl", r#"{"code":"x1 = f(1)"}"#),
            ("Bash", r#"{"command":"mkdir part1"}"#),
            ("Grep", r#"{"pattern":"error1"}"#),
            ("visit", r#"{"url":"https://x.example/item/3?step=4"}"#),
            ("Read", r#"{"file_path":"part1.txt"}"#),
            ("Bash", r#"{"command":"grep -c ERROR worker-3.log"}"#),
            ("Bash", r#"{"command":"cat shard-00017.json"}"#),
            ("Bash", r#"{"command":"ls runs/2024-05-01"}"#),
            ("Bash", r#"{"command":"curl https://x.example/users/17"}"#),
        ] {
            assert_eq!(shape_of(tool, args), None, "{tool} {args}");
        }
    }
}
