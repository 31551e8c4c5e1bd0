//! The bytes of requests that are held at once: a bound for all of them together, so that memory never runs out.

use crate::refusal::{RefusalKind, RefusedRequest};
use crate::shared::Shared;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The share of one request; it ends with this value.
pub(crate) struct BufferShare {
    shared: Arc<Shared>,
    bytes: usize,
}

impl BufferShare {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), bytes: 0 }
    }

    /// Makes the share this large; refused where all of them together would be too large.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), RefusedRequest> {
        let more = bytes.saturating_sub(self.bytes);
        let before = self.shared.buffered.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        if before.saturating_add(more) > self.shared.config().buffered_bytes_max {
            let hint = "try again in a moment, or raise `buffered_mib` in the configuration";
            return Err(RefusedRequest::new(RefusalKind::Busy, "the requests under way hold too many bytes", hint));
        }
        Ok(())
    }
}

impl Drop for BufferShare {
    fn drop(&mut self) {
        self.shared.buffered.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
