//! What flows from one command to the next, as far as it can be known without running it.

use crate::line::field::{Field, Origin, StandIn};

/// What flows from one command to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Nothing, or the terminal.
    Closed,
    /// Exactly this text.
    Known(String),
    /// A word or a number that is no path.
    Name(StandIn),
    /// Names of files that were found.
    Paths(Paths),
    /// What `git diff` shows: changes of the work tree.
    Changes(Since),
    /// Bytes from the network.
    Downloaded,
    /// Text that was transformed so that it cannot be read here.
    Decoded,
    /// What a local command writes.
    Unknown,
}

/// Since when `git diff` shows changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// Since they were staged.
    Index,
    /// Since the last commit.
    Commit,
}

/// Names of files, as a command lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths(pub(crate) Vec<String>);

impl Paths {
    /// One name a line.
    pub(crate) fn listed(&self) -> String {
        self.0.join("\n")
    }
}

impl Stream {
    /// The stream of a text that may hold something unknown.
    pub(crate) fn of(field: &Field) -> Self {
        match (field.known(), field.foreign()) {
            (Some(text), _) => Self::Known(text),
            (None, Some(Origin::Downloaded)) => Self::Downloaded,
            (None, Some(Origin::Decoded)) => Self::Decoded,
            (None, Some(Origin::Variable(_) | Origin::Output) | None) => Self::Unknown,
        }
    }

    /// The text, if it is known.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Closed
            | Self::Name(_)
            | Self::Paths(_)
            | Self::Changes(_)
            | Self::Downloaded
            | Self::Decoded
            | Self::Unknown => None,
        }
    }

    /// What two commands write one after the other.
    pub(crate) fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Closed, other) | (other, Self::Closed) => other,
            (Self::Known(first), Self::Known(second)) => Self::Known(first + &second),
            (Self::Downloaded, _) | (_, Self::Downloaded) => Self::Downloaded,
            (Self::Decoded, _) | (_, Self::Decoded) => Self::Decoded,
            (Self::Paths(first), Self::Paths(second)) => Self::Paths(Paths([first.0, second.0].concat())),
            (
                Self::Known(_) | Self::Name(_) | Self::Paths(_) | Self::Changes(_) | Self::Unknown,
                Self::Known(_) | Self::Name(_) | Self::Paths(_) | Self::Changes(_) | Self::Unknown,
            ) => Self::Unknown,
        }
    }
}
