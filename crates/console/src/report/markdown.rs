//! The morning page as Markdown.

use super::data::{Entry, MorningPage, SessionPage};
use crate::{moment, money};
use tripwire_core::counted::counted;

/// Rows of a table; the rest is counted.
const ROWS_MAX: usize = 100;

pub(super) fn page(page: &MorningPage) -> String {
    let mut text = format!("# Report of {}\n", page.made);
    page.sessions.iter().for_each(|session| section(session, &mut text));
    text
}

fn section(session: &SessionPage, text: &mut String) {
    let SessionPage { session: id, client, state, verdict, .. } = session;
    let budget = session.budget_micro_usd.map_or(String::new(), |budget| format!(" of {}", money::exactly(budget)));
    text.push_str(&format!("\n## {id}\n\n"));
    let facts = [
        ("state", format!("{state} ({client})")),
        ("workspace", format!("`{}`", session.workspace.replace('`', "'"))),
        ("time", format!("{} to {}, {}", session.began, session.heard, moment::span(session.took_ms / 1_000))),
        ("cost", format!("{}{budget}, {}", money::dollars(session.spent_micro_usd), counted(session.tokens, "token"))),
        ("calls", format!("{}, {} failed, {} not let through", session.calls, session.failed, session.refused)),
        ("health", format!("{}.{:02}", session.health / 1_000_000, session.health % 1_000_000 / 10_000)),
        ("proved", verdict.clone()),
        ("record", session.verification.clone()),
        ("replay", session.replay.clone()),
    ];
    for (name, fact) in facts {
        text.push_str(&format!("- **{name}**: {fact}\n"));
    }
    entries("What it claimed, and the answer", &session.claims, text);
    let alarms = session.alarms.iter().map(|alarm| {
        vec![
            alarm.level.clone(),
            alarm.rule.clone(),
            alarm.count.to_string(),
            money::dollars(alarm.micro_usd),
            format!("#{}", alarm.last),
            alarm.reason.clone(),
        ]
    });
    table("Alarms by cause", &["level", "rule", "times", "cost", "last", "reason"], alarms, text);
    let refusals = session
        .refusals
        .iter()
        .map(|one| vec![format!("#{}", one.i), one.call.clone(), one.rule.clone(), one.reason.clone()]);
    table("Not let through", &["", "call", "rule", "why"], refusals, text);
    let files =
        session.files.iter().map(|file| vec![file.path.clone(), file.times.to_string(), format!("#{}", file.i)]);
    table("Files changed", &["file", "times", "last"], files, text);
    let points = session.undo_points.iter().map(|point| {
        let command = point.command.clone().unwrap_or_default();
        vec![format!("#{}", point.i), point.call.clone(), point.state.clone(), point.changed.clone(), command]
    });
    table("Undo points", &["", "call", "changed", "files", "taken back with"], points, text);
    let models =
        session.models.iter().map(|one| vec![one.model.clone(), one.calls.to_string(), money::dollars(one.micro_usd)]);
    table("Models", &["model", "calls", "cost"], models, text);
    entries("Model switches", &session.switches, text);
    entries("People", &session.people, text);
}

fn entries(title: &str, all: &[Entry], text: &mut String) {
    let rows = all.iter().map(|one| vec![format!("#{}", one.i), one.at.clone(), one.what.clone()]);
    table(title, &["", "when", "what"], rows, text);
}

fn table(title: &str, head: &[&str], rows: impl ExactSizeIterator<Item = Vec<String>>, text: &mut String) {
    let count = rows.len();
    if count == 0 {
        return;
    }
    text.push_str(&format!("\n### {title}\n\n| {} |\n|{}\n", head.join(" | "), " --- |".repeat(head.len())));
    for row in rows.take(ROWS_MAX) {
        let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    if count > ROWS_MAX {
        text.push_str(&format!("\n… and {} more\n", count - ROWS_MAX));
    }
}

/// A text that cannot leave its cell or become markup.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '<' | '>' => {
                plain.push('\\');
                plain.push(letter);
            }
            letter if letter.is_control() => plain.push(' '),
            letter => plain.push(letter),
        }
    }
    plain
}
