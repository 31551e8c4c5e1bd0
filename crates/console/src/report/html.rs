//! The morning page as one file: style and drawings inside, no script, no request.

use super::data::{Entry, MorningPage, SessionPage};
use crate::analysis::curve::CurvePoint;
use crate::{moment, money};
use tripwire_core::counted::counted;

const STYLE: &str = include_str!("report.css");
/// Rows of a table; the rest is counted.
const ROWS_MAX: usize = 400;

pub(super) fn page(page: &MorningPage) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src \
         'none'; style-src 'unsafe-inline'\">\n<title>tripwire report {0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <main>\n<p class=\"made\">tripwire report · {0}</p>\n",
        escaped(&page.made)
    );
    page.sessions.iter().for_each(|session| section(session, &mut text));
    text.push_str("</main>\n</body>\n</html>\n");
    text
}

fn section(session: &SessionPage, text: &mut String) {
    let proof = match session.verdict.as_str() {
        "VERIFIED" => "good",
        "NOTHING_TO_VERIFY" => "",
        "FAILED" => "bad",
        _ => "warn",
    };
    let truth = if session.verifies { "good" } else { "bad" };
    let client = if session.client == "-" { "no client" } else { &session.client };
    text.push_str(&format!(
        "<section>\n<h1>{}</h1>\n<p class=\"muted\">{} · {} · {} to {}</p>\n<p class=\"chips\"><span class=\"chip\">{}</span>\
         <span class=\"chip {proof}\">{}</span><span class=\"chip {truth}\">{}</span><span class=\"chip\">{}</span></p>\n",
        escaped(&session.session),
        escaped(client),
        escaped(&session.workspace),
        escaped(&session.began),
        escaped(&session.heard),
        escaped(&session.state),
        escaped(&session.verdict),
        escaped(&session.verification),
        escaped(&session.replay),
    ));
    cards(session, text);
    drawing(session, text);
    entries("What it claimed, and the answer", &session.claims, text);
    let alarms = session.alarms.iter().map(|alarm| {
        vec![
            alarm.level.clone(),
            alarm.rule.clone(),
            format!("×{}", alarm.count),
            money::dollars(alarm.micro_usd),
            format!("#{}", alarm.last),
            alarm.reason.clone(),
        ]
    });
    table("Alarms by cause", &["level", "rule", "times", "cost", "last", "reason"], alarms, text);
    let refusals = session
        .refusals
        .iter()
        .map(|one| vec![format!("#{}", one.i), one.at.clone(), one.call.clone(), one.rule.clone(), one.reason.clone()]);
    table("Not let through", &["", "when", "call", "rule", "why"], refusals, text);
    let files = session.files.iter().map(|file| {
        let kind = if file.test { "test" } else { "" };
        vec![file.path.clone(), kind.to_owned(), format!("×{}", file.times), format!("#{}", file.i)]
    });
    table("Files changed", &["file", "", "times", "last"], files, text);
    let points = session.undo_points.iter().map(|point| {
        vec![
            format!("#{}", point.i),
            point.at.clone(),
            point.call.clone(),
            point.state.clone(),
            point.changed.clone(),
            point.command.clone().unwrap_or_default(),
        ]
    });
    table("Undo points", &["", "when", "call", "changed", "files", "taken back with"], points, text);
    let models =
        session.models.iter().map(|one| vec![one.model.clone(), one.calls.to_string(), money::dollars(one.micro_usd)]);
    table("Models", &["model", "calls", "cost"], models, text);
    let tools = session.tools.iter().map(|one| vec![one.tool.clone(), one.calls.to_string(), one.failed.to_string()]);
    table("Tools", &["tool", "calls", "failed"], tools, text);
    entries("Model switches", &session.switches, text);
    entries("What people did", &session.people, text);
    text.push_str("</section>\n");
}

