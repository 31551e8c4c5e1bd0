//! How wide the person's terminal is, and lines that fit it: a line that the terminal breaks by itself can neither be read
//! at a glance nor be rewritten in place.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd;
use tripwire_core::visible::visible;

/// Columns of a terminal that does not say how wide it is.
const COLUMNS: usize = 80;
/// A terminal narrower than this is not written for: its lines are broken by itself.
const COLUMNS_MIN: usize = 24;

/// The columns of standard output, if a person reads it.
pub(crate) fn columns_of_output() -> Option<usize> {
    let stdout = io::stdout();
    stdout.is_terminal().then(|| columns(stdout.as_fd()))
}

/// The columns of standard error, if a person reads it.
pub(crate) fn columns_of_talk() -> Option<usize> {
    let stderr = io::stderr();
    stderr.is_terminal().then(|| columns(stderr.as_fd()))
}

fn columns(of: impl AsFd) -> usize {
    let told = rustix::termios::tcgetwinsize(of).map_or(0, |size| usize::from(size.ws_col));
    if told == 0 { COLUMNS } else { told.max(COLUMNS_MIN) }
}

/// The beginning of a line that fits so many columns; what was cut is marked.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let kept: String = line.chars().take(columns.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The end of a line that fits so many columns, for paths, whose end says more; what was cut is marked.
pub(crate) fn cut_front(line: &str, columns: usize) -> String {
    let length = line.chars().count();
    if length <= columns {
        return line.to_owned();
    }
    let kept: String = line.chars().skip(length + 1 - columns.min(length)).collect();
    format!("…{kept}")
}

/// A line broken between words so that it fits so many columns; its first columns are a label, and what does not fit hangs
/// below the text behind it. A word that does not fit a line of its own is left whole, so that it can be copied.
pub(crate) fn hang(line: &str, columns: usize, label: usize) -> Vec<String> {
    let text_at = line.char_indices().nth(label).map_or(line.len(), |(at, _)| at);
    let (label_text, text) = line.split_at(text_at);
    if line.chars().count() <= columns || text.is_empty() {
        return vec![line.to_owned()];
    }
    let mut lines = Vec::new();
    let mut current = label_text.to_owned();
    let mut gap = "";
    for word in text.split(' ') {
        if !gap.is_empty() && current.chars().count() + 1 + word.chars().count() > columns {
            lines.push(std::mem::replace(&mut current, " ".repeat(label)));
            gap = "";
        }
        if gap.is_empty() && word.is_empty() && !lines.is_empty() {
            continue;
        }
        current.push_str(gap);
        current.push_str(word);
        gap = " ";
    }
    lines.push(current);
    lines
}

/// Where the text of a line begins: behind the last gap of two blanks or more in its first columns.
pub(crate) fn label_of(line: &str) -> usize {
    let first: Vec<char> = line.chars().take(LABELS_WITHIN).collect();
    let is_blank = |at: usize| first.get(at) == Some(&' ');
    let begins = |at: &usize| !is_blank(*at) && at.checked_sub(2).is_some_and(|gap| is_blank(gap) && is_blank(gap + 1));
    (0..first.len()).rev().find(begins).unwrap_or(0)
}

/// Columns in which the labels of a line end.
const LABELS_WITHIN: usize = 32;

/// Lines for a person, hanging below their labels where the terminal is too narrow for them; each stays one, whatever agents
/// put into it.
pub(crate) fn fit(lines: &[String], columns: Option<usize>) -> Vec<String> {
    let lines = lines.iter().map(|line| visible(line));
    match columns {
        Some(columns) => lines.flat_map(|line| hang(&line, columns, LABEL_COLUMNS)).collect(),
        None => lines.collect(),
    }
}

/// Columns of the labels in our reports.
const LABEL_COLUMNS: usize = 12;

/// The terminal's settings, put back when this is dropped: a client that is ended has no chance to do it.
pub(crate) struct SavedTerminal(Option<rustix::termios::Termios>);

impl SavedTerminal {
    /// Keeps the settings of standard input, if it is a terminal.
    pub(crate) fn save() -> Self {
        Self(rustix::termios::tcgetattr(std::io::stdin()).ok())
    }
}

