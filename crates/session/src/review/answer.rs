//! A reviewer's answer: the one explicit word in it, or why there is none (REVIEW-1).
//!
//! The word must stand exactly once in the whole answer, in capitals, outside of code and quotes, and alone on its line:
//! at most a label such as `Verdict:` before it, and behind REJECTED the reason (`REJECTED because …`). An approval beside any word of rejection
//! is none. Everything else is refused, because an answer that can be read in two ways is no approval. A refused answer
//! decides nothing: the reviewer is asked again.

use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};
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
    /// Other words stand on the word's line and may take it back.
    #[error("the answer says {word} among other words of a line, which is ambiguous")]
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

impl Explain for AnswerError {
    fn hint(&self) -> Cow<'_, str> {
        "ask the reviewer for exactly one APPROVED or REJECTED, outside of code and quotes".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Refused
    }
}

/// One of the words where it stands.
struct FoundVerdict {
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
    if is_qualified(text, only) {
        return Err(AnswerError::Qualified { word });
    }
    if only.verdict == Verdict::Approved && speaks_against(text) {
        return Err(AnswerError::Both);
    }
    Ok(only.verdict)
}

const fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "APPROVED",
        Verdict::Rejected => "REJECTED",
    }
}

fn find(text: &str) -> Vec<FoundVerdict> {
    let mut found = Vec::new();
    for verdict in [Verdict::Approved, Verdict::Rejected] {
        for (at, word) in text.match_indices(name(verdict)) {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let behind = text.get(at + word.len()..).and_then(|behind| behind.chars().next());
            let joins = |letter: char| letter.is_alphanumeric() || letter == '_';
            let hyphen = before == Some('-') && text.get(..at.saturating_sub(1)).is_some_and(ends_in_letter);
            let whole = !before.is_some_and(joins) && !behind.is_some_and(joins) && !hyphen;
            found.push(FoundVerdict { verdict, at, whole });
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

/// Whether the word's line says more than the word. Any other word on the line can take it back, and there is no list of all
/// of those: only a label before it, and marks of emphasis, of a list and of an end, are no more. What is rejected may be
/// followed by the reason.
fn is_qualified(text: &str, found: &FoundVerdict) -> bool {
    const LABELS: [&str; 8] =
        ["verdict", "decision", "final verdict", "final decision", "my verdict", "my decision", "review", "result"];
    let left = text.get(..found.at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
    let right = text.get(found.at + name(found.verdict).len()..).unwrap_or_default();
    let right = right.split('\n').next().unwrap_or_default().replace(['*', '_'], "");
    let left = left.replace(['*', '_'], "");
    let left = left.trim().trim_start_matches('#').trim_start();
    let left = left.strip_prefix('-').unwrap_or(left).trim();
    let label = left.strip_suffix(':').map(|label| label.trim().to_lowercase());
    let alone = left.is_empty() || label.is_some_and(|label| LABELS.contains(&label.as_str()));
    let ends = match found.verdict {
        Verdict::Approved => matches!(right.trim(), "" | "." | "!"),
        Verdict::Rejected => {
            let reason = right.trim_start();
            let opener = reason.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default().to_lowercase();
            reason.is_empty()
                || reason.starts_with([':', ';', '.', '!', ',', '(', '-', '—', '–'])
                || REASON_OPENERS.contains(&opener.as_str())
        }
    };
    !alone || !ends
}

/// Words that begin a reason behind REJECTED; other words may take it back.
const REASON_OPENERS: [&str; 7] = ["because", "since", "as", "for", "due", "until", "given"];

/// Whether an answer speaks against what it approves, in any spelling: `Verdict: rejected` is a decision too.
fn speaks_against(text: &str) -> bool {
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.iter().any(|word| matches!(word.as_str(), "rejected" | "disapproved" | "unapproved"))
        || words.windows(2).any(|pair| matches!(pair, [not, approved] if not == "not" && approved == "approved"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_1_a_rejection_may_carry_its_reason_in_the_same_line() {
        for text in [
            "REJECTED because the name is wrong",
            "Verdict: REJECTED since it breaks the build",
            "REJECTED due to missing tests",
            "REJECTED (no tests)",
            "REJECTED; fix the name first",
            "REJECTED until the tests pass",
        ] {
            assert_eq!(read(text), Ok(Verdict::Rejected), "{text}");
        }
        for text in ["not REJECTED", "REJECTED is not what I say", "REJECTED or not", "it looks APPROVED because of x"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read("APPROVED because it is small").is_err(), "an approval stands alone");
    }

    #[test]
    fn review_1_one_explicit_word_decides() {
        for text in [
            "APPROVED",
            "**APPROVED**\n",
            "The change is small and tested.\nAPPROVED.",
            "## Decision: **APPROVED**",
            "**Verdict:** APPROVED!",
            "Verdict: APPROVED\n\nI would rename `x`, but that is taste.",
            "# Review\n\n- correct\n- APPROVED\n",
            "I ran `cargo test` and read \"the plan\".\r\nAPPROVED\r\n",
            "```\ncode\n```\nAPPROVED",
            "APPROVED\nNo problems were found, if one may say so.",
            "Nothing is approved lightly, but this is fine.\nAPPROVED",
        ] {
            assert_eq!(read(text), Ok(Verdict::Approved), "{text}");
        }
        for text in [
            "REJECTED: it deletes the tests",
            "Decision: REJECTED — not as it is",
            "It cannot be approved.\n- REJECTED",
        ] {
            assert_eq!(read(text), Ok(Verdict::Rejected), "{text}");
        }
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
        for text in ["Verdict: rejected\nAPPROVED", "This is not approved.\nAPPROVED", "APPROVED\n\nOnce rejected."] {
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
            "far from APPROVED",
            "nobody APPROVED this",
            "This is anything but APPROVED",
            "- [ ] APPROVED",
            "Previous verdict: APPROVED",
            "APPROVED after you fix line 3",
            "APPROVED — no problems were found, once line 3 is gone.",
            "I read it. APPROVED",
            "Not REJECTED",
        ] {
            assert!(matches!(read(text), Err(AnswerError::Qualified { .. })), "{text}: {:?}", read(text));
        }
        for text in ["UNAPPROVED", "DISAPPROVED", "non-APPROVED", "APPROVEDish", "PRE_APPROVED", "APPROVED1"] {
            assert_eq!(read(text), Err(AnswerError::PartOfWord { word: "APPROVED" }), "{text}");
        }
        assert_eq!(read(&"x".repeat(ANSWER_BYTES_MAX + 1)), Err(AnswerError::TooLong));
    }
}
