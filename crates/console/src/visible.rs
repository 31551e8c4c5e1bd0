//! Texts of agents for a terminal: nothing in them moves the cursor or turns the reading direction.

/// A text in which control characters and those that steer the reading direction are written out: what a person reads before
/// answering must be what is there.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars()
        .flat_map(|char| {
            let steers = matches!(char,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
            let escaped = (char.is_control() || steers).then(|| char.escape_default());
            escaped.map_or_else(|| vec![char], Iterator::collect)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_steers_a_terminal_is_written_out_and_plain_text_stays() {
        assert_eq!(
            visible("rm \u{1b}[2K\u{9b}H\r\n\t\u{202e}txt\u{7f}\u{2066}"),
            "rm \\u{1b}[2K\\u{9b}H\\r\\n\\t\\u{202e}txt\\u{7f}\\u{2066}"
        );
        assert_eq!(visible("naïve 日本 ✓ C:\\temp"), "naïve 日本 ✓ C:\\temp");
    }
}
