//! A body that is read whole before anything is done with it: bounded in size, in time, and together with all others.

use crate::buffered::BufferShare;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use std::time::Duration;
use tokio::time::timeout;

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatherError {
    /// It is larger than one may be.
    TooLarge,
    /// All that is held at once is too large.
    PoolFull,
    /// It broke off, or took too long.
    Broken,
}

/// Pieces that become one; a single piece is not copied.
#[derive(Debug, Default)]
pub(crate) struct GatheredBytes {
    first: Bytes,
    joined: BytesMut,
}

impl GatheredBytes {
    /// How many bytes they are.
    pub(crate) fn len(&self) -> usize {
        self.first.len().max(self.joined.len())
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, data: Bytes) {
        if self.first.is_empty() {
            self.first = data;
            return;
        }
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(&data);
    }

    /// All of them.
    pub(crate) fn whole(self) -> Bytes {
        if self.joined.is_empty() { self.first } else { self.joined.freeze() }
    }
}

/// Reads a body of at most so many bytes, within so long.
pub(crate) async fn gather(
    body: Incoming,
    share: &mut BufferShare,
    bytes_max: usize,
    within: Duration,
) -> Result<Bytes, GatherError> {
    let gathered = async {
        let mut body = body;
        let mut gathered = GatheredBytes::default();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| GatherError::Broken)?.into_data() else { continue };
            let bytes = gathered.len() + data.len();
            if bytes > bytes_max {
                return Err(GatherError::TooLarge);
            }
            share.grow_to(bytes).map_err(|_| GatherError::PoolFull)?;
            gathered.push(data);
        }
        Ok(gathered.whole())
    };
    timeout(within, gathered).await.unwrap_or(Err(GatherError::Broken))
}
