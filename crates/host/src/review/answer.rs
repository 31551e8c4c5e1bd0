//! A reviewer's answer: the one explicit word in it, or why there is none (REVIEW-1).
//!
//! The word must stand exactly once in the whole answer, in capitals, as a word of its own, outside of code and quotes,
//! and neither negated nor conditional. Everything else is refused, because an answer that can be read in two ways is
//! no approval. A refused answer decides nothing: the reviewer is asked again.

use tripwire_core::input::Verdict;

/// The largest answer that is read.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Why an answer decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Neither word stands in it.
    #[error("the answer says neither APPROVED nor REJECTED")]
    Neither,
    /// Both words stand in it.
    #[error("the answer says both APPROVED and REJECTED")]
    Both,
    /// One word stands in it more than once.
    #[error("the answer says {word} more than once")]
    Repeated {
        /// The word.
        word: &'static str,
    },
    /// The word stands in code or in a quotation.
    #[error("the answer says {word} only inside {place}, which is no decision")]
    Quoted {
        /// The word.
        word: &'static str,
        /// Inside what.
        place: &'static str,
    },
    /// The word is a part of another one.
    #[error("the answer holds {word} as a part of another word, which is ambiguous")]
    PartOfWord {
        /// The word.
        word: &'static str,
    },
    /// The word is negated, conditional or a question.
    #[error("the answer qualifies {word}, which is ambiguous")]
    Qualified {
        /// The word.
        word: &'static str,
    },
    /// It is no text.
    #[error("the answer is not UTF-8 text")]
    NotText,
    /// It is too long to be read.
    #[error("the answer is larger than 1 MiB")]
    TooLong,
}

/// One of the words where it stands.
struct Found {
    verdict: Verdict,
    at: usize,
    whole: bool,
}

/// Reads the one decision out of an answer.
///
/// # Errors
/// When the answer does not hold exactly one explicit word.
pub fn read(text: &str) -> Result<Verdict, AnswerError> {
    if text.len() > ANSWER_BYTES_MAX {
        return Err(AnswerError::TooLong);
    }
    let found = find(text);
    if let Some(part) = found.iter().find(|found| !found.whole) {
        return Err(AnswerError::PartOfWord { word: name(part.verdict) });
    }
    let [only] = found.as_slice() else {
        let Some(first) = found.first() else { return Err(AnswerError::Neither) };
        let same = found.iter().all(|other| other.verdict == first.verdict);
        return Err(if same { AnswerError::Repeated { word: name(first.verdict) } } else { AnswerError::Both });
    };
    let word = name(only.verdict);
    if let Some(place) = quoted(text, only.at, word.len()) {
        return Err(AnswerError::Quoted { word, place });
    }
    if is_qualified(text, only.at, word.len()) {
        return Err(AnswerError::Qualified { word });
    }
    Ok(only.verdict)
}

const fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "APPROVED",
        Verdict::Rejected => "REJECTED",
    }
}

fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for verdict in [Verdict::Approved, Verdict::Rejected] {
        for (at, word) in text.match_indices(name(verdict)) {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let behind = text.get(at + word.len()..).and_then(|behind| behind.chars().next());
            let joins = |letter: char| letter.is_alphanumeric() || letter == '_';
            let hyphen = before == Some('-') && text.get(..at.saturating_sub(1)).is_some_and(ends_in_letter);
            let whole = !before.is_some_and(joins) && !behind.is_some_and(joins) && !hyphen;
            found.push(Found { verdict, at, whole });
        }
    }
    found
}

/// `non-APPROVED` is one word; `- APPROVED` is an item of a list.
fn ends_in_letter(text: &str) -> bool {
    text.chars().next_back().is_some_and(char::is_alphanumeric)
}

/// Inside what the word stands, if it is no plain text.
fn quoted(text: &str, at: usize, length: usize) -> Option<&'static str> {
    let before = text.get(..at)?;
    if open_fence(before) {
        return Some("a code block");
    }
    for (open, close, place) in
        [("<!--", "-->", "a comment"), ("<pre", "</pre", "a code block"), ("<code", "</code", "code")]
    {
        if before.rfind(open).is_some_and(|start| before.rfind(close).is_none_or(|end| end < start)) {
            return Some(place);
        }
    }
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..)?.split('\n').next()?;
    let (left, right) = (text.get(start..at)?, text.get(at + length..)?);
    if line.starts_with("    ") || line.starts_with('\t') {
        return Some("a code block");
    }
    if line.trim_start().starts_with('>') {
        return Some("a quotation");
    }
    // Inline code may go over a line's end within its paragraph.
    let paragraph = before.rsplit("\n\n").next().unwrap_or(before);
    if paragraph.matches('`').count() % 2 == 1 {
        return Some("code");
    }
    if left.matches('"').count() % 2 == 1
        || is_open(left, '“', '”')
        || is_open(left, '«', '»')
        || is_open(left, '„', '“')
    {
        return Some("a quotation");
    }
    if left.ends_with(['\'', '‘']) && right.starts_with(['\'', '’']) {
        return Some("a quotation");
    }
    (left.ends_with("~~") && right.starts_with("~~")).then_some("struck-out text")
}

