//! What a machine needs to reach a cluster: addresses, whom to trust, who it is. One file, readable by its owner alone.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tripwire_core::explain::Explain;
use tripwire_fs::file::{self, FileError, FileMode};

/// The contents of a credentials file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The version of the form.
    pub version: u32,
    /// The servers.
    pub urls: Vec<String>,
    /// The certificate that signs those of the servers, in PEM; without one the system's roots count.
    pub ca: Option<String>,
    /// Who this is: an NKey seed, or the text of a NATS credentials file.
    pub user: String,
    /// A user of the system account that may ask the servers how they store; by the same forms.
    pub monitor: Option<String>,
    /// On how many servers each entry is to be.
    pub replicas: u64,
}

impl std::fmt::Debug for Credentials {
    /// Secrets stay secret in logs.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Credentials({})", self.urls.join(","))
    }
}

/// Why a credentials file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// It cannot be read.
    #[error("cannot read the credentials `{}`: {cause}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// It is not of the form.
    #[error("`{}` holds neither credentials of a fleet nor a NATS credentials file: {cause}", path.display())]
    Shape {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
}

impl Explain for CredentialsError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Read { .. } | Self::Shape { .. } => {
                "`tripwire fleet up` and `tripwire fleet invite` write such a file; `--creds FILE` names it".into()
            }
            Self::Write(error) => error.hint(),
        }
    }
}

impl Credentials {
    /// The version that this program writes.
    pub const VERSION: u32 = 1;

    /// Reads a file of ours, or takes a NATS credentials file as the user.
    ///
    /// # Errors
    /// When it is neither.
    pub fn read(path: &Path, urls: &[String]) -> Result<Self, CredentialsError> {
        let bytes = file::read_bounded(path, BYTES_MAX)
            .map_err(|cause| CredentialsError::Read { path: path.to_owned(), cause: cause.to_string() })?;
        let shape = |cause: String| CredentialsError::Shape { path: path.to_owned(), cause };
        let text = String::from_utf8(bytes).map_err(|error| shape(error.to_string()))?;
        if text.contains(JWT_MARK) {
            let (urls, version) = (urls.to_vec(), Self::VERSION);
            return Ok(Self { version, urls, ca: None, user: text, monitor: None, replicas: REPLICAS });
        }
        let mut read: Self = serde_json::from_str(&text).map_err(|error| shape(error.to_string()))?;
        if read.version != Self::VERSION {
            return Err(shape(format!("it is of version {}", read.version)));
        }
        if !urls.is_empty() {
            read.urls = urls.to_vec();
        }
        Ok(read)
    }

    /// Writes it for its owner alone.
    ///
    /// # Errors
    /// When that fails.
    pub fn write(&self, path: &Path) -> Result<(), CredentialsError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        Ok(file::replace_with_mode(path, text.as_bytes(), FileMode::PRIVATE)?)
    }
}

/// The line by which a NATS credentials file is known.
pub(super) const JWT_MARK: &str = "BEGIN NATS USER JWT";
/// What is asked for unless something else is said.
const REPLICAS: u64 = 3;
const BYTES_MAX: u64 = 1 << 20;
