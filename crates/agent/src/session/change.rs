//! A staged change in words for its reviewer: every path, and the lines that differ.

use std::fmt::Write as _;
use std::path::Path;
use tripwire_core::label;
use tripwire_fs::file::read_bounded;
use tripwire_session::staging::ChangeSet;

/// The most bytes of one file that are compared line by line.
const FILE_BYTES_MAX: u64 = 256 * 1_024;
/// The most bytes of lines that are shown of one file.
const SHOWN_BYTES_MAX: usize = 16 * 1_024;
/// The most bytes of the whole text.
const TEXT_BYTES_MAX: usize = 192 * 1_024;

/// The change as a text.
pub(super) fn text(changes: &ChangeSet, root: &Path, tree: &Path) -> String {
    let mut text = String::new();
    for change in changes.changes() {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "{} {} ({})", change.kind().name(), change.path().display(), change.summary());
        text.push_str(&lines(&root.join(change.path()), &tree.join(change.path())));
        if text.len() >= TEXT_BYTES_MAX {
            text = label::cut(&text, TEXT_BYTES_MAX).to_owned();
            text.push_str("\n(more was changed than fits here)\n");
            break;
        }
    }
    text
}

/// The lines between the common beginning and the common end of two files.
fn lines(before: &Path, after: &Path) -> String {
    let (Some(before), Some(after)) = (read(before), read(after)) else {
        return "  (not text, or too long to be shown)\n".to_owned();
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut shown = format!("@@ line {} @@\n", head + 1);
    let part = |lines: &[&str], mark: char| -> String {
        lines.iter().take(lines.len() - tail).skip(head).map(|line| format!("{mark}{line}\n")).collect()
    };
    shown.push_str(&part(&old, '-'));
    shown.push_str(&part(&new, '+'));
    if shown.len() > SHOWN_BYTES_MAX {
        shown = label::cut(&shown, SHOWN_BYTES_MAX).to_owned();
        shown.push_str("\n(cut)\n");
    }
    shown
}

/// A file as text; one that is not there is empty.
fn read(path: &Path) -> Option<String> {
    if path.symlink_metadata().is_err() {
        return Some(String::new());
    }
    read_bounded(path, FILE_BYTES_MAX).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_session::staging::Staging;

    #[test]
    fn review_1_the_reviewer_sees_each_path_and_what_becomes_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (work, stage) = (folder.path().join("work"), folder.path().join("stage"));
        std::fs::create_dir(&work).unwrap();
        for (name, text) in [("gone.txt", "g\n"), ("changed.txt", "a\n"), ("same.txt", "s\n")] {
            std::fs::write(work.join(name), text).unwrap();
        }
        let staging = Staging::open(&stage, &work).unwrap();
        let copy = stage.join("copy");
        std::fs::remove_file(copy.join("gone.txt")).unwrap();
        std::fs::write(copy.join("changed.txt"), "b\n").unwrap();
        std::fs::write(copy.join("new.txt"), "n\n").unwrap();
        let text = text(&staging.changes().unwrap(), &work, &copy);
        let heads: Vec<_> = text.lines().filter_map(|line| line.split_once(" (").map(|(head, _)| head)).collect();
        assert_eq!(heads, ["modify changed.txt", "delete gone.txt", "add new.txt"], "{text}");
        assert!(text.contains("-a\n+b\n") && text.contains("+n\n") && text.contains("-g\n"), "{text}");
    }

    #[test]
    fn review_1_the_reviewer_sees_the_lines_that_differ_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        std::fs::write(&old, "a\nb\nc\n").unwrap();
        std::fs::write(&new, "a\nX\nY\nc\n").unwrap();
        assert_eq!(lines(&old, &new), "@@ line 2 @@\n-b\n+X\n+Y\n");
        assert_eq!(lines(&folder.path().join("none"), &old), "@@ line 1 @@\n+a\n+b\n+c\n");
        std::fs::write(&new, [0xff, 0xfe]).unwrap();
        assert!(lines(&old, &new).contains("not text"));
    }
}
