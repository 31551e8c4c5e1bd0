//! Whether the model says that it starts over: the way before did not work, and another one is tried.
//!
//! One such reply is how people work. A row of them, with nothing that lands in between, is an agent that knows that it is stuck
//! and says so in the only place where it can.

use super::words::first_chars;
use alloc::vec::Vec;

/// Characters of a reply in which it says so: what follows is what it does about it.
const SAID_CHARS: usize = 300;
/// What is tried in place of another: `another approach`, `a simpler way`.
fn is_other(word: &str) -> bool {
    matches!(
        word,
        "different" | "another" | "simpler" | "alternative" | "alternate" | "broader" | "better" | "new" | "targeted"
    )
}
/// What there are several of.
const WAYS: &[&str] = &["approach", "approaches", "way", "method", "strategy", "search", "pattern"];
/// Phrases that say it in words of their own.
const PHRASES: &[&[&str]] = &[
    &["try", "again"],
    &["trying", "again"],
    &["try", "once", "more"],
    &["apologize"],
    &["apologise"],
    &["apologies"],
    &["didnt", "work"],
    &["did", "not", "work"],
    &["didnt", "find"],
    &["did", "not", "find"],
    &["couldnt", "find"],
    &["could", "not", "find"],
    &["still", "not"],
    &["still", "fails"],
    &["still", "failing"],
    &["having", "difficulty"],
    &["having", "trouble"],
    &["having", "issues"],
    &["struggling"],
    &["unable", "to"],
];
/// Words that say no before what does not happen: `isn't working`, `not getting`.
fn is_denial(word: &str) -> bool {
    matches!(word, "not" | "isnt" | "arent" | "wasnt" | "werent")
}
/// Words that end like what happens and are something else.
const NOTHING_HAPPENS: &[&str] =
    &["going", "being", "doing", "anything", "something", "everything", "nothing", "using"];

/// Whether a reply begins with that.
pub(super) fn tells(text: &str) -> bool {
    let mut lower = first_chars(text, SAID_CHARS).to_ascii_lowercase();
    if lower.contains(['\'', '\u{2019}']) {
        lower.retain(|c| !matches!(c, '\'' | '\u{2019}'));
    }
    let mut words: Vec<&str> = Vec::with_capacity(lower.len().div_ceil(4));
    words.extend(lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()));
    let other_way = words.iter().enumerate().any(|(at, word)| {
        // A word or two may stand between: `a different search approach`.
        let near = words.iter().skip(at.saturating_add(1)).take(2);
        is_other(word) && near.into_iter().any(|word| WAYS.contains(word))
    });
    let fails = words.windows(2).any(|pair| match pair {
        [denial, act] => is_denial(denial) && act.ends_with("ing") && !NOTHING_HAPPENS.contains(act),
        _ => false,
    });
    other_way || fails || (0..words.len()).any(|at| begins_phrase(words.get(at..).unwrap_or_default()))
}

/// Whether one of the phrases stands first.
fn begins_phrase(words: &[&str]) -> bool {
    // Few words begin a phrase, and their first letters tell most others.
    let first = words.first().and_then(|word| word.bytes().next());
    first.is_some_and(|letter| b"tadcshu".contains(&letter)) && PHRASES.iter().any(|phrase| words.starts_with(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loop_2_restart_a_reply_that_tries_another_way_says_so() {
        for text in [
            "Let me try a different approach to find the file.",
            "I apologize for the error. Here is the fixed call.",
            "Thought: It didn\u{2019}t find the class, so I look in all files.",
            "That's not working. Another search strategy: all tests.",
            "I'll try again with the full path.",
            "The search isn't picking up all the files. Let me look deeper.",
        ] {
            assert!(tells(text), "{text}");
        }
    }

    #[test]
    fn loop_2_restart_a_reply_that_goes_on_does_not() {
        for text in [
            "Now I read the tests, then I change the parser.",
            "The tests pass. Next comes the documentation.",
            "I see two different files here; both need the new field.",
            "I am not going to touch the other module.",
            "",
        ] {
            assert!(!tells(text), "{text}");
        }
        let late = alloc::format!("{} let me try again", "a".repeat(SAID_CHARS));
        assert!(!tells(&late), "what stands far below is not what the reply says");
    }
}
