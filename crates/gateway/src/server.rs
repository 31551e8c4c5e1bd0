//! The server: it listens, watches the control files and signals, and ends without losing a settlement.

use crate::backoff::Backoffs;
use crate::body::ReplyBody;
use crate::books::{Books, RELOAD};
use crate::buffered::BufferPool;
use crate::config::{CONFIG_BYTES_MAX, Config, ConfigError};
use crate::door::{AskedDoor, CallDoor};
use crate::gateway_lock::{GatewayLock, GatewayLockError};
use crate::limits::{CUT_WAIT, DESCRIPTORS_KEPT, DRAIN_WAIT, HEAD_BYTES_MAX, HEAD_WAIT, LOOK_EVERY, SYNC_EVERY};
use crate::orders::Orders;
use crate::outbound::Outbound;
use crate::own_names::OwnNames;
use crate::refusal::{RefusalKind, RefusedRequest};
use crate::route;
use crate::shared::{Bind, Metrics, Phase, Shared, Talk};
use crate::upstream::{ProxySettings, Upstreams};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::policy::OnOutbound;
use tripwire_core::prices::PriceList;
use tripwire_secrets::Redactor;
use tripwire_session::driver::DriverError;
use tripwire_session::shared_money::SharedMoney;
use tripwire_workspace::geometry::layout::Layout;

/// What a server needs to know.
pub struct ServeOptions {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The configuration's file; without one the usual providers are asked with the environment's keys.
    pub config: Option<PathBuf>,
    /// The workspace whose files control it and hold its ledger.
    pub layout: Layout,
    /// The value of a variable of the environment.
    pub env: fn(&str) -> Option<String>,
    /// The workspace's secrets, and what becomes of a request that carries one.
    pub outbound: Outbound,
    /// What tokens cost.
    pub prices: PriceList,
    /// Who hears what a person should know.
    pub talk: Talk,
    /// Who is asked about the tool calls of clients.
    pub asked: Option<Sender<AskedDoor>>,
    /// Budgets that other machines spend too.
    pub money: Option<Arc<dyn SharedMoney>>,
}

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The configuration cannot be used.
    #[error("`{}`: {error}", file.display())]
    Config {
        /// Its file.
        file: PathBuf,
        /// The mistake.
        error: ConfigError,
    },
    /// The configuration cannot be read.
    #[error("{0}")]
    Read(String),
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// Others could reach it, and nobody needs a token.
    #[error("`{address}` can be reached by others, and the configuration has no `[[key]]`")]
    NoKeys {
        /// The address.
        address: SocketAddr,
    },
    /// Another gateway keeps the budgets of this workspace.
    #[error(transparent)]
    Lock(#[from] GatewayLockError),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] DriverError),
    /// The system refused.
    #[error("the system gives no runtime: {0}")]
    Runtime(io::Error),
}

impl Explain for GatewayError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Config { error, .. } => error.hint(),
            Self::Read(_) => "check the path after `--config`".into(),
            Self::Listen { .. } => "choose another address with `--listen 127.0.0.1:0`".into(),
            Self::NoKeys { .. } => "make a token with `tripwire gateway key new NAME`, or listen on 127.0.0.1".into(),
            Self::Lock(error) => error.hint(),
            Self::Ledger(error) => error.hint(),
            Self::Runtime(_) => "raise the limits of this process, then run it again".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Config { .. } | Self::Read(_) | Self::Listen { .. } => ExitClass::BadInput,
            Self::NoKeys { .. } => ExitClass::Refused,
            Self::Lock(error) => error.exit_class(),
            Self::Ledger(error) => error.exit_class(),
            Self::Runtime(_) => ExitClass::Internal,
        }
    }
}

