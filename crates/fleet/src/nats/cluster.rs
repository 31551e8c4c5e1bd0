//! A development cluster on this machine: servers on the loopback interface, with TLS and credentials, each write synced. It
//! lives in one folder, and is started, stopped and started again from there.

pub use super::cluster_error::ClusterError;
use super::connection::NatsError;
use super::credentials::Credentials;
use super::nats_log::NatsLog;
use super::ports::Ports;
use crate::checks::{self, WeakClusterError};
use crate::subject::Name;
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair as TlsKey, SanType};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tripwire_fs::file::{self, FileMode};

/// What a cluster consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Plan {
    version: u32,
    nodes: Vec<Node>,
    /// The password between the servers.
    route_secret: String,
    /// The public keys of those who may connect.
    operator: String,
    monitor: String,
    machines: Vec<Invited>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    name: String,
    /// Clusters that were made before nodes had one are on the loopback interface.
    #[serde(default = "loopback")]
    host: Ipv4Addr,
    client_port: u16,
    route_port: u16,
    pid: Option<u32>,
}

const fn loopback() -> Ipv4Addr {
    Ipv4Addr::LOCALHOST
}

impl Node {
    fn url(&self) -> String {
        format!("tls://{}:{}", self.host, self.client_port)
    }
}

/// A machine with credentials of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Invited {
    machine: Name,
    key: String,
}

/// A cluster that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The addresses of the servers.
    pub urls: Vec<String>,
    /// Their processes, in the order of their names.
    pub pids: Vec<u32>,
    /// The credentials of the user who started it.
    pub credentials: PathBuf,
}

/// A folder with a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    folder: PathBuf,
    server: PathBuf,
    hosts: Vec<Ipv4Addr>,
}

impl Cluster {
    /// The cluster of a folder, run by this program.
    #[must_use]
    pub const fn new(folder: PathBuf, server: PathBuf) -> Self {
        Self { folder, server, hosts: Vec::new() }
    }

    /// The same with an address for each node; without one a node is on the loopback interface.
    #[must_use]
    pub fn at(self, hosts: Vec<Ipv4Addr>) -> Self {
        Self { hosts, ..self }
    }

    /// Starts it, and makes it if it is new. Returns when the streams are there and every check has passed.
    ///
    /// # Errors
    /// When it runs already, or does not become ready. Then nothing is left running.
    pub fn up(&self, nodes: u64) -> Result<Running, ClusterError> {
        if ![1, 3, 5].contains(&nodes) {
            return Err(ClusterError::Nodes { nodes });
        }
        self.check_version()?;
        let mut plan = match self.plan() {
            Ok(plan) if plan.nodes.iter().any(|node| self.is_ours(node)) => {
                return Err(ClusterError::Running { folder: self.folder.clone() });
            }
            Ok(plan) => plan,
            Err(ClusterError::NoCluster { .. }) => self.make(nodes)?,
            Err(error) => return Err(error),
        };
        self.configure(&plan)?;
        let started = self.start(&mut plan).and_then(|()| self.ready());
        if let Err(error) = started {
            self.end(&plan)?;
            return Err(error);
        }
        Ok(self.running(&plan))
    }

    /// Refuses a program that is too old, before anything is made for it. One that does not tell is asked when it runs.
    fn check_version(&self) -> Result<(), ClusterError> {
        let failed = |cause| ClusterError::System { action: format!("run `{}`", self.server.display()), cause };
        let told = Command::new(&self.server).arg("--version").stdin(Stdio::null()).output().map_err(failed)?;
        let told = String::from_utf8_lossy(&told.stdout);
        let found = told.trim().rsplit(' ').next().and_then(|word| word.strip_prefix('v'));
        let weak = found.and_then(|found| checks::version(&self.server.display().to_string(), found));
        weak.map_or(Ok(()), |weak| Err(NatsError::from(WeakClusterError(vec![weak])).into()))
    }

    /// Ends its servers. Says how many processes there were.
    ///
    /// # Errors
    /// When there is no cluster, or a server does not end.
    pub fn down(&self) -> Result<usize, ClusterError> {
        let mut plan = self.plan()?;
        let ended = self.end(&plan)?;
        plan.nodes.iter_mut().for_each(|node| node.pid = None);
        self.keep(&plan)?;
        Ok(ended)
    }

    /// What runs of it.
    ///
    /// # Errors
    /// When there is no cluster.
    pub fn look(&self) -> Result<Running, ClusterError> {
        Ok(self.running(&self.plan()?))
    }

