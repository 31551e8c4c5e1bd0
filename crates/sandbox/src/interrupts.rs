//! Someone asks this process to end: the terminal's interrupt, a polite kill, a hang-up. It is noted, and the caller ends in order.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signal that asked this process to end; 0 for none.
static NOTED: AtomicI32 = AtomicI32::new(0);

/// Notes interrupts from now on instead of ending the process at once.
///
/// # Errors
/// When the system refuses to change what a signal does.
pub fn watch() -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int) = note;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: all bytes zero is a valid value of this plain C structure.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler stores one atomic number and nothing else, which is allowed in a handler; no old action is asked for.
        let result = unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The signal that was last noted, if any; it stays noted.
#[must_use]
pub fn asked() -> Option<i32> {
    Some(NOTED.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

extern "C" fn note(signal: libc::c_int) {
    NOTED.store(signal, Ordering::SeqCst);
}
