//! Bytes that are held at once: a bound for all of them together, so that memory never runs out.

use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All bytes that are held.
#[derive(Debug, Clone, Default)]
pub(crate) struct BufferPool(Arc<AtomicUsize>);

/// The share of one request or reply; it ends with this value.
#[derive(Debug)]
pub(crate) struct BufferShare {
    pool: BufferPool,
    bytes: usize,
    pool_max: usize,
}

/// All shares together would be too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolFull;

impl BufferPool {
    /// An empty share of a pool that may be so large.
    pub(crate) fn share(&self, pool_max: usize) -> BufferShare {
        BufferShare { pool: self.clone(), bytes: 0, pool_max }
    }
}

impl BufferShare {
    /// Makes the share this large, where it is smaller.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), PoolFull> {
        let more = bytes.saturating_sub(self.bytes);
        let before = self.pool.0.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        if before.saturating_add(more) > self.pool_max { Err(PoolFull) } else { Ok(()) }
    }

    /// Gives back what is more than this.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.pool.0.fetch_sub(less, Ordering::Relaxed);
        self.bytes -= less;
    }

    /// Bytes that this is the share of: it ends with the last of their holders.
    pub(crate) fn holding(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(SharedBytes { bytes, _share: self })
    }
}

/// Bytes with their share of the pool.
struct SharedBytes {
    bytes: Bytes,
    _share: BufferShare,
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for BufferShare {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_one_bound_and_end_with_their_requests() {
        let pool = BufferPool::default();
        let (mut one, mut other) = (pool.share(10), pool.share(10));
        assert_eq!((one.grow_to(7), other.grow_to(3), other.grow_to(4)), (Ok(()), Ok(()), Err(PoolFull)));
        one.shrink_to(2);
        assert_eq!(other.grow_to(8), Ok(()));
        drop((one, other));
        assert_eq!(pool.share(10).grow_to(10), Ok(()));
    }

    #[test]
    fn bytes_keep_their_share_until_the_last_of_their_holders_is_gone() {
        let pool = BufferPool::default();
        let mut share = pool.share(10);
        share.grow_to(7).unwrap();
        let held = share.holding(Bytes::from_static(b"1234567"));
        let part = held.slice(5..);
        drop(held);
        assert_eq!((part.as_ref(), pool.share(10).grow_to(4)), (&b"67"[..], Err(PoolFull)));
        drop(part);
        assert_eq!(pool.share(10).grow_to(10), Ok(()));
    }
}
