//! The gateway of a run: opened before the client is prepared, serving once the session has begun, ended before the report.

use crate::error::RunError;
use crate::options::{GatewaySwitch, Notifier, RunOptions};
use crate::report::{GatewayReport, GatewayState};
use std::collections::VecDeque;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use tripwire_clients::launch::{GatewayPlace, ModelRoute, Routing};
use tripwire_core::units::MicroUsd;
use tripwire_gateway::run_mode::{RouteError, RunGateway, RunPort, RunRoute, RunSettings};
use tripwire_gateway::{AskedDoor, ModelNews, Outbound};
use tripwire_session::driver::Driver;

/// A port that waits for the session to begin.
pub(crate) struct WaitingGateway {
    port: RunPort,
    url: String,
}

impl WaitingGateway {
    /// Takes a port, unless the person wants none.
    pub(crate) fn open(options: &RunOptions) -> std::io::Result<Option<Self>> {
        match options.gateway {
            GatewaySwitch::Off => Ok(None),
            GatewaySwitch::On => {
                let port = RunPort::open()?;
                Ok(Some(Self { url: port.url(), port }))
            }
        }
    }

    /// What a client is told of it.
    pub(crate) fn place(&self) -> GatewayPlace<'_> {
        GatewayPlace { url: &self.url, token: self.port.token() }
    }

    /// Serves from now on, for this session.
    pub(crate) fn serve(
        self,
        options: &RunOptions,
        driver: &Driver,
        notifier: &Arc<dyn Notifier>,
    ) -> Result<ModelGateway, RunError> {
        let (news, received) = mpsc::channel();
        let variable = |name: &str| {
            let found = options.env.iter().find(|(known, _)| known == name);
            found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
        };
        let (url, token, port) = (self.url, self.port.token().to_owned(), self.port.port());
        let talk = Arc::clone(notifier);
        let settings = RunSettings {
            layout: options.workspace.layout(),
            session: driver.session().as_str(),
            budget: driver.view().budget_micro_usd,
            payer: options.payer.clone(),
            env: &variable,
            outbound: Outbound::new(driver.policy().secrets.outbound, driver.redactor()?.clone()),
            prices: driver.policy().price_list(),
            talk: Box::new(move |text| talk.say(&format!("tripwire: gateway: {text}"))),
            news,
            money: options.money.clone(),
        };
        let gateway = RunGateway::start(self.port, settings)?;
        Ok(ModelGateway {
            url,
            token,
            port,
            gateway,
            news: Mutex::new(WaitingNews { received, waiting: VecDeque::new(), calls: VecDeque::new() }),
            budget: Mutex::new(driver.view().budget_micro_usd),
            is_way: AtomicBool::new(false),
            mark: AtomicU64::new(0),
            bypassed: AtomicBool::new(false),
            around: Mutex::default(),
        })
    }
}

/// The gateway of a run, serving.
#[derive(Debug)]
pub(crate) struct ModelGateway {
    url: String,
    token: String,
    port: u16,
    gateway: RunGateway,
    news: Mutex<WaitingNews>,
    /// The session's budget, as the gateway knows it.
    budget: Mutex<Option<MicroUsd>>,
    /// Whether the calls of this worker go through it.
    is_way: AtomicBool,
    /// The calls that it had seen when this worker began.
    mark: AtomicU64,
    /// Whether a client spent past it.
    bypassed: AtomicBool,
    /// Why the calls of a worker went past it.
    around: Mutex<Vec<String>>,
}

