//! `tripwire mcp --url URL`: the guard of a server that is reached over HTTP.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Out;
use clap::Args;
use serde_json::json;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file;
use tripwire_gateway::tool_server::ToolServerUrl;
use tripwire_mcp::guard::{Door, HttpGuardOptions, PinStore, ServerName, serve_http};
use tripwire_supervisor::Notifier;

/// The shortest token.
const TOKEN_BYTES_MIN: usize = 16;
/// The largest file of a token.
const TOKEN_FILE_BYTES_MAX: u64 = 4_096;

#[derive(Debug, Args)]
pub(super) struct HttpArgs {
    /// Guard the server at this address (Streamable HTTP); clients connect to `--listen` with the same path.
    #[arg(long, value_name = "URL", value_parser = ToolServerUrl::parse)]
    pub(super) url: Option<ToolServerUrl>,
    /// Where clients connect; an address that other machines can reach requires a token.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4781", requires = "url")]
    listen: SocketAddr,
    /// A file with the token that clients must send as `x-tripwire-token`.
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
    /// Also accept requests from pages of this origin, such as `http://localhost:6274`.
    #[arg(long, value_name = "ORIGIN", requires = "url")]
    origin: Vec<String>,
    /// Write the address as one JSON object.
    #[arg(long, requires = "url")]
    json: bool,
}

/// A token that is none.
#[derive(Debug, thiserror::Error)]
#[error("`{}` holds no token: {why}", file.display())]
struct TokenError {
    file: PathBuf,
    why: &'static str,
}

impl Explain for TokenError {
    fn hint(&self) -> Cow<'_, str> {
        "write one: `head -c 24 /dev/urandom | base64 > FILE`".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::BadInput
    }
}

/// Who is guarded, and who is asked.
pub(super) struct HttpGuard<'a> {
    pub(super) url: &'a ToolServerUrl,
    pub(super) name: ServerName,
    pub(super) pins: PinStore,
    pub(super) notifier: &'a Arc<dyn Notifier>,
}

/// Guards the server until a signal ends it.
pub(super) fn run(
    args: &HttpArgs,
    guard: HttpGuard<'_>,
    door: impl FnOnce() -> Result<Door, Problem>,
) -> Result<Exit, Problem> {
    let HttpGuard { url, name, pins, notifier } = guard;
    let token = args.token_file.as_deref().map(token).transpose()?;
    let options = HttpGuardOptions {
        name,
        url: url.clone(),
        listen: args.listen,
        token,
        origins: args.origin.clone(),
        env: |name| std::env::var(name).ok(),
        door: door()?,
        pins,
    };
    let mut told = Ok(());
    serve_http(options, Arc::clone(notifier), |address| told = ready(address, args, url))?;
    told?;
    Ok(Exit::Done)
}

fn token(path: &Path) -> Result<Digest, Problem> {
    let bytes = file::read_bounded(path, TOKEN_FILE_BYTES_MAX)?;
    let text = bytes.trim_ascii();
    let wrong = |why| TokenError { file: path.to_owned(), why };
    if text.len() < TOKEN_BYTES_MIN {
        return Err(wrong("it is shorter than 16 letters").into());
    }
    if !text.iter().all(u8::is_ascii_graphic) {
        return Err(wrong("it holds more than letters, digits and signs").into());
    }
    Ok(Digest::of(text))
}

fn ready(address: SocketAddr, args: &HttpArgs, url: &ToolServerUrl) -> Result<(), Problem> {
    let listening = format!("http://{address}{}", url.path());
    let mut out = Out::lock();
    if args.json {
        let ready = json!({"listening": listening, "server": url.shown(), "pid": std::process::id()});
        out.line(&ready.to_string())?;
    } else {
        out.line(&format!("listening on {listening}, guarding {}", url.shown()))?;
    }
    out.flush()
}
