//! What can be read and done, as JSON. Everything about a workspace passes its redactor before it leaves.

use super::limits::{FILTER_STEP, FILTER_WAIT, ROWS_MAX};
use super::reply::NotDone;
use super::shared::{Shared, listed, workspace_key};
use crate::approvals::{self, Waiting};
use crate::control::{self, Actor};
use crate::explanation::Explanation;
use crate::filter::Filter;
use crate::history;
use crate::opened::OpenedSession;
use crate::rows;
use crate::summary;
use crate::undo_points;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::explain::Explain;
use tripwire_core::policy::Policy;
use tripwire_core::units::MicroUsd;
use tripwire_session::approvals::Answer;
use tripwire_session::driver::{Driver, DriverError};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::control::order::Order;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;

/// Steps that the page shows as points to go back to, the newest.
const UNDO_POINTS_MAX: usize = 40;

/// The parts of a request's query.
pub(super) type Query = BTreeMap<String, String>;

/// Answers a reading request; the path is behind `/api/`.
pub(super) fn read(shared: &Shared, path: &str, query: &Query) -> Result<String, NotDone> {
    match path {
        "sessions" => sessions(shared),
        "session" => session(shared, query),
        "rows" => rows(shared, query),
        "undo" => undo(shared, query),
        "decision" => decision(shared, query),
        "approvals" => waiting(shared),
        "policy" => policy(shared, query),
        _ => Err(NotDone::not_found("there is nothing here")),
    }
}

fn wanted<'q>(query: &'q Query, name: &str) -> Result<&'q str, NotDone> {
    query.get(name).map(String::as_str).ok_or_else(|| NotDone::bad(format!("`{name}` is missing")))
}

fn number(query: &Query, name: &str) -> Result<Option<u64>, NotDone> {
    let parse = |text: &String| text.parse().map_err(|_| NotDone::bad(format!("`{name}` is no number")));
    query.get(name).map(parse).transpose()
}

fn explained(error: &dyn Explain) -> NotDone {
    NotDone::new(StatusCode::CONFLICT, format!("{error}; {}", error.hint()))
}

fn broken(error: DriverError) -> NotDone {
    explained(&error)
}

fn sessions(shared: &Shared) -> Result<String, NotDone> {
    let found = shared.sessions();
    let mut redactors = BTreeMap::new();
    let mut workspaces = Vec::new();
    for workspace in shared.host.workspaces() {
        let stands = |file: ControlFile| file.path(workspace.layout()).symlink_metadata().is_ok();
        let root = workspace.root().to_owned();
        workspaces.push(json!({
            "key": workspace_key(&root), "root": root,
            "stop": stands(ControlFile::Stop), "pause": stands(ControlFile::Pause),
        }));
        redactors.insert(root, shared.redactor(&workspace));
    }
    let mut shown = Vec::with_capacity(found.len());
    for session in &found {
        shown.push(match redactors.get(&session.root) {
            Some(Ok(redactor)) => redactor.redact_json(&listed(session).to_string()).into_owned(),
            Some(Err(problem)) => hidden(session, &problem.why).to_string(),
            None => hidden(session, "its workspace is gone").to_string(),
        });
    }
    let workspaces = json!(workspaces);
    Ok(format!(
        "{{\"now\":{},\"workspaces\":{workspaces},\"sessions\":[{}]}}",
        clock::now().epoch_ms(),
        shown.join(",")
    ))
}

/// A session of a workspace whose secrets cannot be known: that it is there, and why nothing more is shown.
fn hidden(session: &summary::SessionSummary, why: &str) -> Value {
    json!({"key": workspace_key(&session.root), "workspace": session.root, "session": session.id.as_str(),
        "client": session.client, "state": "hidden", "how": why, "last_activity_ms": session.heard_ms,
        "spent_micro_usd": 0, "alarm": null})
}