/// Serves until a signal ends it. `ready` hears the address once it listens.
///
/// # Errors
/// When it cannot begin.
pub fn serve(options: ServeOptions, ready: impl FnOnce(SocketAddr)) -> Result<(), GatewayError> {
    let config = load(&options)?;
    if !options.listen.ip().is_loopback() && config.keys.is_empty() {
        return Err(GatewayError::NoKeys { address: options.listen });
    }
    let _lock = GatewayLock::claim(&options.layout)?;
    let books = Books::open(&options.layout, &config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(GatewayError::Runtime)?;
    runtime.block_on(run(options, config, books, ready))
}

/// Reads the configuration.
fn load(options: &ServeOptions) -> Result<Config, GatewayError> {
    let Some(file) = &options.config else {
        return Config::parse("", &options.env)
            .map_err(|error| GatewayError::Config { file: PathBuf::from("(none)"), error });
    };
    let bytes = tripwire_fs::file::read_bounded(file, CONFIG_BYTES_MAX);
    let bytes = bytes.map_err(|error| GatewayError::Read(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| GatewayError::Read(format!("`{}` is not text", file.display())))?;
    Config::parse(&text, &options.env).map_err(|error| GatewayError::Config { file: file.clone(), error })
}

async fn run(
    mut options: ServeOptions,
    config: Config,
    books: Books,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), GatewayError> {
    let cannot = |error| GatewayError::Listen { address: options.listen, error };
    let listener = TcpListener::bind(options.listen).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let names = OwnNames::new(address, Vec::new());
    let bind = if address.ip().is_loopback() { Bind::Loopback(names) } else { Bind::Open };
    let talk = std::mem::replace(&mut options.talk, Box::new(|_| ()));
    let outbound = std::mem::replace(&mut options.outbound, Outbound::new(OnOutbound::Note, Redactor::default()));
    let shared = Arc::new(Shared {
        config: RwLock::new(Arc::new(config)),
        upstreams: Upstreams::new(ProxySettings::from_env(&options.env)),
        prices: options.prices.clone(),
        backoffs: Backoffs::default(),
        orders: Orders::new(&options.layout),
        metrics: Metrics::default(),
        connections: AtomicUsize::new(0),
        phase: watch::Sender::new(Phase::Serving),
        buffered: BufferPool::default(),
        connections_max: connections_max(),
        bind,
        run: None,
        door: CallDoor::asking(options.asked.take()),
        outbound,
        ledger: Mutex::new(books),
        money: options.money.clone(),
        talk,
    });
    tokio::spawn(watch_orders(Arc::clone(&shared)));
    tokio::spawn(keep_durable(Arc::clone(&shared)));
    let mut reload = signal(SignalKind::hangup()).map_err(GatewayError::Runtime)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(GatewayError::Runtime)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(GatewayError::Runtime)?;
    ready(address);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => admit(&shared, socket),
                // Out of descriptors: those that are open go on, and some will be free soon.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            _ = reload.recv() => reconfigure(&shared, &options),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    drop(listener);
    shared.phase.send_replace(Phase::Draining);
    drain(&shared).await;
    shared.books().sync();
    Ok(())
}

/// Serves one connection, or says that there are too many.
pub(crate) fn admit(shared: &Arc<Shared>, socket: TcpStream) {
    let shared = Arc::clone(shared);
    let open = shared.connections.fetch_add(1, Ordering::Relaxed);
    let is_full = open >= shared.connections_max;
    // A socket that cannot be told so only answers a little later.
    drop(socket.set_nodelay(true));
    tokio::spawn(async move {
        let of_all = Arc::clone(&shared);
        let service = service_fn(move |request| {
            let shared = Arc::clone(&shared);
            async move {
                let why = match (is_full, shared.is_draining()) {
                    (true, _) => "too many connections",
                    (false, true) => "the gateway ends",
                    (false, false) => return route::answer(shared, request).await,
                };
                let busy = RefusedRequest::new(RefusalKind::Busy, why, "try again in a moment");
                let mut reply = busy.reply(route::family_of(&shared, &request));
                reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                Ok::<hyper::Response<ReplyBody>, Infallible>(reply)
            }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT).max_buf_size(HEAD_BYTES_MAX);
        server.keep_alive(!is_full).half_close(false);
        // A client that breaks the rules of HTTP gets hyper's answer; there is nobody else to tell.
        let mut serving = pin!(server.serve_connection(TokioIo::new(socket), service));
        let mut phase = of_all.phase.subscribe();
        let ends = async { drop(phase.wait_for(|phase| *phase == Phase::Draining).await) };
        tokio::select! {
            served = &mut serving => drop(served),
            () = ends => {
                serving.as_mut().graceful_shutdown();
                drop(serving.await);
            }
        }
        of_all.connections.fetch_sub(1, Ordering::Relaxed);
    });
}

/// Takes a new configuration over; a broken one keeps the old.
fn reconfigure(shared: &Arc<Shared>, options: &ServeOptions) {
    match load(options) {
        Ok(config) if matches!(shared.bind, Bind::Open) && config.keys.is_empty() => {
            shared.say("the new configuration has no `[[key]]` and is not taken: others can reach this address");
        }
        Ok(config) => {
            let mut books = shared.books();
            books.configure(&config);
            books.note(RELOAD, "the configuration was read again");
            drop(books);
            *shared.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
            shared.upstreams.forget();
            shared.say("the configuration was read again");
        }
        Err(error) => shared.say(&format!("the configuration is broken and the old one stays: {error}")),
    }
}

/// Waits for what is under way, at most for a while; then it is cut and settled, and clients hear so in the API's own form.
async fn drain(shared: &Arc<Shared>) {
    let is_busy = || shared.metrics.streams.load(Ordering::Relaxed) > 0 || shared.books().ledger().open_calls() > 0;
    wait_while(is_busy, DRAIN_WAIT).await;
    shared.orders.end();
    wait_while(|| is_busy() || shared.connections.load(Ordering::Relaxed) > 0, CUT_WAIT).await;
}

/// Waits until something holds no longer, at most for so long.
pub(crate) async fn wait_while(holds: impl Fn() -> bool, at_most: Duration) {
    let deadline = tokio::time::Instant::now() + at_most;
    while holds() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

pub(crate) async fn keep_durable(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(SYNC_EVERY).await;
        shared.books().sync();
    }
}

/// Looks at the control files, and gives other processes their turn at the ledger.
pub(crate) async fn watch_orders(shared: Arc<Shared>) {
    shared.orders.keep_looking(|| shared.books().rest()).await;
}

/// Raises the number of files that may be open, and says how many connections fit: each may need one to a provider.
fn connections_max() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let files = match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => limit.maximum.or(limit.current),
        Err(_) => limit.current,
    };
    let files = files.unwrap_or(1 << 20).min(1 << 20);
    usize::try_from(files.saturating_sub(DESCRIPTORS_KEPT) / 2).unwrap_or(1).max(1)
}