fn is_open(text: &str, open: char, close: char) -> bool {
    text.rfind(open).is_some_and(|start| text.rfind(close).is_none_or(|end| end < start))
}

/// Whether a fenced code block that began before is still open.
fn open_fence(before: &str) -> bool {
    let mut fence: Option<&str> = None;
    for line in before.lines() {
        let line = line.trim_start().trim_start_matches(['>', ' ', '-', '*']);
        match fence {
            Some(mark) if line.starts_with(mark) => fence = None,
            Some(_) => {}
            None => fence = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark)),
        }
    }
    fence.is_some()
}

/// Whether the sentence around the word takes it back: a negation, a modal, a condition or a question.
fn is_qualified(text: &str, at: usize, length: usize) -> bool {
    const BEFORE: [&str; 24] = [
        "not", "no", "never", "cannot", "neither", "nor", "without", "hardly", "barely", "un", "non", "would", "could",
        "should", "might", "may", "must", "be", "become", "becomes", "if", "unless", "until", "whether",
    ];
    const BEHIND: [&str; 9] = ["if", "unless", "once", "pending", "provided", "or", "when", "only", "conditionally"];
    let sentence_end = |letter: char| matches!(letter, '.' | '!' | '?' | ';' | '\n');
    let left = text.get(..at).unwrap_or_default().rsplit(sentence_end).next().unwrap_or_default();
    let right = text.get(at + length..).unwrap_or_default();
    let rest = right.split(['.', '!', ';', '\n']).next().unwrap_or_default();
    let plain = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let before = left.split_whitespace().rev().take(4).map(plain);
    let negated = |word: String| BEFORE.contains(&word.as_str()) || word.ends_with("n't") || word.ends_with("n’t");
    let behind = rest.split_whitespace().take(2).map(plain);
    before.into_iter().any(negated)
        || behind.into_iter().any(|word| BEHIND.contains(&word.as_str()) || word == "not")
        || rest.contains('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_1_one_explicit_word_decides() {
        for text in [
            "APPROVED",
            "**APPROVED**\n",
            "The change is small and tested. APPROVED.",
            "Verdict: APPROVED\n\nI would rename `x`, but that is taste.",
            "# Review\n\n- correct\n- APPROVED\n",
            "I ran `cargo test` and read \"the plan\". APPROVED",
            "```\ncode\n```\nAPPROVED",
            "APPROVED — no problems were found.",
            "Nothing is approved lightly, but this is fine.\nAPPROVED",
        ] {
            assert_eq!(read(text), Ok(Verdict::Approved), "{text}");
        }
        assert_eq!(read("REJECTED: it deletes the tests"), Ok(Verdict::Rejected));
    }

    #[test]
    fn review_1_both_neither_and_repeated_decide_nothing() {
        for text in ["", "looks good", "approved", "Approved!", "LGTM", "APPROVE", "REJECT"] {
            let refused = read(text).unwrap_err();
            assert_eq!(refused, AnswerError::Neither, "{text}");
        }
        for text in
            ["APPROVED and REJECTED", "APPROVED\n```\nREJECTED\n```", "Not REJECTED: APPROVED", "APPROVED/REJECTED"]
        {
            assert_eq!(read(text), Err(AnswerError::Both), "{text}");
        }
        assert_eq!(read("APPROVED. I repeat: APPROVED"), Err(AnswerError::Repeated { word: "APPROVED" }));
    }

    #[test]
    fn review_1_a_word_in_code_or_a_quotation_decides_nothing() {
        for text in [
            "```\nAPPROVED\n```",
            "~~~text\nAPPROVED\n~~~",
            "answer with `APPROVED`",
            "> APPROVED",
            "the prompt says \"say APPROVED\"",
            "he wrote “APPROVED”",
            "the word 'APPROVED' is needed",
            "    APPROVED",
            "\tAPPROVED",
            "<!-- APPROVED -->",
            "<code>APPROVED</code>",
            "~~APPROVED~~",
            "- ```\n  APPROVED\n  ```",
        ] {
            assert!(matches!(read(text), Err(AnswerError::Quoted { .. })), "{text}: {:?}", read(text));
        }
    }

    #[test]
    fn review_1_negated_conditional_and_joined_words_decide_nothing() {
        for text in [
            "NOT APPROVED",
            "This is not APPROVED",
            "It has not yet been APPROVED",
            "this can't be APPROVED",
            "APPROVED if the tests pass",
            "APPROVED?",
            "It would be APPROVED",
            "never APPROVED",
            "APPROVED only with the fix",
        ] {
            assert!(matches!(read(text), Err(AnswerError::Qualified { .. })), "{text}: {:?}", read(text));
        }
        for text in ["UNAPPROVED", "DISAPPROVED", "non-APPROVED", "APPROVEDish", "PRE_APPROVED", "APPROVED1"] {
            assert_eq!(read(text), Err(AnswerError::PartOfWord { word: "APPROVED" }), "{text}");
        }
        assert_eq!(read(&"x".repeat(ANSWER_BYTES_MAX + 1)), Err(AnswerError::TooLong));
    }
}
