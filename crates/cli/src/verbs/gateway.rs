//! `tripwire gateway`: a proxy for model APIs that counts, prices, bounds and cuts every model call.

mod sessions;

use self::sessions::CallerSessions;
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::table::{Column, Table};
use crate::print::{self, Form, Out, money};
use crate::telemetry::Telemetry;
use crate::verbs::fleet::{FleetChoice, FleetLink};
use crate::workspace::{self, Where};
use clap::{Args, Subcommand};
use serde_json::json;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::PathBuf;
use tripwire_core::counted::counted;
use tripwire_core::explain::Explain;
use tripwire_core::record::chain::Digest;
use tripwire_gateway::config::parse_budget;
use tripwire_gateway::usage::{self, UsageReport};
use tripwire_gateway::{Outbound, ServeOptions, serve, token};
use tripwire_workspace::policy_file;

/// Proxy model APIs: count, price, limit and, if necessary, cut off every model call.
///
/// Point a client at `http://ADDR/anthropic`, `/openai/v1` or `/gemini`. Each call is reserved against the budgets of
/// its key, team and organisation before it is sent, and settled with the provider's figures. `tripwire stop` and
/// `tripwire pause` for the workspace hold it. The ledger is kept in `.geometry/ledger`. The guard decides on the
/// tool calls in a reply before the client receives them: each conversation is a session of the workspace
/// (`tool_calls = "pass"` in the configuration turns that off).
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    verb: Option<GatewayVerb>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// Providers, keys, teams and budgets (TOML); without it, the usual providers with keys from the environment.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen; an address that other machines can reach requires keys.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4780")]
    listen: SocketAddr,
    #[command(flatten)]
    fleet: FleetChoice,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Subcommand)]
enum GatewayVerb {
    Usage(UsageArgs),
    Key(KeyArgs),
}

/// Show what was spent, by day, key, team and model; works without a running gateway.
#[derive(Debug, Args)]
struct UsageArgs {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

/// Create keys for callers.
#[derive(Debug, Args)]
struct KeyArgs {
    #[command(subcommand)]
    verb: KeyVerb,
}

#[derive(Debug, Subcommand)]
enum KeyVerb {
    New(NewKeyArgs),
}

/// Create a token and print it once, with the block to add to the configuration.
#[derive(Debug, Args)]
struct NewKeyArgs {
    /// The key's name.
    #[arg(value_parser = name)]
    name: String,
    /// The team it belongs to.
    #[arg(long, value_name = "TEAM", value_parser = name)]
    team: Option<String>,
    /// Its budget: `5usd/day`, `100usd/month`, `20usd`.
    #[arg(long, value_name = "BUDGET", value_parser = budget)]
    budget: Option<String>,
    #[command(flatten)]
    form: Form,
}

fn name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '@');
    if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
        return Err("use letters, digits, `-`, `_`, `.` and `@`, at most 64".to_owned());
    }
    Ok(text.to_owned())
}

fn budget(text: &str) -> Result<String, String> {
    let wrong = || "write a budget, such as `5usd/day`, `100usd/month` or `20usd`".to_owned();
    parse_budget(text).map(|_| text.to_owned()).ok_or_else(wrong)
}

/// The system gave no randomness.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no randomness: {0}")]
struct NoTokenError(std::io::Error);

impl Explain for NoTokenError {
    fn hint(&self) -> Cow<'_, str> {
        "look at `/dev/urandom`".into()
    }
}

/// The system gave no thread.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no thread: {0}")]
struct NoThreadError(std::io::Error);

impl Explain for NoThreadError {
    fn hint(&self) -> Cow<'_, str> {
        "look at the limits of processes and memory: `ulimit -a`".into()
    }
}

/// Runs the verb.
pub(crate) fn run(args: &GatewayArgs) -> Result<Exit, Problem> {
    match &args.verb {
        None => listen(&args.serve),
        Some(GatewayVerb::Usage(args)) => show(args),
        Some(GatewayVerb::Key(KeyArgs { verb: KeyVerb::New(args) })) => new_key(args),
    }
}

