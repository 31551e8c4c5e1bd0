//! Ending a run from outside of it, before its time is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A way to end a run from another thread before its time is over. All clones mean the same run or runs.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Signals>);

#[derive(Debug, Default)]
struct Signals {
    raised: AtomicBool,
    begun: AtomicBool,
}

impl Interrupt {
    /// Ends the runs that were given this handle, within some milliseconds; one that has not begun will not begin.
    pub fn raise(&self) {
        self.0.raised.store(true, Ordering::SeqCst);
    }

    /// Takes it back, for the next run.
    pub fn clear(&self) {
        self.0.raised.store(false, Ordering::SeqCst);
    }

    /// Whether it was raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::SeqCst)
    }

    /// Whether a run came so far that its command may have begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::SeqCst)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn begin(&self) {
        self.0.begun.store(true, Ordering::SeqCst);
    }
}
