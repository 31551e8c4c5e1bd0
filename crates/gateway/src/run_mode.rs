//! The gateway of one run: in the supervisor's process, on a loopback port of its own, behind a path that only this run knows.

use crate::backoff::Backoffs;
use crate::books::Books;
use crate::buffered::BufferPool;
use crate::config::{Config, Provider, ToolCalls, Unpriced};
use crate::door::{AskedDoor, CallDoor};
use crate::limits::BUFFERED_BYTES_MAX;
use crate::orders::Orders;
use crate::outbound::Outbound;
use crate::run_door::{ModelNews, RunDoor};
use crate::server::{GatewayError, admit, keep_durable, wait_while, watch_orders};
use crate::shared::{Bind, Metrics, Phase, Shared, Talk};
use crate::token;
use crate::upstream::{ProxySettings, Upstreams, base_address};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tripwire_core::family::{Family, KeyHeader};
use tripwire_core::ledger::{AccountId, AccountSettings, Budget, Period};
use tripwire_core::prices::PriceList;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::MicroUsd;
use tripwire_secrets::Secret;
use tripwire_session::shared_money::SharedMoney;
use tripwire_workspace::geometry::layout::Layout;

/// Connections of one run's processes; the supervisor's own limit of open files is not touched, because clients inherit it.
const CONNECTIONS_MAX: usize = 400;
/// How long open calls may take to be settled once the run is over.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// A port of this machine that waits for its run, with the secrets that open it.
#[derive(Debug)]
pub struct RunPort {
    listener: TcpListener,
    address: SocketAddr,
    segment: String,
    token: String,
}

impl RunPort {
    /// Takes a free port.
    ///
    /// # Errors
    /// When the system gives no port or no randomness.
    pub fn open() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, segment: token::new_token()?, token: token::new_token()? })
    }

    /// The address that clients of this run are given; each family of APIs has its own segment behind it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/{}", self.address, self.segment)
    }

    /// What clients of this run are given in the place of a provider's key.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Where the requests of one family go.
#[derive(Debug, Clone)]
pub struct RunRoute {
    /// The family.
    pub family: Family,
    /// The provider's address.
    pub base_url: String,
    /// The provider's key, where it is brokered.
    pub key: Option<Secret>,
    /// The header that carries it.
    pub key_header: KeyHeader,
}

/// A provider's address that is none. It is not shown: it may carry a password.
#[derive(Debug, thiserror::Error)]
#[error("the address of the provider for `{}` is none such as `https://api.anthropic.com`", .0.as_str())]
pub struct RouteError(Family);

/// What the gateway of a run has to know.
pub struct RunSettings<'a> {
    /// The workspace, whose files control it and hold its ledger.
    pub layout: &'a Layout,
    /// The session.
    pub session: &'a str,
    /// The session's budget.
    pub budget: Option<MicroUsd>,
    /// The account above the session's: that of the session that sent it as a worker.
    pub payer: Option<AccountId>,
    /// The value of a variable of the environment, for `HTTPS_PROXY` and `NO_PROXY`.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The workspace's secrets, and what becomes of a request that carries one.
    pub outbound: Outbound,
    /// What tokens cost.
    pub prices: PriceList,
    /// Who hears what a person should know.
    pub talk: Talk,
    /// Who hears what came of each call.
    pub news: Sender<ModelNews>,
    /// Budgets that other machines spend too.
    pub money: Option<Arc<dyn SharedMoney>>,
}

/// What passed the gateway in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunTotals {
    /// Calls that were booked.
    pub calls: u64,
    /// What they cost.
    pub micro_usd: MicroUsd,
    /// Requests without a price that passed: with any, the run was not bounded.
    pub unpriced: u64,
    /// Calls that carried a credential of the client's own.
    pub own_credentials: u64,
}

/// The gateway of one run, serving.
pub struct RunGateway {
    shared: Arc<Shared>,
    account: AccountId,
    payer: Option<AccountId>,
    close: Mutex<Option<oneshot::Sender<()>>>,
    more: mpsc::UnboundedSender<TcpListener>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for RunGateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunGateway").field("account", &self.account).finish_non_exhaustive()
    }
}