    /// Starts one node that is not running.
    ///
    /// # Errors
    /// When there is no such node, or it does not start.
    pub fn start_node(&self, number: usize) -> Result<(), ClusterError> {
        let mut plan = self.plan()?;
        let Some(node) = plan.nodes.get_mut(number) else {
            return Err(ClusterError::NoCluster { folder: self.folder.clone() });
        };
        node.pid = Some(self.spawn(&node.name)?);
        self.keep(&plan)
    }

    /// Gives a machine credentials of its own, which let it write its own records, receipts and heartbeat, and no order. They
    /// take effect without a restart.
    ///
    /// # Errors
    /// When it has some already.
    pub fn invite(&self, machine: &Name) -> Result<PathBuf, ClusterError> {
        let mut plan = self.plan()?;
        if plan.machines.iter().any(|invited| invited.machine == *machine) {
            return Err(ClusterError::Machine { machine: machine.clone(), state: "has credentials already" });
        }
        let (seed, key) = user()?;
        plan.machines.push(Invited { machine: machine.clone(), key });
        self.keep(&plan)?;
        self.configure(&plan)?;
        self.reload(&plan)?;
        let own = Credentials { user: seed, ..Credentials::read(&self.operator_file(), &[])? };
        let path = self.folder.join(format!("{machine}.creds"));
        own.write(&path)?;
        Ok(path)
    }

    /// Takes a machine's credentials away; its connections are cut.
    ///
    /// # Errors
    /// When it has none.
    pub fn revoke(&self, machine: &Name) -> Result<(), ClusterError> {
        let mut plan = self.plan()?;
        let before = plan.machines.len();
        plan.machines.retain(|invited| invited.machine != *machine);
        if plan.machines.len() == before {
            return Err(ClusterError::Machine { machine: machine.clone(), state: "has no credentials" });
        }
        self.keep(&plan)?;
        self.configure(&plan)?;
        self.reload(&plan)
    }

    fn make(&self, nodes: u64) -> Result<Plan, ClusterError> {
        file::make_folder(&self.folder)?;
        let ((operator_seed, operator), (monitor_seed, monitor)) = (user()?, user()?);
        let mut made = Vec::new();
        let mut hosts = self.hosts.iter().copied();
        let failed = |cause| ClusterError::System { action: "find a free port".to_owned(), cause };
        let mut ports = Ports::look().map_err(failed)?;
        for number in 1..=nodes {
            let (client_port, route_port) = (ports.free().map_err(failed)?, ports.free().map_err(failed)?);
            let host = hosts.next().unwrap_or(loopback());
            made.push(Node { name: format!("node-{number}"), host, client_port, route_port, pid: None });
        }
        let ca = self.certify(&made)?;
        let credentials = Credentials {
            version: Credentials::VERSION,
            urls: made.iter().map(Node::url).collect(),
            ca: Some(ca),
            user: operator_seed,
            monitor: Some(monitor_seed),
            replicas: nodes,
        };
        credentials.write(&self.operator_file())?;
        let route_secret = crate::nonce().map_err(ClusterError::Keys)?;
        let plan = Plan { version: 1, nodes: made, route_secret, operator, monitor, machines: Vec::new() };
        self.keep(&plan)?;
        Ok(plan)
    }

