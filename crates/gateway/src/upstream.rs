//! Connections to providers: TCP, TLS, through a proxy where the environment names one; idle ones are used again.

use crate::limits::{CONNECT_WAIT, IDLE_CONNECTIONS_MAX};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tripwire_core::percent;

/// The longest answer of a proxy to a CONNECT.
const PROXY_HEAD_BYTES_MAX: usize = 8 << 10;

/// Why a provider could not be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpstreamError {
    /// No connection.
    #[error("cannot reach `{0}`: {1}")]
    Connect(String, io::Error),
    /// It took too long.
    #[error("`{0}` did not answer in time")]
    Timeout(String),
    /// It broke off before its reply began.
    #[error("`{0}` closed the connection: {1}")]
    Closed(String, hyper::Error),
}

/// Whom a request is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// Its address.
    pub(crate) base: &'a Uri,
    /// A file with certificates that are trusted beside the system's.
    pub(crate) ca_file: Option<&'a Path>,
    /// How long it may take to its first byte.
    pub(crate) answers_within: Duration,
    /// How long a connection may have been idle to be used again. What was sent on one that the other side closes at that moment
    /// is lost, and nobody knows whether it was read.
    pub(crate) reused_within: Duration,
}

/// The address of a provider, without a slash at its end; nothing where the text is none.
pub(crate) fn base_address(text: &str) -> Option<Uri> {
    let base = text.trim_end_matches('/').parse::<Uri>().ok()?;
    let is_web = matches!(base.scheme_str(), Some("http" | "https"));
    // A port that is no figure of 16 bits would be left out in silence.
    let port = host_of(&base).strip_prefix(base.host()?)?;
    let is_port = port.is_empty() || base.port_u16().is_some();
    (is_web && is_port && base.query().is_none()).then_some(base)
}

/// The certificates of a file.
pub(crate) fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).map_err(io::Error::other)?;
    let read = read.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    if read.is_empty() { Err(io::Error::other("there is no certificate in it")) } else { Ok(read) }
}

/// The host and port of an address, without a name and a password before them: it is shown.
pub(crate) fn host_of(base: &Uri) -> &str {
    let authority = base.authority().map(hyper::http::uri::Authority::as_str);
    authority.and_then(|authority| authority.rsplit('@').next()).unwrap_or_default()
}

type Connection = SendRequest<Full<Bytes>>;

/// A connection that nobody uses, and since when.
struct IdleConnection {
    since: Instant,
    connection: Connection,
}

/// All connections.
#[derive(Default)]
pub(crate) struct Upstreams {
    idle: Mutex<BTreeMap<String, Vec<IdleConnection>>>,
    /// Whom to trust, by the file with further certificates: a call from before a reload may still come with the old file.
    tls: Mutex<BTreeMap<Option<PathBuf>, Arc<ClientConfig>>>,
    proxy: Option<ProxySettings>,
}

/// A proxy for outgoing connections.
#[derive(Clone)]
pub(crate) struct ProxySettings {
    address: String,
    except: Vec<String>,
    /// What its `proxy-authorization` says, where its address names a user; never shown.
    authorization: Option<String>,
}

impl ProxySettings {
    /// From the values of `HTTPS_PROXY` and `NO_PROXY`.
    #[must_use]
    pub(crate) fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let named = ["HTTPS_PROXY", "https_proxy"].iter().find_map(|name| env(name)).filter(|text| !text.is_empty())?;
        let plain = named.strip_prefix("http://").unwrap_or(&named).trim_end_matches('/');
        let (user, plain) = plain.rsplit_once('@').map_or((None, plain), |(user, plain)| (Some(user), plain));
        let address = if plain.contains(':') { plain.to_owned() } else { format!("{plain}:80") };
        let except = ["NO_PROXY", "no_proxy"].iter().find_map(|name| env(name)).unwrap_or_default();
        let except = except.split(',').map(|name| name.trim().trim_start_matches('.').to_ascii_lowercase());
        let except = except.filter(|name| !name.is_empty()).collect();
        Some(Self { address, except, authorization: user.map(basic) })
    }

    fn is_for(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let fits = |name: &String| name == "*" || host == *name || host.ends_with(&format!(".{name}"));
        !self.except.iter().any(fits)
    }
}

impl Upstreams {
    pub(crate) fn new(proxy: Option<ProxySettings>) -> Self {
        Self { proxy, ..Self::default() }
    }

