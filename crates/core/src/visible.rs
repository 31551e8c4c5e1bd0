//! Texts of agents for a person: nothing in them moves the cursor, begins a line or turns the reading direction.

use alloc::string::String;

/// How a line end within one item is shown: a person sees where a command goes on.
pub const LINE_END: &str = "⏎";

/// One item in which line ends, control characters and those that steer the reading direction are written out: what a person
/// reads before answering must be what is there.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' {
            out.push_str(LINE_END);
        } else if letter.is_control() || steers(letter) {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

/// The same for a text of several lines, such as a file's, which stay lines.
#[must_use]
pub fn visible_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, line) in text.split('\n').enumerate() {
        if place > 0 {
            out.push('\n');
        }
        out.push_str(&visible(line));
    }
    out
}

/// Characters that a person does not see, or that turn the order of what they see.
const fn steers(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_written_out_and_plain_text_stays() {
        assert_eq!(
            visible("rm \u{1b}[2K\u{9b}H\r\n\t\u{202e}txt\u{7f}\u{2066}"),
            "rm \\u{1b}[2K\\u{9b}H\\r⏎\\t\\u{202e}txt\\u{7f}\\u{2066}"
        );
        assert_eq!(visible("naïve 日本 ✓ C:\\temp"), "naïve 日本 ✓ C:\\temp");
        assert_eq!(visible_lines("a\u{200b}\nb\n"), "a\\u{200b}\nb\n");
    }
}
