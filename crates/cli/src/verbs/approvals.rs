//! `tripwire approvals`: what waits for a person's answer, and the answers.

use crate::answer;
use crate::error::Problem;
use crate::exit::Exit;
use crate::limits;
use crate::moment;
use crate::person::{self, Reason};
use crate::print::{self, Form, Out};
use crate::verbs::fleet;
use crate::workspace::{self, Where};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::units::MicroUsd;
use tripwire_session::approvals::{Answer, Answered, Approval, ApprovalKind};
use tripwire_workspace::known::KnownWorkspaces;
use tripwire_workspace::{Workspace, clock};

/// List what waits for your answer, and answer it.
///
/// Held commands, proposed changes and spent budgets are one queue. The first answer counts. It is valid only for
/// exactly that command, folder and session, and becomes void if the command, its script or the files it would affect
/// change in the meantime. If `approvals.wait` lets the call wait, the agent continues with the same call; otherwise
/// it has to ask again.
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    act: Option<ApprovalsAct>,
    #[command(flatten)]
    list: ApprovalsListArgs,
}

#[derive(Debug, Subcommand)]
enum ApprovalsAct {
    /// List what waits; the default.
    List(ApprovalsListArgs),
    /// Approve it, once.
    Approve(ApprovalsApproveArgs),
    /// Refuse it; the agent is told.
    Deny(ApprovalsDenyArgs),
}

