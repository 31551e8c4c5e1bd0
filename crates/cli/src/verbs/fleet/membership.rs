//! Which fleet this machine belongs to, and under which name.

use super::args::{JoinArgs, print};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Form;
use crate::workspace;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fleet::file_log::FileLog;
use tripwire_fleet::host::Membership as Who;
use tripwire_fleet::log::Log;
use tripwire_fleet::machine::Part;
use tripwire_fleet::order::{FleetAct, Label};
use tripwire_fleet::subject::Name;
use tripwire_fs::file::{self, FileMode};
use tripwire_workspace::clock;

/// What `join` stores.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Membership {
    version: u32,
    /// `file:/folder`, or the addresses of servers.
    pub(super) address: String,
    /// The copy of the credentials.
    credentials: Option<PathBuf>,
    pub(super) machine: Name,
    pub(super) labels: BTreeMap<Name, Name>,
    dead_man_s: u64,
    /// Sessions that were over before are not copied.
    pub(super) joined_ms: u64,
}

/// Why a verb of the fleet does nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum FleetError {
    #[cfg_attr(feature = "fleet", expect(dead_code, reason = "this build can"))]
    #[error("this build of tripwire cannot speak to NATS servers")]
    NotBuiltIn,
    #[error("this machine belongs to no fleet")]
    NotJoined,
    #[error("this machine belongs to the fleet {address} already, as `{machine}`")]
    Joined { address: String, machine: Name },
    #[error("`{text}` is not the address of a fleet: `nats://HOST:PORT` or `file:/a/folder`")]
    Address { text: String },
    #[error("`{}` cannot be read: {cause}", path.display())]
    Damaged { path: PathBuf, cause: String },
    #[error("joining servers needs credentials")]
    #[cfg_attr(not(feature = "fleet"), expect(dead_code, reason = "asked for by a build that speaks to servers"))]
    NoCredentials,
    #[error("a dead-man switch needs between 3 and 86400 seconds, not {seconds}")]
    DeadMan { seconds: u64 },
    #[error("the fleet has the order `{}` by {who}: {reason}", act.name())]
    Held { act: FleetAct, who: String, reason: String },
    #[error("the fleet has no budget `{name}`")]
    NoBudget { name: Name },
    #[error("the fleet has no rate `{name}`")]
    NoRate { name: Name },
    #[error("too many processes of this machine spend at the same time")]
    NoSlot,
    #[error("the fleet has no record of the session `{session}` that this machine could take over")]
    NoRecord { session: String },
    #[error("there are several sessions `{session}`: {origins}")]
    SeveralRecords { session: String, origins: String },
    #[error("`{machine}` is alive and may be working on it")]
    Alive { machine: Name },
    #[error("the session `{session}` is in this workspace already")]
    AlreadyHere { session: String },
    #[error("nothing waits for an answer under `{id}` on any machine")]
    NoQuestion { id: String },
    #[error("several machines ask under `{id}`: {digits}")]
    SeveralQuestions { id: String, digits: String },
    #[error("`{id}` was answered before: {first}; the first answer counts")]
    AnsweredBefore { id: String, first: String },
    #[error("`{id}` asks for a larger budget, and the answer does not say by how much")]
    NoAmount { id: String },
    #[error("the system gives no thread: {0}")]
    Thread(std::io::Error),
    #[error("{0}")]
    Random(String),
}

