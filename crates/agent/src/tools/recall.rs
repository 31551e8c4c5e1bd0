//! `recall`: what was remembered, or what was cut from a result, page by page and byte for byte (MEM-1).

use super::error::ToolError;
use super::tool::{Memories, TEXT_BYTES_MAX, Tool, ToolDone, Unfit, World};
use base64::Engine as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::memory::pointer::Pointer;
use tripwire_session::memory::{Form, MemoryStore, Record, Visibility};

/// Most contents that a listing names.
const KNOWN_MAX: usize = 50;
/// Most bytes of a summary in a listing.
const SUMMARY_BYTES_MAX: usize = 200;
/// Most bytes of a page that is no text: base64 makes four letters of three bytes.
const BINARY_BYTES_MAX: usize = TEXT_BYTES_MAX / 4 * 3;

pub(crate) struct Recall;

/// Arguments of `recall`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecallArguments {
    /// What to get, in full or by its first digits; without one the answer lists what is kept.
    #[serde(default)]
    pointer: Option<String>,
    /// The first byte to show; 0 by default.
    #[serde(default)]
    offset: Option<u64>,
    /// Show at most so many bytes.
    #[serde(default)]
    max_bytes: Option<u64>,
}

/// Result of `recall`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Recalled {
    /// A part of one content.
    Page(Page),
    /// What is kept.
    Known(Known),
}

/// A part of one content.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// The pointer in full.
    pointer: String,
    /// How `content` is written: `utf-8` as it is, or `base64` for bytes that are no text.
    encoding: Encoding,
    /// The bytes from `offset` on.
    content: String,
    /// The first byte that is shown.
    offset: u64,
    /// How many bytes are shown.
    bytes_shown: u64,
    /// How many come after those.
    bytes_remaining: u64,
    /// Whether any do.
    has_more: bool,
    /// The offset that shows the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// What is kept.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    /// The contents, in the order of their pointers.
    known: Vec<KnownContent>,
    /// Whether there are more than are named.
    has_more: bool,
}

/// One content.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownContent {
    /// Its pointer.
    pointer: String,
    /// A short form of it, cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
}

impl Tool for Recall {
    const NAME: &'static str = "recall";
    const ABOUT: &'static str = "Get back what was remembered, or what was cut from a result, by its pointer; page with \
        `offset`. Without a pointer it lists what is kept.";
    type Arguments = RecallArguments;
    type Result = Recalled;

    fn check(arguments: &RecallArguments) -> Result<(), Unfit> {
        if arguments.max_bytes == Some(0) {
            return Err(Unfit { path: "/max_bytes", why: "at least 1 byte must be shown".to_owned() });
        }
        Ok(())
    }

    fn needs(arguments: &RecallArguments, memory: &MemoryStore) -> Vec<Permission> {
        let mut needed = vec![Permission::CanExecuteTasks];
        let record = |text: &str| memory.resolve(text).and_then(|pointer| memory.record(&pointer));
        // A content whose record cannot be read counts as private; one that is not there needs no permission to be missed.
        let private = match arguments.pointer.as_deref().map(record) {
            Some(Ok(record)) => record.visibility == Visibility::Private,
            Some(Err(tripwire_session::memory::MemoryError::Damaged { .. })) => true,
            Some(Err(_)) | None => false,
        };
        if private {
            needed.push(Permission::CanAccessPrivateMemories);
        }
        needed
    }

    fn run(
        permit: Permit,
        arguments: &RecallArguments,
        world: &mut World<'_>,
    ) -> Result<ToolDone<Recalled>, ToolError> {
        let spent = world.spend(permit)?;
        let Some(text) = arguments.pointer.as_deref() else {
            let known = known(world)?;
            let observed = known.known.iter().map(|content| content.pointer.as_str()).collect::<Vec<_>>().join("\n");
            return Ok(ToolDone::well(spent, Recalled::Known(known), observed));
        };
        let pointer = world.memory.resolve(text)?;
        if !may_read(world, &world.memory.record(&pointer)?) {
            return Err(ToolError::PrivateMemory { pointer: pointer.to_string() });
        }
        let bytes = world.memory.get(&pointer)?;
        let page = page(&pointer, &bytes, arguments.offset.unwrap_or(0), arguments.max_bytes);
        let observed = page.content.clone();
        Ok(ToolDone::well(spent, Recalled::Page(page), observed))
    }
}

