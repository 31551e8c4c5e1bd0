//! Texts of the program as parts of a page.

/// A text for a page: what would be an HTML tag outside of code is shown as it is written.
pub(crate) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    for letter in text.chars() {
        match letter {
            '`' => {
                is_code = !is_code;
                out.push('`');
            }
            '<' if !is_code => out.push_str("&lt;"),
            _ => out.push(letter),
        }
    }
    out
}

/// The same for a cell of a table: one line, without the bar that would end it.
pub(crate) fn cell(text: &str) -> String {
    prose(&text.split_whitespace().collect::<Vec<_>>().join(" ")).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_outside_of_code_are_shown() {
        assert_eq!(prose("a <b> and `<c>`"), "a &lt;b> and `<c>`");
        assert_eq!(cell("a |\n b"), "a \\| b");
    }
}
