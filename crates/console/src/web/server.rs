//! The server: it listens on this machine only, watches the journals and ends with a signal.

use super::guard::Guard;
use super::limits::{CONNECTIONS_MAX, HEAD_BYTES_MAX, HEAD_WAIT};
use super::pages;
use super::reply::NotDone;
use super::shared::Shared;
use crate::host::Host;
use crate::live;
use hyper::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tripwire_core::explain::{ExitClass, Explain};

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// An address of this machine.
    Address(SocketAddr),
    /// A socket of the file system, for one person's own tunnel.
    Socket(PathBuf),
}

/// What a server needs to know.
pub struct ServeOptions {
    /// Where to listen.
    pub listen: Listen,
    /// The person and the machine.
    pub host: Host,
    /// After how long to end by itself, if it shall.
    pub ends_after: Option<Duration>,
}

/// Why the page is not served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// Others could reach the address.
    #[error("`{address}` can be reached by others, and this page has no TLS yet")]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on `{place}`: {error}")]
    Listen {
        /// The address or the socket.
        place: String,
        /// Why.
        error: io::Error,
    },
    /// The system refused.
    #[error("the system gives no runtime or no randomness: {0}")]
    Runtime(io::Error),
}

impl Explain for WebError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Open { .. } => {
                "listen on 127.0.0.1 or `unix:PATH`, and reach it from elsewhere through `ssh -L 8080:127.0.0.1:PORT`"
                    .into()
            }
            Self::Listen { .. } => "choose another place with `--listen 127.0.0.1:0` or `--listen unix:PATH`".into(),
            Self::Runtime(_) => "raise the limits of this process, then run it again".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Open { .. } => ExitClass::Refused,
            Self::Listen { .. } => ExitClass::BadInput,
            Self::Runtime(_) => ExitClass::Internal,
        }
    }
}

/// Where the page is served, and the secret of its link.
#[derive(Debug)]
pub struct Ready {
    /// The address behind which it is, without the secret.
    pub place: String,
    /// What stands behind the `#` of the link.
    pub secret: String,
}

/// Serves until a signal ends it. `ready` hears of the link once it listens.
///
/// # Errors
/// When it cannot begin.
pub fn serve(options: ServeOptions, ready: impl FnOnce(Ready)) -> Result<(), WebError> {
    if let Listen::Address(address) = &options.listen
        && !address.ip().is_loopback()
    {
        return Err(WebError::Open { address: *address });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(WebError::Runtime)?;
    let served = runtime.block_on(run(options, ready));
    // Walks over long journals need not be waited for: they only read.
    runtime.shutdown_background();
    served
}

async fn run(options: ServeOptions, ready: impl FnOnce(Ready)) -> Result<(), WebError> {
    let ServeOptions { listen, host, ends_after } = options;
    let listener = Listener::bind(&listen).await?;
    let (guard, secret) = Guard::new(listener.port()).map_err(WebError::Runtime)?;
    let shared = Arc::new(Shared::new(host.clone(), guard));
    let heard = Arc::downgrade(&shared);
    std::thread::spawn(move || {
        live::watch(&host, move |change| match heard.upgrade() {
            Some(shared) => {
                shared.notice(change);
                true
            }
            None => false,
        });
    });
    // The first page finds what it shows already known.
    let first = Arc::clone(&shared);
    std::thread::spawn(move || drop(first.model.sessions()));
    let mut terminate = signal(SignalKind::terminate()).map_err(WebError::Runtime)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(WebError::Runtime)?;
    let ends_at = ends_after.map(|after| tokio::time::Instant::now() + after);
    ready(Ready { place: listener.place(), secret: secret.0 });
    loop {
        tokio::select! {
            accepted = listener.accept(&shared) => if accepted.is_err() {
                // Out of descriptors: those that are open go on, and some will be free soon.
                tokio::time::sleep(Duration::from_millis(20)).await;
            },
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            () = until(ends_at) => return Ok(()),
        }
    }
}

/// Waits for a time; for ever where there is none.
async fn until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

enum Listener {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener, SocketFile),
}

/// A socket of the file system, removed at the end.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // One that is gone already is no loss.
        drop(std::fs::remove_file(&self.0));
    }
}

impl Listener {
    async fn bind(listen: &Listen) -> Result<Self, WebError> {
        match listen {
            Listen::Address(address) => {
                let cannot = |error| WebError::Listen { place: address.to_string(), error };
                let listener = TcpListener::bind(address).await.map_err(cannot)?;
                let address = listener.local_addr().map_err(cannot)?;
                Ok(Self::Tcp(listener, address))
            }
            Listen::Socket(path) => {
                use std::os::unix::fs::PermissionsExt as _;
                let cannot = |error| WebError::Listen { place: path.display().to_string(), error };
                let listener = UnixListener::bind(path).map_err(cannot)?;
                let file = SocketFile(path.clone());
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(cannot)?;
                Ok(Self::Unix(listener, file))
            }
        }
    }

    const fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(_, address) => Some(address.port()),
            Self::Unix(..) => None,
        }
    }

    fn place(&self) -> String {
        match self {
            Self::Tcp(_, address) => format!("http://{address}/"),
            Self::Unix(_, file) => format!("unix:{}", file.0.display()),
        }
    }

    async fn accept(&self, shared: &Arc<Shared>) -> io::Result<()> {
        match self {
            Self::Tcp(listener, _) => {
                let (socket, _) = listener.accept().await?;
                // A socket that cannot be told so only answers a little later.
                drop(socket.set_nodelay(true));
                admit(shared, socket);
            }
            Self::Unix(listener, _) => admit(shared, listener.accept().await?.0),
        }
        Ok(())
    }
}

/// Serves one connection, or says that there are too many.
fn admit(shared: &Arc<Shared>, socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let shared = Arc::clone(shared);
    let is_full = shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX;
    tokio::spawn(async move {
        let of_all = Arc::clone(&shared);
        let service = service_fn(move |request| {
            let shared = Arc::clone(&shared);
            async move {
                if is_full {
                    let busy = NotDone::new(StatusCode::SERVICE_UNAVAILABLE, "too many connections");
                    return Ok::<_, Infallible>(busy.reply());
                }
                pages::answer(shared, request).await
            }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT).max_buf_size(HEAD_BYTES_MAX);
        server.keep_alive(!is_full).half_close(false);
        // A client that breaks the rules of HTTP gets hyper's answer; there is nobody else to tell.
        drop(server.serve_connection(TokioIo::new(socket), service).await);
        of_all.connections.fetch_sub(1, Ordering::Relaxed);
    });
}
