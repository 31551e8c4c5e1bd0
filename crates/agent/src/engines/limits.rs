//! The bounds of one model call, in one place. An answer of 10 MB must pass; nothing may grow without end.

use std::time::Duration;
use tripwire_observe::sse::LINE_BYTES_MAX;

/// Raw bytes of one answer. The Responses API says a long text five times over (pieces, three `done` events, the whole
/// response), so this is several times [`TEXT_BYTES_MAX`].
pub(super) const RAW_BYTES_MAX: usize = 96 << 20;

/// The text of one answer.
pub(super) const TEXT_BYTES_MAX: usize = 16 << 20;

/// The arguments of one call.
pub(super) const ARGUMENT_BYTES_MAX: usize = 16 << 20;

/// Calls in one answer.
pub(super) const CALLS_MAX: usize = 128;

/// The body of an error, of which people see only the beginning.
pub(super) const ERROR_BODY_BYTES_MAX: usize = 64 << 10;

/// How long the body of an error may take once its status is known: the status is worth more than a complete excuse.
pub(super) const ERROR_BODY_PATIENCE: Duration = Duration::from_secs(2);

/// What is shown of foreign text in one of our messages.
pub(super) const EXCERPT_CHARS_MAX: usize = 400;

/// The lookup of a host name. The thread that does it cannot be interrupted, only left behind.
pub(super) const RESOLVE_MAX: Duration = Duration::from_secs(10);

/// Connecting, all addresses together.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(20);

/// The longest silence of a remote model inside an answer that has begun: providers send pings or thoughts in between.
/// A model on this machine may think longer; only the deadline ends that.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(120);

/// The longest wait that we believe a provider.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Pieces of an answer that may wait between the connection and the listener.
pub(super) const PIECES_WAITING_MAX: usize = 16;

/// Bytes read from a connection at once.
pub(super) const READ_BYTES: usize = 64 << 10;

/// Answers whose opaque parts are kept for the next question.
pub(super) const KEPT_ANSWERS_MAX: usize = 256;

const _: () = assert!(TEXT_BYTES_MAX < LINE_BYTES_MAX && LINE_BYTES_MAX < RAW_BYTES_MAX, "the bounds must nest");
const _: () = assert!(5 * TEXT_BYTES_MAX <= RAW_BYTES_MAX, "a text of full length is said five times by one provider");
