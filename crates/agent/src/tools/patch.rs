//! Unified diffs: read whole and strictly, then fitted to the files' lines; nothing is guessed.
//!
//! A hunk applies where its old lines stand: at the line that it names, or, if the file has moved, at the only other
//! place where they stand. PatchLine endings of the file are kept.

use std::fmt;

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePatch {
    pub(crate) path: String,
    pub(crate) kind: PatchKind,
    hunks: Vec<Hunk>,
}

/// Whether the file is there before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Change,
    Create,
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    /// The first old line, counted from 1; for an insertion the line after which it goes.
    at: usize,
    lines: Vec<PatchLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PatchLine {
    side: PatchSide,
    text: String,
    end: LineEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchSide {
    Both,
    Old,
    New,
}

/// Whether a line ends; only the last of a file may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Ends,
    Open,
}

/// Why a patch cannot be read or does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchError(String);

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn wrong<T>(text: String) -> Result<T, PatchError> {
    Err(PatchError(text))
}

/// How much of a line an error repeats.
const SHOWN_BYTES: usize = 120;
/// Most files of one patch.
const FILES_MAX: usize = 100;

fn shown(line: &str) -> &str {
    tripwire_core::label::cut(line, SHOWN_BYTES)
}

/// Reads a patch whole.
pub(crate) fn parse(text: &str) -> Result<Vec<FilePatch>, PatchError> {
    let mut reader = PatchReader { lines: text.lines().collect(), at: 0 };
    let mut files: Vec<FilePatch> = Vec::new();
    while let Some(line) = reader.peek() {
        if line.starts_with("--- ") {
            let file = reader.file()?;
            if files.iter().any(|known| known.path == file.path) {
                return wrong(format!("`{}` comes twice in the patch", shown(&file.path)));
            }
            files.push(file);
        } else if line.starts_with("@@") {
            return wrong(format!("line {}: a hunk without `--- file` and `+++ file` above it", reader.number()));
        } else if ["rename ", "copy ", "GIT binary patch", "Binary files"].iter().any(|mark| line.starts_with(mark)) {
            return wrong(format!("line {}: `{}` is not supported; use `shell` for it", reader.number(), shown(line)));
        } else {
            reader.next();
        }
        if files.len() > FILES_MAX {
            return wrong(format!("the patch has more than {FILES_MAX} files"));
        }
    }
    if files.is_empty() {
        return wrong("there is no `--- file` line in the patch".to_owned());
    }
    Ok(files)
}

