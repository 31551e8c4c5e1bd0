//! Paths in what the model sees: relative to the workspace, whatever a program printed.
//!
//! Only the view for the model is rewritten; the bytes that a program wrote are kept as they were.

use std::path::PathBuf;

/// The text with the workspace's own path taken out of every path that begins with it.
pub(crate) fn relative(text: &str, roots: &[PathBuf]) -> String {
    let names: Vec<&str> = roots.iter().filter_map(|root| root.to_str()).collect();
    tripwire_observe::relative(text, &names)
}
