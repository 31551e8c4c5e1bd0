//! `read_file`: a bounded number of lines of a text file, exactly as they are, and how many remain (TOOL-1).

use super::error::ToolError;
use super::nearest;
use super::tool::{TEXT_BYTES_MAX, Tool, ToolDone, Unfit, World};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::files::FilesError;
use tripwire_session::memory::{MemoryStore, Visibility};

/// Bytes at the beginning of a file in which a zero byte means that it is no text.
const PROBED_BYTES: usize = 8 * 1024;

pub(crate) struct ReadFile;

/// Arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFileArguments {
    /// The file, relative to the workspace.
    path: String,
    /// The first line to show; 1 is the first line of the file, and the default.
    #[serde(default)]
    offset: Option<u64>,
    /// Show at most so many lines; the session's own limit holds as well.
    #[serde(default)]
    max_lines: Option<u64>,
}

/// Result of `read_file`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shown {
    /// The file, relative to the workspace.
    path: String,
    /// The lines, exactly as they are in the file.
    content: String,
    /// The number of the first line that is shown.
    first_line: u64,
    /// How many lines are shown.
    lines_shown: u64,
    /// How many lines of the file come after those.
    lines_remaining: u64,
    /// Whether lines remain, or a part of a long line.
    has_more: bool,
    /// The offset that shows the next lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// Something to know about the contents, such as bytes that are no UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Where the whole of a line that was too long is kept; `recall` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const ABOUT: &'static str = "Read lines of a text file of the workspace, exactly as they are. A bounded number of lines is \
        shown at once; `has_more` and `next_offset` say how to go on.";
    type Arguments = ReadFileArguments;
    type Result = Shown;

    fn check(arguments: &ReadFileArguments) -> Result<(), Unfit> {
        let unfit = |path, why: &str| Err(Unfit { path, why: why.to_owned() });
        match (arguments.offset, arguments.max_lines) {
            (Some(0), _) => unfit("/offset", "lines are counted from 1"),
            (_, Some(0)) => unfit("/max_lines", "at least 1 line must be shown"),
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }

    fn needs(_: &ReadFileArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks]
    }

    fn run(permit: Permit, arguments: &ReadFileArguments, world: &mut World<'_>) -> Result<ToolDone<Shown>, ToolError> {
        let spent = world.spend(permit)?;
        let path = world.files.path(&arguments.path)?;
        let bytes = world.files.read(&path).map_err(|error| missing(error, world))?;
        if let Some(at) = bytes.iter().take(PROBED_BYTES).position(|byte| *byte == 0) {
            let why = format!("a zero byte at {at}, {} bytes in all", bytes.len());
            return Err(ToolError::NotText { path: path.to_string(), why });
        }
        let lines_max = arguments.max_lines.unwrap_or(u64::MAX).min(world.limits.lines_max);
        let page = page(&bytes, arguments.offset.unwrap_or(1), lines_max);
        let shown = shown(path.as_str(), &bytes, &page, world)?;
        let observed = shown.content.clone();
        Ok(ToolDone::well(spent, shown, observed))
    }
}

/// A missing file is reported with the names that may have been meant.
pub(super) fn missing(error: FilesError, world: &World<'_>) -> ToolError {
    let FilesError::Missing { path } = error else { return ToolError::Files(error) };
    let nearest = nearest::files(world.files, path.as_str());
    if nearest.is_empty() {
        return ToolError::Files(FilesError::Missing { path });
    }
    ToolError::MissingFile { path: path.to_string(), nearest }
}

/// The lines of a file that are shown.
#[derive(Debug, PartialEq, Eq)]
struct LinePage<'b> {
    /// The bytes of the shown lines, or the beginning of a line that is too long.
    bytes: &'b [u8],
    first_line: u64,
    lines_shown: u64,
    lines_remaining: u64,
    /// The line that was too long to be shown whole.
    cut_line: Option<&'b [u8]>,
    lines_total: u64,
}

