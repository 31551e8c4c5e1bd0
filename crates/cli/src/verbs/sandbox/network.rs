//! The allowed hosts of one sandboxed run: a proxy on a private socket, and the bridge that leads to it.

use crate::error::Problem;
use std::collections::BTreeSet;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use tripwire_core::explain::Explain;
use tripwire_egress::{
    AllowList, AllowListError, Port, PrivateSocket, Proxy, ProxyConfig, ProxyHandle, RequestRecord, Stage,
};
use tripwire_sandbox::{Sandbox, SpecError};

/// A proxy that serves one run, and its socket. Dropping it ends both, in this order.
pub(crate) struct Network {
    _proxy: ProxyHandle,
    _socket: PrivateSocket,
}

/// What may be reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed<'a> {
    /// `NAME` or `NAME:PORT`.
    pub(crate) hosts: &'a [String],
    /// Loopback ports to which an allowed name may lead; for tests.
    pub(crate) loopback_ports: &'a [u16],
}

/// Why there is no way to the allowed hosts.
#[derive(Debug)]
pub(crate) enum NoNetwork {
    /// What was written cannot be allowed: the person's to fix.
    BadHost(AllowListError),
    /// This machine cannot serve it.
    NotServed(Box<dyn Explain>),
}

impl NoNetwork {
    /// The same as what ends a verb.
    pub(crate) fn problem(self) -> Problem {
        match self {
            Self::BadHost(error) => error.into(),
            Self::NotServed(error) => Problem::Explained(error),
        }
    }

    fn not_served(error: impl Explain + 'static) -> Self {
        Self::NotServed(Box::new(error))
    }
}

/// Opens the way to the allowed hosts; without any there is no network at all.
pub(crate) fn open(spec: Sandbox, allowed: Allowed<'_>) -> Result<(Sandbox, Option<Network>), NoNetwork> {
    if allowed.hosts.is_empty() {
        return Ok((spec, None));
    }
    let (network, listener) = serve(allowed, |record| {
        if record.stage == Stage::End {
            tell(record);
        }
    })?;
    Ok((spec.bridge(&listener).map_err(NoNetwork::not_served)?, Some(network)))
}

/// Serves the allowed hosts on a private socket; `told` hears of every request.
pub(crate) fn serve(
    allowed: Allowed<'_>,
    told: impl Fn(&RequestRecord) + Send + Sync + 'static,
) -> Result<(Network, Arc<UnixListener>), NoNetwork> {
    let list = AllowList::parse(allowed.hosts).map_err(NoNetwork::BadHost)?;
    let (socket, listener) = PrivateSocket::bind(&std::env::temp_dir()).map_err(NoNetwork::not_served)?;
    let kept = listener.try_clone().map_err(|source| NoNetwork::not_served(SpecError::Bridge { source }))?;
    let log = move |record: &RequestRecord| {
        told(record);
        Ok(())
    };
    let mut config = ProxyConfig::new(list, Arc::new(log));
    config.allow_loopback_ports =
        allowed.loopback_ports.iter().filter_map(|port| Port::new(*port)).collect::<BTreeSet<_>>();
    let proxy = Proxy::start(listener, config).map_err(NoNetwork::not_served)?;
    Ok((Network { _proxy: proxy, _socket: socket }, Arc::new(kept)))
}

/// Where a request wanted to go.
pub(crate) fn destination(record: &RequestRecord) -> String {
    let host = record.host.as_deref().unwrap_or("(no name)");
    record.port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Every request, in one line on stderr.
fn tell(record: &RequestRecord) {
    let verdict = serde_json::to_value(record.verdict).ok();
    let verdict = verdict.as_ref().and_then(|verdict| verdict.as_str()).unwrap_or("refused");
    let (up, down, ms) = (record.bytes_up, record.bytes_down, record.ms);
    crate::print::say(&format!(
        "network: {} {verdict} ({}), {up} bytes up, {down} bytes down, {ms} ms",
        destination(record),
        record.reason
    ));
}
