//! What is shown, as JSON, the same for every face. Everything about a workspace passes its redactor before it leaves.

use crate::approvals::{self, Waiting};
use crate::explanation::Explanation;
use crate::filter::{Filter, FilterError};
use crate::history;
use crate::model::{ModelError, ReadModel, workspace_key};
use crate::opened::OpenedSession;
use crate::rows;
use crate::summary::{self, SessionSummary};
use crate::undo_points;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tripwire_core::explain::Explain;
use tripwire_core::policy::Policy;
use tripwire_core::visible::{visible, visible_lines};
use tripwire_fs::shell_word::shell_word;
use tripwire_session::driver::DriverError;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::policy_file::{self, PolicyFileError};
use tripwire_workspace::session::SessionId;

/// Rows that one answer holds.
pub const ROWS_MAX: usize = 400;
/// Steps that can be taken back which one answer holds, the newest.
const UNDO_POINTS_MAX: usize = 40;
/// How long one answer may look for rows that pass a filter.
const FILTER_WAIT: Duration = Duration::from_millis(250);
/// Rows that a filter looks at between two looks at the clock.
const FILTER_STEP: u64 = 512;

/// Why something cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ShownError {
    /// There is no such workspace or session, or its secrets cannot be known.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The journal cannot be read.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The filter cannot be read.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The policy cannot be read.
    #[error(transparent)]
    Policy(#[from] PolicyFileError),
    /// The session has no such decision.
    #[error("there is no decision {0}")]
    NoDecision(u64),
}

impl Explain for ShownError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Model(_) => "see `tripwire ls`".into(),
            Self::Driver(error) => error.hint(),
            Self::Filter(error) => error.hint(),
            Self::Policy(error) => error.hint(),
            Self::NoDecision(_) => "see `tripwire log`".into(),
        }
    }
}

/// All workspaces and their sessions, those that were heard of last first.
#[must_use]
pub fn sessions(model: &ReadModel) -> String {
    let found = model.sessions();
    let mut redactors = BTreeMap::new();
    let mut workspaces = Vec::new();
    for workspace in model.host.workspaces() {
        let stands = |file: ControlFile| file.path(workspace.layout()).symlink_metadata().is_ok();
        let root = workspace.root().to_owned();
        workspaces.push(json!({
            "key": workspace_key(&root), "root": root.to_string_lossy(),
            "resumedBy": format!("tripwire resume --workspace {}", shell_word(&root)),
            "stop": stands(ControlFile::Stop), "pause": stands(ControlFile::Pause),
        }));
        redactors.insert(root, model.redactor(&workspace));
    }
    let mut shown = Vec::with_capacity(found.len());
    for session in &found {
        shown.push(match redactors.get(&session.root) {
            Some(Ok(redactor)) => redactor.redact_json(&listed(session).to_string()).into_owned(),
            Some(Err(problem)) => hidden(session, &problem.to_string()).to_string(),
            None => hidden(session, "its workspace is gone").to_string(),
        });
    }
    let workspaces = json!(workspaces);
    format!("{{\"now\":{},\"workspaces\":{workspaces},\"sessions\":[{}]}}", clock::now().epoch_ms(), shown.join(","))
}

/// A session in the list.
fn listed(session: &SessionSummary) -> Value {
    let mut value = session.as_json();
    value["key"] = json!(workspace_key(&session.root));
    value["live"] = json!(session.standing.is_live());
    value["waits"] = json!(session.standing.waits());
    value["waiting"] = json!(approvals::of_session(session).len());
    if let Some(view) = session.view.as_deref() {
        value["health"] = json!(view.health.millionths());
        value["context"] = json!(view.context_percent);
        value["budget_micro_usd"] = json!(view.budget_micro_usd);
        value["verdict"] = json!(view.verdict);
        value["guard"] = json!(view.guard);
        value["steps"] = json!(view.steps);
    }
    value
}

/// A session of a workspace whose secrets cannot be known: that it is there, and why nothing more is shown.
fn hidden(session: &SessionSummary, why: &str) -> Value {
    json!({"key": workspace_key(&session.root), "workspace": session.root.to_string_lossy(), "session": session.id.as_str(),
        "client": session.client, "state": "hidden", "how": why, "last_activity_ms": session.heard_ms,
        "spent_micro_usd": 0, "alarm": null})
}

