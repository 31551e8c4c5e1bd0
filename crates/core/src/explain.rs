//! What a person reads beside an error's own message: the next step, and how a command ends with it.

use alloc::borrow::Cow;

/// An error that says what to do about it. Every public error type of ours is one, so that no caller has to match on the
/// variants of another crate's errors.
pub trait Explain: core::error::Error {
    /// The next step, as a sentence with the command to type; lower case, no full stop.
    fn hint(&self) -> Cow<'_, str>;

    /// What kind of failure it is, from which a command's exit code follows.
    fn exit_class(&self) -> ExitClass {
        ExitClass::BadInput
    }
}

/// The kinds of failures that a caller treats apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitClass {
    /// Wrong usage or bad input; nothing was done with it.
    BadInput,
    /// Something waits for a person.
    Held,
    /// The money is used up.
    Money,
    /// A person stopped it.
    Stopped,
    /// Refused: permission, review or identity.
    Refused,
    /// What was to be checked does not hold, or the guard itself cannot do its work.
    DoesNotHold,
    /// A defect of tripwire itself.
    Internal,
}