    /// A certificate for each node, signed by one that signs nothing else.
    fn certify(&self, nodes: &[Node]) -> Result<String, ClusterError> {
        let failed = |error: rcgen::Error| ClusterError::Keys(error.to_string());
        let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.distinguished_name.push(DnType::CommonName, "tripwire fleet");
        let issuer = CertifiedIssuer::self_signed(params, TlsKey::generate().map_err(failed)?).map_err(failed)?;
        let ca = issuer.pem();
        file::replace(&self.folder.join("ca.pem"), ca.as_bytes())?;
        for node in nodes {
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).map_err(failed)?;
            params.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(node.host)));
            params.distinguished_name.push(DnType::CommonName, &node.name);
            let key = TlsKey::generate().map_err(failed)?;
            let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
            file::replace(&self.folder.join(format!("{}.pem", node.name)), certificate.pem().as_bytes())?;
            let path = self.folder.join(format!("{}.key", node.name));
            file::replace_with_mode(&path, key.serialize_pem().as_bytes(), FileMode::PRIVATE)?;
        }
        Ok(ca)
    }

    /// Writes the configuration of every node.
    fn configure(&self, plan: &Plan) -> Result<(), ClusterError> {
        for node in &plan.nodes {
            let path = self.configuration(&node.name);
            file::replace_with_mode(&path, self.text(plan, node).as_bytes(), FileMode::PRIVATE)?;
        }
        Ok(())
    }

    fn text(&self, plan: &Plan, node: &Node) -> String {
        let path = |name: &str| quoted(&self.folder.join(name).to_string_lossy());
        let Node { name, host, client_port, route_port, .. } = node;
        let (certificate, key, ca) = (path(&format!("{name}.pem")), path(&format!("{name}.key")), path("ca.pem"));
        let tls = format!("cert_file: {certificate}, key_file: {key}, ca_file: {ca}, timeout: 5");
        let routes: Vec<String> = plan
            .nodes
            .iter()
            .map(|other| format!("nats-route://route:{}@{}:{}", plan.route_secret, other.host, other.route_port))
            .collect();
        let mut text = format!(
            "server_name: {name}\nlisten: \"{host}:{client_port}\"\nmax_payload: 1MB\ntls {{ {tls} }}\n\
             jetstream {{ store_dir: {}, sync_interval: always }}\n",
            path(&format!("{name}.store"))
        );
        if plan.nodes.len() > 1 {
            // Text is written to a string, which cannot fail.
            write!(
                text,
                "cluster {{ name: tripwire, listen: \"{host}:{route_port}\", tls {{ {tls} }}\n  authorization {{ user: route, \
                 password: \"{}\" }}\n  routes: [{}] }}\n",
                plan.route_secret,
                routes.iter().map(|route| quoted(route)).collect::<Vec<_>>().join(", ")
            )
            .unwrap_or_default();
        }
        let machines: String = plan.machines.iter().map(machine_text).collect();
        write!(
            text,
            "system_account: SYS\naccounts {{\n  SYS {{ users: [ {{ nkey: {}, permissions: {{ publish: \
             [\"$SYS.REQ.SERVER.PING.JSZ\"], subscribe: [\"_INBOX.>\"] }} }} ] }}\n  FLEET {{ jetstream: enabled, users: [\n    \
             {{ nkey: {} }}\n{machines}  ] }}\n}}\n",
            plan.monitor, plan.operator
        )
        .unwrap_or_default();
        text
    }

    fn start(&self, plan: &mut Plan) -> Result<(), ClusterError> {
        for index in 0..plan.nodes.len() {
            let Some(node) = plan.nodes.get_mut(index) else { break };
            node.pid = Some(self.spawn(&node.name)?);
            // Kept at once: a server that nobody knows of could not be ended.
            self.keep(plan)?;
        }
        Ok(())
    }

    fn spawn(&self, name: &str) -> Result<u32, ClusterError> {
        let failed = |action: &str| {
            let action = format!("{action} `{}`", self.server.display());
            move |cause| ClusterError::System { action, cause }
        };
        let log = File::create(self.folder.join(format!("{name}.log"))).map_err(failed("write the log of"))?;
        let errors = log.try_clone().map_err(failed("write the log of"))?;
        let child = Command::new(&self.server)
            .arg("--config")
            .arg(self.configuration(name))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(failed("start"))?;
        Ok(child.id())
    }

    /// Waits until the streams are there and everything is as asked.
    fn ready(&self) -> Result<(), ClusterError> {
        let credentials = Credentials::read(&self.operator_file(), &[])?;
        let start = Instant::now();
        loop {
            let Err(error) = NatsLog::create(&credentials) else { return Ok(()) };
            self.check_alive()?;
            if start.elapsed() > READY_WITHIN {
                return Err(match error {
                    NatsError::Weak(_) => error.into(),
                    NatsError::Connect { .. } | NatsError::Log(_) => {
                        ClusterError::NotReady { seconds: READY_WITHIN.as_secs(), cause: error.to_string() }
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Says which server ended, with the last line of its log.
    fn check_alive(&self) -> Result<(), ClusterError> {
        let plan = self.plan()?;
        let Some(node) = plan.nodes.iter().find(|node| !self.is_ours(node)) else { return Ok(()) };
        let log =
            file::read_bounded(&self.folder.join(format!("{}.log", node.name)), LOG_BYTES_MAX).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let said = log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        Err(ClusterError::Ended { node: node.name.clone(), said: said.to_owned() })
    }

    fn reload(&self, plan: &Plan) -> Result<(), ClusterError> {
        for node in plan.nodes.iter().filter(|node| self.is_ours(node)) {
            signal(node.pid, Signal::HUP)?;
        }
        Ok(())
    }

    /// Ends what runs: asks first, then kills.
    fn end(&self, plan: &Plan) -> Result<usize, ClusterError> {
        let ours: Vec<&Node> = plan.nodes.iter().filter(|node| self.is_ours(node)).collect();
        for (kind, within) in [(Signal::TERM, END_WITHIN), (Signal::KILL, END_WITHIN)] {
            for node in ours.iter().filter(|node| self.is_ours(node)) {
                signal(node.pid, kind)?;
            }
            let start = Instant::now();
            while start.elapsed() < within && ours.iter().any(|node| self.is_ours(node)) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        match ours.iter().find(|node| self.is_ours(node)) {
            Some(node) => Err(ClusterError::Stuck { pid: node.pid.unwrap_or_default() }),
            None => Ok(ours.len()),
        }
    }

    /// Whether a node's process is still the server that was started: its number may have gone to somebody else.
    fn is_ours(&self, node: &Node) -> bool {
        let Some(pid) = node.pid else { return false };
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let configuration = self.configuration(&node.name);
        command.split(|byte| *byte == 0).any(|word| word == configuration.as_os_str().as_encoded_bytes())
    }

    fn running(&self, plan: &Plan) -> Running {
        let alive = plan.nodes.iter().filter(|node| self.is_ours(node));
        Running {
            urls: plan.nodes.iter().map(Node::url).collect(),
            pids: alive.filter_map(|node| node.pid).collect(),
            credentials: self.operator_file(),
        }
    }

    fn plan(&self) -> Result<Plan, ClusterError> {
        let none = || ClusterError::NoCluster { folder: self.folder.clone() };
        let bytes = file::read_bounded(&self.folder.join(PLAN), PLAN_BYTES_MAX).map_err(|_error| none())?;
        serde_json::from_slice(&bytes).map_err(|_error| none())
    }

    fn keep(&self, plan: &Plan) -> Result<(), ClusterError> {
        let text = serde_json::to_vec_pretty(plan).unwrap_or_default();
        Ok(file::replace_with_mode(&self.folder.join(PLAN), &text, FileMode::PRIVATE)?)
    }

    fn operator_file(&self) -> PathBuf {
        self.folder.join("operator.creds")
    }

    fn configuration(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.conf"))
    }
}

/// The server on a search path.
///
/// # Errors
/// When there is none.
pub fn find_server(path: Option<&std::ffi::OsStr>) -> Result<PathBuf, ClusterError> {
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let found = folders.map(|folder| folder.join("nats-server")).find(|program| program.is_file());
    found.ok_or(ClusterError::NoServer)
}

/// What a machine may do: its own records, receipts and heartbeat, budgets and rates, and look at everything.
fn machine_text(invited: &Invited) -> String {
    let Invited { machine, key } = invited;
    format!(
        "    {{ nkey: {key}, permissions: {{ publish: [\"tw.record.{machine}.>\", \"tw.receipt.{machine}\", \
         \"tw.state.machine.{machine}\", \"tw.state.pool.*\", \"tw.state.grant.*.*\", \"tw.state.bucket.*\", \
         \"$JS.API.STREAM.INFO.*\", \"$JS.API.STREAM.MSG.GET.*\", \"$JS.API.DIRECT.GET.*\"], \
         subscribe: [\"_INBOX.>\", \"tw.order.>\"] }} }}\n"
    )
}

/// A fresh user: seed and public key.
fn user() -> Result<(String, String), ClusterError> {
    let pair = KeyPair::new_user();
    let seed = pair.seed().map_err(|error| ClusterError::Keys(error.to_string()))?;
    Ok((seed, pair.public_key()))
}

fn signal(pid: Option<u32>, kind: Signal) -> Result<(), ClusterError> {
    let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw) else { return Ok(()) };
    match rustix::process::kill_process(pid, kind) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(ClusterError::System { action: "end a server".to_owned(), cause: error.into() }),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The folder in which `tripwire fleet up` keeps its cluster.
#[must_use]
pub fn default_folder(state: &Path) -> PathBuf {
    state.join("tripwire").join("fleet").join("cluster")
}

const PLAN: &str = "cluster.json";
const PLAN_BYTES_MAX: u64 = 16 << 20;
const READY_WITHIN: Duration = Duration::from_secs(40);
const LOG_BYTES_MAX: u64 = 1 << 20;
const END_WITHIN: Duration = Duration::from_secs(10);
