//! Chanting: a reply that says the same again and again and would never end (LOOP-2). Small models fall into it.
//!
//! Only an exact repetition counts, and only a long one: a list, a table or a row of dashes is no chant, and a reply that is
//! cut for nothing would be lost.

/// Bytes that must repeat.
const BYTES_MIN: usize = 2_048;
/// How often the same piece must stand there.
const TIMES_MIN: usize = 12;
/// The longest piece that is looked for.
const PIECE_BYTES_MAX: usize = 512;

/// The piece that the end of a text repeats, if it chants.
#[must_use]
pub fn chanted(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    (1..=PIECE_BYTES_MAX).find_map(|piece| {
        let length = BYTES_MIN.max(piece.checked_mul(TIMES_MIN)?);
        let tail = bytes.get(bytes.len().checked_sub(length)?..)?;
        // Nearly every text fails at its last letters already.
        if !ends_alike(tail, piece) {
            return None;
        }
        // A text is periodic when it equals itself, moved by its period.
        let repeats = tail.get(piece..)? == tail.get(..tail.len().checked_sub(piece)?)?;
        let start = bytes.len().checked_sub(piece).filter(|_| repeats)?;
        // The piece may begin inside a letter; then the next boundary is near enough to show it.
        (start..=bytes.len()).find_map(|at| text.get(at..)).filter(|piece| has_words(piece))
    })
}

/// Whether the last letters stand there a period earlier as well.
fn ends_alike(tail: &[u8], piece: usize) -> bool {
    let earlier = tail.len().checked_sub(piece).and_then(|end| tail.get(..end));
    tail.last_chunk::<8>() == earlier.and_then(<[u8]>::last_chunk)
}

/// Rows of dashes and empty lines are form, not speech.
fn has_words(piece: &str) -> bool {
    piece.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    #[test]
    fn loop_2_a_text_that_repeats_itself_to_its_end_is_a_chant() {
        let text = format!("Let me see. {}", "the file is here, ".repeat(200));
        assert_eq!(chanted(&text).map(str::len), Some("the file is here, ".len()));
        assert!(chanted(&"ö".repeat(2_000)).is_some());
        let long = "a sentence of some length that says one thing and then another, and ends here at last. ";
        assert!(chanted(&long.repeat(40)).is_some());
    }

    #[test]
    fn loop_2_lists_tables_rows_of_dashes_and_short_repeats_are_none() {
        let list: String = (0..400).map(|n| format!("- item {n} is done\n")).collect();
        let table: String = (0..200).map(|n| format!("| {n:>6} | {:>8} |\n", n * n)).collect();
        for text in [list, table, "-".repeat(5_000), "=-".repeat(4_000), "no ".repeat(300), String::new()] {
            assert_eq!(chanted(&text), None, "{text}");
        }
        let ended = format!("{} and that is all.", "na ".repeat(2_000));
        assert_eq!(chanted(&ended), None, "it has ended by itself");
    }
}
