//! Tool servers over HTTP: the client speaks Streamable HTTP to us, we speak it to the server, and every message between them is
//! shown to a gate.
//!
//! Nothing here knows what a message says. The gate, which is `mcp`'s, says what goes on, in which form, and what is answered in
//! its place; this module moves requests, replies and streams of events, and keeps everybody out who has no business here.

mod entrance;
mod event;
mod exchange;
mod lines;
mod messages;
mod moving;
mod piped;
mod refused;
mod url;

pub use event::{ReadEvent, events_in};
pub use messages::{AskedKey, ClientPresence, Posted, PostedForm, Said, ToolConversation, ToolMessages};
pub use piped::{PipeError, PipedServer, pipe};
pub use url::{ToolServerUrl, UrlError};

use crate::body::ReplyBody;
use crate::limits::{HEAD_BYTES_MAX, HEAD_WAIT};
use crate::upstream::{ProxySettings, Upstreams};
use entrance::Entrance;
use exchange::Carrier;
use hyper::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use refused::Turned;
use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;

/// Connections of clients that are served at the same time.
const CONNECTIONS_MAX: usize = 4_096;
/// Threads for messages that are asked about, beside those for calls that wait.
const ASKING_THREADS: usize = 64;
/// How long what is under way may take after the end was asked for.
const CLOSING_WITHIN: Duration = Duration::from_millis(500);

/// A server to which messages are carried.
pub struct ToolServerOptions {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The server's address.
    pub url: ToolServerUrl,
    /// The token that clients have to present; demanded where others reach the address.
    pub token: Option<Digest>,
    /// Origins that may ask beside our own.
    pub origins: Vec<String>,
    /// The value of a variable of the environment, for `HTTPS_PROXY` and `NO_PROXY`.
    pub env: fn(&str) -> Option<String>,
    /// Calls that may wait at the same time, each on a thread.
    pub waiting_max: usize,
}

/// Why messages are not carried.
#[derive(Debug, thiserror::Error)]
pub enum ToolServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// Others could reach it, and nobody needs a token.
    #[error("`{address}` can be reached by others, and no token is demanded of them")]
    NoToken {
        /// The address.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("the system gives no runtime: {0}")]
    Runtime(io::Error),
}

impl Explain for ToolServerError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Listen { .. } => "choose another address with `--listen 127.0.0.1:0`".into(),
            Self::NoToken { .. } => "name a file with a token by `--token-file FILE`, or listen on 127.0.0.1".into(),
            Self::Runtime(_) => "raise the limits of this process, then run it again".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Listen { .. } => ExitClass::BadInput,
            Self::NoToken { .. } => ExitClass::Refused,
            Self::Runtime(_) => ExitClass::Internal,
        }
    }
}

/// Carries messages until a signal ends it. `ready` hears the address once it listens.
///
/// # Errors
/// When it cannot begin.
pub fn serve(
    options: ToolServerOptions,
    messages: Arc<dyn ToolMessages>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ToolServerError> {
    if !options.listen.ip().is_loopback() && options.token.is_none() {
        return Err(ToolServerError::NoToken { address: options.listen });
    }
    let threads = options.waiting_max.saturating_add(ASKING_THREADS);
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(threads).enable_all().build();
    let runtime = runtime.map_err(ToolServerError::Runtime)?;
    let served = runtime.block_on(run(options, Arc::clone(&messages), ready));
    messages.close();
    runtime.shutdown_timeout(CLOSING_WITHIN);
    served
}

async fn run(
    options: ToolServerOptions,
    messages: Arc<dyn ToolMessages>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ToolServerError> {
    let cannot = |error| ToolServerError::Listen { address: options.listen, error };
    let listener = TcpListener::bind(options.listen).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let carrier = Arc::new(Carrier {
        entrance: Entrance::new(address, options.token, options.origins.clone()),
        upstreams: Upstreams::new(ProxySettings::from_env(&options.env)),
        url: options.url.clone(),
        messages,
        buffered: crate::buffered::BufferPool::default(),
    });
    let mut terminate = signal(SignalKind::terminate()).map_err(ToolServerError::Runtime)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ToolServerError::Runtime)?;
    let open = Arc::new(AtomicUsize::new(0));
    ready(address);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => admit(&carrier, &open, socket),
                // Out of descriptors: those that are open go on, and some will be free soon.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        }
    }
}

/// Serves one connection, or says that there are too many.
fn admit(carrier: &Arc<Carrier>, open: &Arc<AtomicUsize>, socket: TcpStream) {
    let (carrier, open) = (Arc::clone(carrier), Arc::clone(open));
    let is_full = open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX;
    // A socket that cannot be told so only answers a little later.
    drop(socket.set_nodelay(true));
    tokio::spawn(async move {
        let service = service_fn(move |request| {
            let carrier = Arc::clone(&carrier);
            async move {
                if is_full {
                    return Ok::<Response<ReplyBody>, Infallible>(Turned::busy("too many connections").reply());
                }
                Ok(exchange::answer(carrier, request).await)
            }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT).max_buf_size(HEAD_BYTES_MAX);
        server.keep_alive(!is_full).half_close(false);
        // A client that breaks the rules of HTTP gets hyper's answer; there is nobody else to tell.
        drop(server.serve_connection(TokioIo::new(socket), service).await);
        open.fetch_sub(1, Ordering::Relaxed);
    });
}
