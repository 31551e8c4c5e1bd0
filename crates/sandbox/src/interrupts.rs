//! Someone asks this process to end: the terminal's interrupt, a polite kill, a hang-up. It is noted, and the caller ends in order.

use std::io;

use crate::sys;

/// Notes interrupts from now on instead of ending the process at once.
///
/// # Errors
/// When the system refuses to change what a signal does.
pub fn watch() -> io::Result<()> {
    sys::note_interrupts()
}

/// The signal that was last noted, if any; it stays noted.
#[must_use]
pub fn asked() -> Option<i32> {
    sys::interrupt_noted()
}