struct PatchReader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> PatchReader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.at = self.at.saturating_add(1);
        Some(line)
    }

    /// The number of the next line.
    fn number(&self) -> usize {
        self.at.saturating_add(1)
    }

    fn file(&mut self) -> Result<FilePatch, PatchError> {
        let number = self.number();
        let first = self.next().unwrap_or_default();
        let Some(new) = self.next().filter(|line| line.starts_with("+++ ")) else {
            return wrong(format!("line {}: `+++ file` must follow `--- file`", number.saturating_add(1)));
        };
        // Two equal names bear no `a/` and `b/`: the folder is really called so.
        let plain = bare_name(first, "--- ") == bare_name(new, "+++ ");
        let (a, b) = if plain { ("", "") } else { ("a/", "b/") };
        let (path, kind) = match (name(first, "--- ", a), name(new, "+++ ", b)) {
            (None, None) => return wrong(format!("line {number}: no file is named")),
            (None, Some(new)) => (new, PatchKind::Create),
            (Some(old), None) => (old, PatchKind::Remove),
            (Some(old), Some(new)) if old == new => (new, PatchKind::Change),
            (Some(old), Some(new)) => {
                return wrong(format!("line {number}: `{}` and `{}` are two files", shown(&old), shown(&new)));
            }
        };
        let mut hunks = Vec::new();
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            hunks.push(self.hunk()?);
        }
        if hunks.is_empty() {
            return wrong(format!("`{}` has no hunk (`@@ -1,3 +1,4 @@`)", shown(&path)));
        }
        Ok(FilePatch { path, kind, hunks })
    }

    fn hunk(&mut self) -> Result<Hunk, PatchError> {
        let number = self.number();
        let head = self.next().unwrap_or_default();
        let Some((at, mut old_left, mut new_left)) = ranges(head) else {
            return wrong(format!("line {number}: `{}` is not of the form `@@ -1,3 +1,4 @@`", shown(head)));
        };
        let mut lines: Vec<PatchLine> = Vec::new();
        while old_left > 0 || new_left > 0 || self.peek().is_some_and(|line| line.starts_with('\\')) {
            let Some(line) = self.next() else {
                return wrong(format!(
                    "line {number}: the hunk promises {old_left} old and {new_left} new lines more than there are"
                ));
            };
            let side = match line.chars().next() {
                // Many editors drop the space of an empty line.
                Some(' ') | None => PatchSide::Both,
                Some('-') => PatchSide::Old,
                Some('+') => PatchSide::New,
                Some('\\') => {
                    if let Some(last) = lines.last_mut() {
                        last.end = LineEnd::Open;
                    }
                    continue;
                }
                Some(_) => {
                    return wrong(format!(
                        "line {}: `{}` begins with neither a space, `-` nor `+`; the hunk promises {old_left} old and \
                         {new_left} new lines more",
                        self.at,
                        shown(line)
                    ));
                }
            };
            let (old, new) = match side {
                PatchSide::Both => (1, 1),
                PatchSide::Old => (1, 0),
                PatchSide::New => (0, 1),
            };
            let (Some(old), Some(new)) = (old_left.checked_sub(old), new_left.checked_sub(new)) else {
                return wrong(format!("line {}: more lines than line {number} promises (`{}`)", self.at, shown(head)));
            };
            (old_left, new_left) = (old, new);
            let text = line.get(1..).unwrap_or_default().trim_end_matches('\r').to_owned();
            lines.push(PatchLine { side, text, end: LineEnd::Ends });
        }
        self.refuse_more(number, head)?;
        Ok(Hunk { at, lines })
    }

    /// A line of a hunk behind its end means that the head counts too few.
    fn refuse_more(&self, number: usize, head: &str) -> Result<(), PatchError> {
        let Some(line) = self.peek() else { return Ok(()) };
        let next_file = line.starts_with("--- ");
        if line.starts_with([' ', '+', '-']) && !next_file {
            return wrong(format!(
                "line {}: more lines than line {number} promises (`{}`)",
                self.number(),
                shown(head)
            ));
        }
        Ok(())
    }
}

/// The name on a `---` or `+++` line, without the time behind it.
fn bare_name<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    Some(line.strip_prefix(mark)?.split('\t').next()?.trim())
}

/// The file of a `---` or `+++` line; none for `/dev/null`.
fn name(line: &str, mark: &str, side: &str) -> Option<String> {
    let name = bare_name(line, mark)?;
    if name == "/dev/null" {
        return None;
    }
    Some(name.strip_prefix(side).unwrap_or(name).to_owned())
}

/// `@@ -12,3 +12,4 @@` as first old line, old lines, new lines.
fn ranges(head: &str) -> Option<(usize, usize, usize)> {
    let inner = head.strip_prefix("@@ -")?;
    let (ranges, _) = inner.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((at, old), (_, new)) = (range(old)?, range(new)?);
    Some((at, old, new))
}

/// How many lines a fitted patch added and took away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

impl FilePatch {
    /// The file's new contents.
    pub(crate) fn apply(&self, file: &str) -> Result<(String, Counts), PatchError> {
        let lines: Vec<&str> = file.split_inclusive('\n').collect();
        let ending = if lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
        let mut out = Built { text: String::with_capacity(file.len()), ending };
        let mut counts = Counts::default();
        let mut done = 0_usize;
        for (index, hunk) in self.hunks.iter().enumerate() {
            let start = hunk.place(&lines, done).map_err(|why| {
                PatchError(format!("hunk {} of `{}`: {why}", index.saturating_add(1), shown(&self.path)))
            })?;
            lines.get(done..start).unwrap_or_default().iter().for_each(|line| out.keep(line));
            done = start;
            for line in &hunk.lines {
                match line.side {
                    PatchSide::Both => {
                        out.keep(lines.get(done).copied().unwrap_or_default());
                        done = done.saturating_add(1);
                    }
                    PatchSide::Old => {
                        done = done.saturating_add(1);
                        counts.removed = counts.removed.saturating_add(1);
                    }
                    PatchSide::New => {
                        out.add(line);
                        counts.added = counts.added.saturating_add(1);
                    }
                }
            }
        }
        lines.get(done..).unwrap_or_default().iter().for_each(|line| out.keep(line));
        Ok((out.text, counts))
    }
}

