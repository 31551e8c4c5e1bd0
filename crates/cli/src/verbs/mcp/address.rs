//! The guard on standard streams before a server with an address. A process of its own carries the messages to the address, and is
//! guarded like any other server; the address and its headers reach it in a variable and are on no command line.

use crate::error::Problem;
use crate::exit::Exit;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use tripwire_clients::tool_servers::AddressEntry;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_gateway::tool_server::{PipedServer, ToolServerUrl, pipe};
use tripwire_mcp::guard::{Door, GuardOptions, PinStore, ServerName};

/// The variable by which the process that carries messages knows its server.
const VARIABLE: &str = "TRIPWIRE_MCP_CARRIES";

/// A variable that should hold a server and does not.
#[derive(Debug, thiserror::Error)]
enum CarryError {
    #[error("the variable `{0}` is not set")]
    Unset(String),
    #[error("this part of `tripwire mcp` is started by the guard of a server with an address, and not by hand")]
    ByHand,
}

impl Explain for CarryError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unset(_) => "`tripwire init --mcp` writes it into the client's settings beside the command".into(),
            Self::ByHand => "start `tripwire mcp --stdio --url URL`".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::BadInput
    }
}

/// A server with an address.
pub(super) struct Carried {
    pub(super) url: ToolServerUrl,
    headers: Vec<(String, String)>,
}

impl Carried {
    /// The server that the command line names by its address, or by the variable with its entry; none where it names no such.
    pub(super) fn of(url: Option<&ToolServerUrl>, entry: Option<&str>) -> Result<Option<Self>, Problem> {
        if let Some(url) = url {
            return Ok(Some(Self { url: url.clone(), headers: Vec::new() }));
        }
        let Some(variable) = entry else { return Ok(None) };
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let text = env(variable).ok_or_else(|| CarryError::Unset(variable.to_owned()))?;
        let AddressEntry { url, headers } = AddressEntry::read(&text, &env)?;
        Ok(Some(Self { url: ToolServerUrl::parse(&url)?, headers }))
    }

    /// What the guard of this server starts.
    pub(super) fn guarded(
        self,
        name: ServerName,
        cwd: PathBuf,
        door: Door,
        pins: PinStore,
    ) -> Result<GuardOptions, Problem> {
        let program = std::env::current_exe().map_err(Problem::OwnProgram)?;
        let command = [program.into_os_string(), "mcp".into(), "carry".into()].into();
        let server = json!({"url": self.url.text(), "headers": self.headers});
        let variable = Some((OsString::from(VARIABLE), OsString::from(server.to_string())));
        Ok(GuardOptions { name, command, address: Some(self.url.shown()), variable, cwd, door, pins })
    }
}

/// Carries messages until standard input ends.
pub(super) fn carry() -> Result<Exit, Problem> {
    let text = std::env::var(VARIABLE).map_err(|_| CarryError::ByHand)?;
    let server: Value = serde_json::from_str(&text).map_err(|_| CarryError::ByHand)?;
    let url = server.get("url").and_then(Value::as_str).ok_or(CarryError::ByHand)?;
    let headers = server.get("headers").and_then(|headers| serde_json::from_value(headers.clone()).ok());
    let headers: Vec<(String, String)> = headers.ok_or(CarryError::ByHand)?;
    let server = PipedServer { url: ToolServerUrl::parse(url)?, headers, env: |name| std::env::var(name).ok() };
    pipe(&server, std::io::stdin(), std::io::stdout())?;
    Ok(Exit::Done)
}
