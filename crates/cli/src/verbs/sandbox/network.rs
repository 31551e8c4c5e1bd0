//! The allowed hosts of one sandboxed run: a proxy on a private socket, and the bridge that leads to it.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use tripwire_egress::{AllowList, AllowListError, Port, Proxy, ProxyConfig, ProxyHandle, RequestRecord, Stage};
use tripwire_sandbox::Sandbox;

/// A proxy that serves one run, and the folder of its socket. Dropping it ends both.
pub(crate) struct Network {
    handle: Option<ProxyHandle>,
    folder: PathBuf,
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
    /// What was written cannot be allowed: the person's to mend.
    BadHost(AllowListError),
    /// This machine cannot serve it.
    NotServed(String),
}

/// Opens the way to the allowed hosts; without any there is no network at all.
pub(crate) fn open(spec: Sandbox, allowed: Allowed<'_>) -> Result<(Sandbox, Option<Network>), NoNetwork> {
    if allowed.hosts.is_empty() {
        return Ok((spec, None));
    }
    let list = AllowList::parse(allowed.hosts).map_err(NoNetwork::BadHost)?;
    let folder = private_folder().map_err(NoNetwork::NotServed)?;
    let mut network = Network { handle: None, folder };
    let listener = UnixListener::bind(network.folder.join("proxy"))
        .map_err(|error| NoNetwork::NotServed(format!("cannot listen in `{}`: {error}", network.folder.display())))?;
    let spec = spec.bridge(&listener).map_err(|error| NoNetwork::NotServed(error.to_string()))?;
    let log = |record: &RequestRecord| {
        if record.stage == Stage::End {
            tell(record);
        }
        Ok(())
    };
    let mut config = ProxyConfig::new(list, Arc::new(log));
    config.allow_loopback_ports =
        allowed.loopback_ports.iter().filter_map(|port| Port::new(*port)).collect::<BTreeSet<_>>();
    network.handle = Some(Proxy::start(listener, config).map_err(|error| NoNetwork::NotServed(error.to_string()))?);
    Ok((spec, Some(network)))
}

/// Every request, in one line on stderr.
fn tell(record: &RequestRecord) {
    let host = record.host.as_deref().unwrap_or("(no name)");
    let port = record.port.map_or_else(String::new, |port| format!(":{port}"));
    let verdict = serde_json::to_value(record.verdict).ok();
    let verdict = verdict.as_ref().and_then(|verdict| verdict.as_str()).unwrap_or("refused");
    let (up, down, ms) = (record.bytes_up, record.bytes_down, record.ms);
    crate::print::say(&format!(
        "network: {host}{port} {verdict} ({}), {up} bytes up, {down} bytes down, {ms} ms",
        record.reason
    ));
}

/// A new folder that nobody else may enter: the socket inside is reachable only for us and for the sandbox's bridge.
fn private_folder() -> Result<PathBuf, String> {
    let base = std::env::temp_dir();
    for attempt in 0..100_u32 {
        let folder = base.join(format!("tripwire-net-{}-{attempt}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("cannot make `{}`: {error}", folder.display())),
        }
    }
    Err(format!("cannot make a private folder in `{}`", base.display()))
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let _summary = handle.stop();
        }
        // The folder is empty but for the socket; what is left behind harms nobody.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