fn listen(args: &ServeArgs) -> Result<Exit, Problem> {
    let workspace = args.place.open()?;
    let policy = policy_file::load_for(workspace.layout())?.policy;
    let fleet = FleetLink::open(args.fleet, &workspace, Box::new(print::say))?;
    let listening = CallerSessions::listen(workspace.root().to_owned(), fleet.replica());
    let (sessions, asked) = listening.map_err(NoThreadError)?;
    let options = ServeOptions {
        listen: args.listen,
        config: args.config.clone(),
        layout: workspace.layout().clone(),
        env: |name| std::env::var(name).ok(),
        outbound: Outbound::new(policy.secrets.outbound, workspace::redactor(&workspace)?),
        prices: policy.price_list(),
        talk: Box::new(print::say),
        asked: Some(asked),
        money: fleet.money(),
    };
    let telemetry = Telemetry::begin(&workspace, Box::new(print::say));
    telemetry.follow_calls();
    let mut told = Ok(());
    let served = serve(options, |address| told = ready(address, args.form));
    sessions.finish();
    telemetry.finish();
    fleet.finish();
    served?;
    told?;
    Ok(Exit::Done)
}

fn ready(address: SocketAddr, form: Form) -> Result<(), Problem> {
    let url = format!("http://{address}");
    let mut out = Out::lock();
    if form.json {
        out.line(&json!({"listening": url, "pid": std::process::id()}).to_string())?;
    } else {
        out.line(&format!("listening on {url} (/anthropic, /openai, /gemini, /healthz, /metrics)"))?;
    }
    out.flush()
}

fn show(args: &UsageArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let report = usage::report(workspace.layout())?;
    let mut out = Out::lock();
    if args.form.json {
        out.line(&as_json(&report).to_string())?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    if report.rows.is_empty() {
        out.line("no model call was settled in this workspace yet; start one with `tripwire gateway`")?;
    } else {
        for line in table(&report).lines() {
            out.line(&line)?;
        }
    }
    if report.refused > 0 {
        out.line(&format!("{} refused for want of money", counted(report.refused, "request")))?;
    }
    for (kind, thing, what) in SHOWN_NOTES {
        let count = report.notes.iter().filter(|(noted, _)| noted == kind).count();
        if count > 0 {
            out.line(&format!("{} {what} ({kind}; `--json` lists all)", counted(count, thing)))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Notes that say that the sums are not the whole story, what each counts, and what became of it.
const SHOWN_NOTES: [(&str, &str, &str); 3] = [
    ("UNPRICED", "request", "passed without a price"),
    ("RESERVE_SHORT", "call", "cost more than was reserved and closed an account"),
    ("FALLBACK", "time", "a provider gave way to the next one"),
];

fn table(report: &UsageReport) -> Table {
    let mut table = Table::new(&[
        Column::text("day"),
        Column::text("key"),
        Column::text("team"),
        Column::text("model"),
        Column::figure("calls"),
        Column::figure("tokens"),
        Column::figure("spent"),
    ]);
    for (key, row) in &report.rows {
        let mark = if row.estimated > 0 { "~" } else { "" };
        table.row(vec![
            (key.day.clone(), None),
            (key.key.clone(), None),
            (key.team.clone(), None),
            (key.model.clone(), None),
            (row.calls.to_string(), None),
            (row.tokens.to_string(), None),
            (format!("{mark}{}", money::exactly(row.micro_usd.get())), None),
        ]);
    }
    table
}

fn as_json(report: &UsageReport) -> serde_json::Value {
    let rows: Vec<_> = report
        .rows
        .iter()
        .map(|(key, row)| {
            json!({"day": key.day, "key": key.key, "team": key.team, "model": key.model, "calls": row.calls,
                "estimated": row.estimated, "tokens": row.tokens, "micro_usd": row.micro_usd})
        })
        .collect();
    let total: u64 = report.rows.values().map(|row| row.micro_usd.get()).sum();
    let notes: Vec<_> = report.notes.iter().map(|(kind, text)| json!({"kind": kind, "text": text})).collect();
    json!({"version": 1, "rows": rows, "micro_usd": total, "refused": report.refused, "notes": notes})
}

fn new_key(args: &NewKeyArgs) -> Result<Exit, Problem> {
    let token = token::new_token().map_err(NoTokenError)?;
    let digest = Digest::of(token.as_bytes()).to_string();
    let mut block = format!("[[key]]\nname = \"{}\"\ntoken_sha256 = \"{digest}\"\n", args.name);
    if let Some(team) = &args.team {
        block.push_str(&format!("team = \"{team}\"\n"));
    }
    if let Some(budget) = &args.budget {
        block.push_str(&format!("budget = \"{budget}\"\n"));
    }
    let mut out = Out::lock();
    if args.form.json {
        out.line(&json!({"version": 1, "name": args.name, "token": token, "toml": block}).to_string())?;
    } else {
        out.line(&token)?;
        out.line("")?;
        for line in block.lines() {
            out.line(line)?;
        }
    }
    out.flush()?;
    print::say("the token is shown this once; add the block to the configuration, then send SIGHUP to the gateway");
    Ok(Exit::Done)
}