impl Explain for FleetError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotBuiltIn => {
                "build one with `cargo install --path crates/cli --features fleet`; released binaries have it".into()
            }
            Self::NotJoined => "join one with `tripwire fleet join nats://HOST:PORT --creds FILE`".into(),
            Self::Joined { .. } => "leave it first with `tripwire fleet leave`".into(),
            Self::Address { .. } => "start a cluster with `tripwire fleet up`; it prints its address".into(),
            Self::Damaged { .. } => "remove the file, and join again".into(),
            Self::NoCredentials => {
                "name the file that `tripwire fleet up` or `invite` wrote with `--creds FILE`".into()
            }
            Self::DeadMan { .. } => "say `--dead-man 30`".into(),
            Self::Held { .. } => "take it back with `tripwire resume --all`".into(),
            Self::NoBudget { name } => format!("make it with `tripwire fleet budget {name} --limit 100usd`").into(),
            Self::NoRate { name } => format!("make it with `tripwire fleet rate {name} --per-minute 600`").into(),
            Self::NoSlot => "end some of them, then try again".into(),
            Self::NoRecord { .. } => "see what is there with `tripwire fleet audit`".into(),
            Self::SeveralRecords { .. } => "say which one with `--from MACHINE/WORKSPACE`".into(),
            Self::Alive { .. } => "stop it first with `tripwire stop --all`, or say `--even-if-alive`".into(),
            Self::AlreadyHere { session } => format!("go on with `tripwire agent --resume {session}`").into(),
            Self::NoQuestion { .. } | Self::AnsweredBefore { .. } => {
                "see what waits with `tripwire approvals --fleet`".into()
            }
            Self::SeveralQuestions { .. } => {
                "name one by these digits; `tripwire approvals --fleet` shows which machine asks".into()
            }
            Self::NoAmount { id } => {
                format!("name the amount: `tripwire approvals approve {id} --raise 5usd --fleet`").into()
            }
            Self::Thread(_) => "look at the limits of processes and memory: `ulimit -a`".into(),
            Self::Random(_) => "check /dev/urandom".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Alive { .. }
            | Self::AlreadyHere { .. }
            | Self::Joined { .. }
            | Self::Held { .. }
            | Self::NoSlot
            | Self::AnsweredBefore { .. } => ExitClass::Refused,
            Self::NotBuiltIn
            | Self::NotJoined
            | Self::Address { .. }
            | Self::Damaged { .. }
            | Self::NoCredentials
            | Self::NoRecord { .. }
            | Self::SeveralRecords { .. }
            | Self::NoBudget { .. }
            | Self::NoRate { .. }
            | Self::NoQuestion { .. }
            | Self::SeveralQuestions { .. }
            | Self::NoAmount { .. }
            | Self::DeadMan { .. } => ExitClass::BadInput,
            Self::Thread(_) | Self::Random(_) => ExitClass::Internal,
        }
    }
}

/// The folder of everything that this machine keeps for its fleet.
pub(super) fn folder() -> Result<PathBuf, Problem> {
    Ok(workspace::state_home().ok_or(Problem::NoHome)?.join("tripwire").join("fleet"))
}

/// Where this machine remembers which policy bundles it has seen.
pub(super) fn bundles_path() -> Result<PathBuf, Problem> {
    Ok(folder()?.join("bundles.json"))
}

impl Membership {
    const VERSION: u32 = 1;

    fn path() -> Result<PathBuf, Problem> {
        Ok(folder()?.join("membership.json"))
    }

    /// The fleet of this machine.
    pub(super) fn load() -> Result<Self, Problem> {
        Self::find()?.ok_or_else(|| FleetError::NotJoined.into())
    }

    /// The fleet of this machine, if it belongs to one.
    pub(super) fn find() -> Result<Option<Self>, Problem> {
        let path = Self::path()?;
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        let damaged = |cause: String| FleetError::Damaged { path: path.clone(), cause };
        let bytes = file::read_bounded(&path, BYTES_MAX).map_err(|error| damaged(error.to_string()))?;
        let found: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if found.version != Self::VERSION {
            return Err(damaged(format!("it is of version {}", found.version)).into());
        }
        Ok(Some(found))
    }

    /// Without a heartbeat for so long this machine's agents are paused.
    pub(super) const fn dead_man(&self) -> Duration {
        Duration::from_secs(self.dead_man_s)
    }

    /// This process as a member of the fleet.
    pub(super) fn as_member(&self, part: Part, dead_man: Duration) -> Result<Who, Problem> {
        Ok(Who {
            machine: self.machine.clone(),
            labels: self.labels.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            dead_man,
            memory: folder()?.join("memory.json"),
            life: tripwire_fleet::nonce().map_err(FleetError::Random)?,
            part,
        })
    }

    /// Opens the fleet's log; a cluster is checked on the way.
    pub(super) fn log(&self) -> Result<Box<dyn Log>, Problem> {
        match self.address.strip_prefix(FILE) {
            Some(folder) => Ok(Box::new(FileLog::open(Path::new(folder))?)),
            None => self.servers(),
        }
    }

    #[cfg(feature = "fleet")]
    fn servers(&self) -> Result<Box<dyn Log>, Problem> {
        let path = self.credentials.as_ref().ok_or(FleetError::NoCredentials)?;
        let credentials = tripwire_fleet::nats::Credentials::read(path, &[])?;
        Ok(Box::new(tripwire_fleet::nats::NatsLog::open(&credentials)?))
    }