fn session(shared: &Shared, query: &Query) -> Result<String, NotDone> {
    let workspace = shared.workspace(wanted(query, "w")?)?;
    let name = wanted(query, "s")?;
    let opened = shared.open(&workspace, name)?;
    let id = SessionId::parse(name).map_err(|error| NotDone::bad(error.to_string()))?;
    let clients = tripwire_session::foreign::clients(workspace.layout());
    // Without its state file a session would be decided again from its beginning: the walk does that beside us.
    let summary = match summary::is_at_hand(workspace.layout(), &id) {
        true => listed(&summary::of_session(&workspace, id, &clients)),
        false => opened.with_analysis(|analysis| {
            let view = analysis.chain().map(|chain| Box::new(chain.view()));
            listed(&summary::being_read(&workspace, id, &clients, view))
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
    shared.redacted(&workspace, &value)
}

/// The newest steps that can be taken back.
fn undo(shared: &Shared, query: &Query) -> Result<String, NotDone> {
    let workspace = shared.workspace(wanted(query, "w")?)?;
    let id = SessionId::parse(wanted(query, "s")?).map_err(|error| NotDone::bad(error.to_string()))?;
    let points = undo_points::of_session(&shared.host, &workspace, id.as_str(), UNDO_POINTS_MAX);
    shared.redacted(&workspace, &json!({"points": points}))
}

/// The thresholds that the curves show.
fn thresholds(policy: &Policy) -> Value {
    json!({
        "soft": policy.health.soft_suspend_threshold.millionths(),
        "hard": policy.health.hard_stop_threshold.millionths(),
        "contextWarning": policy.context.warning_threshold, "contextBlock": policy.context.hard_block_threshold,
    })
}

fn rows(shared: &Shared, query: &Query) -> Result<String, NotDone> {
    let workspace = shared.workspace(wanted(query, "w")?)?;
    let name = wanted(query, "s")?;
    let opened = shared.open(&workspace, name)?;
    let filter = Filter::parse(query.get("filter").map_or("", String::as_str), clock::now());
    let filter = filter.map_err(|error| NotDone::bad(format!("{error}; {}", error.hint())))?;
    let limit =
        number(query, "limit")?.map_or(ROWS_MAX, |limit| usize::try_from(limit).unwrap_or(ROWS_MAX).min(ROWS_MAX));
    let value = if filter.is_empty() {
        let (found, total) = opened.rows(number(query, "from")?.unwrap_or(0), limit).map_err(broken)?;
        json!({"rows": found.iter().map(rows::row).collect::<Vec<_>>(), "total": total})
    } else {
        let id = SessionId::parse(name).map_err(|error| NotDone::bad(error.to_string()))?;
        let client = summary::client_of(workspace.layout(), &id).unwrap_or_default();
        filtered(&opened, &filter, &client, number(query, "before")?, limit).map_err(broken)?
    };
    shared.redacted(&workspace, &value)
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

fn decision(shared: &Shared, query: &Query) -> Result<String, NotDone> {
    let workspace = shared.workspace(wanted(query, "w")?)?;
    let name = wanted(query, "s")?;
    let opened = shared.open(&workspace, name)?;
    let i = number(query, "i")?.ok_or_else(|| NotDone::bad("`i` is missing"))?;
    let pair = opened.read(|journal| history::find(journal, i)).map_err(broken)?;
    let pair = pair.ok_or_else(|| NotDone::not_found(format!("there is no decision {i}")))?;
    let row = rows::row(&pair);
    let (hash, decided) = (pair.hash.to_string(), pair.decision.as_ref().map(|one| (one.record, one.hash.to_string())));
    let mut value = opened
        .read(|journal| {
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
            let words = explained.evidence_words();
            let mut value = explained.as_json()?;
            value["titles"] = json!(titles);
            value["evidenceWords"] = json!(words);
            Ok(value)
        })
        .map_err(broken)?;
    value["row"] = row;
    value["hash"] = json!(hash);
    value["decisionRecord"] = json!(decided);
    value["replay"] = opened.with_analysis(|analysis| match analysis.inputs() > i {
        true => json!(analysis.replay()),
        false => json!({"state": "notYet"}),
    });
    value["truth"] = json!(opened.state().truth);
    shared.redacted(&workspace, &value)
}

fn waiting(shared: &Shared) -> Result<String, NotDone> {
    let mut found = Vec::new();
    let all = shared.sessions();
    for workspace in shared.host.workspaces() {
        let sessions: Vec<_> = all.iter().filter(|session| session.root == workspace.root()).cloned().collect();
        let mut waiting: Vec<Waiting> = sessions.iter().flat_map(|session| approvals::of_session(session)).collect();
        let proposals = shared.queue(&workspace).proposals();
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
                value["call"] = json!(call_of(shared, &workspace, one));
                value
            })
            .collect();
        found.push(shared.redacted(&workspace, &json!(waiting))?);
    }
    let joined: Vec<&str> = found.iter().map(|list| list.trim_start_matches('[').trim_end_matches(']')).collect();
    Ok(format!("{{\"waiting\":[{}]}}", joined.join(",")))
}

/// The call that waits, as it was asked for.
fn call_of(shared: &Shared, workspace: &Workspace, waiting: &Waiting) -> Option<String> {
    let asked = waiting.asked?;
    let opened = shared.open(workspace, &waiting.session).ok()?;
    let pair = opened.read(|journal| history::find(journal, asked)).ok()??;
    pair.input.what.action().map(|action| action.named().to_owned())
}

fn policy(shared: &Shared, query: &Query) -> Result<String, NotDone> {
    let workspace = shared.workspace(wanted(query, "w")?)?;
    let loaded = policy_file::load_for(workspace.layout()).map_err(|error| explained(&error))?;
    let settings: Vec<Value> = loaded
        .policy
        .rows()
        .into_iter()
        .map(|row| {
            let from = loaded.lines.get(row.path);
            let origin = from.map(|place| format!("{} line {}", place.file.display(), place.line));
            json!({"path": row.path, "value": row.shown(), "from": origin, "source": row.source, "means": row.doc})
        })
        .collect();
    let hash = loaded.policy.hash().map(|hash| hash.to_string()).unwrap_or_default();
    shared.redacted(&workspace, &json!({"policyHash": hash, "settings": settings, "root": workspace.root()}))
}

/// What a person orders.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ordered {
    /// The workspaces, by their short names; all that are shown without.
    #[serde(default)]
    workspaces: Vec<String>,
    #[serde(default)]
    reason: String,
}

/// A person's answer to something that waits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Answered {
    /// The workspace, by its short name.
    workspace: String,
    /// What is answered.
    id: String,
    /// Yes or no.
    verdict: AnswerName,
    #[serde(default)]
    reason: String,
    /// By how many cents a budget is raised.
    #[serde(default)]
    raise_cents: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum AnswerName {
    Approve,
    Deny,
}

/// Takes an answer, by the person whose console this is.
fn answer(shared: &Shared, body: &[u8]) -> Result<String, NotDone> {
    let asked: Answered = serde_json::from_slice(body).map_err(|error| NotDone::bad(error.to_string()))?;
    let workspace = shared.workspace(&asked.workspace)?;
    let says = match asked.verdict {
        AnswerName::Approve => ApprovalVerdict::Allowed,
        AnswerName::Deny => ApprovalVerdict::Denied,
    };
    if asked.raise_cents.is_some_and(|cents| cents == 0 || cents > RAISE_CENTS_MAX) {
        return Err(NotDone::bad("a budget is raised by one cent at least and 100,000 dollars at most"));
    }
    let raise = asked.raise_cents.map(|cents| MicroUsd::new(cents.saturating_mul(MICRO_USD_OF_CENT)));
    let answer = Answer { says, who: format!("{} (console)", shared.host.who), reason: asked.reason, raise };
    let taken = shared.queue(&workspace).answer(&asked.id, &answer, None).map_err(|error| explained(&error))?;
    if let (Some(outcome), Ok(driver)) = (&taken.taken, Driver::resume(workspace.layout(), &taken.session)) {
        (shared.host.notify)(&driver, outcome);
    }
    let said = json!({
        "id": taken.approval.id, "kind": taken.approval.kind.name(), "what": taken.approval.what,
        "session": taken.session.to_string(), "approved": says == ApprovalVerdict::Allowed,
    });
    shared.redacted(&workspace, &said)
}

/// Micro-dollars of a cent.
const MICRO_USD_OF_CENT: u64 = 10_000;
/// The most by which a budget is raised at once, in cents.
const RAISE_CENTS_MAX: u64 = 10_000_000;

/// Carries an act out; the path is behind `/api/act/`.
pub(super) fn act(shared: &Shared, path: &str, body: &[u8]) -> Result<String, NotDone> {
    let order = match path {
        "answer" => return answer(shared, body),
        "pause" => Order::Pause,
        "stop" => Order::Stop,
        _ => return Err(NotDone::not_found("there is no such act")),
    };
    let ordered: Ordered = serde_json::from_slice(body).map_err(|error| NotDone::bad(error.to_string()))?;
    let chosen: Vec<Workspace> = match ordered.workspaces.is_empty() {
        true => shared.host.workspaces(),
        false => ordered.workspaces.iter().map(|key| shared.workspace(key)).collect::<Result<_, _>>()?,
    };
    let mut all_hold = true;
    let mut receipts = Vec::new();
    for workspace in &chosen {
        let actor = Actor {
            who: format!("{} (console)", shared.host.who),
            reason: &ordered.reason,
            signing: (shared.host.signing)(workspace),
            notify: &|driver, taken| (shared.host.notify)(driver, taken),
        };
        let mut receipt = match control::give(workspace, None, order, actor) {
            Ok(report) => {
                all_hold &= report.holds;
                report.as_json()
            }
            // The others must be stopped all the same.
            Err(error) => {
                all_hold = false;
                json!({"error": error.to_string(), "hint": error.hint()})
            }
        };
        receipt["workspace"] = json!(workspace.root());
        // A receipt is shown in any case: where the secrets cannot be known, only whether it holds and what went wrong.
        receipts.push(match shared.redacted(workspace, &receipt) {
            Ok(text) => serde_json::from_str(&text).unwrap_or_default(),
            Err(problem) => {
                json!({"workspace": workspace.root(), "done": [problem.why], "receipt": receipt["receipt"]})
            }
        });
    }
    Ok(json!({"act": path, "holds": all_hold, "workspaces": receipts}).to_string())
}
