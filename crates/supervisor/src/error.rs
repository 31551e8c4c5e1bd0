//! Why nothing was started.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use tripwire_clients::Client;
use tripwire_clients::launch::LaunchError;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::FileError;
use tripwire_gateway::GatewayError;
use tripwire_gateway::run_mode::RouteError;
use tripwire_sandbox::{SpecError, TreeError};
use tripwire_session::driver::DriverError;
use tripwire_workspace::geometry::report_parts::UnreadReportError;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program is none of the clients.
    #[error("`{}` is none of the clients that tripwire knows", program.display())]
    UnknownClient {
        /// The program.
        program: OsString,
    },
    /// The program is not there.
    #[error("`{}` is not found", program.display())]
    NotFound {
        /// The program.
        program: OsString,
    },
    /// A person's order stands.
    #[error("`.geometry/{0}` is set: nothing is started")]
    Blocked(&'static str),
    /// A report waits for a person.
    #[error(transparent)]
    Unread(#[from] UnreadReportError),
    /// The client's hooks could not be prepared.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The session cannot be begun.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The client cannot be started.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The gateway of the run cannot be begun.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The client's provider has no address that can be asked.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The record of the run cannot be written.
    #[error(transparent)]
    Record(#[from] FileError),
    /// The sandbox cannot be made as it was asked for.
    #[error(transparent)]
    Sandbox(#[from] SpecError),
    /// A confined client could not ask its model.
    #[error("in the sandbox the client cannot ask its model: {why}")]
    NoWayToModel {
        /// Why not.
        why: String,
    },
    /// The run's own folder, socket or threads cannot be made.
    #[error("cannot {what}: {error}")]
    Setup {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        error: io::Error,
    },
}

impl Explain for RunError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::UnknownClient { .. } => format!(
                "start {}, or say which of them it is with `--client`; other commands run confined with \
                 `tripwire sandbox exec`",
                one_of_the_clients()
            )
            .into(),
            Self::NotFound { .. } => "install the client, or give its path".into(),
            Self::Blocked(_) => "`tripwire resume` lifts the stop".into(),
            Self::Unread(error) => error.hint(),
            Self::Launch(error) => error.hint(),
            Self::Driver(error) => error.hint(),
            Self::Tree(error) => error.hint(),
            Self::Gateway(error) => error.hint(),
            Self::Route(_) => "set the client's base URL right, or run with `--no-gateway`".into(),
            Self::Record(error) => error.hint(),
            Self::Sandbox(error) => error.hint(),
            Self::NoWayToModel { .. } => {
                "the way to the model is the run's gateway: let the client use it, or run with `--no-sandbox`".into()
            }
            Self::Setup { .. } => "make the folder for temporary files writable (`TMPDIR`)".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::UnknownClient { .. } | Self::NotFound { .. } | Self::Route(_) | Self::Sandbox(_) => {
                ExitClass::BadInput
            }
            Self::Tree(error @ TreeError::Layer { .. }) => error.exit_class(),
            Self::Tree(_) => ExitClass::BadInput,
            Self::NoWayToModel { .. } => ExitClass::DoesNotHold,
            Self::Unread(error) => error.exit_class(),
            Self::Launch(error) => error.exit_class(),
            Self::Blocked("STOP") => ExitClass::Stopped,
            Self::Blocked(_) => ExitClass::Held,
            Self::Driver(error) => error.exit_class(),
            Self::Gateway(error) => error.exit_class(),
            Self::Record(_) | Self::Setup { .. } => ExitClass::DoesNotHold,
        }
    }
}

/// The names of all clients, for a sentence: `a, b or c`.
fn one_of_the_clients() -> String {
    let names: Vec<&str> = Client::every().map(Client::name).filter(|name| !name.ends_with("-api")).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
