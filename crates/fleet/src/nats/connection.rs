//! A connection that blocks: the asynchronous client runs on one thread of its own, and everybody else waits for its answers.

use super::credentials::{Credentials, JWT_MARK};
use crate::checks::WeakClusterError;
use crate::log::LogError;
use async_nats::rustls::pki_types::CertificateDer;
use async_nats::rustls::pki_types::pem::PemObject as _;
use async_nats::rustls::{ClientConfig, RootCertStore};
use async_nats::{Client, ConnectOptions, Event, Message, Request};
use bytes::Bytes;
use std::borrow::Cow;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tripwire_core::explain::{ExitClass, Explain};

/// Why a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// There is no connection.
    #[error("cannot connect to {urls}: {cause}")]
    Connect {
        /// Where.
        urls: String,
        /// Why.
        cause: String,
    },
    /// The connection cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It is weaker than asked.
    #[error(transparent)]
    Weak(#[from] WeakClusterError),
}

impl Explain for NatsError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Connect { .. } => {
                "check the address and the credentials; `tripwire fleet up` starts a cluster here".into()
            }
            Self::Log(error) => error.hint(),
            Self::Weak(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Connect { .. } => ExitClass::DoesNotHold,
            Self::Log(error) => error.exit_class(),
            Self::Weak(error) => error.exit_class(),
        }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The machine or person.
    User,
    /// The user who may ask the servers how they store.
    Monitor,
}

/// A connection and the thread that drives it.
pub(super) struct Connection {
    client: Client,
    handle: Handle,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The last trouble that the server or the network told of.
    trouble: Arc<Mutex<Option<String>>>,
}

impl Connection {
    pub(super) fn open(credentials: &Credentials, speaker: Speaker) -> Result<Self, NatsError> {
        let urls = credentials.urls.join(",");
        let failed = |cause: String| NatsError::Connect { urls: urls.clone(), cause };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("fleet".to_owned()).spawn(move || {
            // Whichever way the other end goes, it is over.
            drop(runtime.block_on(ended));
        });
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        let trouble = Arc::new(Mutex::new(None));
        let connected = options(credentials, speaker, &trouble).map_err(&failed).and_then(|options| {
            let servers = credentials.urls.clone();
            handle.block_on(async move { options.connect(servers).await }).map_err(|error| failed(error.to_string()))
        });
        match connected {
            Ok(client) => Ok(Self { client, handle, end: Some(end), thread: Some(thread), trouble }),
            Err(error) => {
                drop(end);
                thread.join().ok();
                Err(error)
            }
        }
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Waits for something asynchronous.
    pub(super) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }

    /// Asks a question.
    pub(super) async fn ask(&self, subject: &str, request: Request) -> Result<Message, String> {
        let request = request.timeout(Some(ANSWER_WITHIN));
        let answer = self.client.send_request(subject.to_owned(), request).await;
        answer.map_err(|error| {
            let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
            trouble.map_or_else(|| error.to_string(), |trouble| format!("{error} ({trouble})"))
        })
    }

    /// Asks with a JSON text.
    pub(super) async fn ask_json(&self, subject: &str, body: &serde_json::Value) -> Result<Message, String> {
        self.ask(subject, Request::new().payload(Bytes::from(body.to_string()))).await
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn options(
    credentials: &Credentials,
    speaker: Speaker,
    trouble: &Arc<Mutex<Option<String>>>,
) -> Result<ConnectOptions, String> {
    let secret = match speaker {
        Speaker::User => &credentials.user,
        Speaker::Monitor => credentials.monitor.as_ref().ok_or("there are no credentials of a monitor")?,
    };
    let told = Arc::clone(trouble);
    let mut options = ConnectOptions::new()
        .name("tripwire")
        .connection_timeout(CONNECT_WITHIN)
        .request_timeout(Some(ANSWER_WITHIN))
        .ping_interval(PING_EVERY)
        .event_callback(move |event| {
            let told = Arc::clone(&told);
            async move {
                if let Event::ServerError(_) | Event::ClientError(_) | Event::Disconnected = event {
                    *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(event.to_string());
                }
            }
        });
    options = if secret.contains(JWT_MARK) {
        options.credentials(secret).map_err(|error| error.to_string())?
    } else if secret.is_empty() {
        options
    } else {
        options.nkey(secret.clone())
    };
    match &credentials.ca {
        Some(ca) => Ok(options.tls_client_config(trusting(ca)?).require_tls(true)),
        None => Ok(options),
    }
}

/// TLS that trusts one certificate. It is kept in memory: a file would have to be there whenever the client connects again.
fn trusting(pem: &str) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(async_nats::rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth())
}

/// An append to three disks that sync takes milliseconds, the choice of a new leader seconds.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(4);
const CONNECT_WITHIN: Duration = Duration::from_secs(4);
const PING_EVERY: Duration = Duration::from_secs(5);