/// The new file under construction.
struct Built {
    text: String,
    ending: &'static str,
}

impl Built {
    fn keep(&mut self, line: &str) {
        self.close();
        self.text.push_str(line);
    }

    fn add(&mut self, line: &PatchLine) {
        self.close();
        self.text.push_str(&line.text);
        if line.end == LineEnd::Ends {
            self.text.push_str(self.ending);
        }
    }

    /// Only the last line may be without its end.
    fn close(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(self.ending);
        }
    }
}

impl Hunk {
    /// The line (from 0) at which the hunk's old lines stand, not before `from`.
    fn place(&self, lines: &[&str], from: usize) -> Result<usize, String> {
        let old: Vec<&str> =
            self.lines.iter().filter(|line| line.side != PatchSide::New).map(|line| line.text.as_str()).collect();
        if old.is_empty() {
            if self.at < from || self.at > lines.len() {
                return Err(format!("line {} is not there to insert after; the file has {}", self.at, lines.len()));
            }
            return Ok(self.at);
        }
        let fits = |start: usize| {
            start >= from
                && old.len() <= lines.len().saturating_sub(start)
                && old.iter().zip(lines.iter().skip(start)).all(|(old, line)| *old == bare(line))
        };
        let expected = self.at.saturating_sub(1);
        if fits(expected) {
            return Ok(expected);
        }
        let others: Vec<usize> = (from..lines.len()).filter(|start| fits(*start)).take(2).collect();
        match others.as_slice() {
            [only] => Ok(*only),
            [] => Err(mismatch(&old, lines, expected)),
            [..] => Err(format!(
                "its old lines are not at line {}, and occur at more than one other place (lines {} and {})",
                self.at,
                others.first().map_or(0, |line| line.saturating_add(1)),
                others.last().map_or(0, |line| line.saturating_add(1)),
            )),
        }
    }
}

/// A line of a file without its ending.
fn bare(line: &str) -> &str {
    line.trim_end_matches('\n').trim_end_matches('\r')
}

