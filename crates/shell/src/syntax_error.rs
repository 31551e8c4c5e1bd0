//! Why a text cannot be read as a command line.

/// Deepest nesting of commands and expansions inside each other; people stay below 10.
pub const DEPTH_MAX: usize = 40;

/// Why a text is no command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// bash would refuse it as well, and run nothing of it.
    #[error("{0}")]
    Refused(&'static str),
    /// It is nested deeper than anybody writes.
    #[error("it is nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
}