impl SavedTerminal {
    /// Puts the terminal back into the state in which a shell expects it, before anything is written to it: a client that was
    /// ended has had no chance to leave its screen.
    pub(crate) fn restore(self) {
        if self.0.is_some()
            && let Some(mut terminal) = open_terminal()
        {
            // What cannot be written to a terminal cannot be read from it either.
            drop(terminal.write_all(LEAVE_FULL_SCREEN).and_then(|()| terminal.flush()));
        }
    }
}

/// Our own stream that a person's terminal shows; none for a pipe, or a terminal that knows no sequences.
fn open_terminal() -> Option<Box<dyn io::Write>> {
    if std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb") {
        return None;
    }
    if io::stdout().is_terminal() {
        Some(Box::new(io::stdout()))
    } else if io::stderr().is_terminal() {
        Some(Box::new(io::stderr()))
    } else {
        None
    }
}

/// Undoes what full-screen programs set. Leaving the other screen also moves the cursor to where it was last saved, so it is
/// saved first: a client that stays on the main screen leaves it where it is.
const LEAVE_FULL_SCREEN: &[u8] = concat!(
    "\x1b7\x1b[?1049l",                                                   // the main screen
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l", // no reports of the mouse
    "\x1b[?1004l\x1b[?2004l\x1b[?2026l", // no reports of focus, plain paste, no held frame
    "\x1b[<u\x1b[>4m\x1b[?1l\x1b>",      // keys as they were
    "\x1b[?7h\x1b[0m\x1b[?25h",          // wrapped lines, plain letters, a cursor
    "\r\n",
)
.as_bytes();

/// Whether a terminal writes lines as they are, so that each of them must return to the left edge by itself.
pub(crate) fn is_raw(of: impl AsFd) -> bool {
    use rustix::termios::OutputModes;
    rustix::termios::tcgetattr(of)
        .is_ok_and(|settings| !settings.output_modes.contains(OutputModes::OPOST | OutputModes::ONLCR))
}

impl Drop for SavedTerminal {
    fn drop(&mut self) {
        if let Some(settings) = &self.0 {
            rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, settings).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_fits_is_left_alone_and_a_longer_one_is_marked() {
        assert_eq!(cut("twelve chars", 12), "twelve chars");
        assert_eq!(cut("thirteen char", 12), "thirteen ch…");
        assert_eq!(cut("ends in a   gap", 12), "ends in a…");
        assert_eq!(cut("äöüäöü", 5), "äöüä…");
        assert_eq!(
            (cut_front("/home/a/work", 12).as_str(), cut_front("/home/a/work", 6).as_str()),
            ("/home/a/work", "…/work")
        );
    }

    #[test]
    fn a_long_line_hangs_below_its_own_beginning() {
        let line = "waits       read it, then `tripwire ack blocker` and go on";
        assert_eq!(hang(line, 100, 12), [line]);
        assert_eq!(
            hang(line, 34, 12),
            ["waits       read it, then", "            `tripwire ack blocker`", "            and go on"]
        );
        for columns in 36..70 {
            let broken = hang(line, columns, 12);
            assert!(broken.iter().all(|line| line.chars().count() <= columns), "{columns}: {broken:?}");
            assert_eq!(broken.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "), line, "{columns}");
        }
        let path = "state       /a/very/long/path/that/does/not/fit/anywhere/at/all and more";
        assert_eq!(hang(path, 30, 12).last().unwrap().trim(), "and more");
        assert!(hang(path, 30, 12)[0].ends_with("/at/all"), "a path is not broken");
        assert_eq!(fit(&[path.to_owned()], None), [path], "nobody's terminal, nothing broken");
    }

    #[test]
    fn the_text_of_a_line_begins_behind_its_labels() {
        for (line, label) in [
            ("decision   refused: held", 11),
            ("claude.hooks.user    ok      `a` calls  this", 29),
            ("    indented text", 4),
            ("plain words", 0),
            ("", 0),
            ("no label in the first thirty-two columns,  but later", 0),
        ] {
            assert_eq!(label_of(line), label, "{line}");
        }
    }
}