/// One session: how it stands, its curves and lanes, what was noticed, how far the walk came.
///
/// # Errors
/// When there is no such session, or its workspace's secrets cannot be known.
pub fn session(model: &ReadModel, workspace: &Workspace, name: &str) -> Result<String, ShownError> {
    let opened = model.open(workspace, name)?;
    let id = SessionId::parse(name).map_err(ModelError::from)?;
    let clients = tripwire_session::foreign::clients(workspace.layout());
    // Without its state file a session would be decided again from its beginning: the walk does that beside us.
    let summary = match summary::is_at_hand(workspace.layout(), &id) {
        true => listed(&summary::of_session(workspace, id, &clients)),
        false => opened.with_analysis(|analysis| {
            let view = analysis.chain().map(|chain| Box::new(chain.view()));
            listed(&summary::being_read(workspace, id, &clients, view))
        }),
    };
    let total = opened.total().unwrap_or_default();
    let state = opened.state();
    let mut value = opened.with_analysis(|analysis| {
        let thresholds = analysis.chain().map(|chain| thresholds(chain.policy()));
        json!({
            "start_ms": analysis.start_ms(), "last_ms": analysis.last_ms(), "replay": analysis.replay(),
            "points": analysis.curve.points(), "drops": analysis.curve.drops(), "lanes": analysis.lanes.shown(),
            "waitingSince": analysis.lanes.waiting_since().map(|moment| moment.at), "end": analysis.lanes.last(),
            "findings": analysis.findings.newest().take(200).collect::<Vec<_>>(),
            "causes": analysis.findings.causes(), "graph": analysis.graph.shown(), "totals": analysis.totals,
            "thresholds": thresholds, "policyHash": analysis.head().map(|head| head.policy_hash.to_string()),
            "inputs": analysis.inputs(),
        })
    });
    value["summary"] = summary;
    value["rows"] = json!(total);
    value["walk"] = json!(state);
    Ok(model.redacted(workspace, &value)?)
}

/// The thresholds that the curves show.
fn thresholds(policy: &Policy) -> Value {
    json!({
        "soft": policy.health.soft_suspend_threshold.millionths(),
        "hard": policy.health.hard_stop_threshold.millionths(),
        "contextWarning": policy.context.warning_threshold, "contextBlock": policy.context.hard_block_threshold,
    })
}

/// The agents of a session: what each does now, and what its calls cost; and what is known of the journal's truth.
///
/// # Errors
/// See [`session`].
pub fn agents(model: &ReadModel, workspace: &Workspace, name: &str) -> Result<String, ShownError> {
    let opened = model.open(workspace, name)?;
    let state = opened.state();
    let agents = opened.with_analysis(|analysis| json!(analysis.lanes.agents()));
    Ok(model.redacted(workspace, &json!({"agents": agents, "walk": state}))?)
}

/// Which rows are wanted: from a number on, or, with a filter, the newest before a number.
#[derive(Debug, Default)]
pub struct RowsWanted<'a> {
    /// The filter; an empty one lets everything pass.
    pub filter: &'a str,
    /// Without a filter: the first number.
    pub from: u64,
    /// With a filter: only what is before this number.
    pub before: Option<u64>,
    /// How many; never more than [`ROWS_MAX`].
    pub limit: Option<usize>,
}

/// Rows of a session.
///
/// # Errors
/// When the filter or the journal cannot be read.
pub fn rows(model: &ReadModel, workspace: &Workspace, name: &str, wanted: &RowsWanted) -> Result<String, ShownError> {
    let opened = model.open(workspace, name)?;
    let filter = Filter::parse(wanted.filter, clock::now())?;
    let limit = wanted.limit.unwrap_or(ROWS_MAX).min(ROWS_MAX);
    let value = if filter.is_empty() {
        let (found, total) = opened.rows(wanted.from, limit)?;
        json!({"rows": found.iter().map(rows::row).collect::<Vec<_>>(), "total": total})
    } else {
        let id = SessionId::parse(name).map_err(ModelError::from)?;
        let client = summary::client_of(workspace.layout(), &id).unwrap_or_default();
        filtered(&opened, &filter, &client, wanted.before, limit)?
    };
    Ok(model.redacted(workspace, &value)?)
}

/// Rows that pass a filter, newest first, as many as can be found in a while; `next` is where to look on.
fn filtered(
    opened: &OpenedSession,
    filter: &Filter,
    client: &str,
    before: Option<u64>,
    limit: usize,
) -> Result<Value, DriverError> {
    let begun = Instant::now();
    let total = opened.total()?;
    let mut end = before.unwrap_or(total).min(total);
    let mut found = Vec::new();
    while end > 0 && found.len() < limit && begun.elapsed() < FILTER_WAIT {
        let from = end.saturating_sub(FILTER_STEP);
        let (page, _) = opened.rows(from, usize::try_from(end - from).unwrap_or(ROWS_MAX))?;
        let passed = page.iter().rev().filter(|pair| filter.passes(pair, client));
        let room = limit - found.len();
        let mut passed: Vec<_> = passed.take(room + 1).collect();
        end = if passed.len() > room {
            passed.truncate(room);
            passed.last().map_or(from, |last| last.number)
        } else {
            from
        };
        found.extend(passed.into_iter().map(rows::row));
    }
    Ok(json!({"rows": found, "total": total, "next": (end > 0).then_some(end)}))
}

