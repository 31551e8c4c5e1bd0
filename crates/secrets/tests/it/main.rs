//! The redactor: what it must find, what it must leave, and that it is deterministic.

mod corpus;
mod encodings;
mod quiet;
mod values;

use tripwire_secrets::{RedactionKey, Redactor};

/// A redactor that knows no values.
fn redactor() -> Redactor {
    Redactor::new(RedactionKey::new([7; 32]))
}
