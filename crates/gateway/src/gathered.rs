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

/// Reads a body of at most so many bytes, within so long.
pub(crate) async fn gather(
    body: Incoming,
    share: &mut BufferShare,
    bytes_max: usize,
    within: Duration,
) -> Result<Bytes, GatherError> {
    let gathered = async {
        let mut body = body;
        let (mut first, mut joined) = (Bytes::new(), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| GatherError::Broken)?.into_data() else { continue };
            let bytes = first.len().max(joined.len()) + data.len();
            if bytes > bytes_max {
                return Err(GatherError::TooLarge);
            }
            share.grow_to(bytes).map_err(|_| GatherError::PoolFull)?;
            if first.is_empty() {
                first = data;
                continue;
            }
            if joined.is_empty() {
                joined.extend_from_slice(&first);
            }
            joined.extend_from_slice(&data);
        }
        Ok(if joined.is_empty() { first } else { joined.freeze() })
    };
    timeout(within, gathered).await.unwrap_or(Err(GatherError::Broken))
}