#[derive(Debug, Args)]
struct ApprovalsListArgs {
    /// Include all workspaces of this machine.
    #[arg(long, conflicts_with = "fleet")]
    all: bool,
    #[command(flatten)]
    scope: ApprovalsScope,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct ApprovalsApproveArgs {
    /// What to approve: a code such as `K7Q2-9F`, the digits of a proposal, or `budget-SESSION`.
    id: String,
    /// Raise a spent budget by this amount, such as `5usd`.
    #[arg(long, value_name = "AMOUNT", value_parser = limits::budget)]
    raise: Option<u64>,
    #[command(flatten)]
    to: AnswerArgs,
}

#[derive(Debug, Args)]
struct ApprovalsDenyArgs {
    /// What to deny: a code such as `K7Q2-9F`, the digits of a proposal, or `budget-SESSION`.
    id: String,
    #[command(flatten)]
    to: AnswerArgs,
}

/// Whose questions are meant.
#[derive(Debug, Args)]
struct ApprovalsScope {
    /// Include the questions of all machines in this machine's fleet.
    #[arg(long, conflicts_with = "workspace")]
    fleet: bool,
}

/// How an answer is given.
#[derive(Debug, Args)]
struct AnswerArgs {
    #[command(flatten)]
    scope: ApprovalsScope,
    #[command(flatten)]
    reason: Reason,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

impl AnswerArgs {
    fn give(&self, id: &str, answer: &Answer) -> Result<Exit, Problem> {
        if self.scope.fleet {
            return fleet::approvals::answer(id, answer, self.form);
        }
        let workspace = self.place.look()?;
        let answered = answer::take(&workspace, id, answer, None)?;
        let command = answer::command_of(&answered.approval, &workspace);
        let shown = AnswerShown { command, place: self.place.option(), form: self.form };
        say(&answered, answer.says, &shown)
    }
}

/// Runs the verb.
pub(crate) fn run(args: &ApprovalsArgs) -> Result<Exit, Problem> {
    match &args.act {
        None => list(&args.list),
        Some(ApprovalsAct::List(args)) => list(args),
        Some(ApprovalsAct::Approve(args)) => {
            person::only("approvals approve", &args.to.place)?;
            let answer = answer::own(ApprovalVerdict::Allowed, &args.to.reason, args.raise.map(MicroUsd::new));
            args.to.give(&args.id, &answer)
        }
        Some(ApprovalsAct::Deny(args)) => {
            person::only("approvals deny", &args.to.place)?;
            args.to.give(&args.id, &answer::own(ApprovalVerdict::Denied, &args.to.reason, None))
        }
    }
}

fn list(args: &ApprovalsListArgs) -> Result<Exit, Problem> {
    if args.scope.fleet {
        return fleet::approvals::list(args.form);
    }
    let workspaces = if args.all { every_workspace()? } else { vec![args.place.look()?] };
    let here = args.place.look().ok();
    let mut out = Out::lock();
    let mut count = 0_usize;
    for workspace in &workspaces {
        let open = answer::queue(workspace).open()?;
        count = count.saturating_add(open.len());
        for approval in &open {
            let command = answer::command_of(approval, workspace);
            if args.form.json {
                out.line(&as_json(approval, command.as_deref(), workspace).to_string())?;
                continue;
            }
            if args.all {
                out.prose(&format!("{}:", workspace.root().display()))?;
            }
            let is_here = here.as_ref().is_some_and(|here| here.root() == workspace.root());
            let place = if is_here { args.place.option() } else { workspace::workspace_option(workspace.root()) };
            for line in in_words(approval, command.as_deref(), &place) {
                out.prose(&line)?;
            }
        }
    }
    if count == 0 && !args.form.json {
        print::say("nothing waits for an answer");
    }
    out.flush()?;
    Ok(if count == 0 { Exit::Done } else { Exit::Held })
}

/// Every workspace that is known on this machine; one that cannot be opened has no queue.
fn every_workspace() -> Result<Vec<Workspace>, Problem> {
    let state = workspace::state_home().ok_or(Problem::NoHome)?;
    let known = KnownWorkspaces::of_person(&state).list();
    Ok(known.iter().filter_map(|root| Workspace::open(root, &workspace::places()).ok()).collect())
}

fn in_words(approval: &Approval, command: Option<&str>, place: &str) -> Vec<String> {
    let Approval { id, kind, session, asked: _, since, what, rule, digest: _ } = approval;
    let now = clock::now().epoch_ms();
    let since = since.map(|since| format!(", asked {} ago", moment::ago(now.saturating_sub(since.epoch_ms()) / 1_000)));
    let session = session.as_ref().map(|session| format!(", {session}")).unwrap_or_default();
    let raise = if *kind == ApprovalKind::Budget { " --raise 5usd" } else { "" };
    let mut lines = vec![format!("{id}  {} [{rule}]{session}{}", kind.name(), since.unwrap_or_default())];
    lines.extend(command.map(|command| format!("  `{command}`")));
    lines.push(format!("  {what}"));
    lines.push(format!("  tripwire approvals approve {id}{raise}{place}   |   tripwire approvals deny {id}{place}"));
    lines
}

fn as_json(approval: &Approval, command: Option<&str>, workspace: &Workspace) -> Value {
    let Approval { id, kind, session, asked: _, since, what, rule, digest: _ } = approval;
    json!({
        "id": id,
        "kind": kind.name(),
        "session": session.as_ref().map(ToString::to_string),
        "since": since.map(|since| since.to_string()),
        "command": command,
        "what": what,
        "rule": rule,
        "workspace": workspace.root().to_string_lossy(),
    })
}

/// How an answer is shown: the held command, where it was asked, and the form.
struct AnswerShown {
    command: Option<String>,
    place: String,
    form: Form,
}

fn say(answered: &Answered, says: ApprovalVerdict, shown: &AnswerShown) -> Result<Exit, Problem> {
    let AnswerShown { command, place, form } = shown;
    let Answered { approval: Approval { id, kind, what, .. }, session, .. } = answered;
    let verdict = says.past();
    let mut out = Out::lock();
    if form.json {
        let said = json!({
            "id": id, "kind": kind.name(), "verdict": verdict, "session": session.to_string(), "command": command, "what": what,
        });
        out.line(&said.to_string())?;
    } else {
        let next = match (says, kind) {
            (ApprovalVerdict::Allowed, ApprovalKind::Command) => "; it may pass once within 24 hours".to_owned(),
            (ApprovalVerdict::Allowed, ApprovalKind::Review) => {
                format!("; apply it with `tripwire review apply{place}`")
            }
            (ApprovalVerdict::Denied, ApprovalKind::Command) => "; the agent is told when it asks".to_owned(),
            (_, ApprovalKind::Budget) | (ApprovalVerdict::Denied, ApprovalKind::Review) => String::new(),
        };
        let command = command.as_ref().map(|command| format!("`{command}`: ")).unwrap_or_default();
        out.prose(&format!("{verdict} `{id}`: {command}{what}{next}"))?;
        out.prose(&format!("journaled in {session}"))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