/// One decision with everything that it rests on; `words` is what `tripwire why` prints.
///
/// # Errors
/// When there is no such decision.
pub fn decision(model: &ReadModel, workspace: &Workspace, name: &str, i: u64) -> Result<String, ShownError> {
    let opened = model.open(workspace, name)?;
    let pair = opened.read(|journal| history::find(journal, i))?;
    let pair = pair.ok_or(ShownError::NoDecision(i))?;
    let row = rows::row(&pair);
    let (hash, decided) = (pair.hash.to_string(), pair.decision.as_ref().map(|one| (one.record, one.hash.to_string())));
    let mut value = opened.read(|journal| {
        // A head of a newer form has a policy that is not understood here: then the rules' settings are left out.
        let policy = history::head(journal)?.policy().unwrap_or_default();
        let explained = Explanation::gather(journal, pair, &policy, name)?;
        let titles: BTreeMap<&str, Value> = explained
            .rules()
            .into_iter()
            .filter_map(|rule| {
                let entry = tripwire_core::rules::find(rule)?;
                Some((rule, json!({"title": entry.title, "what": entry.what, "threshold": entry.threshold})))
            })
            .collect();
        let evidence = explained.evidence_words();
        let mut value = explained.as_json()?;
        let words: Vec<String> = explained.in_words("").iter().map(|line| visible(line)).collect();
        value["words"] = json!(words.join("\n"));
        value["titles"] = json!(titles);
        value["evidenceWords"] = json!(evidence);
        Ok(value)
    })?;
    value["row"] = row;
    value["hash"] = json!(hash);
    value["decisionRecord"] = json!(decided);
    value["replay"] = opened.with_analysis(|analysis| match analysis.inputs() > i {
        true => json!(analysis.replay()),
        false => json!({"state": "notYet"}),
    });
    value["truth"] = json!(opened.state().truth);
    Ok(model.redacted(workspace, &value)?)
}

/// Everything that waits for a person's word.
///
/// # Errors
/// When the secrets of a workspace in which something waits cannot be known.
pub fn waiting(model: &ReadModel) -> Result<String, ShownError> {
    let mut found = Vec::new();
    let all = model.sessions();
    for workspace in model.host.workspaces() {
        let sessions = all.iter().filter(|session| session.root == workspace.root());
        let mut waiting: Vec<Waiting> = sessions.flat_map(|session| approvals::of_session(session)).collect();
        let proposals = model.queue(&workspace).proposals();
        waiting.extend(proposals.into_iter().map(|proposal| approvals::of_proposal(&workspace, proposal)));
        if waiting.is_empty() {
            continue;
        }
        let key = workspace_key(workspace.root());
        let waiting: Vec<Value> = waiting
            .iter()
            .map(|one| {
                let mut value = json!(one);
                value["key"] = json!(key);
                value["call"] = json!(call_of(model, &workspace, one));
                value
            })
            .collect();
        found.push(model.redacted(&workspace, &json!(waiting))?);
    }
    let joined: Vec<&str> = found.iter().map(|list| list.trim_start_matches('[').trim_end_matches(']')).collect();
    Ok(format!("{{\"waiting\":[{}]}}", joined.join(",")))
}

/// The call that waits, as it was asked for.
fn call_of(model: &ReadModel, workspace: &Workspace, waiting: &Waiting) -> Option<String> {
    let asked = waiting.asked?;
    let opened = model.open(workspace, &waiting.session).ok()?;
    let call = opened.read(|journal| Ok(approvals::call_asked(journal, asked))).ok()?;
    call.map(|call| visible_lines(&call))
}

/// The fleet of this machine, if it belongs to one. What waits elsewhere is named by its id alone: the secrets that its words may hold are
/// not known here.
///
/// # Errors
/// When the fleet cannot be read, in words.
pub fn fleet(model: &ReadModel) -> Result<String, String> {
    let mut fleet = (model.host.fleet)()?;
    let machines = fleet.as_mut().and_then(|fleet| fleet["machines"].as_array_mut());
    for machine in machines.into_iter().flatten() {
        let waiting = machine["waiting"].as_array().into_iter().flatten();
        machine["waiting"] = waiting.map(|question| question["id"].clone()).collect();
    }
    Ok(json!({"fleet": fleet, "now": clock::now().epoch_ms()}).to_string())
}

/// The newest steps of a session that can be taken back.
///
/// # Errors
/// When the workspace's secrets cannot be known.
pub fn undo(model: &ReadModel, workspace: &Workspace, session: &str) -> Result<String, ShownError> {
    let points = undo_points::of_session(&model.host, workspace, session, UNDO_POINTS_MAX);
    Ok(model.redacted(workspace, &json!({"points": points}))?)
}

/// Every value of a workspace's policy and where it comes from.
///
/// # Errors
/// When the policy cannot be read.
pub fn policy(model: &ReadModel, workspace: &Workspace) -> Result<String, ShownError> {
    let loaded = policy_file::load_for(workspace.layout())?;
    let settings: Vec<Value> = loaded
        .policy
        .rows()
        .into_iter()
        .map(|row| {
            let from = loaded.place_of(row.path);
            let origin = from.map(|place| format!("{} line {}", place.file.display(), place.line));
            json!({"path": row.path, "value": row.shown(), "from": origin, "source": row.source, "means": row.doc})
        })
        .collect();
    let hash = loaded.policy.hash().map(|hash| hash.to_string()).unwrap_or_default();
    Ok(model.redacted(
        workspace,
        &json!({"policyHash": hash, "settings": settings, "root": workspace.root().to_string_lossy()}),
    )?)
}
