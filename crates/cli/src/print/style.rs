//! Colour for people: only on a terminal, and not where `NO_COLOR` is set or the terminal says that it is dumb. What colour
//! says stands in the words too.

use std::io::{self, IsTerminal as _};

/// What a text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// All is well.
    Good,
    /// A person should look.
    Warning,
    /// Something is stopped or broken.
    Bad,
    /// The head of a table.
    Head,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Warning => "33",
            Self::Bad => "31",
            Self::Head => "1",
        }
    }
}

/// Whether standard output is coloured.
pub(crate) fn is_on() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    io::stdout().is_terminal() && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// A text in colour, where standard output is coloured.
pub(crate) fn paint(text: &str, tone: Tone) -> String {
    if is_on() && !text.trim().is_empty() { format!("\x1b[{}m{text}\x1b[0m", tone.code()) } else { text.to_owned() }
}
