//! The server: it listens on this machine, elsewhere with TLS only, watches the journals and ends with a signal.

use super::error::WebError;
use super::guard::{Guard, Scheme, with_port};
use super::limits::{CONNECTIONS_MAX, HEAD_BYTES_MAX, HEAD_WAIT};
use super::pages;
use super::reply::NotDone;
use super::shared::Shared;
use super::tls::{self, TlsFiles};
use crate::host::Host;
use crate::live;
use hyper::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

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
    /// Further names under which the page is asked.
    pub names: Vec<String>,
    /// The certificate, where it speaks TLS; demanded where others can reach it.
    pub tls: Option<TlsFiles>,
    /// After how long to end by itself, if ever.
    pub ends_after: Option<Duration>,
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
        let address = *address;
        if options.tls.is_none() {
            return Err(WebError::Open { address });
        }
        if address.ip().is_unspecified() && options.names.is_empty() {
            return Err(WebError::NoName { address });
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(WebError::Runtime)?;
    let served = runtime.block_on(run(options, ready));
    // Walks over long journals need not be waited for: they only read.
    runtime.shutdown_background();
    served
}

async fn run(options: ServeOptions, ready: impl FnOnce(Ready)) -> Result<(), WebError> {
    let ServeOptions { listen, host, names, tls, ends_after } = options;
    let tls = tls.as_ref().map(tls::acceptor).transpose()?;
    let listener = Listener::bind(&listen, tls).await?;
    let (guard, secret) = Guard::new(listener.scheme(), listener.address(), &names).map_err(WebError::Runtime)?;
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
    ready(Ready { place: listener.place(names.first()), secret: secret.0 });
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
    Tcp(TcpListener, SocketAddr, Option<TlsAcceptor>),
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
    async fn bind(listen: &Listen, tls: Option<TlsAcceptor>) -> Result<Self, WebError> {
        match listen {
            Listen::Address(address) => {
                let cannot = |error| WebError::Listen { place: address.to_string(), error };
                let listener = TcpListener::bind(address).await.map_err(cannot)?;
                let address = listener.local_addr().map_err(cannot)?;
                Ok(Self::Tcp(listener, address, tls))
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

    const fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(_, address, _) => Some(*address),
            Self::Unix(..) => None,
        }
    }

    const fn scheme(&self) -> Scheme {
        match self {
            Self::Tcp(_, _, Some(_)) => Scheme::Https,
            Self::Tcp(_, _, None) | Self::Unix(..) => Scheme::Http,
        }
    }

    /// The address behind which the page is; `name` is what it is called elsewhere.
    fn place(&self, name: Option<&String>) -> String {
        match (self, name) {
            (Self::Tcp(_, address, tls), Some(name)) if tls.is_some() => {
                format!("https://{}/", with_port(name, address.port()))
            }
            (Self::Tcp(_, address, _), _) => format!("{}://{address}/", self.scheme().name()),
            (Self::Unix(_, file), _) => format!("unix:{}", file.0.display()),
        }
    }

    async fn accept(&self, shared: &Arc<Shared>) -> io::Result<()> {
        match self {
            Self::Tcp(listener, _, tls) => {
                let (socket, _) = listener.accept().await?;
                // A socket that cannot be told so only answers a little later.
                drop(socket.set_nodelay(true));
                match tls {
                    Some(acceptor) => shake_hands(shared, acceptor.clone(), socket),
                    None => admit(shared, socket),
                }
            }
            Self::Unix(listener, _) => admit(shared, listener.accept().await?.0),
        }
        Ok(())
    }
}

/// Lets a client agree on TLS, within the time that the head of a request has; one of too many is hung up on.
fn shake_hands(shared: &Arc<Shared>, acceptor: TlsAcceptor, socket: TcpStream) {
    let shared = Arc::clone(shared);
    if shared.handshakes.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
        shared.handshakes.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    tokio::spawn(async move {
        let agreed = tokio::time::timeout(HEAD_WAIT, acceptor.accept(socket)).await;
        shared.handshakes.fetch_sub(1, Ordering::Relaxed);
        // Who does not speak TLS, or does not trust the certificate, is told so by TLS itself.
        if let Ok(Ok(stream)) = agreed {
            admit(&shared, stream);
        }
    });
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