    /// Sends a request and waits for the head of the reply. The connection goes back when the reply was read.
    pub(crate) async fn send(
        &self,
        to: Destination<'_>,
        request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, ReturnedConnection), UpstreamError> {
        let name = || host_of(to.base).to_owned();
        let origin = format!("{}://{}", to.base.scheme_str().unwrap_or_default(), host_of(to.base));
        let mut request = request;
        // A kept connection may be closed meanwhile; then the request was not sent, and comes back.
        while let Some(mut connection) = self.take(&origin, to.reused_within) {
            match timeout(to.answers_within, connection.try_send_request(request)).await {
                Err(_) => return Err(UpstreamError::Timeout(name())),
                Ok(Ok(reply)) => return Ok((reply, ReturnedConnection { origin, connection })),
                Ok(Err(mut error)) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(UpstreamError::Closed(name(), error.into_error())),
                },
            }
        }
        let made = timeout(CONNECT_WAIT, self.connect(to)).await;
        let mut connection = made
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| UpstreamError::Connect(name(), error))?;
        let reply = timeout(to.answers_within, connection.send_request(request)).await;
        let reply = reply.map_err(|_| UpstreamError::Timeout(name()))?;
        let reply = reply.map_err(|error| UpstreamError::Closed(name(), error))?;
        Ok((reply, ReturnedConnection { origin, connection }))
    }

    /// Forgets connections and trusted certificates, which may be others from now on.
    pub(crate) fn forget(&self) {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Takes a connection back whose reply was read to its end.
    pub(crate) fn give_back(&self, returned: ReturnedConnection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.entry(returned.origin).or_default();
        if kept.len() < IDLE_CONNECTIONS_MAX && !returned.connection.is_closed() {
            kept.push(IdleConnection { since: Instant::now(), connection: returned.connection });
        }
    }

    /// An idle connection that is still open. A provider may close it at any time; one that was not used for this request yet
    /// fails before anything was sent.
    fn take(&self, origin: &str, within: Duration) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(origin)?;
        kept.retain(|idle| idle.since.elapsed() <= within);
        while let Some(IdleConnection { connection, .. }) = kept.pop() {
            if connection.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    async fn connect(&self, to: Destination<'_>) -> io::Result<Connection> {
        let base = to.base;
        let host = base.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_tls = base.scheme_str() == Some("https");
        let port = base.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let socket = match self.proxy.as_ref().filter(|proxy| is_tls && proxy.is_for(&host)) {
            Some(proxy) => through(proxy, base, port).await?,
            None => TcpStream::connect((host.as_str(), port)).await?,
        };
        socket.set_nodelay(true)?;
        if !is_tls {
            return speak(socket).await;
        }
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let tls = TlsConnector::from(self.trust(to)?).connect(name, socket).await?;
        speak(tls).await
    }

    /// The certificates that are trusted: the system's, and those of the destination's file.
    fn trust(&self, to: Destination<'_>) -> io::Result<Arc<ClientConfig>> {
        let file = to.ca_file.map(Path::to_owned);
        let mut known = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = known.get(&file) {
            return Ok(Arc::clone(config));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for certificate in to.ca_file.map_or_else(|| Ok(Vec::new()), certificates)? {
            roots.add(certificate).map_err(io::Error::other)?;
        }
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let config = Arc::new(config);
        known.insert(file, Arc::clone(&config));
        Ok(config)
    }
}

/// A connection on which a reply is still being read.
#[derive(Debug)]
pub(crate) struct ReturnedConnection {
    origin: String,
    connection: Connection,
}

async fn speak(socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Connection> {
    let (sender, driver) = http1::Builder::new().handshake(TokioIo::new(socket)).await.map_err(io::Error::other)?;
    // It ends with the connection; a task that waits for a reply gets the error there.
    tokio::spawn(async move { drop(driver.await) });
    Ok(sender)
}

/// A name and a password of a URL, as a header wants them.
fn basic(user: &str) -> String {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let plain = |text: &str| percent::decoded(text).unwrap_or_else(|| text.to_owned());
    format!("Basic {}", STANDARD.encode(format!("{}:{}", plain(name), plain(password))))
}

/// A tunnel through a proxy.
async fn through(proxy: &ProxySettings, base: &Uri, port: u16) -> io::Result<TcpStream> {
    let mut socket = TcpStream::connect(&proxy.address).await?;
    let host = base.host().unwrap_or_default();
    let own = proxy.authorization.as_ref().map(|value| format!("proxy-authorization: {value}\r\n")).unwrap_or_default();
    socket.write_all(format!("CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n{own}\r\n").as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= PROXY_HEAD_BYTES_MAX {
            return Err(io::Error::other("the proxy's answer is too long"));
        }
        head.push(socket.read_u8().await?);
    }
    let first = String::from_utf8_lossy(&head);
    if first.split_whitespace().nth(1) != Some("200") {
        return Err(io::Error::other(format!("the proxy said `{}`", first.lines().next().unwrap_or_default())));
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_8_trusted_certificates_are_those_of_the_file_that_is_asked_with() {
        let upstreams = Upstreams::default();
        let base = Uri::from_static("https://localhost");
        let trust = |ca_file: Option<&Path>| {
            let wait = Duration::from_secs(1);
            upstreams.trust(Destination { base: &base, ca_file, answers_within: wait, reused_within: wait })
        };
        let known = trust(None).unwrap();
        assert!(trust(Some(Path::new("/nonexistent/ca.pem"))).is_err(), "what is known of another file says nothing");
        assert!(Arc::ptr_eq(&known, &trust(None).unwrap()), "a file is read once");
        upstreams.forget();
        assert!(!Arc::ptr_eq(&known, &trust(None).unwrap()), "and again after a reload");
    }
}