fn may_read(world: &World<'_>, record: &Record) -> bool {
    match (world.memories, record.visibility) {
        (Memories::All, Visibility::Public | Visibility::Private) | (Memories::Public, Visibility::Public) => true,
        (Memories::Public, Visibility::Private) => false,
    }
}

fn known(world: &World<'_>) -> Result<Known, ToolError> {
    let listed = world.memory.list()?;
    // A summary is named with its original, not beside it.
    let mut readable = listed.iter().filter(|one| may_read(world, &one.record) && one.record.origins.is_empty());
    let known = readable
        .by_ref()
        .take(KNOWN_MAX)
        .map(|one| KnownContent {
            pointer: one.pointer.to_string(),
            summary: one.record.forms.iter().find(|form| form.form == Form::Summary).and_then(|form| {
                let bytes = world.memory.get(&form.pointer).ok()?;
                let text = String::from_utf8_lossy(&bytes);
                Some(tripwire_core::label::cut(&text, SUMMARY_BYTES_MAX).to_owned())
            }),
        })
        .collect();
    Ok(Known { known, has_more: readable.next().is_some() })
}

fn page(pointer: &Pointer, bytes: &[u8], offset: u64, max_bytes: Option<u64>) -> Page {
    let asked = max_bytes.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let (encoding, start, end) = match std::str::from_utf8(bytes) {
        Ok(text) => {
            let (start, end) = text_page(text, start, asked.min(TEXT_BYTES_MAX));
            (Encoding::Utf8, start, end)
        }
        Err(_) => (Encoding::Base64, start, start.saturating_add(asked.min(BINARY_BYTES_MAX)).min(bytes.len())),
    };
    let part = bytes.get(start..end).unwrap_or_default();
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    Page {
        pointer: pointer.to_string(),
        encoding,
        content: match encoding {
            Encoding::Utf8 => String::from_utf8_lossy(part).into_owned(),
            Encoding::Base64 => base64::engine::general_purpose::STANDARD.encode(part),
        },
        offset: count(start),
        bytes_shown: count(part.len()),
        bytes_remaining: count(bytes.len().saturating_sub(end)),
        has_more: end < bytes.len(),
        next_offset: (end < bytes.len()).then(|| count(end)),
    }
}

/// A page of a text: it begins and ends between two characters, and always goes on by at least one.
fn text_page(text: &str, start: usize, most: usize) -> (usize, usize) {
    let start = (0..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = start.saturating_add(most).min(text.len());
    let end = (start..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(start);
    if end > start || start == text.len() {
        return (start, end);
    }
    let next = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    (start, start.saturating_add(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], max: u64) -> Vec<u8> {
        let pointer = Pointer::of(bytes);
        let (mut whole, mut offset) = (Vec::new(), 0);
        loop {
            let page = page(&pointer, bytes, offset, Some(max));
            match page.encoding {
                Encoding::Utf8 => whole.extend_from_slice(page.content.as_bytes()),
                Encoding::Base64 => {
                    whole.extend(base64::engine::general_purpose::STANDARD.decode(&page.content).unwrap());
                }
            }
            match page.next_offset {
                Some(next) => offset = next,
                None => return whole,
            }
        }
    }

    #[test]
    fn mem_1_pages_give_exactly_the_bytes_back() {
        let text = "aé漢😀\n".repeat(9_000).into_bytes();
        let binary: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        for content in [text.as_slice(), binary.as_slice(), b"", b"\xff"] {
            for max in [1_000, 32_768, u64::MAX] {
                assert_eq!(all(content, max), content, "{} {max}", content.len());
            }
        }
        assert_eq!(all("😀😀".as_bytes(), 1), "😀😀".as_bytes(), "a page never stands still");
    }

    #[test]
    fn behind_the_end_there_is_nothing() {
        let page = page(&Pointer::of(b"abc"), b"abc", 9, None);
        assert_eq!((page.content.as_str(), page.offset, page.has_more), ("", 3, false));
    }
}
