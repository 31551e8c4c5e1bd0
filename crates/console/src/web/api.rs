//! What can be read and done, as JSON over HTTP: the queries and bodies of requests, and which status a problem has.

use super::reply::NotDone;
use super::shared::Shared;
use crate::acts::{self, Face};
use crate::model::ModelError;
use crate::money::{RAISE_BOUNDS, raise_of_cents};
use crate::shown::{self, RowsWanted, ShownError};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::explain::Explain;
use tripwire_session::approvals::Answer;
use tripwire_workspace::Workspace;
use tripwire_workspace::control::order::Order;

/// The parts of a request's query.
pub(super) type Query = BTreeMap<String, String>;

/// Answers a reading request; the path is behind `/api/`.
pub(super) fn read(shared: &Shared, path: &str, query: &Query) -> Result<String, NotDone> {
    let model = &shared.model;
    match path {
        "sessions" => return Ok(shown::sessions(model)),
        "approvals" => return Ok(shown::waiting(model)?),
        "fleet" => return shown::fleet(model).map_err(|problem| NotDone::new(StatusCode::CONFLICT, problem)),
        "session" | "rows" | "decision" | "policy" | "undo" => {}
        _ => return Err(NotDone::not_found("there is nothing here")),
    }
    let workspace = model.workspace(wanted(query, "w")?)?;
    if path == "policy" {
        return Ok(shown::policy(model, &workspace)?);
    }
    let name = wanted(query, "s")?;
    match path {
        "session" => Ok(shown::session(model, &workspace, name)?),
        "undo" => Ok(shown::undo(model, &workspace, name)?),
        "decision" => {
            let i = number(query, "i")?.ok_or_else(|| NotDone::bad("`i` is missing"))?;
            Ok(shown::decision(model, &workspace, name, i)?)
        }
        _ => {
            let limit = number(query, "limit")?.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
            let wanted = RowsWanted {
                filter: query.get("filter").map_or("", String::as_str),
                from: number(query, "from")?.unwrap_or(0),
                before: number(query, "before")?,
                limit,
            };
            Ok(shown::rows(model, &workspace, name, &wanted)?)
        }
    }
}

impl From<ModelError> for NotDone {
    fn from(problem: ModelError) -> Self {
        let status = match &problem {
            ModelError::NoWorkspace | ModelError::Session(_) => StatusCode::NOT_FOUND,
            ModelError::Name(_) => StatusCode::BAD_REQUEST,
            ModelError::Secrets(_) => StatusCode::CONFLICT,
        };
        Self::new(status, problem.to_string())
    }
}

impl From<ShownError> for NotDone {
    fn from(problem: ShownError) -> Self {
        match problem {
            ShownError::Model(problem) => problem.into(),
            ShownError::Driver(error) => explained(&error),
            ShownError::Policy(error) => explained(&error),
            ShownError::Filter(error) => Self::bad(format!("{error}; {}", error.hint())),
            ShownError::NoDecision(_) => Self::not_found(problem.to_string()),
        }
    }
}

fn wanted<'q>(query: &'q Query, name: &str) -> Result<&'q str, NotDone> {
    query.get(name).map(String::as_str).ok_or_else(|| NotDone::bad(format!("`{name}` is missing")))
}

fn number(query: &Query, name: &str) -> Result<Option<u64>, NotDone> {
    let parse = |text: &String| text.parse().map_err(|_| NotDone::bad(format!("`{name}` is not a number")));
    query.get(name).map(parse).transpose()
}

fn explained(error: &dyn Explain) -> NotDone {
    NotDone::new(StatusCode::CONFLICT, format!("{error}; {}", error.hint()))
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
    let workspace = shared.model.workspace(&asked.workspace)?;
    let says = match asked.verdict {
        AnswerName::Approve => ApprovalVerdict::Allowed,
        AnswerName::Deny => ApprovalVerdict::Denied,
    };
    let raise = match asked.raise_cents {
        Some(cents) => Some(raise_of_cents(cents).ok_or_else(|| NotDone::bad(RAISE_BOUNDS))?),
        None => None,
    };
    let answer = Answer { says, who: Face::Page.sign(&shared.model.host.who), reason: asked.reason, raise };
    let taken = acts::answer(&shared.model, &workspace, &asked.id, &answer).map_err(|error| explained(&*error))?;
    let said = json!({
        "id": taken.approval.id, "kind": taken.approval.kind.name(), "what": taken.approval.what,
        "session": taken.session.to_string(), "approved": says == ApprovalVerdict::Allowed,
    });
    Ok(shared.model.redacted(&workspace, &said)?)
}

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
        true => shared.model.host.workspaces(),
        false => ordered.workspaces.iter().map(|key| shared.model.workspace(key)).collect::<Result<_, _>>()?,
    };
    let mut all_hold = true;
    let mut receipts = Vec::new();
    for workspace in &chosen {
        let mut receipt = match acts::order(&shared.model, workspace, order, (Face::Page, &ordered.reason)) {
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
        receipts.push(match shared.model.redacted(workspace, &receipt) {
            Ok(text) => serde_json::from_str(&text).unwrap_or_default(),
            Err(problem) => {
                json!({"workspace": workspace.root().to_string_lossy(), "done": [problem.to_string()], "receipt": receipt["receipt"]})
            }
        });
    }
    Ok(json!({"act": path, "holds": all_hold, "workspaces": receipts}).to_string())
}