impl RunGateway {
    /// Begins to serve on a port.
    ///
    /// # Errors
    /// When the ledger cannot be used or the system refuses.
    pub fn start(port: RunPort, settings: RunSettings<'_>) -> Result<Self, GatewayError> {
        let account = AccountId::session(settings.session);
        let mut accounts = vec![(account.clone(), of_session(settings.payer.clone(), settings.budget))];
        // What is left of its budget was given to this session, whose budget it is now.
        accounts.extend(settings.payer.clone().map(|payer| (payer, AccountSettings::default())));
        let config = Config {
            providers: Vec::new(),
            keys: Vec::new(),
            accounts,
            buffered_bytes_max: BUFFERED_BYTES_MAX,
            tool_calls: ToolCalls::Guard,
        };
        let books = Books::of_session(settings.layout, &config)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(GatewayError::Runtime)?;
        let door = RunDoor {
            segment: Digest::of(port.segment.as_bytes()),
            token: Digest::of(port.token.as_bytes()),
            account: account.clone(),
            news: settings.news,
            own_credentials: AtomicU64::new(0),
            followed: Mutex::default(),
            agents: Mutex::default(),
        };
        let shared = Arc::new(Shared {
            config: RwLock::new(Arc::new(config)),
            upstreams: Upstreams::new(ProxySettings::from_env(settings.env)),
            prices: settings.prices,
            backoffs: Backoffs::default(),
            orders: Orders::new(settings.layout),
            metrics: Metrics::default(),
            connections: AtomicUsize::new(0),
            phase: watch::Sender::new(Phase::Serving),
            buffered: BufferPool::default(),
            connections_max: CONNECTIONS_MAX,
            bind: Bind::OneRun,
            run: Some(door),
            door: CallDoor::default(),
            outbound: settings.outbound,
            ledger: Mutex::new(books),
            money: settings.money,
            talk: settings.talk,
        });
        let (close, closed) = oneshot::channel();
        let (more, listeners) = mpsc::unbounded_channel();
        // The first of its listeners waits like any later one.
        more.send(port.listener).unwrap_or_default();
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            runtime.block_on(serve(serving, listeners, closed));
        });
        let thread = Mutex::new(Some(thread.map_err(GatewayError::Runtime)?));
        Ok(Self { shared, account, payer: settings.payer, close: Mutex::new(Some(close)), more, thread })
    }

    /// Serves on another listener as well: the same port in the network of a confined client, for instance.
    ///
    /// # Errors
    /// When the listener cannot be used or the gateway is over.
    pub fn serve_also(&self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.more.send(listener).map_err(|_| io::ErrorKind::NotConnected.into())
    }

    /// Sets where the requests of some families go; those of others stay.
    ///
    /// # Errors
    /// When an address is none; then nothing is changed.
    pub fn set_routes(&self, routes: &[RunRoute]) -> Result<(), RouteError> {
        let mut config = Config::clone(&self.shared.config());
        for route in routes {
            let provider = provider(route)?;
            config.providers.retain(|known| known.family != route.family);
            config.providers.push(Arc::new(provider));
        }
        *self.shared.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
        Ok(())
    }

    /// Sets who is asked before a client without hooks goes on; nobody for one whose hooks ask.
    pub fn set_asked(&self, asked: Option<Sender<AskedDoor>>) {
        self.shared.door.set(asked);
    }

    /// Sets the session's budget, for instance because a person raised it.
    pub fn set_budget(&self, budget: Option<MicroUsd>) {
        self.shared.books().set(self.account.clone(), of_session(self.payer.clone(), budget));
    }

    /// How many model calls came here so far, booked and under way.
    #[must_use]
    pub fn seen(&self) -> u64 {
        let open = self.shared.books().ledger().open_calls();
        self.shared.metrics.calls.load(Ordering::Relaxed) + u64::try_from(open).unwrap_or(u64::MAX)
    }

    /// Ends it: what is still open is cut and settled, and everything is on disk. The second time there is nothing to end.
    pub fn finish(&self) -> RunTotals {
        let take =
            |close: &Mutex<Option<oneshot::Sender<()>>>| close.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(close) = take(&self.close) {
            // A thread that is gone needs no word.
            close.send(()).unwrap_or_default();
        }
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // It serves no longer, whether it ended well or not.
            drop(thread.join());
        }
        self.totals()
    }

    /// What passed so far.
    #[must_use]
    pub fn totals(&self) -> RunTotals {
        let metrics = &self.shared.metrics;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RunTotals {
            calls: load(&metrics.calls),
            micro_usd: MicroUsd::new(load(&metrics.micro_usd)),
            unpriced: load(&metrics.unpriced),
            own_credentials: self.shared.run.as_ref().map_or(0, |run| load(&run.own_credentials)),
        }
    }
}

impl Drop for RunGateway {
    fn drop(&mut self) {
        self.finish();
    }
}

fn of_session(parent: Option<AccountId>, budget: Option<MicroUsd>) -> AccountSettings {
    AccountSettings { parent, budget: budget.map(|limit| Budget { limit, period: Period::Whole }) }
}

fn provider(route: &RunRoute) -> Result<Provider, RouteError> {
    Ok(Provider {
        name: route.family.as_str().to_owned(),
        family: route.family,
        base: base_address(&route.base_url).ok_or(RouteError(route.family))?,
        key: route.key.clone(),
        key_header: route.key_header,
        fallback: Vec::new(),
        unpriced: Unpriced::Refuse,
        ca_file: None,
    })
}

/// Admits the callers of one listener.
async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return shared.say(&format!("the gateway of this run does not listen: {error}")),
    };
    loop {
        match listener.accept().await {
            Ok((socket, _)) => admit(&shared, socket),
            // Out of descriptors: those that are open go on, and some will be free soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn serve(
    shared: Arc<Shared>,
    mut listeners: mpsc::UnboundedReceiver<TcpListener>,
    mut closed: oneshot::Receiver<()>,
) {
    let watching = tokio::spawn(watch_orders(Arc::clone(&shared)));
    tokio::spawn(keep_durable(Arc::clone(&shared)));
    let mut accepting = Vec::new();
    loop {
        tokio::select! {
            Some(listener) = listeners.recv() => accepting.push(tokio::spawn(accept(Arc::clone(&shared), listener))),
            _ = &mut closed => break,
        }
    }
    accepting.iter().for_each(tokio::task::JoinHandle::abort);
    watching.abort();
    // Whatever is under way is cut and settled with what was seen of it.
    shared.orders.end();
    wait_while(|| shared.books().ledger().open_calls() > 0, CLOSE_WAIT).await;
    shared.books().sync();
    shared.books().rest();
}
