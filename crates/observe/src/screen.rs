//! Answers that are no results: what is on a screen and not in the text, and words that something still runs. Equal texts then
//! say nothing about equal results.

use super::words;

/// A longer text says something of its own.
const PICTURE_BYTES_MAX: usize = 60;
/// Words with which tools say that there is a picture.
const PICTURES: [&str; 4] = ["image", "screenshot", "picture", "photo"];
/// Words that may stand around them.
const AROUND: [&str; 22] = [
    "a",
    "the",
    "an",
    "is",
    "was",
    "here",
    "of",
    "page",
    "screen",
    "taken",
    "took",
    "captured",
    "attached",
    "omitted",
    "removed",
    "saved",
    "returned",
    "png",
    "jpeg",
    "jpg",
    "data",
    "successfully",
];
/// Words of an answer that says no more than that something was done.
const NOD_WORDS_MAX: usize = 3;

/// Whether a text stands for a picture and says nothing else: `[image]`, `Screenshot taken.`
pub(super) fn is_picture(output: &str) -> bool {
    if output.len() > PICTURE_BYTES_MAX {
        return false;
    }
    let lower = output.to_ascii_lowercase();
    let mut shows = false;
    for word in words::words(&lower) {
        let picture = PICTURES.contains(&word);
        if !picture && !AROUND.contains(&word) {
            return false;
        }
        shows |= picture;
    }
    shows
}

/// Whether a short answer says that something is not done yet: `(still running, no new lines)`, `{"state":"RUNNING"}`.
pub(super) fn tells_of_waiting(output: &str) -> bool {
    const BYTES_MAX: usize = 200;
    const PHRASES: [&str; 7] = [
        "still running",
        "still pending",
        "still in progress",
        "still queued",
        "not finished yet",
        "not ready yet",
        "still waiting",
    ];
    const STATES: [&str; 5] = ["running", "pending", "queued", "in_progress", "in progress"];
    if output.len() > BYTES_MAX {
        return false;
    }
    let lower = output.to_ascii_lowercase();
    let state = ["\"state\"", "\"status\"", "\"phase\"", "state:", "status:", "phase:"].iter().find_map(|name| {
        let at = lower.find(name)?.checked_add(name.len())?;
        Some(lower.get(at..)?.trim_start_matches([':', ' ', '"']))
    });
    let alone = lower.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    PHRASES.iter().any(|phrase| lower.contains(phrase))
        || STATES.iter().any(|known| alone == *known || state.is_some_and(|state| state.starts_with(known)))
}

/// Whether a text only says that it was done: `ok`, `Pressed Tab`.
pub(super) fn is_nod(output: &str) -> bool {
    let count = words::words(output).take(NOD_WORDS_MAX.saturating_add(1)).count();
    count <= NOD_WORDS_MAX && !output.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::{RawCall, observe};
    use tripwire_core::chain::event::Flag;

    fn is_silent(tool: &str, args: &str, output: &str) -> bool {
        let raw = RawCall { tool, args, output: Some(output), ..RawCall::default() };
        observe(&raw).flags.has(Flag::Silent)
    }

    #[test]
    fn loop_3_a_picture_and_a_nod_after_a_key_say_nothing() {
        for (tool, args, output) in [
            ("screenshot", "{}", "[image]"),
            ("browser_take_screenshot", "{}", "Screenshot taken."),
            ("view_screen", "{}", "<image png data omitted>"),
            ("press_key", r#"{"key":"Down"}"#, "ok"),
            ("computer", r#"{"action":"scroll"}"#, "Scrolled down"),
        ] {
            assert!(is_silent(tool, args, output), "{tool} {output}");
        }
    }

    #[test]
    fn loop_3_a_text_that_says_something_is_a_result() {
        for (tool, args, output) in [
            ("screenshot", "{}", "image 3 shows a login form"),
            ("describe_image", "{}", "A screenshot of the page with an error at the top"),
            ("press_key", r#"{"key":"Down"}"#, "the list has no further entry"),
            ("get_state", "{}", "ok"),
            ("click", "{}", "page 4"),
        ] {
            assert!(!is_silent(tool, args, output), "{tool} {output}");
        }
    }

    #[test]
    fn loop_3_an_answer_that_something_still_runs_is_a_look_and_other_answers_are_none() {
        let waits = |output: &str| {
            let raw = RawCall { tool: "get_job", args: r#"{"id":"j1"}"#, output: Some(output), ..RawCall::default() };
            observe(&raw).flags.has(Flag::Wait)
        };
        for output in ["(still running, no new lines)", r#"{"state":"RUNNING"}"#, "status: pending", "'pending'"] {
            assert!(waits(output), "{output}");
        }
        let line =
            RawCall { tool: "Bash", args: "gh run view 1", output: Some("status: pending"), ..RawCall::default() };
        assert!(!observe(&line).flags.has(Flag::Wait), "a command line can sleep before it looks");
        for output in ["Server is running on port 3000", r#"{"state":"DONE"}"#, "no pending migrations", "done"] {
            assert!(!waits(output), "{output}");
        }
    }
}