impl ModelGateway {
    /// What a client is told of it.
    pub(crate) fn place(&self) -> GatewayPlace<'_> {
        GatewayPlace { url: &self.url, token: &self.token }
    }

    /// The port that clients ask.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Serves on the same port in the network of a confined client.
    pub(crate) fn serve_also(&self, listener: TcpListener) -> std::io::Result<()> {
        self.gateway.serve_also(listener)
    }

    /// A worker begins whose calls take this way; what goes past the gateway is said before it starts.
    pub(crate) fn begin_worker(&self, routing: &Routing, notifier: &Arc<dyn Notifier>) -> Result<(), RouteError> {
        self.mark.store(self.seen(), Ordering::SeqCst);
        self.is_way.store(matches!(routing, Routing::Through(_)), Ordering::SeqCst);
        match routing {
            Routing::Off => {}
            Routing::Through(routes) => self.gateway.set_routes(&routes.iter().map(run_route).collect::<Vec<_>>())?,
            Routing::Around(why) => {
                notifier.say(&format!(
                    "tripwire: the gateway does not see this client's model calls: {why}; what the client records counts, \
                     and a budget can be exceeded by the calls under way"
                ));
                self.around.lock().unwrap_or_else(PoisonError::into_inner).push(why.clone());
            }
        }
        Ok(())
    }

    /// Sets who is asked before a client without hooks goes on.
    pub(crate) fn set_asked(&self, asked: Option<Sender<AskedDoor>>) {
        self.gateway.set_asked(asked);
    }

    /// Whether this worker's calls are counted here, so that its own records count nothing. A client that is told of the
    /// gateway and spends without asking it is counted by its records.
    pub(crate) fn counts(&self) -> bool {
        self.is_way.load(Ordering::SeqCst) && self.seen() > self.mark.load(Ordering::SeqCst)
    }

    /// A worker that was told of the gateway spent past it.
    pub(crate) fn note_bypass(&self, notifier: &Arc<dyn Notifier>) {
        if self.is_way.load(Ordering::SeqCst) && !self.bypassed.swap(true, Ordering::SeqCst) {
            notifier.say("tripwire: the client asks its model past the gateway: what the client records counts");
        }
    }

    fn seen(&self) -> u64 {
        self.gateway.seen()
    }

    /// What came of calls since the last look.
    pub(crate) fn news(&self) -> VecDeque<ModelNews> {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.hear();
        std::mem::take(&mut news.waiting)
    }

    /// The calls that replies asked for and their results, since the last look.
    pub(crate) fn calls(&self) -> VecDeque<ModelNews> {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.hear();
        std::mem::take(&mut news.calls)
    }

    /// Tells the gateway of the session's budget, which a person may have raised.
    pub(crate) fn follow_budget(&self, budget: Option<MicroUsd>) {
        let mut known = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *known, budget) != budget {
            self.gateway.set_budget(budget);
        }
    }

    /// Ends it; what was under way is settled and among the news.
    pub(crate) fn finish(&self) {
        self.gateway.finish();
    }

    /// What came of it, once it is over.
    pub(crate) fn report(&self) -> GatewayReport {
        let totals = self.gateway.totals();
        let around = self.around.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let state = match (self.bypassed.load(Ordering::SeqCst), around.is_empty()) {
            (true, _) => GatewayState::Bypassed,
            (false, false) => GatewayState::Around,
            (false, true) => GatewayState::On,
        };
        GatewayReport { state, totals, around }
    }
}

/// What came of calls and was not taken in yet.
#[derive(Debug)]
struct WaitingNews {
    received: Receiver<ModelNews>,
    /// For the engine.
    waiting: VecDeque<ModelNews>,
    /// For the watch over hooks.
    calls: VecDeque<ModelNews>,
}

impl WaitingNews {
    fn hear(&mut self) {
        for news in self.received.try_iter() {
            match news {
                ModelNews::Asked(_) | ModelNews::Answered(_) => self.calls.push_back(news),
                ModelNews::Settled(_) | ModelNews::Refused { .. } | ModelNews::Broken(_) => {
                    self.waiting.push_back(news)
                }
            }
        }
    }
}

fn run_route(route: &ModelRoute) -> RunRoute {
    let ModelRoute { family, base_url, key, key_header } = route.clone();
    RunRoute { family, base_url, key, key_header }
}