    #[cfg(not(feature = "fleet"))]
    fn servers(&self) -> Result<Box<dyn Log>, Problem> {
        let Self { credentials: _, .. } = self;
        Err(FleetError::NotBuiltIn.into())
    }
}

/// Runs `tripwire fleet join`.
pub(super) fn join(args: &JoinArgs) -> Result<Exit, Problem> {
    if let Some(Membership { address, machine, .. }) = Membership::find()? {
        return Err(FleetError::Joined { address, machine }.into());
    }
    if !(3..=86_400).contains(&args.dead_man) {
        return Err(FleetError::DeadMan { seconds: args.dead_man }.into());
    }
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let machine = match &args.machine {
        Some(text) => Name::parse(text)?,
        None => Name::nearest(host().trim()),
    };
    let mut labels = BTreeMap::new();
    for text in &args.label {
        let Label { key, value } = Label::parse(text)?;
        labels.insert(key, value);
    }
    file::make_folder(&folder()?)?;
    let shared = match args.address.strip_prefix(FILE).filter(|folder| !folder.is_empty()) {
        Some(folder) => Some(std::path::absolute(folder).map_err(|error| Problem::open(Path::new(folder), error))?),
        None => None,
    };
    let membership = Membership {
        version: Membership::VERSION,
        address: shared.as_ref().map_or_else(|| args.address.clone(), |folder| format!("{FILE}{}", folder.display())),
        credentials: if shared.is_some() { None } else { Some(store_credentials(args)?) },
        machine,
        labels,
        dead_man_s: args.dead_man,
        joined_ms: clock::now().epoch_ms(),
    };
    // Whatever is weaker than asked is refused here, before anything depends on it.
    drop(membership.log()?);
    let text = serde_json::to_vec_pretty(&membership).unwrap_or_default();
    file::replace_with_mode(&Membership::path()?, &text, FileMode::PRIVATE)?;
    let Membership { address, machine, .. } = &membership;
    print(&match args.form.json {
        true => json!({"version": 1, "joined": address, "machine": machine}).to_string(),
        false => format!("joined {address} as `{machine}`\nnext: `tripwire fleet serve`"),
    })
}

/// Checks the address and keeps the credentials where only their owner reads them.
#[cfg(feature = "fleet")]
fn store_credentials(args: &JoinArgs) -> Result<PathBuf, Problem> {
    use tripwire_fleet::nats::Credentials;
    let urls = addresses(args)?;
    let given = args.creds.as_ref().ok_or(FleetError::NoCredentials)?;
    let mut credentials = Credentials::read(given, &urls)?;
    if let Some(path) = &args.monitor_creds {
        credentials.monitor = Some(Credentials::read(path, &urls)?.user);
    }
    credentials.replicas = args.replicas.unwrap_or(credentials.replicas);
    let path = folder()?.join("machine.creds");
    credentials.write(&path)?;
    Ok(path)
}

#[cfg(not(feature = "fleet"))]
fn store_credentials(args: &JoinArgs) -> Result<PathBuf, Problem> {
    let JoinArgs { creds: _, monitor_creds: _, replicas: _, .. } = args;
    addresses(args)?;
    Err(FleetError::NotBuiltIn.into())
}

/// The addresses of servers.
fn addresses(args: &JoinArgs) -> Result<Vec<String>, Problem> {
    let urls: Vec<String> = args.address.split(',').map(str::to_owned).collect();
    let good =
        |url: &String| SCHEMES.iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    if urls.iter().all(good) { Ok(urls) } else { Err(FleetError::Address { text: args.address.clone() }.into()) }
}

/// Runs `tripwire fleet leave`.
pub(super) fn leave(form: Form) -> Result<Exit, Problem> {
    let Membership { address, machine, credentials, .. } = Membership::load()?;
    file::remove(&Membership::path()?)?;
    file::remove(&folder()?.join("memory.json"))?;
    file::remove(&bundles_path()?)?;
    if let Some(credentials) = credentials {
        file::remove(&credentials)?;
    }
    print(&match form.json {
        true => json!({"version": 1, "left": address, "machine": machine}).to_string(),
        false => format!("left {address}; what `{machine}` recorded there stays"),
    })
}

const FILE: &str = "file:";
const SCHEMES: [&str; 2] = ["nats://", "tls://"];
const BYTES_MAX: u64 = 1 << 20;
