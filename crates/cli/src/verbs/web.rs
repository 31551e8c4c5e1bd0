//! `tripwire web`: the local page over all sessions of this machine.

use crate::console;
use crate::error::Problem;
use crate::exit::Exit;
use crate::person;
use crate::print::{self, Form, Out};
use crate::verbs::fleet;
use crate::workspace::{self, Where};
use clap::Args;
use serde_json::json;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tripwire_console::Host;
use tripwire_console::model::workspace_key;
use tripwire_console::web::{self, Listen, Ready, ServeOptions, TlsFiles};
use tripwire_workspace::Workspace;
use tripwire_workspace::open_consoles::OpenConsole;
use tripwire_workspace::session::SessionId;

/// Show all sessions of this machine on a local web page: live, with charts, decisions and a stop button.
///
/// Prints a link that is valid until this process ends. The part after `#` is a secret that authorizes actions; do
/// not share it. The page reads journals without locking them. Its stop and pause buttons do what `tripwire stop` and
/// `tripwire pause` do, with the same receipts; its answers do what `tripwire approvals` does. While the page is
/// open, held calls wait for an answer. With hooks alone, an agent under the same account could read this process's
/// memory or terminal, so the page is then not a security boundary.
#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// Where to listen: an address of this machine, or `unix:PATH`. An address that other machines can reach needs
    /// TLS.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = listen)]
    listen: Listen,
    /// The TLS certificate with its chain, in PEM form.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, in PEM form.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// An additional host name under which you open the page; may be repeated. Requests for other host names are
    /// refused.
    #[arg(long, value_name = "HOST")]
    name: Vec<String>,
    /// Open the page in the browser.
    #[arg(long)]
    open: bool,
    /// Only this workspace; may be repeated. By default all workspaces in which tripwire was used.
    #[arg(long, value_name = "DIR")]
    workspace: Vec<PathBuf>,
    /// Exit after this many seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    #[command(flatten)]
    form: Form,
}

fn listen(text: &str) -> Result<Listen, String> {
    match text.strip_prefix("unix:") {
        Some(path) if !path.is_empty() => Ok(Listen::Socket(PathBuf::from(path))),
        Some(_) => Err("name the socket: `unix:/run/user/1000/tripwire.sock`".to_owned()),
        None => {
            let address = text.parse::<SocketAddr>();
            address.map(Listen::Address).map_err(|_| "write an address with a port, such as `127.0.0.1:0`".to_owned())
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &WebArgs) -> Result<Exit, Problem> {
    person::only("web", &Where::of(args.workspace.first()))?;
    let mut named = Vec::new();
    for folder in &args.workspace {
        named.push(Workspace::locate(folder, &workspace::places())?.root().to_owned());
    }
    let ends_after = args.timeout.map(Duration::from_secs);
    let page = Page { route: String::new(), opens: args.open, form: args.form };
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    let options = ServeOptions {
        listen: args.listen.clone(),
        host: host(named),
        names: args.name.clone(),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        ends_after,
    };
    serve(options, &page)
}

/// Which page is shown first, and how the link is told.
struct Page {
    /// What stands behind the secret in the link.
    route: String,
    opens: bool,
    form: Form,
}

/// Shows a session, or one of its decisions, on the page: what `--web` of `log`, `why` and `status` does.
pub(crate) fn show(workspace: &Workspace, session: Option<&SessionId>, decision: Option<u64>) -> Result<Exit, Problem> {
    let root = workspace.root();
    person::only("web", &Where::of(Some(&root.to_owned())))?;
    let decision = decision.map(|number| format!("/{number}")).unwrap_or_default();
    let route = session.map(|session| format!("/s/{}/{session}{decision}", workspace_key(root))).unwrap_or_default();
    let page = Page { route, opens: true, form: Form::default() };
    let options = ServeOptions {
        listen: Listen::Address(SocketAddr::from(([127, 0, 0, 1], 0))),
        host: host(vec![root.to_owned()]),
        names: Vec::new(),
        tls: None,
        ends_after: None,
    };
    serve(options, &page)
}

/// This person and machine, with the fleet.
fn host(named: Vec<PathBuf>) -> Host {
    let fleet = || fleet::standing().map_err(|problem| format!("{problem}; {}", problem.hint()));
    Host { fleet, ..console::host(named) }
}

fn serve(options: ServeOptions, page: &Page) -> Result<Exit, Problem> {
    if options.host.named.is_empty() && options.host.known.is_none() {
        return Err(Problem::NoHome);
    }
    // While the page is open, a held call may wait for its answer.
    let _open = workspace::state_home().and_then(|state| OpenConsole::open(&state).ok());
    let mut told = Ok(());
    let mut forward = None;
    web::serve(options, |ready| {
        told = tell(&ready, page);
        forward = page.opens.then(|| open(&link(&ready, page))).flatten();
    })?;
    drop(forward);
    told?;
    Ok(Exit::Done)
}

fn link(ready: &Ready, page: &Page) -> String {
    format!("{}#{}{}", ready.place, ready.secret, page.route)
}

fn tell(ready: &Ready, page: &Page) -> Result<(), Problem> {
    let url = link(ready, page);
    let mut out = Out::lock();
    if page.form.json {
        out.line(&json!({"url": url, "pid": std::process::id()}).to_string())?;
    } else {
        out.line(&url)?;
    }
    out.flush()?;
    if !page.form.json {
        print::say("the link is for this start only; Ctrl-C ends the page");
    }
    Ok(())
}

/// A file that forwards to the link, so that no command line carries the secret; removed at the end.
struct Forward(PathBuf);

impl Drop for Forward {
    fn drop(&mut self) {
        // One that is gone already is no loss.
        drop(std::fs::remove_file(&self.0));
    }
}

/// Opens the browser; where that does not work, the link is there to be clicked.
fn open(url: &str) -> Option<Forward> {
    let folder = workspace::temporary().into_iter().find(|folder| folder.is_dir())?;
    let forward = Forward(folder.join(format!("tripwire-web-{}.html", std::process::id())));
    let text = format!(
        "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={url}\"><title>tripwire</title>\n"
    );
    let written = write_private(&forward.0, &text).and_then(|()| {
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        Command::new(opener).arg(&forward.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    });
    match written {
        Ok(_started) => Some(forward),
        Err(error) => {
            print::say(&format!("note: no browser was opened ({error}); open the link yourself"));
            None
        }
    }
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}
