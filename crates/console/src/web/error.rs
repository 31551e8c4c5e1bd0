//! Why the page is not served.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use tripwire_core::explain::{ExitClass, Explain};

/// Why the page is not served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// Others could reach the address.
    #[error("`{address}` can be reached by others, and there the page needs TLS")]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// It is not known under which names the page is asked.
    #[error("`{address}` stands for every address of this machine: under which name will you open the page?")]
    NoName {
        /// The address.
        address: SocketAddr,
    },
    /// A certificate or a key cannot be used.
    #[error("`{}` cannot be used for TLS: {why}", file.display())]
    Tls {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on `{place}`: {error}")]
    Listen {
        /// The address or the socket.
        place: String,
        /// Why.
        error: io::Error,
    },
    /// The system refused.
    #[error("the system gives no runtime or no randomness: {0}")]
    Runtime(io::Error),
}

impl Explain for WebError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Open { .. } => {
                "give it a certificate with `--tls-cert FILE --tls-key FILE`, or listen on 127.0.0.1 or \
                 `unix:PATH` and reach it from elsewhere through `ssh -L 8080:127.0.0.1:PORT`"
                    .into()
            }
            Self::NoName { .. } => "name it with `--name box.example`: requests under other names are refused".into(),
            Self::Tls { .. } => "both files are in PEM form, and the key belongs to the first certificate".into(),
            Self::Listen { .. } => "choose another place with `--listen 127.0.0.1:0` or `--listen unix:PATH`".into(),
            Self::Runtime(_) => "raise the limits of this process, then run it again".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Open { .. } | Self::NoName { .. } => ExitClass::Refused,
            Self::Tls { .. } | Self::Listen { .. } => ExitClass::BadInput,
            Self::Runtime(_) => ExitClass::Internal,
        }
    }
}
