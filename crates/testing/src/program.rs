//! Programs that a test writes and somebody else executes.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program, from another process: a file that this one had open for writing could not be executed for as long as a
/// child that another test forked meanwhile holds it too.
///
/// # Errors
/// When the process cannot be started or does not write the file.
pub fn write_program(path: &Path, text: &str) -> io::Result<()> {
    let script = "cat > \"$0\" && chmod 755 \"$0\"";
    let mut child = Command::new("sh").args(["-c", script]).arg(path).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes())?;
    }
    if child.wait()?.success() { Ok(()) } else { Err(io::Error::other("the program was not written")) }
}

/// Copies a program, from another process for the same reason.
///
/// # Errors
/// When the process cannot be started or does not copy the file.
pub fn copy_program(from: &Path, to: &Path) -> io::Result<()> {
    let copied = Command::new("cp").arg(from).arg(to).status()?;
    if copied.success() { Ok(()) } else { Err(io::Error::other("the program was not copied")) }
}
