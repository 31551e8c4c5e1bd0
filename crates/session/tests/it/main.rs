//! A session as its users see it, on a real disk.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod driver;
mod safety_log;
mod session;
