//! Printing: one object for programs, or lines for a person.

use crate::error::Problem;
use crate::print::{Form, Out};
use serde_json::json;
use std::path::Path;

/// Prints one object, or lines for a person.
pub(super) fn print_lines(form: Form, object: &serde_json::Value, lines: &[String]) -> Result<(), Problem> {
    let mut out = Out::lock();
    if form.json {
        out.line(&object.to_string())?;
    } else {
        for line in lines {
            out.prose(line)?;
        }
    }
    out.flush()
}

/// A path for programs.
pub(super) fn shown(path: &Path) -> serde_json::Value {
    json!(path.to_string_lossy())
}