/// The first line in which the file differs from what a hunk expects.
fn mismatch(old: &[&str], lines: &[&str], expected: usize) -> String {
    for (offset, wanted) in old.iter().enumerate() {
        let number = expected.saturating_add(offset);
        match lines.get(number).map(|line| bare(line)) {
            Some(found) if found == *wanted => {}
            Some(found) => {
                return format!(
                    "line {} of the file is `{}`, the patch expects `{}`",
                    number.saturating_add(1),
                    shown(found),
                    shown(wanted)
                );
            }
            None => return format!("the file ends at line {}, the patch expects `{}`", lines.len(), shown(wanted)),
        }
    }
    "its old lines overlap the hunk before it".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "one\ntwo\nthree\nfour\nfive\n";

    fn apply(patch: &str, file: &str) -> Result<String, String> {
        let files = parse(patch).map_err(|error| error.to_string())?;
        files[0].apply(file).map(|(text, _)| text).map_err(|error| error.to_string())
    }

    fn change(hunks: &str) -> String {
        format!("--- a/f\n+++ b/f\n{hunks}")
    }

    #[test]
    fn a_fitting_patch_changes_exactly_its_lines() {
        let patch = change("@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -5 +5,2 @@\n five\n+six\n");
        assert_eq!(apply(&patch, FILE).unwrap(), "one\nTWO\nthree\nfour\nfive\nsix\n");
    }

    #[test]
    fn a_moved_hunk_is_found_if_its_place_is_the_only_one() {
        let patch = change("@@ -1,2 +1,2 @@\n three\n-four\n+FOUR\n");
        assert_eq!(apply(&patch, FILE).unwrap(), "one\ntwo\nthree\nFOUR\nfive\n");
        let twice = apply(&patch, "x\nthree\nfour\nthree\nfour\n").unwrap_err();
        assert!(twice.contains("more than one other place (lines 2 and 4)"), "{twice}");
    }

    #[test]
    fn what_does_not_fit_names_the_line() {
        let error = apply(&change("@@ -2,2 +2,1 @@\n two\n-thre\n"), FILE).unwrap_err();
        assert!(error.contains("hunk 1 of `f`: line 3 of the file is `three`, the patch expects `thre`"), "{error}");
        let error = apply(&change("@@ -5,2 +5,1 @@\n five\n-six\n"), FILE).unwrap_err();
        assert!(error.contains("the file ends at line 5"), "{error}");
    }

    #[test]
    fn files_are_created_and_removed() {
        let created =
            parse("--- /dev/null\n+++ b/new/f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n").unwrap();
        assert_eq!((created[0].kind, created[0].path.as_str()), (PatchKind::Create, "new/f"));
        assert_eq!(created[0].apply("").unwrap().0, "a\nb");
        let removed = parse("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n").unwrap();
        assert_eq!((removed[0].kind, removed[0].apply("a\n").unwrap().0.as_str()), (PatchKind::Remove, ""));
    }

    #[test]
    fn line_endings_of_the_file_are_kept() {
        let patch = change("@@ -1,2 +1,3 @@\n one\n-two\n+TWO\n+more\n");
        assert_eq!(apply(&patch, "one\r\ntwo\r\nthree\r\n").unwrap(), "one\r\nTWO\r\nmore\r\nthree\r\n");
        let open = change("@@ -1 +1,2 @@\n one\n+two\n");
        assert_eq!(apply(&open, "one").unwrap(), "one\ntwo\n");
    }

    #[test]
    fn an_empty_context_line_may_have_lost_its_space() {
        let patch = change("@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n");
        assert_eq!(apply(&patch, "a\n\nb\n").unwrap(), "a\n\nB\n");
    }

    #[test]
    fn patches_that_are_none_are_refused_with_the_line() {
        for (patch, words) in [
            ("", "no `--- file` line"),
            ("just words", "no `--- file` line"),
            ("@@ -1 +1 @@\n-a\n+b\n", "line 1: a hunk without"),
            ("--- a/f\n@@ -1 +1 @@\n", "line 2: `+++ file` must follow"),
            ("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "are two files"),
            ("--- a/f\n+++ b/f\n", "has no hunk"),
            ("--- a/f\n+++ b/f\n@@ 1 @@\n", "line 3: `@@ 1 @@` is not of the form"),
            ("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n", "promises 1 old and 1 new lines more"),
            ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n+c\n", "line 6: more lines than line 3 promises"),
            ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n-b\n+c\n", "line 5: more lines than line 3 promises"),
            ("--- a/f\n+++ b/f\n@@ -1 +1 @@\nx\n", "begins with neither"),
            ("diff --git a/f b/g\nrename from f\nrename to g\n", "`rename from f` is not supported"),
            ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n", "no file is named"),
        ] {
            let error = parse(patch).unwrap_err().to_string();
            assert!(error.contains(words), "{patch:?}: {error}");
        }
    }

    #[test]
    fn names_without_the_usual_prefixes_are_taken_as_they_are() {
        let path = |head: &str| parse(&format!("{head}@@ -1 +1 @@\n-a\n+b\n")).unwrap()[0].path.clone();
        assert_eq!(path("--- src/f\n+++ src/f\n"), "src/f");
        assert_eq!(path("--- a/f\n+++ a/f\n"), "a/f");
        assert_eq!(path("--- a/a/f\t2026-01-01\n+++ b/a/f\t2026-01-02\n"), "a/f");
    }

    #[test]
    fn one_file_twice_is_refused() {
        let once = change("@@ -1 +1 @@\n-a\n+b\n");
        assert!(parse(&format!("{once}{once}")).unwrap_err().to_string().contains("comes twice"));
    }
}