/// Chooses the lines: whole ones within both caps, and of a first line beyond the cap its beginning.
fn page(bytes: &[u8], offset: u64, lines_max: u64) -> LinePage<'_> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let total = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    let skipped = usize::try_from(offset.saturating_sub(1)).unwrap_or(usize::MAX).min(lines.len());
    let start: usize = lines.iter().take(skipped).map(|line| line.len()).sum();
    let rest = lines.get(skipped..).unwrap_or_default();
    let mut length = 0_usize;
    let mut count = 0_u64;
    for line in rest.iter().take(usize::try_from(lines_max).unwrap_or(usize::MAX)) {
        if length.saturating_add(line.len()) > TEXT_BYTES_MAX {
            break;
        }
        length = length.saturating_add(line.len());
        count = count.saturating_add(1);
    }
    let cut_line = if count == 0 { rest.first().copied() } else { None };
    if let Some(line) = cut_line {
        count = 1;
        length = line.len().min(TEXT_BYTES_MAX);
    }
    LinePage {
        bytes: bytes.get(start..start.saturating_add(length)).unwrap_or_default(),
        first_line: offset,
        lines_shown: count,
        lines_remaining: u64::try_from(rest.len()).unwrap_or(u64::MAX).saturating_sub(count),
        cut_line,
        lines_total: total,
    }
}

fn shown(path: &str, whole: &[u8], page: &LinePage<'_>, world: &World<'_>) -> Result<Shown, ToolError> {
    let mut notes = Vec::new();
    if let Err(error) = std::str::from_utf8(whole) {
        notes.push(format!(
            "the file is not UTF-8 (byte {}); such bytes are shown as \u{fffd} and `edit` cannot change it",
            error.valid_up_to()
        ));
    }
    if whole.is_empty() {
        notes.push("the file is empty".to_owned());
    } else if page.lines_shown == 0 {
        notes.push(format!("the file has {} lines", page.lines_total));
    }
    let mut bytes = page.bytes;
    let mut pointer = None;
    if let Some(line) = page.cut_line {
        // A character that the cap cuts through is left out.
        let end = std::str::from_utf8(bytes).map_or_else(
            |error| if error.error_len().is_none() { error.valid_up_to() } else { bytes.len() },
            |_| bytes.len(),
        );
        bytes = bytes.get(..end).unwrap_or(bytes);
        let kept = world.memory.put(line, Visibility::Public)?;
        notes.push(format!(
            "line {} has {} bytes, of which {} are shown; the whole line: `recall` with pointer `{kept}`",
            page.first_line,
            line.len(),
            bytes.len()
        ));
        pointer = Some(kept.to_string());
    }
    Ok(Shown {
        path: path.to_owned(),
        content: String::from_utf8_lossy(bytes).into_owned(),
        first_line: page.first_line,
        lines_shown: page.lines_shown,
        lines_remaining: page.lines_remaining,
        has_more: page.lines_remaining > 0 || pointer.is_some(),
        next_offset: (page.lines_remaining > 0).then(|| page.first_line.saturating_add(page.lines_shown)),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        pointer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: u64) -> Vec<u8> {
        (1..=count).map(|line| format!("line {line}\n")).collect::<String>().into_bytes()
    }

    #[test]
    fn tool_1_pages_cover_a_file_exactly_once() {
        let file = numbered(1_203);
        let (mut all, mut offset) = (Vec::new(), 1);
        loop {
            let page = page(&file, offset, 500);
            all.extend_from_slice(page.bytes);
            assert_eq!(page.lines_remaining, 1_203 - (offset - 1) - page.lines_shown);
            offset += page.lines_shown;
            if page.lines_remaining == 0 {
                break;
            }
        }
        assert_eq!(all, file);
    }

    #[test]
    fn tool_1_the_byte_cap_cuts_between_lines() {
        let line = format!("{}\n", "x".repeat(999));
        let file = line.repeat(100).into_bytes();
        let page = page(&file, 1, 500);
        assert_eq!(page.lines_shown, 32);
        assert_eq!(page.bytes.len(), 32_000);
        assert_eq!((page.lines_remaining, page.cut_line), (68, None));
    }

    #[test]
    fn tool_1_a_last_line_without_its_end_is_a_line_and_behind_the_end_is_nothing() {
        assert_eq!(page(b"a\nb", 1, 500).lines_shown, 2);
        assert_eq!(page(b"a\r\nb\r\n", 2, 1).bytes, b"b\r\n");
        let behind = page(b"a\nb\n", 9, 500);
        assert_eq!((behind.lines_shown, behind.lines_remaining, behind.bytes), (0, 0, b"".as_slice()));
        assert_eq!(page(b"", 1, 500).lines_shown, 0);
    }
}
