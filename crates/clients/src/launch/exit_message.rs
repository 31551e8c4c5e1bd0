//! What a client says at its end in its machine-readable output.

/// What a client said at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExitMessage {
    /// Its own word for the end, such as `completed` or `max_turns`.
    pub reason: Option<String>,
    /// An error in its words.
    pub error: Option<String>,
    /// What it said last.
    pub text: Option<String>,
}

/// What a line of output shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputShows {
    /// An answer of the model, or a call.
    Work,
    /// Something else. Complaints about a set-up come also from a client that has asked no model yet.
    Other,
}

/// The text of a value: a string's own, anything else as it is written.
pub(crate) fn shown(value: Option<&serde_json::Value>) -> Option<String> {
    value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// Whether a command line gives one of these flags this value.
pub(crate) fn has_value(words: &[String], flags: &[&str], value: &str) -> bool {
    let pair =
        words.windows(2).any(|pair| matches!(pair, [flag, given] if flags.contains(&flag.as_str()) && given == value));
    pair || flags.iter().any(|flag| words.iter().any(|word| *word == format!("{flag}={value}")))
}
