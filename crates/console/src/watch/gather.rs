//! Asks the read model for what the screen shows. Every text has passed the workspace's redactor before it comes here; here it loses
//! what would steer a terminal.

use super::view::{
    CallLine, CallsView, PersonAct, Said, SessionName, TreeKind, TreeLine, ViewTone, WaitKind, WaitLine, Wanted,
    WatchView, WhyWanted,
};
use crate::acts::{self, Face};
use crate::model::ReadModel;
use crate::money;
use crate::shown::{self, RowsWanted, ShownError};
use crate::undo_points;
use serde_json::Value;
use std::collections::BTreeSet;
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::explain::Explain;
use tripwire_core::visible::visible;
use tripwire_session::approvals::Answer;
use tripwire_workspace::Workspace;
use tripwire_workspace::control::order::Order;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Records that are asked for at once.
pub(super) const WINDOW: u64 = 200;
/// Live sessions whose sub-agents are shown beside those of the chosen one.
const OPENED_AT_ONCE: usize = 3;

/// Gathers what is on the screen. `only` is the one session to show, where one was named.
pub(super) fn gather(model: &ReadModel, only: Option<&str>, wanted: &Wanted) -> WatchView {
    let listed = parsed(&shown::sessions(model));
    let all = listed["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sessions: Vec<&Value> =
        all.iter().filter(|session| only.is_none_or(|only| session["session"] == only)).collect();
    let is_there = |name: &SessionName| sessions.iter().any(|one| name_of(one) == *name);
    let first = sessions.iter().find(|one| is_live(one)).or(sessions.first());
    let chosen = wanted.chosen.clone().filter(is_there).or_else(|| first.map(|one| name_of(one)));
    let (waiting, problem) = match shown::waiting(model) {
        Ok(text) => (waiting_lines(&parsed(&text), only), None),
        Err(error) => (Vec::new(), Some(told(&error))),
    };
    let calls = chosen.map(|of| calls(model, of, &sessions, wanted)).unwrap_or_default();
    let workspaces = listed["workspaces"].as_array().map(Vec::as_slice).unwrap_or_default();
    WatchView {
        now_ms: number(&listed, "now"),
        tree: tree(model, workspaces, &sessions, calls.of.as_ref()),
        waiting,
        calls,
        problem,
    }
}

fn tree(model: &ReadModel, workspaces: &[Value], sessions: &[&Value], chosen: Option<&SessionName>) -> Vec<TreeLine> {
    let mut lines = Vec::new();
    let mut opened = 0;
    for workspace in workspaces {
        let (key, root) = (text(workspace, "key"), text(workspace, "root"));
        let own: Vec<&&Value> = sessions.iter().filter(|session| session["key"] == workspace["key"]).collect();
        if own.is_empty() && !sessions.is_empty() && workspaces.len() > 1 {
            continue;
        }
        let (state, tone) = match (workspace["stop"] == true, workspace["pause"] == true) {
            (true, _) => ("STOP stands", ViewTone::Bad),
            (false, true) => ("PAUSE stands", ViewTone::Warning),
            (false, false) => ("", ViewTone::Plain),
        };
        lines.push(TreeLine {
            kind: TreeKind::Workspace,
            key: key.clone(),
            root: root.clone(),
            name: root.clone(),
            state: state.to_owned(),
            tone,
            ..TreeLine::default()
        });
        let (live, over): (Vec<&&Value>, Vec<&&Value>) = own.into_iter().partition(|session| is_live(session));
        for session in live.into_iter().chain(over) {
            let name = name_of(session);
            let is_chosen = chosen == Some(&name);
            let looks_into = is_chosen || (is_live(session) && opened < OPENED_AT_ONCE);
            opened += usize::from(looks_into && !is_chosen);
            let agents = if looks_into { agents_of(model, &name) } else { Value::Null };
            let below = agents["agents"].as_array().map(Vec::as_slice).unwrap_or_default();
            lines.push(session_line(session, &root, below.iter().find(|agent| agent["agent"] == "")));
            let started = number(session, "last_activity_ms").saturating_sub(last_heard(below));
            lines.extend(below.iter().filter(|agent| agent["agent"] != "").map(|agent| TreeLine {
                key: key.clone(),
                root: root.clone(),
                session: name.session.clone(),
                ..agent_line(agent, started)
            }));
        }
    }
    lines
}

/// The agents of a session; nothing where it cannot be opened.
fn agents_of(model: &ReadModel, name: &SessionName) -> Value {
    let workspace = model.workspace(&name.key).ok();
    let agents = workspace.and_then(|workspace| shown::agents(model, &workspace, &name.session).ok());
    agents.map(|text| parsed(&text)).unwrap_or_default()
}

/// When any of the agents was last heard of, in milliseconds since the start.
fn last_heard(agents: &[Value]) -> u64 {
    agents.iter().map(|agent| number(agent, "heard")).max().unwrap_or_default()
}

fn session_line(session: &Value, root: &str, main: Option<&Value>) -> TreeLine {
    let state = text(session, "state");
    let tone = match state.as_str() {
        "running" | "active" => ViewTone::Good,
        "BROKEN" | "hidden" => ViewTone::Bad,
        held if held.starts_with("held") || held == "paused" => ViewTone::Warning,
        stopped if stopped.starts_with("stopped") => ViewTone::Bad,
        _ => ViewTone::Faint,
    };
    let spent = money::dollars(number(session, "spent_micro_usd"));
    let spend = match session["budget_micro_usd"].as_u64() {
        Some(budget) => format!("{spent} of {}", money::exactly(budget)),
        None => spent,
    };
    let health = session["health"].as_u64().map(|millionths| format!("health {}%", millionths / 10_000));
    let context = session["context"].as_u64().filter(|percent| *percent > 0).map(|percent| format!("ctx {percent}%"));
    let alarm = &session["alarm"];
    let runs = main.filter(|main| is_live(session) && main["ended"].is_null()).map(|main| text(main, "call"));
    let note = match (session["how"].as_str(), runs, alarm.is_object()) {
        (Some(how), ..) => visible(how),
        (None, Some(call), _) if !call.is_empty() => format!("> {call}"),
        (None, _, true) => format!("#{} {}: {}", number(alarm, "decision"), text(alarm, "rule"), text(alarm, "reason")),
        (None, _, false) => String::new(),
    };
    TreeLine {
        kind: TreeKind::Session,
        key: text(session, "key"),
        root: root.to_owned(),
        session: text(session, "session"),
        name: text(session, "client"),
        state,
        tone,
        spend,
        figures: [health, context].into_iter().flatten().collect::<Vec<_>>().join(" "),
        heard_ms: Some(number(session, "last_activity_ms")),
        note,
    }
}

/// A sub-agent; `started` is when its session began.
fn agent_line(agent: &Value, started: u64) -> TreeLine {
    let (state, tone) = match agent["ended"].as_str() {
        None => ("runs", ViewTone::Good),
        Some("held") => ("held", ViewTone::Warning),
        Some("failed") => ("call failed", ViewTone::Bad),
        Some(_) => ("", ViewTone::Plain),
    };
    let spent = number(agent, "micro_usd");
    TreeLine {
        kind: TreeKind::SubAgent,
        name: text(agent, "agent"),
        state: state.to_owned(),
        tone,
        spend: if spent > 0 { money::dollars(spent) } else { String::new() },
        heard_ms: agent["heard"].as_u64().map(|at| started.saturating_add(at)),
        note: text(agent, "call"),
        ..TreeLine::default()
    }
}

fn waiting_lines(waiting: &Value, only: Option<&str>) -> Vec<WaitLine> {
    let all = waiting["waiting"].as_array().map(Vec::as_slice).unwrap_or_default();
    let wanted = all.iter().filter(|one| only.is_none_or(|only| one["session"] == only));
    let line = |one: &Value| WaitLine {
        key: text(one, "key"),
        root: text(one, "workspace"),
        id: text(one, "id"),
        kind: match one["kind"].as_str() {
            Some("review") => WaitKind::Review,
            Some("budget") => WaitKind::Budget,
            Some("session") => WaitKind::Session,
            _ => WaitKind::Command,
        },
        client: text(one, "client"),
        session: text(one, "session"),
        what: match text(one, "call").as_str() {
            "" => text(one, "what"),
            call => format!("`{call}`: {}", text(one, "what")),
        },
        rule: text(one, "rule"),
        answered_by: text(one, "answeredBy"),
        since_ms: number(one, "sinceMs"),
        asked: one["asked"].as_u64(),
    };
    let mut lines: Vec<WaitLine> = wanted.map(line).collect();
    // What can be answered stands before what is only said.
    lines.sort_by_key(|line| (line.kind == WaitKind::Session, line.since_ms));
    lines
}

fn calls(model: &ReadModel, of: SessionName, sessions: &[&Value], wanted: &Wanted) -> CallsView {
    let session = sessions.iter().find(|one| name_of(one) == of);
    let title = session.map(|one| format!("{} {}", text(one, "client"), text(one, "session"))).unwrap_or_default();
    let mut view = CallsView { of: Some(of.clone()), title, ..CallsView::default() };
    let Ok(workspace) = model.workspace(&of.key) else { return view };
    match found_rows(model, &workspace, &of.session, wanted) {
        Ok(found) => {
            view.total = number(&found, "total");
            let undo: BTreeSet<u64> = undo_points::open_steps(&model.host, &workspace, &of.session);
            let rows = found["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
            view.lines = rows.iter().map(|row| call_line(row, &undo)).collect();
            view.lines.sort_by_key(|line| std::cmp::Reverse(line.i));
        }
        Err(error @ ShownError::Filter(_)) => view.filter_problem = Some(told(&error)),
        Err(error) => view.truth = told(&error),
    }
    if view.truth.is_empty() {
        (view.truth, view.truth_tone) = truth(&agents_of(model, &of)["walk"]);
    }
    view
}

fn found_rows(model: &ReadModel, workspace: &Workspace, session: &str, wanted: &Wanted) -> Result<Value, ShownError> {
    let limit = usize::try_from(WINDOW).ok();
    let filter = wanted.filter.trim();
    let rows = if filter.is_empty() {
        let total = match wanted.before {
            Some(before) => before,
            // How many there are is asked first: the newest are wanted.
            None => {
                let none = RowsWanted { limit: Some(0), ..RowsWanted::default() };
                number(&parsed(&shown::rows(model, workspace, session, &none)?), "total")
            }
        };
        RowsWanted { from: total.saturating_sub(WINDOW), limit, ..RowsWanted::default() }
    } else {
        RowsWanted { filter, before: wanted.before, limit, ..RowsWanted::default() }
    };
    Ok(parsed(&shown::rows(model, workspace, session, &rows)?))
}

fn call_line(row: &Value, undo: &BTreeSet<u64>) -> CallLine {
    let i = number(row, "i");
    let (verdict, status) = (row["verdict"].as_str(), row["status"].as_str());
    // What came of a person's act is in its words; it was not asked for.
    let verdict = verdict.filter(|_| row["kind"] != "human");
    let (verdict, tone) = match (verdict, status) {
        (Some("held"), _) => ("held", ViewTone::Warning),
        (Some("refused"), _) => ("refused", ViewTone::Bad),
        (_, Some("error")) => ("failed", ViewTone::Bad),
        (_, Some(_)) => ("ok", ViewTone::Good),
        (Some(_), None) => ("allowed", ViewTone::Plain),
        (None, None) => ("", ViewTone::Plain),
    };
    let took = row["ms"].as_u64().filter(|ms| *ms > 0).map(|ms| match ms {
        0..10_000 => format!("{ms} ms"),
        10_000.. => format!("{} s", ms / 1_000),
    });
    let cost = row["micro_usd"].as_u64().filter(|cost| *cost > 0).map(money::dollars);
    let finding = &row["findings"][0];
    let reason = [&row["reason"], &row["error"], &finding["reason"]].into_iter().find_map(Value::as_str);
    let rule = [&row["rule"], &finding["rule"]].into_iter().find_map(Value::as_str);
    let reason = match (reason, rule) {
        (Some(reason), Some(rule)) => visible(&format!("{reason} [{rule}]")),
        (Some(reason), None) => visible(reason),
        (None, _) => String::new(),
    };
    let stamp = WallClock::from_epoch_ms(number(row, "wall")).to_string();
    CallLine {
        i,
        clock: stamp.get(11..19).unwrap_or_default().to_owned(),
        agent: text(row, "agent"),
        tool: row["tool"].as_str().map_or_else(|| text(row, "kind"), visible),
        text: text(row, "text"),
        verdict: verdict.to_owned(),
        tone,
        reason,
        figures: [took, cost].into_iter().flatten().collect::<Vec<_>>().join(" "),
        can_undo: undo.contains(&i),
    }
}

fn truth(walk: &Value) -> (String, ViewTone) {
    let truth = &walk["truth"];
    match truth["state"].as_str() {
        Some("verified") => ("verified".to_owned(), ViewTone::Good),
        Some("damaged") => (format!("damaged at {}: {}", number(truth, "at"), text(truth, "cause")), ViewTone::Bad),
        _ => match walk["problem"].as_str() {
            Some(problem) => (visible(problem), ViewTone::Bad),
            None => ("not verified yet".to_owned(), ViewTone::Faint),
        },
    }
}

/// Explains a decision, as `tripwire why` does.
pub(super) fn explain(model: &ReadModel, wanted: &WhyWanted) -> Said {
    let title = format!("why #{}", wanted.i);
    let found = model.workspace(&wanted.of.key).map_err(ShownError::from).and_then(|workspace| {
        let found = parsed(&shown::decision(model, &workspace, &wanted.of.session, wanted.i)?);
        Ok(found["words"].as_str().unwrap_or_default().lines().map(visible).collect::<Vec<_>>())
    });
    let (middle, tone) = match found {
        Ok(lines) => (lines, ViewTone::Plain),
        Err(error) => (vec![told(&error)], ViewTone::Bad),
    };
    Said { title, lines: [wanted.before.clone(), middle, wanted.behind.clone()].concat(), tone }
}

/// Carries a person's act out and says what came of it.
pub(super) fn carry_out(model: &ReadModel, act: &PersonAct) -> Said {
    let (key, title) = match act {
        PersonAct::Answer { key, id, says: ApprovalVerdict::Allowed, .. } => (key, format!("approve {id}")),
        PersonAct::Answer { key, id, says: ApprovalVerdict::Denied, .. } => (key, format!("deny {id}")),
        PersonAct::Order { key, order: Order::Stop, .. } => (key, "stop".to_owned()),
        PersonAct::Order { key, order: Order::Pause, .. } => (key, "pause".to_owned()),
        PersonAct::GoOn { key, .. } => (key, "resume".to_owned()),
    };
    let workspace = match model.workspace(key) {
        Ok(workspace) => workspace,
        Err(error) => return Said { title, lines: vec![visible(&error.to_string())], tone: ViewTone::Bad },
    };
    let (lines, tone) = match done(model, &workspace, act) {
        Ok(done) => done,
        Err(error) => (vec![error.to_string(), error.hint().into_owned()], ViewTone::Bad),
    };
    Said { title, lines: redacted(model, &workspace, &lines), tone }
}

/// Lines without the workspace's secrets; where they cannot be known, that is said instead.
fn redacted(model: &ReadModel, workspace: &Workspace, lines: &[String]) -> Vec<String> {
    match model.redactor(workspace) {
        Ok(redactor) => lines.iter().map(|line| visible(&redactor.redact(line))).collect(),
        Err(error) => vec![visible(&error.to_string())],
    }
}

fn done(
    model: &ReadModel,
    workspace: &Workspace,
    act: &PersonAct,
) -> Result<(Vec<String>, ViewTone), Box<dyn Explain>> {
    match act {
        PersonAct::Answer { id, says, reason, raise, .. } => {
            let who = Face::Terminal.sign(&model.host.who);
            let answer = Answer { says: *says, who, reason: reason.clone(), raise: *raise };
            let taken = acts::answer(model, workspace, id, &answer).map_err(|error| error as Box<dyn Explain>)?;
            let said = match says {
                ApprovalVerdict::Allowed => "approved",
                ApprovalVerdict::Denied => "denied",
            };
            let line = format!("{said} {}: {}; journaled in {}", taken.approval.id, taken.approval.what, taken.session);
            Ok((vec![line], ViewTone::Good))
        }
        PersonAct::Order { order, reason, .. } => {
            let report = acts::order(model, workspace, *order, (Face::Terminal, reason)).map_err(boxed)?;
            Ok((report.lines, if report.holds { ViewTone::Good } else { ViewTone::Bad }))
        }
        PersonAct::GoOn { reason, .. } => {
            let report = acts::go_on(model, workspace, Face::Terminal, reason).map_err(boxed)?;
            let mut lines = report.lines;
            lines.extend(report.next.map(|next| format!("next: `{next}`")));
            Ok((lines, if report.waits { ViewTone::Warning } else { ViewTone::Good }))
        }
    }
}

fn boxed(error: impl Explain + 'static) -> Box<dyn Explain> {
    Box::new(error)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn told(error: &ShownError) -> String {
    visible(&format!("{error}; {}", error.hint()))
}

fn name_of(session: &Value) -> SessionName {
    SessionName { key: text(session, "key"), session: text(session, "session") }
}

fn is_live(session: &Value) -> bool {
    session["live"] == true
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().map(visible).unwrap_or_default()
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}
