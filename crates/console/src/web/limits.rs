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
/// Rows that one answer holds.
pub(super) const ROWS_MAX: usize = 400;
/// How long one answer may look for rows that pass a filter.
pub(super) const FILTER_WAIT: Duration = Duration::from_millis(250);
/// Rows that a filter looks at between two looks at the clock.
pub(super) const FILTER_STEP: u64 = 512;
/// Sessions that are kept open, each with its walk.
pub(super) const OPENED_MAX: usize = 12;
/// Sessions of one workspace in the list.
pub(super) const PER_WORKSPACE_MAX: usize = 1_000;
/// A session that was silent for so long is looked at again only when its files change.
pub(super) const SETTLED_AFTER_MS: u64 = 15 * 60 * 1_000;
/// How long the summary of a live session holds while its files do not change.
pub(super) const SUMMARY_FOR: Duration = Duration::from_secs(3);
/// How long the secrets of a workspace are known before they are read again.
pub(super) const REDACTOR_FOR: Duration = Duration::from_secs(10);
/// How long changes are gathered before they are told together.
pub(super) const GATHER: Duration = Duration::from_millis(15);
/// How often a silent stream says that it is there.
pub(super) const PING_EVERY: Duration = Duration::from_secs(15);
/// Changes that wait for a slow stream; one that falls behind is told to load everything anew.
pub(super) const CHANGES_MAX: usize = 256;