fn cards(session: &SessionPage, text: &mut String) {
    let budget = session
        .budget_micro_usd
        .map_or_else(|| "no budget set".to_owned(), |one| format!("of {}", money::exactly(one)));
    let health = format!("{}.{:02}", session.health / 1_000_000, session.health % 1_000_000 / 10_000);
    let cards = [
        ("Spent", money::dollars(session.spent_micro_usd), budget),
        ("Health", health, "at the end".to_owned()),
        ("Calls", session.calls.to_string(), format!("{} failed, {} not let through", session.failed, session.refused)),
        ("Time", moment::span(session.took_ms / 1_000), counted(session.tokens, "token")),
    ];
    text.push_str("<div class=\"cards\">");
    for (name, value, note) in cards {
        text.push_str(&format!(
            "<div class=\"card\"><span>{name}</span><b>{}</b><small>{}</small></div>",
            escaped(&value),
            escaped(&note)
        ));
    }
    text.push_str("</div>\n");
}

/// Health and money over time, as a drawing.
fn drawing(session: &SessionPage, text: &mut String) {
    const WIDTH: u64 = 960;
    const HEIGHT: u64 = 140;
    if session.curve.len() < 2 {
        return;
    }
    let whole = session.took_ms.max(1);
    let x = |at: u64| at.min(whole) * WIDTH / whole;
    let y = |health: u32| HEIGHT - u64::from(health.min(1_000_000)) * HEIGHT / 1_000_000;
    let most = session.curve.iter().map(|point| point.3).max().unwrap_or(0).max(1);
    let line = |height: &dyn Fn(&CurvePoint) -> u64| {
        let mut path = String::new();
        for point in &session.curve {
            let (at, level) = (x(point.1), height(point));
            let step = if path.is_empty() { format!("M{at} {level}") } else { format!("H{at}V{level}") };
            path.push_str(&step);
        }
        path
    };
    let health = line(&|point| y(point.2));
    let spent = line(&|point| HEIGHT - point.3.min(most) * HEIGHT / most);
    text.push_str(&format!(
        "<svg viewBox=\"-4 -8 {} {}\" role=\"img\" aria-label=\"health and money over time\">",
        WIDTH + 8,
        HEIGHT + 16
    ));
    if let Some((soft, hard)) = session.thresholds {
        for (name, level) in [("soft", soft), ("hard", hard)] {
            text.push_str(&format!("<path class=\"limit {name}\" d=\"M0 {0}H{WIDTH}\"/>", y(level)));
        }
    }
    let has_cost = session.spent_micro_usd > 0;
    if has_cost {
        text.push_str(&format!("<path class=\"money\" d=\"{spent}\"/>"));
    }
    text.push_str(&format!("<path class=\"health\" d=\"{health}\"/></svg>\n"));
    let cost = if has_cost { format!(" · blue: money, up to {}", money::dollars(most)) } else { String::new() };
    text.push_str(&format!("<p class=\"muted legend\">green: health, with its two thresholds{cost}</p>\n"));
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
    text.push_str(&format!("<h2>{title} <small>{count}</small></h2>\n<div class=\"scroll\"><table>\n<thead><tr>"));
    head.iter().for_each(|name| text.push_str(&format!("<th scope=\"col\">{name}</th>")));
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in rows.take(ROWS_MAX) {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        text.push_str(&format!("<tr>{cells}</tr>\n"));
    }
    text.push_str("</tbody></table></div>\n");
    if count > ROWS_MAX {
        text.push_str(&format!("<p class=\"muted\">… and {} more</p>\n", count - ROWS_MAX));
    }
}

/// A text that is text wherever it stands, in HTML and in XML.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter if letter.is_control() && letter != '\n' => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_text_and_nothing_is_asked_for() {
        let evil = "<script>alert(1)</script>\" onload='x'";
        let session = SessionPage {
            session: evil.to_owned(),
            switches: vec![Entry { i: 1, at: String::new(), what: evil.to_owned() }],
            ..SessionPage::default()
        };
        let page = MorningPage { version: 1, made: "now".to_owned(), sessions: vec![session] }.html();
        assert!(!page.contains("<script") && !page.contains("onload='"), "{page}");
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("url("));
        let shared = MorningPage {
            version: 1,
            made: "now".to_owned(),
            sessions: vec![SessionPage { workspace: "/home/ada/secret-project".to_owned(), ..SessionPage::default() }],
        };
        assert!(!shared.for_sharing().markdown().contains("secret-project"));
    }
}
