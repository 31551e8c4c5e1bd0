//! The one redactor: what looks like a secret in a text, or is known to be one, becomes a placeholder before the text is
//! hashed or stored (SECRET-1). The same secret gets the same placeholder under the same key, so that replays and the
//! detection of loops see what they would have seen (SECRET-2); without the key values cannot be tried against it.
//!
//! `shapes.rs` is the table of key formats; `assignment.rs` finds values by the name that they are assigned to,
//! `structured.rs` keys in blocks, URLs and headers, `encoded.rs` the same in base64 and percent signs.

#![no_std]

extern crate alloc;

mod assignment;
mod encoded;
mod known;
mod known_spellings;
mod placeholder;
mod randomness;
mod redactor;
mod scan;
mod secret;
mod shape;
mod shapes;
mod span;
mod stand_in;
mod structured;
mod vault;

pub use known::{KnownSecret, is_env_file, is_secret_name, of_env_file};
pub use placeholder::{RedactionKey, all_placeholders, is_placeholder};
pub use redactor::Redactor;
pub use secret::Secret;
pub use shape::{Letters, Piece, Shape};
pub use shapes::SHAPES;
pub use span::SecretSpan;
pub use vault::{UnresolvedError, Vault};
