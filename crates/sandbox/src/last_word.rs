//! A last word: what a process says, and how it ends, if its time is over before it has spoken.
//!
//! For processes whose silence would be taken for consent. Whatever they wait for, the kernel's clock interrupts it; no
//! thread is needed, so a process that speaks in time pays for two system calls.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// What to say, and the code to end with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastWord {
    /// To standard output.
    pub stdout: Vec<u8>,
    /// To standard error.
    pub stderr: Vec<u8>,
    /// The exit code.
    pub exit_code: u8,
}

/// INVARIANT: null, or a box that was leaked for the caller that swaps it out.
static WORD: AtomicPtr<LastWord> = AtomicPtr::new(ptr::null_mut());

impl LastWord {
    /// Leaves it to be said after this time, unless it is taken back before.
    ///
    /// # Errors
    /// When the system refuses the clock.
    pub fn leave(self, within: Duration) -> io::Result<()> {
        let handler: extern "C" fn(libc::c_int) = speak;
        // SAFETY: all bytes zero is a valid value of this plain C structure.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        WORD.store(Box::into_raw(Box::new(self)), Ordering::SeqCst);
        // SAFETY: the handler swaps a pointer, writes and ends the process, all allowed in a handler; no old action is asked for.
        let result = unsafe { libc::sigaction(libc::SIGALRM, &raw const action, ptr::null_mut()) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let seconds = libc::time_t::try_from(within.as_secs()).unwrap_or(libc::time_t::MAX);
        let value = libc::timeval { tv_sec: seconds, tv_usec: within.subsec_micros().into() };
        let clock = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: value };
        // SAFETY: the kernel reads the structure, which lives across the call; no old clock is asked for.
        let result = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const clock, ptr::null_mut()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Takes the last word back, because the process speaks now. If it is being said already, this waits for the end.
pub fn take_back() {
    while WORD.swap(ptr::null_mut(), Ordering::SeqCst).is_null() {
        std::thread::sleep(Duration::from_millis(100));
    }
}

extern "C" fn speak(_signal: libc::c_int) {
    let word = WORD.swap(ptr::null_mut(), Ordering::SeqCst);
    // SAFETY: a pointer that is not null came from a box, and who swapped it out is its only owner; it is never freed.
    let Some(word) = (unsafe { word.as_ref() }) else { return };
    for (stream, text) in [(libc::STDERR_FILENO, &word.stderr), (libc::STDOUT_FILENO, &word.stdout)] {
        let mut rest = text.as_slice();
        while !rest.is_empty() {
            // SAFETY: the bytes live for good, and the length is theirs.
            let written = unsafe { libc::write(stream, rest.as_ptr().cast(), rest.len()) };
            let Some(left) = usize::try_from(written).ok().and_then(|count| rest.get(count..)) else { break };
            rest = left;
        }
    }
    crate::sys::exit_now(i32::from(word.exit_code));
}
