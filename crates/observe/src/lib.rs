//! From a raw call to the facts of an event: versioned pure functions that are called before the engine steps.
//!
//! The engine never sees a tool's arguments or output, only what is computed here: digests, a signature, flags, an
//! outcome and sketches. The journal stores these results, so that a replay does not depend on this module; a change
//! of any result is a change of [`OBSERVE_VERSION`].
//!
//! ```
//! use tripwire_observe::{RawCall, observe};
//!
//! let facts = observe(&RawCall {
//!     tool: "Bash",
//!     args: r#"{"command":"pytest tests/unit/test_foo.py"}"#,
//!     output: Some("1 failed, 5 passed in 0.12s"),
//!     ..RawCall::default()
//! });
//! assert_eq!(facts.action.signature.unwrap().as_str(), "Bash(cmd=pytest tests/*)");
//!
//! // What differs from run to run and means nothing is not in the result's digest.
//! let again = observe(&RawCall { tool: "Bash", output: Some("1 failed, 5 passed in 0.34s"), ..RawCall::default() });
//! assert_eq!(facts.result_digest, again.result_digest);
//! ```

#![no_std]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic
    )
)]

extern crate alloc;

mod arguments;
mod call;
pub mod chant;
mod clean;
mod commands;
mod digest;
mod duration;
mod error_kind;
mod facts;
mod gain;
mod hex;
mod json;
mod learned;
mod lines;
mod minhash;
mod names;
mod nature;
mod normal;
mod numerals;
mod observer;
mod outcome;
mod pages;
mod position;
mod programs;
mod random;
mod raw;
mod relative;
mod repeated;
mod result_word;
mod retry;
mod screen;
mod signature;
pub mod sse;
mod test_runs;
mod test_scripts;
mod text_files;
mod tools;
mod verdict;
mod volatile;
mod wording;
mod words;
mod work;

pub use clean::CleanCall;
pub use facts::Facts;
pub use lines::{ShellCall, shell_calls};
pub use minhash::sketch_of;
pub use nature::{Doing, Nature, nature};
pub use normal::{OBSERVED_BYTES_MAX, normalise};
pub use observer::{Observer, observe};
pub use raw::{Neighbours, RawCall};
pub use relative::relative;
pub use text_files::{is_code, is_plain_text, is_test_file};
pub use volatile::Volatility;

/// The version of everything that this module computes; the golden test changes with it.
pub const OBSERVE_VERSION: u32 = 6;

#[cfg(test)]
mod tests;
