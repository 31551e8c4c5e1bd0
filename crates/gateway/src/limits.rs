//! Every bound of the gateway in one place.

use std::time::Duration;

/// The longest request.
pub(crate) const REQUEST_BYTES_MAX: usize = 64 << 20;
/// The most bytes of requests that are held at once, where the configuration says nothing else.
pub(crate) const BUFFERED_BYTES_MAX: usize = 512 << 20;
/// The longest head of a request.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// How long a client may take for the head of a request.
pub(crate) const HEAD_WAIT: Duration = Duration::from_secs(20);
/// How long a client may take for the body of a request.
pub(crate) const BODY_WAIT: Duration = Duration::from_secs(120);
/// How long a connection to a provider may take.
pub(crate) const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// How long a provider may take to its first byte: a model may think for minutes before it says anything.
pub(crate) const FIRST_BYTE_WAIT: Duration = Duration::from_secs(600);
/// How long a provider may fall silent inside a reply.
pub(crate) const IDLE_WAIT: Duration = Duration::from_secs(300);
/// How long a request is held while the workspace is paused; most clients give up after ten minutes.
pub(crate) const PAUSE_WAIT: Duration = Duration::from_secs(570);
/// After how long a stream that waits gets its head and a ping, and how often another one.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(5);
/// The longest error of a provider that is told inside a stream.
pub(crate) const ERROR_BYTES_MAX: usize = 64 << 10;
/// The longest reply that is no stream and is passed on in one piece.
pub(crate) const WHOLE_BYTES_MAX: u64 = 256 << 10;
/// The longest beginning of a stream that is read before the model says something.
pub(crate) const BEGUN_BYTES_MAX: usize = 256 << 10;
/// The most of a reply that waits for the guard of a run.
pub(crate) const HELD_BYTES_MAX: usize = 32 << 20;
/// The longest event of a stream that waits for its end before it goes on.
pub(crate) const PARTIAL_BYTES_MAX: usize = 1 << 20;
/// How often the control files are looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(15);
/// How often the ledger is made durable.
pub(crate) const SYNC_EVERY: Duration = Duration::from_millis(1_000);
/// How long open replies may take after SIGTERM.
pub(crate) const DRAIN_WAIT: Duration = Duration::from_secs(10);
/// How long what is cut after that may take to be settled and told.
pub(crate) const CUT_WAIT: Duration = Duration::from_millis(500);
/// How long a connection to a provider may be idle and is still used again: providers keep them open for minutes.
pub(crate) const REUSED_WITHIN: Duration = Duration::from_secs(90);
/// The same for a tool server. The usual one is a Node program, which closes after five seconds.
pub(crate) const SERVER_REUSED_WITHIN: Duration = Duration::from_secs(2);
/// How long a tool server may take to its answer.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);
/// Idle connections to a provider that are kept.
pub(crate) const IDLE_CONNECTIONS_MAX: usize = 64;
/// Descriptors that are not given to connections: journal, listener, providers.
pub(crate) const DESCRIPTORS_KEPT: u64 = 64;
