//! Every bound of the page's server in one place.

use std::time::Duration;

/// Connections at once: a browser opens six for one page.
pub(super) const CONNECTIONS_MAX: usize = 128;
/// Streams of live updates at once.
pub(super) const STREAMS_MAX: usize = 24;
/// The longest head of a request.
pub(super) const HEAD_BYTES_MAX: usize = 16 << 10;
/// How long a client may take for the head of a request.
pub(super) const HEAD_WAIT: Duration = Duration::from_secs(5);
/// The longest body of a request.
pub(super) const BODY_BYTES_MAX: usize = 16 << 10;
/// How long a client may take for the body of a request.
pub(super) const BODY_WAIT: Duration = Duration::from_secs(5);
/// How long changes are gathered before they are told together.
pub(super) const GATHER: Duration = Duration::from_millis(15);
/// How often a silent stream says that it is there.
pub(super) const PING_EVERY: Duration = Duration::from_secs(15);
/// Changes that wait for a slow stream; one that falls behind is told to reload everything.
pub(super) const CHANGES_MAX: usize = 256;
