//! Cassettes: answers written down beforehand, by hand or by `--record`, one JSON object on each line.
//!
//! ```text
//! {"cassette": 1, "about": "finds the bug"}
//! {"text": "I look first.", "calls": [{"tool": "read_file", "arguments": {"path": "sum.sh"}}]}
//! {"expect": "lines_shown", "text": "I see it.", "usage": {"input": 900, "output": 12}}
//! {"error": {"kind": "overloaded", "retryAfterMs": 2000}}
//! ```
//!
//! The first object says the version. Empty lines and lines that begin with `#` are skipped. The same may be one JSON
//! object with the list `answers`. A field that is not known is an error: a misspelt one must not be ignored in silence.

mod format;
mod question;
mod record;
mod tape;

pub use format::{load, parse};
pub use question::digest;
pub(super) use question::latest_words;
pub use record::{Binding, Recorder};
pub use tape::{Cassette, CassetteEntry, CassetteError, Play, VERSION};
